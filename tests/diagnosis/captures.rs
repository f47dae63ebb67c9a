//! Every capture gets its verdict through the real binary, and so does its second half.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::snapshot::{CheckVerdict, Snapshot, ViewQuery};
use serde_json::Value;

use crate::support::{captures, fixture, frames, played, scratch};

/// Runs `kvtop check --replay` and returns its exit code and JSON.
fn checked(path: &Path) -> (i32, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "-o", "json", "--replay"])
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), serde_json::from_str(&text).unwrap())
}

/// Returns the ids of critical findings, in order.
fn critical(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let critical = findings.filter(|finding| finding["severity"] == "critical");
    critical.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(fixture("captures/expected.json")).unwrap()).unwrap()
}

/// Writes a recording without its first `cut` twelfths into a file of its own.
fn later(path: &Path, cut: usize, into: &Path) -> PathBuf {
    use std::io::Read as _;
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let half = into.join(path.file_stem().unwrap());
    let mut file = std::fs::File::create(&half).unwrap();
    writeln!(file, "{}", lines[0]).unwrap();
    for line in &lines[1 + (lines.len() - 1) * cut / 12..] {
        writeln!(file, "{line}").unwrap();
    }
    half
}

#[test]
fn every_capture_gets_its_verdict_and_no_other_alarm() {
    let expected = expected();
    for (name, path) in captures() {
        let (code, report) = checked(&path);
        let found = critical(&report);
        let verdict = expected[&name]["verdict"].as_str().unwrap();
        if verdict == "no critical" {
            assert!(found.is_empty(), "{name}: {found:?}");
            assert!(code < 2, "{name}: {code}\n{report:#}");
            // Small caches do churn; every other healthy run is simply good.
            let churns = name.contains("evict");
            assert!(churns || report["status"] == "OK", "{name}: {report:#}");
        } else {
            assert_eq!(found, [verdict], "{name}");
            assert_eq!(report["findings"][0]["id"], verdict, "{name}: the cause comes first");
            assert_eq!((code, &report["status"]), (2, &Value::from("CRITICAL")), "{name}");
        }
    }
}

#[test]
fn the_second_half_of_a_capture_gets_the_same_verdict_or_none() {
    let expected = expected();
    let folder = scratch();
    for (name, path) in captures() {
        let (code, report) = checked(&later(&path, 6, &folder));
        let found = critical(&report);
        let verdict = expected[&name]["verdict"].as_str().unwrap();
        let same = found == [verdict] && code == 2;
        let unknown = found.is_empty() && report["status"] == "UNKNOWN" && code == 3;
        let well = found.is_empty() && code < 2;
        if verdict == "no critical" {
            assert!(well || unknown, "{name}: {code} {found:?}");
        } else {
            // Where chains began before the attach nothing names the workers' size.
            let unnamed = verdict == "KVT001" && found == ["KVT015"] && code == 2;
            assert!(same || unnamed || unknown, "{name}: {code} {found:?}");
        }
    }
}

#[test]
fn whoever_comes_late_to_a_healthy_deployment_is_not_warned() {
    let expected = expected();
    let folder = scratch();
    for (name, path) in captures() {
        let healthy = expected[&name]["verdict"] == "no critical" && !name.contains("evict");
        for cut in [4, 8, 9].into_iter().filter(|_| healthy) {
            let (_, report) = checked(&later(&path, cut, &folder));
            let findings = report["findings"].as_array().unwrap().iter();
            let mut loud = findings.filter(|finding| finding["severity"] != "info");
            assert_eq!(loud.next(), None, "{name} without its first {cut} twelfths");
        }
    }
}

#[test]
fn a_router_that_misses_most_parents_is_not_called_well_for_want_of_warnings() {
    let path = fixture("captures/0.9.0-nohist.frames.gz");
    let (code, report) = checked(&later(&path, 9, &scratch()));

    assert_eq!((code, &report["status"]), (3, &Value::from("UNKNOWN")));
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == "KVT007").unwrap();

    assert_eq!(check["verdict"], "unknown", "{check}");
    assert!(
        check["missing"]
            .as_str()
            .unwrap()
            .starts_with("needs earlier history: routers lack the parents")
    );
}

#[test]
fn a_full_gauge_is_no_pressure_where_cached_blocks_are_not_counted() {
    // Of a larger engine only removals arrive: the mirror holds nothing of what is cached.
    let whole = frames(&fixture("captures/0.9.0-mm_trtllm_pub32_eng64.frames.gz"));
    let silent = whole.into_iter().filter(|it| !matches!(it.origin, Origin::Log { .. }));
    let (_, seen) = played(&silent.collect::<Vec<_>>());

    let check = seen.checks.iter().find(|check| check.id == "KVT010").unwrap();

    assert!(matches!(check.verdict, CheckVerdict::Unknown { .. }), "{check:?}");
}

#[test]
fn the_four_faces_are_told_apart_by_their_evidence() {
    let said = |name: &str| {
        let (_, report) = checked(&fixture(&format!("captures/{name}.frames.gz")));
        let top = &report["findings"][0];
        let claims = top["evidence"].as_array().unwrap().iter();
        let claims: Vec<String> =
            claims.map(|proof| proof["claim"].as_str().unwrap().to_owned()).collect();
        (top["summary"].as_str().unwrap().to_owned(), claims.join("; "))
    };

    let (incident, incident_proof) = said("0.9.0-incident_load10");
    let (card, card_proof) = said("0.9.0-mm_card16_eng32");
    let (larger, larger_proof) = said("0.9.0-mm_trtllm_pub32_eng64");
    let (history, history_proof) = said("0.9.0-nohist");

    assert!(incident.contains("All 480 store events arrived empty"), "{incident}");
    assert!(incident_proof.contains("Failed to find parent block"), "{incident_proof}");
    assert!(card.contains("16-token blocks, but workers publish 32-token blocks"), "{card}");
    assert!(card_proof.contains("prefixes reused by engines"), "{card_proof}");
    assert!(larger.contains("workers publish 32-token blocks but engines use 64"), "{larger}");
    assert!(larger_proof.contains("removals without stores"), "{larger_proof}");
    assert!(
        history.contains("68 of 70 rejected stores build on blocks stored before the restart"),
        "{history}"
    );
    assert!(history_proof.contains("parents that kvtop holds"), "{history_proof}");
}

#[test]
fn all_evidence_has_an_age_and_that_of_logs_is_of_the_last_line() {
    for (name, path) in captures() {
        let (_, report) = checked(&path);
        for finding in report["findings"].as_array().unwrap() {
            for proof in finding["evidence"].as_array().unwrap() {
                assert!(proof["at"].is_string(), "{name} {}: {proof}", finding["id"]);
            }
        }
    }
    // An hour after the last line, the count keeps the time of that line.
    let mut frames = frames(&fixture("captures/0.9.0-incident_load10.frames.gz"));
    let warned = |frame: &&Frame| match &frame.body {
        Body::Whole(text) => text.windows(11).any(|part| part == b"Failed to f"),
        Body::Parts(_) => false,
    };
    let said = frames.iter().filter(warned).map(|frame| frame.at).max().unwrap();
    let late = said.after(Duration::from_secs(3600));
    let origin = Origin::Metrics { pod: "frontend".into(), url: "/metrics".into() };
    frames.push(Frame::new(late, origin, String::new()));
    let (_, seen) = played(&frames);
    let top = &seen.findings[0];
    let of = |claim: &str| top.evidence.iter().find(|row| row.claim == claim).unwrap().at.unwrap();
    assert_eq!(of("\"Failed to find parent block\"").seconds(), said.seconds());
    // The index copy's counts are dated alike: the rule last judged them while stores arrived.
    let counted = of("empty store events");
    assert!(counted >= said && counted.since(said).as_secs() < 400, "{counted:?}");
}

#[test]
fn a_recording_of_seconds_does_not_tell_of_minutes() {
    let (_, report) = checked(&fixture("captures/0.9.0-evict.frames.gz"));
    let findings = report["findings"].as_array().unwrap();
    let churn = findings.iter().find(|finding| finding["id"] == "KVT009").unwrap();

    let summary = churn["summary"].as_str().unwrap();
    assert!(summary.contains("evicted within the previous 10 minutes ("), "{summary}");
    assert!(!churn["effect"].to_string().contains("minutes"), "{churn}");
}

#[test]
fn text_and_metrics_say_the_same_as_the_json() {
    let run = |name: &str, format: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
            .args(["check", "-o", format, "--replay"])
            .arg(fixture(&format!("captures/{name}.frames.gz")))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };

    let line = run("0.9.0-incident_load10", "text");
    let page = run("0.9.0-incident_load10", "prometheus");
    let healthy = run("0.9.0-healthy", "text");

    assert!(
        line.starts_with("KVTOP CRITICAL - KVT001 block-size-mismatch (CONFIRMED): "),
        "{line}"
    );
    assert!(line.contains(" | critical=1 "), "{line}");
    assert_eq!(line.lines().count(), 1);
    assert!(page.contains("kv_router_block_size_mismatch_total{finding=\"KVT001\"} 1\n"), "{page}");
    assert!(
        page.contains("kvtop_seen_events{kind=\"empty_stores\",when=\"live\"} 480\n"),
        "{page}"
    );
    assert!(healthy.starts_with("KVTOP OK - "), "{healthy}");
}

#[test]
fn the_line_says_how_many_checks_cannot_be_judged() {
    let all = frames(&fixture("captures/0.9.0-nohist.frames.gz"));
    let mute = all.into_iter().filter(|frame| !matches!(frame.origin, Origin::Log { .. }));
    let (_, seen) = played(&mute.collect::<Vec<_>>());
    let count =
        |is: fn(&CheckVerdict) -> bool| seen.checks.iter().filter(|it| is(&it.verdict)).count();
    let open = count(|verdict| matches!(verdict, CheckVerdict::Unknown { .. }));
    let clear = count(|verdict| *verdict == CheckVerdict::Clear);

    let line = kvtop::report::check::text(&seen);

    // Without a router's log nobody can tell that it lost its history.
    let all = seen.checks.len();
    let known = format!(
        "KVTOP OK - {clear} of {all} checks passed, {open} checks do not have enough data yet (including KVT007), 1 note. "
    );
    assert!(line.starts_with(&known), "{line}");
}

#[test]
fn what_cannot_be_looked_at_is_unknown_and_so_are_misspelt_arguments() {
    let code = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kvtop")).args(args).output().unwrap();
        output.status.code().unwrap()
    };

    assert_eq!(code(&["check", "--replay", "no-such-file.frames"]), 3);
    assert_eq!(code(&["check", "--no-such-flag"]), 3);
    assert_eq!(code(&["check", "--help"]), 0);
    assert_eq!(code(&["stat", "--no-such-flag"]), 2);
    assert_eq!(code(&["explain", "KVT001"]), 0);
    assert_eq!(code(&["explain", "KVT999"]), 2);
}

/// Lines of a frontend of Dynamo 0.9 whose users suspected a router that hashes blocks of 16 tokens.
pub(super) const REPORTED: [(u64, &str); 10] = [
    (7_702_713_015_953_616, "138.656"),
    (7_702_713_015_953_616, "124.031"),
    (4_467_334_888_485_367, "48.781"),
    (4_467_334_888_485_367, "104.562"),
    (4_467_334_888_485_367, "155.844"),
    (7_702_713_015_953_616, "85.094"),
    (7_702_713_015_953_616, "113.344"),
    (7_702_713_015_953_616, "167.312"),
    (4_467_334_888_485_367, "201.594"),
    (4_467_334_888_485_367, "146.219"),
];

#[test]
fn the_reported_costs_are_of_blocks_of_32_tokens_and_accuse_no_router() {
    use std::fmt::Write as _;
    let mut lines = String::from("{\"kvtop_frames\":1,\"dynamo\":\"0.9.0\"}\n");
    for (number, (worker, logit)) in REPORTED.iter().enumerate() {
        let text = format!(
            "2026-02-16T14:38:53.950961Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: \
             worker_id={worker} dp_rank=0, logit: {logit}, cached blocks: 0, tree size: 0"
        );
        let from = serde_json::json!({"log": {
            "namespace": "demo", "pod": "gtc-demo-0-frontend-rmjwp", "container": "main",
        }});
        let at = 1_771_252_733_950_961 + number as u64 * 1_000_000;
        let line = serde_json::json!({"at": at, "from": from, "text": text});
        writeln!(lines, "{line}").unwrap();
    }
    let path = scratch().join("reported.frames");
    std::fs::write(&path, lines).unwrap();

    let (code, report) = checked(&path);
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["snapshot", "-o", "json", "--replay"])
        .arg(&path)
        .output()
        .unwrap();
    let snapshot: Value = serde_json::from_slice(&output.stdout).unwrap();

    assert_eq!(snapshot["router"]["block_size_inferred"], 32);
    assert_eq!((code, critical(&report)), (3, Vec::new()), "{report:#}");
}

/// Returns the frames of one capture after another, with a pause of twelve minutes between them.
fn one_after_the_other(names: [&str; 2]) -> Vec<Frame> {
    let of = |name: &str| frames(&fixture(&format!("captures/{name}.frames.gz")));
    let [mut first, second] = names.map(of);
    let begins = first.last().unwrap().at.after(Duration::from_secs(720));
    let start = second[0].at;
    let moved = |at: Timestamp| begins.after(at.since(start)).before(start.since(at));
    first.extend(second.into_iter().map(|frame| Frame {
        at: moved(frame.at),
        time: frame.time.map(moved),
        ..frame
    }));
    first
}

#[test]
fn a_recording_is_judged_by_its_end_whether_read_at_once_or_played() {
    for (names, mending) in [
        (["0.9.0-healthy", "0.9.0-incident_load10"], false),
        (["0.9.0-incident_load10", "0.9.0-healthy"], true),
    ] {
        let frames = one_after_the_other(names);
        let end = frames.last().unwrap().at;
        // Workers of two deployments also disagree, which is another matter.
        let row = |picture: &Snapshot| {
            let mut rows = picture.findings.iter();
            let row = rows.find(|row| row.id == "KVT001" && row.resolved.is_none())?;
            Some((row.raised.seconds(), row.mending.is_some()))
        };
        let (mut at_once, _) = played(&frames);
        let at_once = at_once.snapshot(&ViewQuery::default(), end);

        let mut engine = Engine::new(EngineOptions::default());
        let (mut now, mut rest) = (frames[0].at, &frames[..]);
        while now < end {
            now = now.after(Duration::from_millis(500)).min(end);
            let (due, later) = rest.split_at(rest.partition_point(|frame| frame.at <= now));
            engine.ingest(due);
            engine.snapshot(&ViewQuery::default(), now);
            rest = later;
        }
        engine.settle();
        let in_time = engine.snapshot(&ViewQuery::default(), end);

        assert_eq!(row(&at_once), row(&in_time), "{names:?}");
        assert_eq!(row(&at_once).map(|(_, mending)| mending), Some(mending), "{names:?}");
    }
}

#[test]
fn nothing_is_green_by_events_that_came_before_their_source_went_down() {
    let mut seen = frames(&fixture("captures/1.0.2-healthy.frames.gz"));
    let end = seen.last().unwrap().at;
    let note = |seconds: u64, state: &str| {
        let body = format!("{{\"state\":\"{state}\",\"why\":\"the connection was lost\"}}");
        let at = end.after(Duration::from_secs(seconds));
        Frame::new(at, Origin::Health { source: "nats".into() }, body)
    };
    let by_events = ["KVT001", "KVT003", "KVT008", "KVT014"];
    let clear = |picture: &Snapshot| {
        let mut clear: Vec<_> = picture
            .checks
            .iter()
            .filter(|check| by_events.contains(&check.id))
            .filter(|check| check.verdict == CheckVerdict::Clear)
            .map(|check| check.id)
            .collect();
        clear.sort_unstable();
        clear
    };
    seen.push(note(1, "live"));
    assert_eq!(clear(&played(&seen).1), by_events);

    seen.extend((2..20).map(|second| note(second, "down")));
    let (_, picture) = played(&seen);
    assert_eq!(clear(&picture), [""; 0]);
    let plane = picture.findings.iter().find(|row| row.id == "KVT004").unwrap();
    assert!(plane.summary.contains("the connection was lost"), "{}", plane.summary);
    assert!(plane.evidence.iter().any(|proof| proof.value.starts_with("none for ")));
}

#[test]
fn on_nine_event_numbers_that_repeat_start_no_worker_anew() {
    let once = frames(&fixture("captures/0.9.0-healthy.frames.gz"));
    let length = once.last().unwrap().at.since(once[0].at);
    let mut twice = once.clone();
    twice.extend(once.iter().map(|frame| Frame {
        at: frame.at.after(length),
        time: frame.time.map(|time| time.after(length)),
        ..frame.clone()
    }));

    let (_, seen) = played(&twice);

    let held = |seen: &Snapshot| seen.totals.accepted;
    assert_eq!(held(&seen), held(&played(&once).1));
    assert!(!seen.events.iter().any(|row| row.text.contains("started anew")));
}
