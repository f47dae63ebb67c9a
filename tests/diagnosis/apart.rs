//! What belongs to one model, Dynamo namespace, router or clock says nothing of another.

use kvtop::domain::{Grade, Severity, Timestamp};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::report::check;
use kvtop::snapshot::{CheckVerdict, Snapshot, ViewQuery};
use serde_json::{Value, json};

use super::settings::found;
use crate::support::late::attached;
use crate::support::{fixture, frames, played};

fn recorded(name: &str) -> Vec<Frame> {
    frames(&fixture(&format!("{name}.frames.gz")))
}

fn seen(name: &str) -> Snapshot {
    played(&recorded(&format!("mixed/{name}"))).1
}

/// Plays a recording of which one Dynamo namespace was looked at.
fn seen_in(name: &str, namespace: &str) -> Snapshot {
    played_in(&recorded(&format!("mixed/{name}")), namespace)
}

fn played_in(frames: &[Frame], namespace: &str) -> Snapshot {
    let dynamo_namespace = Some(namespace.to_owned());
    played_with(frames, EngineOptions { dynamo_namespace, ..EngineOptions::default() })
}

fn played_with(frames: &[Frame], options: EngineOptions) -> Snapshot {
    let mut engine = Engine::new(options);
    for chunk in frames.chunks(1024) {
        engine.ingest(chunk);
    }
    engine.settle();
    let at = frames.last().map_or(Timestamp::default(), |frame| frame.at);
    engine.snapshot(&ViewQuery::default(), at)
}

/// Returns the ids of the findings that count.
fn wrong(seen: &Snapshot) -> Vec<&'static str> {
    super::wrong(seen).into_iter().map(|finding| finding.id).collect()
}

fn is_open(seen: &Snapshot, id: &str) -> bool {
    let check = seen.checks.iter().find(|check| check.id == id).unwrap();
    matches!(check.verdict, CheckVerdict::Unknown { .. })
}

/// The frames without those of Kubernetes objects of `kind`.
fn without(frames: Vec<Frame>, kind: &str) -> Vec<Frame> {
    let is =
        |frame: &Frame| matches!(&frame.origin, Origin::Kube { kind: of, .. } if **of == *kind);
    frames.into_iter().filter(|frame| !is(frame)).collect()
}

#[test]
fn workers_of_another_namespace_are_not_accused_by_a_router_of_both() {
    let other = seen_in("one_router_two_namespaces", "other");
    assert!(wrong(&other).is_empty(), "{}", check::text(&other));
    // Their requests are not counted either.
    assert_eq!(other.router.routed, 165);

    let logs = seen_in("logs_of_another_namespace_161", "nsA");
    assert!(wrong(&logs).is_empty(), "{}", check::text(&logs));
}

#[test]
fn a_worker_that_no_record_places_is_not_silent_beside_ignored_events() {
    let frames = recorded("mixed/one_router_two_namespaces");
    let told = |frame: &Frame| !matches!(frame.origin, Origin::Etcd { .. });
    let frames: Vec<Frame> = frames.into_iter().filter(told).collect();
    let seen = played_in(&frames, "other");

    assert!(wrong(&seen).is_empty() && is_open(&seen, "KVT003"), "{}", check::text(&seen));
}

#[test]
fn the_hits_of_another_namespace_do_not_hide_a_router_that_finds_nothing() {
    let own = seen_in("one_router_two_namespaces", "dynamo");

    assert_eq!(wrong(&own), ["KVT015"], "{}", check::text(&own));
}

#[test]
fn the_hits_of_one_model_do_not_hide_the_fault_of_another() {
    let unique = seen("one_of_two_models_unique");
    let finding = found(&unique, "KVT017").unwrap();
    assert!(finding.summary.starts_with("Model m: No two of "), "{}", finding.summary);

    let salted = seen("one_of_two_models_salted");
    let finding = found(&salted, "KVT015").unwrap();
    assert!(finding.summary.starts_with("Model m: Router and workers"), "{}", finding.summary);
}

#[test]
fn the_hits_of_one_namespace_do_not_hide_the_fault_of_another() {
    let unique = seen("one_of_two_namespaces_unique");
    let finding = found(&unique, "KVT017").unwrap();
    assert!(
        finding.summary.starts_with("Dynamo namespace dynamo: No two of "),
        "{}",
        finding.summary
    );

    let salted = seen("one_of_two_namespaces_salted");
    let finding = found(&salted, "KVT015").unwrap();
    let summary = finding.summary.as_str();
    assert!(summary.starts_with("Dynamo namespace dynamo: Router and workers"), "{summary}");

    // Who comes later sees the same.
    for (name, id) in
        [("one_of_two_namespaces_unique", "KVT017"), ("one_of_two_namespaces_salted", "KVT015")]
    {
        let all = recorded(&format!("mixed/{name}"));
        let span = all[all.len() - 1].at.since(all[0].at).as_secs();
        for from in [1, span / 3, span / 2] {
            let late = played(&attached(&all, from, span)).1;
            assert_eq!(wrong(&late), [id], "{name} from {from}: {}", check::text(&late));
        }
    }
}

#[test]
fn silence_does_not_clear_what_was_found() {
    let quiet = seen("one_model_falls_silent");
    assert_eq!(wrong(&quiet), ["KVT015"], "{}", check::text(&quiet));

    // A router in round-robin beside it does not either.
    let idle = seen("round_robin_beside_and_idle");
    assert!(wrong(&idle).contains(&"KVT015"), "{}", check::text(&idle));

    // What a log no longer tells of may still happen.
    let cut = seen("log_stops_090");
    assert_eq!(wrong(&cut), ["KVT011"], "{}", check::text(&cut));
}

#[test]
fn a_model_of_others_does_not_excuse_cards_that_differ() {
    let seen = seen("another_model_in_metrics");

    assert!(wrong(&seen).contains(&"KVT002"), "{}", check::text(&seen));
}

#[test]
fn foreign_events_do_not_stand_for_the_traffic_of_others() {
    let line = check::text(&seen("foreign_events_first"));

    assert!(line.starts_with("KVTOP UNKNOWN - "), "{line}");
}

#[test]
fn without_model_cards_a_decode_worker_is_not_silent_and_two_models_may_differ() {
    let disaggregated = recorded("live/disagg_161");
    let decodes = |frame: Frame| {
        let Body::Whole(bytes) = &frame.body else { return frame };
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let pod = matches!(&frame.origin, Origin::Kube { kind, .. } if **kind == *"Pod");
        if !pod || !text.contains("kv-worker-3") {
            return frame;
        }
        let text = text.replace("\"--block-size\"", "\"--is-decode-worker\",\"--block-size\"");
        Frame::new(frame.at, frame.origin.clone(), text)
    };
    let cards = "DynamoWorkerMetadata";
    let frames: Vec<Frame> = without(disaggregated, cards).into_iter().map(decodes).collect();
    let decode = played(&frames).1;
    assert!(wrong(&decode).is_empty(), "{}", check::text(&decode));

    let models = played(&without(recorded("live/two_models_102"), cards)).1;
    assert!(wrong(&models).is_empty() && is_open(&models, "KVT002"), "{}", check::text(&models));
}

#[test]
fn where_only_logs_and_events_tell_a_worker_that_decodes_is_not_silent() {
    // The router of 0.9.0 prints its weights and that of 1.0.2 does not; neither says which worker decodes.
    for name in ["disagg_090", "disagg_102"] {
        let mut all = recorded(&format!("live/{name}"));
        all.retain(|frame| !matches!(frame.origin, Origin::Etcd { .. }));
        for (from, until) in [(0, 20), (0, 33), (12, 30), (20, 33)] {
            let seen = played(&attached(&all, from, until)).1;

            let at = format!("{name}, {from} to {until} s: {}", check::text(&seen));
            assert!(wrong(&seen).is_empty() && !is_open(&seen, "KVT003"), "{at}");
        }
    }
}

#[test]
fn the_choice_of_a_decode_worker_is_no_request_that_found_nothing() {
    for name in ["disagg_090", "disagg_102"] {
        let seen = played(&recorded(&format!("live/{name}"))).1;

        let (known, zero) = (seen.router.overlap_known, seen.router.overlap_zero);
        // The run repeats a few prompts: only the first choices find none of them.
        assert!(known > 100 && zero * 10 < known, "{name}: {zero} of {known}");
    }
}

#[test]
fn what_a_replaced_router_counted_does_not_speak_for_the_present_one() {
    // 1.6.1, known by its metrics alone; its router is replaced after a minute, and the new one rejects every store.
    let all = recorded("live/nohist_counters_161");
    assert!(wrong(&played(&attached(&all, 0, 60)).1).is_empty());
    for (from, until) in [(0, 75), (0, 82), (30, 80), (50, 82)] {
        let seen = played(&attached(&all, from, until)).1;

        assert_eq!(wrong(&seen), ["KVT007"], "{from} to {until} s: {}", check::text(&seen));
    }
}

#[test]
fn the_mode_of_a_replaced_router_is_not_that_of_the_present_one() {
    // 1.6.1 by its log: kv, after half a minute round-robin, and kv again without a request since.
    let all = recorded("mixed/mode_changed_161");
    let other = played(&attached(&all, 0, 50)).1;
    let summary = "The frontend routes by round-robin, not by cached blocks.";
    assert_eq!(found(&other, "KVT005").unwrap().summary, summary);

    for (from, until) in [(0, 90), (0, 127), (40, 100), (57, 70), (100, 127)] {
        let seen = played(&attached(&all, from, until)).1;

        assert!(!wrong(&seen).contains(&"KVT005"), "{from} to {until}: {}", check::text(&seen));
    }
}

#[test]
fn a_publisher_that_was_heard_and_is_asked_still_is_not_idle() {
    // 1.6.1 over ZMQ: a worker paused for 8 s, so that kvtop left its socket, and has served requests since.
    let all = recorded("live/paused_161");
    assert!(found(&played(&attached(&all, 0, 45)).1, "KVT004").is_none());
    for from in [0, 30] {
        let seen = played(&attached(&all, from, 72)).1;
        let finding = found(&seen, "KVT004").unwrap();

        assert_eq!(finding.severity, Severity::Warning, "{}", finding.summary);
    }
}

#[test]
fn what_a_router_counts_as_rejected_is_shown_where_no_log_names_it() {
    let all = recorded("live/nohist_counters_161");
    let before = played(&attached(&all, 0, 60)).1;
    let after = played(&attached(&all, 0, 82)).1;

    assert_eq!(before.totals.counted_share, Some(0.0));
    assert_eq!(after.totals.counted_share, Some(1.0));
    assert_eq!(after.totals.rejected(after.totals.orphan_share), Some(1.0));
    // Counters name no worker.
    assert!(after.workers.iter().all(|row| row.orphan_share.is_none()));
}

#[test]
fn lines_that_come_twice_count_once() {
    let twice = seen("lines_twice_161");

    assert!(wrong(&twice).is_empty() && is_open(&twice, "KVT003"), "{}", check::text(&twice));
    assert_eq!(twice.router.routed, 297);
}

#[test]
fn one_router_in_kv_mode_does_not_acquit_another() {
    let seen = seen("second_frontend");
    let finding = found(&seen, "KVT005").unwrap();

    let summary = "frontend-2 routes by round-robin, not by cached blocks, unlike other routers.";
    assert_eq!(finding.summary, summary);
}

#[test]
fn one_router_that_predicts_is_named_among_those_that_follow_events_and_changed_alone() {
    for (flag, fixed) in [("--no-kv-events", true), ("--router-kv-events=false", false)] {
        let seen = played(&with_a_second_frontend(flag)).1;
        let finding = found(&seen, "KVT006").unwrap();

        let summary = "frontend-2 only predicts what workers have cached: it does not follow KV \
                       events, unlike other routers.";
        assert_eq!(finding.summary, summary, "{flag}");
        let fix = finding.fix.as_ref().unwrap();
        let patch = fix.kubectl.as_deref().unwrap_or_default();
        assert_eq!(patch.contains("/services/Frontend2/"), fixed, "{flag}: {patch}");
        assert!(!fix.sentence.contains("Already set"), "{flag}: {}", fix.sentence);
    }
}

#[test]
fn one_router_by_another_mode_is_named_where_only_logs_tell_of_it() {
    // As 1.6.1 logs each choice of another mode (dynamo-runtime, `network/egress/push_router.rs`).
    let line = "2026-11-29T01:48:27.898949Z  INFO http-request: dynamo_runtime::pipeline::network::egress::push_router: \
                Selected worker router_mode=\"round-robin\" worker_id=528506811034995461 method=POST";
    let mut all = recorded("live/healthy_102");
    all.retain(|frame| !matches!(frame.origin, Origin::Kube { .. }));
    let first = all[0].at;
    for second in 5..35 {
        let at = Timestamp(first.0 + second * 1_000_000);
        let origin =
            Origin::Log { namespace: "".into(), pod: "frontend2".into(), container: "main".into() };
        all.push(Frame::new(at, origin, line));
    }
    all.sort_by_key(|frame| frame.at);
    all.retain(|frame| frame.at.0 <= first.0 + 40_000_000);

    let seen = played(&all).1;

    let finding = found(&seen, "KVT005").unwrap_or_else(|| panic!("{}", check::text(&seen)));
    let summary = "frontend2 routes by round-robin, not by cached blocks, unlike other routers.";
    assert_eq!(finding.summary, summary);
}

/// A frontend that is started with `flag` beside one that follows events, in one graph deployment.
fn with_a_second_frontend(flag: &str) -> Vec<Frame> {
    const IMAGE: &str = "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.9.0";
    let args = json!(["-m", "dynamo.frontend", "--router-mode", "kv", flag]);
    let component = |args: &Value| {
        let main = json!({"image": IMAGE, "command": ["python3"], "args": args});
        json!({"componentType": "frontend", "replicas": 1, "extraPodSpec": {"mainContainer": main}})
    };
    let mut all = recorded("mixed/second_frontend");
    for frame in &mut all {
        let Body::Whole(bytes) = &frame.body else { continue };
        let mut object: Value = serde_json::from_slice(bytes).unwrap_or_default();
        if object["metadata"]["name"] != "frontend-2" {
            continue;
        }
        object["spec"]["containers"][0]["args"] = args.clone();
        object["spec"]["containers"][0]["env"] = json!([]);
        object["metadata"]["labels"]["nvidia.com/dynamo-component"] = json!("Frontend2");
        frame.body = Body::Whole(object.to_string().into());
    }
    let first = all[0].at;
    let first_args = json!(["-m", "dynamo.frontend", "--router-mode", "kv"]);
    let graph = json!({
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "agg", "namespace": "prod", "generation": 1},
        "spec": {"services": {"Frontend": component(&first_args), "Frontend2": component(&args)}},
    });
    let kind = "DynamoGraphDeployment".into();
    let origin = Origin::Kube { kind, change: KubeChange::Listed };
    all.insert(0, Frame::new(first, origin, graph.to_string()));
    all
}

#[test]
fn workers_that_evict_blocks_are_not_idle() {
    let seen = seen("only_removals");

    assert!(check::text(&seen).starts_with("KVTOP UNKNOWN - needs at least 20 store events"));
}

#[test]
fn uneven_shares_are_no_more_than_a_note_once_nothing_is_asked() {
    let seen = seen("uneven_then_idle_090");
    let finding = found(&seen, "KVT011").unwrap();

    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.summary.ends_with(" No queue: no request for 120 s."), "{}", finding.summary);
}

/// Returns the frames as they come where the clocks of nodes are `seconds` ahead.
fn with_nodes_ahead(frames: &[Frame], seconds: i64) -> Vec<Frame> {
    let text_of = |frame: &Frame| match &frame.body {
        Body::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Body::Parts(_) => String::new(),
    };
    let ahead = |frame: Frame| {
        if !matches!(&frame.origin, Origin::Kube { kind, .. } if **kind == *"Pod") {
            return frame;
        }
        let text = text_of(&frame);
        let mut parts = text.split("\"startedAt\":\"");
        let mut later = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (time, rest) = part.split_once('"').unwrap();
            let time: jiff::Timestamp = time.parse().unwrap();
            let time = time + jiff::SignedDuration::from_secs(seconds);
            later.extend(["\"startedAt\":\"", &time.to_string(), "\"", rest]);
        }
        Frame::new(frame.at, frame.origin.clone(), later)
    };
    let moved: Vec<Frame> = frames.iter().cloned().map(ahead).collect();
    assert!(moved.iter().zip(frames).any(|(moved, frame)| text_of(moved) != text_of(frame)));
    moved
}

#[test]
fn clocks_that_differ_lose_no_event_and_hide_no_fault() {
    for (name, known) in [
        ("live/after_roll_fresh_090", &[][..]),
        ("stories/cured_in_the_same_pods_102", &[]),
        ("stories/silent_since_its_restart_090", &["KVT003"]),
    ] {
        for seconds in [3, 60] {
            let seen = played(&with_nodes_ahead(&recorded(name), seconds)).1;

            assert_eq!(wrong(&seen), known, "{name}, {seconds} s ahead: {}", check::text(&seen));
        }
    }
}

#[test]
fn other_graph_deployments_of_a_namespace_do_not_count() {
    let dgd = Some("solo".to_owned());
    let options = EngineOptions { dgd, ..EngineOptions::default() };
    let seen = played_with(&recorded("mixed/sibling_graphs_090"), options);

    assert!(wrong(&seen).is_empty(), "{}", check::text(&seen));
    // It has one worker, so that nothing is chosen.
    assert!(found(&seen, "KVT005").is_some(), "{}", check::text(&seen));
    let registered = seen.checks.iter().find(|check| check.id == "KVT012").unwrap();
    assert_eq!(registered.note, "1 worker is registered");
}

#[test]
fn the_other_way_to_cure_a_mismatch_is_followed_once_it_is_in_the_graph() {
    let seen = seen("publisher_cure_pending_090");
    let fix = found(&seen, "KVT001").and_then(|finding| finding.fix.as_ref()).unwrap();

    let sentence = fix.sentence.as_str();
    assert!(sentence.contains("--kv-block-size 16 on TRTLLMWorker. 0 of 3 pods"), "{sentence}");
    assert!(sentence.contains("Stop all of these before the first starts again"), "{sentence}");
    assert!(sentence.contains("Restart the frontend too"), "{sentence}");
    let kubectl = fix.kubectl.as_deref().unwrap();
    assert!(!kubectl.contains("tokens_per_block"), "{kubectl}");
}

#[test]
fn costs_of_workers_that_are_gone_tell_no_size_of_the_present_router() {
    let seen = seen("publisher_cured_090");

    assert_eq!(seen.router.block_size_inferred, None);
    let declared = found(&seen, "KVT016").unwrap();
    assert_eq!(declared.grade, Grade::ConfigOnly, "{}", declared.effect);
    assert!(check::text(&seen).starts_with("KVTOP OK"), "{}", check::text(&seen));
}

#[test]
fn a_right_that_is_missing_is_named_where_it_keeps_the_verdict_open() {
    let line = check::text(&seen("logs_forbidden_090"));

    assert!(line.starts_with("KVTOP UNKNOWN - needs to know of more requests"), "{line}");
    assert!(line.contains("`get pods/log` is not permitted"), "{line}");
}
