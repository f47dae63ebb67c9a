//! Who is in discovery, and who only acts as if.

use std::sync::Arc;
use std::time::Duration;

use kvtop::diagnose::{Belongs, Unregistered, Verdict, rule};
use kvtop::domain::{Timestamp, WorkerId};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::snapshot::{CheckVerdict, Snapshot};
use kvtop::wire::{Facts, decode};
use serde_json::{Value, json};

use super::rules::{down, healthy};
use super::settings::found;
use crate::support::{fixture, frames, played};

fn text(frame: &Frame) -> String {
    match &frame.body {
        Body::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Body::Parts(_) => String::new(),
    }
}

fn said(seen: &Snapshot) -> (CheckVerdict, String) {
    let check = seen.checks.iter().find(|check| check.id == "KVT012").unwrap();
    (check.verdict.clone(), check.note.clone())
}

/// Gives each frame of JSON from `origin` another body.
fn rewritten(frames: &mut [Frame], kind: &str, rewrite: impl Fn(&mut Value)) {
    for frame in frames {
        if !matches!(&frame.origin, Origin::Kube { kind: of, .. } if of.as_ref() == kind) {
            continue;
        }
        let mut object: Value = serde_json::from_str(&text(frame)).unwrap();
        rewrite(&mut object);
        frame.body = Body::Whole(object.to_string().into());
    }
}

/// The frames, slowed down, by a source that watches: everybody had the time to register.
fn slowly(frames: Vec<Frame>) -> Vec<Frame> {
    let start = frames[0].at.0;
    let slow = frames.into_iter().map(|frame| Frame {
        at: Timestamp(start + (frame.at.0 - start) * 60),
        time: None,
        ..frame
    });
    slow.collect()
}

/// A capture without the discovery records of its second publisher.
fn without_a_record(name: &str) -> (Vec<Frame>, Snapshot) {
    let whole = frames(&fixture(&format!("captures/{name}.frames.gz")));
    let workers = played(&whole).1.workers;
    let id = workers.last().unwrap().rank.worker.0;
    let unnamed = whole.into_iter().filter(|frame| {
        let Origin::Etcd { key, .. } = &frame.origin else { return true };
        let of = [id.to_string(), format!("{id:x}")];
        !of.iter().any(|id| key.contains(id) || text(frame).contains(id))
    });
    let left: Vec<Frame> = unnamed.collect();
    let seen = played(&left).1;
    (left, seen)
}

/// Moves the KV events of one worker to another Dynamo namespace.
fn elsewhere(mut frame: Frame, worker: WorkerId) -> Frame {
    let mut facts = Facts::default();
    let read = decode(&frame, &mut facts).is_ok();
    if read && facts.kv.events().iter().any(|event| event.rank.worker == worker) {
        let moved = |subject: &Arc<str>| {
            let moved = subject.replacen("namespace", "namespace.other-", 1);
            let moved = moved.replace("namespace.other-.", "namespace.other-");
            Arc::from(moved.replace("namespace.other--", "namespace-other-"))
        };
        match &mut frame.origin {
            Origin::Nats { subject, .. } | Origin::Jetstream { subject, .. } => {
                *subject = moved(subject);
            }
            _ => {}
        }
    }
    frame
}

#[test]
fn a_publisher_that_discovery_does_not_name_is_never_called_registered() {
    for name in ["1.6.1-healthy", "0.9.0-healthy"] {
        let (frames, seen) = without_a_record(name);
        assert!(matches!(said(&seen).0, CheckVerdict::Unknown { .. }), "{name}: {:?}", said(&seen));

        // The same, slowed down, by a source that watches: it had the time to register.
        let watching = Frame::new(
            frames[0].at,
            Origin::Health { source: "etcd".into() },
            "{\"state\":\"live\"}",
        );
        let id = played(&frames).1.workers.last().unwrap().rank.worker;
        let slow = slowly(frames);
        let unwatched = played(&slow).1;
        assert!(found(&unwatched, "KVT012").is_none(), "{name}: it may have come and gone");
        let all = [vec![watching], slow].concat();
        let seen = played(&all).1;
        let summary = found(&seen, "KVT012").map(|finding| finding.summary.clone());
        let summary = summary.unwrap_or_else(|| panic!("{name}: {:?}", said(&seen)));
        assert!(summary.contains("is not in discovery but publishes"), "{name}: {summary}");

        // Another deployment on the same server is nobody's fault. No router of this one sends it requests.
        let heard = all.into_iter().filter(|frame| !matches!(frame.origin, Origin::Log { .. }));
        let foreign: Vec<_> = heard.map(|frame| elsewhere(frame, id)).collect();
        let seen = played(&foreign).1;
        assert_eq!(seen.workers.len(), 2, "{name}: it is heard");
        assert!(found(&seen, "KVT012").is_none(), "{name}: {:?}", said(&seen));
        assert!(matches!(said(&seen).0, CheckVerdict::Unknown { .. }), "{name}: {:?}", said(&seen));
    }
}

#[test]
fn a_router_is_no_worker() {
    let seen = |name: &str| played(&frames(&fixture(&format!("captures/{name}.frames.gz")))).1;

    for name in ["0.9.0-healthy", "1.6.1-healthy"] {
        let known = (CheckVerdict::Clear, "2 workers are registered".to_owned());
        assert_eq!(said(&seen(name)), known, "{name}");
    }
}

#[test]
fn requests_to_a_worker_that_left_are_enough() {
    let mut evidence = healthy();
    let stale = &mut evidence.ranks[1];
    (stale.gone, stale.registered, stale.left) = (true, false, Some(Timestamp(10_000_000)));
    (stale.last_event, stale.last_routed) =
        (Some(Timestamp(9_000_000)), Some(Timestamp(90_000_000)));

    let Verdict::Found(finding) = rule("KVT012").unwrap().judge(&evidence) else {
        panic!("it left")
    };

    assert_eq!(finding.summary, "w1 left discovery but still receives requests.");
    // While a list is away, nobody knows that it came back.
    let mut away = evidence.clone();
    away.plane.down.push(down("kubernetes", "connection refused", &[]));
    assert!(matches!(rule("KVT012").unwrap().judge(&away), Verdict::Clear { .. }));
    // What ended is no fault any more, and times ahead of kvtop's are of another clock.
    evidence.at = Timestamp(500_000_000);
    assert!(matches!(rule("KVT012").unwrap().judge(&evidence), Verdict::Clear { .. }));
    evidence.at = Timestamp(80_000_000);
    assert!(matches!(rule("KVT012").unwrap().judge(&evidence), Verdict::Clear { .. }));
}

#[test]
fn a_worker_that_may_belong_elsewhere_or_was_not_listed_is_not_accused() {
    let stranger = |change: fn(&mut kvtop::diagnose::Evidence)| {
        let mut evidence = healthy();
        evidence.sizes.clear();
        evidence.ranks[1].registered = false;
        change(&mut evidence);
        rule("KVT012").unwrap().judge(&evidence)
    };

    assert!(matches!(stranger(|_| ()), Verdict::Found(_)));
    let foreign = stranger(|evidence| evidence.ranks[1].belongs = Belongs::Perhaps);
    let unlisted = stranger(|evidence| evidence.plane.listed = Some(Timestamp(60_000_000)));
    let unwatched = stranger(|evidence| evidence.plane.followed = false);
    let deaf = stranger(|evidence| evidence.plane.down.push(down("etcd", "gone", &[])));
    for verdict in [foreign, unlisted, unwatched, deaf] {
        assert!(matches!(verdict, Verdict::Unknown { .. }), "{verdict:?}");
    }
}

#[test]
fn a_ready_pod_without_a_worker_is_named_once_it_had_time_to_register() {
    let mut recorded = frames(&fixture("clusters/config-map.frames"));
    recorded.retain(|frame| {
        let of = |kind: &str| kind == "DynamoWorkerMetadata" && text(frame).contains("mj7km");
        !matches!(&frame.origin, Origin::Kube { kind, .. } if of(kind))
    });
    let (_, young) = played(&recorded);
    let later = recorded.last().unwrap().at.after(Duration::from_secs(900));
    let scrape =
        Origin::Metrics { pod: "gtc-demo-0-frontend-rmjwp".into(), url: "/metrics".into() };
    recorded.push(Frame::new(later, scrape, String::new()));
    let watched = Origin::Health { source: "kubernetes".into() };
    recorded.push(Frame::new(later, watched, "{\"state\":\"live\"}"));
    let (_, old) = played(&recorded);

    assert!(matches!(said(&young).0, CheckVerdict::Unknown { .. }), "{:?}", said(&young));
    let summary = &found(&old, "KVT012").unwrap().summary.clone();
    let named = "pod gtc-demo-0-trtllmworker-mj7km is ready but has no worker in discovery.";
    assert_eq!(summary, named);
    let none = Unregistered { pod: "x".into(), since: Timestamp(99_000_000) };
    let mut evidence = healthy();
    evidence.unregistered.push(none);
    assert!(matches!(rule("KVT012").unwrap().judge(&evidence), Verdict::Unknown { .. }));
}

#[test]
fn of_a_worker_of_several_pods_only_the_leader_is_missed() {
    let summary = |clique: &str, nodes: u64, replicas: u64| {
        let mut recorded = frames(&fixture("clusters/config-map.frames"));
        recorded.retain(|frame| {
            let of = |kind: &str| kind == "DynamoWorkerMetadata" && text(frame).contains("mj7km");
            !matches!(&frame.origin, Origin::Kube { kind, .. } if of(kind))
        });
        rewritten(&mut recorded, "Pod", |pod| {
            if pod["metadata"]["name"].as_str().unwrap().ends_with("mj7km") {
                pod["metadata"]["labels"]["grove.io/podclique"] = clique.into();
            }
        });
        rewritten(&mut recorded, "DynamoGraphDeployment", |graph| {
            for service in graph["spec"]["services"].as_object_mut().unwrap().values_mut() {
                if service["componentType"] == "worker" {
                    service["multinode"] = json!({ "nodeCount": nodes });
                    service["replicas"] = replicas.into();
                }
            }
        });
        let later = recorded.last().unwrap().at.after(Duration::from_secs(900));
        let watched = Origin::Health { source: "kubernetes".into() };
        recorded.push(Frame::new(later, watched, "{\"state\":\"live\"}"));
        found(&played(&recorded).1, "KVT012").map(|finding| finding.summary.clone())
    };

    let named = Some(
        "pod gtc-demo-0-trtllmworker-mj7km is ready but has no worker in discovery.".to_owned(),
    );
    assert_eq!(summary("gtc-demo-0-trtllmworker", 1, 2), named);
    assert_eq!(summary("gtc-demo-0-worker-0-trtllmworker-ldr", 2, 1), named);
    assert_eq!(summary("gtc-demo-0-worker-0-trtllmworker-wkr", 2, 1), None);
    // More are wanted than there are, as while a scale-up waits for nodes.
    assert_eq!(summary("gtc-demo-0-worker-0-trtllmworker-wkr", 2, 4), None);
    assert_eq!(summary("gtc-demo-0-trtllmworker", 2, 4), None);
}

/// The error of a worker whose service account may not write its record, as the API server words it.
fn refusal(pod: &str, resource: &str) -> String {
    let inner = format!(
        "{resource}.nvidia.com \\\"{pod}\\\" is forbidden: User \\\"system:serviceaccount:serving:demo-k8s-service-discovery\\\" \
         cannot patch resource \\\"{resource}\\\" in API group \\\"nvidia.com\\\" in the namespace \\\"serving\\\""
    );
    let inner = inner.replace("\\\"", "\"");
    format!(
        "2026-02-16T14:38:53Z ERROR dynamo_runtime::discovery: failed to persist metadata: ApiError: {inner}"
    )
}

fn logged(pod: &str, line: &str, at: Timestamp) -> Frame {
    let origin =
        Origin::Log { namespace: "serving".into(), pod: pod.into(), container: "main".into() };
    Frame::new(at, origin, line.to_owned())
}

#[test]
fn a_service_account_that_may_not_write_records_is_named_with_the_commands_that_grant_it() {
    let at = super::START;
    let line = refusal("demo-0-worker-abcde", "dynamoworkermetadatas");
    let seen = super::Watch::new()
        .look(&[logged("demo-0-worker-abcde", &line, at)], at.after(Duration::from_secs(30)));
    let finding = seen.findings.iter().find(|it| it.id == "KVT012").unwrap();
    assert!(
        finding.summary.clone().contains("demo-k8s-service-discovery has no right to write"),
        "{finding:#?}"
    );
    let fix = &finding.fix.as_ref().unwrap().sentence.clone();
    assert!(fix.contains("--serviceaccount=serving:demo-k8s-service-discovery"), "{fix}");
    assert!(fix.contains("--resource=dynamoworkermetadatas.nvidia.com"), "{fix}");
    // What a recording keeps of the line says the same.
    let kept = kvtop::wire::kept_of_log_line(&line);
    let again = super::Watch::new()
        .look(&[logged("demo-0-worker-abcde", &kept, at)], at.after(Duration::from_secs(30)));
    assert!(again.findings.iter().any(|it| it.id == "KVT012"), "{kept}");
}

#[test]
fn a_refusal_of_something_else_is_no_refused_registration() {
    let at = super::START;
    let pod = "demo-0-worker-abcde";
    let right = refusal(pod, "dynamoworkermetadatas");
    let cases = [
        refusal(pod, "endpointslices"),
        "watching dynamoworkermetadatas of this namespace".to_owned(),
        right.replace("system:serviceaccount:", "system:node:"),
        right.replace("demo-k8s-service-discovery", "$(reboot)"),
    ];
    for line in cases {
        let later = at.after(Duration::from_secs(30));
        let seen = super::Watch::new().look(&[logged(pod, &line, at)], later);
        assert!(seen.findings.iter().all(|it| it.id != "KVT012"), "{line}");
    }
}

#[test]
fn a_worker_that_ends_because_another_model_is_registered_there_is_named() {
    let at = super::START;
    let pod = "kv-worker-2";
    let line = "Exception: Cannot register model 'kvtop-mla' on endpoint 'dynamo/backend/generate': a different model \
                'kvtop-swa' is already registered there";
    for line in [line.to_owned(), kvtop::wire::kept_of_log_line(line)] {
        let frames = [logged(pod, &line, at)];
        let seen = super::Watch::new().look(&frames, at.after(Duration::from_secs(30)));
        let finding = seen.findings.iter().find(|it| it.id == "KVT012").unwrap();
        let summary = finding.summary.clone();
        let named = ["kv-worker-2", "dynamo/backend/generate", "kvtop-swa", "kvtop-mla"];
        assert!(named.iter().all(|name| summary.contains(name)), "{summary}");
    }
}

#[test]
fn a_line_about_a_registration_that_names_no_other_model_says_nothing() {
    let at = super::START;
    for line in [
        "Cannot register model 'a': connection refused",
        "Cannot register model '' on endpoint 'x': a different model 'b' is already registered there",
    ] {
        let frames = [logged("kv-worker-2", line, at)];
        let seen = super::Watch::new().look(&frames, at.after(Duration::from_secs(30)));
        assert!(seen.findings.iter().all(|it| it.id != "KVT012"), "{line}");
    }
}

#[test]
fn a_worker_that_a_router_refuses_is_named_until_it_is_chosen() {
    let at = super::START;
    let later = at.after(Duration::from_secs(30));
    let named = "2026-11-27T15:01:03.990818Z ERROR dynamo_llm::discovery::controller: Rejected incompatible workers; the \
                 first accepted configuration retains the WorkerSet model=/m/tiny worker_set=[\"dynamo\",\"backend\"] \
                 incumbent_checksum=b7165f80 rejected_checksum=8e6bf8fd \
                 instance=Some(\"dynamo/backend/generate/995a21d8603991c\")";
    let unnamed = "2026-11-27T15:11:20.328574Z ERROR dynamo_llm::discovery::watcher: Checksum for new model does not match \
                   existing model. model_name=\"/m/tiny\"";
    for (line, who) in [(named, "worker 995a21d8603991c"), (unnamed, "a worker")] {
        for line in [line.to_owned(), kvtop::wire::kept_of_log_line(line)] {
            let mut watch = super::Watch::new();
            let seen = watch.look(&[logged("frontend", &line, at)], later);
            let finding = seen.findings.iter().find(|it| it.id == "KVT002").unwrap();
            let summary = finding.summary.clone();
            assert!(
                summary.starts_with(&format!("frontend refuses {who} of /m/tiny")),
                "{summary}"
            );

            let long_after = at.after(Duration::from_secs(900));
            watch.look(&[], long_after);
            let seen = watch.look(&[], long_after.after(Duration::from_secs(60)));
            let open = seen.findings.iter().find(|it| it.id == "KVT002");
            assert!(open.is_none_or(|it| it.resolved.is_some()), "{line}");
        }
    }
    let chosen = "2026-11-27T15:01:23.1Z  INFO dynamo_kv_router::scheduling::selector: Selected worker \
                  worker_id=690636365557373212 dp_rank=0 logit=1.0";
    let frames = [
        logged("frontend", named, at),
        logged("frontend", chosen, at.after(Duration::from_secs(20))),
    ];
    let seen = super::Watch::new().look(&frames, at.after(Duration::from_secs(120)));
    let open = seen.findings.iter().find(|it| it.id == "KVT002");
    assert!(open.is_none_or(|it| it.resolved.is_some()));
}

#[test]
fn a_refusal_ends_with_a_set_that_is_made_anew() {
    let at = super::START;
    let refused = "2026-11-27T14:54:24.343052Z ERROR dynamo_llm::discovery::controller: Rejected incompatible workers; the \
                   first accepted configuration retains the WorkerSet model=/m/tiny \
                   worker_set=[\"dynamo\",\"backend\",\"generate\"] incumbent_checksum=b7 rejected_checksum=8e \
                   instance=Some(\"dynamo/backend/generate/995a21d7fa94c28\")";
    let made = |namespace: &str| {
        format!(
            "2026-11-27T14:56:41.775990Z  INFO dynamo_llm::discovery::model: Adding worker set to model model=/m/tiny \
             namespace=[\"{namespace}\",\"backend\",\"generate\"]"
        )
    };
    for (namespace, ends) in [("dynamo", true), ("other", false)] {
        for kept in [false, true] {
            let line = |text: &str| {
                if kept { kvtop::wire::kept_of_log_line(text) } else { text.to_owned() }
            };
            let frames = [
                logged("frontend", &line(refused), at),
                logged("frontend", &line(&made(namespace)), at.after(Duration::from_secs(20))),
            ];
            let seen = super::Watch::new().look(&frames, at.after(Duration::from_secs(90)));
            let open = seen.findings.iter().find(|it| it.id == "KVT002");
            let over = open.is_none_or(|it| it.resolved.is_some());
            assert_eq!(over, ends, "{namespace}, kept {kept}: {open:?}");
        }
    }
}
