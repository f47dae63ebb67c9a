//! The simulated deployment behaves as the measured one does, where it matters most.

use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::simulator::{
    CACHE_TOKENS, RouterMode, Scenario, Service, SimConfig, Simulation, WorkerConfig,
};

/// When simulations start.
const START: Timestamp = Timestamp(1_795_216_800_000_000);

/// Returns the deployment that was measured, with `workers` workers.
pub(crate) fn deployment(mode: RouterMode, users: usize, workers: usize) -> SimConfig {
    let worker = WorkerConfig {
        engine: 32,
        publisher: 32,
        card: 32,
        capacity: CACHE_TOKENS / 32,
        publishes: true,
    };
    SimConfig {
        workers: vec![worker; workers],
        warm_up: Duration::ZERO,
        mode,
        service: Service { concurrency: users, ..Service::default() },
        ..SimConfig::new(Scenario::Healthy)
    }
}

/// What users and workers saw in two minutes, after two of warm-up.
#[derive(Debug)]
struct Seen {
    first_token: [Duration; 2],
    hits: f64,
    tokens: u64,
    waiting: usize,
}

fn run(mode: RouterMode, users: usize, workers: usize) -> Seen {
    let mut simulation = Simulation::measured(deployment(mode, users, workers), 3, START);
    simulation.advance(START.after(Duration::from_secs(120)));
    simulation.answers();
    let before = simulation.generated();
    let mut waiting = 0;
    for second in 121..=240 {
        simulation.advance(START.after(Duration::from_secs(second)));
        let most = simulation.in_flight().iter().map(|worker| worker.waiting).max();
        waiting = waiting.max(most.unwrap_or(0));
    }
    let answers = simulation.answers();
    let mut first: Vec<Duration> = answers.iter().map(|answer| answer.first_token).collect();
    first.sort();
    let at = |share: usize| first[(first.len() - 1) * share / 100];
    let cached: usize = answers.iter().map(|answer| answer.cached).sum();
    let prompts: usize = answers.iter().map(|answer| answer.prompt).sum();
    Seen {
        first_token: [at(50), at(95)],
        hits: cached as f64 / prompts as f64,
        tokens: simulation.generated() - before,
        waiting,
    }
}

#[test]
fn the_slowest_first_tokens_explode_at_180_users_with_kv_aware_routing_only() {
    let explodes = |seen: &Seen| seen.first_token[1] > Duration::from_millis(1_200);
    let many = run(RouterMode::Kv, 180, 3);
    let even = run(RouterMode::RoundRobin, 180, 3);
    let fewer = run(RouterMode::Kv, 140, 3);
    let wider = run(RouterMode::Kv, 180, 4);

    assert!(explodes(&many) && many.waiting > 5, "{many:?}");
    assert!(many.first_token[0] < Duration::from_millis(600), "half notice nothing: {many:?}");
    assert!(many.hits > even.hits + 0.08, "{many:?} {even:?}");
    assert!(many.tokens > even.tokens * 21 / 20, "{many:?} {even:?}");
    for seen in [fewer, even, wider] {
        assert!(!explodes(&seen), "{seen:?}");
    }
}

#[test]
fn the_table_of_the_bench_has_the_parameters_of_the_model() {
    let table = include_str!("bench/twin/table.md");

    let parameters = Service::default().to_string();
    assert!(table.starts_with(&parameters), "run cargo bench --bench twin -- --write");
}
