//! Answers from state: what a drain loses, what is held several times, where prefixes land.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kvtop::engine::{Engine, EngineOptions};
use kvtop::simulator::{Scenario, SimConfig, Simulation};
use kvtop::snapshot::{Foresight, Snapshot, ViewQuery};
use serde_json::Value;

use crate::support::{fixture, frames, played};

mod support {
    use super::*;
    use kvtop::domain::Timestamp;

    pub(super) const START: Timestamp = Timestamp(1_771_425_300_000_000);

    /// Returns the answers of a simulated deployment after `seconds`, for all its blocks.
    pub(super) fn simulated(scenario: Scenario, seconds: u64) -> Snapshot {
        let mut simulation = Simulation::new(scenario, 7, START);
        let mut engine = Engine::new(EngineOptions::default());
        let mut at = START;
        for _ in 0..seconds {
            at = at.after(Duration::from_secs(1));
            engine.ingest(&simulation.advance(at));
            engine.advance(at);
        }
        engine.settle();
        engine.snapshot(&query(), at)
    }

    pub(super) fn query() -> ViewQuery {
        ViewQuery { foresight: Foresight::REPORT, ..ViewQuery::default() }
    }
}
use support::{query, simulated};

/// Returns the answers at the end of a recording, and its last picture.
fn recorded(name: &str) -> (Foresight, Snapshot) {
    let (mut engine, last) = played(&frames(&fixture(&format!("captures/{name}.frames.gz"))));
    let snapshot = engine.snapshot(&query(), last.at);
    (snapshot.foresight.as_deref().unwrap().clone(), snapshot)
}

#[test]
fn a_drain_loses_the_blocks_that_no_other_worker_of_the_recording_holds() {
    for name in ["0.9.0-evict", "1.6.1-evict"] {
        let (answers, snapshot) = recorded(name);

        let held: u64 = answers.drain.iter().map(|row| row.held).sum();
        assert_eq!(held, snapshot.tree.held_blocks, "{name}");
        let [once, twice, ..] = answers.duplicates.copies;
        assert_eq!(once + 2 * twice, held, "{name}: two workers");
        assert_eq!(answers.duplicates.extra, twice);
        let only: u64 = answers.drain.iter().map(|row| row.only).sum();
        assert_eq!(only, once, "{name}");
        assert!(answers.drain.iter().all(|row| row.hot <= row.only));
        assert!(!answers.is_sampled());
    }
}

#[test]
fn the_contract_holds_the_answers_where_they_were_asked_for() {
    let (_, snapshot) = recorded("1.6.1-evict");
    let told: Value = serde_json::from_str(&kvtop::report::json::snapshot(&snapshot)).unwrap();
    let answers = &told["foresight"];
    assert_eq!(answers["sampled"], false);
    assert_eq!(answers["drain"].as_array().unwrap().len(), 2);
    assert_eq!(answers["curve_progress"]["needed"], 200);
    assert!(answers["prefixes"]["rows"][0]["hash"].is_string());

    let without = Snapshot { foresight: None, ..snapshot };
    let told: Value = serde_json::from_str(&kvtop::report::json::snapshot(&without)).unwrap();
    assert!(told["foresight"].is_null());
}

#[test]
fn prefixes_of_the_demo_keep_their_shares_from_minute_to_minute() {
    let snapshot = simulated(Scenario::Healthy, 240);
    let answers = snapshot.foresight.unwrap();

    let leaders = &answers.leaders;
    assert!(leaders.minutes.len() >= 3 && leaders.rows.len() > 1, "{leaders:?}");
    let sum: f64 = leaders.rows.iter().map(|row| row.share).sum();
    assert!(sum <= 1.001, "{sum}");
    let shares: Vec<f64> = leaders.rows.iter().map(|row| row.share).collect();
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    assert!(leaders.rows.iter().all(|row| row.then.len() == leaders.minutes.len()));
    let distinct: BTreeSet<String> =
        leaders.rows.iter().map(|row| format!("{:?}", row.node)).collect();
    assert_eq!(distinct.len(), leaders.rows.len());
    let workers: BTreeMap<_, _> = answers.drain.iter().map(|row| (row.worker, row.held)).collect();
    assert_eq!(workers.len(), answers.drain.len());
}

#[test]
fn successive_requests_of_a_prefix_stay_on_their_worker_when_the_router_looks_at_caches() {
    let snapshot = simulated(Scenario::Healthy, 240);
    let stickiness = snapshot.foresight.unwrap().stickiness;
    let share = stickiness.share().unwrap();
    assert!(share > 0.5, "{stickiness:?}");
}

/// Predicts from the first half of a recording what larger caches would avoid in the second, and prints the rows of
/// docs/FORESIGHT.md with `--nocapture`.
#[test]
#[expect(clippy::print_stdout, reason = "the documentation's table")]
fn the_first_half_of_a_recording_tells_of_the_second() {
    for name in ["0.9.0-evict", "1.0.2-evict", "1.6.1-evict"] {
        let frames = frames(&fixture(&format!("captures/{name}.frames.gz")));
        let (_, first) = played(&frames[..frames.len() / 2]);
        let (_, whole) = played(&frames);
        let (first, whole) = (first.curve.unwrap(), whole.curve.unwrap());
        let [before, all] = [first.samples as f64, whole.samples as f64];
        let mut cells = Vec::new();
        for (early, late) in first.points.iter().zip(&whole.points) {
            // Each block of these recordings is sampled, so that counts are shares times samples.
            let second = (late.avoided * all - early.avoided * before) / (all - before);
            cells.push(format!("{:.1} % / {:.1} %", early.avoided * 100.0, second * 100.0));
            // A cache that begins empty stores most blocks for the first time, so that the first half promises too little.
            assert!(early.avoided < second + 0.1, "{name} {early:?} {second}");
        }
        println!("| {name} | {before} | {} |", cells.join(" | "));
    }
}

/// A run of the simulator: its last picture, stored blocks, and the tokens of prompts with those that were cached.
struct Run {
    last: Snapshot,
    stored: f64,
    prompts: f64,
    cached: f64,
}

impl Run {
    /// Runs the demo's `churn` with `factor` times the cache.
    fn of_churn(factor: f64, seed: u64, seconds: u64) -> Self {
        let mut config = SimConfig::new(Scenario::Churn);
        for worker in &mut config.workers {
            let blocks = worker.capacity as f64 * factor;
            worker.capacity = format!("{blocks:.0}").parse().unwrap();
        }
        config.repaired.clone_from(&config.workers);
        // The same cluster twice: one gives frames, one what its users measure.
        let mut shown = Simulation::with(config.clone(), seed, support::START);
        let mut measured = Simulation::measured(config, seed, support::START);
        let mut engine = Engine::new(EngineOptions::default());
        let mut at = support::START;
        for _ in 0..seconds {
            at = at.after(Duration::from_secs(1));
            engine.ingest(&shown.advance(at));
            engine.advance(at);
            measured.advance(at);
        }
        engine.settle();
        let last = engine.snapshot(&query(), at);
        let stored = last.totals.counters.stored_blocks as f64;
        let answers = measured.answers();
        let sum = |of: fn(&kvtop::simulator::Answered) -> usize| {
            answers.iter().map(of).sum::<usize>() as f64
        };
        Self { last, stored, prompts: sum(|it| it.prompt), cached: sum(|it| it.cached) }
    }

    /// Returns the stored blocks per token of prompts.
    fn stores(&self) -> f64 {
        self.stored / self.prompts
    }
}

/// Predicts from a run of the simulator, then runs it again with larger caches, whose users ask more because answers come
/// sooner, and whose router sends them elsewhere. Prints the rows of docs/FORESIGHT.md with `--nocapture`.
#[test]
#[ignore = "takes minutes in a debug build: cargo test --test main -- --ignored --nocapture simulator_with_larger"]
#[expect(clippy::print_stdout, reason = "the documentation's table")]
fn the_simulator_with_larger_caches_stores_about_as_little_as_predicted() {
    for seed in [1, 2] {
        let now = Run::of_churn(1.0, seed, 300);
        let curve = now.last.curve.as_ref().unwrap();
        let (mut shares, mut rates) = (Vec::new(), Vec::new());
        for point in &curve.points {
            let larger = Run::of_churn(point.factor, seed, 300);
            let avoided = 1.0 - larger.stores() / now.stores();
            let cached = larger.cached / larger.prompts;
            let predicted = point.cached.map_or(f64::NAN, |share| share * 100.0);
            shares.push(format!("{:.1} % / {:.1} %", point.avoided * 100.0, avoided * 100.0));
            rates.push(format!("{predicted:.1} % / {:.1} %", cached * 100.0));
            assert!((point.avoided - avoided).abs() < 0.15, "{point:?} {avoided}");
        }
        let before = 100.0 * now.cached / now.prompts;
        println!("| churn, seed {seed} | stores avoided | {} |", shares.join(" | "));
        println!("| | hit rate, {before:.1} % now | {} |", rates.join(" | "));
    }
}
