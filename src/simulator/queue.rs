//! The queue of future events, in order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::domain::Timestamp;

/// Future events by time; those of the same time in the order in which they were planned.
#[derive(Clone, Debug)]
pub(super) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    planned: u64,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    at: Timestamp,
    number: u64,
    event: T,
}

impl<T> Queue<T> {
    /// Returns an empty queue.
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), planned: 0 }
    }

    /// Plans `event` for `at`.
    pub(super) fn plan(&mut self, at: Timestamp, event: T) {
        self.planned += 1;
        self.heap.push(Entry { at, number: self.planned, event });
    }

    /// Returns the next event up to `to`.
    pub(super) fn next(&mut self, to: Timestamp) -> Option<(Timestamp, T)> {
        if self.heap.peek()?.at > to {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap gives the greatest first.
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl<T> Eq for Entry<T> {}
