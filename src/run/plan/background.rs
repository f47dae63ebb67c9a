//! A plan in the background of the screen: one at a time, on threads of low priority, stopped whenever it is asked to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::simulate::{self, Step, Terms, threads};
use crate::diagnose::Objectives;
use crate::plan::{self, Fitted, Given, Plan, Questions};
use crate::snapshot::Snapshot;
use crate::tui::planning::{Planning, Stage};

/// The simulated time of each measurement, that of `kvtop plan`.
const SIMULATE: Duration = Duration::from_secs(240);
/// Cores that are left to the screen and the engine.
const SPARE: usize = 1;
/// The priority of the threads, from 0 as usual to 19: they make way for the engine.
#[cfg(target_os = "linux")]
const NICENESS: i32 = super::super::aside::NICENESS + 5;

/// Starts and stops plans, and has the state of the last one.
#[derive(Debug)]
pub(in crate::run) struct Planner {
    state: watch::Sender<Planning>,
    seen: watch::Receiver<Planning>,
    /// Stops the plan that runs.
    stop: Arc<AtomicBool>,
}

impl Planner {
    /// Returns a planner that has nothing to do.
    pub(in crate::run) fn new() -> Self {
        let (state, seen) = watch::channel(Planning::default());
        Self { state, seen, stop: Arc::default() }
    }

    /// Returns the next state.
    pub(in crate::run) async fn next(&mut self) -> Planning {
        if self.seen.changed().await.is_err() {
            // The sender is a field beside it.
            std::future::pending::<()>().await;
        }
        self.seen.borrow_and_update().clone()
    }

    /// Stops the plan that runs, or starts one for `picture`, which also asks what the drain of the worker called
    /// `drain` would do.
    pub(in crate::run) fn toggle(&mut self, picture: &Snapshot, drain: Option<String>) {
        if self.stopped() {
            return;
        }
        let at = picture.at;
        let fitted = match plan::fit(picture, &Given::default()) {
            Ok(fitted) => fitted,
            Err(why) => {
                let stage = Stage::Impossible(why);
                self.state.send_replace(Planning { at, stage, plan: None });
                return;
            }
        };
        let drain = drain.and_then(|name| fitted.place_of(&name));
        let questions = Questions { drain: drain.into_iter().collect(), ..Questions::default() };
        let terms = Terms::usual(SIMULATE, objective(picture));
        self.stop = Arc::default();
        let teller = Teller { state: self.state.clone(), stop: Arc::clone(&self.stop) };
        self.state.send_replace(Planning { at, stage: Stage::Fitting, plan: None });
        let thread = std::thread::Builder::new().name("planner".to_owned());
        // Without a thread the teller, which is dropped, says that it failed.
        drop(thread.spawn(move || work(fitted, &questions, &terms, &teller)));
    }

    /// Stops the plan that runs and forgets the last one.
    pub(in crate::run) fn forget(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.state.send_replace(Planning::default());
    }

    /// Stops the plan that runs; returns false where none does.
    fn stopped(&self) -> bool {
        self.state.send_if_modified(|state| {
            let runs = state.is_running();
            if runs {
                self.stop.store(true, Ordering::Relaxed);
                state.stage = Stage::Stopped;
            }
            runs
        })
    }
}

impl Drop for Planner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Passes on how far one plan is, until it is stopped. One that ends without a result has failed.
struct Teller {
    state: watch::Sender<Planning>,
    stop: Arc<AtomicBool>,
}

impl Teller {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Changes the state, unless it belongs to another plan by now.
    fn change(&self, change: impl FnOnce(&mut Planning)) {
        self.state.send_if_modified(|state| {
            let own = self.goes_on();
            if own {
                change(state);
            }
            own
        });
    }

    fn step(&self, step: &Step<'_>) {
        let Step::Simulated { study, results, of } = step else { return };
        let plan = Arc::new(Plan::new(study, results));
        self.change(|state| {
            state.stage = Stage::Simulating { done: results.len(), of: *of };
            state.plan = Some(plan);
        });
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.state.send_if_modified(|state| {
            let failed = self.goes_on() && state.is_running();
            if failed {
                state.stage = Stage::Failed;
            }
            failed
        });
    }
}

/// Simulates and answers.
fn work(fitted: Fitted, questions: &Questions, terms: &Terms, teller: &Teller) {
    // The threads of simulations inherit it.
    #[cfg(target_os = "linux")]
    rustix::process::setpriority_process(None, NICENESS).unwrap_or_default();
    let go_on = || teller.goes_on();
    let tell = |step: Step<'_>| teller.step(&step);
    let plan = simulate::answer(fitted, questions, terms, threads(SPARE), &go_on, &tell);
    if let Some(plan) = plan {
        let plan = Arc::new(plan);
        teller.change(|state| {
            state.stage = Stage::Done;
            state.plan = Some(plan);
        });
    }
}

/// Returns the objective for the time to the first token: the configured one, or the usual one.
fn objective(picture: &Snapshot) -> Duration {
    let latency = picture.router.ttft.as_ref();
    let configured = latency.and_then(|latency| latency.objective);
    let seconds = configured.unwrap_or_else(|| Objectives::default().ttft_seconds());
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
