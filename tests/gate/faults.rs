//! What breaks the deployment, what cures it, and what is to be said.

use std::ops::Range;

use kvtop::domain::Timestamp;
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::simulator::{
    CACHE_TOKENS, Hashing, PublisherKind, RouterMode, Service, SimConfig, Simulation, WorkerConfig,
};
use serde_json::{Value, json};

use super::play::{Moment, Plane, edited, named};
use crate::support::users_cluster::{BAD, GOOD};

type Act = fn(&mut Simulation);
type Alter = fn(Vec<Frame>, &Range<Timestamp>) -> Vec<Frame>;

/// A fault, and the truth of it.
pub(super) struct Fault {
    pub(super) name: &'static str,
    /// What it is called; nothing is wrong where it is empty.
    pub(super) id: &'static str,
    /// Findings that are true beside it.
    pub(super) beside: &'static [&'static str],
    pub(super) planes: &'static [Plane],
    pub(super) config: fn(SimConfig) -> SimConfig,
    pub(super) breaks: Act,
    pub(super) cure: Act,
    /// What the simulator does not do by itself, done to the frames of the time in which it is broken.
    pub(super) alter: Alter,
    /// True when it takes half a minute of watching to be sure.
    pub(super) is_slow: bool,
    /// Words that the advice has.
    pub(super) fix: &'static [&'static str],
    /// Where whoever attaches then cannot know, so that the check says what is missing; and why.
    pub(super) hidden: fn(Plane, Moment) -> bool,
    pub(super) why: &'static str,
}

const HEALTHY: Fault = Fault {
    name: "healthy, all workers restarted twice",
    id: "",
    beside: &[],
    planes: &Plane::ALL,
    config: |config| config,
    breaks: Simulation::restart_workers,
    cure: Simulation::restart_workers,
    alter: |frames, _| frames,
    is_slow: false,
    fix: &[],
    hidden: |_, _| false,
    why: "",
};

fn rolled(simulation: &mut Simulation, workers: [WorkerConfig; 3]) {
    simulation.deploy(&workers);
    simulation.restart_workers();
}

fn good(simulation: &mut Simulation) {
    rolled(simulation, [GOOD; 3]);
}

const SMALL: WorkerConfig = WorkerConfig { capacity: 160, ..GOOD };

/// The number of users that three workers carry, and one at which one of them is past its limit now and then.
const CARRIED: usize = 100;
const TOO_MANY: usize = 180;

pub(super) const FAULTS: &[Fault] = &[
    HEALTHY,
    Fault {
        name: "engine and publisher differ, TensorRT-LLM",
        id: "KVT001",
        breaks: |it| rolled(it, [BAD; 3]),
        cure: good,
        fix: &["tokens_per_block"],
        ..HEALTHY
    },
    Fault {
        name: "engine and publisher differ, vLLM's relay",
        id: "KVT001",
        config: |config| SimConfig { publisher: PublisherKind::Relay, ..config },
        breaks: |it| rolled(it, [WorkerConfig { publisher: 16, card: 16, ..GOOD }; 3]),
        cure: good,
        ..HEALTHY
    },
    Fault {
        name: "router hashes with another size",
        id: "KVT001",
        breaks: |it| rolled(it, [WorkerConfig { card: 16, ..GOOD }; 3]),
        cure: good,
        ..HEALTHY
    },
    Fault {
        name: "workers of two sizes",
        id: "KVT002",
        breaks: |it| {
            let odd = WorkerConfig { engine: 64, publisher: 64, card: 64, ..GOOD };
            rolled(it, [GOOD, GOOD, odd]);
        },
        cure: good,
        hidden: |_, moment| matches!(moment, Moment::During | Moment::Watching),
        why: "sizes differ during every rollout that changes them, so kvtop waits for a minute after a start",
        ..HEALTHY
    },
    Fault {
        name: "a worker publishes nothing",
        id: "KVT003",
        breaks: |it| {
            it.deploy(&[GOOD, GOOD, WorkerConfig { publishes: false, ..GOOD }]);
            it.restart_worker(2);
        },
        cure: |it| {
            it.deploy(&[GOOD; 3]);
            it.restart_worker(2);
        },
        fix: &["--publish-"],
        ..HEALTHY
    },
    Fault {
        name: "no worker is told to publish",
        id: "KVT003",
        breaks: |it| rolled(it, [WorkerConfig { publishes: false, ..GOOD }; 3]),
        cure: good,
        fix: &["--publish-"],
        ..HEALTHY
    },
    Fault {
        name: "round-robin",
        id: "KVT005",
        breaks: |it| it.switch_mode(RouterMode::RoundRobin),
        cure: |it| it.switch_mode(RouterMode::Kv),
        fix: &["kv"],
        ..HEALTHY
    },
    Fault {
        name: "approximate mode",
        id: "KVT006",
        breaks: |it| it.switch_mode(RouterMode::Kv),
        cure: |it| it.switch_mode(RouterMode::Kv),
        alter: approximate,
        fix: &["DYN_"],
        ..HEALTHY
    },
    Fault {
        name: "router without history",
        id: "KVT007",
        breaks: Simulation::lose_router_history,
        cure: Simulation::restart_workers,
        ..HEALTHY
    },
    Fault {
        name: "cache too small",
        id: "KVT009",
        breaks: |it| rolled(it, [SMALL; 3]),
        cure: good,
        ..HEALTHY
    },
    Fault {
        name: "a record withdrawn, its worker goes on",
        id: "KVT012",
        breaks: |_| {},
        cure: |_| {},
        alter: withdrawn,
        is_slow: true,
        ..HEALTHY
    },
    Fault {
        name: "events lost before they are published",
        id: "KVT014",
        breaks: |it| it.lose_events(0.2),
        cure: |it| {
            it.lose_events(0.0);
            it.restart_workers();
        },
        ..HEALTHY
    },
    Fault {
        name: "router hashes otherwise, sizes agree",
        id: "KVT015",
        breaks: |it| it.switch_hashing(Hashing::Otherwise),
        cure: |it| it.switch_hashing(Hashing::AsWorkers),
        ..HEALTHY
    },
    Fault {
        name: "prefix reuse off",
        id: "KVT017",
        breaks: |it| rolled(it, [WorkerConfig { publishes: false, ..GOOD }; 3]),
        cure: good,
        alter: without_reuse,
        fix: &["enable_block_reuse"],
        ..HEALTHY
    },
    Fault {
        name: "what is cached weighs a tenth",
        id: "KVT018",
        breaks: |it| it.switch_weight(0.1),
        cure: |it| it.switch_weight(1.0),
        hidden: |plane, moment| plane != Plane::Jetstream || moment == Moment::Late,
        why: "the simulated routers of 1.0 and 1.6 do not log what the other workers would have cost; a minute late \
              the ten passages are cached on every worker, and less than 5 % of the prompt blocks are lost",
        ..HEALTHY
    },
    Fault {
        name: "conversations overload one worker at a time",
        id: "KVT021",
        planes: &[Plane::Jetstream],
        config: |config| SimConfig {
            workers: vec![WorkerConfig { capacity: CACHE_TOKENS / 32, ..GOOD }; 3],
            service: Service { concurrency: CARRIED, ..Service::default() },
            ..config
        },
        breaks: |it| it.set_concurrency(TOO_MANY),
        cure: |it| it.set_concurrency(CARRIED),
        is_slow: true,
        fix: &["workers"],
        hidden: |_, moment| moment == Moment::Late,
        why: "in these forty seconds the 95th percentile of the time to the first token is above the objective, but \
              only twice the median; the finding needs three times (`tail`)",
        ..HEALTHY
    },
];

fn is_within(object: &Value, span: &Range<Timestamp>) -> bool {
    let created = object["metadata"]["creationTimestamp"].as_str();
    let created = created.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let created = created.and_then(|at| u64::try_from(at.as_microsecond()).ok());
    created.is_some_and(|at| span.contains(&Timestamp(at)))
}

/// Sets a variable in a list of them.
fn set(list: &mut Value, name: &str, value: &str) {
    let list = list.as_array_mut().unwrap();
    list.retain(|variable| variable["name"] != name);
    list.push(json!({ "name": name, "value": value }));
}

/// The frontend of that time predicts instead of following events.
fn approximate(frames: Vec<Frame>, span: &Range<Timestamp>) -> Vec<Frame> {
    let change = |frame: Frame| {
        let Some((kind, name, object)) = named(&frame) else { return frame };
        let graph = &*kind == "DynamoGraphDeployment" && span.contains(&frame.at);
        let pod = &*kind == "Pod" && name.contains("frontend") && is_within(&object, span);
        if !graph && !pod {
            return frame;
        }
        edited(frame, |object| {
            let list = if graph {
                &mut object["spec"]["services"]["Frontend"]["envs"]
            } else {
                &mut object["spec"]["containers"][0]["env"]
            };
            // The first is the name in 0.9 and 1.0, the second that of later releases.
            for name in ["DYN_KV_EVENTS", "DYN_ROUTER_USE_KV_EVENTS"] {
                set(list, name, "false");
            }
        })
    };
    let follows = |frame: &Frame| {
        let log = matches!(frame.origin, Origin::Log { .. }) && span.contains(&frame.at);
        log && text(frame).contains("subscri")
    };
    frames.into_iter().filter(|frame| !follows(frame)).map(change).collect()
}

fn text(frame: &Frame) -> &str {
    match &frame.body {
        Body::Whole(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
        Body::Parts(_) => "",
    }
}

/// The record of the first worker is deleted for that time.
fn withdrawn(frames: Vec<Frame>, span: &Range<Timestamp>) -> Vec<Frame> {
    let is_record = |frame: &&Frame| {
        named(frame).is_some_and(|(kind, name, _)| {
            &*kind == "DynamoWorkerMetadata" && name.contains("worker")
        })
    };
    let record = frames.iter().find(is_record).unwrap().clone();
    let turned = |at: Timestamp, change: KubeChange| {
        let origin = Origin::Kube { kind: "DynamoWorkerMetadata".into(), change };
        Frame { at, origin, ..record.clone() }
    };
    let mut frames = frames;
    frames.push(turned(span.start, KubeChange::Deleted));
    frames.push(turned(span.end, KubeChange::Added));
    frames.sort_by_key(|frame| frame.at);
    frames
}

/// Engines of that time do not reuse prefixes: their publishers run, and have nothing to say.
fn without_reuse(frames: Vec<Frame>, span: &Range<Timestamp>) -> Vec<Frame> {
    const FLAG: &str = "--publish-events-and-metrics";
    const SETTINGS: &str = "--override-engine-args";
    let off = |args: &mut Value| {
        let args = args.as_array_mut().unwrap();
        let at = args.iter().position(|arg| arg == SETTINGS).unwrap();
        let mut settings: Value = serde_json::from_str(args[at + 1].as_str().unwrap()).unwrap();
        settings["kv_cache_config"]["enable_block_reuse"] = json!(false);
        args[at + 1] = settings.to_string().into();
        args.push(FLAG.into());
    };
    let silent = |args: &Value| !args.as_array().unwrap().iter().any(|arg| arg == FLAG);
    let change = |frame: Frame| -> Frame {
        if let Some((kind, name, object)) = named(&frame) {
            let pod = &*kind == "Pod" && name.contains("worker");
            let graph = &*kind == "DynamoGraphDeployment";
            let path = match (pod, graph) {
                (true, _) => "/spec/containers/0/args",
                (_, true) => "/spec/services/TrtllmWorker/extraPodSpec/mainContainer/args",
                _ => return frame,
            };
            if !silent(object.pointer(path).unwrap()) {
                return frame;
            }
            return edited(frame, |object| off(object.pointer_mut(path).unwrap()));
        }
        let happened = span.contains(&frame.at);
        match &frame.origin {
            Origin::Log { .. } if happened => {
                let text = text(&frame)
                    .replace("publish_events_and_metrics=False", "publish_events_and_metrics=True")
                    .replace("'enable_block_reuse': True", "'enable_block_reuse': False");
                Frame { body: Body::Whole(text.into()), ..frame }
            }
            Origin::Metrics { .. } if happened => {
                let none = |line: &str| match line.rsplit_once(' ') {
                    Some((name, _)) if name.contains("cache_hit_rate") => format!("{name} 0\n"),
                    _ => format!("{line}\n"),
                };
                let page: String = text(&frame).lines().map(none).collect();
                Frame { body: Body::Whole(page.into()), ..frame }
            }
            _ => frame,
        }
    };
    frames.into_iter().map(change).collect()
}
