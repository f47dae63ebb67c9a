//! One place that settings come from: the flags, or one family of environment variables.

use std::path::PathBuf;

use super::options::{Env, NatsOptions, Tls};
use super::secret::Secret;

/// Settings from one place.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// The place, for people.
    pub(super) from: String,
    pub(super) url: Option<String>,
    pub(super) creds: Option<PathBuf>,
    pub(super) nkey: Option<Secret>,
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) password_file: Option<PathBuf>,
    pub(super) token: Option<Secret>,
    pub(super) tls: Tls,
}

/// Returns the variable `name`, none when it is unset or empty.
pub(super) fn set(env: Env<'_>, name: &str) -> Option<String> {
    env(name).filter(|value| !value.trim().is_empty())
}

fn path(env: Env<'_>, name: &str) -> Option<PathBuf> {
    set(env, name).map(PathBuf::from)
}

fn secret(env: Env<'_>, name: &str) -> Option<Secret> {
    set(env, name).map(Secret::new)
}

fn truthy(env: Env<'_>, name: &str) -> bool {
    set(env, name).is_some_and(|value| {
        matches!(value.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
    })
}

/// Returns what the flags say.
pub(super) fn from_options(options: &NatsOptions) -> Settings {
    Settings {
        from: "the command line".to_owned(),
        url: options.url.clone(),
        creds: options.creds.clone(),
        nkey: options.nkey.clone(),
        user: options.user.clone(),
        password: None,
        password_file: options.password_file.clone(),
        token: options.token.clone(),
        tls: options.tls.clone(),
    }
}

/// Returns what `KVTOP_NATS_*` say.
pub(super) fn from_kvtop(env: Env<'_>) -> Settings {
    Settings {
        from: "KVTOP_NATS_*".to_owned(),
        url: set(env, "KVTOP_NATS_URL"),
        creds: path(env, "KVTOP_NATS_CREDS"),
        nkey: secret(env, "KVTOP_NATS_NKEY"),
        user: set(env, "KVTOP_NATS_USER"),
        password: None,
        password_file: path(env, "KVTOP_NATS_PASSWORD_FILE"),
        token: secret(env, "KVTOP_NATS_TOKEN"),
        tls: Tls {
            ca: path(env, "KVTOP_NATS_TLS_CA"),
            cert: path(env, "KVTOP_NATS_TLS_CERT"),
            key: path(env, "KVTOP_NATS_TLS_KEY"),
            insecure: truthy(env, "KVTOP_NATS_TLS_INSECURE"),
            name: None,
        },
    }
}

/// Returns what the variables of the `nats` command say.
pub(super) fn from_natscli(env: Env<'_>) -> Settings {
    Settings {
        from: "NATS_URL and its kin".to_owned(),
        url: set(env, "NATS_URL"),
        creds: path(env, "NATS_CREDS"),
        nkey: secret(env, "NATS_NKEY"),
        user: set(env, "NATS_USER"),
        password: secret(env, "NATS_PASSWORD"),
        password_file: None,
        token: secret(env, "NATS_TOKEN"),
        tls: Tls {
            ca: path(env, "NATS_CA"),
            cert: path(env, "NATS_CERT"),
            key: path(env, "NATS_KEY"),
            insecure: false,
            name: None,
        },
    }
}

/// Returns what Dynamo's variables say (dynamo-runtime 0.9.0 `transports/nats.rs`; the TLS ones from
/// 1.5 on).
pub(super) fn from_dynamo(env: Env<'_>) -> Settings {
    Settings {
        from: "Dynamo's NATS_SERVER and NATS_AUTH_*".to_owned(),
        url: set(env, "NATS_SERVER"),
        creds: path(env, "NATS_AUTH_CREDENTIALS_FILE"),
        nkey: secret(env, "NATS_AUTH_NKEY"),
        user: set(env, "NATS_AUTH_USERNAME"),
        password: secret(env, "NATS_AUTH_PASSWORD"),
        password_file: None,
        token: secret(env, "NATS_AUTH_TOKEN"),
        tls: Tls {
            ca: path(env, "NATS_TLS_CA_CERT_PATH"),
            cert: path(env, "NATS_TLS_CLIENT_CERT_PATH"),
            key: path(env, "NATS_TLS_CLIENT_KEY_PATH"),
            insecure: truthy(env, "NATS_TLS_INSECURE"),
            name: None,
        },
    }
}
