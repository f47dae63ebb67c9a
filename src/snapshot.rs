//! The picture that front ends get: owned, small, and bounded by what can be shown.
//!
//! Plain data with public fields, without references into the model and without styles. The TUI draws
//! it, `report` writes it. A value that is not known is `None`, never 0.

use std::sync::Arc;
use std::time::Duration;

mod cluster;

pub use cluster::{ComponentRow, GraphRow, PodRow};

use crate::domain::{
    Claim, DpRank, HistoryNote, SourceState, Tier, Timestamp, WorkerId, WorkerRank,
};
pub use crate::domain::{Grade, Severity};

/// Everything a front end may show, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The moment: the clock when live, the position when replaying.
    pub at: Timestamp,
    /// When the first frame arrived; `at` when there is none yet.
    pub since: Timestamp,
    /// When the newest frame arrived.
    pub newest: Timestamp,
    /// How many frames were taken in.
    pub frames: u64,
    /// Where the frames come from.
    pub feed: Feed,
    /// What is looked at.
    pub deployment: Deployment,
    /// One row for each rank of each worker, in order of first sight.
    pub workers: Vec<WorkerRow>,
    /// Dynamo's pods, by name.
    pub pods: Vec<PodRow>,
    /// All workers together.
    pub totals: Totals,
    /// What the routers say.
    pub router: RouterSummary,
    /// The mirror of the router's index.
    pub tree: TreeSummary,
    /// Every claim about a setting, with its source.
    pub claims: Vec<ClaimRow>,
    /// The sources and how they are doing.
    pub sources: Vec<SourceRow>,
    /// Input that could not be read.
    pub rejects: Rejects,
    /// Histories for graphs, over the window that was asked for.
    pub series: SeriesSet,
    /// What happened last, oldest first.
    pub events: Vec<EventRow>,
    /// The last decisions, oldest first.
    pub decisions: Vec<DecisionRow>,
    /// What is wrong, the cause first; what was resolved in the last minute comes last.
    pub findings: Vec<FindingRow>,
    /// Every check with its verdict, by id.
    pub checks: Vec<CheckRow>,
}

/// Where frames come from, and what can be done about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Feed {
    /// A running deployment.
    #[default]
    Live,
    /// A recording.
    Replay(Playback),
    /// The simulator.
    Demo(DemoState),
}

/// How a replay stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Playback {
    /// The file.
    pub name: String,
    /// Time of the first frame.
    pub start: Timestamp,
    /// Time of the last frame.
    pub end: Timestamp,
    /// Time up to which frames were played.
    pub position: Timestamp,
    /// How many times faster than it happened.
    pub speed: f64,
    /// True while it stands still.
    pub paused: bool,
    /// Lines of the file that could not be read.
    pub bad_lines: u64,
    /// True when the file ended within a line.
    pub torn: bool,
}

/// How a demo stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DemoState {
    /// The scenario.
    pub scenario: String,
    /// One sentence about it.
    pub about: String,
    /// True once its fix was applied.
    pub fixed: bool,
    /// What the fix does, in one sentence; empty when there is nothing to fix.
    pub fix: String,
}

/// What is looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deployment {
    /// A name for the status bar: namespace, file or scenario.
    pub label: String,
    /// Dynamo's version, as far as it is known, such as `0.9`.
    pub version: Option<String>,
    /// How the version is known.
    pub version_source: Option<String>,
    /// Dynamo's namespace, as in subjects and discovery.
    pub namespace: Option<String>,
    /// The model served.
    pub model: Option<String>,
    /// How events reach kvtop, such as `JetStream`, `NATS core` or `ZMQ`.
    pub event_plane: Option<String>,
    /// Which router's index semantics the mirror follows.
    pub semantics: String,
    /// The graph deployment looked at; none when there are several, or none is known.
    pub dgd: Option<String>,
    /// Every graph deployment of the namespace, by name.
    pub graphs: Vec<GraphRow>,
}

/// Events counted since kvtop attached.
pub type Counters = crate::domain::Counters;

/// Events per second over one window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// `stored` events.
    pub stores: f64,
    /// Blocks removed.
    pub removals: f64,
    /// Stores refused: orphans.
    pub refused: f64,
    /// Removed hashes that were not held.
    pub unknown_removals: f64,
}

/// Rates over the three windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSet {
    /// Over 10 seconds.
    pub ten_seconds: Rates,
    /// Over 1 minute.
    pub minute: Rates,
    /// Over 5 minutes.
    pub five_minutes: Rates,
}

/// Tokens per block as claimed by each part; none where nobody says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSizes {
    /// The engine's.
    pub engine: Option<u32>,
    /// The event publisher's.
    pub publisher: Option<u32>,
    /// The model card's.
    pub card: Option<u32>,
    /// The router's.
    pub router: Option<u32>,
}

/// A measured value with where it is from and how old it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it was read, for people.
    pub source: String,
    /// When.
    pub at: Timestamp,
}

/// Whether the blocks a rank held before kvtop attached are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// They are not: its orphans prove nothing.
    #[default]
    SinceAttach,
    /// They are: its first event was seen, or a `cleared`, or the whole history was read.
    Complete,
}

/// One rank of one worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRow {
    /// Short name: `w0`, `w1` … by order of first sight of the worker.
    pub alias: String,
    /// The rank.
    pub rank: WorkerRank,
    /// Its pod, or the name of its process.
    pub pod: Option<String>,
    /// Its node.
    pub node: Option<String>,
    /// Its role: worker, prefill, decode.
    pub role: Option<String>,
    /// True when discovery says that it left.
    pub gone: bool,
    /// Whether its earlier blocks are known.
    pub knowledge: Knowledge,
    /// Blocks a router that saw every event would hold for it, device tier.
    pub accepted: u64,
    /// Blocks it really holds as far as events say, device tier: accepted and orphaned.
    pub held: u64,
    /// Accepted blocks by tier, in the order of [`Tier::ALL`].
    pub tiers: [u64; Tier::ALL.len()],
    /// Events counted.
    pub counters: Counters,
    /// Events per second.
    pub rates: RateSet,
    /// Block sizes claimed for it.
    pub block_size: BlockSizes,
    /// Blocks its engine has in use.
    pub used_blocks: Option<Sourced<u64>>,
    /// Blocks its engine has room for.
    pub capacity_blocks: Option<Sourced<u64>>,
    /// Share of its KV blocks in use, 0 to 1.
    pub kv_utilization: Option<Sourced<f64>>,
    /// Share of its prompt tokens found in its engine's cache, 0 to 1.
    pub hit_rate: Option<Sourced<f64>>,
    /// Requests routed to it.
    pub routed: u64,
    /// Requests routed to it per second over a minute.
    pub routed_per_second: f64,
    /// Mean overlap in blocks of the requests routed to it, of those whose overlap is known.
    pub mean_overlap: Option<f64>,
    /// When its last KV event happened.
    pub last_event: Option<Timestamp>,
    /// Refused stores as a share of stores over a minute, 0 to 1; none without stores.
    pub orphan_share: Option<f64>,
}

/// All workers together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Events counted.
    pub counters: Counters,
    /// Events per second.
    pub rates: RateSet,
    /// Accepted blocks, device tier.
    pub accepted: u64,
    /// Held blocks, device tier.
    pub held: u64,
    /// Mean share of KV blocks in use over the workers that report one, 0 to 1.
    pub kv_utilization: Option<f64>,
    /// Refused stores as a share of stores over a minute, 0 to 1; none without stores.
    pub orphan_share: Option<f64>,
}

/// What the routers say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouterSummary {
    /// Pods whose logs show that they route.
    pub routers: Vec<String>,
    /// Log lines that name a selected worker. Dynamo 1.3 and 1.4 print two for each request.
    pub decisions: u64,
    /// Of those that print an overlap, the ones that print 0.
    pub decisions_zero_overlap: u64,
    /// Requests routed: decisions without the lines that forward one.
    pub routed: u64,
    /// Requests routed per second over a minute.
    pub routed_per_second: f64,
    /// Requests whose overlap is known, by whatever log line or event says it.
    pub overlap_known: u64,
    /// Requests among them with no overlap.
    pub overlap_zero: u64,
    /// Mean logit of the last minute's decisions.
    pub mean_logit: Option<f64>,
    /// Tree size of the last decision.
    pub last_tree_size: Option<u64>,
    /// Weight of the prefill term, when the log spells the formula out.
    pub overlap_weight: Option<f64>,
    /// `Failed to find parent block` in routers' logs; none while no router's log is read.
    pub log_parent_warnings: Option<u64>,
    /// `Failed to find block to remove` in routers' logs; none while no router's log is read.
    pub log_remove_warnings: Option<u64>,
    /// Parent warnings per minute.
    pub parent_warnings_per_minute: f64,
    /// Remove warnings per minute.
    pub remove_warnings_per_minute: f64,
    /// The same warnings in other pods' logs: workers that index their own events.
    pub worker_log_warnings: u64,
    /// Block size that the formula's fractions prove; none when they do not.
    pub block_size_inferred: Option<u32>,
    /// Mean time to first token in seconds, over the scrapes seen.
    pub ttft_mean: Option<f64>,
    /// Requests waiting in front of the router.
    pub queued: Option<u64>,
}

/// The mirror of the router's index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeSummary {
    /// Blocks over all ranks, as the router would count them, device tier.
    pub accepted_blocks: u64,
    /// Blocks over all ranks as held, device tier.
    pub held_blocks: u64,
    /// Different blocks among the accepted ones, device tier.
    pub distinct_blocks: u64,
    /// Missing parents under which refused blocks hang.
    pub orphan_roots: u64,
    /// Refused blocks over all ranks that hang in the orphan forest.
    pub orphan_blocks: u64,
    /// Compressed edges.
    pub edges: u64,
    /// Estimated memory in bytes.
    pub memory_bytes: u64,
    /// Bound of the memory in bytes.
    pub memory_limit: u64,
    /// Blocks dropped to stay within the bound; more than 0 means that the mirror is incomplete.
    pub shed_blocks: u64,
    /// True while removed workers are still being swept out; distinct counts are upper bounds then.
    pub behind: bool,
    /// Why the mirror may differ from a router's index, for people; empty when it should not.
    pub incomplete: Vec<String>,
}

/// A claim with the time it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRow {
    /// The claim.
    pub claim: Claim,
    /// When it was read.
    pub at: Timestamp,
}

/// A source and how it is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceRow {
    /// Its name, such as `nats`.
    pub name: String,
    /// How it is doing.
    pub state: SourceState,
    /// Why, for people; empty when there is nothing to say.
    pub why: String,
    /// When it will try again.
    pub retry_at: Option<Timestamp>,
    /// Round trip.
    pub rtt: Option<Duration>,
    /// Frames received from it.
    pub frames: u64,
    /// Frames per second over 10 seconds.
    pub frames_per_second: f64,
    /// Frames of it that could not be read.
    pub rejects: u64,
    /// Messages missing by the publishers' own numbers.
    pub gaps: u64,
    /// Frames lost in kvtop. At least one when `drops_uncounted`.
    pub dropped: u64,
    /// True when more were lost than could be counted.
    pub drops_uncounted: bool,
    /// Times it was interrupted after it had been live.
    pub interruptions: u64,
    /// When its last frame arrived.
    pub last_frame: Option<Timestamp>,
    /// What was read of a stream's history.
    pub history: Option<HistoryNote>,
}

/// Input that could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rejects {
    /// How many.
    pub count: u64,
    /// For each reason: how often, and the first sample.
    pub reasons: Vec<RejectRow>,
}

/// One reason for rejects.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectRow {
    /// The kind of origin.
    pub origin: String,
    /// Why.
    pub why: String,
    /// How often.
    pub count: u64,
    /// When first.
    pub first: Timestamp,
    /// The start of the first one, made printable.
    pub sample: String,
}

/// Evenly spaced values that end now; `None` where nothing was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The values, oldest first.
    pub points: Vec<Option<f64>>,
}

/// Histories for graphs. All have the same number of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesSet {
    /// The time all points cover together.
    pub window: Duration,
    /// `stored` events per second.
    pub stores: Series,
    /// Blocks removed per second.
    pub removals: Series,
    /// Refused stores per second.
    pub refused: Series,
    /// Unknown removals per second.
    pub unknown_removals: Series,
    /// Accepted blocks.
    pub tree_size: Series,
    /// Mean KV utilization, 0 to 1.
    pub kv_utilization: Series,
    /// KV utilization of each rank that reports one, 0 to 1.
    pub kv_utilization_by_rank: Vec<(WorkerRank, Series)>,
    /// Requests routed per second.
    pub routed: Series,
    /// Share of requests with any overlap among those whose overlap is known, 0 to 1.
    pub hit_share: Series,
}

/// How grave an event is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Nothing to worry about.
    #[default]
    Normal,
    /// Worth a look.
    Notice,
    /// The router complains, or would.
    Bad,
}

/// What kind of event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// Blocks were stored.
    Store,
    /// Blocks were removed.
    Remove,
    /// A cache was emptied.
    Clear,
    /// A request was routed.
    Route,
    /// A warning in a log.
    Warning,
    /// A worker came, went or started anew.
    Worker,
    /// A source changed its state, or lost something.
    Source,
    /// Input could not be read.
    Reject,
}

impl EventKind {
    /// Returns its name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Store => "STORE",
            Self::Remove => "REMOVE",
            Self::Clear => "CLEAR",
            Self::Route => "ROUTE",
            Self::Warning => "WARN",
            Self::Worker => "WORKER",
            Self::Source => "SOURCE",
            Self::Reject => "REJECT",
        }
    }
}

/// Something that happened, or a run of the same within a second.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Its number since kvtop started; views anchor to it.
    pub number: u64,
    /// When it happened.
    pub at: Timestamp,
    /// Whom it concerns: a worker's alias, a pod, a source.
    pub who: String,
    /// What kind.
    pub kind: EventKind,
    /// What, for people.
    pub text: String,
    /// How grave.
    pub gravity: Gravity,
    /// Which source it is from.
    pub source: Arc<str>,
    /// How many more of the same followed within the second.
    pub repeats: u64,
}

/// The cost of one worker in a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct TermRow {
    /// The rank weighed.
    pub rank: WorkerRank,
    /// Its cost.
    pub logit: f64,
    /// Weight of the prefill term.
    pub weight: f64,
    /// Blocks to prefill.
    pub prefill_blocks: f64,
    /// Blocks decoding.
    pub decode_blocks: f64,
    /// Cached blocks.
    pub cached_blocks: f64,
}

/// A router's choice.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionRow {
    /// When.
    pub at: Timestamp,
    /// The router's pod.
    pub router: Arc<str>,
    /// The request, when known.
    pub request: Option<Arc<str>>,
    /// The worker chosen.
    pub worker: WorkerId,
    /// Its rank, when known.
    pub dp_rank: Option<DpRank>,
    /// Its alias.
    pub alias: String,
    /// Its cost.
    pub logit: Option<f64>,
    /// Overlap in blocks, from the same line or from the end of the request.
    pub cached_blocks: Option<f64>,
    /// Tree size as printed.
    pub tree_size: Option<u64>,
    /// Every worker's cost, when the log spells the formula out.
    pub terms: Vec<TermRow>,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidenceRow {
    /// What it is about, such as `publisher block size, w0`.
    pub claim: String,
    /// What was seen.
    pub value: String,
    /// Where.
    pub source: String,
    /// When; none for what has no time.
    pub at: Option<Timestamp>,
    /// True when it speaks against the finding.
    pub against: bool,
}

/// What mends a finding. Printed and copied, never applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixRow {
    /// What to do, in one sentence.
    pub sentence: String,
    /// A strategic merge patch, when the object to patch is known.
    pub yaml: Option<String>,
    /// A command that applies it, when the object to patch is known.
    pub kubectl: Option<String>,
    /// What restarts because of it.
    pub restarts: String,
    /// How to see that it worked.
    pub verify: String,
}

/// Something that is wrong, or was until just now.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingRow {
    /// Its public id, such as `KVT001`.
    pub id: &'static str,
    /// Its public name, such as `block-size-mismatch`.
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub grade: Grade,
    /// What is wrong, in one sentence with numbers.
    pub summary: String,
    /// What it does to requests, in one sentence.
    pub effect: String,
    /// What it rests on.
    pub evidence: Vec<EvidenceRow>,
    /// What would refute it.
    pub refuted_by: String,
    /// Other causes that were weighed, and why they lost.
    pub competing: Vec<String>,
    /// What mends it.
    pub fix: Option<FixRow>,
    /// Ids of findings that are its consequences.
    pub explains: Vec<&'static str>,
    /// When it was raised.
    pub raised: Timestamp,
    /// When it was resolved; none while it is true.
    pub resolved: Option<Timestamp>,
}

/// What a check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// Looked at and found good.
    Clear,
    /// Not known; never shown as good.
    Unknown {
        /// What is missing to know.
        missing: String,
    },
    /// Something is wrong; it is among the findings.
    Found,
}

/// A check and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRow {
    /// Its public id.
    pub id: &'static str,
    /// Its public name.
    pub name: &'static str,
    /// What it says.
    pub verdict: CheckVerdict,
    /// A few words on how it is judged now, such as `2 of 2 workers publish`.
    pub note: String,
}

/// What a front end wants to see; it comes from the UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewQuery {
    /// The time graphs cover.
    pub window: Duration,
    /// Points of each graph.
    pub points: usize,
    /// Events wanted at most.
    pub events: usize,
    /// Decisions wanted at most.
    pub decisions: usize,
}

impl Default for ViewQuery {
    fn default() -> Self {
        Self { window: Duration::from_secs(300), points: 300, events: 200, decisions: 50 }
    }
}
