//! How names of secrets sound.

/// What names of keys, flags and words with a secret end with, without separators, in small letters.
pub const SECRET_WORDS: [&str; 19] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "credentials",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "nkey",
    "authorization",
    "bearer",
    "cookie",
    "nkeyseed",
    "sessionid",
    "signature",
    "jwt",
];

/// What names of environment variables with a secret contain.
pub const SECRET_PARTS: [&str; 7] =
    ["PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "KEY", "CREDENTIAL"];
