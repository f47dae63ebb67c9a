//! Values over time.

use std::time::Duration;

use super::{Window, stretches};
use crate::domain::Timestamp;

/// The value something had in each of the last seconds.
#[derive(Clone, Debug)]
pub struct GaugeSeries {
    /// Value of second `s` at `s % capacity`; not a number where it was not known.
    values: Vec<f32>,
    capacity: usize,
    /// The newest second that was noted.
    newest: u64,
    /// The last second that was noted; behind the newest while history is caught up with.
    last: u64,
}

impl GaugeSeries {
    /// Returns an empty series of the last `capacity` seconds.
    pub fn new(capacity: usize) -> Self {
        Self { values: Vec::new(), capacity: capacity.max(1), newest: 0, last: 0 }
    }

    /// Notes the value at `at`. Seconds in between, for which nothing was noted, keep the value
    /// before them. Notes of the past, as from a stream's history, go to their own seconds.
    #[expect(clippy::cast_possible_truncation, reason = "a graph has no use for more precision")]
    pub fn set(&mut self, at: Timestamp, value: Option<f64>) {
        let second = at.seconds();
        let value = value.map_or(f32::NAN, |value| value as f32);
        if self.values.is_empty() {
            self.values = vec![f32::NAN; self.capacity];
            (self.newest, self.last) = (second, second);
        }
        if second + (self.capacity as u64) <= self.newest {
            return;
        }
        let past = second < self.newest;
        let from = if past { self.last } else { self.newest };
        let held = self.values[self.slot(from)];
        // In the past only what lies between two notes of the past is filled.
        let between = second.saturating_sub(from).saturating_sub(1);
        let held = if past && from >= second { f32::NAN } else { held };
        for step in 1..=between.min(self.capacity as u64) {
            let slot = self.slot(second - step);
            self.values[slot] = held;
        }
        self.newest = self.newest.max(second);
        self.last = second;
        let slot = self.slot(second);
        self.values[slot] = value;
    }

    /// Returns the mean values for the points of `window`. Seconds after the last note count as that
    /// note.
    pub fn points(&self, window: &Window) -> Vec<Option<f64>> {
        window
            .spans()
            .map(|bounds| {
                let (first, last) = bounds?;
                let (count, sum) = self.sum(first, last);
                (count > 0).then(|| sum / count as f64)
            })
            .collect()
    }

    /// Returns the value in the second of `at`; none where it was not known then, or is forgotten.
    pub fn value(&self, at: Timestamp) -> Option<f64> {
        self.at(at.seconds())
    }

    /// Returns true once anything was noted.
    pub fn is_noted(&self) -> bool {
        !self.values.is_empty()
    }

    /// Returns by how much a second the value changed over `window` before `now`; none where it was
    /// not known then.
    pub fn change(&self, now: Timestamp, window: Duration) -> Option<f64> {
        let seconds = window.as_secs().max(1);
        let before = self.at(now.seconds().checked_sub(seconds)?)?;
        Some((self.at(now.seconds())? - before) / seconds as f64)
    }

    /// Returns the largest mean over `span` that ended within `window` before `now`; over less than a span
    /// where no more is known, none where nothing is.
    pub fn steady(&self, now: Timestamp, window: Duration, span: Duration) -> Option<f64> {
        let last = now.seconds();
        let span = span.as_secs().max(1);
        let mean = |end: u64| {
            let (count, sum) = self.sum(end.saturating_sub(span - 1), end);
            // The first second of what is noted is no mean of ten.
            (count == span || (end == last && count > 0)).then(|| sum / count as f64)
        };
        let first = last.saturating_sub(window.as_secs().saturating_sub(span));
        (first..=last).filter_map(mean).reduce(f64::max)
    }

    /// Returns how many of the seconds `first` to `last`, both included, have a value, and the sum of these. Seconds
    /// after the last note count as that note.
    fn sum(&self, first: u64, last: u64) -> (u64, f64) {
        if self.values.is_empty() {
            return (0, 0.0);
        }
        let oldest = (self.newest + 1).saturating_sub(self.capacity as u64);
        let noted = stretches(&self.values, first.max(oldest), last.min(self.newest));
        let known = noted.into_iter().flatten().filter(|value| !value.is_nan());
        let (count, sum) =
            known.fold((0, 0.0), |(count, sum), value| (count + 1, sum + f64::from(*value)));
        let after = last.checked_sub(first.max(self.newest + 1)).map_or(0, |seconds| seconds + 1);
        match self.at(self.newest).filter(|_| after > 0) {
            Some(held) => (count + after, sum + held * after as f64),
            None => (count, sum),
        }
    }

    fn at(&self, second: u64) -> Option<f64> {
        let second = second.min(self.newest);
        if self.values.is_empty() || self.newest - second >= self.capacity as u64 {
            return None;
        }
        let value = self.values[self.slot(second)];
        (!value.is_nan()).then(|| f64::from(value))
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
    fn a_value_holds_until_the_next_one() {
        let mut series = GaugeSeries::new(60);
        series.set(at(100), Some(1.0));
        series.set(at(103), Some(5.0));
        let window =
            Window { now: at(104), since: at(100), length: Duration::from_secs(5), points: 5 };

        let points = series.points(&window);

        assert_eq!(points, vec![Some(1.0), Some(1.0), Some(1.0), Some(5.0), Some(5.0)]);
    }

    #[test]
    fn history_that_comes_after_the_present_goes_to_its_own_seconds() {
        let mut series = GaugeSeries::new(60);
        series.set(at(104), Some(9.0));
        series.set(at(100), Some(1.0));
        series.set(at(102), Some(3.0));
        let window =
            Window { now: at(104), since: at(100), length: Duration::from_secs(5), points: 5 };

        let points = series.points(&window);

        assert_eq!(points, vec![Some(1.0), Some(1.0), Some(3.0), None, Some(9.0)]);
    }

    #[test]
    fn a_change_is_known_only_between_known_values() {
        let mut series = GaugeSeries::new(60);
        series.set(at(100), Some(10.0));
        series.set(at(110), Some(40.0));
        let change = |now| series.change(at(now), Duration::from_secs(10));

        assert_eq!(change(110), Some(3.0));
        assert_eq!(change(105), None);
        assert_eq!(change(130), Some(0.0));
    }

    #[test]
    fn a_steady_value_is_a_mean_that_lasts() {
        let mut series = GaugeSeries::new(60);
        for second in 100..=140 {
            series.set(at(second), Some(if second == 120 { 1.0 } else { 0.5 }));
        }
        let second = Duration::from_secs(1);
        let steady = |now| series.steady(at(now), 30 * second, 10 * second);

        assert_eq!(steady(119), Some(0.5));
        assert_eq!(steady(120), Some(0.55), "one peak weighs a tenth");
        assert_eq!(steady(140), Some(0.55), "and is remembered");
        assert_eq!(GaugeSeries::new(60).steady(at(9), 30 * second, 10 * second), None);
    }

    #[test]
    fn an_unknown_value_stays_unknown() {
        let mut series = GaugeSeries::new(60);
        series.set(at(100), None);
        let window =
            Window { now: at(101), since: at(100), length: Duration::from_secs(2), points: 2 };

        assert_eq!(series.points(&window), vec![None, None]);
    }
}
