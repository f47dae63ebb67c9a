//! The picture that front ends get: owned, small, and bounded by what can be shown.
//!
//! Plain data with public fields, without references into the model and without styles. The TUI draws
//! it, `report` writes it. A value that is not known is `None`, never 0.

mod cluster;
mod curve;
mod events;
mod explorer;
mod feed;
mod felt;
mod findings;
mod fleet;
mod foresight;
mod ledger;
mod memory;
mod query;
mod router;
mod series;
mod sources;
mod standing;
mod tree;
mod workers;

pub use cluster::{ComponentRow, Deployment, GraphRow, PodRow};
pub use curve::{CapacityCurve, CurvePoint};
pub use events::{EventDetail, EventKind, EventRow, FrameView, Gravity, LogLine};
pub use explorer::{TreeAgreement, TreeDetail, TreePage, TreeQuery, TreeShare};
pub use feed::{DemoChange, DemoState, Feed, Playback};
pub use felt::{Felt, Refill};
pub use findings::{
    CheckRow, CheckVerdict, Coverage, EvidenceRow, FindingRow, FixRow, Quiet, RolloutRow,
};
pub use fleet::{FLEET_SPANS, Fleet, FleetPast, FleetPoint, Member, MemberId, MemberState, Worst};
pub use foresight::{
    CurveProgress, Demand, DrainRow, Duplicates, Foresight, PrefixShare, PrefixShares, Stickiness,
};
pub use ledger::{Hole, Ledger, StreamRow};
pub use memory::{MemoryFigure, MemoryRow};
pub use query::{Answer, Ask, ViewQuery};
pub use router::{
    Counted, DecisionRow, Flow, Latency, LiveRequests, RequestMix, RouterSummary, RoutingDetail,
    ShareRow, TermRow,
};
pub use series::{Series, SeriesSet};
pub use sources::{CatchingUp, ClaimRow, RejectRow, Rejects, SourceRow};
pub use standing::{Lack, Limits, Standing, ranks_beyond};
pub use tree::TreeSummary;
pub use workers::{
    Belongs, BlockSizes, Counters, InEngine, Knowledge, RateSet, Rates, RouterLoad, Sourced,
    Totals, WorkerDetail, WorkerRow,
};

use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::domain::{Grade, Severity};
use crate::domain::{SourceName, SourceState, Timestamp};

/// Everything a front end may show, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The moment: the clock when live, the position when replaying.
    pub at: Timestamp,
    /// Arrival of the first frame; `at` when there is none yet.
    pub since: Timestamp,
    /// Arrival of the newest frame that is no source's note; none so far.
    pub newest: Option<Timestamp>,
    /// Number of frames taken in.
    pub frames: u64,
    /// The origin of the frames.
    pub feed: Feed,
    /// The inspected deployment.
    pub deployment: Deployment,
    /// One row for each rank of each worker, in order of first sight.
    pub workers: Arc<Vec<WorkerRow>>,
    /// The memory of the first ranks, in the same order.
    pub memory: Arc<Vec<MemoryRow>>,
    /// Stores that a larger KV cache would have avoided; none while too little is known.
    pub curve: Option<CapacityCurve>,
    /// Dynamo's pods, by name.
    pub pods: Arc<Vec<PodRow>>,
    /// All workers together.
    pub totals: Totals,
    /// Data from the routers.
    pub router: RouterSummary,
    /// Latencies and hits in the last minute.
    pub felt: Felt,
    /// The same at the moment that the query compares with; none where it names none.
    pub before: Option<Felt>,
    /// The mirror of the router's index.
    pub tree: TreeSummary,
    /// Its hottest prefixes, a few seconds old at most; none where the query does not want them.
    pub prefixes: Option<Arc<TreePage>>,
    /// Answers from state, a few seconds old at most; none where the query does not want them.
    pub foresight: Option<Arc<Foresight>>,
    /// Every claim about a setting, with its source; empty in the pictures of a brief engine.
    pub claims: Arc<Vec<ClaimRow>>,
    /// The sources and how they are doing.
    pub sources: Vec<SourceRow>,
    /// The fates of the messages of each stream.
    pub ledger: Ledger,
    /// History that is still being read; none once all of it has been.
    pub catching_up: Option<CatchingUp>,
    /// Input that could not be read.
    pub rejects: Rejects,
    /// Histories for graphs, over the window that was asked for.
    pub series: SeriesSet,
    /// The last events, oldest first.
    pub events: Vec<EventRow>,
    /// The last decisions, oldest first.
    pub decisions: Vec<DecisionRow>,
    /// Findings, causes first; those resolved in the last minute come last.
    pub findings: Vec<FindingRow>,
    /// Findings resolved before that, newest first: at most 32.
    pub past: Arc<[FindingRow]>,
    /// Every check with its verdict, by id.
    pub checks: Vec<CheckRow>,
    /// The times each finding was raised since kvtop attached, by id.
    pub raises: BTreeMap<&'static str, u64>,
    /// The amount of data behind the verdict.
    pub coverage: Coverage,
    /// The thresholds of the rules behind findings and checks.
    pub limits: Limits,
    /// The answer to the query's question.
    pub answer: Answer,
    /// The deployments to choose from, while none is inspected; none while one is.
    pub fleet: Option<Arc<Fleet>>,
}

/// Sources that bring KV events.
const OF_EVENTS: [&str; 4] = ["nats", "jetstream", "zmq", "simulator"];

/// Seconds without a KV event after which NATS counts as silent.
const SILENCE: u64 = 10;

impl Snapshot {
    /// Returns true when KV events would be seen if there were any, so that 0 is a count.
    pub fn hears_events(&self) -> bool {
        let delivers = |row: &SourceRow| {
            OF_EVENTS.contains(&row.name.as_str())
                && matches!(row.state, SourceState::Live | SourceState::Lossy)
        };
        self.tree.held_blocks > 0
            || self.workers.iter().any(|row| row.last_event.is_some())
            || self.sources.iter().any(delivers)
    }

    /// Returns true while stores that kvtop's copy rejects prove nothing, because earlier blocks of a worker are not known.
    pub fn is_warming(&self) -> bool {
        // A worker that never sent an event has no rejected stores.
        let warms = |row: &WorkerRow| {
            row.knowledge == Knowledge::SinceAttach && !row.gone && row.last_event.is_some()
        };
        self.workers.iter().any(warms)
    }

    /// Returns true when NATS is all that is listened to, and no KV event came for 10 s: nothing tells
    /// a deployment that is idle from one that publishes over ZMQ (`EVENTS_BY_ZMQ` of `dynamo::plane`).
    pub fn is_silent_on_nats(&self) -> bool {
        let others = ["zmq", "etcd", "discovery", "kubernetes", "simulator"];
        let nats = |row: &SourceRow| row.name == SourceName::Nats && row.state == SourceState::Live;
        self.at.since(self.since).as_secs() >= SILENCE
            && self.sources.iter().any(nats)
            && !self.sources.iter().any(|row| others.contains(&row.name.as_str()))
            && self.tree.held_blocks == 0
            && self.workers.iter().all(|row| row.last_event.is_none())
    }
}
