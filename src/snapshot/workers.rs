//! Workers: one row for each rank, and all of them together.

use std::time::Duration;

use super::Series;
use crate::domain::{Provenance, RankLedger, Tier, Timestamp, WorkerRank};

/// Events counted since kvtop attached.
pub type Counters = crate::domain::Counters;

/// Rates of KV events per second, over one window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// `stored` events.
    pub stores: f64,
    /// Blocks in them.
    pub stored_blocks: f64,
    /// Blocks removed.
    pub removals: f64,
    /// Stores refused: orphans.
    pub refused: f64,
    /// Blocks in them.
    pub refused_blocks: f64,
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

impl RateSet {
    /// Returns the rates of several together.
    pub fn sum(all: impl Iterator<Item = Self>) -> Self {
        let add = |sum: Rates, more: Rates| Rates {
            stores: sum.stores + more.stores,
            stored_blocks: sum.stored_blocks + more.stored_blocks,
            removals: sum.removals + more.removals,
            refused: sum.refused + more.refused,
            refused_blocks: sum.refused_blocks + more.refused_blocks,
            unknown_removals: sum.unknown_removals + more.unknown_removals,
        };
        all.fold(Self::default(), |sum, more| Self {
            ten_seconds: add(sum.ten_seconds, more.ten_seconds),
            minute: add(sum.minute, more.minute),
            five_minutes: add(sum.five_minutes, more.five_minutes),
        })
    }
}

/// Tokens per block as claimed by each part, and as behaviour proves them; none where nothing reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSizes {
    /// The publisher's as stores and lengths of prompts prove it, while a finding rests on that.
    pub proven: Option<u32>,
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
    /// The place it was read from.
    pub source: Provenance,
    /// When.
    pub at: Timestamp,
}

/// A router's estimate of the load of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterLoad {
    /// Blocks decoding.
    pub decode_blocks: u64,
    /// Tokens waiting for prefill.
    pub prefill_tokens: u64,
}

/// Knowledge of the blocks that a rank held before kvtop attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// They are not: its orphans prove nothing.
    #[default]
    SinceAttach,
    /// They are: its first event was seen, or a `cleared`, or the whole history was read.
    Complete,
}

/// The owners of a worker: names that outlive it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belongs {
    /// The graph deployment of its pod.
    pub graph: Option<String>,
    /// Its component in the graph deployment, or else as discovery names it.
    pub component: Option<String>,
    /// The model that it serves, as discovery names it.
    pub model: Option<String>,
}

/// Requests in an engine, by its own metrics; none where it does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InEngine {
    /// Those that it computes.
    pub running: Option<u64>,
    /// Those that wait.
    pub waiting: Option<u64>,
    /// The time that 95 % of them waited at most, in the last minute.
    pub queue_time: Option<Duration>,
}

/// One rank of one worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRow {
    /// Short name: `w0`, `w1` … by order of first sight of the worker.
    pub alias: String,
    /// The rank.
    pub rank: WorkerRank,
    /// True while history is being read, so that its counts are too low.
    pub reading: bool,
    /// Its pod, or the name of its process.
    pub pod: Option<String>,
    /// Its node.
    pub node: Option<String>,
    /// Its role: worker, prefill, decode.
    pub role: Option<String>,
    /// True when discovery says that it left.
    pub gone: bool,
    /// The time discovery said so; none while it is there.
    pub left: Option<Timestamp>,
    /// The time of its last event or request, where it goes on long after it left.
    pub lives_on: Option<Timestamp>,
    /// Knowledge of its earlier blocks.
    pub knowledge: Knowledge,
    /// Blocks a router that saw every event would hold for it, device tier.
    pub accepted: u64,
    /// Blocks it really holds as far as events say, device tier: accepted and orphaned.
    pub held: u64,
    /// Change of the accepted blocks per second over 10 seconds; none while not known for as long.
    pub change: Option<f64>,
    /// Accepted blocks by tier, in the order of [`Tier::ALL`].
    pub tiers: [u64; Tier::ALL.len()],
    /// Its owners.
    pub belongs: Belongs,
    /// Events counted.
    pub counters: Counters,
    /// KV events that happened while kvtop was watching.
    pub live: Counters,
    /// Requests routed to it while kvtop was watching.
    pub live_routed: u64,
    /// Events per second.
    pub rates: RateSet,
    /// Block sizes claimed for it.
    pub block_size: BlockSizes,
    /// Blocks its engine has in use.
    pub used_blocks: Option<Sourced<u64>>,
    /// The largest share of its KV blocks in use, 0 to 1, that held for ten seconds of the last half
    /// minute, as a mean: what judges it, so that a value at an edge does not flap.
    pub kv_lately: Option<f64>,
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
    /// Requests that its worker runs or holds in its queue.
    pub in_flight: Option<u64>,
    /// Requests in its engine.
    pub in_engine: InEngine,
    /// Time of its last KV event.
    pub last_event: Option<Timestamp>,
    /// Its publisher's number of that event.
    pub last_event_id: Option<u64>,
    /// Messages of its KV events that are missing by its publisher's numbers.
    pub missing: u64,
    /// The fates of its messages, by its publisher's numbers.
    pub ledger: RankLedger,
    /// Stores of it that routers' logs say they refused although kvtop's mirror holds their parents.
    pub router_refused: u64,
    /// True when a router said so within the last minute.
    pub router_refuses: bool,
    /// Number of restarts under the same id.
    pub restarts: u64,
    /// A router's estimate of its load.
    pub load: Option<Sourced<RouterLoad>>,
    /// Refused stores as a share of stores over a minute, 0 to 1, by kvtop's copy or by routers' logs, whichever is
    /// more; none without stores. While earlier blocks are unknown, only routers' warnings count.
    pub orphan_share: Option<f64>,
    /// Blocks stored per second over the last minutes, in few points, for a graph in a row. Only the first
    /// workers have one.
    pub stored_lately: Series,
}

impl WorkerRow {
    /// Returns true when it left and does nothing more.
    pub fn is_away(&self) -> bool {
        self.gone && self.lives_on.is_none()
    }

    /// Returns true when all of its blocks are known, those stored before kvtop attached too.
    pub fn is_whole(&self) -> bool {
        self.gone || self.knowledge == Knowledge::Complete
    }
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
    /// Refused stores as a share of stores over a minute, 0 to 1, by kvtop's copy or by routers' logs, whichever is
    /// more; none without stores. While earlier blocks are unknown, only routers' warnings count.
    pub orphan_share: Option<f64>,
    /// The same by routers' own counters; none where nobody reads them.
    pub counted_share: Option<f64>,
}

impl Totals {
    /// Returns refused stores as a share of stores over a minute, by whoever tells of more; `rows` is the share of the
    /// workers that are looked at, by kvtop's copy and logs.
    pub fn rejected(&self, rows: Option<f64>) -> Option<f64> {
        [rows, self.counted_share].into_iter().flatten().reduce(f64::max)
    }
}

/// One rank of a worker over time.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerDetail {
    /// The rank.
    pub rank: WorkerRank,
    /// `stored` events per second.
    pub stores: Series,
    /// Blocks in them per second.
    pub stored_blocks: Series,
    /// Blocks removed per second.
    pub removals: Series,
    /// Refused stores per second.
    pub refused: Series,
    /// Blocks in them per second.
    pub refused_blocks: Series,
    /// Unknown removals per second.
    pub unknown_removals: Series,
    /// Requests routed to it per second.
    pub routed: Series,
    /// Accepted blocks.
    pub accepted: Series,
    /// Share of its KV blocks in use, 0 to 1.
    pub kv_utilization: Series,
    /// Share of its prompt tokens found in its engine's cache, 0 to 1.
    pub hit_rate: Series,
    /// The time all points cover together: histories of ranks are shorter than those of totals.
    pub window: Duration,
}
