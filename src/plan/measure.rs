//! One simulation of one change with one seed.

use std::time::Duration;

use super::USERS;
use super::change::Change;
use crate::domain::Timestamp;
use crate::simulator::{Answered, SimConfig, Simulation};

/// The time at which simulations start; any would do.
const START: Timestamp = Timestamp(1_000_000_000_000);
/// The length of a window: percentiles are means over windows, as a dashboard shows them.
const WINDOW: Duration = Duration::from_secs(60);
/// The interval at which queues are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// The factor between two numbers of users while a ceiling is searched.
const STRIDE: f64 = 1.25;

/// The simulated time of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The time before anything is measured.
    pub warm_up: Duration,
    /// The measured time.
    pub measured: Duration,
}

impl Length {
    /// Returns the length of measurements at other numbers of users, in a deployment that is warm already.
    #[must_use]
    pub fn of_probes(self) -> Self {
        let most = Duration::from_secs(120);
        Self {
            warm_up: self.warm_up.min(Duration::from_secs(60)),
            measured: self.measured.min(most),
        }
    }
}

/// The figures of one measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Share of prompt tokens that engines had cached, 0 to 1.
    pub hits: f64,
    /// Mean time to the first token, in seconds.
    pub ttft_mean: f64,
    /// Time to the first token of half of the requests, in seconds.
    pub ttft_p50: f64,
    /// The same of 95 % of them.
    pub ttft_p95: f64,
    /// Mean time between two tokens, in seconds.
    pub itl_mean: f64,
    /// Generated tokens per second.
    pub tokens: f64,
    /// Answered requests per second.
    pub requests: f64,
    /// Share of the time in which the batch of a worker was full, 0 to 1.
    pub full: f64,
}

/// The most conversations at once for which the time to the first token keeps its objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// Conversations at once; 0 where the objective is missed with one.
    pub users: usize,
    /// True when no larger number was tried, so that the ceiling is at least this.
    pub at_least: bool,
}

/// One simulation to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The change.
    pub change: Change,
    /// The seed.
    pub seed: u64,
    config: SimConfig,
    length: Length,
    objective: Option<Duration>,
}

/// The result of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Result {
    /// The change.
    pub change: Change,
    /// The seed.
    pub seed: u64,
    /// The figures with the present number of users.
    pub outcome: Outcome,
    /// The ceiling, where it was asked for.
    pub ceiling: Option<Ceiling>,
}

impl Job {
    /// Returns the simulation of `change` to `config`; none where the change cannot be made. The ceiling is searched
    /// where there is an objective.
    pub fn new(
        config: &SimConfig,
        change: Change,
        seed: u64,
        length: Length,
        objective: Option<Duration>,
    ) -> Option<Self> {
        let config = change.apply(config)?;
        Some(Self { change, seed, config, length, objective })
    }

    /// Runs it for as long as `go_on`, which is asked after each simulated second, returns true; none where it was
    /// stopped. The same job always gives the same result.
    pub fn run(&self, go_on: &dyn Fn() -> bool) -> Option<Result> {
        let mut warm = Simulation::measured(self.config.clone(), self.seed, START);
        let mut now = START;
        pass(&mut warm, &mut now, self.length.warm_up, go_on)?;
        if let Some(place) = self.change.drained() {
            warm.drain_worker(place);
        }
        let (mut present, mut end) = (warm.clone(), now);
        let outcome = measured(&mut present, &mut end, self.length.measured, go_on)?;
        let users = self.config.service.concurrency;
        let ceiling = match self.objective {
            None => None,
            Some(objective) => {
                let most = objective.as_secs_f64();
                let mut probe = |users: usize| {
                    let (mut simulation, mut now) = (warm.clone(), now);
                    let length = self.length.of_probes();
                    simulation.set_concurrency(users);
                    pass(&mut simulation, &mut now, length.warm_up, go_on)?;
                    let outcome = measured(&mut simulation, &mut now, length.measured, go_on)?;
                    Some(outcome.ttft_p95 <= most)
                };
                Some(ceiling(users, outcome.ttft_p95 <= most, &mut probe)?)
            }
        };
        Some(Result { change: self.change, seed: self.seed, outcome, ceiling })
    }
}

/// Simulates `length` from `now` on without measuring; none where it was stopped.
fn pass(
    simulation: &mut Simulation,
    now: &mut Timestamp,
    length: Duration,
    go_on: &dyn Fn() -> bool,
) -> Option<()> {
    let end = now.after(length);
    while *now < end {
        *now = now.after(LOOK).min(end);
        simulation.advance(*now);
        if !go_on() {
            return None;
        }
    }
    Some(())
}

/// Measures a simulation from `now` on; none where it was stopped.
fn measured(
    simulation: &mut Simulation,
    now: &mut Timestamp,
    length: Duration,
    go_on: &dyn Fn() -> bool,
) -> Option<Outcome> {
    simulation.answers();
    let end = now.after(length);
    let mut sum = Outcome::default();
    let (mut windows, mut looks) = (0.0_f64, 0.0_f64);
    while *now < end {
        let before = simulation.generated();
        let from = *now;
        // A rest of less than half a window joins the one before.
        let close = end.since(from) < WINDOW + WINDOW / 2;
        let until = if close { end } else { from.after(WINDOW) };
        while *now < until {
            *now = now.after(LOOK).min(until);
            simulation.advance(*now);
            if !go_on() {
                return None;
            }
            let limit = simulation.batch_limit();
            let full = simulation.in_flight().iter().any(|worker| worker.running >= limit);
            sum.full += f64::from(u8::from(full));
            looks += 1.0;
        }
        let tokens = (simulation.generated() - before) as f64;
        let seconds = now.since(from).as_secs_f64();
        add(&mut sum, &simulation.answers(), tokens / seconds, seconds);
        windows += 1.0;
    }
    let windows = windows.max(1.0);
    Some(Outcome {
        hits: sum.hits / windows,
        ttft_mean: sum.ttft_mean / windows,
        ttft_p50: sum.ttft_p50 / windows,
        ttft_p95: sum.ttft_p95 / windows,
        itl_mean: sum.itl_mean / windows,
        tokens: sum.tokens / windows,
        requests: sum.requests / windows,
        full: sum.full / looks.max(1.0),
    })
}

/// Adds the figures of one window.
fn add(sum: &mut Outcome, answers: &[Answered], tokens: f64, seconds: f64) {
    let mut first: Vec<f64> = answers.iter().map(|it| it.first_token.as_secs_f64()).collect();
    first.sort_by(f64::total_cmp);
    let at = |share: usize| {
        // Requests that are never answered are slower than any that are.
        first.get((first.len().max(1) - 1) * share / 100).copied().unwrap_or(seconds)
    };
    let (cached, prompts) =
        answers.iter().fold((0, 0), |sum, it| (sum.0 + it.cached, sum.1 + it.prompt));
    let count = answers.len().max(1) as f64;
    let between: f64 = answers.iter().map(|it| it.token_time().as_secs_f64()).sum();
    sum.hits += cached as f64 / prompts.max(1) as f64;
    sum.ttft_mean += first.iter().sum::<f64>() / count;
    sum.ttft_p50 += at(50);
    sum.ttft_p95 += at(95);
    sum.itl_mean += between / count;
    sum.tokens += tokens;
    sum.requests += answers.len() as f64 / seconds;
}

/// Searches the most users that `keeps` the objective, from `users` on, for which the answer is known. The objective
/// is taken to be missed for every larger number, which short bursts may contradict: so it is searched per seed. None
/// where `keeps` was stopped.
fn ceiling(
    users: usize,
    kept: bool,
    keeps: &mut impl FnMut(usize) -> Option<bool>,
) -> Option<Ceiling> {
    let mut good = if kept { users } else { 0 };
    let mut bad = if kept { None } else { Some(users) };
    while bad.is_none() {
        let next = stride(good, STRIDE).max(good + 1);
        if next > USERS || next > users.saturating_mul(8) {
            return Some(Ceiling { users: good, at_least: true });
        }
        if keeps(next)? {
            good = next;
        } else {
            bad = Some(next);
        }
    }
    let mut bad = bad.unwrap_or(users);
    while good == 0 && bad > 1 {
        let next = stride(bad, 1.0 / STRIDE).min(bad - 1);
        if keeps(next)? {
            good = next;
        } else {
            bad = next;
        }
    }
    while bad > good + (good / 25).max(1) {
        let middle = usize::midpoint(good, bad);
        if keeps(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(Ceiling { users: good, at_least: false })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn stride(users: usize, by: f64) -> usize {
    (users as f64 * by).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_is_found_from_below_and_from_above() {
        for (users, limit) in [(40, 170), (160, 170), (200, 170), (400, 3), (5, 5)] {
            let mut tried = 0;
            let mut keeps = |users: usize| {
                tried += 1;
                Some(users <= limit)
            };
            let found = ceiling(users, users <= limit, &mut keeps).unwrap();
            let near = found.users <= limit && found.users + (limit / 25).max(1) >= limit;
            assert!(near && !found.at_least && tried < 32, "{users} {limit}: {found:?} {tried}");
        }
        let open = ceiling(10, true, &mut |_| Some(true)).unwrap();
        assert!(open.at_least && open.users >= 60, "{open:?}");
        assert_eq!(ceiling(10, false, &mut |_| Some(false)).unwrap().users, 0);
        assert_eq!(ceiling(10, false, &mut |_| None), None);
    }
}
