//! Limits that rules judge by.

mod keys;

pub use keys::{Key, ThresholdError};

/// Numbers that rules compare with. Counts gate rules, not seconds: a short recording can prove a cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Store events needed before their share is judged.
    pub min_stores: u64,
    /// Share of empty store events above which a publisher rejects its engine's blocks.
    pub empty_share: f64,
    /// Share of empty store events below which a publisher is healthy.
    pub empty_share_well: f64,
    /// Removals, all of unknown blocks, that prove missing store events.
    pub min_removals: u64,
    /// Requests that must have been routed for this.
    pub min_routed_removals: u64,
    /// Requests without a cache hit that prove a router finds no blocks.
    pub min_blind: u64,
    /// Blocks that workers must hold for this.
    pub min_held: u64,
    /// Store events that must show prefix reuse for this.
    pub min_reuse: u64,
    /// Warnings about unknown parents that prove a router without history.
    pub min_parent_warnings: u64,
    /// Prompts of known length after which the publisher's block size counts as unknown.
    pub min_lengths: u64,
    /// Least share of rejected stores that a cause must explain if history or events are incomplete.
    pub all_share: f64,
    /// Requests that a silent worker must have received.
    pub min_silent_routed: u64,
    /// The same if no router logs cache hits.
    pub min_silent_routed_unseen: u64,
    /// Decisions needed to judge load balance and worker choice.
    pub min_decisions: u64,
    /// Seconds after a worker joined or left before workers are compared.
    pub settle_seconds: u64,
    /// Share of rejected stores above which events count as lost.
    pub loss_share: f64,
    /// Share of missing messages above which events count as lost.
    pub gap_share: f64,
    /// Share of stored blocks that had been evicted within the previous 10 minutes.
    pub return_share: f64,
    /// Sampled blocks needed to judge this share.
    pub min_sampled: u64,
    /// KV utilization above which a worker is under pressure, 0 to 1.
    pub pressure: f64,
    /// Inequality of requests between workers (Gini), 0 to 1.
    pub gini: f64,
    /// Share of cached blocks ignored because of load.
    pub regret: f64,
    /// Share of cached blocks ignored that the default weight would have used.
    pub forgone: f64,
    /// Factor by which a rank may exceed its capacity.
    pub phantom: f64,
    /// Log lines of workers that cannot decode their engines' events.
    pub min_decode_failed: u64,
    /// Messages that cannot be decoded.
    pub min_unreadable: u64,
    /// Share of messages that cannot be decoded.
    pub unreadable_share: f64,
    /// Seconds for which a publisher must be unreachable. At first kvtop is still connecting, and a worker that
    /// ends closes its socket before its record is removed.
    pub unreached_seconds: u64,
    /// Ratio of the 95th percentile to the median of the time to first token above which a few requests wait long.
    pub tail: f64,
    /// Requests needed to judge latency percentiles.
    pub min_timed: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            min_stores: 20,
            empty_share: 0.5,
            empty_share_well: 0.3,
            min_removals: 20,
            min_routed_removals: 8,
            min_blind: 12,
            min_held: 30,
            min_reuse: 5,
            min_parent_warnings: 20,
            min_lengths: 200,
            all_share: 0.9,
            min_silent_routed: 10,
            min_silent_routed_unseen: 30,
            min_decisions: 100,
            settle_seconds: 60,
            loss_share: 0.05,
            gap_share: 0.001,
            return_share: 0.2,
            min_sampled: 50,
            pressure: 0.95,
            gini: 0.35,
            regret: 0.3,
            forgone: 0.05,
            phantom: 1.05,
            min_decode_failed: 3,
            min_unreadable: 20,
            unreadable_share: 0.1,
            unreached_seconds: 10,
            tail: 3.0,
            min_timed: 100,
        }
    }
}
