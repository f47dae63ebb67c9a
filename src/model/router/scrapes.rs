//! Metrics of frontends: the last readings of each, and by how much its counters grew.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::make_room;
use crate::domain::{GaugeName, Timestamp};
use crate::model::buckets::{Buckets, Slot, Slots, Summed as _};
use crate::model::tally::RouterCounts;

/// The time for which metrics count as those of the present.
const FRESH: Duration = Duration::from_secs(60);

/// The last two readings of one frontend's metrics.
#[derive(Clone, Debug, Default)]
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
    /// By their places, see [`place`].
    counters: [Grown; COUNTERS],
    /// The growth of the counters since its process started, by time.
    counts: Buckets<RouterCounts>,
    /// The last reading of a process that was replaced.
    replaced: Option<Timestamp>,
    sourceless: f64,
    /// The first reading of those by which its index took in no store at all.
    empty_since: Option<Timestamp>,
}

/// The most by which the same sum of fractions may seem to fall.
const SAME: f64 = 1e-6;

/// Counters whose growth counts.
const COUNTERS: usize = 9;

/// Returns the place of a counter among those of a scrape, and the count that it feeds; none for other metrics.
const fn place(name: GaugeName, counts: &mut RouterCounts) -> Option<(usize, &mut u64)> {
    Some(match name {
        GaugeName::StoresApplied => (APPLIED, &mut counts.stores_applied),
        GaugeName::StoresOrphaned => (1, &mut counts.stores_orphaned),
        GaugeName::StoresInvalid => (2, &mut counts.stores_invalid),
        GaugeName::RemovalsApplied => (3, &mut counts.removals_applied),
        GaugeName::RemovalsMissing => (4, &mut counts.removals_missing),
        GaugeName::InputTokenCount => (5, &mut counts.prompts),
        GaugeName::FailedRequests => (6, &mut counts.failed),
        GaugeName::RouterHitCount => (7, &mut counts.shares),
        GaugeName::RouterHitSum => (8, &mut counts.share_sum),
        _ => return None,
    })
}

/// Returns what a counter counts in: shares in millionths.
const fn scale(name: GaugeName) -> f64 {
    if matches!(name, GaugeName::RouterHitSum) { 1e6 } else { 1.0 }
}

/// The place of the stores that an index took in, the first of those about KV events.
const APPLIED: usize = 0;

/// The place after the last counter about KV events.
const EVENTS: usize = 5;

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
        let by = self.last.map_or(0.0, |last| value - last);
        self.last = Some(value);
        by.clamp(0.0, 1e15).round() as u64
    }
}

impl Scraped {
    /// Takes in the counters among `gauges`, read at `at`. Returns true if they tell of requests since the last reading.
    fn follow(&mut self, gauges: &[(GaugeName, f64)], at: Timestamp, slots: Slots) -> bool {
        let mut grown = RouterCounts::default();
        let fell = gauges.iter().any(|(name, value)| {
            let counter = place(*name, &mut grown).map(|(place, _)| self.counters[place]);
            counter
                .and_then(|counter| counter.last)
                .is_some_and(|last| value * scale(*name) + SAME < last)
        });
        // Counters and their labels stay while the process runs (dynamo-kv-router 1.6.1, `indexer/metrics.rs`), so one that
        // fell is of a new process. Counts of the former one say nothing of the index that is used now.
        if fell {
            self.counters = [Grown { last: Some(0.0) }; COUNTERS];
            self.counts.forget(slots.slot(self.at));
            self.replaced = Some(self.at);
            self.empty_since = None;
        }
        for (name, value) in gauges {
            if let Some((place, count)) = place(*name, &mut grown) {
                *count = self.counters[place].follow(value * scale(*name));
            }
        }
        if grown != RouterCounts::default() {
            self.counts.slot(slots.slot(at)).sum(&grown);
        }
        grown.prompts + grown.failed > 0
    }

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
    /// Takes in one scrape of the frontend in `pod` at `at`. Returns true if it tells of requests since the last.
    pub fn take(
        &mut self,
        pod: &str,
        gauges: &[(GaugeName, f64)],
        at: Timestamp,
        slots: Slots,
    ) -> bool {
        if !self.frontends.contains_key(pod) {
            make_room(&mut self.frontends, |scraped| Some(scraped.at));
        }
        let scraped = self.frontends.entry(pod.to_owned()).or_default();
        let served = scraped.follow(gauges, at, slots);
        scraped.at = scraped.at.max(at);
        for (name, value) in gauges {
            let value = *value;
            match name {
                GaugeName::TtftSum => scraped.ttft_sum.read(value),
                GaugeName::TtftCount => scraped.ttft_count.read(value),
                GaugeName::Queued => scraped.queued = Some(value),
                GaugeName::Registered => scraped.registered = Some(value),
                GaugeName::RouterWorkers => scraped.routed_to = Some(value),
                GaugeName::InputTokenSum => scraped.prompts[0] = value,
                GaugeName::InputTokenCount => scraped.prompts[1] = value,
                GaugeName::OutputTokenSum => scraped.answers[0] = value,
                GaugeName::OutputTokenCount => scraped.answers[1] = value,
                GaugeName::SourcelessWorkers => scraped.sourceless = value,
                GaugeName::StoresApplied => {
                    let since = scraped.empty_since.unwrap_or(at);
                    scraped.empty_since = (value <= 0.0).then_some(since);
                }
                _ => {}
            }
        }
        served
    }

    /// Calls `each` with what the processes of now counted in every slot from `from` on in pods that are `there`, and with
    /// whether the slot is one from `watched` on; none stands for the beginning.
    pub fn counted(
        &self,
        there: impl Fn(&str) -> bool,
        from: Option<Slot>,
        watched: Option<Slot>,
        mut each: impl FnMut(&RouterCounts, bool),
    ) {
        for scraped in self.present(there) {
            scraped.counts.since(from, watched, &mut each);
        }
    }

    /// Returns the last readings of processes that were replaced while kvtop watched, the first and the last of them, over
    /// pods that are `there` and count; none where a process was not replaced.
    pub fn replaced(&self, there: impl Fn(&str) -> bool) -> [Option<Timestamp>; 2] {
        let counts = |scraped: &&Scraped| scraped.counters.iter().any(|it| it.last.is_some());
        let replaced = || self.present(&there).filter(counts).map(|scraped| scraped.replaced);
        [replaced().min().flatten(), replaced().max().flatten()]
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
            let others = &scraped.counters[APPLIED + 1..EVENTS];
            let none = others.iter().all(|count| count.last.is_none_or(|last| last <= 0.0));
            let since = scraped.empty_since.filter(|_| none)?;
            Some((Arc::from(pod.as_str()), [since, scraped.at]))
        });
        unfed.collect()
    }

    /// Returns the number of routers whose own counters show KV events in their indexes.
    pub fn fed(&self, there: impl Fn(&str) -> bool, at: Timestamp) -> usize {
        let takes =
            |scraped: &&Scraped| scraped.counters[APPLIED].last.is_some_and(|last| last > 0.0);
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

    fn take(scrapes: &mut Scrapes, pod: &str, gauges: &[(GaugeName, f64)]) -> bool {
        scrapes.take(pod, gauges, NOW, Slots::new(NOW))
    }

    #[test]
    fn what_a_replaced_process_counted_does_not_count_for_the_present_one() {
        let mut scrapes = Scrapes::default();
        let slots = Slots::new(NOW);
        let readings = [(100.0, 4.0, 5.0), (150.0, 4.0, 6.5), (0.0, 30.0, 0.0), (0.0, 45.0, 0.25)];
        for (number, (applied, orphaned, hits)) in (0..).zip(readings) {
            let at = NOW.after(Duration::from_secs(number * 10));
            let gauges = [
                (GaugeName::StoresOrphaned, orphaned),
                (GaugeName::StoresApplied, applied),
                (GaugeName::RouterHitSum, hits),
            ];
            scrapes.take("router", &gauges, at, slots);
        }
        let mut sum = RouterCounts::default();
        scrapes.counted(|_| true, None, None, |counts, _| sum.sum(counts));

        assert_eq!((sum.stores_applied, sum.stores_orphaned, sum.share_sum), (0, 45, 250_000));
        let replaced = Some(NOW.after(Duration::from_secs(10)));
        scrapes.take("worker", &[(GaugeName::Queued, 1.0)], NOW, slots);
        assert_eq!(scrapes.replaced(|_| true), [replaced; 2]);
        scrapes.take("other", &[(GaugeName::StoresApplied, 1.0)], NOW, slots);
        assert_eq!(scrapes.replaced(|_| true), [None, replaced]);
    }

    #[test]
    fn counters_of_a_frontend_that_restarted_count_from_zero() {
        let mut scrapes = Scrapes::default();
        let readings =
            [("a", 100.0, 100.0), ("b", 1000.0, 100.0), ("a", 150.0, 300.0), ("b", 1.0, 1.0)];
        for (pod, sum, count) in readings {
            take(&mut scrapes, pod, &[(GaugeName::TtftSum, sum), (GaugeName::TtftCount, count)]);
        }

        let mean = scrapes.ttft_mean(|_| true, NOW).unwrap();

        assert!((mean - 51.0 / 201.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn one_reading_tells_the_mean_since_the_start_and_nothing_of_lately() {
        let mut scrapes = Scrapes::default();
        take(&mut scrapes, "a", &[(GaugeName::TtftSum, 100.0), (GaugeName::TtftCount, 50.0)]);

        assert_eq!(scrapes.ttft_last(|_| true, NOW), None);
        assert_eq!(scrapes.ttft_mean(|_| true, NOW), Some(2.0));
    }

    #[test]
    fn metrics_of_a_pod_that_is_gone_or_silent_say_nothing_of_the_present() {
        let mut scrapes = Scrapes::default();
        let gauges = [
            (GaugeName::SourcelessWorkers, 3.0),
            (GaugeName::TtftSum, 100.0),
            (GaugeName::TtftCount, 50.0),
        ];
        take(&mut scrapes, "old", &gauges);
        let later = NOW.after(FRESH).after(Duration::from_secs(1));

        assert_eq!(scrapes.sourceless(|_| true, NOW), 3);
        assert_eq!(scrapes.sourceless(|pod| pod != "old", NOW), 0);
        assert_eq!(scrapes.sourceless(|_| true, later), 0);
        assert_eq!(scrapes.ttft_mean(|_| true, later), None);
    }
}
