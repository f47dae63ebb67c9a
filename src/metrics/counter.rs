//! Counts per second.

use std::time::Duration;

use super::{Window, stretches};
use crate::domain::Timestamp;

/// Counts of events in each of the last seconds.
#[derive(Clone, Debug)]
pub struct CountSeries {
    /// Count of second `s` at `s % capacity`, without those of the newest second.
    counts: Vec<u32>,
    capacity: usize,
    /// The newest second that was counted.
    newest: u64,
    /// The count of the newest second. Nearly everything is counted there, and `counts` lies elsewhere in memory.
    current: u32,
    /// Counts before this second are dropped.
    from: u64,
}

impl CountSeries {
    /// Returns an empty series of the last `capacity` seconds.
    pub fn new(capacity: usize) -> Self {
        Self { counts: Vec::new(), capacity: capacity.max(1), newest: 0, current: 0, from: 0 }
    }

    /// Frees its memory: what was counted is forgotten, and nothing is known until something is counted.
    pub fn forget(&mut self) {
        *self = Self { from: u64::MAX, ..Self::new(self.capacity) };
    }

    /// Counts `times` at `at`. What is older than the history is forgotten.
    pub fn add(&mut self, at: Timestamp, times: u32) {
        if times == 0 {
            return;
        }
        let second = at.seconds();
        if self.counts.is_empty() {
            self.counts = vec![0; self.capacity];
            self.newest = second;
            self.from = self.from.min(second);
        }
        if second > self.newest {
            self.turn(second);
        }
        if second == self.newest {
            self.current = self.current.saturating_add(times);
        } else if self.newest - second < self.capacity as u64 {
            let slot = self.slot(second);
            self.counts[slot] = self.counts[slot].saturating_add(times);
        }
    }

    /// Begins `second`, the newest from now on.
    fn turn(&mut self, second: u64) {
        let ended = self.slot(self.newest);
        self.counts[ended] = std::mem::take(&mut self.current);
        let steps = usize::try_from(second - self.newest).unwrap_or(usize::MAX);
        for step in 0..steps.min(self.capacity) {
            let slot = self.slot(second - step as u64);
            self.counts[slot] = 0;
        }
        self.newest = second;
    }

    /// Returns false for seconds whose counts are forgotten by now.
    pub fn remembers(&self, second: u64) -> bool {
        self.counts.is_empty() || second.saturating_add(self.capacity as u64) > self.newest
    }

    /// Returns how often it happened in the seconds `first` to `last`, both included.
    pub fn sum(&self, first: u64, last: u64) -> u64 {
        if self.counts.is_empty() {
            return 0;
        }
        let (first, last) = (first.max(self.oldest()), last.min(self.newest));
        let current = if (first..=last).contains(&self.newest) { self.current } else { 0 };
        // Whole stretches are added: a picture asks for some thousand seconds of each rank.
        let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        stretches(&self.counts, first, last).into_iter().map(sum).sum::<u64>() + u64::from(current)
    }

    /// Returns how often a second it happened over `window` before `now`, counting time from `since`
    /// only, and at least one second of it.
    pub fn rate(&self, now: Timestamp, since: Timestamp, window: Duration) -> f64 {
        let (count, measured) = self.recent(now, since, window);
        count as f64 / measured.as_secs_f64()
    }

    /// Returns how often it happened over `window` before `now`, and over how much of that time it was
    /// counted: from `since` on only, and at least one second.
    pub fn recent(&self, now: Timestamp, since: Timestamp, window: Duration) -> (u64, Duration) {
        let seconds = window.as_secs().max(1);
        let first = (now.seconds() + 1).saturating_sub(seconds);
        let start = Timestamp(first * 1_000_000).max(since);
        let measured = now.since(start).max(Duration::from_secs(1));
        (self.sum(first, now.seconds()), measured)
    }

    /// Returns rates per second for the points of `window`; none for what is forgotten.
    pub fn points(&self, window: &Window) -> Vec<Option<f64>> {
        let span = |(first, last): (u64, u64)| {
            let first = first.max(self.oldest());
            (first <= last).then(|| self.sum(first, last) as f64 / (last - first + 1) as f64)
        };
        window.spans().map(|bounds| bounds.and_then(span)).collect()
    }

    /// Returns the first second that is not forgotten.
    fn oldest(&self) -> u64 {
        if self.counts.is_empty() {
            return self.from;
        }
        self.from.max((self.newest + 1).saturating_sub(self.capacity as u64))
    }

    fn slot(&self, second: u64) -> usize {
        usize::try_from(second % self.capacity as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Timestamp {
        Timestamp(second * 1_000_000)
    }

    #[test]
    fn a_rate_counts_only_what_lies_in_its_window() {
        let mut series = CountSeries::new(60);
        series.add(at(100), 50);
        series.add(at(115), 30);
        series.add(at(119), 10);

        let rate = series.rate(at(120), at(0), Duration::from_secs(10));

        assert!((rate - 40.0 / 9.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn a_rate_after_two_seconds_is_not_spread_over_the_window() {
        let mut series = CountSeries::new(60);
        series.add(at(1000), 10);
        series.add(at(1001), 10);

        let rate = series.rate(at(1002), at(1000), Duration::from_secs(60));

        assert!((rate - 10.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn a_long_silence_forgets_everything_before_it() {
        let mut series = CountSeries::new(60);
        series.add(at(100), 7);
        series.add(at(100_000), 1);

        assert_eq!(series.sum(0, 200_000), 1);
    }

    #[test]
    fn late_events_count_in_their_own_second_and_older_ones_not_at_all() {
        let mut series = CountSeries::new(60);
        series.add(at(1000), 1);
        series.add(at(950), 2);
        series.add(at(900), 4);

        assert_eq!(series.sum(0, 2000), 3);
    }

    #[test]
    fn points_that_are_forgotten_are_unknown_not_zero() {
        let mut series = CountSeries::new(4);
        series.add(at(1000), 1);
        series.add(at(1009), 3);
        let window =
            Window { now: at(1007), since: at(1000), length: Duration::from_secs(4), points: 4 };

        assert_eq!(series.points(&window), vec![None, None, Some(0.0), Some(0.0)]);
    }

    #[test]
    fn nothing_is_known_of_what_was_freed() {
        let mut series = CountSeries::new(60);
        series.add(at(1000), 5);
        series.forget();
        let window =
            Window { now: at(1003), since: at(0), length: Duration::from_secs(4), points: 4 };
        assert_eq!(series.points(&window), vec![None; 4]);
        assert_eq!(series.sum(0, 2000), 0);

        series.add(at(1002), 3);
        assert_eq!(series.points(&window), vec![None, None, Some(3.0), Some(0.0)]);
    }

    #[test]
    fn points_before_the_start_are_unknown_not_zero() {
        let mut series = CountSeries::new(60);
        series.add(at(1005), 6);
        let window =
            Window { now: at(1009), since: at(1004), length: Duration::from_secs(10), points: 5 };

        let points = series.points(&window);

        assert_eq!(points, vec![None, None, Some(3.0), Some(0.0), Some(0.0)]);
    }
}
