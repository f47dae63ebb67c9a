//! Imbalance: a roll is none, and one that lasts is named and can be ended.

use std::time::Duration;

use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::simulator::{Scenario, Service, SimConfig, Simulation, Site};
use kvtop::snapshot::CheckVerdict;
use kvtop::tui::findings;
use serde_json::Value;

use super::gate::apply::patches;
use super::settings::found;
use super::{START, Watch, judged};
use crate::support::users_cluster::{GOOD, healthy};

#[test]
fn a_roll_of_workers_is_neither_imbalance_nor_pressure() {
    for scenario in judged().filter(|one| one.fix_text().is_some()) {
        let mut simulation = Simulation::new(scenario, 2, START);
        let mut watch = Watch::new();
        let mut last = None;
        for seconds in (0..=520_u64).step_by(10) {
            let at = START.after(Duration::from_secs(seconds));
            if seconds == 40 {
                simulation.fix();
            }
            let snapshot = watch.look(&simulation.advance(at), at);
            // A cache that is too small is under pressure before it is rolled.
            let wrong = ["KVT010", "KVT011"].into_iter().filter(|_| seconds > 40);
            let wrong: Vec<&str> =
                wrong.filter(|id| scenario != Scenario::Churn || *id == "KVT011").collect();
            let mut raised = snapshot.findings.iter();
            let raised = raised.find(|finding| wrong.contains(&finding.id));
            let why = raised.map(|finding| finding.summary.as_str());
            assert_eq!(why, None, "{}, {seconds} s", scenario.name());
            last = snapshot.checks.into_iter().find(|check| check.id == "KVT011");
        }
        let verdict = last.unwrap().verdict;
        assert!(matches!(verdict, CheckVerdict::Clear), "{verdict:?}");
    }
}

/// Returns the graph deployment among `frames`, as it was last.
fn graph(frames: &[Frame]) -> Option<Value> {
    let mut last = frames.iter().rev().filter_map(|frame| {
        let Origin::Kube { kind, .. } = &frame.origin else { return None };
        let Body::Whole(body) = &frame.body else { return None };
        (&**kind == "DynamoGraphDeployment").then(|| serde_json::from_slice(body).unwrap())
    });
    last.next()
}

/// One worker has the only passage cached, and the router weighs that more than any load. With the weight of the
/// printed patch the others take part.
#[test]
fn the_printed_overlap_weight_ends_an_imbalance() {
    let service = Service { passages: 1, concurrency: 1, ..Service::small() };
    let config = SimConfig {
        workers: vec![GOOD; 3],
        weight: 20.0,
        warm_up: Duration::from_secs(420),
        site: &Site::GTC_DEMO,
        declared: None,
        service,
        ..healthy()
    };
    let mut simulation = Simulation::with(config, 7, START);
    let mut watch = Watch::new();
    let mut known = None;
    let mut look = |simulation: &mut Simulation, seconds: u64, change: Option<Value>| {
        let at = START.after(Duration::from_secs(seconds));
        let mut frames = simulation.advance(at);
        known = graph(&frames).or(known.take());
        frames.extend(change.map(|object| {
            let change = KubeChange::Modified;
            let origin = Origin::Kube { kind: "DynamoGraphDeployment".into(), change };
            Frame::new(at, origin, object.to_string())
        }));
        (watch.look(&frames, at), known.clone())
    };
    drop(look(&mut simulation, 0, None));
    simulation.set_concurrency(50);
    let mut seconds = 0;
    let (before, object) = loop {
        seconds += 10;
        let (seen, object) = look(&mut simulation, seconds, None);
        if found(&seen, "KVT011").is_some() || seconds == 180 {
            break (seen, object.unwrap());
        }
    };
    let check = before.checks.iter().find(|check| check.id == "KVT011").unwrap();
    let finding = found(&before, "KVT011").unwrap_or_else(|| panic!("{check:?}"));
    let fix = finding.fix.as_ref().unwrap();

    let mut patched = object;
    for patch in patches(fix.kubectl.as_deref().unwrap()) {
        patch.apply(&mut patched).unwrap();
    }
    let variables = patched["spec"]["services"]["Frontend"]["envs"].as_array().unwrap();
    let mut variables = variables.iter();
    let weight = variables.find(|it| it["name"] == "DYN_KV_OVERLAP_SCORE_WEIGHT").unwrap();
    let weight = weight["value"].as_str().unwrap().parse().unwrap();
    simulation.switch_weight(weight);
    drop(look(&mut simulation, seconds + 1, Some(patched)));
    let mut after = before;
    for more in (10..=420).step_by(10) {
        after = look(&mut simulation, seconds + more, None).0;
    }

    let open = findings::open(&after).into_iter().filter(|row| row.counts());
    let open: Vec<&str> = open.map(|row| row.summary.as_str()).collect();
    assert_eq!(open, Vec::<&str>::new());
    let check = after.checks.iter().find(|check| check.id == "KVT011").unwrap();
    assert!(matches!(check.verdict, CheckVerdict::Clear), "{:?}", check.verdict);
}
