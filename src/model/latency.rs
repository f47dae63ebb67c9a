//! Latencies and requests in flight over the last minute, from scrape to scrape.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{Histogram, LatencyName, Timestamp, WorkerRank};

/// The window of percentiles: the last minute, and a scrape interval.
const WINDOW: Duration = Duration::from_secs(65);
/// Scrapes kept of one histogram or worker; every five seconds there is one.
const MOST_SCRAPES: usize = 64;
/// Histograms and workers that are followed; more are no deployment.
const SERIES: usize = 4_096;

/// Percentiles of one latency over a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// Half were at most that long, in seconds.
    pub p50: f64,
    /// 95 % were at most that long, in seconds.
    pub p95: f64,
    /// True when the 95 % lie beyond the last bound, so that it is at least that long.
    pub beyond: bool,
    /// 99 % were at most that long, in seconds.
    pub p99: f64,
    /// The same for the 99 %.
    pub p99_beyond: bool,
    /// Number of measurements.
    pub count: f64,
    /// The time between the first scrape and the last.
    pub window: Duration,
}

type Buckets = Vec<(f64, f64)>;

/// The scrapes of one pod's histogram, oldest first.
type Scrapes = VecDeque<(Timestamp, Buckets)>;

/// Latencies, as frontends and engines measure them.
#[derive(Debug, Default)]
pub struct Latencies {
    series: BTreeMap<(LatencyName, Arc<str>), Scrapes>,
}

impl Latencies {
    /// Takes in the histogram of a scrape.
    pub fn take(&mut self, histogram: &Histogram, at: Timestamp) {
        let key = (histogram.name, Arc::clone(&histogram.pod));
        if !self.series.contains_key(&key) && self.series.len() >= SERIES {
            return;
        }
        let scrapes = self.series.entry(key).or_default();
        // Counters that fell began again with their frontend, buckets that differ with another release.
        let goes_on = scrapes.back().is_none_or(|(_, before)| {
            before.len() == histogram.buckets.len()
                && before
                    .iter()
                    .zip(&histogram.buckets)
                    .all(|(before, now)| before.0.total_cmp(&now.0).is_eq() && before.1 <= now.1)
        });
        if !goes_on {
            scrapes.clear();
        }
        scrapes.push_back((at, histogram.buckets.clone()));
        while scrapes.len() > MOST_SCRAPES
            || scrapes.front().is_some_and(|(first, _)| at.since(*first) > WINDOW)
        {
            scrapes.pop_front();
        }
    }

    /// Returns the percentiles of `name` over all pods that measure it in the minute before `at`; none when nothing
    /// was measured between two scrapes.
    pub fn percentiles(&self, name: LatencyName, at: Timestamp) -> Option<Percentiles> {
        let all = self.series.iter().filter(|((known, _), _)| *known == name);
        Self::over(all.map(|(_, scrapes)| scrapes), at)
    }

    /// Returns the percentiles of `name` at one pod, in the same way.
    pub fn of_pod(&self, name: LatencyName, pod: &Arc<str>, at: Timestamp) -> Option<Percentiles> {
        Self::over(self.series.get(&(name, Arc::clone(pod))).into_iter(), at)
    }

    fn over<'a>(all: impl Iterator<Item = &'a Scrapes>, at: Timestamp) -> Option<Percentiles> {
        let mut sum: Buckets = Vec::new();
        let mut window = Duration::ZERO;
        for scrapes in all {
            let recent = || scrapes.iter().filter(|(taken, _)| at.since(*taken) <= WINDOW);
            let (Some((from, first)), Some((to, last))) = (recent().next(), recent().next_back())
            else {
                continue;
            };
            window = window.max(to.since(*from));
            for ((bound, before), (_, now)) in first.iter().zip(last) {
                let grown = now - before;
                match sum.iter_mut().find(|(known, _)| known.total_cmp(bound).is_eq()) {
                    Some((_, count)) => *count += grown,
                    None => sum.push((*bound, grown)),
                }
            }
        }
        sum.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let count = sum.last().map(|(_, count)| *count).filter(|count| *count > 0.0)?;
        let (p50, _) = quantile(&sum, count * 0.5);
        let (p95, beyond) = quantile(&sum, count * 0.95);
        let (p99, p99_beyond) = quantile(&sum, count * 0.99);
        Some(Percentiles { p50, p95, beyond, p99, p99_beyond, count, window })
    }
}

/// Returns the value below which `rank` of the counted lie, as Prometheus does: evenly spread within a
/// bucket. True when it lies beyond the last bound.
fn quantile(buckets: &[(f64, f64)], rank: f64) -> (f64, bool) {
    let (mut low, mut below) = (0.0, 0.0);
    for (bound, count) in buckets {
        if *count >= rank {
            if bound.is_infinite() {
                return (low, true);
            }
            let within = if *count > below { (rank - below) / (count - below) } else { 1.0 };
            return (low + (bound - low) * within, false);
        }
        (low, below) = (*bound, *count);
    }
    (low, true)
}

/// The requests in flight at one worker over the last minute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InFlight {
    /// At the last scrape.
    pub now: f64,
    /// The mean of the scrapes.
    pub mean: f64,
    /// Most at a scrape.
    pub most: f64,
    /// Scrapes.
    pub samples: u64,
}

/// Requests in flight, as workers count them.
#[derive(Debug, Default)]
pub struct Loads(BTreeMap<WorkerRank, VecDeque<(Timestamp, f64)>>);

impl Loads {
    /// Takes in a scrape.
    pub fn take(&mut self, rank: WorkerRank, requests: f64, at: Timestamp) {
        if !self.0.contains_key(&rank) && self.0.len() >= SERIES {
            return;
        }
        let scrapes = self.0.entry(rank).or_default();
        scrapes.push_back((at, requests));
        while scrapes.len() > MOST_SCRAPES
            || scrapes.front().is_some_and(|(first, _)| at.since(*first) > WINDOW)
        {
            scrapes.pop_front();
        }
    }

    /// Returns the requests of `rank` in the minute before `at`.
    pub fn in_flight(&self, rank: WorkerRank, at: Timestamp) -> Option<InFlight> {
        let scrapes = self.0.get(&rank)?;
        let recent = || {
            scrapes.iter().filter(|(taken, _)| at.since(*taken) <= WINDOW).map(|(_, value)| *value)
        };
        let samples = recent().count() as u64;
        Some(InFlight {
            now: recent().next_back()?,
            mean: recent().sum::<f64>() / samples as f64,
            most: recent().fold(0.0, f64::max),
            samples,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(counts: [f64; 3]) -> Histogram {
        let buckets = [0.5, 1.0, f64::INFINITY].into_iter().zip(counts).collect();
        Histogram { pod: "frontend".into(), name: LatencyName::FirstToken, buckets }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp(1_000_000_000_000).after(Duration::from_secs(seconds))
    }

    fn percentiles(latencies: &Latencies, seconds: u64) -> Option<Percentiles> {
        latencies.percentiles(LatencyName::FirstToken, at(seconds))
    }

    #[test]
    fn percentiles_are_of_what_came_within_the_last_minute() {
        let mut latencies = Latencies::default();
        latencies.take(&histogram([1_000.0, 1_000.0, 1_000.0]), at(0));
        assert_eq!(percentiles(&latencies, 0), None);
        latencies.take(&histogram([1_050.0, 1_100.0, 1_100.0]), at(30));

        let early = percentiles(&latencies, 30).unwrap();
        assert_eq!((early.count, early.window), (100.0, Duration::from_secs(30)));
        assert!((early.p50 - 0.5).abs() < 1e-9 && (early.p95 - 0.95).abs() < 1e-9, "{early:?}");
        assert!((early.p99 - 0.99).abs() < 1e-9 && !early.p99_beyond, "{early:?}");

        latencies.take(&histogram([1_050.0, 1_100.0, 1_120.0]), at(90));
        let late = percentiles(&latencies, 90).unwrap();
        assert!(late.beyond && (late.p95 - 1.0).abs() < 1e-9, "{late:?}");
        assert_eq!(percentiles(&latencies, 300), None);
    }

    #[test]
    fn a_frontend_that_starts_anew_is_counted_from_there() {
        let mut latencies = Latencies::default();
        latencies.take(&histogram([50.0, 60.0, 60.0]), at(0));
        latencies.take(&histogram([1.0, 2.0, 2.0]), at(5));
        latencies.take(&histogram([3.0, 4.0, 4.0]), at(10));

        assert_eq!(percentiles(&latencies, 10).map(|found| found.count), Some(2.0));
    }

    #[test]
    fn requests_in_flight_have_a_mean_and_a_peak() {
        let rank = WorkerRank::new(1, 0);
        let mut loads = Loads::default();
        for (second, requests) in [(0, 60.0), (5, 72.0), (10, 66.0)] {
            loads.take(rank, requests, at(second));
        }

        let found = loads.in_flight(rank, at(10)).unwrap();

        assert_eq!((found.now, found.mean, found.most, found.samples), (66.0, 66.0, 72.0, 3));
        assert_eq!(loads.in_flight(rank, at(200)), None);
    }
}
