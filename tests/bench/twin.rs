//! The simulated deployment beside the measured one: `cargo bench --bench twin`.
//!
//! A sweep is run as it was measured: one deployment, the number of users raised level by level, 60 s
//! of warm-up and five windows of 60 s a level, once for each router mode and seed. A cell is the mean
//! over windows and seeds. `-- --write` keeps the result in tests/bench/twin/table.md, which
//! docs/DEMO.md shows; `-- seeds=2 weights=21.5` tries other numbers; `-- --fit` searches for better ones;
//! `-- plan` fits to the rows of up to 140 users and predicts the others (docs/FORESIGHT.md).
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::panic,
    reason = "a bench is read by people, and a mistake in its arguments ends it"
)]

#[path = "twin/compare.rs"]
mod compare;
#[path = "twin/planner.rs"]
mod planner;
#[path = "twin/sweep.rs"]
mod sweep;

use std::time::Duration;

use kvtop::simulator::Service;

use self::compare::{Comparison, measured};
use self::sweep::sweeps;

/// Where the table is kept.
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bench/twin/table.md");
/// Parameters that a fit changes, with the step it begins with.
const FITTED: [(&str, f64); 8] = [
    ("weights", 1.0),
    ("launches", 1.5),
    ("prompt_token", 6.0),
    ("network", 12.0),
    ("stream", 0.1),
    ("routed", 0.1),
    ("answer", 15.0),
    ("think", 200.0),
];

fn main() {
    let mut service = Service::default();
    let (mut seeds, mut write, mut fit, mut plan) = (6, false, false, false);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("seeds", value)) => seeds = value.parse().unwrap(),
            Some((key, value)) => set(&mut service, key, value.parse().unwrap()),
            None if argument == "--write" => write = true,
            None if argument == "--fit" => fit = true,
            None if argument == "plan" => plan = true,
            // Cargo passes it on.
            None if argument == "--bench" => {}
            None => panic!("unknown argument {argument}"),
        }
    }
    if plan {
        let section = planner::section();
        println!("{}", section.trim_end());
        if write {
            planner::write(&section);
        }
        return;
    }
    if fit {
        search(service, seeds);
        return;
    }
    let comparison = Comparison::new(measured(), &sweeps(&service, seeds));
    let text = format!("{service}\n\n{comparison}");
    println!("{}", text.trim_end());
    if write {
        std::fs::write(TABLE, text).unwrap();
    }
}

/// Sets a parameter, in milliseconds, microseconds for those of a token.
fn set(service: &mut Service, key: &str, value: f64) {
    let milliseconds = Duration::from_secs_f64(value.max(0.0) / 1e3);
    let microseconds = Duration::from_secs_f64(value.max(0.0) / 1e6);
    match key {
        "weights" => service.weights = milliseconds,
        "launches" => service.launches = milliseconds,
        "network" => service.network = milliseconds,
        "stream" => service.stream = milliseconds,
        "routed" => service.routed = milliseconds,
        "think" => service.think = milliseconds,
        "prompt_token" => service.prompt_token = microseconds,
        "cached_token" => service.cached_token = microseconds,
        "answer" => service.answer = value,
        "answer_spread" => service.answer_spread = value,
        _ => panic!("unknown parameter {key}"),
    }
}

/// Returns a parameter as [`set`] takes it.
fn get(service: &Service, key: &str) -> f64 {
    match key {
        "weights" => service.weights.as_secs_f64() * 1e3,
        "launches" => service.launches.as_secs_f64() * 1e3,
        "network" => service.network.as_secs_f64() * 1e3,
        "stream" => service.stream.as_secs_f64() * 1e3,
        "routed" => service.routed.as_secs_f64() * 1e3,
        "prompt_token" => service.prompt_token.as_secs_f64() * 1e6,
        "answer" => service.answer,
        "think" => service.think.as_secs_f64() * 1e3,
        _ => panic!("unknown parameter {key}"),
    }
}

/// Changes one parameter after the other as long as the mean error falls.
fn search(mut service: Service, seeds: u64) {
    let error =
        |service: &Service| Comparison::new(measured(), &sweeps(service, seeds)).mean_error();
    let mut best = error(&service);
    println!("{best:.4} {service:?}");
    let mut scale = 1.0;
    for _ in 0..4 {
        for (key, step) in FITTED {
            for sign in [1.0, -1.0] {
                loop {
                    let mut other = service;
                    set(&mut other, key, get(&service, key) + sign * step * scale);
                    let found = error(&other);
                    if found >= best {
                        break;
                    }
                    (best, service) = (found, other);
                    println!("{best:.4} {key} = {:.3}", get(&service, key));
                }
            }
        }
        scale /= 2.0;
    }
    println!("{service:?}");
}
