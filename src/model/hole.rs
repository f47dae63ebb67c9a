//! KV events of a rank that did not reach kvtop.

use crate::domain::Timestamp;

/// KV events of a rank that did not reach kvtop, or may not have, and that nothing has made up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankHole {
    /// Messages that are missing by the publisher's numbers.
    pub messages: u64,
    /// The time the last loss was found.
    pub last: Timestamp,
    /// True after a loss of which nobody knows whose messages it took: the next number tells.
    pub unsure: bool,
}

/// A reason to doubt what a rank holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Messages went missing.
    Missing,
    /// The mirror dropped blocks at the memory limit; only a restart of the rank makes its state known again.
    Shed,
}

impl RankHole {
    /// Returns `hole` with `count` more messages that were found to be missing at `at`.
    pub(super) fn with_missing(hole: Option<Self>, count: u64, at: Timestamp) -> Self {
        let messages = hole.map_or(0, |hole| hole.messages).saturating_add(count);
        Self { messages, last: at, unsure: false }
    }

    /// Returns `hole` after a loss at `at` that may have taken messages of the rank.
    pub(super) fn with_doubt(hole: Option<Self>, at: Timestamp) -> Self {
        Self { messages: hole.map_or(0, |hole| hole.messages), last: at, unsure: true }
    }

    /// Returns what is left of the hole once a missing message came late.
    pub(super) fn less_one(self) -> Option<Self> {
        let messages = self.messages.saturating_sub(1);
        (messages > 0 || self.unsure).then_some(Self { messages, ..self })
    }

    /// Returns what is left of the hole once a message came whose number follows that of the one before.
    pub(super) fn settled(self) -> Option<Self> {
        (self.messages > 0).then_some(Self { unsure: false, ..self })
    }
}
