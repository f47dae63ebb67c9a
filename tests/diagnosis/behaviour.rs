//! What processes do outweighs what is written, and what others do says nothing of them.

use std::time::Duration;

use kvtop::domain::SourceName;
use kvtop::frame::{Body, Frame, Origin};
use kvtop::report::check::{self, Status};
use kvtop::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::support::late::attached;
use crate::support::{fixture, frames, played};

fn recording(name: &str) -> Vec<Frame> {
    frames(&fixture(&format!("live/{name}.frames.gz")))
}

fn text(frame: &Frame) -> String {
    match &frame.body {
        Body::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Body::Parts(_) => String::new(),
    }
}

fn with_text(frame: &Frame, text: String) -> Frame {
    Frame { body: Body::Whole(text.into()), ..frame.clone() }
}

/// Returns the frames until `seconds` after the first.
fn until(all: &[Frame], seconds: u64) -> Vec<Frame> {
    let end = all[0].at.after(Duration::from_secs(seconds));
    all.iter().filter(|frame| frame.at <= end).cloned().collect()
}

fn open<'a>(seen: &'a Snapshot, id: &str) -> Option<&'a str> {
    let mut rows = seen.findings.iter().filter(|row| row.resolved.is_none());
    rows.find(|row| row.id == id).map(|row| row.summary.as_str())
}

#[test]
fn a_written_size_that_requests_refuted_accuses_nobody_once_they_end() {
    // Workers are told 32 for their engines, but requests find their blocks; nothing is routed from 38 s on.
    let written = json!([
        "-m",
        "dynamo.trtllm",
        "--model-path",
        "m",
        "--kv-block-size",
        "16",
        "--override-engine-args",
        "{\"kv_cache_config\":{\"tokens_per_block\":32}}",
        "--publish-events-and-metrics"
    ]);
    let all: Vec<Frame> = recording("healthy_102")
        .iter()
        .map(|frame| {
            let mut object: Value = serde_json::from_str(&text(frame)).unwrap_or_default();
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if object["kind"] != "Pod" || !name.starts_with("kv-worker") {
                return frame.clone();
            }
            object["spec"]["containers"][0]["args"] = written.clone();
            with_text(frame, object.to_string())
        })
        .collect();

    assert!(open(&played(&until(&all, 5)).1, "KVT001").is_some(), "before the first request");
    for seconds in [65, 80, 130] {
        assert_eq!(open(&played(&until(&all, seconds)).1, "KVT001"), None, "+{seconds}");
    }
    assert_eq!(open(&played(&attached(&all, 60, 100)).1, "KVT001"), None, "attached while idle");
}

#[test]
fn a_list_that_is_away_keeps_no_event_of_nats_away() {
    let mut all = until(&recording("healthy_102"), 175);
    let first = all[0].at;
    let notes = |frame: &Frame| matches!(&frame.origin, Origin::Health { source } if *source == SourceName::Kubernetes);
    let down = first.after(Duration::from_secs(100));
    all.retain(|frame| frame.at < down || !notes(frame));
    let note = all.iter().rfind(|frame| notes(frame)).unwrap().clone();
    let mut body: Value = serde_json::from_str(&text(&note)).unwrap();
    (body["state"], body["why"]) = (json!("down"), json!("connection refused"));
    for beat in 0..15 {
        let at = down.after(Duration::from_secs(beat * 5));
        all.push(Frame { at, ..with_text(&note, body.to_string()) });
    }
    all.sort_by_key(|frame| frame.at);

    for seconds in [120, 175] {
        assert_eq!(open(&played(&until(&all, seconds)).1, "KVT004"), None, "+{seconds}");
    }
}

#[test]
fn decode_workers_that_only_routers_logs_tell_of_owe_no_events() {
    let all: Vec<Frame> = recording("disagg_161")
        .into_iter()
        .filter(|frame| match &frame.origin {
            Origin::Kube { .. } | Origin::Etcd { .. } => false,
            Origin::Health { source } => *source != SourceName::Kubernetes,
            _ => true,
        })
        .collect();

    for (from, to) in [(0, 31), (28, 60)] {
        let seen = played(&if from == 0 { until(&all, to) } else { attached(&all, from, to) }).1;
        assert_eq!(open(&seen, "KVT003"), None, "+{from}..{to}");
        assert!(seen.router.routed > 0, "+{from}..{to}: {:?}", seen.router.routed);
    }
}

/// Returns a log line of a router that found nothing where it found something.
fn without_hits(line: &str) -> String {
    let mut said = line.to_owned();
    for (before, after) in
        [("cached blocks: ", ","), ("tree size: ", ","), (" with ", " cached blocks")]
    {
        let Some(start) = said.find(before).map(|start| start + before.len()) else { continue };
        let Some(end) = said[start..].find(after).map(|end| start + end) else { continue };
        if said[start..end].parse::<f64>().is_ok() {
            said.replace_range(start..end, "0");
        }
    }
    said
}

/// The recording as two frontends would have made it that share its requests; the second finds nothing for `blind`.
fn with_two_frontends(blind: bool) -> Vec<Frame> {
    let mut number = 0;
    let mut all = recording("healthy_102");
    let is_pod = |frame: &&Frame| {
        let of_pod = matches!(&frame.origin, Origin::Kube { kind, .. } if **kind == *"Pod");
        of_pod && text(frame).contains("\"name\":\"kv-frontend-1\"")
    };
    let second =
        |frame: &Frame| with_text(frame, text(frame).replace("kv-frontend-1", "kv-frontend-2"));
    let pods: Vec<Frame> = all.iter().filter(is_pod).map(second).collect();
    assert!(!pods.is_empty());
    all.extend(pods);
    all.sort_by_key(|frame| frame.at);
    for frame in &mut all {
        let Origin::Log { pod, .. } = &mut frame.origin else { continue };
        let said = match &frame.body {
            Body::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Body::Parts(_) => String::new(),
        };
        if pod.as_ref() != "kv-frontend-1" || !said.contains("Selected worker") {
            continue;
        }
        number += 1;
        if number % 2 == 0 {
            *pod = "kv-frontend-2".into();
            let said = if blind { without_hits(&said) } else { said };
            frame.body = Body::Whole(said.into());
        }
    }
    assert!(number >= 80, "{number}");
    all
}

#[test]
fn a_router_without_hits_beside_one_that_has_some_keeps_the_verdict_open() {
    for (blind, status) in [(true, Status::Unknown), (false, Status::Ok)] {
        let all = with_two_frontends(blind);
        for (from, to) in [(0, 45), (35, 50), (45, 110)] {
            let frames = if from == 0 { until(&all, to) } else { attached(&all, from, to) };
            let seen = played(&frames).1;
            let line = check::text(&seen);
            assert_eq!(Status::new(&seen), status, "{blind}, +{from}..{to}: {line}");
            assert_eq!(line.contains("counters of kv-frontend-2"), blind, "+{from}..{to}: {line}");
        }
    }
}

#[test]
fn a_router_of_another_model_is_no_measure_of_what_a_router_should_find() {
    let all = frames(&fixture("mixed/one_of_two_models_unique.frames.gz"));
    for (from, to) in [(18, 38), (36, 56), (51, 56)] {
        let seen = played(&attached(&all, from, to)).1;
        let line = check::text(&seen);

        assert_eq!(Status::new(&seen), Status::Ok, "+{from}..{to}: {line}");
    }
}

#[test]
fn workers_that_publish_nothing_do_not_keep_up_what_was_said_of_those_they_replaced() {
    // 0.9.0, publisher 32 and engine 16; new pods take their place, which here never publish.
    let all = recording("after_roll_fresh_090");
    let old: Vec<String> = played(&until(&all, 10))
        .1
        .workers
        .iter()
        .map(|row| row.rank.worker.0.to_string())
        .collect();
    let silent: Vec<Frame> = all
        .iter()
        .filter_map(|frame| match &frame.origin {
            Origin::Metrics { .. } => None,
            Origin::Nats { subject, .. } | Origin::Jetstream { subject, .. } => {
                let events = subject.ends_with(".kv-events")
                    && old.iter().any(|id| text(frame).contains(id));
                events.then(|| frame.clone())
            }
            Origin::Log { .. } => Some(with_text(frame, without_hits(&text(frame)))),
            _ => Some(frame.clone()),
        })
        .collect();
    assert_eq!(old.len(), 2, "{old:?}");

    assert!(open(&played(&until(&silent, 20)).1, "KVT001").is_some());
    for seconds in [100, 170] {
        assert_eq!(open(&played(&until(&silent, seconds)).1, "KVT001"), None, "+{seconds}");
    }
}
