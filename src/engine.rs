//! Frames in, snapshots out: a plain value without tasks, locks or a clock.
//!
//! Owns the model, the mirror, the series and the journal, and brings them together. Live, replay,
//! demo, checks and tests all run this one path.

mod config_map_dependents;
mod curve;
mod early;
mod explorer;
mod foreign;
mod foresight;
mod frame_ring;
mod gathered;
mod incarnations;
mod intake;
mod journal;
mod judge;
mod known;
mod kv;
mod lanes;
mod learn;
mod ledger;
mod listening;
mod meters;
mod origin;
mod picture;
mod warm_up;

use std::time::Duration;

use early::Early;
use explorer::Browsing;
use judge::Verdicts;
use known::{Fleet, History, Knowledge, Setup, Streams, Times};
use learn::{Learner, Pending};
pub use origin::source_name;
use picture::Lasting;

use crate::diagnose::{ClusterChoice, Objectives, Thresholds};
use crate::domain::Timestamp;
use crate::frame::Frame;
use crate::model::{Channels, Cluster};
use crate::snapshot::{Answer, Ask, Snapshot, ViewQuery};

/// Steps of deferred work of the mirror for each burst.
const MIRROR_BUDGET: usize = 4096;

/// Settings of an engine.
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
    /// Memory limit of the index copy and of what is known of ranks, together, in bytes.
    pub memory_limit: usize,
    /// Limits that rules judge by.
    pub thresholds: Thresholds,
    /// Objectives for latencies.
    pub objectives: Objectives,
    /// True when there is nothing but logs, so that nobody misses KV events.
    pub logs_only: bool,
    /// True when the user named the logs: they are a router's unless their names say otherwise.
    pub logs_named: bool,
    /// True when only verdicts and present figures are wanted: charts and journal keep little, and rules are judged
    /// every few seconds.
    pub brief: bool,
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
            brief: false,
        }
    }
}

/// Silence after which time alone may change verdicts.
const SILENCE: Duration = Duration::from_secs(5);

/// Most times that rules are judged during one silence; a longer one changes nothing more.
const MOST_LOOKS: u32 = 60;

/// The window of "recent" figures, such as rates per minute.
const MINUTE: Duration = Duration::from_secs(60);

/// Up to this many ranks, a picture in the middle of a second is judged too.
const EAGER_RANKS: usize = 256;

/// Takes frames in, and makes pictures of what is known.
///
/// Facts go in by way of `learn`, which writes the knowledge; `judge` reads it and keeps the verdicts; `picture`
/// reads both.
pub struct Engine {
    known: Knowledge,
    /// KV events that wait to be applied.
    pending: Pending,
    early: Early,
    verdicts: Verdicts,
    browsing: Browsing,
    lasting: Lasting,
}

impl Engine {
    /// Returns an engine that knows nothing yet.
    pub fn new(options: EngineOptions) -> Self {
        Self {
            known: Knowledge::new(options),
            pending: Pending::default(),
            early: Early::default(),
            verdicts: Verdicts::default(),
            browsing: Browsing::default(),
            lasting: Lasting::default(),
        }
    }

    /// Returns an engine for the newest part of a history and what comes meanwhile: nothing proves the past to it, and
    /// what sources say of all that they passed on is not about its frames.
    pub fn ahead(options: EngineOptions) -> Self {
        let mut engine = Self::new(options);
        engine.known.streams.history = History::partial();
        engine
    }

    /// Takes in a burst of frames, in order of arrival.
    pub fn ingest(&mut self, burst: &[Frame]) {
        self.ingest_in_order(burst);
    }

    fn ingest_now(&mut self, burst: &[Frame]) {
        let mut rest = burst;
        while let Some(first) = rest.first() {
            self.judge_before(first.at);
            let learner = Learner { burst: rest, ..self.learner() };
            rest = &rest[learner.take_second()..];
        }
    }

    /// Lets time pass up to `at`, and works off some of what the mirror deferred. Returns true while
    /// there is more of it.
    pub fn advance(&mut self, at: Timestamp) -> bool {
        self.let_early_in(at);
        // Pictures of a brief engine note gauges by themselves; time alone has to forget what is too old.
        let rolled = self.known.record.meters.rolled;
        if !self.known.options.brief || at.since(rolled) >= SILENCE {
            self.learner().roll(at);
        }
        self.known.index.mirror.advance(MIRROR_BUDGET)
    }

    /// Returns the picture at `at` for `query`.
    pub fn snapshot(&mut self, query: &ViewQuery, at: Timestamp) -> Snapshot {
        self.let_early_in(at);
        self.learner().roll(at);
        self.judge_before(at);
        self.learner().refresh_foreign();
        self.glance(at);
        let mut snapshot =
            picture::snapshot(&self.known, &self.verdicts, &mut self.lasting, query, at);
        if query.prefixes {
            let workers = &snapshot.workers;
            let page = picture::prefixes(&mut self.known, &mut self.browsing, workers, at);
            snapshot.prefixes = Some(page);
        }
        if query.foresight > 0 {
            let answers = self.known.foresight(&mut self.browsing, &snapshot, query.foresight);
            snapshot.foresight = Some(answers);
        }
        if let Ask::Tree(asked) = &query.ask {
            let browser = &mut self.browsing.browser;
            let page = picture::explore(&mut self.known, browser, asked, &snapshot.workers, at);
            snapshot.answer = Answer::Tree(Box::new(page));
        }
        snapshot
    }

    /// Shows the graph deployment of that name alone from now on; all of them for none. What was learned
    /// of others is kept.
    pub fn choose(&mut self, dgd: Option<String>) {
        self.known.options.dgd = dgd;
        self.learner().refresh_foreign();
    }

    /// Returns what Kubernetes shows, for deciding what to open next.
    pub fn cluster(&self) -> &Cluster {
        &self.known.shown.cluster
    }

    /// Returns where things are published, for deciding what to open next.
    pub fn channels(&self) -> &Channels {
        &self.known.shown.channels
    }

    /// Meets the workers that `other` saw and that are new here, in its order, so that both give them the same names.
    pub fn meet_workers_of(&mut self, other: &Self) {
        self.known.fleet.workers.meet(other.known.fleet.workers.workers());
    }

    /// Works off everything the mirror deferred, for a picture that is exact.
    pub fn settle(&mut self) {
        while self.known.index.mirror.advance(MIRROR_BUDGET * 64) {}
    }

    fn learner(&mut self) -> Learner<'_> {
        Learner { known: &mut self.known, pending: &mut self.pending, burst: &[], frame: None }
    }

    /// Lets the rules look at what was known when a second ended, and at every few seconds of a silence. So they
    /// say the same however frames are gathered: batching must not change verdicts, live or in a replay.
    fn judge_before(&mut self, at: Timestamp) {
        let known = self.known.times.newest;
        if self.known.times.frames == 0 || at.seconds() <= known.seconds() {
            return;
        }
        // Whoever wants verdicts alone has hundreds of engines, and no use for those of each second.
        let judged = self.verdicts.judged.filter(|_| self.known.options.brief);
        if judged.is_some_and(|judged| at.since(judged) < SILENCE) {
            return;
        }
        self.learner().apply_kv();
        if self.verdicts.judged.is_none_or(|judged| judged < known) {
            self.diagnose(known);
        }
        for _ in 0..MOST_LOOKS {
            let next = self.verdicts.judged.unwrap_or(known).after(SILENCE);
            if next.seconds() >= at.seconds() {
                return;
            }
            self.diagnose(next);
        }
        self.verdicts.judged = Some(at.before(SILENCE));
    }

    /// Lets the rules look at what is known at `at`, and remembers what they say. This happens when a second
    /// ends and every few seconds of silence, whoever looks: so a recording is judged as it was live.
    fn diagnose(&mut self, at: Timestamp) {
        let mut learner = self.learner();
        learner.refresh_foreign();
        learner.part_from_the_past(at);
        learner.link_engines();
        self.verdicts.judge(&self.known, at);
    }

    /// Lets the rules look at what is known at `at` for a picture in the middle of a second. Nothing of it is
    /// remembered.
    fn glance(&mut self, at: Timestamp) {
        let many = self.known.fleet.workers.ranks().len() > EAGER_RANKS;
        // Hundreds of light watchers make do with the verdicts of the last seconds.
        let light = self.known.options.brief && self.known.options.logs_only;
        if self.verdicts.judged.is_some() && (many || light)
            || self.verdicts.has_seen(&self.known, at)
        {
            return;
        }
        let mut learner = self.learner();
        learner.part_from_the_past(at);
        learner.link_engines();
        self.verdicts.glance(&self.known, at);
    }
}
