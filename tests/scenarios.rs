//! Scenarios of the simulator from frame to screen, and late attaches that must not look like faults.

use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Frame, Origin};
use kvtop::snapshot::{DemoState, Feed, Knowledge, Snapshot, ViewQuery};
use kvtop::source::simulator::{Scenario, Simulation};

use crate::screens::drawn;
use crate::support::{captures, frames, played};

/// 2026-02-16T14:38:53Z.
const START: Timestamp = Timestamp(1_771_252_733_000_000);

/// Returns a scenario after `seconds` of simulated time, with the engine that saw it and the time.
pub(crate) fn engine(scenario: Scenario, seconds: u64) -> (Simulation, Engine, Timestamp) {
    let mut simulation = Simulation::new(scenario, 1, START);
    let mut engine = Engine::new(EngineOptions {
        label: scenario.name().to_owned(),
        ..EngineOptions::default()
    });
    let end = START.after(Duration::from_secs(seconds));
    engine.ingest(&simulation.advance(end));
    engine.settle();
    (simulation, engine, end)
}

/// Returns the picture of a scenario after `seconds` of simulated time.
fn picture(scenario: Scenario, seconds: u64) -> Snapshot {
    let (simulation, mut engine, end) = engine(scenario, seconds);
    let mut snapshot = engine.snapshot(&ViewQuery::default(), end);
    snapshot.feed = Feed::Demo(DemoState {
        scenario: scenario.name().to_owned(),
        about: simulation.about().to_owned(),
        fixed: false,
        fix: simulation.fix_text().unwrap_or_default().to_owned(),
    });
    snapshot
}

#[test]
fn every_scenario_is_drawn_from_its_frames() {
    for scenario in Scenario::ALL {
        let snapshot = picture(scenario, 30);
        for (width, height) in [(120, 36), (80, 24), (60, 12)] {
            let name = format!("{}_{width}x{height}", scenario.name());
            insta::assert_snapshot!(name, drawn(&snapshot, width, height));
        }
    }
}

/// Cuts the past off a recording: everything the sources emitted before its middle.
fn second_half(frames: &[Frame]) -> &[Frame] {
    &frames[frames.len() / 2..]
}

fn is_kv(frame: &Frame) -> bool {
    match &frame.origin {
        Origin::Nats { subject, .. } => subject.ends_with("kv-events"),
        Origin::Zmq { .. } => true,
        _ => false,
    }
}

#[test]
fn a_late_attach_to_a_healthy_stream_never_shows_orphans_as_a_fault() {
    let healthy = captures().into_iter().filter(|(name, _)| {
        ["healthy", "evict", "-dp", "-clear"].iter().any(|kind| name.contains(kind))
    });
    let mut seen_orphans = 0;
    for (name, path) in healthy {
        let all = frames(&path);
        let (_, snapshot) = played(second_half(&all));
        assert!(second_half(&all).iter().any(is_kv), "{name} has events in its second half");
        for row in &snapshot.workers {
            let orphaned = row.counters.refused_stores > 0 || row.counters.unknown_removals > 0;
            seen_orphans += u64::from(orphaned);
            let excused = row.knowledge == Knowledge::SinceAttach;
            assert!(!orphaned || excused, "{name} {}: {:?}", row.rank, row.counters);
        }
        for (width, height) in [(120, 36), (80, 24), (60, 12), (40, 6)] {
            let screen = drawn(&snapshot, width, height);
            assert!(!screen.contains('✗'), "{name} at {width}x{height}:\n{screen}");
        }
    }
    assert!(seen_orphans > 10, "the test must have something to excuse: {seen_orphans}");
}
