//! What a deployment with pods, cards, settings, logs, metrics and KV events costs, judged and drawn each second.

use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::Frame;
use kvtop::simulator::{Service, SimConfig, Simulation, WorkerConfig};
use kvtop::snapshot::ViewQuery;

use super::processor_time;
use crate::support::users_cluster::{BAD, GOOD, healthy};

/// Seconds that are played.
const SECONDS: u64 = 8;

/// Workers of the small deployment; the large one has eight times as many.
const FEW: usize = 32;

/// How many times as long the large one may take.
const MOST: f64 = 16.0;

/// The frames of each second, and its end.
type Played = Vec<(Timestamp, Vec<Frame>)>;

/// Plays a deployment of so many workers like `worker`, with a few users.
fn played(workers: usize, worker: WorkerConfig) -> Played {
    let config = SimConfig {
        workers: vec![worker; workers],
        repaired: vec![GOOD; workers],
        service: Service { concurrency: 8, ..Service::small() },
        ..healthy()
    };
    let start = Timestamp(1_800_000_000_000_000);
    let mut simulation = Simulation::with(config, 7, start);
    let moment = |second| start.after(Duration::from_secs(second));
    (0..=SECONDS).map(|second| (moment(second), simulation.advance(moment(second)))).collect()
}

/// Returns the processor time that an engine takes for it, with a picture each second.
fn time_of(played: &Played) -> Duration {
    let before = processor_time();
    let mut engine = Engine::new(EngineOptions::default());
    for (at, frames) in played {
        engine.ingest(frames);
        engine.advance(*at);
        drop(engine.snapshot(&ViewQuery::default(), *at));
    }
    processor_time().saturating_sub(before)
}

/// Compares two deployments, of which one has eight times as many workers.
fn grows_in_proportion(name: &str, worker: WorkerConfig) {
    let (few, many) = (played(FEW, worker), played(8 * FEW, worker));
    let mut growth = f64::INFINITY;
    // What looks slow is measured again.
    for _ in 0..3 {
        let once = time_of(&few);
        growth = growth.min(time_of(&many).as_secs_f64() / once.as_secs_f64());
        if growth <= MOST {
            break;
        }
    }
    assert!(growth <= MOST, "with eight times the workers {name} takes {growth:.0} times as long");
}

#[test]
fn healthy_deployments() {
    grows_in_proportion("a healthy deployment", GOOD);
}

/// Every worker is a part of the finding.
#[test]
fn deployments_whose_sizes_differ() {
    grows_in_proportion("a deployment whose engines have another size", BAD);
}
