//! Reads a container's address of NATS, without its credentials (dynamo-runtime 0.9.0,
//! `transports/nats.rs:379`).

use serde_json::Value;

use crate::domain::{NatsAccess, SecretRef};
use crate::wire::kube_object::env::{Env, EnvValue};
use crate::wire::kube_object::shared;
use crate::wire::kube_object::volume::{Mounted, mounted};

/// The variable that names a file of credentials.
const CREDS: &str = "NATS_AUTH_CREDENTIALS_FILE";

/// The variable that names the user of a password.
const USER: &str = "NATS_AUTH_USERNAME";

pub(super) fn access(env: &Env, container: &Value, volumes: &Value) -> NatsAccess {
    let mut access = NatsAccess::default();
    if let Some(servers) = env.plain("NATS_SERVER") {
        let (servers, login) = without_logins(servers);
        access.servers = Some(shared(&servers)).filter(|servers| !servers.is_empty());
        access.login_in_address = login;
    }
    let mut reference = |name: &str| match env.get(name) {
        Some(EnvValue::Secret(secret)) => Some(secret.clone()),
        Some(EnvValue::Plain(_) | EnvValue::Elsewhere | EnvValue::Field) => {
            access.inline.push(shared(name));
            None
        }
        None => None,
    };
    access.user_name = env.plain(USER).filter(|name| !name.is_empty()).map(shared);
    access.user = match access.user_name {
        Some(_) => None,
        None => reference(USER),
    };
    access.password = reference("NATS_AUTH_PASSWORD");
    access.token = reference("NATS_AUTH_TOKEN");
    access.nkey = reference("NATS_AUTH_NKEY");
    let file = env.plain(CREDS);
    access.creds = match file.and_then(|path| mounted(path, container, volumes)) {
        Some(Mounted::Secret { name, key }) => {
            Some(SecretRef { name: shared(name), key: shared(&key) })
        }
        Some(Mounted::ConfigMap { .. }) | None => {
            if env.get(CREDS).is_some() {
                access.inline.push(shared(CREDS));
            }
            None
        }
    };
    access
}

/// Returns addresses without `user:password@`.
pub(super) fn without_login(servers: &str) -> String {
    without_logins(servers).0
}

/// Returns the addresses without `user:password@`, and whether any had one.
fn without_logins(servers: &str) -> (String, bool) {
    let mut found = false;
    let mut plain = |server: &str| {
        let server = server.trim();
        let (scheme, rest) = server.split_once("://").map_or(("", server), |(s, rest)| (s, rest));
        // A password may hold an `@` itself; the host cannot.
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| {
            found = true;
            host
        });
        if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
    };
    let servers: Vec<String> =
        servers.split(',').map(&mut plain).filter(|server| !server.is_empty()).collect();
    (servers.join(","), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_logins() {
        let cases = [
            ("nats://a:4222", "nats://a:4222", false),
            ("nats://u:p@a:4222, tls://b:1", "nats://a:4222,tls://b:1", true),
            ("u:p@ss@a:4222", "a:4222", true),
            ("", "", false),
        ];
        for (given, expected, login) in cases {
            assert_eq!(without_logins(given), (expected.to_owned(), login), "{given}");
        }
    }
}
