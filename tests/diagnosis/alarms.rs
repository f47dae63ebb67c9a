//! No cry of wolf: healthy simulations, attached at random moments, raise nothing critical, and those
//! with room enough nothing at all for as long as anybody looks.

use std::time::Duration;

use kvtop::domain::Severity;
use kvtop::simulator::{PublisherKind, Scenario, SimConfig, Simulation};
use kvtop::wire::encode::Family;

use super::{Chance, START, Watch, critical, judged, wrong};

/// Healthy simulations looked at.
const RUNS: u64 = 200;

/// Returns a healthy set-up that differs by seed.
fn set_up(chance: &mut Chance) -> SimConfig {
    let mut config = SimConfig::new(Scenario::Healthy);
    let size = chance.pick(&[16, 32, 64]);
    let good = kvtop::simulator::WorkerConfig {
        engine: size,
        publisher: size,
        card: size,
        capacity: usize::try_from(chance.pick(&[300_u64, 800, 1280])).unwrap(),
        publishes: true,
    };
    config.workers = vec![good; usize::try_from(2 + chance.below(3)).unwrap()];
    config.repaired = config.workers.clone();
    config.family = chance.pick(&Family::ALL);
    config.publisher = chance.pick(&[PublisherKind::TrtLlm, PublisherKind::Relay]);
    config.dp_ranks = chance.pick(&[1, 1, 2]);
    // The most are more than the workers can keep up with.
    config.service.concurrency = usize::try_from(chance.pick(&[20_u64, 50, 50, 160])).unwrap();
    config.warm_up = Duration::from_secs(5 + chance.below(25));
    config.history = chance.below(2) == 0;
    // A roll of workers that change nothing.
    config.roll_all = chance.below(3) == 0;
    config
}

#[test]
fn healthy_deployments_raise_no_critical_whenever_kvtop_attaches() {
    let mut alarms = Vec::new();
    for seed in 0..RUNS {
        let mut chance = Chance(seed);
        let config = set_up(&mut chance);
        let rolls = config.roll_all;
        let mut simulation = Simulation::with(config.clone(), seed, START);
        let mut watch = Watch::new();
        let late = Duration::from_secs(chance.below(6));
        let attached = START.after(late);
        let missed = simulation.advance(attached);
        // Those that come late missed what was said before; the others read it.
        let first = if late.is_zero() { missed } else { Vec::new() };
        let mut at = attached;
        let mut snapshot = watch.look(&first, at);
        for step in 0..6 {
            if step == 2 && rolls {
                simulation.fix();
            }
            at = at.after(Duration::from_secs(2));
            snapshot = watch.look(&simulation.advance(at), at);
            let found = critical(&snapshot);
            if !found.is_empty() {
                let summary = &snapshot.findings[0].summary.clone();
                alarms.push(format!("seed {seed} at {step}: {found:?} {summary} {config:?}"));
                break;
            }
        }
        assert!(snapshot.frames > 0);
    }
    assert!(alarms.is_empty(), "{} of {RUNS}:\n{}", alarms.len(), alarms.join("\n"));
}

/// Seeds of the demo that are looked at for ten minutes.
const SEEDS: u64 = 6;

/// Returns what was wrong at any look within ten minutes of `config`, notes left out.
fn raised(config: SimConfig, seed: u64, fix: Option<u64>) -> Vec<(u64, &'static str, String)> {
    let mut simulation = Simulation::with(config, seed, START);
    let mut watch = Watch::new();
    let mut raised = Vec::new();
    for seconds in (0..=600).step_by(5) {
        if fix == Some(seconds) {
            simulation.fix();
        }
        let at = START.after(Duration::from_secs(seconds));
        let snapshot = watch.look(&simulation.advance(at), at);
        let wrong = wrong(&snapshot).into_iter();
        raised.extend(wrong.map(|found| (seconds, found.id, found.summary.clone())));
    }
    raised
}

#[test]
fn the_healthy_demo_stays_healthy_for_ten_minutes() {
    for seed in 1..=SEEDS {
        let found = raised(SimConfig::new(Scenario::Healthy), seed, None);
        assert!(found.is_empty(), "seed {seed}: {:?}", found.first());
    }
}

#[test]
fn healthy_deployments_of_every_kind_stay_healthy_for_ten_minutes() {
    let room = SimConfig::new(Scenario::Healthy).workers[0].capacity;
    for seed in 0..SEEDS {
        let mut chance = Chance(1000 + seed);
        let mut config = set_up(&mut chance);
        // A load that workers cannot keep up with, and caches too small for the chats, are faults.
        config.service.concurrency = config.service.concurrency.min(50);
        for worker in &mut config.workers {
            worker.capacity = room * 32 / usize::try_from(worker.engine).unwrap();
        }
        config.repaired = config.workers.clone();
        let roll = config.roll_all.then_some(120);
        let found = raised(config.clone(), seed, roll);
        assert!(found.is_empty(), "seed {seed}: {:?} {config:?}", found.first());
    }
}

#[test]
fn what_was_repaired_stays_healthy() {
    for scenario in judged() {
        let last = raised(SimConfig::new(scenario), 1, Some(30));
        // The window that a finding is judged over is five minutes.
        let late = last.iter().filter(|(seconds, ..)| *seconds > 400);
        let late: Vec<_> = late.collect();
        assert!(late.is_empty(), "{}: {late:?}", scenario.name());
    }
}

#[test]
fn a_finding_is_resolved_by_proof_and_shown_for_a_minute_more_and_then_remembered() {
    for scenario in [Scenario::Mismatch, Scenario::RouterMismatch, Scenario::NoHistory] {
        let mut simulation = Simulation::new(scenario, 1, START);
        let mut watch = Watch::new();
        let mut history: Vec<(u64, bool, bool)> = Vec::new();
        let mut at = START;
        let mut remembered = Vec::new();
        for seconds in (0..240_u64).step_by(2) {
            at = START.after(Duration::from_secs(seconds));
            if seconds == 20 {
                simulation.fix();
            }
            let snapshot = watch.look(&simulation.advance(at), at);
            let grave =
                snapshot.findings.iter().filter(|found| found.severity == Severity::Critical);
            let resolved = grave.filter(|finding| finding.resolved.is_some()).count() > 0;
            history.push((seconds, !critical(&snapshot).is_empty(), resolved));
            // Never in two places.
            for past in snapshot.past.iter() {
                let shown = snapshot.findings.iter();
                let mut same = shown.filter(|row| (row.id, row.raised) == (past.id, past.raised));
                assert!(same.next().is_none(), "{}: {past:?}", scenario.name());
            }
            remembered = snapshot.past.to_vec();
        }
        let name = scenario.name();
        let raised = history.iter().find(|(_, raised, _)| *raised).unwrap().0;
        let resolved: Vec<u64> =
            history.iter().filter(|(_, _, resolved)| *resolved).map(|(at, ..)| *at).collect();

        assert!(raised <= 20, "{name}: raised at {raised}");
        let (first, last) = (resolved[0], *resolved.last().unwrap());
        assert!((40..=120).contains(&first), "{name}: resolved at {first}");
        assert!((58..=62).contains(&(last - first)), "{name}: shown until {last}");
        assert!(!history.last().unwrap().1, "{name}: {history:?}");
        let grave = remembered.iter().filter(|row| row.severity == Severity::Critical);
        let first_of_all = grave.min_by_key(|row| row.raised).unwrap();
        let past: Vec<_> = remembered.iter().filter(|row| row.id == first_of_all.id).collect();
        let [past] = past[..] else { panic!("{name}: {remembered:#?}") };
        // Rules look every second, this test every other.
        let when = START.after(Duration::from_secs(first));
        let ago = past.resolved.map(|resolved| when.since(resolved).as_secs());
        assert_eq!(past.severity, Severity::Critical, "{name}");
        assert!(ago.is_some_and(|seconds| seconds <= 2), "{name}: {ago:?}");
        assert!(past.raised < when && !past.evidence.is_empty(), "{name}: {past:#?}");
        assert!(at > START);
    }
}
