//! Messages passed on live since the stream and kvtop last agreed.

use std::collections::{HashMap, VecDeque};

use super::join::{Lane, Mark};

/// Entries kept. Agreement with the stream is sought every few seconds, so this is room for more
/// than 100 000 messages a second; beyond it the oldest are forgotten, though still counted.
const LIMIT: usize = 1 << 20;

/// From so many entries on, the order of arrival is trusted to be the order of storage.
const LONG: usize = 1 << 13;

/// Messages in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Sent {
    log: VecDeque<(Lane, Mark)>,
    forgotten: u64,
}

impl Sent {
    /// Adds a message.
    pub(super) fn push(&mut self, lane: Lane, mark: Mark) {
        if self.log.len() == LIMIT {
            self.log.pop_front();
            self.forgotten += 1;
        }
        self.log.push_back((lane, mark));
    }

    /// Returns how many messages there are.
    pub(super) fn count(&self) -> u64 {
        self.forgotten + self.log.len() as u64
    }

    /// Returns true when waiting for an exact agreement would take too much memory.
    pub(super) fn is_long(&self) -> bool {
        self.log.len() > LONG
    }

    /// Forgets all but the last `surplus` messages, which the stream does not hold yet.
    pub(super) fn settle(&mut self, surplus: u64) {
        let keep = usize::try_from(surplus).unwrap_or(usize::MAX).min(self.log.len());
        self.log.drain(..self.log.len() - keep);
        self.forgotten = 0;
    }

    /// Replaces everything.
    pub(super) fn restart(&mut self, with: impl IntoIterator<Item = (Lane, Mark)>) {
        self.log.clear();
        self.log.extend(with);
        self.forgotten = 0;
    }

    /// Returns the messages of each lane.
    pub(super) fn lanes(&self) -> HashMap<Lane, Vec<Mark>> {
        let mut lanes: HashMap<Lane, Vec<Mark>> = HashMap::new();
        for (lane, mark) in &self.log {
            lanes.entry(*lane).or_default().push(*mark);
        }
        lanes
    }
}
