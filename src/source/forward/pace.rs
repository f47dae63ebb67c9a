//! Limits the rate of new forwards: few to destinations that keep failing, never many at once. Pure.
//!
//! Each costs the API server more than a request does, so a deployment whose pods do not answer must not
//! turn into a storm of them. One that opens makes room for the next, so that hundreds of pods that do answer are
//! reached as fast as the API server lets them.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::Destination;

/// Forwards to pods that are being opened at the same time.
const BURST: u32 = 32;

/// Time between two more while none of those succeeds.
const EACH: Duration = Duration::from_millis(250);

/// The pause after the first failure; each further one doubles it.
const PAUSE_FIRST: Duration = Duration::from_secs(1);

/// The longest pause.
const PAUSE_LAST: Duration = Duration::from_secs(60);

/// Most destinations whose failures are remembered.
const REMEMBERED: usize = 4_096;

/// The last result of a destination.
#[derive(Debug)]
struct Trouble {
    failures: u32,
    until: Instant,
    why: String,
}

/// Paces the opening of forwards; those who have to wait are kept in order.
#[derive(Debug)]
pub(super) struct Pace<T> {
    room: u32,
    filled: Option<Instant>,
    troubles: HashMap<Destination, Trouble>,
    waiting: VecDeque<T>,
}

impl<T> Pace<T> {
    pub(super) fn new() -> Self {
        Self { room: BURST, filled: None, troubles: HashMap::new(), waiting: VecDeque::new() }
    }

    /// Returns why `to` must not be tried now, and for how long; none when it may be.
    pub(super) fn pause(&self, to: &Destination, now: Instant) -> Option<(Duration, &str)> {
        let trouble = self.troubles.get(to).filter(|trouble| trouble.until > now)?;
        Some((trouble.until - now, &trouble.why))
    }

    /// Notes how an attempt went.
    pub(super) fn ended(&mut self, to: &Destination, now: Instant, failure: Option<&str>) {
        let Some(why) = failure else {
            self.room = self.room.saturating_add(1).min(BURST);
            self.troubles.remove(to);
            return;
        };
        if !self.troubles.contains_key(to) && self.troubles.len() >= REMEMBERED {
            self.troubles.retain(|_, trouble| trouble.until > now);
        }
        let failures = self.troubles.get(to).map_or(0, |trouble| trouble.failures);
        let pause = PAUSE_FIRST.saturating_mul(1 << failures.min(8)).min(PAUSE_LAST);
        let trouble = Trouble {
            failures: failures.saturating_add(1),
            until: now + pause,
            why: why.to_owned(),
        };
        if self.troubles.len() < REMEMBERED || self.troubles.contains_key(to) {
            self.troubles.insert(to.clone(), trouble);
        }
    }

    /// Returns `item` when a forward may be opened at once; keeps it for its turn otherwise.
    pub(super) fn admit(&mut self, now: Instant, item: T) -> Option<T> {
        self.fill(now);
        if self.room == 0 || !self.waiting.is_empty() {
            self.waiting.push_back(item);
            return None;
        }
        self.room -= 1;
        Some(item)
    }

    /// Returns the next of those who wait, when it is its turn. Those who no longer do are dropped.
    pub(super) fn next(&mut self, now: Instant, waits: impl Fn(&T) -> bool) -> Option<T> {
        self.fill(now);
        while self.room > 0 {
            let item = self.waiting.pop_front()?;
            if waits(&item) {
                self.room -= 1;
                return Some(item);
            }
        }
        None
    }

    /// Returns how long until somebody's turn comes; none while nobody waits.
    pub(super) fn wait(&self) -> Option<Duration> {
        (!self.waiting.is_empty()).then_some(EACH)
    }

    fn fill(&mut self, now: Instant) {
        let since = *self.filled.get_or_insert(now);
        let each = EACH.as_millis().max(1);
        let more = u32::try_from(now.duration_since(since).as_millis() / each).unwrap_or(u32::MAX);
        if more > 0 {
            self.room = self.room.saturating_add(more).min(BURST);
            self.filled = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PodPort;
    use super::*;

    fn pod(number: u32) -> Destination {
        let pod = format!("p{number}").into();
        Destination::Pod(PodPort { namespace: "n".into(), pod, port: 9090 })
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_pods_that_do_not_answer_make_no_storm() {
        let mut pace: Pace<u32> = Pace::new();
        let start = Instant::now();
        let mut opened = (0..1_000).filter(|number| pace.admit(start, *number).is_some()).count();
        assert_eq!(opened, 32);
        for tenth in 1..=150 {
            let now = start + Duration::from_millis(tenth * 100);
            while let Some(number) = pace.next(now, |_| true) {
                opened += 1;
                pace.ended(&pod(number), now, Some("no answer"));
            }
        }
        assert!((80..=92).contains(&opened), "{opened} in 15 s");
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_answer_are_reached_without_a_wait_and_few_at_once() {
        let mut pace: Pace<u32> = Pace::new();
        let now = Instant::now();
        let mut opening: VecDeque<u32> =
            (0..1_000).filter_map(|number| pace.admit(now, number)).collect();
        let mut opened = 0;
        while let Some(number) = opening.pop_front() {
            assert!(opening.len() < 32);
            opened += 1;
            pace.ended(&pod(number), now, None);
            opening.extend(pace.next(now, |_| true));
        }
        assert_eq!(opened, 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn what_keeps_failing_is_tried_ever_less_often_and_a_success_forgets_that() {
        let mut pace: Pace<u32> = Pace::new();
        let (to, mut now) = (pod(1), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..8 {
            pace.ended(&to, now, Some("refused"));
            let (pause, why) = pace.pause(&to, now).unwrap();
            assert_eq!(why, "refused");
            pauses.push(pause.as_secs());
            now += pause;
            assert_eq!(pace.pause(&to, now), None);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        pace.ended(&to, now, None);
        pace.ended(&to, now, Some("refused"));
        assert_eq!(pace.pause(&to, now).unwrap().0.as_secs(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gave_up_takes_nobodys_turn() {
        let mut pace: Pace<u32> = Pace::new();
        let start = Instant::now();
        for number in 0..40 {
            pace.admit(start, number);
        }
        let later = start + EACH;
        assert_eq!(pace.next(later, |number| *number == 39), Some(39));
        assert_eq!((pace.next(later, |_| true), pace.wait()), (None, None));
    }
}
