//! Recorded deployments, met at many moments: one truth, whenever kvtop attaches.

use std::time::Duration;

use serde_json::{Value, json};

use kvtop::domain::{Grade, Severity, SourceName, SourceNote, Timestamp};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::report::check::{self, Status};
use kvtop::snapshot::Snapshot;
use kvtop::wire::health;

use super::{QUERY, Watch};
use crate::support::late::attached;
use crate::support::{fixture, frames, played};

/// Findings that would be a wrong cause where they are not the truth.
const CAUSES: [&str; 8] =
    ["KVT001", "KVT002", "KVT003", "KVT004", "KVT007", "KVT014", "KVT015", "KVT017"];

/// How a deployment is.
#[derive(Clone, Copy, Debug)]
enum Truth {
    /// Nothing is wrong, or not any more.
    Well,
    /// This is.
    Wrong(&'static str),
    /// A part of the workers is still wrong, so that it may be said or not.
    Partly(&'static str),
}

use Truth::{Partly, Well, Wrong};

/// Seconds of attaching and of judging, and the truth then.
type Moment = (u64, u64, Truth);

/// Recordings, each with what holds for whoever attaches and judges then.
const MOMENTS: &[(&str, &[Moment])] = &[
    // 0.9.0, publisher 32 and engine 16, cured by new containers in the same pods.
    (
        "after_fix_verify_090",
        &[
            (3, 11, Wrong("KVT001")),
            (8, 15, Wrong("KVT001")),
            (20, 29, Partly("KVT001")),
            (38, 46, Well),
            (45, 60, Well),
            (60, 100, Well),
            (100, 108, Well),
        ],
    ),
    // The same, cured by new pods.
    (
        "after_roll_fresh_090",
        &[
            (2, 9, Wrong("KVT001")),
            (8, 20, Wrong("KVT001")),
            (28, 36, Partly("KVT001")),
            (38, 47, Well),
            (45, 75, Well),
            (90, 100, Well),
            (160, 172, Well),
        ],
    ),
    // 0.9.0, the router restarted without history, cured by new workers; no traffic afterwards.
    (
        "nohist_090",
        &[
            (5, 15, Well),
            (40, 50, Wrong("KVT007")),
            (52, 65, Wrong("KVT007")),
            (88, 96, Well),
            (120, 150, Well),
            (200, 225, Well),
        ],
    ),
    ("roll_healthy_161", &[(5, 15, Well), (20, 45, Well)]),
    ("disagg_161", &[(5, 15, Well), (30, 50, Well), (50, 61, Well)]),
    ("healthy_102", &[(5, 15, Well), (25, 45, Well), (60, 70, Well), (130, 160, Well)]),
];

fn recording(name: &str) -> Vec<Frame> {
    frames(&fixture(&format!("live/{name}.frames.gz")))
}

/// Returns what is wrong with the verdict in `seen`, if anything.
fn mistake(seen: &Snapshot, truth: Truth) -> Option<String> {
    let named = |id: &str| {
        let mut rows = seen.findings.iter().filter(|row| row.severity > Severity::Info);
        rows.any(|row| row.id == id && row.resolved.is_none())
    };
    let told = seen.findings.iter().chain(seen.past.iter());
    let told: Vec<&str> =
        told.filter(|row| row.severity > Severity::Info).map(|row| row.id).collect();
    let allowed = |id: &str| match truth {
        Well => false,
        Wrong(cause) | Partly(cause) => cause == id,
    };
    if let Wrong(cause) = truth
        && !named(cause)
    {
        return Some(format!("{cause} is not named, but {told:?}"));
    }
    let wrong: Vec<&str> =
        told.into_iter().filter(|id| CAUSES.contains(id) && !allowed(id)).collect();
    (!wrong.is_empty()).then(|| format!("{wrong:?}"))
}

#[test]
fn whoever_attaches_before_during_or_after_a_fault_is_told_the_truth_of_that_moment() {
    let mut mistakes = Vec::new();
    for (name, moments) in MOMENTS {
        let all = recording(name);
        for (from, until, truth) in *moments {
            let (_, seen) = played(&attached(&all, *from, *until));
            let wrong = mistake(&seen, *truth);
            mistakes.extend(wrong.map(|why| format!("{name} +{from}..{until} {truth:?}: {why}")));
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

/// Settings and logs may show a fault before a busy server says that it has a history, which takes a while to read.
#[test]
fn no_verdict_is_given_before_it_is_known_whether_there_is_a_history_to_read() {
    const LISTED: Duration = Duration::from_secs(4);
    let mut all = attached(&recording("after_fix_verify_090"), 8, 30);
    let began = all[0].at;
    let is_history = |frame: &Frame| matches!(frame.origin, Origin::Jetstream { .. });
    let is_of_nats = |frame: &Frame| matches!(&frame.origin, Origin::Health { source } if *source == SourceName::Nats);
    let listed = all.iter().find(|frame| frame.at > began && is_of_nats(frame)).unwrap().clone();
    let settled = listed.at.after(LISTED);
    for frame in &mut all {
        // What a stream keeps, and what came meanwhile, follow the list.
        if is_history(frame) || is_of_nats(frame) && frame.at > began {
            frame.at = frame.at.after(LISTED);
        } else if matches!(frame.origin, Origin::Nats { .. }) {
            frame.at = frame.at.max(settled);
        }
    }
    let connected = health::decode(&SourceName::Nats, listed.at, br#"{"state":"live"}"#).unwrap();
    let connected = health::encode(&SourceNote { pending: true, ..connected });
    all.push(Frame::new(listed.at, listed.origin.clone(), connected));
    all.sort_by_key(|frame| frame.at);

    let (mut watch, mut from) = (Watch::new(), 0);
    let mut given = Vec::new();
    for quarter in 1..=48_u32 {
        let at = began.after(Duration::from_millis(250) * quarter);
        let until = all.partition_point(|frame| frame.at <= at);
        let seen = watch.look(&all[from..until], at);
        from = until;
        let status = Status::new(&seen);
        if status != Status::Unknown {
            given.push((at.since(began), status));
        }
    }

    let (first, _) = given[0];
    assert!(first >= LISTED, "{given:?}");
    assert_eq!(given.last().unwrap().1, Status::Critical, "{given:?}");
    let since = given.iter().filter(|(_, status)| *status == Status::Critical).count();
    assert_eq!(since, given.len(), "a verdict is not taken back: {given:?}");
}

#[test]
fn a_replay_reaches_the_verdicts_that_were_reached_live() {
    let all = recording("after_fix_verify_090");
    let end = all.last().unwrap().at;
    let verdicts = |looks: bool| {
        let mut engine = Engine::new(EngineOptions::default());
        for (number, frame) in all.iter().enumerate() {
            engine.ingest(std::slice::from_ref(frame));
            // Somebody looks at odd moments, in the middle of seconds.
            if looks && number % 7 == 0 {
                let _ = engine.snapshot(&QUERY, frame.at);
            }
        }
        let seen = engine.snapshot(&QUERY, end);
        let rows = seen.findings.iter().chain(seen.past.iter());
        let rows = rows.map(|row| (row.id, row.raised, row.resolved, row.summary.clone()));
        rows.collect::<Vec<(_, Timestamp, _, _)>>()
    };

    let live = verdicts(true);
    assert!(live.iter().any(|(id, ..)| *id == "KVT001"), "{live:?}");
    assert_eq!(live, verdicts(false));
}

#[test]
fn an_idle_deployment_without_anything_wrong_is_ok_and_says_for_how_long() {
    let all = recording("healthy_102");
    for (from, until) in [(60, 75), (80, 125), (150, 180)] {
        let (_, seen) = played(&attached(&all, from, until));
        let line = check::text(&seen);
        assert_eq!(Status::new(&seen), Status::Ok, "+{from}..{until}: {line}");
        assert!(line.contains("no traffic for"), "{line}");
    }
}

#[test]
fn workers_that_were_replaced_are_gone_for_whoever_attaches_later() {
    let all = recording("after_roll_fresh_090");
    let (_, seen) = played(&attached(&all, 60, 75));
    let of = |gone: bool| {
        let rows = seen.workers.iter().filter(|row| row.gone == gone);
        rows.map(|row| row.counters.stores > 0).collect::<Vec<bool>>()
    };

    assert_eq!(of(true), [true, true], "their history is kept");
    assert_eq!(of(false), [true, true], "two are there");
}

#[test]
fn history_that_is_lost_in_part_is_found_by_who_attaches_without_it() {
    // 0.9.0: the stream keeps 5 s, the frontend was killed 15 s later, and kvtop came 20 s after that.
    let all = recording("nohist_partial_090");
    let without = |what: &str| -> Vec<Frame> {
        let edit = |frame: &Frame| {
            let mut frame = frame.clone();
            if let Body::Whole(bytes) = &frame.body {
                let text = String::from_utf8_lossy(bytes).replace(what, "unsaid");
                frame.body = Body::Whole(text.into_bytes().into());
            }
            frame
        };
        all.iter().map(edit).collect()
    };

    let (_, seen) = played(&all);
    let found = seen.findings.iter().find(|row| row.id == "KVT007").unwrap();
    assert_eq!((found.severity, found.grade), (Severity::Critical, Grade::Likely));
    let claims = ["router_start", "first_rejected", "stream_keeps"];
    for claim in claims {
        assert!(found.evidence.iter().any(|row| row.kind == claim), "{claim}: {found:?}");
    }
    let share = seen.totals.orphan_share.unwrap();
    assert!((0.05..0.2).contains(&share), "{share}");

    // A recording of a version that did not ask the stream for how long it keeps events.
    let (_, seen) = played(&without("keeps_ms"));
    assert!(seen.findings.iter().all(|row| row.id != "KVT007"));
    assert_eq!(Status::new(&seen), Status::Unknown);
}

#[test]
fn what_is_older_than_the_attach_is_no_loss_and_no_imbalance() {
    let late = [
        ("cleared_161", "KVT014"),
        ("empty_stores_of_one_model", "KVT014"),
        ("two_planes", "KVT014"),
        ("unregistered", "KVT014"),
        ("back_in_discovery_090", "KVT011"),
    ];
    for (name, id) in late {
        let all = frames(&fixture(&format!("late/{name}.frames.gz")));
        let (mut watch, mut from) = (Watch::new(), 0);
        let mut at = all[0].at;
        while from < all.len() {
            at = at.after(Duration::from_secs(1));
            let until = all.partition_point(|frame| frame.at <= at);
            let seen = watch.look(&all[from..until], at);
            from = until;
            let raised = seen.findings.iter().find(|finding| finding.id == id);
            let raised = raised.map(|finding| finding.summary.as_str());
            assert_eq!(
                raised,
                None,
                "{name}, {} s after the attach",
                at.since(all[0].at).as_secs()
            );
        }
    }
}

/// The router of 0.9.0 hashes 16-token blocks where workers publish 32, and is replaced after its last request.
fn replaced(how: Replaced) -> Vec<Frame> {
    const LEFT: Duration = Duration::from_secs(60);
    let mut all = frames(&fixture("cases/x_router16_card32_0.9.0.frames.gz"));
    let first = all[0].at;
    let is_health = |frame: &&Frame| matches!(frame.origin, Origin::Health { .. });
    let notes: Vec<Frame> = all.iter().filter(is_health).cloned().collect();
    let named = |frame: &Frame, name: &str| {
        let Body::Whole(body) = &frame.body else { return false };
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        matches!(frame.origin, Origin::Kube { .. }) && object["metadata"]["name"] == name
    };
    let old = all.iter().find(|frame| named(frame, "frontend")).unwrap().clone();
    let Body::Whole(body) = &old.body else { panic!("{old:?}") };
    let pod: Value = serde_json::from_slice(body).unwrap();
    let change = |change, seconds, pod: &Value| {
        let at = first.after(LEFT + Duration::from_secs(seconds));
        let origin = Origin::Kube { kind: "Pod".into(), change };
        Frame { at, origin, ..Frame::new(at, old.origin.clone(), pod.to_string()) }
    };
    let mut new = pod.clone();
    let started = i64::try_from(first.after(LEFT + Duration::from_secs(1)).0).unwrap();
    let started = jiff::Timestamp::from_microsecond(started).unwrap();
    let status = &mut new["status"]["containerStatuses"][0];
    status["state"] = json!({"running": {"startedAt": format!("{started:.0}")}});
    match how {
        Replaced::Container => {
            status["restartCount"] = json!(1);
            all.push(change(KubeChange::Modified, 2, &new));
        }
        Replaced::Pod => {
            new["metadata"]["name"] = json!("frontend-2");
            new["metadata"]["uid"] = json!("uid-frontend-2");
            all.push(change(KubeChange::Added, 2, &new));
            all.push(change(KubeChange::Deleted, 3, &pod));
        }
    }
    for heartbeat in 0..60 {
        let at = first.after(Duration::from_secs(46 + heartbeat * 5));
        all.extend(notes.iter().map(|note| Frame { at, ..note.clone() }));
    }
    all.sort_by_key(|frame| frame.at);
    all
}

#[derive(Clone, Copy, Debug)]
enum Replaced {
    /// The container of the pod is started anew.
    Container,
    /// Another pod takes its place.
    Pod,
}

#[test]
fn a_router_that_was_replaced_is_no_cause_of_now_though_nothing_is_routed_since() {
    for how in [Replaced::Container, Replaced::Pod] {
        let all = replaced(how);
        let seen_at = |from: u64, until: u64| {
            let frames = if from == 0 { all.clone() } else { attached(&all, from, until) };
            let end = all[0].at.after(Duration::from_secs(until));
            let frames: Vec<Frame> = frames.into_iter().filter(|frame| frame.at <= end).collect();
            played(&frames).1
        };
        let raised = |seen: &Snapshot| {
            let mut rows = seen.findings.iter().filter(|row| row.resolved.is_none());
            rows.find(|row| row.id == "KVT001").map(|row| row.mending.is_some())
        };

        assert_eq!(raised(&seen_at(0, 58)), Some(false), "{how:?}: the router is there");
        assert_eq!(raised(&seen_at(0, 80)), Some(true), "{how:?}: it is gone, which may not last");
        for until in [110, 200, 300] {
            let watched = seen_at(0, until);
            assert_eq!(raised(&watched), None, "{how:?}, +{until}");
            let late = seen_at(until - 20, until);
            for seen in [watched, late] {
                let line = check::text(&seen);
                assert_eq!(Status::new(&seen), Status::Ok, "{how:?}, +{until}: {line}");
                assert!(line.contains("no traffic for"), "{how:?}, +{until}: {line}");
            }
        }
    }
}
