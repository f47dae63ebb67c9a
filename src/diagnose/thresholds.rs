//! Where rules draw their lines.

mod keys;

pub use keys::{Key, ThresholdError};

/// Numbers that rules compare with. Counts gate rules, not seconds: a short recording can prove a cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Stores that a share of stores needs.
    pub min_stores: u64,
    /// Share of empty stores from which on a publisher refuses its engine's blocks.
    pub empty_share: f64,
    /// Share of empty stores below which a publisher is well.
    pub empty_share_well: f64,
    /// Removals that prove that stores are missing, when all are unknown.
    pub min_removals: u64,
    /// Requests that must have been routed beside removals without stores.
    pub min_routed_removals: u64,
    /// Requests without overlap that prove a blind router.
    pub min_blind: u64,
    /// Blocks that workers must hold for it.
    pub min_held: u64,
    /// Stores that must show reuse for it.
    pub min_reuse: u64,
    /// Warnings about parents that the mirror holds.
    pub min_parent_warnings: u64,
    /// Prompts of known length that must have failed to tell the publisher's block size.
    pub min_lengths: u64,
    /// Share of refused stores that a cause must explain, at least, where the past or the events are not
    /// known.
    pub all_share: f64,
    /// Requests that a silent worker must have been given.
    pub min_silent_routed: u64,
    /// The same where no router says what it found.
    pub min_silent_routed_unseen: u64,
    /// Decisions that statements about balance and choice need.
    pub min_decisions: u64,
    /// Seconds after a worker came or left from which on workers can be compared.
    pub settle_seconds: u64,
    /// Share of stores refused from which on events are missing.
    pub loss_share: f64,
    /// Share of messages missing from which on it matters.
    pub gap_share: f64,
    /// Share of stored blocks that had been removed lately.
    pub return_share: f64,
    /// Sampled blocks that this share needs.
    pub min_sampled: u64,
    /// KV utilization from which on there is pressure, 0 to 1.
    pub pressure: f64,
    /// Inequality of requests between workers (Gini), 0 to 1.
    pub gini: f64,
    /// Share of cached blocks passed up for load.
    pub regret: f64,
    /// Share of cached blocks that a router of default weights would not have passed up.
    pub forgone: f64,
    /// Factor by which a rank may exceed its capacity.
    pub phantom: f64,
    /// Lines of workers that cannot read their engines' events.
    pub min_decode_failed: u64,
    /// Messages that cannot be read.
    pub min_unreadable: u64,
    /// Share of messages that cannot be read.
    pub unreadable_share: f64,
    /// Seconds that a publisher must be out of reach: kvtop connects at first, and a worker that ends
    /// closes its socket before its record is gone. No count of events would tell.
    pub unreached_seconds: u64,
    /// Factor between the 95th percentile and the median of the time to the first token from which on
    /// it is few requests that wait.
    pub tail: f64,
    /// Requests that percentiles of latencies need.
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
