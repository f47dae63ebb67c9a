//! Values over time.

use super::Window;
use crate::domain::Timestamp;

/// The value something had in each of the last seconds.
#[derive(Clone, Debug)]
pub struct GaugeSeries {
    /// Value of second `s` at `s % capacity`; not a number where it was not known.
    values: Vec<f32>,
    capacity: usize,
    newest: u64,
}

impl GaugeSeries {
    /// Returns an empty series of the last `capacity` seconds.
    pub fn new(capacity: usize) -> Self {
        Self { values: Vec::new(), capacity: capacity.max(1), newest: 0 }
    }

    /// Notes the value at `at`. Seconds in between, for which nothing was noted, keep the value
    /// before them.
    #[expect(clippy::cast_possible_truncation, reason = "a graph has no use for more precision")]
    pub fn set(&mut self, at: Timestamp, value: Option<f64>) {
        let second = at.seconds();
        let value = value.map_or(f32::NAN, |value| value as f32);
        if self.values.is_empty() {
            self.values = vec![f32::NAN; self.capacity];
            self.newest = second;
        }
        if second < self.newest {
            return;
        }
        let steps = usize::try_from(second - self.newest).unwrap_or(usize::MAX);
        let held = self.values[self.slot(self.newest)];
        for step in 0..steps.min(self.capacity) {
            let slot = self.slot(second - step as u64);
            self.values[slot] = held;
        }
        self.newest = second;
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
                let known = (first..=last).filter_map(|second| self.at(second));
                let (count, sum) = known.fold((0_u32, 0.0), |(n, sum), value| (n + 1, sum + value));
                (count > 0).then(|| sum / f64::from(count))
            })
            .collect()
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
    use std::time::Duration;

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
    fn an_unknown_value_stays_unknown() {
        let mut series = GaugeSeries::new(60);
        series.set(at(100), None);
        let window =
            Window { now: at(101), since: at(100), length: Duration::from_secs(2), points: 2 };

        assert_eq!(series.points(&window), vec![None, None]);
    }
}
