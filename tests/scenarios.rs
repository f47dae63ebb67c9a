//! Scenarios of the simulator from frame to screen, and late attaches that must not look like faults.

use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Frame, Origin};
use kvtop::simulator::{Scenario, Simulation};
use kvtop::snapshot::{Answer, Ask, DemoState, Feed, Knowledge, Series, Snapshot, ViewQuery};

use kvtop::tui::command::View;

use crate::screens::{drawn, drawn_in};
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
        fix: simulation.fix_text().unwrap_or_default(),
        mends: scenario.mends(),
        steps_taken: 0,
        next_step: scenario.step(0).map(|step| step.does),
        users: simulation.steering().users,
        mode: simulation.steering().mode.name(),
        workers: simulation.steering().workers,
        change: None,
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

#[test]
fn a_worker_that_its_router_refuses_is_not_proven_good() {
    let snapshot = picture(Scenario::NoHistory, 60);
    for row in snapshot.workers.iter() {
        let mirror = row.counters.refused_stores;
        assert!(row.router_refuses && row.router_refused > 10 && mirror == 0, "{row:?}");
    }
    let screen = drawn(&snapshot, 120, 36);
    assert!(screen.contains("✗ w0") && !screen.contains("✓ w"), "{screen}");
}

#[test]
fn workers_that_left_come_last_and_show_no_old_values() {
    let (mut simulation, mut engine, at) = engine(Scenario::Mismatch, 60);
    assert!(simulation.fix());
    let end = at.after(Duration::from_secs(90));
    engine.ingest(&simulation.advance(end));
    engine.settle();
    let snapshot = engine.snapshot(&ViewQuery::default(), end);

    let (gone, there): (Vec<_>, Vec<_>) = snapshot.workers.iter().partition(|row| row.gone);
    assert!(!gone.is_empty() && !there.is_empty());
    let overview = drawn(&snapshot, 80, 24);
    let mut rows = overview.lines().filter(|line| line.contains("gtc-"));
    assert!(
        rows.all(|line| !line.contains("gone")),
        "those that are there have the room\n{overview}"
    );
    let screen = drawn_in(View::Workers, &snapshot, 80, 24);
    let lines: Vec<&str> = screen.lines().filter(|line| line.contains("gtc-de")).collect();
    let (first, rest) = lines.split_at(there.len().min(lines.len()));
    assert!(first.iter().all(|line| !line.contains("gone")), "{screen}");
    assert!(!rest.is_empty(), "{screen}");
    for line in rest {
        assert!(line.contains('∅') && line.contains("gone") && !line.contains('✗'), "{screen}");
    }
    let shares = there.iter().filter_map(|row| row.orphan_share);
    let worst = shares.fold(0.0, f64::max);
    assert!(snapshot.totals.orphan_share.is_some_and(|share| share <= worst), "{worst}");
}

#[test]
fn graphs_of_a_past_moment_are_those_that_were_seen_then() {
    let (mut simulation, mut engine, then) = engine(Scenario::Healthy, 120);
    let window = Duration::from_secs(60);
    let now = ViewQuery { window, points: 60, ..ViewQuery::default() };
    let seen = engine.snapshot(&now, then).series;

    let later = then.after(Duration::from_secs(90));
    engine.ingest(&simulation.advance(later));
    let query = ViewQuery { until: Some(then), ..now };
    let told = engine.snapshot(&query, later).series;

    assert_eq!(told.until, Some(then));
    let pairs = [(&seen.stores, &told.stores), (&seen.tree_size, &told.tree_size)];
    for (seen, told) in pairs {
        assert!(seen.points.iter().any(|point| point.is_some_and(|point| point > 0.0)));
        // The last second was not over then.
        assert_eq!(seen.points[..59], told.points[..59]);
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
        for row in snapshot.workers.iter() {
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

#[test]
fn what_is_asked_of_one_rank_is_its_own_share_of_the_totals() {
    let (_, mut engine, end) = engine(Scenario::Healthy, 30);
    let everything = engine.snapshot(&ViewQuery::default(), end);
    let window = Duration::from_secs(60);
    let mut held = 0.0;
    let mut stores = 0.0;
    let sum = |series: &Series| series.points.iter().flatten().sum::<f64>();
    for row in everything.workers.iter() {
        let query =
            ViewQuery { window, points: 60, ask: Ask::Worker(row.rank), ..ViewQuery::default() };
        let picture = engine.snapshot(&query, end);
        let Answer::Worker(detail) = picture.answer else { panic!("{:?}", picture.answer) };
        assert_eq!(detail.rank, row.rank);
        assert_eq!(detail.accepted.points.last(), Some(&Some(row.accepted as f64)));
        assert!(row.change.is_some(), "{:?}", row.change);
        stores += sum(&detail.stores);
        held += row.accepted as f64;
    }
    let query = ViewQuery { window, points: 60, ..ViewQuery::default() };
    let total = engine.snapshot(&query, end);
    assert_eq!(total.answer, Answer::Nothing);
    assert!(stores > 0.0 && (stores - sum(&total.series.stores)).abs() < 1e-6, "{stores}");
    assert!((held - total.tree.accepted_blocks as f64).abs() < 0.5, "{held}");
}

/// Workers that start anew have other ids: nothing is known of them from before, which is not zero.
#[test]
fn graphs_of_a_worker_begin_with_the_worker() {
    let (mut simulation, mut engine, at) = engine(Scenario::Mismatch, 60);
    assert!(simulation.fix());
    let now = at.after(Duration::from_secs(20));
    engine.ingest(&simulation.advance(now));
    let newest = engine.snapshot(&ViewQuery::default(), now);
    let row = newest.workers.iter().rfind(|row| !row.gone).unwrap();
    let window = Duration::from_secs(60);
    let query =
        ViewQuery { window, points: 60, ask: Ask::Worker(row.rank), ..ViewQuery::default() };
    let Answer::Worker(detail) = engine.snapshot(&query, now).answer else { panic!("no answer") };
    for series in [&detail.stored_blocks, &detail.removals, &detail.refused, &detail.routed] {
        assert!(series.points[..30].iter().all(Option::is_none), "{series:?}");
        assert!(series.points[55..].iter().all(Option::is_some), "{series:?}");
    }
}
