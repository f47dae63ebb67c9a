//! Finds the NATS server and the login: a pure function of flags, environment and files.
//!
//! Knows nothing of connections. Secrets are redacted wherever they could be shown.

use std::path::{Path, PathBuf};

use super::context;
use super::options::{Env, FilePlace, NatsConfigError, NatsOptions, Read, Tls};
use super::secret::{Address, Credential, Secret};
use super::settings::{self, Settings};

/// The servers and the login of a connection, and who named them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The servers, any of which will do.
    pub servers: Vec<Address>,
    /// The login.
    pub credential: Credential,
    /// TLS.
    pub tls: Tls,
    /// The source of the address and the credentials, for the status bar.
    pub provenance: String,
    /// The origin of an address whose login was dropped, for people.
    pub withheld: Option<String>,
}

/// Returns what to connect to, the first of these that says so, for address, credentials and TLS
/// each: flags, `KVTOP_NATS_*`, a context named by either, `NATS_*` of the `nats` command, Dynamo's
/// own variables, the config file, the selected context.
///
/// The last two describe one server: they give credentials only along with the address.
pub fn resolve(
    options: &NatsOptions,
    env: Env<'_>,
    read: Read<'_>,
) -> Result<Resolved, NatsConfigError> {
    let mut levels = vec![settings::from_options(options), settings::from_kvtop(env)];
    let named = options.context.clone().or_else(|| settings::set(env, "KVTOP_NATS_CONTEXT"));
    if let Some(name) = &named {
        levels.push(context::named(name, env, read)?);
    }
    levels.push(settings::from_natscli(env));
    levels.push(settings::from_dynamo(env));
    let told = levels.iter().any(|level| level.url.is_some());
    if !told {
        levels.extend(described(&options.file, env, read)?);
    }
    let (servers, address_from, userinfo) = address(&levels)?;
    let (credential, credential_from) = match credential(&levels, read)? {
        Some(found) => found,
        None => match userinfo {
            Some(credential) => (credential, format!("the address in {address_from}")),
            None => (Credential::None, "nobody".to_owned()),
        },
    };
    let provenance = match credential {
        Credential::None => format!("address from {address_from}, no credentials"),
        _ => format!("address from {address_from}, {} from {credential_from}", credential.kind()),
    };
    Ok(Resolved { servers, credential, tls: tls(&levels)?, provenance, withheld: None })
}

/// Returns the server that the config file describes, else the selected context.
fn described(
    file: &FilePlace,
    env: Env<'_>,
    read: Read<'_>,
) -> Result<Option<Settings>, NatsConfigError> {
    let url = file.url.clone();
    match (&file.context, url) {
        (Some(name), url) => {
            let context = context::named(name, env, read)?;
            Ok(Some(Settings { url: url.or_else(|| context.url.clone()), ..context }))
        }
        (None, url @ Some(_)) => {
            Ok(Some(Settings { from: "the config file".to_owned(), url, ..Settings::default() }))
        }
        (None, None) => context::selected(env, read),
    }
}

type Found = (Vec<Address>, String, Option<Credential>);

fn address(levels: &[Settings]) -> Result<Found, NatsConfigError> {
    let (level, url) = levels
        .iter()
        .find_map(|level| level.url.as_ref().map(|url| (level, url)))
        .ok_or(NatsConfigError::NoAddress)?;
    let mut servers = Vec::new();
    let mut userinfo = None;
    for part in url.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (address, credential) =
            Address::parse(part).ok_or_else(|| NatsConfigError::BadAddress {
                address: super::secret::redacted(part),
                from: level.from.clone(),
            })?;
        servers.push(address);
        userinfo = userinfo.or(credential);
    }
    if servers.is_empty() {
        return Err(NatsConfigError::NoAddress);
    }
    Ok((servers, level.from.clone(), userinfo))
}

fn credential(
    levels: &[Settings],
    read: Read<'_>,
) -> Result<Option<(Credential, String)>, NatsConfigError> {
    // A password may stand one level below its user: `--nats-user` with KVTOP_NATS_PASSWORD_FILE.
    for (at, level) in levels.iter().enumerate() {
        let file = |path: &Path, what| {
            read(path).map(|text| Secret::new(text.trim().to_owned())).map_err(|source| {
                NatsConfigError::Unreadable {
                    path: path.to_owned(),
                    what,
                    from: level.from.clone(),
                    source,
                }
            })
        };
        let found = if let Some(path) = &level.creds {
            Credential::Creds(file(path, "NATS credentials")?)
        } else if let Some(nkey) = &level.nkey {
            Credential::Nkey(match nkey.as_seed() {
                Some(seed) => seed,
                None => seed_in(&file(Path::new(nkey.expose()), "nkey seed")?),
            })
        } else if let Some(user) = &level.user {
            let Some(password) = password(&levels[at..], read)? else {
                return Err(NatsConfigError::NoPassword {
                    user: user.clone(),
                    from: level.from.clone(),
                });
            };
            Credential::User { user: user.clone(), password }
        } else if let Some(token) = &level.token {
            Credential::Token(token.clone())
        } else {
            continue;
        };
        return Ok(Some((found, level.from.clone())));
    }
    Ok(None)
}

/// Seed files may carry comments and armour; the seed is the line that looks like one.
fn seed_in(text: &Secret) -> Secret {
    text.expose()
        .lines()
        .find_map(|line| Secret::new(line.trim().to_owned()).as_seed())
        .unwrap_or_else(|| text.clone())
}

fn password(levels: &[Settings], read: Read<'_>) -> Result<Option<Secret>, NatsConfigError> {
    for level in levels {
        if let Some(path) = &level.password_file {
            let text = read(path).map_err(|source| NatsConfigError::Unreadable {
                path: path.clone(),
                what: "password",
                from: level.from.clone(),
                source,
            })?;
            return Ok(Some(Secret::new(text.trim_end_matches(['\r', '\n']).to_owned())));
        }
        if let Some(password) = &level.password {
            return Ok(Some(password.clone()));
        }
    }
    Ok(None)
}

fn tls(levels: &[Settings]) -> Result<Tls, NatsConfigError> {
    let first = |pick: fn(&Tls) -> &Option<PathBuf>| {
        levels.iter().find_map(|level| pick(&level.tls).clone())
    };
    let pair = levels.iter().find(|level| level.tls.cert.is_some() || level.tls.key.is_some());
    let (cert, key) = match pair.map(|level| (level.tls.cert.clone(), level.tls.key.clone())) {
        None => (None, None),
        Some((Some(cert), Some(key))) => (Some(cert), Some(key)),
        Some(_) => return Err(NatsConfigError::HalfCertificate),
    };
    let insecure = levels.iter().any(|level| level.tls.insecure);
    Ok(Tls { ca: first(|tls| &tls.ca), cert, key, insecure, name: None })
}

#[cfg(test)]
mod tests;
