//! The share of prompt tokens that engines had cached, over the last minute.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::Timestamp;

/// The window of the share: the last minute, and a scrape interval.
const WINDOW: Duration = Duration::from_secs(65);
/// Scrapes kept of one frontend; every five seconds there is one.
const SCRAPES: usize = 64;
/// Frontends that are followed.
const FRONTENDS: usize = 1_024;

/// The two counters of one scrape: cached tokens, and tokens of all prompts.
type Counters = [Option<f64>; 2];

/// The token counters of frontends, scrape by scrape.
#[derive(Debug, Default)]
pub struct CachedTokens {
    frontends: BTreeMap<Arc<str>, VecDeque<(Timestamp, Counters)>>,
}

impl CachedTokens {
    /// Takes in the counters of a scrape of `pod` at `at`; a scrape may have only one of them.
    pub fn take(&mut self, pod: &Arc<str>, at: Timestamp, counters: Counters) {
        if counters.iter().all(Option::is_none)
            || !self.frontends.contains_key(pod) && self.frontends.len() >= FRONTENDS
        {
            return;
        }
        let scrapes = self.frontends.entry(Arc::clone(pod)).or_default();
        // A frontend that restarted counts from zero again.
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

    /// Returns the share over all frontends in the minute before `at`, 0 to 1; none when no prompt was
    /// counted between two scrapes.
    pub fn share(&self, at: Timestamp) -> Option<f64> {
        let (mut cached, mut prompts) = (0.0, 0.0);
        for scrapes in self.frontends.values() {
            let mut both = scrapes
                .iter()
                .filter(|(taken, _)| at.since(*taken) <= WINDOW)
                .filter_map(|(_, counters)| Some((counters[0]?, counters[1]?)));
            let (Some(first), Some(last)) = (both.next(), both.next_back()) else { continue };
            cached += last.0 - first.0;
            prompts += last.1 - first.1;
        }
        (prompts > 0.0).then(|| (cached / prompts).clamp(0.0, 1.0))
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
