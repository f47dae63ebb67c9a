//! What kvtop claims of whole deployments that Kubernetes shows, before any event or log.

use kvtop::attach;
use kvtop::domain::{
    Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, SecretRef, Subject, Timestamp, TreeNode,
};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::report::json;
use kvtop::simulator::{Scenario, Simulation};
use kvtop::snapshot::{Answer, Ask, EventRow, Snapshot, TreeQuery, ViewQuery};
use serde_json::{Value, json};

use crate::support::{fixture, frames, played};

/// Returns what matters here of `kvtop snapshot -o json`: pods, graph deployments and claims.
fn shown(name: &str) -> Value {
    let frames = frames(&fixture(&format!("clusters/{name}.frames")));
    let (_, snapshot) = played(&frames);
    assert_eq!(snapshot.rejects.count, 0, "{name}: {:?}", snapshot.rejects);
    let mut report: Value = serde_json::from_str(&json::snapshot(&snapshot)).unwrap();
    let workers: Vec<Value> = report["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|worker| {
            json!({
                "alias": worker["alias"], "pod": worker["pod"], "node": worker["node"],
                "role": worker["role"], "block_size": worker["block_size"],
                "capacity_blocks": worker["capacity_blocks"],
            })
        })
        .collect();
    for claim in report["claims"].as_array_mut().unwrap() {
        claim.as_object_mut().unwrap().remove("at");
    }
    json!({
        "dynamo": report["dynamo"], "workers": workers, "pods": report["pods"],
        "claims": report["claims"],
    })
}

#[test]
fn claims_of_whole_deployments_are_as_written_down() {
    let mut names: Vec<String> = std::fs::read_dir(fixture("clusters"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    for name in names {
        let report = serde_json::to_string_pretty(&shown(&name)).unwrap();
        insta::assert_snapshot!(name, report);
    }
}

/// Returns the rows of workers.
fn rows_of(name: &str) -> Vec<Value> {
    shown(name)["workers"].as_array().unwrap().clone()
}

#[test]
fn workers_that_only_registered_have_rows_with_pod_node_and_sizes() {
    let rows = rows_of("config-map");

    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["pod"], "gtc-demo-0-trtllmworker-fhhcl");
    assert_eq!(rows[0]["node"], "gpu-h100-x8-0");
    assert_eq!(rows[0]["block_size"]["engine"], 32);
    assert_eq!(rows[0]["capacity_blocks"], 41_234);
}

#[test]
fn a_deleted_pod_takes_its_worker_and_its_claims_along() {
    let mut frames = frames(&fixture("clusters/config-map.frames"));
    let pod = "gtc-demo-0-trtllmworker-fhhcl";
    frames.push(Frame::new(
        frames.last().unwrap().at,
        Origin::Kube { kind: "Pod".into(), change: KubeChange::Deleted },
        json!({"metadata": {"name": pod}}).to_string(),
    ));

    let (_, snapshot) = played(&frames);

    assert!(snapshot.pods.iter().all(|row| row.name != pod));
    let gone = snapshot.workers.iter().find(|row| row.pod.as_deref() == Some(pod)).unwrap();
    assert!(gone.gone);
    let about = |claim: &Claim| match &claim.subject {
        Subject::Pod(name) => name.as_ref() == pod,
        Subject::Worker(id) => id.0 == 7_702_713_015_953_616,
        Subject::Component { .. } | Subject::Deployment => false,
    };
    assert!(!snapshot.claims.iter().any(|row| about(&row.claim)));
}

#[test]
fn a_setting_that_is_taken_back_is_claimed_no_longer() {
    let graph = |envs: Value| {
        let service = json!({"componentType": "frontend", "envs": envs});
        let object =
            json!({"metadata": {"name": "g"}, "spec": {"services": {"Frontend": service}}});
        let change = KubeChange::Modified;
        let origin = Origin::Kube { kind: "DynamoGraphDeployment".into(), change };
        Frame::new(Timestamp(1), origin, object.to_string())
    };
    let set = graph(json!([{"name": "DYN_KV_CACHE_BLOCK_SIZE", "value": "32"}]));
    let unset = graph(json!([]));

    let declared = |frames: &[Frame]| -> Vec<(ClaimValue, Basis)> {
        let (_, snapshot) = played(frames);
        let claims = snapshot.claims.iter().map(|row| row.claim.clone());
        claims
            .filter(|claim| claim.of == ClaimOf::Declared)
            .map(|claim| (claim.value, claim.basis))
            .collect()
    };

    assert_eq!(declared(std::slice::from_ref(&set)), [(ClaimValue::Count(32), Basis::Manifest)]);
    assert_eq!(declared(&[set, unset]), [(ClaimValue::Count(16), Basis::Default)]);
}

#[test]
fn planted_secrets_reach_neither_facts_nor_reports() {
    let frames = frames(&fixture("wire/kube-pod/secrets.frames"));

    let (engine, snapshot) = played(&frames);

    let seen = attach::Seen::new(engine.cluster(), engine.channels(), "prod");
    let wanted = attach::wanted(&seen, &attach::Choice::default());
    for text in [json::snapshot(&snapshot), format!("{snapshot:?}"), format!("{seen:?} {wanted:?}")]
    {
        assert!(!text.contains("planted"), "{text}");
    }
    assert_eq!(
        wanted.nats.unwrap().login,
        attach::Login::Password {
            user: Some(attach::NatsUser::In(SecretRef { name: "nats".into(), key: "user".into() })),
            password: SecretRef { name: "nats".into(), key: "password".into() },
        }
    );
}

#[test]
fn a_recorded_deployment_is_attached_to_whole() {
    let (engine, _) = played(&frames(&fixture("clusters/config-map.frames")));

    let seen = attach::Seen::new(engine.cluster(), engine.channels(), "gtc-demo");
    let wanted = attach::wanted(&seen, &attach::Choice::default());

    insta::assert_debug_snapshot!("attach-config-map", wanted);
}

#[test]
fn the_simulated_mismatch_shows_both_sizes_of_each_worker_by_their_pods_alone() {
    let start = Timestamp(1_795_216_800_000_000);
    let mut simulation = Simulation::new(Scenario::Mismatch, 7, start);
    let frames: Vec<Frame> = simulation
        .advance(start.after(std::time::Duration::from_secs(5)))
        .into_iter()
        .filter(|frame| matches!(frame.origin, Origin::Kube { .. }))
        .collect();

    let (_, snapshot) = played(&frames);

    let workers: Vec<_> = snapshot.pods.iter().filter(|pod| pod.role.is_worker()).collect();
    assert!(workers.len() >= 2, "{:?}", snapshot.pods);
    for pod in workers {
        let size = |of| {
            let claims = snapshot.claims.iter().map(|row| &row.claim);
            let subject = Subject::Pod(pod.name.as_str().into());
            let mut sizes = claims.filter(|claim| {
                (claim.what, claim.of) == (ClaimWhat::BlockSize, of) && claim.subject == subject
            });
            sizes.next().map(|claim| claim.value.clone())
        };
        assert_eq!(size(ClaimOf::Publisher), Some(ClaimValue::Count(32)), "{}", pod.name);
        assert_eq!(size(ClaimOf::Engine), Some(ClaimValue::Count(16)), "{}", pod.name);
        assert_eq!(size(ClaimOf::Card), Some(ClaimValue::Count(32)), "{}", pod.name);
    }
}

/// One of two workers belongs to another graph deployment, whose events come over the same connection.
#[test]
fn sums_decisions_and_events_are_of_the_chosen_deployment() {
    let of_the_other = |frame: &Frame| {
        let Body::Whole(bytes) = &frame.body else { return None };
        let text = String::from_utf8_lossy(bytes);
        let is_its_pod = matches!(&frame.origin, Origin::Kube { kind, .. } if &**kind == "Pod")
            && text.contains("trtllmworker-mj7km");
        is_its_pod.then(|| {
            let label = |graph: &str| format!("graph-deployment-name\":\"{graph}\"");
            text.replace(&label("gtc-demo"), &label("canary"))
        })
    };
    let mut simulation = Simulation::new(Scenario::Healthy, 1, Timestamp(1_771_252_500_000_000));
    let end = Timestamp(1_771_252_530_000_000);
    let mut frames = simulation.advance(end);
    for frame in &mut frames {
        if let Some(text) = of_the_other(frame) {
            frame.body = Body::Whole(text.into());
        }
    }
    let mut engine = Engine::new(EngineOptions::default());
    engine.ingest(&frames);
    engine.settle();
    let tree =
        TreeQuery { open: [(TreeNode::Root, 1_000)].into(), around: 200, ..TreeQuery::default() };
    let ask = Ask::Tree(Box::new(tree));
    let query = ViewQuery { ask, decisions: 1_000, events: 1_000, ..ViewQuery::default() };
    let mut of = |graph: Option<&str>| {
        engine.choose(graph.map(str::to_owned));
        engine.snapshot(&query, end)
    };

    let all = of(None);
    let parts = [of(Some("gtc-demo")), of(Some("canary"))];

    assert_eq!((all.workers.len(), parts[0].workers.len(), parts[1].workers.len()), (2, 1, 1));
    let sum = |what: fn(&Snapshot) -> u64| parts.iter().map(what).sum::<u64>();
    assert_eq!(sum(|it| it.tree.accepted_blocks), all.tree.accepted_blocks);
    assert_eq!(sum(|it| it.totals.held), all.totals.held);
    assert_eq!(sum(|it| it.decisions.len() as u64), all.decisions.len() as u64);
    let stores = |it: &Snapshot| it.totals.rates.ten_seconds.stores;
    assert!((stores(&parts[0]) + stores(&parts[1]) - stores(&all)).abs() < 1e-9);
    for (part, alias) in parts.iter().zip(["w0", "w1"]) {
        let row = &part.workers[0];
        assert_eq!((row.alias.as_str(), part.tree.accepted_blocks), (alias, row.accepted));
        assert!(part.tree.accepted_blocks > 100 && !part.decisions.is_empty());
        assert!(part.decisions.iter().all(|decision| decision.alias == alias), "{alias}");
        let other = if alias == "w0" { "w1" } else { "w0" };
        let about =
            |event: &EventRow| event.who == other || event.text.contains(&format!("to {other}"));
        assert!(part.events.iter().any(|event| event.who == alias));
        assert!(part.events.iter().any(|event| event.text.contains(&format!("to {alias}"))));
        let foreign: Vec<_> = part.events.iter().filter(|event| about(event)).collect();
        assert!(foreign.is_empty(), "{alias}: {foreign:?}");

        let Answer::Tree(page) = &part.answer else { panic!("{:?}", part.answer) };
        let sharing = page.sharing.unwrap();
        assert_eq!((sharing.single, sharing.shared, sharing.duplicates), (row.accepted, 0, 0));
        assert_eq!((page.rows[0].subtree, page.ranks.as_slice()), (row.accepted, &[row.rank][..]));
        let prompts = page.rows.iter().filter(|row| row.depth > 0);
        assert!(prompts.clone().count() > 3);
        assert!(prompts.clone().all(|row| row.holders == 1), "{prompts:?}");
    }
}

#[test]
fn a_chosen_deployment_is_shown_without_the_others() {
    let mut frames = frames(&fixture("clusters/config-map.frames"));
    frames.extend(crate::support::frames(&fixture("clusters/vllm.frames")));
    let options = EngineOptions { dgd: Some("gtc-demo".into()), ..EngineOptions::default() };
    let mut engine = Engine::new(options);
    engine.ingest(&frames);

    let snapshot = engine.snapshot(&ViewQuery::default(), Timestamp(1));

    assert_eq!(snapshot.deployment.graphs.len(), 2);
    assert_eq!(snapshot.deployment.dgd.as_deref(), Some("gtc-demo"));
    assert!(snapshot.pods.iter().all(|pod| pod.dgd.as_deref() == Some("gtc-demo")));
    let foreign = |claim: &Claim| match &claim.subject {
        Subject::Pod(name) => name.starts_with("vllm"),
        Subject::Component { graph, .. } => graph.as_ref() != "gtc-demo",
        Subject::Worker(_) | Subject::Deployment => false,
    };
    assert!(!snapshot.claims.iter().any(|row| foreign(&row.claim)));
}

#[test]
fn what_changes_of_a_pod_is_told_once() {
    let pod = |ready: &str, restarts: u64, waits: Option<&str>| {
        let state = match waits {
            Some(reason) => json!({"waiting": {"reason": reason}}),
            None => json!({"running": {"startedAt": "2026-11-21T00:23:24Z"}}),
        };
        let container = json!({"name": "main", "ready": ready == "True", "restartCount": restarts, "state": state});
        let object = json!({
            "metadata": {"name": "frontend-1", "uid": "u"},
            "spec": {"containers": [{"name": "main", "image": "dynamo:0.9.0"}]},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": ready}],
                "containerStatuses": [container],
            },
        });
        let origin = Origin::Kube { kind: "Pod".into(), change: KubeChange::Modified };
        Frame::new(Timestamp(1_000_000), origin, object.to_string())
    };
    let frames = [
        pod("False", 0, None),
        pod("True", 0, None),
        pod("True", 0, None),
        pod("False", 1, Some("CrashLoopBackOff")),
        pod("False", 1, Some("CrashLoopBackOff")),
    ];

    let (_, snapshot) = played(&frames);

    let said: Vec<_> = snapshot.events.iter().map(|row| row.text.as_str()).collect();
    let expected =
        ["is ready", "restarted, 1 times by now", "CrashLoopBackOff", "is not ready any more"];
    assert_eq!(said, expected);
}
