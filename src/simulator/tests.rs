//! Tests of the scenarios, counted in the text of their frames.

use std::time::Duration;

use super::*;
use crate::frame::{Body, Origin};
use crate::wire::encode::Family;

const START: Timestamp = Timestamp(1_795_216_800_000_000);

fn text(frame: &Frame) -> &str {
    match &frame.body {
        Body::Whole(bytes) => std::str::from_utf8(bytes).unwrap_or(""),
        Body::Parts(_) => "",
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Counts over some frames.
#[derive(Debug, Default)]
struct Seen {
    stores: usize,
    empty_stores: usize,
    removals: usize,
    parent_warnings: usize,
    parent_warnings_with_blocks: usize,
    remove_warnings: usize,
    decisions: usize,
    hits: usize,
}

impl Seen {
    fn share(part: usize, whole: usize) -> f64 {
        part as f64 / whole.max(1) as f64
    }

    fn new(frames: &[Frame]) -> Self {
        let mut seen = Self::default();
        for frame in frames {
            let text = text(frame);
            match &frame.origin {
                Origin::Nats { .. } | Origin::Jetstream { .. } => {
                    seen.stores += text.matches("\"stored\"").count();
                    seen.empty_stores += text.matches("\"blocks\":[]").count();
                    if let Some((_, hashes)) = text.split_once("\"block_hashes\":[") {
                        seen.removals += hashes.split(',').count() - 1;
                    }
                }
                Origin::Log { .. } => seen.log(text),
                _ => {}
            }
        }
        seen
    }

    fn log(&mut self, text: &str) {
        if text.contains("Failed to find parent block") {
            self.parent_warnings += 1;
            self.parent_warnings_with_blocks += usize::from(!text.ends_with("num_blocks=0"));
        }
        self.remove_warnings += usize::from(text.contains("Failed to find block to remove"));
        if text.contains("Selected worker: ") {
            self.decisions += 1;
            self.hits += usize::from(!text.contains("cached blocks: 0,"));
        }
    }
}

/// Returns a scenario that has run for `live` after its start, what was seen before and after it.
fn run(scenario: Scenario, live: u64) -> (Simulation, Seen, Seen) {
    let mut simulation = Simulation::new(scenario, 1, START);
    let before = Seen::new(&simulation.advance(START.before(Duration::from_micros(1))));
    let after = Seen::new(&simulation.advance(START.after(seconds(live))));
    (simulation, before, after)
}

#[test]
fn the_size_of_the_steps_changes_nothing() {
    for scenario in Scenario::ALL {
        let end = START.after(seconds(20));
        let whole = Simulation::new(scenario, 7, START).advance(end);
        let mut stepped = Simulation::new(scenario, 7, START);
        let mut frames = Vec::new();
        let mut now = START.before(seconds(120));
        while now < end {
            now = now.after(Duration::from_millis(137)).min(end);
            frames.extend(stepped.advance(now));
        }

        assert_eq!(whole.len(), frames.len(), "{}", scenario.name());
        assert!(whole == frames, "{}", scenario.name());
        assert!(frames.is_sorted_by_key(|frame| frame.at));
        assert!(frames.last().is_some_and(|frame| frame.at <= end));
    }
}

#[test]
fn another_seed_gives_another_run() {
    let run = |seed| Simulation::new(Scenario::Healthy, seed, START).advance(START);

    assert!(run(1) != run(2));
}

#[test]
fn a_healthy_cluster_finds_most_prompts_cached() {
    let (simulation, before, after) = run(Scenario::Healthy, 60);

    assert_eq!((before.parent_warnings, after.parent_warnings), (0, 0));
    assert_eq!((after.remove_warnings, after.empty_stores), (0, 0));
    assert!(Seen::share(after.hits, after.decisions) > 0.6, "{after:?}");
    for truth in simulation.truth() {
        assert!(truth.indexed > 500, "{truth:?}");
    }
}

#[test]
fn a_mismatch_empties_stores_and_floods_the_log() {
    let (simulation, _, after) = run(Scenario::Mismatch, 60);

    assert!(Seen::share(after.empty_stores, after.stores) >= 0.95, "{after:?}");
    assert!(after.parent_warnings > 1000, "{after:?}");
    assert_eq!(after.parent_warnings_with_blocks, 0);
    assert!(after.remove_warnings > 500, "{after:?}");
    assert!(after.decisions > 300);
    assert_eq!(after.hits, 0);
    assert!(simulation.truth().iter().all(|truth| truth.indexed == 0 && truth.held > 1000));
}

#[test]
fn a_router_mismatch_warns_of_nothing() {
    let (simulation, before, after) = run(Scenario::RouterMismatch, 60);

    assert_eq!((before.parent_warnings, before.remove_warnings, before.hits), (0, 0, 0));
    assert_eq!((after.parent_warnings, after.remove_warnings, after.hits), (0, 0, 0));
    assert!(simulation.truth().iter().all(|truth| truth.indexed > 100));
}

#[test]
fn a_router_without_history_refuses_most_stores() {
    let (_, before, after) = run(Scenario::NoHistory, 60);

    assert_eq!(before.parent_warnings, 0);
    assert!(Seen::share(after.parent_warnings_with_blocks, after.stores) >= 0.5, "{after:?}");
    assert_eq!(after.empty_stores, 0);
}

#[test]
fn churn_evicts_almost_what_it_stores() {
    let mut simulation = Simulation::new(Scenario::Churn, 1, START);
    simulation.advance(START);
    let frames = simulation.advance(START.after(seconds(60)));
    let after = Seen::new(&frames);
    let stored: usize =
        frames.iter().map(|frame| text(frame).matches("\"tokens_hash\"").count()).sum();

    assert_eq!((after.parent_warnings, after.remove_warnings), (0, 0));
    assert!(Seen::share(after.removals, stored) > 0.8, "{after:?}, stored {stored}");
}

#[test]
fn a_silent_worker_publishes_no_event() {
    let mut simulation = Simulation::new(Scenario::Silent, 1, START);
    let frames = simulation.advance(START.after(seconds(30)));
    let events = |worker: u64| {
        let id = format!("{{\"worker_id\":{worker},");
        frames.iter().filter(|frame| text(frame).starts_with(&id)).count()
    };

    assert!(events(7_702_713_015_953_616) > 100);
    assert_eq!(events(4_467_334_888_485_367), 0);
}

#[test]
fn a_repair_brings_the_hits_back() {
    let scenarios =
        [Scenario::Mismatch, Scenario::RouterMismatch, Scenario::NoHistory, Scenario::Silent];
    for scenario in scenarios {
        let (mut simulation, _, _) = run(scenario, 10);

        assert!(simulation.fix());
        simulation.advance(START.after(seconds(40)));
        let frames = simulation.advance(START.after(seconds(70)));

        let after = Seen::new(&frames);
        let name = scenario.name();
        assert!(Seen::share(after.hits, after.decisions) > 0.6, "{name} {after:?}");
        assert_eq!((after.parent_warnings, after.remove_warnings), (0, 0), "{name}");
        assert!(simulation.truth().iter().all(|truth| truth.indexed > 100), "{name}");
        assert!(!simulation.fix());
    }
}

#[test]
fn a_rolled_worker_leaves_and_returns_under_a_new_name() {
    let (mut simulation, _, _) = run(Scenario::Mismatch, 1);
    simulation.fix();
    let frames = simulation.advance(START.after(seconds(20)));
    let records = |put: bool, id: u64| {
        let tail = format!("/{id:x}");
        let key = |frame: &Frame| match &frame.origin {
            Origin::Etcd { key, put: was } => *was == put && key.ends_with(&tail),
            _ => false,
        };
        frames.iter().filter(|frame| key(frame)).count()
    };

    assert_eq!(records(false, 7_702_713_015_953_616), 3);
    assert_eq!(records(true, hash::instance_id("gtc-demo-0-trtllmworker-x7k2p")), 3);
    assert_eq!(records(true, hash::instance_id("gtc-demo-0-trtllmworker-q9d4m")), 3);
}

#[test]
fn history_comes_from_the_stream_and_the_rest_live() {
    let mut simulation = Simulation::new(Scenario::Healthy, 1, START);
    let frames = simulation.advance(START.after(seconds(5)));
    let mut next = 1;
    for frame in &frames {
        match &frame.origin {
            Origin::Jetstream { seq, stream, subject } => {
                assert_eq!((*seq, frame.time), (next, Some(frame.at)));
                assert_eq!(format!("{stream}.kv-events"), **subject);
                assert!(frame.at < START);
                next += 1;
            }
            Origin::Nats { subject, reply: Some(reply), .. } => {
                assert!(subject.ends_with("tensorrt-llm-kv-events.kv-events"));
                assert!(reply.starts_with("_INBOX."));
                assert!(frame.at >= START);
            }
            _ => {}
        }
    }

    assert!(next > 1000);
}

#[test]
fn a_late_attach_sees_no_history() {
    let config = SimConfig { history: false, ..SimConfig::new(Scenario::Healthy) };
    let mut simulation = Simulation::with(config, 1, START);

    let past = simulation.advance(START.before(Duration::from_micros(1)));

    assert_eq!(Seen::new(&past).stores, 0);
    assert!(Seen::new(&past).decisions > 300);
    assert!(Seen::new(&simulation.advance(START.after(seconds(5)))).stores > 50);
}

#[test]
fn every_family_publishes_in_its_own_way() {
    for family in Family::ALL {
        let config = SimConfig { family, dp_ranks: 2, ..SimConfig::new(Scenario::Healthy) };
        let mut simulation = Simulation::with(config, 1, START);
        let frames = simulation.advance(START.after(seconds(5)));
        let messages = frames.iter().filter(|frame| match &frame.origin {
            Origin::Nats { subject, .. } => subject.ends_with("kv-events"),
            _ => false,
        });
        let jsons = messages.clone().filter(|frame| text(frame).starts_with('{')).count();

        assert_eq!(jsons > 0, family == Family::V0_9, "{}", family.name());
        assert!(messages.count() > 50, "{}", family.name());
        assert!(simulation.truth().iter().all(|truth| truth.indexed > 100));
        assert_eq!(simulation.truth().len(), 4);
    }
}

#[test]
fn scenarios_are_found_by_name() {
    for scenario in Scenario::ALL {
        assert_eq!(Scenario::from_name(scenario.name()), Some(scenario));
        assert_eq!(scenario.fix_text().is_none(), scenario == Scenario::Healthy);
    }
}

#[test]
fn lost_events_leave_holes_but_not_an_empty_tree() {
    let config = SimConfig { loss: 0.1, ..SimConfig::new(Scenario::Healthy) };
    let mut simulation = Simulation::with(config, 1, START);
    simulation.advance(START);

    let after = Seen::new(&simulation.advance(START.after(seconds(60))));

    let refused = Seen::share(after.parent_warnings_with_blocks, after.stores);
    assert!((0.02..0.8).contains(&refused), "{after:?}");
    assert!(Seen::share(after.hits, after.decisions) > 0.5, "{after:?}");
}

#[test]
fn a_router_with_a_size_of_its_own_finds_nothing() {
    let config = SimConfig { router: Some(128), ..SimConfig::new(Scenario::Healthy) };
    let mut simulation = Simulation::with(config, 1, START);

    let seen = Seen::new(&simulation.advance(START.after(seconds(10))));

    assert_eq!((seen.hits, seen.parent_warnings), (0, 0));
    assert!(simulation.truth().iter().all(|truth| truth.indexed > 100));
}

#[test]
fn a_relay_of_another_size_empties_its_stores() {
    let mut config = SimConfig::new(Scenario::Healthy);
    config.publisher = PublisherKind::Relay;
    config.workers.iter_mut().for_each(|worker| worker.engine = 64);
    let mut simulation = Simulation::with(config, 1, START);

    let frames = simulation.advance(START.after(seconds(10)));

    let seen = Seen::new(&frames);
    assert_eq!((seen.empty_stores, seen.hits), (seen.stores, 0));
    let complaints =
        frames.iter().filter(|frame| text(frame).contains("Block not published")).count();
    assert_eq!(complaints, 6);
}

#[test]
fn the_story_of_a_deployment_goes_on_step_by_step() {
    let mut simulation = Simulation::new(Scenario::GtcDemo, 1, START);
    let mut at = START;
    let mut seen = Vec::new();
    for _ in 0..=Scenario::GtcDemo.steps().len() {
        at = at.after(seconds(20));
        seen.push(Seen::new(&simulation.advance(at)));
        if !simulation.fix() {
            break;
        }
        // The slowest rollout takes 32 seconds.
        at = at.after(seconds(40));
        simulation.advance(at);
    }

    let [incident, fixed, lost, restarted, in_turn, again] = &seen[..] else {
        panic!("{seen:#?}");
    };
    assert_eq!((incident.empty_stores, incident.hits), (incident.stores, 0));
    assert_eq!((fixed.empty_stores, fixed.parent_warnings), (0, 0));
    assert!(lost.parent_warnings_with_blocks > 20, "{lost:?}");
    assert_eq!(restarted.parent_warnings, 0);
    assert_eq!(in_turn.decisions, 0);
    assert!(again.hits * 4 > again.decisions * 3 && again.hits > 5, "{again:?}");
    assert_eq!(again.parent_warnings, 0);
}
