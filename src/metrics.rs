//! Derived series: counts per second and their rates, and gauges over time.
//!
//! Fed times, never asks for one. Every series keeps one value a second for the last hour at most;
//! memory is bounded by the number of series.

mod counter;
mod gauge;

use std::time::Duration;

pub use counter::CountSeries;
pub use gauge::GaugeSeries;

use crate::domain::Timestamp;

/// Longest history of the totals, in seconds.
pub const HOUR: usize = 3600;

/// Longest history of one rank, in seconds: the longest window of its rates, and a little more so
/// that late events still count.
pub const RANK_HISTORY: usize = 320;

/// The longest time that a graph about one rank can cover.
pub const RANK_WINDOW: Duration = Duration::from_secs(300);

/// A window of time that ends now or earlier, cut into equal points for a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its end.
    pub now: Timestamp,
    /// Before this time nothing was measured.
    pub since: Timestamp,
    /// Its length.
    pub length: Duration,
    /// Points wanted.
    pub points: usize,
}

impl Window {
    /// Returns for each point its first and last second, both included; none before `since`.
    fn spans(&self) -> impl Iterator<Item = Option<(u64, u64)>> {
        let points = self.points.max(1) as u64;
        let seconds = self.length.as_secs().max(1);
        let end = self.now.seconds();
        let since = self.since.seconds();
        (0..points).map(move |point| {
            let first = (end + 1).saturating_sub(seconds) + point * seconds / points;
            let last = (end + 1).saturating_sub(seconds) + (point + 1) * seconds / points;
            // With more points than seconds neighbours share a second.
            let last = last.saturating_sub(1).max(first);
            (last >= since && first <= end).then_some((first.max(since), last))
        })
    }
}

/// Returns the values of the seconds `first` to `last`, both included, in a ring that has that of second `s` at
/// `s % ring.len()`: one stretch or two, and none where `last` is before `first`.
fn stretches<T>(ring: &[T], first: u64, last: u64) -> [&[T]; 2] {
    let seconds = last.checked_sub(first).map_or(0, |seconds| seconds + 1);
    let seconds = usize::try_from(seconds).unwrap_or(usize::MAX).min(ring.len());
    let from = usize::try_from(first % ring.len().max(1) as u64).unwrap_or(0);
    let (before, after) = ring.split_at(from);
    let rest = seconds.saturating_sub(after.len());
    [&after[..seconds - rest], &before[..rest]]
}
