//! The newest messages of a long history, and what comes live meanwhile, for a screen that need not wait for the rest.
//!
//! Nothing of this is the feed's one sequence of frames, which begins with the oldest message and comes later.

use std::collections::HashMap;

use super::join::{Lane, Mark};
use super::reading::{Reading, Seqs};
use super::sent::Sent;

/// Stored messages that are read first: a quarter of a second for a server that answers 60,000 questions a second.
const NEWEST: u64 = 16_384;

/// A history of so many messages takes so long that a screen need not wait for it.
pub(super) const LONG: u64 = 2 * NEWEST;

/// The messages of one feed that go ahead of its history.
#[derive(Debug)]
pub(super) enum AheadRead {
    /// The newest stored messages are being read.
    Newest(Box<Reading>),
    /// They were. Live messages follow as they come.
    Live {
        /// The held messages that were looked at, from the oldest on.
        looked_at: usize,
        /// For the next held messages of each lane, whether they were among the stored ones.
        stored: HashMap<Lane, std::vec::IntoIter<bool>>,
    },
    /// The whole history was read: what is passed on goes ahead, too, while others are still to be read.
    Joined,
    /// Something was lost, or there was no room. It does not begin again.
    Broken,
}

impl AheadRead {
    /// Begins to read the newest of the messages `first` to `last`.
    pub(super) fn new(first: u64, last: u64) -> Self {
        let newest = last.saturating_sub(NEWEST - 1).max(first);
        Self::Newest(Box::new(Reading::new(newest, last, &Sent::default())))
    }

    /// Returns the numbers to ask the stream for.
    pub(super) fn seqs(&self) -> Option<Seqs> {
        match self {
            Self::Newest(reading) => Some(reading.seqs()),
            Self::Live { .. } | Self::Joined | Self::Broken => None,
        }
    }

    /// Every stored message that was asked for came. Live messages follow, but those among `held` that were stored
    /// and read as well.
    pub(super) fn read(&mut self, held: &HashMap<Lane, Vec<Mark>>, torn: bool) {
        let Self::Newest(reading) = std::mem::replace(self, Self::Broken) else { return };
        let stored = reading.join(held, torn, &mut Sent::default());
        let stored = stored.into_iter().map(|(lane, read)| (lane, read.into_iter())).collect();
        *self = Self::Live { looked_at: 0, stored };
    }
}
