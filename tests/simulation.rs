//! The simulated cluster against the engine: what kvtop makes of its frames is what is going on.

use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::frame::{Frame, Origin};
use kvtop::report::json;
use kvtop::simulator::{Scenario, SimConfig, Simulation};
use kvtop::wire::encode::Family;
use serde_json::Value;

use crate::support::played;

const START: Timestamp = Timestamp(1_795_216_800_000_000);

fn is_kv(frame: &Frame) -> bool {
    match &frame.origin {
        Origin::Nats { subject, .. } => subject.ends_with("kv-events"),
        _ => false,
    }
}

/// Advances to a moment at which no event is on its way to the router.
fn settle(simulation: &mut Simulation) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        let more = simulation.advance(simulation.now().after(Duration::from_millis(5)));
        let quiet = !more.iter().any(is_kv);
        frames.extend(more);
        if quiet {
            return frames;
        }
    }
}

/// Returns what kvtop says of a run, and where it differs from the truth.
fn compared(name: &str, mut simulation: Simulation, repair: bool) -> (Value, Vec<String>) {
    let mut frames = simulation.advance(START.after(Duration::from_secs(40)));
    if repair {
        simulation.fix();
        frames.extend(simulation.advance(START.after(Duration::from_secs(80))));
    }
    frames.extend(settle(&mut simulation));
    let (_, snapshot) = played(&frames);
    let found: Value = serde_json::from_str(&json::snapshot(&snapshot)).unwrap();
    let mut wrong = Vec::new();
    if snapshot.rejects.count > 0 {
        wrong.push(format!("{name}: {:?}", snapshot.rejects));
    }
    for truth in simulation.truth() {
        let worker = found["workers"].as_array().unwrap().iter().find(|worker| {
            worker["id"] == truth.rank.worker.to_string()
                && worker["dp_rank"] == truth.rank.dp_rank.0
        });
        let accepted = worker.and_then(|worker| worker["accepted"].as_u64());
        if accepted.unwrap_or(0) != truth.indexed as u64 {
            wrong.push(format!("{name} {}: accepted {accepted:?}, {truth:?}", truth.rank));
        }
    }
    (found, wrong)
}

fn sum(found: &Value, key: &str) -> u64 {
    let workers = found["workers"].as_array().unwrap();
    workers.iter().map(|worker| worker[key].as_u64().unwrap()).sum()
}

#[test]
fn the_mirror_holds_what_the_simulated_router_holds() {
    let mut wrong = Vec::new();
    // A router without history holds less than all events would give; that is its trouble.
    for scenario in Scenario::ALL.into_iter().filter(|one| *one != Scenario::NoHistory) {
        for repair in [false, true] {
            let simulation = Simulation::new(scenario, 3, START);
            let (found, differences) = compared(scenario.name(), simulation, repair);
            wrong.extend(differences);
            let router = &found["router"];
            for (log, mirror) in [
                ("log_parent_warnings", "refused_stores"),
                ("log_remove_warnings", "unknown_removals"),
            ] {
                let (logged, counted) = (router[log].as_u64().unwrap(), sum(&found, mirror));
                // Events that are on their way when their worker is deleted reach no router.
                let lost =
                    if repair { found["workers"].as_array().unwrap().len() as u64 } else { 0 };
                if logged > counted || counted - logged > lost {
                    wrong.push(format!(
                        "{} repaired {repair}: {log} {logged}, {mirror} {counted}",
                        scenario.name()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn frames_of_every_version_are_understood() {
    let mut wrong = Vec::new();
    for family in Family::ALL {
        let config = SimConfig { family, dp_ranks: 2, ..SimConfig::new(Scenario::Healthy) };
        let simulation = Simulation::with(config, 5, START);
        let (found, differences) = compared(family.name(), simulation, true);
        wrong.extend(differences);
        let decisions = found["router"]["decisions"].as_u64().unwrap();
        if decisions < 200 {
            wrong.push(format!("{}: {decisions} decisions", family.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_mirror_holds_parents_that_a_restarted_router_lacks() {
    let mut simulation = Simulation::new(Scenario::NoHistory, 3, START);
    let mut frames = simulation.advance(START.after(Duration::from_secs(40)));
    frames.extend(settle(&mut simulation));
    let (_, snapshot) = played(&frames);
    let found: Value = serde_json::from_str(&json::snapshot(&snapshot)).unwrap();

    assert_eq!(sum(&found, "refused_stores"), 0);
    assert!(found["router"]["log_parent_warnings"].as_u64().unwrap() > 200);
    let indexed: usize = simulation.truth().iter().map(|truth| truth.indexed).sum();
    assert!(sum(&found, "accepted") > 2 * indexed as u64);
}
