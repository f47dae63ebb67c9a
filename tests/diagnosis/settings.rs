//! What the settings of real pods and manifests say, through decoder and engine.
//!
//! The pods, the graph deployment and the `ConfigMap` are those that an API server answered with; what a
//! test is about is changed in their JSON.

use kvtop::domain::{Severity, Timestamp};
use kvtop::frame::{Frame, KubeChange, Origin};
use kvtop::snapshot::{CheckVerdict, FindingRow, Snapshot};
use serde_json::{Value, json};

use crate::support::{fixture, frames, played};

/// An hour after the recorded pods started.
const NOW: Timestamp = Timestamp(1_795_224_204_000_000);

const FRONTEND: &str = "gtc-demo-0-frontend-rmjwp";
const SECOND_FRONTEND: &str = "gtc-demo-0-frontend-zzzzz";
const WORKER: &str = "gtc-demo-0-trtllmworker-fhhcl";

/// A recorded namespace, to be changed.
pub(super) struct Namespace {
    pub(super) pods: Vec<Value>,
    pub(super) graphs: Vec<Value>,
    pub(super) configs: Vec<Value>,
    more: Vec<Frame>,
}

/// How long kvtop has listened, in microseconds.
const LISTENED: u64 = 20_000_000;

impl Namespace {
    /// The deployment of the users' documents, as it was recorded.
    pub(super) fn recorded() -> Self {
        let list = |path: &str| -> Vec<Value> {
            let text = std::fs::read(fixture(&format!("kube/{path}.body.json"))).unwrap();
            let list: Value = serde_json::from_slice(&text).unwrap();
            list["items"].as_array().unwrap().clone()
        };
        Self {
            pods: list("pods/list_gtc-demo"),
            graphs: list("dgd/list"),
            configs: list("configmaps/list"),
            more: Vec::new(),
        }
    }

    pub(super) fn pod(&mut self, name: &str) -> &mut Value {
        self.pods.iter_mut().find(|pod| pod["metadata"]["name"] == name).unwrap()
    }

    fn main(&mut self, pod: &str) -> &mut Value {
        &mut self.pod(pod)["spec"]["containers"][0]
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        let env = self.main(FRONTEND)["env"].as_array_mut().unwrap();
        env.retain(|entry| entry["name"] != name);
        env.push(json!({"name": name, "value": value}));
        self
    }

    fn without_env(mut self, name: &str) -> Self {
        let env = self.main(FRONTEND)["env"].as_array_mut().unwrap();
        env.retain(|entry| entry["name"] != name);
        self
    }

    fn flag(mut self, flag: &str) -> Self {
        self.main(FRONTEND)["args"].as_array_mut().unwrap().push(flag.into());
        self
    }

    /// Another frontend of the same component.
    fn second_frontend(mut self) -> Self {
        let mut twin = self.pod(FRONTEND).clone();
        twin["metadata"]["name"] = SECOND_FRONTEND.into();
        twin["metadata"]["uid"] = "another".into();
        self.pods.push(twin);
        self
    }

    /// Lines of a pod's log.
    fn says(mut self, pod: &str, lines: impl IntoIterator<Item = String>) -> Self {
        for line in lines {
            let origin = Origin::Log {
                namespace: "gtc-demo".into(),
                pod: pod.into(),
                container: "main".into(),
            };
            self.more.push(Frame::new(NOW, origin, line));
        }
        self
    }

    fn scraped(mut self, pod: &str, page: String) -> Self {
        let origin = Origin::Metrics { pod: pod.into(), url: "/metrics".into() };
        self.more.push(Frame::new(NOW, origin, page));
        self
    }

    /// Requests that the frontend's log shows, with `cached` blocks found for each.
    fn routes(self, count: usize, cached: u64) -> Self {
        let line = format!(
            "2026-02-16T14:38:53.950961Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: \
             worker_id=7702713015953616 dp_rank=0, logit: 138.656, cached blocks: {cached}, tree size: 0"
        );
        self.says(FRONTEND, vec![line; count])
    }

    pub(super) fn seen(&self) -> Snapshot {
        let kinds = [
            ("DynamoGraphDeployment", &self.graphs),
            ("ConfigMap", &self.configs),
            ("Pod", &self.pods),
        ];
        let objects = kinds.into_iter().flat_map(|(kind, objects)| {
            objects.iter().map(move |object| {
                let origin = Origin::Kube { kind: kind.into(), change: KubeChange::Listed };
                Frame::new(Timestamp(NOW.0 - LISTENED), origin, object.to_string())
            })
        });
        let frames: Vec<Frame> = objects.chain(self.more.iter().cloned()).collect();
        let (_, snapshot) = played(&frames);
        assert_eq!(snapshot.rejects.count, 0, "{:?}", snapshot.rejects);
        snapshot
    }
}

pub(super) fn found<'a>(snapshot: &'a Snapshot, id: &str) -> Option<&'a FindingRow> {
    snapshot.findings.iter().find(|finding| finding.id == id)
}

/// What is said of `id`: `clear`, `unknown`, or the summary of what was found.
fn said(snapshot: &Snapshot, id: &str) -> String {
    let check = snapshot.checks.iter().find(|check| check.id == id).unwrap();
    match &check.verdict {
        CheckVerdict::Clear => "clear".to_owned(),
        CheckVerdict::Unknown { .. } => "unknown".to_owned(),
        CheckVerdict::Found => found(snapshot, id).unwrap().summary.clone(),
    }
}

fn fix(snapshot: &Snapshot, id: &str) -> String {
    found(snapshot, id).unwrap().fix.as_ref().unwrap().sentence.clone()
}

#[test]
fn a_frontend_that_does_not_route_by_cached_blocks_is_told_how_to() {
    let recorded = || Namespace::recorded();

    let unset = recorded().without_env("DYN_ROUTER_MODE").seen();
    let hot = recorded().env("DYN_ROUTER_TEMPERATURE", "0.5").seen();
    let weightless = recorded().env("DYN_KV_OVERLAP_SCORE_WEIGHT", "0").seen();
    let other_era = recorded().env("DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT", "0").seen();
    let flagged = recorded().without_env("DYN_ROUTER_MODE").flag("--router-mode=random").seen();

    let round_robin = "The frontend routes by round-robin, not by cached blocks.";
    assert_eq!(said(&unset, "KVT005"), round_robin);
    // The manifest says kv already: only the pod is of before.
    let pending = "DYN_ROUTER_MODE=kv on Frontend. 0 of 1 pods run with it. Restart";
    assert!(fix(&unset, "KVT005").contains(pending), "{}", fix(&unset, "KVT005"));
    let random = "The router chooses at random to a degree (temperature 0.5): the costlier of two workers \
                  gets 12 % of requests.";
    assert_eq!(said(&hot, "KVT005"), random);
    let warm = recorded().env("DYN_ROUTER_TEMPERATURE", "0.01").seen();
    let warm = found(&warm, "KVT005").unwrap();
    assert_eq!(warm.severity, Severity::Info);
    assert!(warm.summary.ends_with("among workers of nearly equal cost."), "{}", warm.summary);
    let misspelt = recorded().env("DYN_ROUTER_MODE", "KV").seen();
    let unknown = "DYN_ROUTER_MODE=KV is not a Dynamo router mode: the frontend silently routes by \
                   round-robin.";
    assert_eq!(said(&misspelt, "KVT005"), unknown);
    assert!(fix(&weightless, "KVT005").contains("DYN_KV_OVERLAP_SCORE_WEIGHT=1.0"));
    assert_eq!(said(&other_era, "KVT005"), "unknown", "0.9 does not read the name of 1.0");
    assert!(fix(&flagged, "KVT005").contains(pending), "{}", fix(&flagged, "KVT005"));
    assert_eq!(said(&recorded().seen(), "KVT005"), "unknown");
    let missing = |snapshot: &Snapshot| match &snapshot
        .checks
        .iter()
        .find(|check| check.id == "KVT005")
        .unwrap()
        .verdict
    {
        CheckVerdict::Unknown { missing } => missing.clone(),
        other => panic!("{other:?}"),
    };
    let known = missing(&recorded().seen());
    assert!(known.starts_with("needs requests: the router mode is kv"), "{known}");
    assert!(missing(&played(&[]).1).starts_with("needs the frontend's settings"));
    // One of the two recorded workers takes all; the other is there to be chosen.
    let two = recorded().routes(20, 3).says(
        FRONTEND,
        ["Selected worker: worker_id=4467334888485367 dp_rank=0, logit: 1.0, cached blocks: 3, tree size: 3"
            .to_owned()],
    );
    assert_eq!(said(&two.seen(), "KVT005"), "clear");
}

/// Lines of a decision with the weight in the cost.
fn weighed(weight: &str) -> Vec<String> {
    let scheduler = "2026-02-16T14:38:53.950961Z  INFO dynamo_llm::kv_router::scheduler";
    vec![
        format!(
            "{scheduler}: Formula for worker_id=7702713015953616 dp_rank=0 with 3 cached blocks: 4.000 = \
             {weight} * prefill_blocks + decode_blocks = {weight} * 4.000 + 0.000"
        ),
        format!(
            "{scheduler}: Selected worker: worker_id=7702713015953616 dp_rank=0, logit: 4.0, cached blocks: 3, \
             tree size: 3"
        ),
    ]
}

#[test]
fn a_router_of_weight_0_is_found_beside_another_whoever_spoke_last() {
    let two = || Namespace::recorded().second_frontend();
    let (light, plain) = (weighed("0.0"), weighed("1.0"));
    let first = two().says(FRONTEND, light.clone()).says(SECOND_FRONTEND, plain.clone()).seen();
    let last = two().says(SECOND_FRONTEND, plain.clone()).says(FRONTEND, light).seen();
    let both = two().says(FRONTEND, plain.clone()).says(SECOND_FRONTEND, plain).seen();

    let one =
        format!("{FRONTEND} ignores cached blocks, unlike other routers: the overlap weight is 0.");
    assert_eq!(said(&first, "KVT005"), one);
    assert_eq!(said(&last, "KVT005"), one);
    assert_ne!(said(&both, "KVT005"), one);
}

#[test]
fn a_router_that_guesses_is_known_by_its_setting() {
    let guesses = Namespace::recorded().env("DYN_KV_EVENTS", "false").seen();
    let flagged = Namespace::recorded().flag("--no-kv-events").seen();

    assert!(said(&guesses, "KVT006").contains("only predicts"));
    assert!(fix(&guesses, "KVT006").starts_with("Set DYN_KV_EVENTS=true on the router"));
    assert!(fix(&flagged, "KVT006").contains("--no-kv-events removed on Frontend. 0 of 1 pods"));
    assert_eq!(said(&Namespace::recorded().seen(), "KVT006"), "clear");
    let mut nobody = Namespace::recorded();
    (nobody.pods, nobody.graphs) = (Vec::new(), Vec::new());
    assert_eq!(said(&nobody.routes(1, 0).seen(), "KVT006"), "unknown");
}

#[test]
fn frontends_that_share_workers_and_nothing_else_are_noted() {
    let alone = Namespace::recorded().second_frontend().seen();
    let mut shared = Namespace::recorded().flag("--router-replica-sync").second_frontend().seen();

    let finding = found(&alone, "KVT013").unwrap();
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.summary.clone().starts_with("2 routers are not sharing load"), "{finding:?}");
    assert_eq!(fix(&alone, "KVT013"), "Start all frontends with --router-replica-sync.");
    let label = "nvidia.com/dynamo-graph-deployment-name";
    let mut others = Namespace::recorded().second_frontend();
    others.pods.last_mut().unwrap()["metadata"]["labels"][label] = "another".into();
    let others = others.routes(1, 3).says(SECOND_FRONTEND, weighed("1.0")).seen();
    assert_eq!(said(&others, "KVT013"), "clear", "each is the only one of its deployment");
    assert_eq!(said(&shared, "KVT013"), "clear");
    assert_eq!(said(&Namespace::recorded().seen(), "KVT013"), "clear", "there is one");
    shared = Namespace { pods: Vec::new(), ..Namespace::recorded() }.seen();
    assert_eq!(said(&shared, "KVT013"), "unknown");
}

#[test]
fn an_engine_that_reuses_nothing_is_named_with_where_it_is_set() {
    let mut off = Namespace::recorded();
    for config in &mut off.configs {
        if let Some(data) = config["data"].as_object_mut()
            && let Some(file) = data.get_mut("agg.yaml")
        {
            *file =
                "kv_cache_config:\n  tokens_per_block: 32\n  enable_block_reuse: false\n".into();
        }
    }
    let off = off.seen();

    let summary = said(&off, "KVT017");
    assert!(summary.starts_with("Prefix caching is off on "), "{summary}");
    let fix = fix(&off, "KVT017");
    assert!(fix.contains("enable_block_reuse: true"), "{fix}");
    assert!(fix.contains("ConfigMap trtllm-engine-config, agg.yaml"), "{fix}");
    assert_eq!(said(&Namespace::recorded().seen(), "KVT017"), "unknown");
    assert_eq!(said(&Namespace::recorded().routes(5, 3).seen(), "KVT017"), "clear");
}

#[test]
fn workers_that_were_never_told_to_publish_are_no_riddle() {
    let mut mute = Namespace::recorded();
    for pod in &mut mute.pods {
        if let Some(args) = pod["spec"]["containers"][0]["args"].as_array_mut() {
            args.retain(|arg| arg != "--publish-events-and-metrics");
        }
    }
    let (mute, loud) = (mute.routes(20, 0).seen(), Namespace::recorded().routes(20, 0).seen());

    let finding = found(&mute, "KVT003").unwrap();
    assert_eq!(finding.severity, Severity::Critical);
    assert!(finding.summary.clone().contains("not enabled on any of 2"), "{}", finding.summary);
    let pending = fix(&mute, "KVT003");
    assert!(pending.contains("--publish-events-and-metrics on TRTLLMWorker"), "{pending}");
    assert_eq!(said(&mute, "KVT004"), "unknown");
    assert_eq!(said(&loud, "KVT003"), "unknown");
    assert!(said(&loud, "KVT004").starts_with("kvtop sees no KV events"));
}

#[test]
fn a_worker_that_cannot_read_its_engine_says_so_itself() {
    let line = "2026-02-16T14:38:53.950961Z  WARN dynamo_llm::kv_router::publisher: Failed to decode \
                KVEventBatch msgpack error=invalid type: map, expected a string";
    let lines = |count| Namespace::recorded().says(WORKER, vec![line.to_owned(); count]).seen();

    let (many, one) = (lines(3), lines(1));

    assert_eq!(
        said(&many, "KVT019"),
        "Workers cannot decode their engines' KV events: 3 log lines report this."
    );
    assert_eq!(said(&one, "KVT019"), "unknown");
}

#[test]
fn a_routers_own_counters_tell_of_lost_events() {
    let page = |ok: u64, orphaned: u64, invalid: u64| {
        format!(
            "# TYPE dynamo_component_kv_cache_events_applied counter\n\
             dynamo_component_kv_cache_events_applied{{event_type=\"stored\",status=\"ok\"}} {ok}\n\
             dynamo_component_kv_cache_events_applied{{event_type=\"stored\",\
             status=\"parent_block_not_found\"}} {orphaned}\n\
             dynamo_component_kv_cache_events_applied{{event_type=\"stored\",\
             status=\"invalid_block\"}} {invalid}\n\
             dynamo_component_kv_cache_events_applied{{event_type=\"stored\",\
             status=\"capacity_exhausted\"}} 7\n"
        )
    };
    let event = || {
        let origin = Origin::Nats {
            subject: "namespace.gtc-demo-gtc-demo.component.backend.kv-events".into(),
            reply: None,
            headers: Vec::new(),
        };
        let text = r#"{"worker_id":7702713015953616,"event":{"event_id":7,"data":{"removed":{"block_hashes":[1]}},"dp_rank":0}}"#;
        Frame::new(NOW, origin, text)
    };
    let after = |ok: u64, orphaned: u64, invalid: u64| {
        let mut namespace = Namespace::recorded()
            .scraped(FRONTEND, page(1000, 900, 3))
            .scraped(FRONTEND, page(1000 + ok, 900 + orphaned, 3 + invalid));
        namespace.more.push(event());
        namespace.seen()
    };

    // What the router counted before kvtop came is of another time.
    assert_eq!(
        said(&after(80, 20, 0), "KVT014"),
        "KV events are being lost: routers rejected 20 of 100 stores."
    );
    assert_eq!(
        said(&after(90, 0, 10), "KVT014"),
        "KV events are being lost: routers rejected 10 of 100 stores."
    );
    for (ok, orphaned) in [(100, 1), (5, 5), (2, 98)] {
        assert_eq!(said(&after(ok, orphaned, 0), "KVT014"), "unknown", "{ok} {orphaned}");
    }
}

#[test]
fn a_router_with_a_size_of_its_own_is_told_the_workers() {
    let seen = |name: &str| played(&frames(&fixture(&format!("clusters/{name}.frames")))).1;

    let standalone = seen("standalone-router");

    let summary = said(&standalone, "KVT001");
    assert_eq!(
        summary,
        "The router is configured to hash 128-token blocks, but workers are configured to publish 16-token blocks."
    );
    let fix = fix(&standalone, "KVT001");
    assert!(fix.contains("DYN_ROUTER_BLOCK_SIZE=16"), "{fix}");
    // No frontend is involved, and the cure of KVT001 is that of their difference too.
    assert_eq!(said(&standalone, "KVT013"), "unknown");
    assert!(!seen("standalone-router").findings.iter().any(|it| it.id == "KVT013"));
    // The frontend before it does not choose workers, and need not route by cached blocks.
    assert_eq!(said(&standalone, "KVT005"), "unknown");
    assert_eq!(said(&seen("gateway-plugin"), "KVT005"), "unknown");
}

#[test]
fn a_size_that_nobody_declared_on_the_frontend_is_found_in_the_users_own_deployment() {
    let seen = Namespace::recorded().seen();

    let finding = found(&seen, "KVT016").unwrap();

    assert!(finding.summary.clone().starts_with(
        "Frontend KV block size (16) does not match worker block size (32). Set \
         DYN_KV_CACHE_BLOCK_SIZE=32"
    ));
    assert!(finding.effect.clone().contains("does not read this setting"), "{}", finding.effect);
    // Nobody wrote it: a note, and nothing once requests find blocks.
    assert_eq!((finding.severity, finding.advisory), (Severity::Info, true));
    let once_found = Namespace::recorded().routes(20, 3).seen();
    let note = found(&once_found, "KVT016");
    assert!(note.is_none_or(|note| note.mending.is_some()), "{note:?}");
}

#[test]
fn a_setting_that_kvtop_cannot_read_is_named_with_the_place_that_hides_it() {
    let mut namespace = Namespace::recorded().without_env("DYN_ROUTER_MODE");
    let env = namespace.main(FRONTEND)["env"].as_array_mut().unwrap();
    env.retain(|entry| entry["name"] != "DYN_KV_CACHE_BLOCK_SIZE");
    for name in ["DYN_ROUTER_MODE", "DYN_KV_CACHE_BLOCK_SIZE"] {
        let from = json!({"secretKeyRef": {"name": "router", "key": name}});
        env.push(json!({"name": name, "valueFrom": from}));
    }
    let seen = namespace.seen();
    for (id, name) in [("KVT005", "DYN_ROUTER_MODE"), ("KVT016", "DYN_KV_CACHE_BLOCK_SIZE")] {
        let check = seen.checks.iter().find(|check| check.id == id).unwrap();
        let CheckVerdict::Unknown { missing } = &check.verdict else { panic!("{check:#?}") };
        let hidden = format!("pod {FRONTEND} may have it from ${name}, which kvtop cannot read");
        assert!(missing.ends_with(&hidden), "{missing}");
    }
}

#[test]
fn pods_that_encode_have_no_block_size_and_need_not_publish() {
    let mut namespace = Namespace::recorded();
    let ids = ["KVT001", "KVT003", "KVT016"];
    assert!(ids.iter().any(|id| found(&namespace.seen(), id).is_some()));
    let workers = namespace
        .pods
        .iter_mut()
        .filter(|pod| pod["metadata"]["name"].as_str().is_some_and(|name| name.contains("worker")));
    for pod in workers {
        let args = pod["spec"]["containers"][0]["args"].as_array_mut().unwrap();
        args.extend(["--disaggregation-mode".into(), "encode".into()]);
    }
    let snapshot = namespace.routes(600, 0).seen();
    assert!(ids.iter().all(|id| found(&snapshot, id).is_none()), "{:?}", snapshot.findings);
    assert!(snapshot.pods.iter().any(|pod| pod.role.name() == "encode"));
}
