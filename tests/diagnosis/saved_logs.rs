//! Logs alone, as `kubectl logs` prints them, through the real binary.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kvtop::frame::{Body, Origin};
use serde_json::Value;

use super::captures::REPORTED;
use crate::support::{captures, fixture, frames, scratch};

/// Runs `kvtop check --logs`, with `input` as its standard input, and returns exit code and JSON.
fn judged(files: &[&Path], input: &str) -> (i32, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "-o", "json", "--logs"])
        .args(files)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // What is refused at its first bytes is not read to its end.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), serde_json::from_str(&text).unwrap())
}

/// Returns findings that are worse than notes.
fn wrong(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().unwrap().iter();
    let wrong = findings.filter(|finding| finding["severity"] != "info");
    wrong.map(|it| (it["id"].as_str().unwrap(), it["grade"].as_str().unwrap())).collect()
}

fn missing<'a>(report: &'a Value, id: &str) -> &'a str {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == id).unwrap();
    check["missing"].as_str().unwrap_or_default()
}

/// Writes the logs of a capture into files of their own, by pod.
fn logs_of(capture: &Path) -> BTreeMap<String, PathBuf> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for frame in frames(capture) {
        if let (Origin::Log { pod, .. }, Body::Whole(line)) = (&frame.origin, &frame.body) {
            let text = texts.entry(pod.to_string()).or_default();
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
    }
    let folder = scratch();
    let written = texts.into_iter().map(|(pod, text)| {
        let path = folder.join(format!("{pod}.log"));
        std::fs::write(&path, text).unwrap();
        (pod, path)
    });
    written.collect()
}

#[test]
fn the_logs_of_a_capture_accuse_nobody_whom_the_whole_capture_does_not() {
    let expected: Value =
        serde_json::from_slice(&std::fs::read(fixture("captures/expected.json")).unwrap()).unwrap();
    let mut named = Vec::new();
    for (name, path) in captures() {
        let logs = logs_of(&path);
        let all: Vec<&Path> = logs.values().map(PathBuf::as_path).collect();
        let routers = logs.iter().filter(|(pod, _)| !pod.contains("worker"));
        let routers: Vec<&Path> = routers.map(|(_, path)| path.as_path()).collect();
        let verdict = expected[&name]["verdict"].as_str().unwrap();
        for files in [all, routers] {
            let (code, report) = judged(&files, "");
            for (id, grade) in wrong(&report) {
                assert_eq!(id, verdict, "{name}: {report:#}");
                named.push((name.clone(), grade.to_owned()));
            }
            if verdict == "no critical" {
                assert!(code == 0 || code == 3, "{name}: {code} {report:#}");
            } else {
                assert!(code >= 2, "{name}: {code} {report:#}");
            }
        }
    }
    // Workers' logs name both sizes; a router's alone says that stores arrive empty.
    let named: Vec<(&str, &str)> = named.iter().map(|(name, it)| (&**name, &**it)).collect();
    assert!(named.contains(&("0.9.0-incident_load10", "LIKELY")), "{named:?}");
    for name in ["0.9.0-mm_pub32_eng16", "1.0.2-mm_pub16_eng32", "1.6.1-mm_pub32_eng16"] {
        assert!(named.contains(&(name, "CONFIRMED")), "{named:?}");
        assert!(named.contains(&(name, "LIKELY")), "{named:?}");
    }
    assert!(named.contains(&("0.9.0-mm_trtllm_pub32_eng64", "CONFIRMED")), "{named:?}");
}

#[test]
fn lines_that_name_no_cached_blocks_are_not_said_to_be_missing() {
    for release in ["1.1.1", "1.2.1"] {
        let logs = logs_of(&fixture(&format!("captures/{release}-healthy.frames.gz")));
        let routers = logs.iter().filter(|(pod, _)| !pod.contains("worker"));
        let routers: Vec<&Path> = routers.map(|(_, path)| path.as_path()).collect();

        let (code, report) = judged(&routers, "");

        assert_eq!(code, 3, "{report:#}");
        let missing = missing(&report, "KVT001");
        let known = "no data on cache hits: none of 30 \"Selected worker\" lines names";
        assert!(missing.starts_with(known), "{release}: {missing}");
    }
    let (_, report) = judged(&[Path::new("-")], "INFO dynamo_llm: nothing of routing\n");
    let none = "needs log lines of a router or a worker (none found)";
    assert!([none, ""].contains(&missing(&report, "KVT001")), "{report:#}");
}

#[test]
fn the_reported_lines_are_of_blocks_of_32_tokens_in_every_form_in_which_they_can_be_saved() {
    const TIME: &str = "2026-02-16T14:38:53.950961Z";
    const TARGET: &str = "dynamo_llm::kv_router::scheduler";
    type Form = fn(&str) -> String;
    let forms: [Form; 6] = [
        |said| format!("{TIME}  INFO {TARGET}: {said}"),
        |said| format!("{TIME} {TIME}  INFO {TARGET}: {said}"),
        |said| format!("[pod/gtc-demo-0-frontend-rmjwp/main] {TIME}  INFO {TARGET}: {said}"),
        |said| {
            format!(
                "\u{1b}[2m{TIME}\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m \u{1b}[2m{TARGET}\u{1b}[0m\u{1b}[2m:\u{1b}[0m {said}"
            )
        },
        |said| {
            format!(
                "{{\"time\":\"{TIME}\",\"level\":\"INFO\",\"target\":\"{TARGET}\",\"message\":\"{said}\"}}"
            )
        },
        |said| format!(" INFO {TARGET}: {said}"),
    ];
    for form in forms {
        let lines = REPORTED.iter().map(|(worker, logit)| {
            form(&format!(
                "Selected worker: worker_id={worker} dp_rank=0, logit: {logit}, cached blocks: 0, \
                 tree size: 0"
            )) + "\n"
        });
        let text: String = lines.collect();
        let file = scratch().join("saved.txt");
        std::fs::write(&file, &text).unwrap();

        for (code, report) in [judged(&[Path::new("-")], &text), judged(&[&file], "")] {
            assert_eq!(code, 3, "{report:#}");
            assert_eq!(wrong(&report), [], "{text}");
            let told = missing(&report, "KVT001");
            assert!(
                told.starts_with("the router hashes 32-token blocks (from 10 costs)"),
                "{told}"
            );
            assert!(told.contains("10 of 10 requests had no cache hit"), "{told}");
            // What these lines do not tell, others of the same log may.
            for id in ["KVT007", "KVT013"] {
                assert!(!missing(&report, id).is_empty(), "{id} is clear: {report:#}");
            }
        }
    }
}

#[test]
fn warnings_alone_are_enough_and_few_are_not() {
    let line = "2026-02-16T14:38:53.950961Z  WARN dynamo_llm::kv_router::indexer: Failed to find parent \
                block; skipping store operation worker_id=\"77\" dp_rank=0 id=5 \
                parent_hash=Some(ExternalSequenceBlockHash(99)) num_blocks=";
    let of = |blocks: u32, count: usize| format!("{line}{blocks}\n").repeat(count);

    let empty = judged(&[Path::new("-")], &of(0, 20)).1;
    let few = judged(&[Path::new("-")], &of(0, 19)).1;
    let full = judged(&[Path::new("-")], &of(3, 40)).1;
    let mixed = judged(&[Path::new("-")], &(of(0, 30) + &of(3, 30))).1;

    assert_eq!(wrong(&empty), [("KVT001", "LIKELY")]);
    for report in [&few, &full, &mixed] {
        assert_eq!((wrong(report).len(), &report["exit"]), (0, &3.into()), "{report:#}");
    }
    assert!(
        missing(&few, "KVT001").starts_with("19 rejected stores were empty (at least 20 needed)")
    );
    assert!(missing(&full, "KVT007").contains("KVT014"), "{full:#}");
    assert!(missing(&full, "KVT001").starts_with("40 stores were rejected because"));
}

#[test]
fn what_is_no_log_is_refused_with_what_to_do() {
    let recording = fixture("wire/router-log/dynamo-0.9.frames");
    let packed = fixture("captures/0.9.0-healthy.frames.gz");
    let absent = Path::new("/nowhere/frontend.log");
    for (path, hint) in [
        (recording.as_path(), "--replay plays it"),
        (packed.as_path(), "decompress it first"),
        (absent, "could not read `/nowhere/frontend.log`"),
    ] {
        let (code, report) = judged(&[path], "");
        assert_eq!(code, 3);
        let error = report["error"].as_str().unwrap();
        assert!(error.contains(hint), "{error}");
    }
    let (code, report) = judged(&[Path::new("-")], "nothing of Dynamo\n");
    assert_eq!((code, wrong(&report).len()), (3, 0), "{report:#}");
}
