//! `kvtop diff`: two states of a deployment.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::conventions::valid;
use crate::support::{fixture, scratch};

fn kvtop(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(arguments)
        .env("HOME", scratch())
        .env_remove("XDG_CONFIG_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn capture(name: &str) -> String {
    fixture(&format!("captures/{name}.frames.gz")).to_str().unwrap().to_owned()
}

/// Compares two files, and returns the exit code and the JSON.
fn compared(a: &str, b: &str, more: &[&str]) -> (Option<i32>, Value) {
    let output = kvtop(&[&["diff", a, b, "-o", "json"], more].concat());
    let json = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    (output.status.code(), json)
}

/// Returns the row of a setting or figure.
fn row<'a>(diff: &'a Value, name: &str) -> &'a Value {
    let found = diff["rows"].as_array().unwrap().iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {diff:#}"))
}

fn finding<'a>(diff: &'a Value, id: &str) -> &'a Value {
    let found = diff["findings"].as_array().unwrap().iter().find(|row| row["id"] == id);
    found.unwrap_or_else(|| panic!("{id}: {diff:#}"))
}

/// Writes a snapshot that `change` was applied to.
fn snapshot(name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let output = kvtop(&["snapshot", "-o", "json", "--replay", &capture(name)]);
    let mut json: Value = serde_json::from_slice(&output.stdout).unwrap();
    change(&mut json);
    let path = scratch().join(format!("{name}.json"));
    std::fs::write(&path, serde_json::to_string_pretty(&json).unwrap()).unwrap();
    path
}

#[test]
fn a_state_differs_from_itself_in_nothing_be_it_a_recording_or_its_snapshot() {
    let recording = capture("1.0.2-kube_healthy");
    let file = snapshot("1.0.2-kube_healthy", |_| {});
    let file = file.to_str().unwrap();
    for (a, b) in [(recording.as_str(), recording.as_str()), (&recording, file), (file, file)] {
        let (code, diff) = compared(a, b, &[]);
        assert_eq!((code, &diff["same"]), (Some(0), &json!(true)), "{diff:#}");
        assert!(diff["counts"]["same"].as_u64().unwrap() > 20, "{diff:#}");
    }
    let output = kvtop(&["diff", file, &recording]);
    assert!(text(&output.stdout).contains("No difference: "), "{}", text(&output.stdout));
}

#[test]
fn a_fault_is_raised_with_the_setting_behind_it_and_cleared_the_other_way() {
    let (healthy, fault) = (capture("0.9.0-healthy"), capture("0.9.0-mm_pub32_eng16"));

    let (code, diff) = compared(&healthy, &fault, &[]);
    let (_, back) = compared(&fault, &healthy, &[]);

    assert_eq!(code, Some(1));
    assert_eq!(finding(&diff, "KVT001")["state"], "raised");
    assert_eq!(finding(&back, "KVT001")["state"], "cleared");
    let status = row(&diff, "status");
    assert_eq!((&status["a"], &status["b"]), (&json!("OK"), &json!("CRITICAL")));
    let size = row(&diff, "router block_size");
    assert_eq!((&size["a"][0]["value"], &size["b"][0]["value"]), (&json!("16"), &json!("32")));
    let held = row(&diff, "blocks held");
    assert!(held["a"].as_f64().unwrap() > 0.0 && held["b"] == 0.0, "{held}");
    assert_eq!(held["delta"].to_string(), format!("-{}", held["a"]));
    assert_eq!(held["relative"].to_string(), "-1.0");
    valid("diff", [("there".to_owned(), diff), ("back".to_owned(), back)].into_iter());
    let shown = text(&kvtop(&["diff", &healthy, &fault]).stdout);
    for part in ["FINDINGS\n", "KVT001 block-size-mismatch", "raised", "SETTINGS\n"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let page = text(&kvtop(&["diff", &healthy, &fault, "-o", "md"]).stdout);
    assert!(page.contains("| KVT001 block-size-mismatch | raised |"), "{page}");
}

#[test]
fn a_value_known_on_one_side_only_is_unknown_on_the_other_and_never_0() {
    let whole = snapshot("0.9.0-healthy", |_| {});
    let older = snapshot("0.9.0-healthy", |json| {
        let fields = json.as_object_mut().unwrap();
        for name in ["findings", "checks", "status", "hits"] {
            fields.remove(name).unwrap();
        }
        json["tree"]["held_blocks"] = Value::Null;
        json["workers"][0]["rates"] = Value::Null;
    });

    let (code, diff) = compared(whole.to_str().unwrap(), older.to_str().unwrap(), &[]);
    let shown = kvtop(&["diff", older.to_str().unwrap(), whole.to_str().unwrap()]);

    assert_eq!(code, Some(1));
    for name in ["blocks held", "stores", "status"] {
        let row = row(&diff, name);
        assert_eq!((&row["b"], &row["state"]), (&Value::Null, &json!("only-a")), "{row}");
        assert_eq!(row["delta"], Value::Null, "{row}");
    }
    assert_eq!(finding(&diff, "KVT001")["state"], "unknown-in-b");
    assert!(diff["lacking"][0].as_str().unwrap().starts_with("B: "), "{diff:#}");
    let shown = text(&shown.stdout);
    assert!(shown.contains("unknown in A") && shown.contains("A: not enough data to judge KVT001"));
    valid("diff", std::iter::once(("older".to_owned(), diff)));
}

#[test]
fn workers_are_matched_by_id_and_by_pod_and_those_that_joined_or_left_are_named() {
    let before = snapshot("1.0.2-kube_healthy", |_| {});
    let mut known = (String::new(), String::new());
    let after = snapshot("1.0.2-kube_healthy", |json| {
        let all = json["workers"].as_array_mut().unwrap();
        all[0]["id"] = json!("4242");
        known.0 = all[0]["pod"].as_str().unwrap().to_owned();
        known.1 = all[1]["pod"].as_str().unwrap().to_owned();
        all[1]["id"] = json!("4243");
        all[1]["pod"] = json!("newcomer");
    });

    let (_, diff) = compared(before.to_str().unwrap(), after.to_str().unwrap(), &[]);

    let of = |subject: &str| -> Vec<&Value> {
        let rows = diff["rows"].as_array().unwrap().iter();
        rows.filter(|row| row["subject"] == subject && row["state"] == "changed").collect()
    };
    assert_eq!(of(&known.0)[0]["name"], "id (restarted)");
    assert_eq!(of(&known.1)[0]["b"], "absent");
    assert_eq!(of("newcomer")[0]["b"], "present");
}

#[test]
fn a_recording_is_compared_with_itself_at_two_moments() {
    let path = capture("0.9.0-mm_pub32_eng16");
    let (code, diff) = compared(&path, &path, &["--at-a", "1s"]);
    assert_eq!(code, Some(1));
    assert!(diff["a"]["at"].as_str().unwrap() < diff["b"]["at"].as_str().unwrap(), "{diff:#}");
    let file = snapshot("0.9.0-healthy", |_| {});
    let output = kvtop(&["diff", &path, file.to_str().unwrap(), "--at-b", "-1s"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--at-b is for recordings"));
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line_that_quotes_nothing_of_it() {
    let folder = scratch();
    let whole = std::fs::read(snapshot("0.9.0-healthy", |_| {})).unwrap();
    let deep = format!("{{\"contract\":1,\"workers\":{}", "[".repeat(100_000));
    let cases: [(&str, &[u8], &str); 9] = [
        ("empty", b"", "it is neither a recording"),
        ("secret", b"password: hunter2\n", "line 1, column 1"),
        ("other", b"{\"hunter2\": 1}", "it is neither a recording"),
        ("lint", b"{\"contract\": 1, \"documents\": 3}", "it is neither a recording"),
        ("later", b"{\"contract\": 2, \"workers\": []}", "contract 2"),
        ("type", b"{\"contract\": 1, \"workers\": \"hunter2\"}", "line 1, column"),
        ("truncated", &whole[..whole.len() / 2], "it is truncated"),
        ("deep", deep.as_bytes(), "line 1, column"),
        ("binary", b"\0\x1b[31m\xff\xff", "line 1"),
    ];
    let good = capture("0.9.0-healthy");
    for (name, bytes, why) in cases {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        let output = kvtop(&["diff", &good, path.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{name}: {said}");
        assert!(said.contains(why) && !said.contains("hunter2"), "{name}: {said}");
        assert!(output.stdout.is_empty());
    }
    let missing = kvtop(&["diff", &good, "/nowhere"]);
    assert_eq!(missing.status.code(), Some(2));
    assert_eq!(kvtop(&["diff", &good]).status.code(), Some(2));
    // What a file names does not steer the terminal.
    let hostile = snapshot("0.9.0-healthy", |json| {
        json["dynamo"]["model"] = json!("\u{1b}[2J\u{1b}]0;x\u{7}evil");
    });
    let output = kvtop(&["diff", &good, hostile.to_str().unwrap()]);
    assert!(!output.stdout.contains(&0x1b) && text(&output.stdout).contains("evil"));
}
