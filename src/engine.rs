//! Frames in, snapshots out: a plain value without tasks, locks or a clock.
//!
//! Owns the model, the mirror, the series and the journal, and brings them together. Live, replay,
//! demo, checks and tests all run this one path.

mod explorer;
mod journal;
mod judge;
mod kept;
mod kv;
mod learn;
mod meters;
mod picture;
mod warm_up;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use explorer::Explorer;
use journal::Journal;
use meters::Meters;
use warm_up::WarmUp;

use crate::diagnose::{Diagnosis, Thresholds};
use crate::domain::{Fact, Subject, Timestamp, VersionSign};
use crate::frame::{Body, Frame, Origin};
use crate::mirror::{Mirror, Outcome, Semantics};
use crate::model::{
    Channels, Claims, Cluster, Decisions, RejectLog, Returns, Reuse, Router, Sources, Versions,
    Workers,
};
use crate::snapshot::{Answer, Ask, Snapshot, ViewQuery};
use crate::wire::{self, Facts, Shape};

/// KV events that are gathered before the mirror applies them: enough for its look-ups to overlap,
/// few enough to stay in the cache.
const BURST: usize = 512;

/// Steps of deferred work of the mirror for each burst.
const MIRROR_BUDGET: usize = 4096;

/// Longest sample that is kept of a reject.
const SAMPLE_LIMIT: usize = 120;

/// How far a frame may be ahead of its arrival, by another clock. Beyond it every series would wait
/// for that time to come.
const CLOCK_AHEAD: Duration = Duration::from_secs(60);

/// Longest name of a pod, a stream or a source that is kept.
const NAME_LIMIT: usize = 512;

/// Longest reason of a reject that is kept.
const REASON_LIMIT: usize = 300;

/// What an engine is told at its start.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// A name for what is looked at: namespace, file or scenario.
    pub label: String,
    /// Dynamo's version, when somebody says so beforehand, with who says it.
    pub version: Option<(String, String)>,
    /// The graph deployment that was chosen; workers and claims of others are left out of pictures.
    pub dgd: Option<String>,
    /// Bound of the mirror's memory, in bytes.
    pub memory_limit: usize,
    /// Where rules draw their lines.
    pub thresholds: Thresholds,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            label: String::new(),
            version: None,
            dgd: None,
            memory_limit: 1 << 30,
            thresholds: Thresholds::default(),
        }
    }
}

/// Everything that kvtop knows, and how it learns more.
pub struct Engine {
    options: EngineOptions,
    workers: Workers,
    claims: Claims,
    cluster: Cluster,
    channels: Channels,
    versions: Versions,
    router: Router,
    decisions: Decisions,
    sources: Sources,
    rejects: RejectLog,
    mirror: Mirror,
    meters: Meters,
    journal: Journal,
    times: Times,
    deployment: Known,
    history: History,
    diagnosis: Diagnosis,
    prefixes: Prefixes,
    warm_up: WarmUp,
    events: EventCounts,
    frames: u64,
    facts: Facts,
    /// Where the KV events of the present frame begin.
    frame_from: usize,
    /// The frames whose KV events wait to be applied, each with where these begin.
    burst: Vec<(usize, Frame)>,
    outcomes: Vec<Outcome>,
    explorer: Explorer,
}

/// What is followed of prefixes, to tell a blind router from prompts that share nothing.
#[derive(Debug, Default)]
struct Prefixes {
    reuse: Reuse,
    returns: Returns,
    /// Until then nobody needs to follow chains: routers were seen to find prefixes.
    idle_until: Timestamp,
}

/// Messages of KV events, as far as they could be read.
#[derive(Clone, Copy, Debug, Default)]
struct EventCounts {
    read: u64,
    unreadable: u64,
}

/// The times that were seen.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// When the first frame happened.
    first: Option<Timestamp>,
    /// When the first frame arrived: from then on everything is watched.
    watched: Option<Timestamp>,
    /// When the first KV event happened, which is earlier where history was read.
    kv: Option<Timestamp>,
    /// When the first line of a log was written, which may be earlier as well.
    logs: Option<Timestamp>,
    /// When the newest frame arrived.
    newest: Timestamp,
    /// The latest time at which anything happened.
    cursor: Timestamp,
    /// The second of the last message of a stream's history.
    history: u64,
}

/// What was found out about the deployment.
#[derive(Clone, Debug, Default)]
struct Known {
    namespace: Option<Arc<str>>,
    shape: Option<Shape>,
    plane: Option<&'static str>,
    /// True when events of two families of versions were seen.
    mixed: bool,
}

/// What was read of the past.
#[derive(Clone, Debug, Default)]
struct History {
    /// Streams that were read from their first message.
    whole: BTreeSet<Arc<str>>,
    /// Streams whose first messages had been deleted.
    aged: BTreeSet<Arc<str>>,
    /// Messages that are known to be missing.
    lost: u64,
}

/// Most streams whose history is told apart; a deployment has a few.
const STREAM_LIMIT: usize = 256;

impl History {
    /// Notes how much of a stream there was to be read.
    fn note(&mut self, stream: &Arc<str>, whole: bool) {
        let streams = if whole { &mut self.whole } else { &mut self.aged };
        if streams.len() < STREAM_LIMIT {
            streams.insert(Arc::clone(stream));
        }
    }

    /// Returns true when every stream was read from its first message.
    fn is_whole(&self) -> bool {
        !self.whole.is_empty() && self.aged.is_empty()
    }
}

impl Engine {
    /// Returns an engine that knows nothing yet.
    pub fn new(options: EngineOptions) -> Self {
        let mirror = Mirror::new(Semantics::PerBlock, options.memory_limit);
        Self {
            options,
            workers: Workers::default(),
            claims: Claims::default(),
            cluster: Cluster::default(),
            channels: Channels::default(),
            versions: Versions::default(),
            router: Router::default(),
            decisions: Decisions::default(),
            sources: Sources::default(),
            rejects: RejectLog::default(),
            mirror,
            meters: Meters::default(),
            journal: Journal::default(),
            times: Times::default(),
            deployment: Known::default(),
            history: History::default(),
            diagnosis: Diagnosis::default(),
            prefixes: Prefixes::default(),
            warm_up: WarmUp::default(),
            events: EventCounts::default(),
            frames: 0,
            facts: Facts::default(),
            frame_from: 0,
            burst: Vec::new(),
            outcomes: Vec::new(),
            explorer: Explorer::default(),
        }
    }

    /// Takes in frames, in order of arrival.
    pub fn ingest(&mut self, frames: &[Frame]) {
        for frame in frames {
            let clean = clean(frame);
            let frame = clean.as_ref();
            if frame.happened() > frame.at.after(CLOCK_AHEAD) {
                self.ingest_early(frame);
            } else {
                self.ingest_one(frame);
            }
        }
        self.apply_kv();
    }

    /// Takes in a frame whose time is yet to come as if it had happened on arrival, and says so.
    fn ingest_early(&mut self, frame: &Frame) {
        let frame = Frame { time: None, ..frame.clone() };
        self.ingest_one(&frame);
        let why = "a time more than a minute after its arrival; its arrival counts";
        self.note_odd(&frame, why, &source_name(&frame.origin));
    }

    fn ingest_one(&mut self, frame: &Frame) {
        let happened = frame.happened();
        self.frames += 1;
        self.times.first = Some(earliest(self.times.first, happened));
        self.times.watched = Some(earliest(self.times.watched, frame.at));
        self.times.newest = self.times.newest.max(frame.at);
        if self.starts_a_second(frame) {
            self.apply_kv();
            self.roll(happened);
        }
        self.times.cursor = self.times.cursor.max(happened);
        self.journal.frame = Some(kept::light(frame));
        let source = self.note_origin(frame);
        if let Origin::Indexer { .. } = &frame.origin {
            return self.take_dump(frame, &source);
        }
        self.frame_from = self.facts.kv.events().len();
        self.facts.shape = None;
        let decoded = wire::decode(frame, &mut self.facts);
        let events = self.facts.kv.events().len().saturating_sub(self.frame_from);
        if events > 0 {
            self.events.read += events as u64;
            self.times.kv = Some(earliest(self.times.kv, happened));
            self.note_kv_origin(frame);
            self.burst.push((self.frame_from, kept::light(frame)));
        }
        if !self.facts.other.is_empty() {
            self.learn_all(happened, &source);
        }
        if let Err(reject) = decoded {
            self.note_reject(frame, &reject.why, &source);
        }
        if self.facts.kv.events().len() >= BURST {
            self.apply_kv();
        }
        self.journal.frame = None;
    }

    /// Returns true when gauges are to be noted before `frame`: at each new second, and for history
    /// that is read while the present goes on, at each of its own.
    fn starts_a_second(&mut self, frame: &Frame) -> bool {
        let second = frame.happened().seconds();
        if matches!(frame.origin, Origin::Jetstream { .. }) {
            let before = std::mem::replace(&mut self.times.history, second);
            return second != before;
        }
        second > self.times.cursor.seconds()
    }

    /// Learns what a frame says besides KV events. A worker that leaves does so after its events.
    fn learn_all(&mut self, at: Timestamp, source: &Arc<str>) {
        let facts = std::mem::take(&mut self.facts.other);
        if facts.iter().any(|fact| matches!(fact, Fact::Membership(_) | Fact::PodGone { .. })) {
            self.apply_kv();
        }
        for fact in &facts {
            self.learn(fact, at, source);
        }
        self.scraped(&facts);
        self.claims.drop_doubted();
        self.facts.other = facts;
        self.facts.other.clear();
    }

    fn note_reject(&mut self, frame: &Frame, why: &str, source: &Arc<str>) {
        self.events.unreadable += u64::from(carries_kv(&frame.origin));
        self.note_odd(frame, why, source);
    }

    fn note_odd(&mut self, frame: &Frame, why: &str, source: &Arc<str>) {
        if let Some(record) = self.sources.record(source) {
            record.rejects += 1;
        }
        let sample = || match &frame.body {
            Body::Whole(bytes) => sample_of(bytes),
            Body::Parts(parts) => parts.first().map(|part| sample_of(part)).unwrap_or_default(),
        };
        let at = frame.happened();
        let why = &*wire::printable(why, REASON_LIMIT);
        if self.rejects.note(frame.origin.kind(), why, at, sample) {
            self.journal.reject(at, source, why);
        }
    }

    /// Notes where a frame came from and returns the name of its source.
    fn note_origin(&mut self, frame: &Frame) -> Arc<str> {
        let name = source_name(&frame.origin);
        match &frame.origin {
            Origin::Log { pod, .. } => {
                self.workers.note_pod(pod);
                self.times.logs = Some(earliest(self.times.logs, frame.happened()));
                if let Some(warnings) = self.router.pod(pod) {
                    warnings.read = true;
                }
            }
            Origin::Metrics { pod, .. } => self.workers.note_pod(pod),
            Origin::Jetstream { stream, seq: 1, .. } => {
                self.history.note(stream, true);
            }
            Origin::Nats { subject, .. } if self.deployment.namespace.is_none() => {
                let namespace = subject.strip_prefix("namespace.");
                let namespace = namespace.and_then(|rest| rest.split('.').next());
                self.deployment.namespace = namespace.map(Arc::from);
            }
            // What a source says of itself is no frame of its data.
            Origin::Health { .. } => return name,
            _ => {}
        }
        if let Some(record) = self.sources.record(&name) {
            record.frames += 1;
            record.last_frame = Some(frame.at);
        }
        self.meters.count_frame(&name, frame.at);
        name
    }

    fn note_kv_origin(&mut self, frame: &Frame) {
        self.deployment.plane = Some(match (&frame.origin, self.facts.shape) {
            (Origin::Zmq { .. }, _) => "ZMQ",
            (Origin::Nats { subject, .. }, _) if subject.starts_with("namespace.") => "NATS core",
            _ => "JetStream",
        });
        let Some(shape) = self.facts.shape else { return };
        if self.deployment.shape.is_none() {
            // Before the first event is applied the mirror is empty and may still be chosen.
            let semantics =
                if shape == Shape::Plain { Semantics::PerBlock } else { Semantics::EdgeTruncating };
            self.mirror = Mirror::new(semantics, self.options.memory_limit);
        }
        if let Some(event) = self.facts.kv.events().get(self.frame_from) {
            let subject = Subject::Worker(event.rank.worker);
            self.versions.sign(&VersionSign {
                subject,
                releases: shape.releases(),
                by: "KV events",
            });
        }
        let before = self.deployment.shape.unwrap_or(shape);
        self.deployment.mixed |= (before == Shape::Plain) != (shape == Shape::Plain);
        self.deployment.shape = Some(before.max(shape));
    }

    /// Lets time pass up to `at`, and works off some of what the mirror deferred. Returns true while
    /// there is more of it.
    pub fn advance(&mut self, at: Timestamp) -> bool {
        self.roll(at);
        self.mirror.advance(MIRROR_BUDGET)
    }

    /// Returns the picture at `at` for `query`.
    pub fn snapshot(&mut self, query: &ViewQuery, at: Timestamp) -> Snapshot {
        self.roll(at);
        self.diagnose(at);
        let mut snapshot = picture::of(self, query, at);
        if let Ask::Tree(asked) = &query.ask {
            let page = picture::explore(self, asked, &snapshot.workers, at);
            snapshot.answer = Answer::Tree(Box::new(page));
        }
        snapshot
    }

    /// Shows the graph deployment of that name alone from now on; all of them for none. What was learned
    /// of others is kept.
    pub fn choose(&mut self, dgd: Option<String>) {
        self.options.dgd = dgd;
    }

    /// Returns what Kubernetes shows, for deciding what to open next.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns where things are published, for deciding what to open next.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Works off everything the mirror deferred, for a picture that is exact.
    pub fn settle(&mut self) {
        while self.mirror.advance(MIRROR_BUDGET * 64) {}
    }

    /// Notes gauges for every second up to `at`.
    fn roll(&mut self, at: Timestamp) {
        if at.seconds() == self.meters.rolled.seconds() {
            return;
        }
        self.meters.rolled = at;
        let ranks = picture::ranks_now(self);
        self.meters.ttft.set(at, self.router.ttft_last());
        self.meters.gauges(at, self.mirror.totals().accepted, &ranks);
        self.explorer.warm(&self.mirror, at);
    }

    /// Returns the time from which rates of KV events are measured.
    fn since_kv(&self) -> Timestamp {
        self.times.kv.into_iter().chain(self.times.watched).min().unwrap_or(self.times.cursor)
    }

    /// Returns the time from which rates of what logs say are measured.
    fn since_logs(&self) -> Timestamp {
        self.times.logs.into_iter().chain(self.times.watched).min().unwrap_or(self.times.cursor)
    }
}

fn earliest(known: Option<Timestamp>, at: Timestamp) -> Timestamp {
    known.map_or(at, |known| known.min(at))
}

/// Returns true for messages that carry KV events.
fn carries_kv(origin: &Origin) -> bool {
    match origin {
        Origin::Nats { subject, .. } | Origin::Jetstream { subject, .. } => {
            subject.ends_with("kv-events")
        }
        Origin::Zmq { .. } => true,
        Origin::Log { .. }
        | Origin::Metrics { .. }
        | Origin::Kube { .. }
        | Origin::Etcd { .. }
        | Origin::Indexer { .. }
        | Origin::Health { .. } => false,
    }
}

/// Returns the name under which the frames of `origin` are shown.
fn source_name(origin: &Origin) -> Arc<str> {
    use std::sync::LazyLock;
    static NAMES: LazyLock<[Arc<str>; 8]> = LazyLock::new(|| {
        ["nats", "jetstream", "zmq", "logs", "metrics", "kubernetes", "etcd", "indexer"]
            .map(Arc::from)
    });
    let index = match origin {
        Origin::Nats { .. } => 0,
        Origin::Jetstream { .. } => 1,
        Origin::Zmq { .. } => 2,
        Origin::Log { .. } => 3,
        Origin::Metrics { .. } => 4,
        Origin::Kube { .. } => 5,
        Origin::Etcd { .. } => 6,
        Origin::Indexer { .. } => 7,
        Origin::Health { source } => return Arc::clone(source),
    };
    Arc::clone(&NAMES[index])
}

/// Returns the frame with the names in its origin fit for a terminal. Recordings may hold any.
fn clean(frame: &Frame) -> Cow<'_, Frame> {
    let is_clean = |name: &str| {
        name.len() <= NAME_LIMIT && name.bytes().all(|byte| (0x20..0x7F).contains(&byte))
    };
    let names: [&Arc<str>; 2] = match &frame.origin {
        Origin::Nats { subject, .. } => [subject, subject],
        Origin::Jetstream { stream, subject, .. } => [stream, subject],
        Origin::Zmq { endpoint } => [endpoint, endpoint],
        Origin::Log { namespace, pod, .. } => [namespace, pod],
        Origin::Metrics { pod, url } => [pod, url],
        Origin::Kube { kind, .. } => [kind, kind],
        Origin::Etcd { key, .. } => [key, key],
        Origin::Indexer { url } => [url, url],
        Origin::Health { source } => [source, source],
    };
    if names.iter().all(|name| is_clean(name)) {
        return Cow::Borrowed(frame);
    }
    let mut frame = frame.clone();
    let scrub = |name: &mut Arc<str>| *name = wire::printable(name, NAME_LIMIT).into();
    match &mut frame.origin {
        Origin::Nats { subject, .. } => scrub(subject),
        Origin::Jetstream { stream, subject, .. } => [stream, subject].into_iter().for_each(scrub),
        Origin::Zmq { endpoint } => scrub(endpoint),
        Origin::Log { namespace, pod, .. } => [namespace, pod].into_iter().for_each(scrub),
        Origin::Metrics { pod, url } => [pod, url].into_iter().for_each(scrub),
        Origin::Kube { kind, .. } => scrub(kind),
        Origin::Etcd { key, .. } => scrub(key),
        Origin::Indexer { url } => scrub(url),
        Origin::Health { source } => scrub(source),
    }
    Cow::Owned(frame)
}

fn sample_of(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(SAMPLE_LIMIT * 4)];
    wire::printable(&String::from_utf8_lossy(head), SAMPLE_LIMIT).into_owned()
}

/// The window of "recent" figures, such as rates per minute.
const MINUTE: Duration = Duration::from_secs(60);
