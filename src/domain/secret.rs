//! Words by which names of secrets are recognised.

/// Last words of keys, flags and variables that hold secrets, in lower case and without separators.
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

/// Words in names of environment variables that hold secrets.
pub const SECRET_PARTS: [&str; 7] =
    ["PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "KEY", "CREDENTIAL"];

/// Prefixes of tokens of well-known issuers.
pub const TOKEN_PREFIXES: [&str; 24] = [
    "hf_",
    "sk-",
    "sk_live_",
    "rk_live_",
    "nvapi-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "npm_",
    "pypi-",
    "dop_v1_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "ya29.",
    "AIza",
    "AKIA",
    "ASIA",
    "eyJ",
];
