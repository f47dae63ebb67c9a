//! Picks the NATS server from the settings of pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{Pod, SecretRef};

/// References to the NATS logins of Dynamo's processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// Nothing is set. Dynamo then tries `user` with password `user`, which a server without logins
    /// takes as well (dynamo-runtime 0.9.0, `transports/nats.rs:379`).
    Unset,
    /// A user and a password.
    Password {
        /// The user; none when it is not known.
        user: Option<NatsUser>,
        /// The place of the password.
        password: SecretRef,
    },
    /// A token.
    Token(SecretRef),
    /// An nkey seed.
    Nkey(SecretRef),
    /// A file of credentials.
    Creds(SecretRef),
    /// The credentials are set in a way that kvtop does not read; the user must pass them.
    Withheld,
}

/// The user of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NatsUser {
    /// Its name.
    Named(Arc<str>),
    /// The place of its name.
    In(SecretRef),
}

/// A NATS server to listen to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsTarget {
    /// Its addresses, separated by commas, without credentials.
    pub servers: Arc<str>,
    /// The login.
    pub login: Login,
    /// True when the address itself carried a login, which is withheld.
    pub in_address: bool,
    /// Kubernetes namespace of the Secrets that the login refers to.
    pub secrets_in: Arc<str>,
    /// True when an address asks for TLS.
    pub tls: bool,
    /// Dynamo's namespaces of the chosen pods: what subjects and streams are named after. Workers
    /// have one of their own for each rollout from 1.0 on.
    pub dynamo_namespaces: Vec<Arc<str>>,
    /// The place it was read from, for people.
    pub from: String,
}

impl NatsTarget {
    /// Returns true when whoever listens to this hears all of `other`. To connect again would have the
    /// history of its streams read, and counted, once more.
    pub fn covers(&self, other: &Self) -> bool {
        // Where no namespace is known all are heard.
        let heard = match other.dynamo_namespaces.as_slice() {
            [] => self.dynamo_namespaces.is_empty(),
            names => names.iter().all(|name| self.dynamo_namespaces.contains(name)),
        };
        heard
            && self.servers == other.servers
            && self.login == other.login
            && self.secrets_in == other.secrets_in
            && self.tls == other.tls
    }
}

/// Returns the server that the most important of `pods` names. Without one nothing is missed where
/// events are published elsewhere; `alone` is false then.
pub(super) fn target(pods: &[&Pod], alone: bool, notes: &mut Vec<String>) -> Option<NatsTarget> {
    if alone {
        note_plane(pods, notes);
    }
    let Some(pod) = pods.iter().find(|pod| pod.nats.servers.is_some()) else {
        if alone {
            notes.push(
                "no pod has NATS_SERVER in its environment; pass the server with --nats-url"
                    .to_owned(),
            );
        }
        return None;
    };
    let servers = Arc::clone(pod.nats.servers.as_ref()?);
    let mut others: BTreeMap<&str, &str> = BTreeMap::new();
    for pod in pods {
        if let Some(other) = pod.nats.servers.as_deref().filter(|other| *other != &*servers) {
            others.entry(other).or_insert(&pod.name);
        }
    }
    for (other, name) in others {
        notes.push(format!(
            "pod `{name}` uses another NATS server ({other}); kvtop listens only to {servers}"
        ));
    }
    let login = login(pod);
    let in_address = login == Login::Withheld && pod.nats.login_in_address;
    if in_address {
        notes.push(format!(
            "NATS_SERVER of pod `{}` contains credentials, which kvtop discards; pass them with --nats-user and \
             --nats-password-file",
            pod.name
        ));
    } else if login == Login::Withheld {
        notes.push(format!(
            "kvtop cannot reuse the NATS credentials of pod `{}`; pass credentials with --nats-creds, \
             --nats-nkey or --nats-password-file",
            pod.name
        ));
    }
    let namespaces: BTreeSet<&Arc<str>> = pods
        .iter()
        .filter(|pod| pod.role.is_router() || pod.role.is_worker())
        .filter_map(|pod| pod.dynamo_namespace.as_ref())
        .collect();
    Some(NatsTarget {
        tls: servers.split(',').any(|s| s.starts_with("tls://") || s.starts_with("wss://")),
        servers,
        login,
        in_address,
        secrets_in: Arc::clone(&pod.namespace),
        dynamo_namespaces: namespaces.into_iter().cloned().collect(),
        from: format!("NATS_SERVER of pod {}", pod.name),
    })
}

/// The first that is set wins, in Dynamo's order (dynamo-runtime 0.9.0, `transports/nats.rs:379`).
fn login(pod: &Pod) -> Login {
    let nats = &pod.nats;
    let plain = |name: &str| nats.inline.iter().any(|inline| inline.as_ref() == name);
    if let Some(password) = &nats.password {
        let named = nats.user_name.clone().map(NatsUser::Named);
        let user = named.or_else(|| nats.user.clone().map(NatsUser::In));
        return Login::Password { user, password: password.clone() };
    }
    if plain("NATS_AUTH_PASSWORD") || nats.login_in_address {
        return Login::Withheld;
    }
    match (&nats.token, &nats.nkey, &nats.creds) {
        (Some(token), _, _) => Login::Token(token.clone()),
        (None, Some(nkey), _) if !plain("NATS_AUTH_TOKEN") => Login::Nkey(nkey.clone()),
        (None, None, Some(creds)) if nats.inline.is_empty() => Login::Creds(creds.clone()),
        _ if nats.inline.is_empty() => Login::Unset,
        _ => Login::Withheld,
    }
}

/// Adds a note if the workers' events do not use NATS, and no record has their addresses.
fn note_plane(pods: &[&Pod], notes: &mut Vec<String>) {
    let over_zmq = |pod: &&&Pod| match pod.event_plane.as_deref() {
        Some(plane) => plane.eq_ignore_ascii_case("zmq"),
        None => pod.version.as_deref().is_some_and(defaults_to_zmq),
    };
    let workers: Vec<&&Pod> = pods.iter().filter(|pod| pod.role.is_worker()).collect();
    let count = workers.iter().copied().filter(over_zmq).count();
    if count > 0 {
        notes.push(format!(
            "{count} of {} workers publish events over ZMQ, not NATS, and no readable discovery record has \
             their addresses",
            workers.len()
        ));
    }
}

/// ZMQ is the default from 1.3 on.
fn defaults_to_zmq(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let (Some(Some(major)), Some(Some(minor))) = (parts.next(), parts.next()) else {
        return false;
    };
    (major, minor) >= (1, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target_of(namespaces: &[&str]) -> NatsTarget {
        NatsTarget {
            servers: "nats://nats:4222".into(),
            login: Login::Unset,
            in_address: false,
            secrets_in: "gtc-demo".into(),
            tls: false,
            dynamo_namespaces: namespaces.iter().map(|name| Arc::from(*name)).collect(),
            from: namespaces.join(" "),
        }
    }

    #[test]
    fn a_connection_covers_what_it_hears_and_nothing_more() {
        assert!(target_of(&["a", "b"]).covers(&target_of(&["b"])));
        assert!(!target_of(&["b"]).covers(&target_of(&["a", "b"])));
        assert!(target_of(&[]).covers(&target_of(&[])));
        assert!(
            !target_of(&["a"]).covers(&target_of(&[]))
                && !target_of(&[]).covers(&target_of(&["a"]))
        );
        let moved = NatsTarget { servers: "nats://other:4222".into(), ..target_of(&["a"]) };
        assert!(!target_of(&["a"]).covers(&moved));
    }
}
