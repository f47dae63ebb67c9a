//! Secrets, and addresses that may carry them. Nothing here prints a secret.

use std::fmt;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns `text` as a secret.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, for those who must send it.
    pub(in crate::source) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns itself when it looks like the seed of a user's nkey rather than like a path.
    pub(super) fn as_seed(&self) -> Option<Self> {
        let text = self.0.trim();
        let is_seed = text.len() == 58
            && text.starts_with("SU")
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte));
        is_seed.then(|| Self(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("<redacted>")
    }
}

/// The login of kvtop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Nothing.
    None,
    /// User and password.
    User {
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token.
    Token(Secret),
    /// The seed of an nkey.
    Nkey(Secret),
    /// The content of a credentials file: a JWT and its seed.
    Creds(Secret),
}

impl Credential {
    /// Returns what it is, for people.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::None => "no credentials",
            Self::User { .. } => "user and password",
            Self::Token(_) => "token",
            Self::Nkey(_) => "nkey",
            Self::Creds(_) => "credentials file",
        }
    }
}

/// The address of a server, without user and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// Returns the address in `text` and the credentials in it; none when it is no address.
    pub fn parse(text: &str) -> Option<(Self, Option<Credential>)> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("nats", text));
        let (userinfo, host) = match rest.rsplit_once('@') {
            Some((userinfo, host)) => (Some(userinfo), host),
            None => (None, rest),
        };
        let host = host.trim_end_matches('/');
        if !matches!(scheme, "nats" | "tls") || host.is_empty() {
            return None;
        }
        let address = Self(format!("{scheme}://{host}"));
        address.0.parse::<async_nats::ServerAddr>().ok()?;
        let credential = userinfo.filter(|text| !text.is_empty()).map(|userinfo| {
            match userinfo.split_once(':') {
                Some((user, password)) => Credential::User {
                    user: decoded(user),
                    password: Secret::new(decoded(password)),
                },
                None => Credential::Token(Secret::new(decoded(userinfo))),
            }
        });
        Some((address, credential))
    }

    /// Returns it as a URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns host and port, without scheme.
    pub fn host(&self) -> &str {
        self.0.split_once("://").map_or(self.0.as_str(), |(_, host)| host)
    }
}

/// Returns `text` with whatever stands before an `@` replaced.
pub(super) fn redacted(text: &str) -> String {
    match text.rsplit_once('@') {
        None => text.to_owned(),
        Some((before, host)) => match before.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://<redacted>@{host}"),
            None => format!("<redacted>@{host}"),
        },
    }
}

/// Returns `text` with `%xx` decoded, as URLs write user and password.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escape = tail.get(..2).filter(|_| *first == b'%');
        let byte = escape
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
