//! Histories for graphs.

use std::time::Duration;

use crate::domain::{Timestamp, WorkerRank};

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
    /// Their end; none for the time of the picture.
    pub until: Option<Timestamp>,
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
    /// Share of prompt tokens that engines had cached in the minute before, 0 to 1.
    pub cached_share: Series,
    /// Time to first token in seconds of half of the requests in the minute before.
    pub ttft_p50: Series,
    /// The same of 95 % of them.
    pub ttft_p95: Series,
}
