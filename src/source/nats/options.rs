//! The places that name the NATS server, and the errors in them.

use std::io;
use std::path::{Path, PathBuf};

use super::secret::Secret;

/// Options of the command line; each may be absent.
#[derive(Clone, Debug, Default)]
pub struct NatsOptions {
    /// Addresses, separated by commas.
    pub url: Option<String>,
    /// Name of a context of the `nats` command.
    pub context: Option<String>,
    /// File with a JWT and its seed.
    pub creds: Option<PathBuf>,
    /// File with an nkey seed, or the seed.
    pub nkey: Option<Secret>,
    /// User.
    pub user: Option<String>,
    /// File with the user's password.
    pub password_file: Option<PathBuf>,
    /// Token.
    pub token: Option<Secret>,
    /// TLS.
    pub tls: Tls,
    /// Settings of the config file, used when nothing above is set.
    pub file: FilePlace,
}

/// The address of NATS in the config file. It holds no login.
#[derive(Clone, Debug, Default)]
pub struct FilePlace {
    /// Addresses, separated by commas.
    pub url: Option<String>,
    /// Name of a context of the `nats` command.
    pub context: Option<String>,
}

/// TLS certificates: the server's authorities and kvtop's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Certificates of authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// Certificate to present.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Accept any certificate of the server.
    pub insecure: bool,
    /// The name that the server's certificate must be for, where it is not the address: behind a
    /// port-forward. Only together with `ca`.
    pub name: Option<String>,
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NatsConfigError {
    /// Nobody named a server.
    #[error("no NATS server is named: pass --nats-url, or set KVTOP_NATS_URL or NATS_SERVER")]
    NoAddress,
    /// An address that is none.
    #[error(
        "`{address}` from {from} is not a NATS address; expected nats://host:port or tls://host:port"
    )]
    BadAddress {
        /// The address, redacted.
        address: String,
        /// The source that named it.
        from: String,
    },
    /// A file could not be read.
    #[error("could not read `{}` ({what}, from {from})", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The content it should hold.
        what: &'static str,
        /// The source that named it.
        from: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A context that is no JSON object.
    #[error("NATS context `{name}` does not parse")]
    BadContext {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The name of a context that could leave its folder.
    #[error("`{name}` is not the name of a NATS context")]
    BadContextName {
        /// The name.
        name: String,
    },
    /// A user without password.
    #[error(
        "user `{user}` from {from} has no password; pass --nats-password-file or set KVTOP_NATS_PASSWORD_FILE"
    )]
    NoPassword {
        /// The user.
        user: String,
        /// The source that named it.
        from: String,
    },
    /// A certificate without key, or a key without certificate.
    #[error("a client certificate for NATS needs both a certificate and a key")]
    HalfCertificate,
}

/// The environment, as a function.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The files, as a function.
pub type Read<'a> = &'a dyn Fn(&Path) -> io::Result<String>;
