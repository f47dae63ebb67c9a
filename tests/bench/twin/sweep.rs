//! Sweeps over the number of users.

use std::sync::Mutex;
use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::simulator::{
    Answered, CACHE_TOKENS, RouterMode, Scenario, Service, SimConfig, Simulation, WorkerConfig,
};

/// The levels of a sweep.
pub(crate) const LEVELS: [usize; 15] =
    [40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180];
/// Both modes, in the order of all tables.
pub(crate) const MODES: [RouterMode; 2] = [RouterMode::RoundRobin, RouterMode::Kv];
/// What is not measured at the start of a level.
const WARM_UP: Duration = Duration::from_secs(60);
/// The length of a window, and the windows of a level.
const WINDOW: Duration = Duration::from_secs(60);
const WINDOWS: usize = 5;
/// How often the requests of each worker are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What one level gave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Level {
    /// The cells, in the order of the measured table.
    pub(crate) cells: [f64; 8],
    /// Mean spread between the workers with most and least requests.
    pub(crate) spread: f64,
    /// Share of the time in which a worker's batch was full and others waited for it.
    pub(crate) full: f64,
    /// Most requests that waited at one worker.
    pub(crate) waiting: usize,
}

/// The levels of one sweep of a mode.
pub(crate) struct Sweep {
    pub(crate) mode: RouterMode,
    pub(crate) levels: Vec<Level>,
}

/// Runs a sweep for each mode and seed, as many at a time as there are cores.
pub(crate) fn sweeps(service: &Service, seeds: u64) -> Vec<Sweep> {
    let mut left: Vec<(RouterMode, u64)> =
        (1..=seeds).flat_map(|seed| MODES.map(|mode| (mode, seed))).collect();
    left.reverse();
    let left = Mutex::new(left);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let Some((mode, seed)) = left.lock().unwrap().pop() else { return };
                    let levels = sweep(mode, service, seed);
                    done.lock().unwrap().push((mode, seed, Sweep { mode, levels }));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(mode, seed, _)| (*seed, *mode == RouterMode::Kv));
    done.into_iter().map(|(_, _, sweep)| sweep).collect()
}

fn sweep(mode: RouterMode, service: &Service, seed: u64) -> Vec<Level> {
    let service = Service { concurrency: LEVELS[0], ..*service };
    let worker = WorkerConfig {
        engine: 32,
        publisher: 32,
        card: 32,
        capacity: CACHE_TOKENS / 32,
        publishes: true,
    };
    let config = SimConfig {
        workers: vec![worker; 3],
        warm_up: Duration::ZERO,
        mode,
        service,
        ..SimConfig::new(Scenario::Healthy)
    };
    let mut now = Timestamp(1_000_000_000_000);
    let mut simulation = Simulation::measured(config, seed, now);
    LEVELS
        .iter()
        .map(|users| {
            simulation.advance(now);
            simulation.set_concurrency(*users);
            level(&mut simulation, &mut now)
        })
        .collect()
}

/// Measures the level that the deployment is at.
fn level(simulation: &mut Simulation, now: &mut Timestamp) -> Level {
    *now = now.after(WARM_UP);
    simulation.advance(*now);
    simulation.answers();
    let mut level = Level::default();
    let (mut spread, mut full) = (0, 0);
    let looks = (WINDOW.as_secs() / LOOK.as_secs()) * WINDOWS as u64;
    for _ in 0..WINDOWS {
        let before = simulation.generated();
        let end = now.after(WINDOW);
        while *now < end {
            *now = now.after(LOOK);
            simulation.advance(*now);
            let workers = simulation.in_flight();
            let all = || workers.iter().map(|worker| worker.running + worker.waiting);
            spread += all().max().unwrap_or(0) - all().min().unwrap_or(0);
            let waiting = workers.iter().map(|worker| worker.waiting).max().unwrap_or(0);
            full += usize::from(workers.iter().any(|worker| worker.running >= 64));
            level.waiting = level.waiting.max(waiting);
        }
        let tokens = simulation.generated() - before;
        let cells = window(&simulation.answers(), tokens);
        for (cell, value) in level.cells.iter_mut().zip(cells) {
            *cell += value / WINDOWS as f64;
        }
    }
    level.spread = spread as f64 / looks as f64;
    level.full = full as f64 / looks as f64;
    level
}

/// Returns the cells of one window.
fn window(answers: &[Answered], tokens: u64) -> [f64; 8] {
    let percentiles = |of: fn(&Answered) -> Duration| {
        let mut values: Vec<f64> =
            answers.iter().map(|answer| of(answer).as_secs_f64() * 1e3).collect();
        values.sort_by(f64::total_cmp);
        let at = |share: usize| values.get((values.len().max(1) - 1) * share / 100).copied();
        (at(50).unwrap_or(0.0), at(95).unwrap_or(0.0))
    };
    let first = percentiles(|answer| answer.first_token);
    let token = percentiles(Answered::token_time);
    let latency = percentiles(|answer| answer.latency);
    let (cached, prompts) =
        answers.iter().fold((0, 0), |sum, answer| (sum.0 + answer.cached, sum.1 + answer.prompt));
    let hits = 100.0 * cached as f64 / prompts.max(1) as f64;
    let rate = tokens as f64 / WINDOW.as_secs_f64();
    [first.0, first.1, token.0, token.1, latency.0, latency.1, rate, hits]
}
