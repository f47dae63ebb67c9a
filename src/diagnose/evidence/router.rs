//! Evidence about routers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Pool;
use crate::domain::{Timestamp, WorkerId};
use crate::model::{Heard, RouterTally, SizeByStores};

/// Evidence about routers.
#[derive(Clone, Debug, Default)]
pub struct RouterEvidence {
    /// True when any router's log is read.
    pub read: bool,
    /// True where all of them replaced a process that chose by another mode, and said that they route by KV blocks (`KV
    /// Routing initialized`, dynamo-llm 0.9.0 to 1.6.1, `kv_router.rs`).
    pub by_blocks: bool,
    /// Start of the last of them, where that is known.
    pub began: Option<Timestamp>,
    /// The time from which on all requests were routed by routers that still run; `tally` and `told` count none from
    /// before. None where no router was replaced, or the start of one is unknown.
    pub alone: Option<Timestamp>,
    /// The time before which nothing is in the routers' own counts, if every one of them counts from zero since then.
    pub counts_since: Option<Timestamp>,
    /// The routers that reject stores because they lack the parent block; none if the start of one is unknown.
    pub rejecting: Option<Rejecting>,
    /// Pods that routed in the last minute, of the component that has most of them.
    pub pods: Vec<Arc<str>>,
    /// True where the component of one of `pods` is unknown.
    pub unplaced: bool,
    /// Ready pods of the component that has most of those that route.
    pub replicas: Vec<Arc<str>>,
    /// Counts of the window, about workers that are there, of the time in which KV events were watched too.
    pub tally: RouterTally,
    /// The same of everything that routers told, whether KV events were watched or not. Not to be held against
    /// counts of KV events.
    pub told: RouterTally,
    /// Time of the last log line that was counted.
    pub heard: Heard,
    /// Weight of the prefill term that each of them printed last.
    pub weights: Vec<(Arc<str>, f64)>,
    /// The router's block size, inferred from its costs.
    pub inferred: Option<SizeByCosts>,
    /// The publisher's block size, inferred from the lengths of chains.
    pub chains: Option<SizeByStores>,
    /// The same for each model, and for each of the pools of workers, where there are several.
    pub chains_of: Vec<(Pool, SizeByStores)>,
    /// Prompts of known length to compare chains against.
    pub lengths_told: u64,
    /// Cached blocks that the router ignored, over the decisions of the window that log every worker's cost.
    pub regret: Option<Regret>,
    /// Workers that serve and whose KV events it has no source for, by its own metric.
    pub sourceless: u64,
    /// Routers whose indexes took in no KV event since they started, by their own counters, each with the stores that
    /// workers published between two readings that said so.
    pub unfed: Vec<(Arc<str>, u64)>,
    /// The number of routers whose own counters show KV events in their indexes.
    pub fed: usize,
    /// Cache hits of each router that is there, chose workers lately, and rejects no store for a missing parent.
    pub hits: Vec<RouterHits>,
}

/// Cache hits of one router since it started, by its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterHits {
    /// Its pod.
    pub pod: Arc<str>,
    /// Requests whose cache hits are known.
    pub known: u64,
    /// Those without a cache hit.
    pub zero: u64,
    /// Those since the last with a cache hit.
    pub unhit: u64,
    /// Workers that it chose.
    pub workers: BTreeSet<WorkerId>,
}

/// Routers that reject stores because they lack the parent block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejecting {
    /// Their number.
    pub routers: u64,
    /// The start of the oldest.
    pub began: Timestamp,
    /// The longest time from the first request of one to the first store that it rejected.
    pub after: Duration,
}

/// A block size that follows from the fractions of costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeByCosts {
    /// Tokens per block.
    pub tokens: u32,
    /// Costs looked at.
    pub samples: u64,
    /// The chance that a larger size is meant, when every fraction is as likely as any.
    pub error: f64,
}

/// Cached blocks that the router ignored because of load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Regret {
    /// Decisions looked at.
    pub decisions: u64,
    /// Decisions that did not choose the worker with the most cached blocks.
    pub passed_up: u64,
    /// Blocks of all prompts together.
    pub prompt_blocks: f64,
    /// Cached blocks of the best worker, over all decisions.
    pub best_blocks: f64,
    /// Cached blocks of the chosen worker, over all decisions.
    pub chosen_blocks: f64,
    /// Cached blocks that a router of default weights would have found beyond those, over all decisions:
    /// what settings or temperature give away, not load.
    pub forgone_blocks: f64,
}
