//! The figures that users of a deployment feel, as one value each.

use super::{Snapshot, WorkerRow};

/// Figures over the minute before a moment. What nothing reports is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Felt {
    /// Share of prompt tokens that engines had cached, 0 to 1.
    pub cached: Option<f64>,
    /// Share of requests for which a router found any cached block, 0 to 1.
    pub found: Option<f64>,
    /// Time to first token in seconds: half of the requests, and 95 % of them.
    pub first_token: Option<[f64; 2]>,
    /// Time between tokens in seconds: half of the tokens, and 95 % of them.
    pub inter_token: Option<[f64; 2]>,
}

/// Caches that fill, as they do after a restart: until they hold what users ask for again, first tokens take longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refill {
    /// Blocks stored per second.
    pub stored: f64,
    /// Blocks evicted per second.
    pub evicted: f64,
    /// Workers whose caches grow.
    pub workers: usize,
}

impl Snapshot {
    /// Returns how fast caches fill; none unless workers store several blocks for each that is evicted.
    pub fn refilling(&self) -> Option<Refill> {
        let rates = &self.totals.rates.ten_seconds;
        let grows = |row: &&WorkerRow| !row.gone && row.change.is_some_and(|change| change > 0.0);
        let workers = self.workers.iter().filter(grows).count();
        let fills = rates.stored_blocks >= 1.0 && rates.stored_blocks > 4.0 * rates.removals;
        let refill = Refill { stored: rates.stored_blocks, evicted: rates.removals, workers };
        (fills && workers > 0).then_some(refill)
    }
}
