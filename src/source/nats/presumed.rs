//! Messages that came live and that their stream seems to have deleted.
//!
//! A server sends a message to its subscribers a moment before it stores it. After a cut a message that came live and
//! is not in the stream was either stored and deleted, or is still to be stored. It is taken for deleted; these marks
//! recognise it if it is stored after all.

use std::collections::VecDeque;

use super::join::{Lane, Mark};

/// Most marks that are kept: what one connection can have on its way.
const LIMIT: usize = 1 << 14;

/// The number of times, seconds apart, that stream and kvtop must agree before the marks are let go. Equal payloads
/// recur, so that a mark must not be kept for long.
const AGREEMENTS: u32 = 2;

/// The marks of those messages.
#[derive(Debug, Default)]
pub(super) struct Presumed {
    marks: VecDeque<(Lane, Mark)>,
    agreements: u32,
}

impl Presumed {
    /// Adds the marks of messages.
    pub(super) fn add(&mut self, marks: Vec<(Lane, Mark)>) {
        if marks.is_empty() {
            return;
        }
        self.agreements = 0;
        self.marks.extend(marks);
        self.marks.drain(..self.marks.len().saturating_sub(LIMIT));
    }

    /// Returns true for a stored message that came live.
    pub(super) fn take(&mut self, lane: Lane, mark: Mark) -> bool {
        let place = self.marks.iter().position(|known| *known == (lane, mark));
        place.is_some_and(|place| self.marks.remove(place).is_some())
    }

    /// Notes that the stream holds what was passed on.
    pub(super) fn agreed(&mut self) {
        self.agreements += 1;
        if self.agreements >= AGREEMENTS {
            self.marks.clear();
        }
    }
}
