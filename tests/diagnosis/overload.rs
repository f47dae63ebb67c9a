//! KVT021 on the simulated deployment: the case that was measured, and those that are near it.

use std::time::Duration;

use kvtop::diagnose::{Evidence, Verdict};
use kvtop::domain::{Severity, Timestamp};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::simulator::{RouterMode, Simulation};

use super::QUERY;
use super::rules::healthy;
use crate::twin::deployment;

const START: Timestamp = Timestamp(1_795_216_800_000_000);

/// Returns the summaries that KVT021 had while the deployment ran, and those of everything critical.
fn raised(mode: RouterMode, users: usize, seconds: u64) -> (Vec<String>, Vec<String>) {
    let mut simulation = Simulation::with(deployment(mode, users, 3), 3, START);
    let mut engine = Engine::new(EngineOptions::default());
    let (mut found, mut critical) = (Vec::new(), Vec::new());
    for second in 1..=seconds {
        let now = START.after(Duration::from_secs(second));
        engine.ingest(&simulation.advance(now));
        if second % 5 != 0 {
            continue;
        }
        for finding in engine.snapshot(&QUERY, now).findings {
            if finding.id == "KVT021" {
                found.push(finding.summary.clone());
            } else if finding.severity == Severity::Critical {
                critical.push(finding.summary.clone());
            }
        }
    }
    (found, critical)
}

#[test]
fn sticky_conversations_that_overload_a_worker_are_named() {
    let (found, critical) = raised(RouterMode::Kv, 180, 240);

    let first = found.first().expect("it is found");
    assert!(first.contains("batch limit is 64"), "{first}");
    assert_eq!(critical, [""; 0]);
}

#[test]
fn loads_that_are_lower_or_even_are_not() {
    for (mode, users) in [(RouterMode::Kv, 140), (RouterMode::RoundRobin, 180)] {
        assert_eq!(raised(mode, users, 180).0, [""; 0], "{mode:?} {users}");
    }
}

#[test]
fn a_deployment_that_is_full_everywhere_is_too_small_instead() {
    let rule = kvtop::diagnose::rule("KVT021").unwrap();
    let mut full = healthy();
    full.load.first_token.as_mut().unwrap().p95 = 9.0;
    for worker in &mut full.load.workers {
        (worker.in_flight.mean, worker.in_flight.most) = (70.0, 80.0);
    }

    let verdict = rule.judge(&full);

    let kvtop::diagnose::Verdict::Clear { note } = verdict else { panic!("{verdict:?}") };
    assert_eq!(note, "all workers are full: 140 requests in flight, room for 128");
}

/// Returns two workers, one of which was past its limit for a moment, while first tokens took so many seconds.
fn overloaded(p50: f64, p95: f64) -> Evidence {
    let mut seen = healthy();
    let first = seen.load.first_token.as_mut().unwrap();
    (first.p50, first.p95) = (p50, p95);
    for (worker, most) in seen.load.workers.iter_mut().zip([70.0, 50.0]) {
        (worker.in_flight.mean, worker.in_flight.most) = (48.0, most);
    }
    seen
}

#[test]
fn a_worker_past_its_limit_is_not_cleared_by_a_tail_that_is_short() {
    let rule = kvtop::diagnose::rule("KVT021").unwrap();

    let long = rule.judge(&overloaded(0.3, 0.95));
    let short = rule.judge(&overloaded(0.35, 0.71));
    let slow = rule.judge(&overloaded(0.7, 0.9));

    assert!(matches!(long, Verdict::Found(_)), "{long:?}");
    let Verdict::Unknown { missing, .. } = short else { panic!("{short:?}") };
    assert!(missing.to_string().contains("only 2.0 times the median"), "{missing}");
    let Verdict::Clear { note } = slow else { panic!("{slow:?}") };
    assert!(note.to_string().contains("all requests are slow"), "{note}");
}

#[test]
fn the_estimate_follows_from_how_far_the_busiest_worker_is_above_the_mean() {
    let rule = kvtop::diagnose::rule("KVT021").unwrap();
    let mut measured = healthy();
    measured.load.first_token.as_mut().unwrap().p95 = 3.1;
    let first = measured.load.workers[0].clone();
    measured.load.workers = vec![first; 3];
    for (worker, most) in measured.load.workers.iter_mut().zip([70.0, 62.0, 58.0]) {
        (worker.in_flight.mean, worker.in_flight.most) = (60.0, most);
    }

    let kvtop::diagnose::Verdict::Found(finding) = rule.judge(&measured) else {
        panic!("not found")
    };

    let fix = finding.fix.unwrap().sentence.to_string();
    assert!(fix.starts_with("Run 4 workers (estimated to carry 216 requests at once)"), "{fix}");
    assert!(fix.contains("about 162 requests at once"), "{fix}");
}
