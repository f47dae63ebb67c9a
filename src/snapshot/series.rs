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
    /// Of those, the ones of ranks of which all was known.
    pub known_refused: Series,
    /// Stores per second that each router rejected because it lacks the parent block, by its log.
    pub routers_refused: Series,
    /// Blocks in refused stores per second.
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

impl SeriesSet {
    /// Returns rejected stores as a share of stores, 0 to 1, by kvtop's copy or by routers' logs, whichever is more;
    /// none without stores. While the copy is `warming`, its own rejections prove nothing and only routers' logs count.
    pub fn rejected_share(&self, warming: bool) -> Vec<Option<f64>> {
        let at = |series: &Series, point: usize| series.points.get(point).copied().flatten();
        let share = |point: usize| {
            let stores = at(&self.stores, point).filter(|stores| *stores > 0.0)?;
            let own = at(&self.known_refused, point).filter(|_| !warming);
            let routers = at(&self.routers_refused, point).filter(|each| !warming || *each > 0.0);
            let most = own.into_iter().chain(routers).reduce(f64::max)?;
            Some((most / stores).min(1.0))
        };
        (0..self.stores.points.len()).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_of_routers_count_where_the_copy_has_fewer_or_is_silent() {
        let series = |points: [Option<f64>; 5]| Series { points: points.to_vec() };
        let set = SeriesSet {
            stores: series([Some(10.0), Some(10.0), Some(10.0), Some(0.0), None]),
            known_refused: series([Some(1.0), Some(2.0), None, Some(1.0), Some(1.0)]),
            routers_refused: series([Some(4.0), Some(1.0), Some(30.0), Some(1.0), None]),
            ..SeriesSet::default()
        };

        assert_eq!(set.rejected_share(false), [Some(0.4), Some(0.2), Some(1.0), None, None]);
        assert_eq!(set.rejected_share(true), [Some(0.4), Some(0.1), Some(1.0), None, None]);
        let silent = SeriesSet { routers_refused: series([Some(0.0); 5]), ..set };
        assert_eq!(silent.rejected_share(true), [None; 5]);
    }
}
