//! The demo: what its presenter changes reaches the figures that users feel.

use std::time::Duration;

use kvtop::domain::{Timestamp, TreeNode};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::simulator::{RouterMode, Scenario, SimConfig, Simulation};
use kvtop::snapshot::{Answer, Ask, Felt, Snapshot, ViewQuery};
use kvtop::tui::labels::Labels;

/// 14:38:53Z on 16 February 2026.
const START: Timestamp = Timestamp(1_771_252_733_000_000);

/// A demo that runs, with the engine that hears it.
struct Demo {
    simulation: Simulation,
    engine: Engine,
    now: Timestamp,
}

impl Demo {
    fn new(scenario: Scenario) -> Self {
        let simulation = Simulation::new(scenario, 1, START);
        let mut demo =
            Self { simulation, engine: Engine::new(EngineOptions::default()), now: START };
        demo.pass(0);
        demo
    }

    fn pass(&mut self, seconds: u64) {
        let end = self.now.after(Duration::from_secs(seconds));
        loop {
            self.engine.ingest(&self.simulation.advance(self.now));
            self.engine.advance(self.now);
            if self.now >= end {
                return;
            }
            self.now = self.now.after(Duration::from_millis(500)).min(end);
        }
    }

    fn picture(&mut self, query: &ViewQuery) -> Snapshot {
        self.engine.settle();
        self.engine.snapshot(query, self.now)
    }

    fn felt(&mut self) -> Felt {
        self.picture(&ViewQuery::default()).felt
    }
}

#[test]
fn the_fix_is_felt_and_the_picture_tells_before_and_after() {
    let mut demo = Demo::new(Scenario::GtcDemo);
    demo.pass(60);
    let applied = demo.now;
    let before = demo.felt();
    assert_eq!(before.found, Some(0.0), "a blind router finds nothing: {before:?}");
    assert!((0.7..0.91).contains(&before.cached.unwrap()), "hits are luck: {before:?}");

    assert!(demo.simulation.fix());
    demo.pass(180);

    let query = ViewQuery { compare: Some(applied), ..ViewQuery::default() };
    let picture = demo.picture(&query);
    let after = picture.felt;
    // Graphs keep one value a second, that of its beginning.
    let then = picture.before.unwrap();
    assert!((then.cached.unwrap() - before.cached.unwrap()).abs() < 0.01, "{then:?} {before:?}");
    assert!(after.found.unwrap() > 0.95, "{after:?}");
    assert!(after.cached.unwrap() > before.cached.unwrap() + 0.02, "{before:?} {after:?}");
    assert!(after.first_token.is_some() && after.inter_token.is_some(), "{after:?}");
}

#[test]
fn prefixes_of_a_demo_have_names() {
    for scenario in [Scenario::Fleet16, Scenario::Healthy] {
        let mut demo = Demo::new(scenario);
        let labels = Labels::parse(&demo.simulation.labels()).unwrap();
        let tree = kvtop::tui::views::tree::hottest(20);
        let query = ViewQuery { ask: Ask::Tree(Box::new(tree)), ..ViewQuery::default() };

        let Answer::Tree(page) = demo.picture(&query).answer else { panic!("no tree") };

        let label = |node: &TreeNode| labels.label(node).map(str::to_owned);
        let names: Vec<String> =
            page.rows.iter().filter_map(|row| label(&row.place.node)).collect();
        assert!(names.iter().any(|name| name == "support-bot system prompt"), "{names:?}");
    }
}

#[test]
fn a_router_that_no_longer_routes_by_blocks_lacks_no_history() {
    let mut demo = Demo::new(Scenario::NoHistory);
    demo.pass(75);
    let leads = |demo: &mut Demo| {
        let picture = demo.picture(&ViewQuery::default());
        picture.findings.iter().map(|it| (it.id, it.resolved.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(leads(&mut demo), [("KVT007", false)]);

    demo.simulation.switch_mode(RouterMode::RoundRobin);
    demo.pass(75);

    assert_eq!(leads(&mut demo), [("KVT005", false), ("KVT007", true)]);
}

#[test]
fn a_worker_more_takes_its_share() {
    let mut demo = Demo::new(Scenario::GtcDemo);
    assert_eq!(demo.simulation.steering().workers, 3);

    demo.simulation.add_worker();
    demo.pass(60);

    let picture = demo.picture(&ViewQuery::default());
    assert_eq!((demo.simulation.steering().workers, picture.workers.len()), (4, 4));
    let last = &picture.workers[3];
    assert!(last.routed > 10 && last.in_flight.unwrap() > 10, "{last:?}");
}

#[test]
fn sixteen_workers_show_what_cache_aware_routing_is_worth() {
    let config = SimConfig::new(Scenario::Fleet16);
    assert_eq!(config.mode, RouterMode::RoundRobin);
    let seen = |mode| {
        let config = SimConfig { mode, ..config.clone() };
        let mut simulation = Simulation::measured(config, 1, START);
        simulation.advance(START);
        simulation.answers();
        simulation.advance(START.after(Duration::from_secs(45)));
        let answers = simulation.answers();
        let mut first: Vec<_> = answers.iter().map(|answer| answer.first_token).collect();
        first.sort();
        let cached: usize = answers.iter().map(|answer| answer.cached).sum();
        let prompts: usize = answers.iter().map(|answer| answer.prompt).sum();
        (cached as f64 / prompts as f64, first[first.len() / 2])
    };
    let (in_turn, by_cache) = (seen(RouterMode::RoundRobin), seen(RouterMode::Kv));
    assert!(by_cache.0 > in_turn.0 + 0.3, "{in_turn:?} {by_cache:?}");
    assert!(by_cache.1 < in_turn.1.mul_f64(0.8), "{in_turn:?} {by_cache:?}");
}

#[test]
fn more_users_are_more_requests_in_flight() {
    let mut demo = Demo::new(Scenario::GtcDemo);
    let running = |demo: &Demo| {
        demo.simulation.in_flight().iter().map(|it| it.running + it.waiting).sum::<usize>()
    };
    let before = running(&demo);

    demo.simulation.set_concurrency(120);
    demo.pass(30);

    let after = running(&demo);
    assert!((70..=80).contains(&before) && (105..=120).contains(&after), "{before} {after}");
}
