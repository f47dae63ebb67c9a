//! Rules that no scenario of the demo fires: simulated frames, changed on their way into the engine.

use std::time::Duration;

use kvtop::frame::{Body, Frame, Origin};
use kvtop::simulator::{Hashing, Scenario, SimConfig, Simulation};
use kvtop::snapshot::CheckVerdict;
use kvtop::wire::encode::Family;

use super::{START, Watch};

/// What is simulated, for how long, and what becomes of its frames.
struct Case {
    config: SimConfig,
    seconds: u64,
    change: Box<dyn Fn(Frame) -> Option<Frame>>,
}

fn healthy() -> Case {
    let mut config = SimConfig::new(Scenario::Healthy);
    config.warm_up = Duration::from_secs(20);
    Case { config, seconds: 60, change: Box::new(Some) }
}

impl Case {
    fn with(mut self, change: impl Fn(&mut SimConfig)) -> Self {
        change(&mut self.config);
        self
    }

    fn changed(mut self, change: impl Fn(Frame) -> Option<Frame> + 'static) -> Self {
        self.change = Box::new(change);
        self
    }

    /// Changes the text of the frames that `wanted` picks.
    fn rewritten(
        self,
        wanted: fn(&Origin) -> bool,
        rewrite: impl Fn(&str) -> String + 'static,
    ) -> Self {
        self.changed(move |frame| {
            let Body::Whole(bytes) = &frame.body else { return Some(frame) };
            let text = std::str::from_utf8(bytes).ok().filter(|_| wanted(&frame.origin));
            let new = text.map(&rewrite);
            Some(match new {
                Some(new) => Frame { body: Body::Whole(new.into()), ..frame },
                None => frame,
            })
        })
    }

    /// Leaves out the frames that `unwanted` picks.
    fn without(self, unwanted: fn(&Origin) -> bool) -> Self {
        self.changed(move |frame| (!unwanted(&frame.origin)).then_some(frame))
    }

    /// What is said of `id` at the end.
    fn said(self, id: &str) -> &'static str {
        let mut simulation = Simulation::with(self.config, 5, START);
        let mut watch = Watch::new();
        let mut last = None;
        for seconds in (0..=self.seconds).step_by(10) {
            let at = START.after(Duration::from_secs(seconds));
            let frames = simulation.advance(at).into_iter().filter_map(&self.change);
            last = Some(watch.look(&frames.collect::<Vec<_>>(), at));
        }
        let checks = last.unwrap().checks;
        match &checks.iter().find(|check| check.id == id).unwrap().verdict {
            CheckVerdict::Found => "found",
            CheckVerdict::Clear => "clear",
            CheckVerdict::Unknown { .. } => "unknown",
        }
    }
}

fn is_log(origin: &Origin) -> bool {
    matches!(origin, Origin::Log { .. })
}

fn is_scrape(origin: &Origin) -> bool {
    matches!(origin, Origin::Metrics { .. })
}

/// Everything but metrics.
fn is_beside_metrics(origin: &Origin) -> bool {
    !is_scrape(origin)
}

/// Discovery, however it is seen.
fn is_discovery(origin: &Origin) -> bool {
    matches!(origin, Origin::Etcd { .. } | Origin::Kube { .. })
}

/// Everything but KV events.
fn is_beside_events(origin: &Origin) -> bool {
    !matches!(origin, Origin::Jetstream { .. })
        && !matches!(origin, Origin::Nats { subject, .. } if subject.ends_with("kv-events"))
}

fn is_event(origin: &Origin) -> bool {
    !is_beside_events(origin)
}

/// Load reports and metrics.
fn is_load(origin: &Origin) -> bool {
    is_scrape(origin)
        || matches!(origin, Origin::Nats { subject, .. } if subject.ends_with("kv_metrics"))
}

/// The ids of the two simulated workers, in decimal.
const WORKERS: [&str; 2] = ["7702713015953616", "4467334888485367"];

/// Gives the first worker every request.
fn first_worker(line: &str) -> String {
    if line.contains("Selected worker") {
        return line.replace(WORKERS[1], WORKERS[0]);
    }
    line.to_owned()
}

#[test]
fn a_late_attach_is_a_note_of_its_own() {
    assert_eq!(healthy().with(|config| config.history = false).said("KVT008"), "found");
    assert_eq!(healthy().said("KVT008"), "clear");
    assert_eq!(healthy().without(is_event).said("KVT008"), "unknown");
}

#[test]
fn running_requests_that_fill_the_cache_are_named() {
    let full = |page: &str| {
        page.lines()
            .map(|line| match line.rsplit_once(' ') {
                Some((name, _)) if name.starts_with("trtllm_kv_cache_utilization") => {
                    format!("{name} 0.99\n")
                }
                _ => format!("{line}\n"),
            })
            .collect::<String>()
    };
    let young =
        || healthy().with(|config| config.workers.iter_mut().for_each(|it| it.capacity = 6000));

    assert_eq!(young().rewritten(is_scrape, full).said("KVT010"), "found");
    assert_eq!(young().said("KVT010"), "clear");
    assert_eq!(young().without(is_load).said("KVT010"), "unknown");
}

#[test]
fn an_imbalance_that_lasts_is_named() {
    assert_eq!(healthy().rewritten(is_log, first_worker).said("KVT011"), "found");
    assert_eq!(healthy().said("KVT011"), "clear");
    assert_eq!(healthy().without(is_log).said("KVT011"), "unknown");
}

#[test]
fn a_worker_that_publishes_after_it_left_is_stale() {
    // Its record is withdrawn in place of a scrape; the process goes on, and so does its pod.
    let withdrawn = |frame: Frame| {
        let soon = START..START.after(Duration::from_secs(9));
        if !is_scrape(&frame.origin) || !soon.contains(&frame.at) {
            return Some(frame);
        }
        let key = "v1/instances/gtc-demo-gtc-demo/tensorrt_llm/generate/1b5d93a11f68d0";
        let origin = Origin::Etcd { key: key.into(), put: false };
        Some(Frame { origin, body: Body::Whole(Vec::new().into()), ..frame })
    };

    assert_eq!(healthy().changed(withdrawn).said("KVT012"), "found");
    assert_eq!(healthy().said("KVT012"), "clear");
    assert_eq!(healthy().without(is_discovery).said("KVT012"), "unknown");
}

#[test]
fn a_router_that_hashes_otherwise_finds_nothing_in_a_full_index() {
    let blind = healthy().with(|config| config.hashing = Hashing::Otherwise);

    assert_eq!(blind.said("KVT015"), "found");
    assert_eq!(healthy().said("KVT015"), "clear");
    assert_eq!(healthy().without(is_beside_events).said("KVT015"), "unknown");
}

#[test]
fn choices_that_pass_up_what_is_cached_are_named() {
    let four = |weight: f64| {
        healthy().with(move |config| {
            config.weight = weight;
            config.workers = vec![config.workers[0]; 4];
        })
    };

    assert_eq!(four(0.1).said("KVT018"), "found");
    assert_eq!(four(1.0).said("KVT018"), "clear");
    assert_eq!(healthy().with(|config| config.family = Family::V1_0).said("KVT018"), "unknown");
}

#[test]
fn an_index_that_holds_more_than_there_is_room_for_is_named() {
    // Removals that never arrive leave blocks behind.
    let lossy = healthy().with(|config| {
        config.loss = 0.1;
        config.workers.iter_mut().for_each(|worker| worker.capacity = 400);
    });

    assert_eq!(Case { seconds: 200, ..lossy }.said("KVT020"), "found");
    assert_eq!(healthy().said("KVT020"), "clear");
    assert_eq!(healthy().without(is_beside_events).said("KVT020"), "unknown");
}

#[test]
fn a_router_whose_counters_refuse_what_kvtop_places_has_lost_its_history() {
    // Nobody reads logs, so that nothing but its counters tells what the router refused.
    let restarted = |history: bool| {
        let mut config = SimConfig::new(Scenario::NoHistory);
        (config.family, config.history) = (Family::V1_5, history);
        Case { config, seconds: 120, change: Box::new(Some) }.without(is_log)
    };
    let lossy = healthy().with(|config| (config.family, config.loss) = (Family::V1_5, 0.15));

    assert_eq!(restarted(true).said("KVT007"), "found");
    // Without the past, it is a sign that the router which came rejects nearly all of them.
    assert_eq!(restarted(false).said("KVT007"), "found");
    assert_eq!(lossy.without(is_beside_metrics).said("KVT014"), "found");
    let well = || healthy().with(|config| config.family = Family::V1_5);
    assert_eq!(well().without(is_log).said("KVT007"), "unknown");
    assert_eq!(well().said("KVT014"), "clear");
}

#[test]
fn events_of_another_form_are_named() {
    // What a later release might make of the fields that this one knows.
    let renamed = |text: &str| text.replace("\"worker_id\":", "\"instance\":");

    assert_eq!(healthy().rewritten(is_event, renamed).said("KVT019"), "found");
    assert_eq!(healthy().said("KVT019"), "clear");
    assert_eq!(healthy().without(is_event).said("KVT019"), "unknown");
}
