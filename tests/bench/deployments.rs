//! What a deployment with pods, cards, settings, logs, metrics and KV events costs, by the number of its workers:
//! learning from it and judging it for a second, and a picture of it. `cargo bench --bench deployments`;
//! docs/PERFORMANCE.md has the figures.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench takes times and is read by people"
)]

use std::time::{Duration, Instant};

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::simulator::{Scenario, Service, SimConfig, Simulation, WorkerConfig};
use kvtop::snapshot::ViewQuery;

/// Seconds that are played, and those of them that are not counted.
const SECONDS: u64 = 40;
const FIRST: u64 = 10;

/// Conversations, whatever the number of workers: a router writes a line about each worker for each request.
const USERS: usize = 50;

const GOOD: WorkerConfig =
    WorkerConfig { engine: 32, publisher: 32, card: 32, capacity: 4_764, publishes: true };
const BAD: WorkerConfig = WorkerConfig { engine: 16, ..GOOD };

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Plays a deployment of so many workers, and prints one row of the table.
fn measure(workers: usize, name: &str, worker: WorkerConfig) {
    let config = SimConfig {
        workers: vec![worker; workers],
        repaired: vec![GOOD; workers],
        declared: None,
        warm_up: Duration::ZERO,
        service: Service { concurrency: USERS, ..Service::small() },
        ..SimConfig::new(Scenario::Healthy)
    };
    let start = Timestamp(1_800_000_000_000_000);
    let mut simulation = Simulation::with(config, 7, start);
    let mut engine = Engine::new(EngineOptions::default());
    let (mut seconds, mut pictures, mut frames) = (Vec::new(), Vec::new(), 0);
    for second in 0..SECONDS {
        let at = start.after(Duration::from_secs(second));
        let burst = simulation.advance(at);
        let begun = Instant::now();
        engine.ingest(&burst);
        engine.advance(at);
        let learned = begun.elapsed();
        let begun = Instant::now();
        drop(engine.snapshot(&ViewQuery::default(), at));
        if second >= FIRST {
            seconds.push(learned);
            pictures.push(begun.elapsed());
            frames += burst.len();
        }
    }
    println!(
        "| {workers} | {name} | {} | {:.1} | {:.1} |",
        frames / seconds.len(),
        median(&mut seconds),
        median(&mut pictures),
    );
}

fn main() {
    println!("| workers | sizes | frames a second | ms a second | ms a picture |");
    println!("|--|--|--|--|--|");
    // `cargo bench --bench deployments -- 1000` takes those with so many workers alone.
    let wanted: Option<usize> = std::env::args().find_map(|word| word.parse().ok());
    for workers in [3, 64, 256, 1_000] {
        if wanted.is_none_or(|it| it == workers) {
            measure(workers, "agree", GOOD);
            measure(workers, "differ", BAD);
        }
    }
}
