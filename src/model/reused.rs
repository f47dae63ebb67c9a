//! The share of prompt tokens that engines had cached, over the last minute.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::Timestamp;

/// The window of the share: the last minute, and a scrape interval.
const WINDOW: Duration = Duration::from_secs(65);
/// Scrapes kept of one process; every five seconds there is one.
const SCRAPES: usize = 64;
/// Frontends that are followed.
const FRONTENDS: usize = 1_024;

/// The two counters of one scrape: cached tokens, and tokens of all prompts.
type Counters = [Option<f64>; 2];

/// The counters of one process in the scrapes of the last minute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenScrapes(VecDeque<(Timestamp, Counters)>);

impl TokenScrapes {
    /// Takes in the counters of a scrape at `at`; a scrape may have only one of them.
    pub fn take(&mut self, at: Timestamp, counters: [Option<f64>; 2]) {
        let Self(scrapes) = self;
        // A process that restarted counts from zero again.
        let fell = |before: &Counters| {
            before
                .iter()
                .zip(counters)
                .any(|(before, now)| matches!((before, now), (Some(b), Some(n)) if n < *b))
        };
        if scrapes.back().is_some_and(|(_, before)| fell(before)) {
            scrapes.clear();
        }
        scrapes.push_back((at, counters));
        while scrapes.len() > SCRAPES
            || scrapes.front().is_some_and(|(first, _)| at.since(*first) > WINDOW)
        {
            scrapes.pop_front();
        }
    }

    /// Returns true while there was no scrape.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the share of tokens that were cached in the minute before `at`, 0 to 1; none when no prompt was
    /// counted between two scrapes.
    pub fn share(&self, at: Timestamp) -> Option<f64> {
        share_of(self.growth(at)?)
    }

    /// Returns by how much both counters grew in the minute before `at`.
    fn growth(&self, at: Timestamp) -> Option<[f64; 2]> {
        let mut both = self
            .0
            .iter()
            .filter(|(taken, _)| at.since(*taken) <= WINDOW)
            .filter_map(|(_, counters)| Some([counters[0]?, counters[1]?]));
        let (first, last) = (both.next()?, both.next_back()?);
        Some([last[0] - first[0], last[1] - first[1]])
    }
}

fn share_of([cached, prompts]: [f64; 2]) -> Option<f64> {
    (prompts > 0.0).then(|| (cached / prompts).clamp(0.0, 1.0))
}

/// The token counters of frontends, scrape by scrape.
#[derive(Debug, Default)]
pub struct CachedTokens {
    frontends: BTreeMap<Arc<str>, TokenScrapes>,
}

impl CachedTokens {
    /// Takes in the counters of a scrape of `pod` at `at`; a scrape may have only one of them.
    pub fn take(&mut self, pod: &Arc<str>, at: Timestamp, counters: Counters) {
        if counters.iter().all(Option::is_none)
            || !self.frontends.contains_key(pod) && self.frontends.len() >= FRONTENDS
        {
            return;
        }
        self.frontends.entry(Arc::clone(pod)).or_default().take(at, counters);
    }

    /// Returns the share over all frontends in the minute before `at`, 0 to 1; none when no prompt was
    /// counted between two scrapes.
    pub fn share(&self, at: Timestamp) -> Option<f64> {
        let grown = self.frontends.values().filter_map(|scrapes| scrapes.growth(at));
        share_of(grown.fold([0.0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_the_last_minute_and_begins_again_with_a_frontend() {
        let (mut tokens, pod) = (CachedTokens::default(), Arc::from("frontend"));
        let at = |seconds: u64| Timestamp(1_000_000_000).after(Duration::from_secs(seconds));
        tokens.take(&pod, at(0), [Some(500.0), Some(1_000.0)]);
        assert_eq!(tokens.share(at(0)), None);
        tokens.take(&pod, at(30), [Some(590.0), Some(1_100.0)]);
        assert_eq!(tokens.share(at(30)), Some(0.9));
        tokens.take(&pod, at(90), [Some(600.0), Some(1_120.0)]);
        assert_eq!(tokens.share(at(90)), Some(0.5));

        tokens.take(&pod, at(95), [Some(1.0), Some(10.0)]);
        assert_eq!(tokens.share(at(95)), None);
        tokens.take(&pod, at(100), [None, Some(20.0)]);
        assert_eq!(tokens.share(at(100)), None, "one counter alone says nothing");
    }
}
