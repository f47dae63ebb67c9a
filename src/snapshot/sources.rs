//! Sources, the claims that were read from them, and what could not be read.

use std::time::Duration;

use crate::domain::{Claim, HistoryNote, Peers, SourceName, SourceState, Timestamp, Trouble};

/// A claim with the time it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRow {
    /// The claim.
    pub claim: Claim,
    /// The time it was read.
    pub at: Timestamp,
}

/// A source and how it is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceRow {
    /// Its name.
    pub name: SourceName,
    /// Its state.
    pub state: SourceState,
    /// Why, for people; empty when there is nothing to say.
    pub why: String,
    /// The kinds of trouble behind `why`.
    pub troubles: Vec<Trouble>,
    /// The connections that it should have, and has, if it connects to several publishers or pods.
    pub peers: Option<Peers>,
    /// The time of its next attempt.
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
    /// Arrival of its last frame.
    pub last_frame: Option<Timestamp>,
    /// True while it is not known yet what there is of the past to be read.
    pub pending: bool,
    /// The progress of reading a stream's history.
    pub history: Option<HistoryNote>,
}

impl SourceRow {
    /// Returns in words that kvtop waits for it, and why.
    pub fn absence(&self) -> String {
        match self.why.as_str() {
            "" => format!("waits for {} to answer", self.name),
            why => format!("waits for {} to answer: {why}", self.name),
        }
    }
}

/// History that is still being read: until it has been, counts are too low and nothing is proven by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchingUp {
    /// Messages read.
    pub read: u64,
    /// Messages that there are.
    pub total: u64,
    /// Estimated time for the rest; none until it can be estimated.
    pub left: Option<Duration>,
    /// True when counts are those of the newest messages and of what comes live, so that they are at least so high;
    /// otherwise they are those of the part that was read, and nothing is known of the present.
    pub ahead: bool,
}

impl CatchingUp {
    /// Returns how much was read, from 0 to 99: all of it is read when there is nothing to catch up with.
    pub fn percent(&self) -> u64 {
        (self.read.saturating_mul(100) / self.total.max(1)).min(99)
    }
}

/// Input that could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rejects {
    /// The number.
    pub count: u64,
    /// Those that happened while kvtop was watching.
    pub live: u64,
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
    /// The number of times.
    pub count: u64,
    /// The first time.
    pub first: Timestamp,
    /// The start of the first one, made printable.
    pub sample: String,
}
