//! `kvtop mcp`, asked by the Python client of the Model Context Protocol, which is another implementation.

#![expect(clippy::print_stderr, reason = "a test that is left out says so")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::conventions::valid;
use crate::support::deployment::{Deployment, messages};
use crate::support::{fixture, scratch};

/// Returns a Python with the client: that of `KVTOP_MCP_PYTHON`, which `tests/run --all` sets.
fn python() -> Option<String> {
    let python = std::env::var("KVTOP_MCP_PYTHON").ok();
    if python.is_none() {
        eprintln!("left out: set KVTOP_MCP_PYTHON to a Python with the package mcp");
    }
    python
}

/// Starts `kvtop mcp` with these arguments and takes the steps of tests/mcp/client.py.
fn session(python: &str, arguments: &[&str], steps: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/client.py");
    let mut command = vec![env!("CARGO_BIN_EXE_kvtop"), "mcp"];
    command.extend(arguments);
    let mut client = Command::new(python)
        .arg(script)
        .arg(json!(command).to_string())
        .env("HOME", scratch())
        .env("KVTOP_TEST_PLAN", "2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(steps.to_string().as_bytes()).unwrap();
    let output = client.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}"))
}

/// Returns the output of a command without times.
fn kvtop(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(arguments)
        .env("HOME", scratch())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the path of a capture.
fn capture(name: &str) -> String {
    fixture("captures").join(format!("{name}.frames.gz")).to_str().unwrap().to_owned()
}

#[test]
fn tools_on_files_answer_what_the_commands_answer() {
    let Some(python) = python() else { return };
    let (fault, healthy) = (capture("0.9.0-incident_load10"), capture("0.9.0-healthy"));
    let lint = fixture("lint").to_str().unwrap().to_owned();

    let told = session(
        &python,
        &["--offline", fixture("captures").to_str().unwrap(), &lint],
        &json!([
            ["call", "check", { "file": fault }],
            ["call", "snapshot", { "file": healthy, "parts": ["status", "workers"] }],
            ["call", "diff", { "a": healthy, "b": fault }],
            ["call", "lint", { "files": [lint] }],
            ["call", "explain", { "finding": "KVT001" }],
            ["call", "tree", { "file": healthy, "limit": 10 }],
            ["call", "decisions", { "file": healthy, "limit": 5 }],
            ["call", "curve", { "file": capture("0.9.0-evict") }],
            ["call", "check", { "file": fault, "at": "1s" }],
            ["read", "kvtop://explain/KVT001"],
            ["read", "kvtop://reference/json"],
        ]),
    );

    assert_eq!(told["hello"]["serverInfo"]["name"], "kvtop");
    let tools = told["tools"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 9);
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{tools:#?}");
    let described = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["outputSchema"]["type"] == "object"
    };
    // The client holds each answer against its schema as well.
    for name in ["check", "curve", "decisions", "tree", "diff", "lint", "plan"] {
        assert!(described(name), "{name}");
    }
    let answers = told["answers"].as_array().unwrap();
    let value = |at: usize| &answers[at]["structuredContent"];
    for (at, kind) in [(5, "tree"), (6, "decisions"), (7, "curve")] {
        valid(kind, [(kind.to_owned(), value(at).clone())].into_iter());
    }
    assert_eq!(*value(0), kvtop(&["check", "-o", "json", "--replay", &fault]));
    assert_eq!(serde_json::from_str::<Value>(text(&answers[0])).unwrap(), *value(0));
    let whole = kvtop(&["snapshot", "-o", "json", "--replay", &healthy]);
    assert_eq!(*value(1), json!({ "status": whole["status"], "workers": whole["workers"] }));
    assert_eq!(*value(2), kvtop(&["diff", "-o", "json", &healthy, &fault]));
    let linted = kvtop(&["lint", "-o", "json", &lint]);
    assert_eq!(value(3)["documents"], linted["documents"]);
    assert_eq!(value(3)["findings"][0], linted["findings"][0]);
    assert!(text(&answers[4]).starts_with("KVT001 block-size-mismatch\n"));
    let rows = value(5)["rows"].as_array().unwrap();
    assert!((2..=10).contains(&rows.len()) && rows[1]["held_by"][0].is_string(), "{rows:#?}");
    assert_eq!(value(6)["decisions"].as_array().unwrap().len(), 5);
    assert_eq!(value(7)["capacity_curve"]["points"].as_array().unwrap().len(), 4);
    assert!(value(8)["at"].as_str() < value(0)["at"].as_str());
    assert!(answers[9]["contents"][0]["text"].as_str().unwrap().contains("block size"));
    assert!(answers[10]["contents"][0]["text"].as_str().unwrap().starts_with("# JSON output"));
}

#[test]
fn a_plan_answers_with_ranges_or_with_the_reason_why_there_is_none() {
    let Some(python) = python() else { return };
    let healthy = capture("0.9.0-healthy");

    let told = session(
        &python,
        &["--offline", fixture("captures").to_str().unwrap()],
        &json!([
            ["call", "plan", { "file": healthy }],
            ["call", "plan", { "file": healthy, "users": 2, "questions": ["workers"], "drain": "w0" }],
            ["call", "plan", { "file": healthy, "users": 2, "drain": "nobody" }],
            ["call", "plan", { "file": healthy, "questions": ["wrokers"] }],
            ["call", "plan", { "file": healthy, "users": 0 }],
        ]),
    );

    let answers = told["answers"].as_array().unwrap();
    for at in [0, 2] {
        assert_ne!(answers[at]["isError"], true, "{:#}", answers[at]);
        let plan = &answers[at]["structuredContent"];
        assert!(plan["impossible"].as_str().unwrap().starts_with("No plan: "), "{plan:#}");
        assert_eq!(plan["answers"], json!([]));
    }
    let plan = &answers[1]["structuredContent"];
    assert!(plan["impossible"].is_null(), "{plan:#}");
    let rows = plan["answers"].as_array().unwrap();
    let changes: Vec<&str> = rows.iter().map(|row| row["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["now", "workers", "workers", "drain"], "{plan:#}");
    assert_eq!(plan["seeds"], json!([1, 2, 3]));
    valid("plan", [("plan".to_owned(), plan.clone())].into_iter());
    assert!(text(&answers[3]).contains("no question is called `wrokers`"), "{}", answers[3]);
    assert!(text(&answers[4]).contains("`users` is not 1 to "), "{}", answers[4]);
}

#[test]
fn what_the_user_did_not_name_is_refused_in_one_line_that_tells_nothing_of_it() {
    let Some(python) = python() else { return };
    let secret = scratch().join("secret");
    std::fs::write(&secret, "hunter2").unwrap();
    let beside = fixture("captures/../../../Cargo.toml");
    let link = scratch().join("link");
    std::os::unix::fs::symlink(&secret, &link).unwrap();

    let told = session(
        &python,
        &[
            "--offline",
            fixture("captures").to_str().unwrap(),
            link.parent().unwrap().to_str().unwrap(),
        ],
        &json!([
            ["call", "check", {}],
            ["call", "check", { "file": secret }],
            ["call", "check", { "file": beside }],
            ["call", "check", { "file": "/nowhere" }],
            ["call", "lint", { "files": [link] }],
            ["call", "check", { "file": fixture("captures/expected.json") }],
            ["call", "check", { "flie": capture("0.9.0-healthy") }],
            ["call", "explain", { "finding": "hunter2" }],
            ["call", "hunter2", {}],
            ["read", "file:///etc/passwd"],
        ]),
    );

    let answers = told["answers"].as_array().unwrap();
    for (at, why) in [
        (0, "no deployment is attached"),
        (1, "is not among the files"),
        (2, "is not among the files"),
        (3, "is not among the files"),
        (4, "is not among the files"),
        (5, "is not a kvtop recording"),
        (6, "unknown argument; known arguments: file, at"),
        (7, "unknown finding"),
        (8, "unknown tool"),
    ] {
        let said = text(&answers[at]);
        assert_eq!(answers[at]["isError"], true, "{said}");
        assert!(said.contains(why) && said.lines().count() == 1, "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    assert!(answers[9]["refused"].is_string(), "{}", answers[9]);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_attaches_once_and_answers_about_the_live_deployment() {
    let Some(python) = python() else { return };
    let deployment = Deployment::start();
    deployment.publish(&messages()).await;
    let arguments = deployment.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();

    let told = session(
        &python,
        &arguments,
        &json!([
            ["until", "snapshot", {}, "tree", "held_blocks"],
            ["call", "tree", { "limit": 5 }],
            ["read", "kvtop://findings"],
            ["call", "check", { "file": "Cargo.toml" }],
        ]),
    );

    let answers = told["answers"].as_array().unwrap();
    let snapshot = &answers[0]["structuredContent"];
    let workers = snapshot["workers"].as_array().unwrap();
    assert!(workers.iter().any(|row| row["held"].as_u64() > Some(0)), "{snapshot:#}");
    assert_eq!(answers[1]["structuredContent"]["events_heard"], true);
    let findings: Value =
        serde_json::from_str(answers[2]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert!(findings["checks"].as_array().unwrap().len() > 15, "{findings:#}");
    assert!(text(&answers[3]).contains("no files may be read"));
}

/// Returns the memory of a process in KiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_client_that_asks_and_never_reads_fills_no_memory_and_does_not_hold_up_the_end() {
    const ASKED: usize = 4_000;
    let mut server = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["mcp", "--offline"])
        .arg(fixture("captures"))
        .env("HOME", scratch())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let writer = std::thread::spawn(move || {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } } });
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let ask = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
        for message in [hello, ready].into_iter().chain((1..=ASKED).map(ask)) {
            // The write fails when the server ends.
            if input.write_all(format!("{message}\n").as_bytes()).is_err() {
                return;
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    });

    let mut before = 0;
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(500));
        let now = written.load(Ordering::Relaxed);
        if now == before && now > 32 {
            break;
        }
        before = now;
    }

    assert!(before < ASKED, "all requests were read");
    let memory = resident(server.id());
    assert!(memory < 200 << 10, "{memory} KiB");
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut ended = None;
    for _ in 0..200 {
        ended = server.try_wait().unwrap();
        if ended.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(server.kill());
    writer.join().unwrap();
    assert_eq!(ended.expect("it does not end").code(), Some(143));
}
