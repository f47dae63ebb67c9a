//! The ZMQ source: live messages of publishers, or of brokers between them and their subscribers.
//!
//! Owns connections and their subscriptions. Decodes nothing and publishes nothing. ZMQ keeps nothing
//! for those who come late, so that a loss is a gap; the publishers' numbers tell how large.
//!
//! ZMTP 3.1 is spoken here, as a subscriber without security. The crate `zeromq` 0.7.0 reserves memory for a frame as
//! soon as its length is declared (`codec/zmq_codec.rs`), takes parts without end, ends the connection at a heartbeat
//! (`codec/command.rs`), sends none, and cannot connect through a port-forward. Bindings to libzmq would bring C code
//! with threads and queues that kvtop neither bounds nor counts.
//!
//! Heartbeats also bound queues: each asks the publisher to drop kvtop after ten seconds of silence, so a stopped kvtop
//! is no queue in a worker. An answer that takes more than five seconds means that messages pile up; kvtop then
//! disconnects and reports it.

mod connection;
mod dedup;
mod endpoint;
mod gather;
mod link;
mod tokens;
mod zmtp;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;

use crate::clock;
use crate::domain::{
    Peers, Reason, SourceName, SourceState, Timestamp, Trouble, UNREACHED_LISTED, Unreached,
};
use crate::dynamo::plane;
use crate::source::notes::{Notes, how_many};
use crate::source::reach::Reach;
use crate::source::{Desired, Emitter, SourceHandle};

pub use connection::ZmqLimits;
pub use endpoint::{BadEndpoint, Endpoint};

pub(super) use zmtp::{read_greeting_bytes, read_in_steps};

use dedup::{Filter, Shared};
use gather::Gather;
use link::{Link, Standing};

/// The name of the source in notes.
const NAME: SourceName = SourceName::Zmq;

/// For so long after a loss the source says that it is lossy; the counts stay.
const LOSSY_FOR: Duration = Duration::from_secs(60);

/// Topics of which kvtop reads something. Subscriptions are prefixes; publishers leave out the rest.
const TOPICS: [&str; 4] = [plane::KV_EVENTS, plane::LOAD, plane::HIT_RATE, plane::ACTIVE_SEQUENCES];

/// A socket to subscribe to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ZmqTarget {
    /// Its address.
    pub endpoint: Endpoint,
    /// Namespace and name of the pod that it is in; the way there when no direct one is open.
    pub pod: Option<(Arc<str>, Arc<str>)>,
    /// True for a broker, whose messages may come from another one as well.
    pub broker: bool,
    /// True when KV events are published there.
    pub events: bool,
    /// True for the socket of an engine, of whose events only the tokens in a block are kept.
    pub engine: bool,
    /// The events published there and who named it, for people.
    pub from: Arc<str>,
}

/// A ZMQ source to start.
#[derive(Clone, Debug)]
pub struct ZmqSpec {
    /// The way to pods.
    pub reach: Reach,
    /// Only this Dynamo namespace, where a broker names it; all of them when none.
    pub namespace: Option<Arc<str>>,
    /// The name of the source in notes.
    pub name: SourceName,
    /// Intervals and limits.
    pub limits: ZmqLimits,
}

impl ZmqSpec {
    /// Returns a source for `namespace` that connects through `reach`.
    pub fn new(reach: Reach, namespace: Option<Arc<str>>) -> Self {
        Self { reach, namespace, name: NAME, limits: ZmqLimits::default() }
    }

    /// Returns a source for engines' own sockets. It has a name of its own: it brings no KV events of workers.
    pub fn of_engines() -> Self {
        Self { name: SourceName::Engines, ..Self::new(Reach::default(), None) }
    }

    fn topics(&self) -> Vec<String> {
        // Brokers of 1.4 and later name the whole subject in front.
        let subjects = match &self.namespace {
            Some(namespace) => plane::subjects_of(namespace),
            None => vec![plane::SUBJECT_START.to_owned()],
        };
        TOPICS.into_iter().map(str::to_owned).chain(subjects).collect()
    }
}

/// Starts the source. Must be called within a runtime.
///
/// It reads on a thread of its own with a runtime of its own: a subscriber that stops reading makes
/// publishers hold its messages, so that nothing that the engine, the disk or the screen does may keep
/// a socket waiting.
pub fn spawn(
    spec: ZmqSpec,
    emitter: Emitter,
    targets: watch::Receiver<Vec<ZmqTarget>>,
) -> SourceHandle {
    let name = spec.name.clone();
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let (ended_tx, ended) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name(format!("source {name}")).spawn(move || {
        let emitter = emitter.counting_apart();
        let notes = Notes::new(spec.name.clone(), emitter.clone(), shown);
        let topics = spec.topics().into();
        let source = Source {
            spec,
            topics,
            emitter,
            notes,
            wanted,
            links: HashMap::new(),
            brokers: 0,
            passed: Arc::default(),
            gather: Arc::default(),
            changed: Arc::default(),
            past_interruptions: 0,
            past_returns: 0,
            losses: Losses::default(),
        };
        if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
            runtime.block_on(source.run(targets));
        }
        drop(ended_tx);
    });
    let task = tokio::spawn(async move {
        if thread.is_ok() {
            // An error is the end of the thread, which is what is waited for.
            drop(ended.await);
        }
    });
    SourceHandle { name, desired, state, task }
}

/// A connection that is kept up. Closed when ended.
struct Running {
    standing: watch::Receiver<Standing>,
    task: JoinHandle<()>,
}

/// Lost messages, and the time of the last loss.
#[derive(Default)]
struct Losses {
    dropped: u64,
    returns: u64,
    at: Option<Timestamp>,
    why: &'static str,
}

struct Source {
    spec: ZmqSpec,
    topics: Arc<[String]>,
    emitter: Emitter,
    notes: Notes,
    wanted: watch::Receiver<Desired>,
    links: HashMap<ZmqTarget, Running>,
    /// Brokers met so far.
    brokers: usize,
    passed: Arc<Shared>,
    gather: Arc<Gather>,
    changed: Arc<Notify>,
    /// Interruptions of connections that are not wanted any more.
    past_interruptions: u64,
    past_returns: u64,
    losses: Losses,
}

impl Source {
    async fn run(mut self, mut targets: watch::Receiver<Vec<ZmqTarget>>) {
        let mut listening = true;
        let gather = Arc::clone(&self.gather);
        let gathering = tokio::spawn(async move { gather.run(std::thread::sleep).await });
        while self.notes.heard {
            let wanted = *self.wanted.borrow_and_update();
            let list = match wanted {
                Desired::Stopped => break,
                Desired::Suspended => Vec::new(),
                Desired::Running => targets.borrow_and_update().clone(),
            };
            self.adjust(&list).await;
            self.say(wanted, &list);
            let changed = Arc::clone(&self.changed);
            tokio::select! {
                changed = self.wanted.changed() => if changed.is_err() { break },
                changed = targets.changed(), if listening => listening = changed.is_ok(),
                () = changed.notified() => {}
                () = tokio::time::sleep(self.notes.next()) => {}
            }
        }
        gathering.abort();
        self.adjust(&[]).await;
        self.notes.ended();
    }

    /// Opens and closes connections so that the first of `targets` are listened to. Those that are
    /// not wanted any more are closed when this returns.
    async fn adjust(&mut self, targets: &[ZmqTarget]) {
        let gone: Vec<ZmqTarget> =
            self.links.keys().filter(|known| !targets.contains(known)).cloned().collect();
        for target in gone {
            if let Some(running) = self.links.remove(&target) {
                let standing = running.standing.borrow();
                self.past_interruptions += standing.interruptions;
                self.past_returns += standing.returns;
                drop(standing);
                running.task.abort();
                // Cancelled, which is what was asked for.
                drop(running.task.await);
            }
        }
        for target in targets {
            if self.links.len() >= self.spec.limits.connections {
                break;
            }
            if !self.links.contains_key(target) {
                let running = self.start(target);
                self.links.insert(target.clone(), running);
            }
        }
    }

    fn start(&mut self, target: &ZmqTarget) -> Running {
        let (standing, seen) = watch::channel(Standing::default());
        let broker = target.broker.then(|| {
            self.brokers += 1;
            self.brokers
        });
        let link = Link {
            target: target.clone(),
            reach: self.spec.reach.clone(),
            topics: if target.engine { [String::new()].into() } else { Arc::clone(&self.topics) },
            limits: self.spec.limits,
            emitter: self.emitter.clone(),
            gather: Arc::clone(&self.gather),
            filter: broker.map(|broker| Filter { shared: Arc::clone(&self.passed), broker }),
            standing,
            changed: Arc::clone(&self.changed),
        };
        Running { standing: seen, task: tokio::spawn(link.run()) }
    }

    fn say(&mut self, wanted: Desired, targets: &[ZmqTarget]) {
        let (mut live, mut opening, mut failed) = (0, 0, Vec::new());
        let mut peers = Peers::default();
        let (mut interruptions, mut returns) = (self.past_interruptions, self.past_returns);
        let mut slowest = None;
        for (target, running) in &self.links {
            let standing = running.standing.borrow();
            interruptions += standing.interruptions;
            returns += standing.returns;
            slowest = slowest.max(standing.round_trip);
            peers.reached += u64::from(target.events && standing.live);
            match &standing.trouble {
                Some(why) => failed.push((!target.events, target, why.clone())),
                None if standing.live => live += 1,
                None => opening += 1,
            }
        }
        failed.sort_by(|a, b| (a.0, a.1.endpoint.as_str()).cmp(&(b.0, b.1.endpoint.as_str())));
        let mut reasons: Vec<String> = failed
            .iter()
            .map(|(_, target, why)| format!("{}: {why} ({})", target.endpoint, target.from))
            .collect();
        let mut troubles: Vec<Trouble> =
            failed.iter().flat_map(|(.., why)| why.troubles.clone()).collect();
        troubles.sort();
        troubles.dedup();
        let listed = failed.iter().filter(|(other, ..)| !other).take(UNREACHED_LISTED);
        let unreached = listed.map(|(_, target, why)| unreached(target, why)).collect();
        if targets.len() > self.links.len() {
            reasons.push(format!("at most {} are opened", self.spec.limits.connections));
        }
        let loss = self.losses.note(self.emitter.dropped(), returns);
        let state = match wanted {
            Desired::Suspended => SourceState::Suspended,
            _ if targets.is_empty() => SourceState::Connecting,
            _ if live > 0 && loss.is_some() => SourceState::Lossy,
            _ if live > 0 => SourceState::Live,
            _ if opening > 0 => SourceState::Connecting,
            _ => SourceState::Down,
        };
        let mut why = how_many(live, targets.len(), "publishers connected", &reasons);
        if targets.is_empty() {
            "no publisher is known yet".clone_into(&mut why);
        } else if let Some(loss) = loss {
            why = format!("{loss}; {why}");
        }
        if state == SourceState::Suspended {
            why.clear();
            troubles.clear();
        }
        let retry = (state == SourceState::Down).then_some(self.spec.limits.retry_last);
        self.notes.set(state, Reason { text: why.into(), troubles }, retry);
        self.notes.round_trip(slowest);
        peers.wanted = targets.iter().map(|target| u64::from(target.events)).sum();
        self.notes.peers(peers, unreached);
        self.notes.count(self.losses.dropped, interruptions);
        self.notes.tell();
    }
}

fn unreached(target: &ZmqTarget, why: &Reason) -> Unreached {
    Unreached {
        address: Arc::clone(target.endpoint.as_str()),
        why: Arc::clone(&why.text),
        from: Arc::clone(&target.from),
    }
}

impl Losses {
    /// Notes the totals and returns what was lost a short while ago.
    fn note(&mut self, dropped: u64, returns: u64) -> Option<&'static str> {
        let now = clock::now();
        if dropped > self.dropped {
            self.why = "frames arrived faster than they could be processed; those dropped are \
                        counted";
            (self.dropped, self.at) = (dropped, Some(now));
        }
        // A publisher that ends for good has published nothing meanwhile.
        if returns > self.returns {
            self.why = "a connection was interrupted; what was published meanwhile is lost, since \
                        ZMQ keeps nothing";
            (self.returns, self.at) = (returns, Some(now));
        }
        self.at.filter(|at| now.since(*at) < LOSSY_FOR).map(|_| self.why)
    }
}
