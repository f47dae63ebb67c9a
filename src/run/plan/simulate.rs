//! Simulations on threads: what only they can fit, then the answers, with progress.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::plan::{self, Fitted, Length, Plan, Questions, Study};

/// The shortest and the longest warm-up: caches fill within it, or the plan says how long they had.
const WARM_UP: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(300));
/// The simulated time with which inputs are fitted, at most.
const FITTING: Duration = Duration::from_secs(90);

/// The simulations of each answer, unless another number is asked for.
const SEEDS: u64 = 3;

/// The extent of the simulations.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct Terms {
    /// Simulations of each answer.
    pub(in crate::run) seeds: u64,
    /// The simulated time of each measurement.
    pub(in crate::run) simulate: Duration,
    /// The objective for 95 % of times to the first token.
    pub(in crate::run) objective: Duration,
}

impl Terms {
    /// Returns the terms of a plan whose extent nobody chose.
    pub(in crate::run) fn usual(simulate: Duration, objective: Duration) -> Self {
        #[cfg(debug_assertions)]
        let simulate = shortened().unwrap_or(simulate);
        Self { seeds: SEEDS, simulate, objective }
    }
}

/// Returns the simulated time of a measurement that tests want.
#[cfg(debug_assertions)]
fn shortened() -> Option<Duration> {
    let seconds = std::env::var("KVTOP_TEST_PLAN").ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// How far the simulations are.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) enum Step<'a> {
    /// Service times are fitted.
    Fitting,
    /// Some of the simulations have their results.
    Simulated {
        /// The questions.
        study: &'a Study,
        /// The results so far.
        results: &'a [plan::Result],
        /// The number of all simulations.
        of: usize,
    },
}

/// Returns the number of threads: one a core, with `spare` cores left alone where there are more.
pub(in crate::run) fn threads(spare: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    cores.saturating_sub(spare).max(1)
}

/// Fits, simulates on `threads` threads, and answers, for as long as `go_on` returns true; none where it was stopped.
/// `tell` hears of each step.
pub(in crate::run) fn answer(
    mut fitted: Fitted,
    questions: &Questions,
    terms: &Terms,
    threads: usize,
    go_on: &(dyn Fn() -> bool + Sync),
    tell: &(dyn Fn(Step<'_>) + Sync),
) -> Option<Plan> {
    tell(Step::Fitting);
    let simulate = terms.simulate;
    let short = Length { warm_up: WARM_UP.0.min(simulate), measured: FITTING.min(simulate) };
    plan::calibrate(&mut fitted, short, go_on);
    if !go_on() {
        return None;
    }
    let warm_up = fitted.turnover().clamp(WARM_UP.0, WARM_UP.1).min(simulate * 2);
    let length = Length { warm_up, measured: simulate };
    let study = Study::new(fitted, questions, terms.seeds, length, terms.objective);
    let results = spread(&study, threads, go_on, tell)?;
    Some(Plan::new(&study, &results))
}

/// Runs the simulations of a study in their order, as many at a time as there are threads.
fn spread(
    study: &Study,
    threads: usize,
    go_on: &(dyn Fn() -> bool + Sync),
    tell: &(dyn Fn(Step<'_>) + Sync),
) -> Option<Vec<plan::Result>> {
    let jobs = study.jobs();
    let of = jobs.len();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(of));
    tell(Step::Simulated { study, results: &[], of });
    std::thread::scope(|scope| {
        for _ in 0..threads.min(of) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(result) = job.run(go_on) else { return };
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push(result);
                    tell(Step::Simulated { study, results: &done, of });
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    (done.len() == of).then_some(done)
}
