//! Frames in, snapshots out: a plain value without tasks, locks or a clock.
//!
//! Owns the model, the mirror, the series and the journal, and brings them together. Live, replay,
//! demo, checks and tests all run this one path.

mod borrowers;
mod explorer;
mod foreign;
mod incarnations;
mod intake;
mod journal;
mod judge;
mod kept;
mod kv;
mod learn;
mod ledger;
mod listening;
mod meters;
mod origin;
mod picture;
mod warm_up;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use borrowers::Borrowers;
use explorer::Explorer;
use foreign::Foreign;
use journal::Journal;
use meters::Meters;
use warm_up::WarmUp;

use crate::diagnose::{ClusterChoice, Diagnosis, Objectives, Thresholds};
use crate::domain::Timestamp;
use crate::frame::Frame;
use crate::mirror::{Mirror, Outcome, Semantics};
use crate::model::{
    CachedTokens, Channels, Claims, Cluster, Decisions, KnownMaps, Lacks, Latencies, Loads,
    Refused, RejectLog, Returns, Reuse, Router, RouterTally, Slots, Sources, Tally, Versions,
    Workers,
};
use crate::snapshot::{Answer, Ask, Coverage, FindingRow, Snapshot, ViewQuery};
use crate::wire::{Facts, Shape};

/// Steps of deferred work of the mirror for each burst.
const MIRROR_BUDGET: usize = 4096;

/// What an engine is told at its start.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// A name for what is looked at: namespace, file or scenario.
    pub label: String,
    /// The name that was given for it, where that is another one.
    pub asked: Option<String>,
    /// Dynamo's version, when somebody says so beforehand, with who says it.
    pub version: Option<(String, String)>,
    /// The graph deployment that was chosen; workers and claims of others are left out of pictures.
    pub dgd: Option<String>,
    /// The cluster, where the user named it: printed commands name it too.
    pub cluster: ClusterChoice,
    /// The Dynamo namespace that was chosen, in place of those of the pods; events of others are left out.
    pub dynamo_namespace: Option<String>,
    /// Bound of the mirror's memory, in bytes.
    pub memory_limit: usize,
    /// Where rules draw their lines.
    pub thresholds: Thresholds,
    /// What users want of latencies.
    pub objectives: Objectives,
    /// True when there is nothing but logs, so that nobody misses KV events.
    pub logs_only: bool,
    /// True when the user named the logs: they are a router's unless their names say otherwise.
    pub logs_named: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            label: String::new(),
            asked: None,
            version: None,
            dgd: None,
            cluster: ClusterChoice::default(),
            dynamo_namespace: None,
            memory_limit: 1 << 30,
            thresholds: Thresholds::default(),
            objectives: Objectives::default(),
            logs_only: false,
            logs_named: false,
        }
    }
}

/// Everything that kvtop knows, and how it learns more.
pub struct Engine {
    options: EngineOptions,
    workers: Workers,
    claims: Claims,
    cluster: Cluster,
    maps: KnownMaps,
    borrowers: Borrowers,
    channels: Channels,
    versions: Versions,
    router: Router,
    latencies: Latencies,
    loads: Loads,
    /// Prompt tokens that engines had cached.
    cached_tokens: CachedTokens,
    decisions: Decisions,
    sources: Sources,
    rejects: RejectLog,
    mirror: Mirror,
    meters: Meters,
    journal: Journal,
    times: Times,
    slots: Slots,
    deployment: Known,
    accounts: ledger::Accounts,
    history: History,
    diagnosis: Diagnosis,
    /// What rules say in the middle of a second, with that second and the frames known then.
    preview: Option<((u64, u64), Box<Diagnosis>)>,
    coverage: Coverage,
    /// The objects that fixes change.
    objects: judge::KnownObjects,
    /// How many findings came and went, and the last of them as rows.
    past: (u64, Arc<[FindingRow]>),
    prefixes: Prefixes,
    lacks: Lacks,
    served: Served,
    warm_up: WarmUp,
    frames: u64,
    facts: Facts,
    /// Where the KV events of the present frame begin.
    frame_from: usize,
    /// The frames whose KV events wait to be applied, each with where these begin.
    burst: Vec<(usize, Frame)>,
    outcomes: Vec<Outcome>,
    explorer: Explorer,
    foreign: Foreign,
    refused: Refused,
}

/// What is followed of prefixes, to tell a blind router from prompts that share nothing.
#[derive(Debug, Default)]
struct Prefixes {
    reuse: Reuse,
    returns: Returns,
    /// Until then nobody needs to follow chains: routers were seen to find prefixes.
    idle_until: Timestamp,
}

/// The models that workers serve, as far as it matters: one, or several.
#[derive(Debug, Default)]
struct Served {
    first: Option<Arc<str>>,
    several: bool,
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
    /// When the newest that is no note of a source did; none so far.
    told: Option<Timestamp>,
    /// When the last thing happened that is counted: a KV event, a request, a warning.
    active: Timestamp,
    /// When rules looked last.
    judged: Option<Timestamp>,
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
    /// Of those, the ones that passed by while kvtop's own connection was away.
    missed: u64,
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

    /// Returns true while no stream's history was read.
    fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.aged.is_empty()
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
            maps: KnownMaps::default(),
            borrowers: Borrowers::default(),
            channels: Channels::default(),
            versions: Versions::default(),
            router: Router::default(),
            latencies: Latencies::default(),
            loads: Loads::default(),
            cached_tokens: CachedTokens::default(),
            decisions: Decisions::default(),
            sources: Sources::default(),
            rejects: RejectLog::default(),
            mirror,
            meters: Meters::default(),
            journal: Journal::default(),
            times: Times::default(),
            slots: Slots::default(),
            deployment: Known::default(),
            accounts: ledger::Accounts::default(),
            history: History::default(),
            diagnosis: Diagnosis::default(),
            preview: None,
            coverage: Coverage::default(),
            objects: judge::KnownObjects::default(),
            past: (0, Arc::default()),
            prefixes: Prefixes::default(),
            lacks: Lacks::default(),
            served: Served::default(),
            warm_up: WarmUp::default(),
            frames: 0,
            facts: Facts::default(),
            frame_from: 0,
            burst: Vec::new(),
            outcomes: Vec::new(),
            explorer: Explorer::default(),
            foreign: Foreign::default(),
            refused: Refused::default(),
        }
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
        self.judge_before(at);
        self.glance(at);
        let mut snapshot = picture::of(self, query, at);
        if query.prefixes {
            snapshot.prefixes = Some(picture::prefixes(self, &snapshot.workers, at));
        }
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
        self.refresh_foreign();
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

    /// Returns the counts of the rank at `index` for something that happened at `at`; none when that was before
    /// the rank's present incarnation.
    fn counts_of(&mut self, index: usize, at: Timestamp) -> Option<&mut Tally> {
        self.times.active = self.times.active.max(at);
        let slot = self.slots.of(at);
        self.workers.ranks_mut().get_mut(index)?.counts(slot, at)
    }

    /// Returns the counts of routers, and of nobody's rank, for something that happened at `at`.
    fn router_counts(&mut self, at: Timestamp) -> &mut RouterTally {
        self.router.buckets.slot(self.slots.of(at))
    }

    /// Notes gauges for every second up to `at`.
    fn roll(&mut self, at: Timestamp) {
        if at.seconds() == self.meters.rolled.seconds() {
            return;
        }
        self.meters.rolled = at;
        self.workers.forget_scraped(at, MINUTE);
        let ranks = picture::ranks_now(self);
        self.meters.ttft.set(at, self.router.ttft_last());
        self.meters.felt(at, &picture::felt_now(self, at));
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

/// The window of "recent" figures, such as rates per minute.
const MINUTE: Duration = Duration::from_secs(60);
