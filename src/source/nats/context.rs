//! Contexts of the `nats` command (ADR-21): files that name a server and how to log in.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use super::options::{Env, NatsConfigError, Read, Tls};
use super::secret::Secret;
use super::settings::{self, Settings};

/// The keys of a context that matter here; empty ones are unset.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Context {
    url: String,
    user: String,
    password: String,
    creds: String,
    nkey: String,
    token: String,
    cert: String,
    key: String,
    ca: String,
}

/// Returns the context called `name`, which must exist.
pub(super) fn named(name: &str, env: Env<'_>, read: Read<'_>) -> Result<Settings, NatsConfigError> {
    let unreadable = |source| NatsConfigError::Unreadable {
        path: folder(env).unwrap_or_default().join("context").join(format!("{name}.json")),
        what: "NATS context",
        from: format!("context `{name}`"),
        source,
    };
    load(name, env, read)?.map_err(unreadable)
}

/// Returns the context that `nats context select` chose, if there is one.
pub(super) fn selected(env: Env<'_>, read: Read<'_>) -> Result<Option<Settings>, NatsConfigError> {
    let Some(folder) = folder(env) else { return Ok(None) };
    let Ok(name) = read(&folder.join("context.txt")) else { return Ok(None) };
    match name.trim() {
        "" => Ok(None),
        name => Ok(load(name, env, read)?.ok().filter(|settings| settings.url.is_some())),
    }
}

fn folder(env: Env<'_>) -> Option<PathBuf> {
    let config = settings::set(env, "XDG_CONFIG_HOME").map(PathBuf::from);
    let home = || settings::set(env, "HOME").map(|home| PathBuf::from(home).join(".config"));
    config.or_else(home).map(|config| config.join("nats"))
}

fn load(name: &str, env: Env<'_>, read: Read<'_>) -> Result<io::Result<Settings>, NatsConfigError> {
    if name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        return Err(NatsConfigError::BadContextName { name: name.to_owned() });
    }
    let file = folder(env).unwrap_or_default().join("context").join(format!("{name}.json"));
    let text = match read(&file) {
        Ok(text) => text,
        Err(error) => return Ok(Err(error)),
    };
    let context: Context = serde_json::from_str(&text)
        .map_err(|source| NatsConfigError::BadContext { name: name.to_owned(), source })?;
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let path = |text: String| some(text).map(|text| expand(&text, env));
    Ok(Ok(Settings {
        from: format!("NATS context `{name}`"),
        url: some(context.url),
        creds: path(context.creds),
        nkey: some(context.nkey)
            .map(|nkey| Secret::new(expand(&nkey, env).to_string_lossy().into_owned())),
        user: some(context.user),
        password: some(context.password).map(Secret::new),
        password_file: None,
        token: some(context.token).map(Secret::new),
        tls: Tls {
            ca: path(context.ca),
            cert: path(context.cert),
            key: path(context.key),
            insecure: false,
            name: None,
        },
    }))
}

/// Returns the path `text` with a leading `~` replaced, as the `nats` command does.
fn expand(text: &str, env: Env<'_>) -> PathBuf {
    match (text.strip_prefix("~/"), settings::set(env, "HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(text),
    }
}
