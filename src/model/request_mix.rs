//! Requests as frontends count them: how many, how long, and how long their first token takes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{GaugeName, Timestamp};

/// The window of the figures: five minutes, and a scrape interval.
const WINDOW: Duration = Duration::from_secs(305);
/// Scrapes kept of one frontend; every five seconds there is one.
const SCRAPES: usize = 64;
/// Frontends that are followed.
const FRONTENDS: usize = 1_024;
/// The counters, in the order in which a scrape keeps them.
const COUNTERS: [GaugeName; 7] = [
    GaugeName::InputTokenCount,
    GaugeName::InputTokenSum,
    GaugeName::OutputTokenCount,
    GaugeName::OutputTokenSum,
    GaugeName::CachedTokenSum,
    GaugeName::TtftCount,
    GaugeName::TtftSum,
];

type Counters = [Option<f64>; COUNTERS.len()];

/// Figures over a window; none where no frontend counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mix {
    /// The time between the first scrape and the last.
    pub window: Duration,
    /// Requests answered in the window.
    pub requests: f64,
    /// Mean tokens of a prompt.
    pub prompt_tokens: Option<f64>,
    /// Mean tokens of an answer.
    pub answer_tokens: Option<f64>,
    /// Share of prompt tokens that engines had cached, 0 to 1.
    pub cached: Option<f64>,
    /// Mean time to the first token, in seconds.
    pub first_token: Option<f64>,
}

impl Mix {
    /// Returns the mean tokens of a request that engines computed, prompt and answer, without those that they had cached.
    pub fn computed_tokens(&self) -> Option<f64> {
        let prompt = self.prompt_tokens.zip(self.cached).map(|(all, cached)| all * (1.0 - cached));
        match (prompt, self.answer_tokens) {
            (None, None) => None,
            (prompt, answer) => Some(prompt.unwrap_or(0.0) + answer.unwrap_or(0.0)),
        }
    }
}

/// The request counters of frontends, scrape by scrape.
#[derive(Debug, Default)]
pub struct RequestMix {
    frontends: BTreeMap<Arc<str>, VecDeque<(Timestamp, Counters)>>,
}

impl RequestMix {
    /// Takes in a scrape of `pod`, of which `counter` returns the values.
    pub fn take(
        &mut self,
        pod: &Arc<str>,
        at: Timestamp,
        counter: impl Fn(GaugeName) -> Option<f64>,
    ) {
        let counters = COUNTERS.map(counter);
        if counters.iter().all(Option::is_none)
            || !self.frontends.contains_key(pod) && self.frontends.len() >= FRONTENDS
        {
            return;
        }
        let scrapes = self.frontends.entry(Arc::clone(pod)).or_default();
        // A frontend that restarted counts from zero again.
        let fell = |before: &Counters| {
            let pairs = before.iter().zip(counters);
            pairs
                .into_iter()
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

    /// Returns the figures over all frontends in the five minutes before `at`; none when no request was answered
    /// between two scrapes.
    pub fn figures(&self, at: Timestamp) -> Option<Mix> {
        let mut window = Duration::ZERO;
        let mut grown: Counters = [None; COUNTERS.len()];
        for scrapes in self.frontends.values() {
            let mut recent = scrapes.iter().filter(|(taken, _)| at.since(*taken) <= WINDOW);
            let (Some((from, first)), Some((to, last))) = (recent.next(), recent.next_back())
            else {
                continue;
            };
            window = window.max(to.since(*from));
            for ((sum, before), now) in grown.iter_mut().zip(first).zip(last) {
                if let (Some(before), Some(now)) = (before, now) {
                    *sum = Some(sum.unwrap_or(0.0) + now - before);
                }
            }
        }
        let [requests, prompts, answers, answered, cached, firsts, first] = grown;
        let mean = |sum: Option<f64>, count: Option<f64>| {
            Some(sum? / count.filter(|count| *count > 0.0)?).filter(|mean| mean.is_finite())
        };
        let requests = requests.or(answers).or(firsts).filter(|count| *count > 0.0)?;
        Some(Mix {
            window,
            requests,
            prompt_tokens: mean(prompts, grown[0]),
            answer_tokens: mean(answered, answers),
            cached: mean(cached, prompts).map(|share| share.clamp(0.0, 1.0)),
            first_token: mean(first, firsts),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrape(mix: &mut RequestMix, second: u64, requests: f64) {
        let at = Timestamp(1_000_000_000).after(Duration::from_secs(second));
        mix.take(&Arc::from("frontend"), at, |name| match name {
            GaugeName::InputTokenCount | GaugeName::OutputTokenCount => Some(requests),
            GaugeName::InputTokenSum => Some(requests * 1_000.0),
            GaugeName::OutputTokenSum => Some(requests * 200.0),
            GaugeName::CachedTokenSum => Some(requests * 750.0),
            _ => None,
        });
    }

    #[test]
    fn figures_are_means_of_what_was_counted_between_two_scrapes() {
        let mut mix = RequestMix::default();
        scrape(&mut mix, 0, 500.0);
        assert_eq!(mix.figures(Timestamp(1_000_000_000)), None);
        scrape(&mut mix, 60, 530.0);
        let at = Timestamp(1_060_000_000);

        let found = mix.figures(at).expect("thirty requests were answered");

        assert_eq!((found.window, found.requests), (Duration::from_secs(60), 30.0));
        assert_eq!((found.prompt_tokens, found.answer_tokens), (Some(1_000.0), Some(200.0)));
        assert_eq!((found.cached, found.first_token), (Some(0.75), None));
    }

    #[test]
    fn a_frontend_that_restarts_counts_from_there() {
        let mut mix = RequestMix::default();
        scrape(&mut mix, 0, 500.0);
        scrape(&mut mix, 5, 3.0);
        assert_eq!(mix.figures(Timestamp(1_005_000_000)), None);
        scrape(&mut mix, 10, 5.0);
        let found = mix.figures(Timestamp(1_010_000_000)).map(|mix| mix.requests);
        assert_eq!(found, Some(2.0));
    }
}
