//! Recordings of real deployments against what an independent reference counted in them.

use serde_json::Value;

use crate::support::{captures, fixture, frames, played};
use kvtop::report::json;

fn expected() -> Value {
    let text = std::fs::read_to_string(fixture("captures/expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Compares the contract's JSON of one capture with the reference and lists the differences.
fn differences(name: &str, found: &Value, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut compare = |what: String, found: Option<u64>, expected: u64| {
        if found != Some(expected) {
            wrong.push(format!("{name} {what}: found {found:?}, expected {expected}"));
        }
    };
    let workers = expected["workers"].as_object().unwrap();
    for (rank, counts) in workers {
        let (id, dp_rank) = rank.split_once('/').unwrap();
        let worker = found["workers"].as_array().unwrap().iter().find(|worker| {
            worker["id"] == id && worker["dp_rank"] == dp_rank.parse::<u64>().unwrap()
        });
        for (ours, theirs) in [
            ("accepted", "accepted"),
            ("stores", "stores"),
            ("empty_stores", "empty_stores"),
            ("stored_blocks", "stored_blocks"),
            ("refused_stores", "refused_stores"),
            ("refused_blocks", "refused_blocks"),
            ("removed_blocks", "removed_hashes"),
            ("unknown_removals", "unknown_removals"),
        ] {
            let value = worker.and_then(|worker| worker[ours].as_u64());
            compare(format!("{rank} {ours}"), value, counts[theirs].as_u64().unwrap_or(0));
        }
    }
    let ranks_with_events =
        found["workers"].as_array().unwrap().iter().filter(|w| !w["last_event"].is_null()).count();
    compare("ranks".into(), Some(ranks_with_events as u64), workers.len() as u64);
    for (ours, theirs) in [
        ("decisions", "log_decisions"),
        ("decisions_zero_overlap", "log_decisions_cached_0"),
        ("log_parent_warnings", "log_parent_warnings"),
        ("log_remove_warnings", "log_remove_warnings"),
    ] {
        if let Some(count) = expected["totals"][theirs].as_u64() {
            compare(ours.into(), found["router"][ours].as_u64(), count);
        }
    }
    wrong
}

#[test]
fn every_capture_replays_to_the_counts_of_the_reference() {
    let expected = expected();
    let mut wrong = Vec::new();
    for (name, path) in captures() {
        let (_, snapshot) = played(&frames(&path));
        let found: Value = serde_json::from_str(&json::snapshot(&snapshot)).unwrap();
        wrong.extend(differences(&name, &found, &expected[&name]));
        assert_eq!(snapshot.rejects.count, 0, "{name}: {:?}", snapshot.rejects);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn frames_in_bursts_and_one_by_one_give_the_same_picture() {
    for (name, path) in captures().into_iter().filter(|(name, _)| name.contains("evict")) {
        let frames = frames(&path);
        let (_, in_bursts) = played(&frames);
        let mut engine = kvtop::engine::Engine::new(kvtop::engine::EngineOptions::default());
        frames.iter().for_each(|frame| engine.ingest(std::slice::from_ref(frame)));
        engine.settle();
        let one_by_one =
            engine.snapshot(&kvtop::snapshot::ViewQuery::default(), frames.last().unwrap().at);

        // How much room its tables take is the mirror's own affair.
        let comparable = |snapshot| {
            let mut value: Value = serde_json::from_str(&json::snapshot(snapshot)).unwrap();
            value["tree"]["memory_bytes"].take();
            value
        };
        assert!(comparable(&in_bursts) == comparable(&one_by_one), "{name}");
    }
}
