//! The sources of a deployment on Kubernetes: opened and closed as what is wanted changes.
//!
//! Opens the sources that `attach` decides on. The task below owns every source, so
//! that whoever suspends or ends kvtop has one to talk to.

mod etcd;
mod targets;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use tokio::sync::watch;

use super::ending;
use super::publishers::Publishers;
use crate::attach::{Login, NatsTarget, NatsUser, Wanted};
use crate::clock;
use crate::domain::{ConfigMapUse, Reason, SecretRef, SourceName, SourceNote, SourceState};
use crate::source::forward::Forwarder;
use crate::source::kube::{self, KubeClient, KubeHandle, KubeSpec};
use crate::source::logs::{self, LogLimits, LogTarget};
use crate::source::metrics::{self, MetricsLimits, ScrapeTarget};
use crate::source::nats::{self, Credential, NatsOptions, NatsSpec, Secret};
use crate::source::reach::{self, Reach};
use crate::source::{Desired, Emitter, SourceHandle};

pub(super) use etcd::EtcdOptions;

use etcd::Etcd;
use targets::{log_target, scrape_target};

/// The pause before an unreachable NATS server is tried again: first, and at most.
const REACH_FIRST: Duration = Duration::from_secs(5);
const REACH_LAST: Duration = Duration::from_secs(60);

/// The inputs for opening a cluster.
pub(super) struct ClusterSpec {
    pub(super) client: KubeClient,
    pub(super) emitter: Emitter,
    /// Logins that the user gave; they win over those of the pods.
    pub(super) nats: NatsOptions,
    /// True when the user named a NATS server, which then is the only one.
    pub(super) nats_named: bool,
    /// The etcd that the user named, and the login of whichever it is.
    pub(super) etcd: EtcdOptions,
    /// True when the user named ZMQ publishers, which then are the only ones.
    pub(super) zmq_named: bool,
    pub(super) port_forward: PortForward,
    pub(super) limits: Limits,
    /// The Dynamo namespace to listen to, in place of the one that the pods have.
    pub(super) dynamo_namespace: Option<Arc<str>>,
    /// The wanted sources, as the engine learns of them.
    pub(super) wanted: watch::Receiver<Wanted>,
}

/// How much the sources of a deployment read, and how often.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) logs: LogLimits,
    pub(super) metrics: MetricsLimits,
    pub(super) kubernetes: kube::Pace,
}

/// The way to addresses that cannot be reached directly.
pub(super) enum PortForward {
    /// A forwarder of its own.
    Own,
    /// One that other deployments use, too.
    Shared(Forwarder),
    /// None.
    Never,
}

/// Opens the sources of a deployment and keeps them as wanted. Must be called within a runtime.
pub(super) fn spawn(spec: ClusterSpec) -> SourceHandle {
    let (desired, asked) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let task = tokio::spawn(Cluster::open(spec, shown).run(asked));
    SourceHandle { name: "cluster".into(), desired, state, task }
}

struct Cluster {
    client: KubeClient,
    emitter: Emitter,
    options: NatsOptions,
    nats_named: bool,
    /// Publishers that discovery names; none when the user named others.
    publishers: Option<Publishers>,
    etcd: Etcd,
    dynamo_namespace: Option<Arc<str>>,
    wanted: watch::Receiver<Wanted>,
    shown: watch::Sender<SourceState>,
    kubernetes: KubeHandle,
    /// Logs, metrics and port-forwards.
    others: Vec<SourceHandle>,
    forwarder: Option<Forwarder>,
    logs: watch::Sender<Vec<LogTarget>>,
    scrapes: watch::Sender<Vec<ScrapeTarget>>,
    /// The NATS source, with what it was opened for.
    nats: Option<(NatsTarget, SourceHandle)>,
    /// Failures in a row to reach a wanted NATS server.
    unreached: u32,
}

impl Cluster {
    fn open(spec: ClusterSpec, shown: watch::Sender<SourceState>) -> Self {
        let ClusterSpec {
            client,
            emitter,
            nats,
            nats_named,
            etcd,
            zmq_named,
            port_forward,
            limits,
            dynamo_namespace,
            wanted,
        } = spec;
        let kubernetes = KubeSpec { pace: limits.kubernetes, ..KubeSpec::new(client.clone()) };
        let kubernetes = kube::spawn(kubernetes, emitter.clone());
        let mut others = Vec::new();
        let forwarder = match port_forward {
            PortForward::Own => {
                let (forwarder, handle) = Forwarder::spawn(client.clone(), emitter.clone());
                others.push(handle);
                Some(forwarder)
            }
            PortForward::Shared(forwarder) => Some(forwarder),
            PortForward::Never => None,
        };
        let (logs, log_targets) = watch::channel(Vec::new());
        others.push(logs::spawn_with(client.clone(), emitter.clone(), log_targets, limits.logs));
        let (scrapes, scrape_targets) = watch::channel(Vec::new());
        let reach = Reach::new(forwarder.clone(), Arc::clone(client.namespace()));
        let (way, sender) = (reach.clone(), emitter.clone());
        others.push(metrics::spawn_with(way, sender, scrape_targets, limits.metrics));
        let etcd = Etcd::new(etcd, emitter.clone(), reach.clone());
        let publishers =
            (!zmq_named).then(|| Publishers::new(emitter.clone(), reach, dynamo_namespace.clone()));
        Self {
            client,
            emitter,
            options: nats,
            nats_named,
            publishers,
            etcd,
            dynamo_namespace,
            wanted,
            shown,
            kubernetes,
            others,
            forwarder,
            logs,
            scrapes,
            nats: None,
            unreached: 0,
        }
    }

    async fn run(mut self, mut asked: watch::Receiver<Desired>) {
        self.shown.send_replace(SourceState::Live);
        loop {
            let again = async {
                if self.unreached > 0 {
                    tokio::time::sleep(reach_again(self.unreached)).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                changed = asked.changed() => {
                    let desired = *asked.borrow_and_update();
                    if changed.is_err() || desired == Desired::Stopped {
                        break;
                    }
                    self.obey(desired).await;
                }
                changed = self.wanted.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    self.follow().await;
                }
                () = again => self.follow().await,
            }
        }
        let all: Vec<&SourceHandle> = self.handles().collect();
        ending::end(&all).await;
        self.shown.send_replace(SourceState::Ended);
    }

    fn handles(&self) -> impl Iterator<Item = &SourceHandle> {
        let nats = self.nats.iter().map(|(_, handle)| handle);
        let zmq = self.publishers.iter().filter_map(Publishers::handle);
        let kubernetes = std::iter::once(&self.kubernetes.source);
        kubernetes.chain(&self.others).chain(nats).chain(zmq).chain(self.etcd.handle())
    }

    async fn obey(&self, desired: Desired) {
        let all: Vec<&SourceHandle> = self.handles().collect();
        if desired == Desired::Suspended {
            ending::pause(&all).await;
            self.shown.send_replace(SourceState::Suspended);
        } else {
            for handle in all {
                handle.desired.send_replace(desired);
            }
            self.shown.send_replace(SourceState::Live);
        }
    }

    /// Opens and closes what differs from what is wanted.
    async fn follow(&mut self) {
        let wanted = self.wanted.borrow_and_update().clone();
        self.announce_nats(&wanted);
        let maps: BTreeSet<ConfigMapUse> = wanted.config_maps.iter().cloned().collect();
        self.kubernetes.config_maps.send_if_modified(|known| replace(known, maps));
        let logs = wanted.logs.iter().map(log_target).collect();
        self.logs.send_if_modified(|known| replace(known, logs));
        let scrapes = wanted.scrapes.iter().map(scrape_target).collect();
        self.scrapes.send_if_modified(|known| replace(known, scrapes));
        self.etcd.follow(wanted.etcd.as_ref()).await;
        if let Some(publishers) = &mut self.publishers {
            publishers.follow(&wanted.zmq);
        }
        if !self.nats_named {
            self.follow_nats(wanted.nats).await;
        }
    }

    /// Says that events are going to be read, before anything else that was opened along with them tells of the
    /// deployment: what logs and metrics alone suggest would be withdrawn once the read of the history begins.
    fn announce_nats(&self, wanted: &Wanted) {
        if self.nats_named || self.nats.is_some() || self.unreached > 0 || wanted.nats.is_none() {
            return;
        }
        let now = clock::now();
        let soon = SourceNote::new(SourceName::Nats, SourceState::Connecting, "", now);
        self.emitter.note(&SourceNote { pending: true, ..soon });
    }

    async fn follow_nats(&mut self, wanted: Option<NatsTarget>) {
        // A deployment that is rolled has no pods for a moment; its server is still the same.
        let Some(target) = wanted else { return };
        if self.nats.as_ref().is_some_and(|(known, _)| known.covers(&target)) {
            return;
        }
        match self.open_nats(&target).await {
            Ok(handle) => {
                if let Some((_, old)) = self.nats.replace((target, handle)) {
                    ending::end(&[&old]).await;
                }
                self.unreached = 0;
            }
            Err(why) => {
                self.unreached = self.unreached.saturating_add(1);
                self.tell(why);
            }
        }
    }

    async fn open_nats(&self, target: &NatsTarget) -> Result<SourceHandle, Reason> {
        let home = self.client.namespace();
        let reached =
            reach::nats(&target.servers, home, self.forwarder.as_ref()).await.map_err(|error| {
                Reason {
                    text: crate::exit::chain(&error).into(),
                    troubles: error.trouble().into_iter().collect(),
                }
            })?;
        let servers: Vec<&str> = reached.servers.iter().map(nats::Address::as_str).collect();
        let options = NatsOptions { url: Some(servers.join(",")), ..self.options.clone() };
        let env = |name: &str| std::env::var(name).ok();
        let read = |path: &std::path::Path| std::fs::read_to_string(path);
        let mut resolved =
            nats::resolve(&options, &env, &read).map_err(|error| crate::exit::chain(&error))?;
        resolved.tls.name = reached.name;
        // Who named the address is said already, and it is not what was resolved.
        let login = resolved.provenance.split_once(", ").map_or("", |(_, login)| login);
        resolved.provenance = format!("{}, {}; {login}", target.from, reached.provenance);
        if resolved.credential == Credential::None {
            resolved.credential = self.login(target).await?;
        }
        resolved.withheld = target.in_address.then(|| target.from.clone());
        let namespaces = match &self.dynamo_namespace {
            Some(named) => vec![Arc::clone(named)],
            None => target.dynamo_namespaces.clone(),
        };
        let spec = NatsSpec { name: SourceName::Nats, resolved, namespaces };
        Ok(nats::spawn(spec, self.emitter.clone()))
    }

    /// Returns the login of the pods, for when the user gave none.
    async fn login(&self, target: &NatsTarget) -> Result<Credential, String> {
        Ok(match &target.login {
            Login::Unset | Login::Withheld => Credential::None,
            Login::Password { user, password } => {
                let user = match user {
                    Some(NatsUser::Named(name)) => name.to_string(),
                    Some(NatsUser::In(secret)) => self.secret(target, secret).await?,
                    None => {
                        return Err(
                            "the pods have a NATS password, but no known user; pass both with --nats-user and \
                             --nats-password-file"
                                .to_owned(),
                        );
                    }
                };
                Credential::User { user, password: self.hidden(target, password).await? }
            }
            Login::Token(secret) => Credential::Token(self.hidden(target, secret).await?),
            Login::Nkey(secret) => Credential::Nkey(self.hidden(target, secret).await?),
            Login::Creds(secret) => Credential::Creds(self.hidden(target, secret).await?),
        })
    }

    async fn hidden(&self, target: &NatsTarget, secret: &SecretRef) -> Result<Secret, String> {
        self.secret(target, secret).await.map(Secret::new)
    }

    /// Reads one value of a Secret, which takes a right of its own.
    async fn secret(&self, target: &NatsTarget, secret: &SecretRef) -> Result<String, String> {
        let path = format!("/api/v1/namespaces/{}/secrets/{}", target.secrets_in, secret.name);
        let object = self.client.get_json(&path).await.map_err(|error| {
            format!(
                "the NATS credentials are in Secret `{}`: {error}; pass them with --nats-user, or grant the \
                 role that `kvtop rbac -n {} --secret={}` prints",
                secret.name, target.secrets_in, secret.name
            )
        })?;
        secret_text(&object["data"], secret)
    }

    fn tell(&self, why: Reason) {
        let again = u64::try_from(reach_again(self.unreached).as_millis()).unwrap_or(u64::MAX);
        let down = SourceNote::new(SourceName::Nats, SourceState::Down, why, clock::now());
        let note = SourceNote { retry_ms: Some(again), ..down };
        // With nobody to hear it the task ends by itself.
        self.emitter.note(&note);
    }
}

/// Returns the text under the key of a Secret. One that is empty would log in as nobody.
fn secret_text(data: &serde_json::Value, secret: &SecretRef) -> Result<String, String> {
    let SecretRef { name, key } = secret;
    let encoded = data[key.as_ref()].as_str();
    let encoded = encoded.ok_or_else(|| format!("Secret `{name}` has no key `{key}`"))?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .map_err(|_| format!("key `{key}` of Secret `{name}` is not base64"))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("key `{key}` of Secret `{name}` is not text"))?;
    if text.trim().is_empty() {
        return Err(format!("key `{key}` of Secret `{name}` is empty"));
    }
    Ok(text)
}

/// Returns how long to wait after so many attempts in a row that failed.
fn reach_again(failures: u32) -> Duration {
    REACH_FIRST.saturating_mul(1 << failures.saturating_sub(1).min(8)).min(REACH_LAST)
}

/// Puts `new` into `known` and returns true, when it differs.
fn replace<T: PartialEq>(known: &mut T, new: T) -> bool {
    let differs = *known != new;
    *known = new;
    differs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_without_a_login_is_named() {
        let secret = SecretRef { name: "nats-auth".into(), key: "password".into() };
        let rows = [
            (json!({}), "Secret `nats-auth` has no key `password`"),
            (json!({ "password": "" }), "key `password` of Secret `nats-auth` is empty"),
            (json!({ "password": "IAo=" }), "key `password` of Secret `nats-auth` is empty"),
            (json!({ "password": "***" }), "key `password` of Secret `nats-auth` is not base64"),
            (json!({ "password": "/w==" }), "key `password` of Secret `nats-auth` is not text"),
        ];
        for (data, why) in rows {
            assert_eq!(secret_text(&data, &secret).unwrap_err(), why);
        }
        assert_eq!(secret_text(&json!({ "password": "c2Vlbg==" }), &secret).as_deref(), Ok("seen"));
    }
}
