//! Metrics of frontends: the last readings of each, and by how much its counters grew.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::make_room;
use crate::domain::{GaugeName, Timestamp};
use crate::model::tally::RouterTally;

/// The time for which metrics count as those of the present.
const FRESH: Duration = Duration::from_secs(60);

/// The last two readings of one frontend's metrics.
#[derive(Clone, Copy, Debug, Default)]
struct Scraped {
    /// The time of the last reading.
    at: Timestamp,
    ttft_sum: Pair,
    ttft_count: Pair,
    queued: Option<f64>,
    registered: Option<f64>,
    routed_to: Option<f64>,
    prompts: [f64; 2],
    answers: [f64; 2],
    applied: Grown,
    orphaned: Grown,
    invalid: Grown,
    removed: Grown,
    unknown: Grown,
    answered: Grown,
    failed: Grown,
    shares: Grown,
    share_sum: Grown,
    sourceless: f64,
    /// The first reading of those by which its index took in no store at all.
    empty_since: Option<Timestamp>,
}

/// The last two readings of a counter.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    before: Option<f64>,
    last: Option<f64>,
}

impl Pair {
    fn read(&mut self, value: f64) {
        (self.before, self.last) = (self.last, Some(value));
    }
}

/// A counter, followed since it was first seen: what it counted before is of another time.
#[derive(Clone, Copy, Debug, Default)]
struct Grown {
    last: Option<f64>,
}

impl Grown {
    /// Takes in its value, and returns by how much it grew.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
    fn follow(&mut self, value: f64) -> u64 {
        // One that fell began again at zero with its process.
        let by = self.last.map_or(0.0, |last| if value < last { value } else { value - last });
        self.last = Some(value);
        by.clamp(0.0, 1e15).round() as u64
    }
}

impl Scraped {
    /// Returns the sum of times to first token, in seconds, and their number between the last two readings. Counters
    /// that fell began again with their frontend. One reading is of nothing between.
    fn ttft_last(&self) -> (f64, f64) {
        let (sum, count) = (self.ttft_sum, self.ttft_count);
        let ends = sum.before.zip(sum.last).zip(count.before.zip(count.last));
        let Some(((sum_before, sum), (count_before, count))) = ends else { return (0.0, 0.0) };
        if sum < sum_before || count < count_before {
            return (sum, count);
        }
        (sum - sum_before, count - count_before)
    }
}

/// Returns the mean of what is given as sums and numbers; none of nothing.
fn mean(parts: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, count) = parts.fold((0.0, 0.0), |(a, b), (sum, count)| (a + sum, b + count));
    (count > 0.0).then(|| sum / count)
}

/// The metrics of all frontends.
#[derive(Debug, Default)]
pub struct Scrapes {
    frontends: BTreeMap<String, Scraped>,
}

impl Scrapes {
    /// Takes in a metric of the frontend in `pod`, read at `at`. Returns by how much it grew, where it counts what a router's
    /// index took in or refused.
    pub fn gauge(&mut self, pod: &str, name: GaugeName, value: f64, at: Timestamp) -> RouterTally {
        let mut grown = RouterTally::default();
        if !self.frontends.contains_key(pod) {
            make_room(&mut self.frontends, |scraped| Some(scraped.at));
        }
        let scraped = self.frontends.entry(pod.to_owned()).or_default();
        scraped.at = scraped.at.max(at);
        match name {
            GaugeName::TtftSum => scraped.ttft_sum.read(value),
            GaugeName::TtftCount => scraped.ttft_count.read(value),
            GaugeName::Queued => scraped.queued = Some(value),
            GaugeName::Registered => scraped.registered = Some(value),
            GaugeName::RouterWorkers => scraped.routed_to = Some(value),
            GaugeName::RouterHitSum => grown.share_sum = scraped.share_sum.follow(value * 1e6),
            GaugeName::RouterHitCount => grown.shares = scraped.shares.follow(value),
            GaugeName::InputTokenSum => scraped.prompts[0] = value,
            GaugeName::InputTokenCount => {
                scraped.prompts[1] = value;
                grown.prompts = scraped.answered.follow(value);
            }
            GaugeName::OutputTokenSum => scraped.answers[0] = value,
            GaugeName::OutputTokenCount => scraped.answers[1] = value,
            GaugeName::FailedRequests => grown.failed = scraped.failed.follow(value),
            GaugeName::SourcelessWorkers => scraped.sourceless = value,
            GaugeName::StoresApplied => {
                grown.stores_applied = scraped.applied.follow(value);
                let since = scraped.empty_since.unwrap_or(at);
                scraped.empty_since = (value <= 0.0).then_some(since);
            }
            GaugeName::StoresOrphaned => grown.stores_orphaned = scraped.orphaned.follow(value),
            GaugeName::StoresInvalid => grown.stores_invalid = scraped.invalid.follow(value),
            GaugeName::RemovalsApplied => grown.removals_applied = scraped.removed.follow(value),
            GaugeName::RemovalsMissing => grown.removals_missing = scraped.unknown.follow(value),
            _ => {}
        }
        grown
    }

    /// Returns the mean time to first token in seconds between the last two scrapes, or since the
    /// frontends started where nothing was served in between; none before anything was served.
    pub fn ttft_mean(&self, there: impl Fn(&str) -> bool, at: Timestamp) -> Option<f64> {
        let since_start = |scraped: &Scraped| {
            (scraped.ttft_sum.last.unwrap_or(0.0), scraped.ttft_count.last.unwrap_or(0.0))
        };
        let fresh = || self.fresh(&there, at);
        mean(fresh().map(Scraped::ttft_last)).or_else(|| mean(fresh().map(since_start)))
    }

    /// Returns the mean time to first token in seconds of what was served between the last two
    /// scrapes; none where nothing was.
    pub fn ttft_last(&self, there: impl Fn(&str) -> bool, at: Timestamp) -> Option<f64> {
        mean(self.fresh(there, at).map(Scraped::ttft_last))
    }

    /// Returns how many workers a router says that it has no source of KV events for, at most.
    pub fn sourceless(&self, there: impl Fn(&str) -> bool, at: Timestamp) -> u64 {
        let most = self.fresh(there, at).map(|scraped| scraped.sourceless).fold(0.0, f64::max);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let most = most.clamp(0.0, 1e9) as u64;
        most
    }

    /// Returns the mean length of a request in tokens, prompt and answer, since the frontends started;
    /// none before they say both.
    pub fn mean_sequence(&self) -> Option<f64> {
        let mean = |of: fn(&Scraped) -> [f64; 2]| {
            let all = self.frontends.values().map(of);
            let [sum, count] = all.fold([0.0; 2], |[a, b], [sum, count]| [a + sum, b + count]);
            (count > 0.0).then(|| sum / count)
        };
        Some(mean(|scraped| scraped.prompts)? + mean(|scraped| scraped.answers)?)
    }

    /// Returns the requests that wait in all frontends that are `there`.
    pub fn queued(&self, there: impl Fn(&str) -> bool) -> Option<f64> {
        self.present(there).filter_map(|scraped| scraped.queued).reduce(|a, b| a + b)
    }

    /// Returns the workers that are registered with the indexer that has the fewest, of those that are `there`.
    pub fn registered(&self, there: impl Fn(&str) -> bool) -> Option<f64> {
        self.present(there).filter_map(|scraped| scraped.registered).reduce(f64::min)
    }

    /// Returns the workers that are registered with the router that has the fewest, of those that are `there`.
    pub fn routed_to(&self, there: impl Fn(&str) -> bool) -> Option<f64> {
        self.present(there).filter_map(|scraped| scraped.routed_to).reduce(f64::min)
    }

    /// Returns the metrics of pods that are `there`: those of others are of the past.
    fn present(&self, there: impl Fn(&str) -> bool) -> impl Iterator<Item = &Scraped> {
        self.frontends.iter().filter(move |(pod, _)| there(pod)).map(|(_, scraped)| scraped)
    }

    /// Returns the routers whose indexes took in no KV event since they started, by their own counters, each with the
    /// first and the last reading that said so.
    pub fn unfed(
        &self,
        there: impl Fn(&str) -> bool,
        at: Timestamp,
    ) -> Vec<(Arc<str>, [Timestamp; 2])> {
        let fresh = self
            .frontends
            .iter()
            .filter(|(pod, scraped)| there(pod) && at.since(scraped.at) <= FRESH);
        let unfed = fresh.filter_map(|(pod, scraped)| {
            let others = [scraped.orphaned, scraped.invalid, scraped.removed, scraped.unknown];
            let none = others.iter().all(|count| count.last.is_none_or(|last| last <= 0.0));
            let since = scraped.empty_since.filter(|_| none)?;
            Some((Arc::from(pod.as_str()), [since, scraped.at]))
        });
        unfed.collect()
    }

    /// Returns the number of routers whose own counters show KV events in their indexes.
    pub fn fed(&self, there: impl Fn(&str) -> bool, at: Timestamp) -> usize {
        let takes = |scraped: &&Scraped| scraped.applied.last.is_some_and(|last| last > 0.0);
        self.fresh(there, at).filter(takes).count()
    }

    /// Returns the metrics of pods that are `there` and answered in the minute before `at`: what others said last says
    /// nothing of the present.
    fn fresh(&self, there: impl Fn(&str) -> bool, at: Timestamp) -> impl Iterator<Item = &Scraped> {
        self.present(there).filter(move |scraped| at.since(scraped.at) <= FRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_771_000_000_000_000);

    #[test]
    fn counters_of_a_frontend_that_restarted_count_from_zero() {
        let mut scrapes = Scrapes::default();
        let readings =
            [("a", 100.0, 100.0), ("b", 1000.0, 100.0), ("a", 150.0, 300.0), ("b", 1.0, 1.0)];
        for (pod, sum, count) in readings {
            scrapes.gauge(pod, GaugeName::TtftSum, sum, NOW);
            scrapes.gauge(pod, GaugeName::TtftCount, count, NOW);
        }

        let mean = scrapes.ttft_mean(|_| true, NOW).unwrap();

        assert!((mean - 51.0 / 201.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn one_reading_tells_the_mean_since_the_start_and_nothing_of_lately() {
        let mut scrapes = Scrapes::default();
        scrapes.gauge("a", GaugeName::TtftSum, 100.0, NOW);
        scrapes.gauge("a", GaugeName::TtftCount, 50.0, NOW);

        assert_eq!(scrapes.ttft_last(|_| true, NOW), None);
        assert_eq!(scrapes.ttft_mean(|_| true, NOW), Some(2.0));
    }

    #[test]
    fn metrics_of_a_pod_that_is_gone_or_silent_say_nothing_of_the_present() {
        let mut scrapes = Scrapes::default();
        scrapes.gauge("old", GaugeName::SourcelessWorkers, 3.0, NOW);
        scrapes.gauge("old", GaugeName::TtftSum, 100.0, NOW);
        scrapes.gauge("old", GaugeName::TtftCount, 50.0, NOW);
        let later = NOW.after(FRESH).after(Duration::from_secs(1));

        assert_eq!(scrapes.sourceless(|_| true, NOW), 3);
        assert_eq!(scrapes.sourceless(|pod| pod != "old", NOW), 0);
        assert_eq!(scrapes.sourceless(|_| true, later), 0);
        assert_eq!(scrapes.ttft_mean(|_| true, later), None);
    }
}
