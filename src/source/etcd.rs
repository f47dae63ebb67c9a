//! The etcd source: Dynamo's discovery records, as they are and as they change.
//!
//! Owns the list of keys that exist, to tell what vanished while it was away. Decodes no record, and
//! reads only: `range`, `watch`, and a login where one is given. etcd speaks JSON over HTTP beside its
//! gRPC; that takes nothing but the HTTP client that kvtop has.

mod answers;
mod api;
mod known;
mod url;

use std::time::Duration;

use tokio::sync::watch;

use crate::domain::{Reason, SourceName, SourceState};
use crate::frame::Origin;
use crate::source::nats::Secret;
use crate::source::notes::Notes;
use crate::source::reach::Reach;
use crate::source::{Desired, Emitter, SourceHandle};

pub use url::{BadEtcdAddress, EtcdAddress, addresses};

pub(super) use answers::read_in_steps;
use api::Api;
pub(in crate::source) use known::Known;

/// The name of the source in notes.
const NAME: SourceName = SourceName::Etcd;

/// The first wait after a loss.
const RETRY_FIRST: Duration = Duration::from_millis(500);

/// The longest wait after a loss.
const RETRY_LAST: Duration = Duration::from_secs(5);

/// An etcd source to start.
#[derive(Clone, Debug)]
pub struct EtcdSpec {
    /// Members, any of which will do.
    pub addresses: Vec<EtcdAddress>,
    /// User and password, where etcd wants them.
    pub login: Option<(String, Secret)>,
    /// The way there.
    pub reach: Reach,
    /// Silence of a watch after which etcd is asked for a sign of life.
    pub probe: Duration,
}

impl EtcdSpec {
    /// Returns a source of the records at `addresses`.
    pub fn new(addresses: Vec<EtcdAddress>, login: Option<(String, Secret)>, reach: Reach) -> Self {
        Self { addresses, login, reach, probe: Duration::from_secs(30) }
    }
}

/// Starts the source. Must be called within a runtime.
pub fn spawn(spec: EtcdSpec, emitter: Emitter) -> SourceHandle {
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let known = Known::new(emitter.clone().counting_apart(), |key, put| Origin::Etcd { key, put });
    let notes = Notes::new(NAME, emitter, shown);
    let source = Source { spec, wanted, notes, known, interruptions: 0, failures: 0 };
    let task = tokio::spawn(source.run());
    SourceHandle { name: NAME, desired, state, task }
}

/// The reason why a watch ended.
enum End {
    /// It is to be listed again: what changed meanwhile is no longer kept.
    Compacted,
    /// The connection is gone, or etcd refuses.
    Lost(Reason),
    /// Nobody receives frames any more.
    Unheard,
}

struct Source {
    spec: EtcdSpec,
    wanted: watch::Receiver<Desired>,
    notes: Notes,
    known: Known,
    interruptions: u64,
    failures: u32,
}

impl Source {
    async fn run(mut self) {
        while self.notes.heard {
            let wanted = *self.wanted.borrow_and_update();
            let mut told = self.wanted.clone();
            match wanted {
                Desired::Stopped => break,
                Desired::Suspended => {
                    self.say(SourceState::Suspended, "", None);
                    if told.changed().await.is_err() {
                        break;
                    }
                }
                Desired::Running => {
                    let ended = tokio::select! {
                        ended = self.attend() => Some(ended),
                        changed = told.changed() => if changed.is_ok() { None } else { break },
                    };
                    match ended {
                        Some(End::Unheard) => break,
                        Some(End::Lost(why)) => self.wait(why, &mut told).await,
                        Some(End::Compacted) | None => {}
                    }
                }
            }
        }
        self.notes.ended();
    }

    /// Lists, and watches until something ends it.
    async fn attend(&mut self) -> End {
        let (mut api, revision) = match self.list().await {
            Ok(listed) => listed,
            Err(end) => return end,
        };
        self.failures = 0;
        let watched = self.watch(&mut api, revision).await;
        let end = watched.err().unwrap_or(End::Compacted);
        self.interruptions += u64::from(matches!(end, End::Lost(_)));
        end
    }

    async fn open(&self) -> Result<Api, Reason> {
        let mut api = api::connect(&self.spec.reach, &self.spec.addresses).await?;
        if let Some((user, password)) = &self.spec.login {
            api.log_in(user, password).await?;
        }
        Ok(api)
    }

    /// Reads every key as of one revision. Returns the connection, and the revision.
    async fn list(&mut self) -> Result<(Api, u64), End> {
        let mut api = self.open().await.map_err(End::Lost)?;
        let (mut revision, mut last): (Option<u64>, Option<String>) = (None, None);
        self.known.begin();
        loop {
            let page = api.page(last.as_deref(), revision).await.map_err(End::Lost)?;
            let shown =
                page.revision().ok_or_else(|| End::Lost("etcd names no revision".into()))?;
            let shown = *revision.get_or_insert(shown);
            for pair in &page.kvs {
                if !self.known.room().await {
                    return Err(End::Unheard);
                }
                last = pair.key().or(last);
                if let (Some(key), Some(value)) = (pair.key(), pair.value()) {
                    self.known.put(&key, &value);
                }
            }
            if !page.more || page.kvs.is_empty() {
                self.known.finish();
                return Ok((api, shown));
            }
        }
    }

    async fn watch(&mut self, api: &mut Api, revision: u64) -> Result<(), End> {
        let mut watch = api.watch(revision).await.map_err(End::Lost)?;
        loop {
            let why = self.known.summary();
            self.say(SourceState::Live, why, None);
            if !self.notes.heard {
                return Err(End::Unheard);
            }
            let result = {
                let next = tokio::time::timeout(self.spec.probe, watch.next());
                tokio::pin!(next);
                loop {
                    tokio::select! {
                        result = &mut next => break result,
                        () = tokio::time::sleep(self.notes.next()) => self.notes.tell(),
                    }
                }
            };
            let Ok(result) = result else {
                // Nothing changed, or the way there is gone without a word.
                let mut other = self.open().await.map_err(End::Lost)?;
                other.probe().await.map_err(End::Lost)?;
                continue;
            };
            let result = result.map_err(End::Lost)?;
            for event in result.events {
                // A change can wait, and must not get lost: etcd holds it, at no cost to Dynamo.
                if !self.known.room().await {
                    return Err(End::Unheard);
                }
                let Some(key) = event.kv.key() else { continue };
                if event.kind == "DELETE" {
                    self.known.delete(&key);
                } else if let Some(value) = event.kv.value() {
                    self.known.put(&key, &value);
                }
            }
            if result.canceled {
                return match result.compact_revision {
                    Some(_) => Ok(()),
                    None => Err(End::Lost(
                        format!("etcd ended the watch: {}", result.cancel_reason).into(),
                    )),
                };
            }
        }
    }

    /// Waits after a loss, until something else is wanted.
    async fn wait(&mut self, why: Reason, told: &mut watch::Receiver<Desired>) {
        let pause = RETRY_FIRST.saturating_mul(1 << self.failures.min(8)).min(RETRY_LAST);
        self.failures += 1;
        self.say(SourceState::Down, why, Some(pause));
        // Either way it is tried again.
        drop(tokio::time::timeout(pause, told.changed()).await);
    }

    fn say(&mut self, state: SourceState, why: impl Into<Reason>, retry: Option<Duration>) {
        self.notes.set(state, why, retry);
        self.notes.count(self.known.dropped(), self.interruptions);
        self.notes.tell();
    }
}
