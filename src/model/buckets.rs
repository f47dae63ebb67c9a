//! Counts by the time at which things happened, in slots of a few seconds.
//!
//! History that is read late lands where it belongs, so that a window means the same whether kvtop
//! watched it or read about it afterwards.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::Timestamp;

/// The length of one slot in microseconds.
const SLOT: i64 = 5_000_000;

/// Slots that are kept apart: a little more than the longest window of a rule, and no more than fill a ring of 64.
const KEPT: i64 = 62;

/// The number of a slot of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(i64);

impl Slot {
    /// The last slot of all, which nothing lies in.
    pub const LAST: Self = Self(i64::MAX);
}

/// Numbers slots. One begins where kvtop attached, so that no slot mixes what was watched with what was
/// only read about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slots {
    origin: Timestamp,
}

impl Slots {
    /// Returns slots of which one begins at `origin`.
    pub fn new(origin: Timestamp) -> Self {
        Self { origin }
    }

    /// Returns the slot that `at` lies in.
    pub fn slot(self, at: Timestamp) -> Slot {
        let signed = |at: Timestamp| i64::try_from(at.0).unwrap_or(i64::MAX);
        Slot(signed(at).saturating_sub(signed(self.origin)).div_euclid(SLOT))
    }

    /// Returns the first slot that lies after `at`, or begins less than `slack` before it.
    pub fn after(self, at: Timestamp, slack: Duration) -> Slot {
        let slot = self.slot(at);
        let behind = at.before(slack);
        if self.slot(behind) < slot { slot } else { Slot(slot.0 + 1) }
    }
}

/// Counts that are kept slot by slot.
pub trait Summed: Default {
    /// Adds `other` to `self`.
    fn sum(&mut self, other: &Self);
}

/// Counts by slot. What is older than the longest window is kept as one sum.
#[derive(Clone, Debug, Default)]
pub struct Buckets<T> {
    recent: VecDeque<(Slot, T)>,
    older: Box<T>,
    /// True where there are too many of them to keep slots apart: then everything counts in every window.
    coarse: bool,
}

impl<T: Summed> Buckets<T> {
    /// Returns counts that are kept apart by slot, or only as one sum.
    pub fn new(coarse: bool) -> Self {
        Self { recent: VecDeque::new(), older: Box::default(), coarse }
    }

    /// Returns the counts of `slot`.
    pub fn slot(&mut self, slot: Slot) -> &mut T {
        let newest = self.recent.back().map(|(newest, _)| *newest);
        if self.coarse || newest.is_some_and(|newest| slot.0 < newest.0 - KEPT) {
            return &mut self.older;
        }
        let position = if newest.is_none_or(|newest| newest < slot) {
            self.recent.push_back((slot, T::default()));
            while self.recent.front().is_some_and(|(first, _)| first.0 < slot.0 - KEPT) {
                if let Some((_, counts)) = self.recent.pop_front() {
                    self.older.sum(&counts);
                }
            }
            self.recent.len() - 1
        } else {
            let position = self.recent.partition_point(|(known, _)| *known < slot);
            if self.recent.get(position).is_none_or(|(known, _)| *known != slot) {
                self.recent.insert(position, (slot, T::default()));
            }
            position
        };
        &mut self.recent[position].1
    }

    /// Calls `each` with the counts of every slot from `from` on, and with whether the slot is one from
    /// `watched` on; none stands for the beginning.
    pub fn since(&self, from: Option<Slot>, watched: Option<Slot>, mut each: impl FnMut(&T, bool)) {
        if self.coarse || from.is_none() {
            each(&self.older, self.coarse || watched.is_none());
        }
        for (slot, counts) in &self.recent {
            if from.is_none_or(|from| *slot >= from) {
                each(counts, watched.is_none_or(|watched| *slot >= watched));
            }
        }
    }

    /// Calls `change` with the counts of every slot.
    pub fn correct(&mut self, mut change: impl FnMut(&mut T)) {
        change(&mut self.older);
        for (_, counts) in &mut self.recent {
            change(counts);
        }
    }

    /// Forgets what was counted up to `slot`, itself included.
    pub fn forget(&mut self, slot: Slot) {
        *self.older = T::default();
        self.recent.retain(|(known, _)| *known > slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Summed for u64 {
        fn sum(&mut self, other: &Self) {
            *self += other;
        }
    }

    fn at(second: u64) -> Timestamp {
        Timestamp(second * 1_000_000)
    }

    fn sum(buckets: &Buckets<u64>, from: Option<Slot>) -> u64 {
        let mut sum = 0;
        buckets.since(from, None, |count, _| sum += count);
        sum
    }

    #[test]
    fn history_that_is_read_late_counts_when_it_happened() {
        let slots = Slots::new(at(1003));
        let mut buckets = Buckets::new(false);
        for second in [1003, 1004, 1001, 950, 1002, 100] {
            *buckets.slot(slots.slot(at(second))) += 1;
        }

        assert_eq!(sum(&buckets, Some(slots.slot(at(1003)))), 2, "watched");
        assert_eq!(sum(&buckets, Some(slots.slot(at(1000)))), 4);
        assert_eq!(sum(&buckets, Some(slots.slot(at(900)))), 5);
        assert_eq!(sum(&buckets, None), 6, "older than any window, but not lost");
        let mut watched = 0;
        buckets.since(None, Some(slots.slot(at(1003))), |count, seen| {
            watched += count * u64::from(seen);
        });
        assert_eq!(watched, 2);
    }

    #[test]
    fn a_slot_that_began_long_before_a_moment_does_not_lie_after_it() {
        let slots = Slots::new(at(1000));
        let slack = Duration::from_secs(1);

        assert_eq!(slots.after(at(1000), slack), slots.slot(at(1000)));
        assert_eq!(slots.after(Timestamp(1_000_900_000), slack), slots.slot(at(1000)));
        assert_eq!(slots.after(at(1003), slack), slots.slot(at(1005)));
    }

    #[test]
    fn what_was_before_a_start_is_forgotten() {
        let slots = Slots::new(at(0));
        let mut buckets = Buckets::new(false);
        for second in [3, 12, 21] {
            *buckets.slot(slots.slot(at(second))) += 1;
        }
        buckets.forget(slots.slot(at(11)));

        assert_eq!(sum(&buckets, None), 1);
    }

    #[test]
    fn where_there_are_too_many_everything_counts_in_every_window() {
        let slots = Slots::new(at(0));
        let mut buckets = Buckets::new(true);
        for second in [3, 400, 9000] {
            *buckets.slot(slots.slot(at(second))) += 1;
        }

        assert_eq!(sum(&buckets, Some(slots.slot(at(9000)))), 3);
    }
}
