//! Recordings of real deployments against what an independent reference counted in them.

use serde_json::Value;

use kvtop::domain::Release;
use kvtop::frame::{Body, Frame, Origin};

use crate::support::{captures, fixture, frames, played};
use kvtop::report::json;

fn expected() -> Value {
    let text = std::fs::read_to_string(fixture("captures/expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Compares the workers in the contract's JSON of one capture with the reference.
pub(crate) fn worker_differences(name: &str, found: &str) -> Vec<String> {
    compare_workers(name, &serde_json::from_str(found).unwrap(), &expected()[name])
}

fn difference(what: &str, found: Option<u64>, expected: u64) -> Option<String> {
    let wrong = found != Some(expected);
    wrong.then(|| format!("{what}: found {found:?}, expected {expected}"))
}

fn compare_workers(name: &str, found: &Value, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let workers = expected["workers"].as_object().unwrap();
    for (rank, counts) in workers {
        let (id, dp_rank) = rank.split_once('/').unwrap();
        let worker = found["workers"].as_array().unwrap().iter().find(|worker| {
            worker["id"] == id && worker["dp_rank"] == dp_rank.parse::<u64>().unwrap()
        });
        for (ours, theirs) in [
            ("accepted", "accepted"),
            ("stores", "stores"),
            ("empty_stores", "empty_stores"),
            ("stored_blocks", "stored_blocks"),
            ("refused_stores", "refused_stores"),
            ("refused_blocks", "refused_blocks"),
            ("removed_blocks", "removed_hashes"),
            ("unknown_removals", "unknown_removals"),
        ] {
            let value = worker.and_then(|worker| worker[ours].as_u64());
            let expected = counts[theirs].as_u64().unwrap_or(0);
            wrong.extend(difference(&format!("{name} {rank} {ours}"), value, expected));
        }
    }
    let with_events =
        found["workers"].as_array().unwrap().iter().filter(|w| !w["last_event"].is_null()).count();
    let expected = workers.len() as u64;
    wrong.extend(difference(&format!("{name} ranks"), Some(with_events as u64), expected));
    wrong
}

fn compare_logs(name: &str, found: &Value, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for (ours, theirs) in [
        ("decisions", "log_decisions"),
        ("decisions_zero_overlap", "log_decisions_cached_0"),
        ("log_parent_warnings", "log_parent_warnings"),
        ("log_remove_warnings", "log_remove_warnings"),
    ] {
        if let Some(count) = expected["totals"][theirs].as_u64() {
            wrong.extend(difference(
                &format!("{name} {ours}"),
                found["router"][ours].as_u64(),
                count,
            ));
        }
    }
    wrong
}

#[test]
fn every_capture_replays_to_the_counts_of_the_reference() {
    let expected = expected();
    let mut wrong = Vec::new();
    for (name, path) in captures() {
        let (_, snapshot) = played(&frames(&path));
        let found: Value = serde_json::from_str(&json::snapshot(&snapshot)).unwrap();
        wrong.extend(compare_workers(&name, &found, &expected[&name]));
        wrong.extend(compare_logs(&name, &found, &expected[&name]));
        assert_eq!(snapshot.rejects.count, 0, "{name}: {:?}", snapshot.rejects);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn frames_in_bursts_and_one_by_one_give_the_same_picture() {
    for (name, path) in captures().into_iter().filter(|(name, _)| name.contains("evict")) {
        let frames = frames(&path);
        let (_, in_bursts) = played(&frames);
        let mut engine = kvtop::engine::Engine::new(kvtop::engine::EngineOptions::default());
        for frame in &frames {
            engine.ingest(std::slice::from_ref(frame));
        }
        engine.settle();
        let one_by_one =
            engine.snapshot(&kvtop::snapshot::ViewQuery::default(), frames.last().unwrap().at);

        // How much room its tables take is the mirror's own affair.
        let comparable = |snapshot| {
            let mut value: Value = serde_json::from_str(&json::snapshot(snapshot)).unwrap();
            value["tree"]["memory_bytes"].take();
            value
        };
        assert!(comparable(&in_bursts) == comparable(&one_by_one), "{name}");
    }
}

#[test]
fn what_processes_do_tells_the_release_that_a_capture_is_of() {
    for (name, path) in captures() {
        let (_, snapshot) = played(&frames(&path));
        let release = Release::parse(&name).unwrap();
        let told = snapshot.deployment.version.unwrap();
        let expected = match (release.major, release.minor) {
            (0, 9) => "0.9 or earlier".to_owned(),
            (1, 0) => "1.0".to_owned(),
            // The form of KV events has an end, too.
            (1, 1 | 2) => format!("{release} to 1.3"),
            (1, 3 | 4) => release.to_string(),
            // Nothing tells 1.6 from 1.5.
            (1, 6) => "1.5 or later".to_owned(),
            _ => format!("{release} or later"),
        };
        assert_eq!(told, expected, "{name}");
        let checks: Vec<&str> = snapshot.findings.iter().map(|finding| finding.id).collect();
        assert!(!checks.contains(&"KVT019"), "{name}: {checks:?}");
    }
}

#[test]
fn releases_that_are_mixed_are_a_finding_that_names_both() {
    for (one, other, told) in [
        ("1.0.2-healthy", "1.4.2-healthy", ["1.0", "1.4 or later"]),
        ("1.2.1-healthy", "1.6.1-healthy", ["1.2 to 1.3", "1.5 or later"]),
        ("1.4.2-healthy", "1.6.1-healthy", ["1.4", "1.5 or later"]),
    ] {
        let mut all = frames(&fixture(&format!("captures/{one}.frames.gz")));
        all.extend(frames(&fixture(&format!("captures/{other}.frames.gz"))));
        all.sort_by_key(|frame| frame.at);
        let (_, snapshot) = played(&all);
        let finding = snapshot.findings.iter().find(|finding| finding.id == "KVT019").unwrap();
        assert!(finding.summary.contains("mixed"), "{}", finding.summary);
        assert!(told.iter().all(|it| finding.summary.contains(it)), "{}", finding.summary);
        let told = told.join(" and ");
        assert_eq!(snapshot.deployment.version.as_deref(), Some(&*told), "{one} and {other}");
    }
}

/// Returns a message of NATS core as a publisher on ZMQ frames the same envelope; under its whole
/// subject, as brokers of 1.4 and later do, or under its topic.
fn over_zmq(frame: &Frame, whole_subject: bool) -> Frame {
    let (Origin::Nats { subject, .. }, Body::Whole(envelope)) = (&frame.origin, &frame.body) else {
        return frame.clone();
    };
    // JetStream's messages have no envelope.
    if !subject.starts_with("namespace.") {
        return frame.clone();
    }
    let topic = if whole_subject { subject } else { subject.rsplit('.').next().unwrap() };
    let length = u32::try_from(envelope.len()).unwrap().to_be_bytes();
    let framed = [&[1], &length[..], envelope].concat();
    let parts = [topic.as_bytes().to_vec(), vec![0; 8], vec![0; 8], framed];
    Frame {
        origin: Origin::Zmq { endpoint: "tcp://10.0.0.1:5".into() },
        body: Body::Parts(parts.into_iter().map(Into::into).collect()),
        ..frame.clone()
    }
}

#[test]
fn envelopes_count_the_same_over_zmq_as_over_nats() {
    let expected = expected();
    let mut wrong = Vec::new();
    for (name, path) in captures() {
        let recorded = frames(&path);
        for whole_subject in [false, true] {
            let moved: Vec<Frame> =
                recorded.iter().map(|frame| over_zmq(frame, whole_subject)).collect();
            let (_, snapshot) = played(&moved);
            let found: Value = serde_json::from_str(&json::snapshot(&snapshot)).unwrap();
            wrong.extend(compare_workers(&name, &found, &expected[&name]));
            assert_eq!(snapshot.rejects.count, 0, "{name}: {:?}", snapshot.rejects);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_late_attach_says_how_much_of_what_engines_use_it_holds_at_most() {
    let all = frames(&fixture("captures/1.6.1-evict.frames.gz"));
    let is_event = |frame: &Frame| match &frame.origin {
        Origin::Nats { subject, .. } => {
            subject.contains("kv-events") || subject.contains("kv_events")
        }
        _ => false,
    };
    // Of the frames up to a moment at which engines are busy, the last `left` events.
    let said = |left: usize| {
        let seen = &all[..1200];
        let events = seen.iter().filter(|frame| is_event(frame)).count();
        let mut number = 0;
        let keep = |frame: &&Frame| {
            number += usize::from(is_event(frame));
            !is_event(frame) || number + left > events
        };
        let late: Vec<Frame> = seen.iter().filter(keep).cloned().collect();
        let (_, snapshot) = played(&late);
        snapshot.tree.incomplete.into_iter().find(|why| why.contains("unknown")).unwrap()
    };
    let percent = |said: &str| -> u64 {
        let said = said.strip_prefix("held at most ").unwrap();
        said.split(' ').next().unwrap().parse().unwrap()
    };

    let shares: Vec<u64> = [2, 5, 10].into_iter().map(|left| percent(&said(left))).collect();
    assert!(shares[0] > 0 && shares[2] < 100 && shares.is_sorted(), "{shares:?}");
    // More blocks than are in use need not be those, so that nothing is said of them.
    assert!(said(50).starts_with("2 of 2 ranks: blocks stored before"), "{}", said(50));
}
