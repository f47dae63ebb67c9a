//! Counters of pods that count what passes through them: tokens, and blocks between tiers.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{GaugeName, Timestamp};

/// Most counters that are followed.
const LIMIT: usize = 65_536;

/// The window of a rate: the last minute, and a scrape interval.
const WINDOW: Duration = Duration::from_secs(65);

/// The shortest time that a rate is made of: two scrapes of one pod.
const SHORTEST: Duration = Duration::from_secs(4);

/// Moves of blocks between tiers: their counter, from where, and to where.
const MOVES: [(GaugeName, &str, &str); 7] = [
    (GaugeName::DeviceToHost, "device", "host"),
    (GaugeName::HostToDisk, "host", "disk"),
    (GaugeName::DeviceToDisk, "device", "disk"),
    (GaugeName::DeviceToObject, "device", "object"),
    (GaugeName::HostToDevice, "host", "device"),
    (GaugeName::DiskToDevice, "disk", "device"),
    (GaugeName::ObjectToDevice, "object", "device"),
];

/// Counters of tokens.
const TOKENS: [GaugeName; 3] =
    [GaugeName::OutputTokens, GaugeName::OutputTokenSum, GaugeName::InputTokenSum];

/// The growth of one counter over all pods.
#[derive(Clone, Debug, Default)]
struct Growth {
    /// Since kvtop watches.
    sum: f64,
    /// The same at the end of each second of the last minute in which a pod was scraped.
    recent: VecDeque<(Timestamp, f64)>,
}

impl Growth {
    fn add(&mut self, by: f64, at: Timestamp) {
        self.sum += by;
        match self.recent.back_mut() {
            Some((last, sum)) if last.seconds() >= at.seconds() => *sum = self.sum,
            _ => self.recent.push_back((at, self.sum)),
        }
        while self.recent.front().is_some_and(|(first, _)| at.since(*first) > WINDOW) {
            self.recent.pop_front();
        }
    }

    /// Returns the growth per second over the minute before `at`; none where less than two scrapes tell of it.
    fn per_second(&self, at: Timestamp) -> Option<f64> {
        let mut recent = self.recent.iter().filter(|(taken, _)| at.since(*taken) <= WINDOW);
        let (first, last) = (recent.next()?, recent.next_back()?);
        let span = last.0.since(first.0);
        (span >= SHORTEST).then(|| (last.1 - first.1) / span.as_secs_f64())
    }
}

/// What passed through all pods since kvtop watches.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    last: BTreeMap<(Arc<str>, GaugeName), f64>,
    grown: BTreeMap<GaugeName, Growth>,
}

impl Traffic {
    /// Takes in a counter of `pod` at `at`. What it counted before it was first seen is of another time.
    pub fn take(&mut self, pod: &Arc<str>, name: GaugeName, value: f64, at: Timestamp) {
        let moves = MOVES.iter().any(|(counter, ..)| *counter == name);
        if !(moves || TOKENS.contains(&name)) || value < 0.0 {
            return;
        }
        let known = self.last.len();
        let last = match self.last.entry((Arc::clone(pod), name)) {
            Entry::Vacant(_) if known >= LIMIT => return,
            Entry::Vacant(new) => *new.insert(value),
            Entry::Occupied(mut known) => known.insert(value),
        };
        // A counter that fell began again at zero with its process.
        let by = if value < last { value } else { value - last };
        self.grown.entry(name).or_default().add(by, at);
    }

    /// Returns the tokens of prompts; none where nobody counts them.
    pub fn prompt_tokens(&self) -> Option<f64> {
        self.grown(GaugeName::InputTokenSum)
    }

    /// Returns the tokens generated; of releases that do not count while they generate, those of complete answers.
    pub fn output_tokens(&self) -> Option<f64> {
        self.grown(GaugeName::OutputTokens).or_else(|| self.grown(GaugeName::OutputTokenSum))
    }

    /// Returns the tokens of prompts per second over the minute before `at`; none where nobody counts them.
    pub fn prompt_rate(&self, at: Timestamp) -> Option<f64> {
        self.per_second(GaugeName::InputTokenSum, at)
    }

    /// Returns the tokens generated per second over the minute before `at`; none where nobody counts them.
    pub fn output_rate(&self, at: Timestamp) -> Option<f64> {
        let counted = self.per_second(GaugeName::OutputTokens, at);
        counted.or_else(|| self.per_second(GaugeName::OutputTokenSum, at))
    }

    /// Returns the blocks per second that left the device tier or went further down, and those that came back to the
    /// device tier, over the minute before `at`; none where nobody counts them.
    pub fn tier_rates(&self, at: Timestamp) -> [Option<f64>; 2] {
        let sum = |back: bool| {
            let moves = MOVES.into_iter().filter(|(.., to)| (*to == "device") == back);
            moves.filter_map(|(name, ..)| self.per_second(name, at)).reduce(|a, b| a + b)
        };
        [sum(false), sum(true)]
    }

    fn per_second(&self, name: GaugeName, at: Timestamp) -> Option<f64> {
        self.grown.get(&name)?.per_second(at)
    }

    /// Returns the blocks that were moved between tiers: from where, to where, and how many.
    pub fn moved(&self) -> impl Iterator<Item = (&'static str, &'static str, f64)> {
        MOVES.into_iter().filter_map(|(name, from, to)| Some((from, to, self.grown(name)?)))
    }

    fn grown(&self, name: GaugeName) -> Option<f64> {
        self.grown.get(&name).map(|growth| growth.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_pods_are_followed_from_when_they_are_first_seen() {
        let mut traffic = Traffic::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let name = GaugeName::OutputTokens;
        assert_eq!(traffic.grown(name), None);
        for (pod, value) in [(&a, 100.0), (&b, 50.0), (&a, 130.0), (&b, 10.0)] {
            traffic.take(pod, name, value, Timestamp::default());
        }
        // 30 more of the one, and 10 since the other began again.
        assert_eq!(traffic.grown(name), Some(40.0));
        assert_eq!(traffic.grown(GaugeName::DeviceToHost), None);
    }

    #[test]
    fn rates_are_of_the_last_minute_and_need_two_scrapes() {
        let mut traffic = Traffic::default();
        let (pod, at) = (Arc::from("a"), |seconds: u64| Timestamp(seconds * 1_000_000));
        traffic.take(&pod, GaugeName::OutputTokens, 100.0, at(100));
        assert_eq!(traffic.output_rate(at(100)), None, "one scrape tells no rate");
        traffic.take(&pod, GaugeName::OutputTokens, 400.0, at(110));
        traffic.take(&pod, GaugeName::HostToDevice, 5.0, at(110));
        assert_eq!(traffic.output_rate(at(110)), Some(30.0));
        traffic.take(&pod, GaugeName::OutputTokens, 400.0, at(170));
        traffic.take(&pod, GaugeName::HostToDevice, 65.0, at(170));

        assert_eq!(traffic.output_rate(at(170)), Some(0.0), "the growth is older than a minute");
        assert_eq!(traffic.tier_rates(at(170)), [None, Some(1.0)]);
        assert_eq!(traffic.output_rate(at(300)), None, "no scrape for more than a minute");
        assert_eq!(traffic.prompt_rate(at(170)), None);
    }
}
