//! `--logs` beside live sources: files that grow, are replaced, or are missing, and standard input.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kvtop::frame::{Body, Origin};
use serde_json::Value;

use crate::nats::{Publisher, recording};
use crate::support::nats_server::NatsServer;
use crate::support::{fixture, frames, scratch};

const CAPTURE: &str = "0.9.0-mm_pub32_eng16";

/// Returns the lines that a capture has of its frontend, as if they were written now.
fn lines_of_the_frontend() -> Vec<String> {
    let all = frames(&fixture(&format!("captures/{CAPTURE}.frames.gz")));
    let now = jiff::Timestamp::now();
    let line = |frame: &kvtop::frame::Frame| match (&frame.origin, &frame.body) {
        (Origin::Log { pod, .. }, Body::Whole(line)) if !pod.contains("worker") => {
            let text = String::from_utf8_lossy(line).into_owned();
            let stamped =
                text.split_once(' ').filter(|(time, _)| time.parse::<jiff::Timestamp>().is_ok());
            Some(stamped.map_or(text.clone(), |(_, rest)| format!("{now} {rest}")))
        }
        _ => None,
    };
    all.iter().filter_map(line).collect()
}

fn kvtop(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(arguments)
        .env("HOME", scratch())
        .env_remove("NATS_SERVER")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn report(child: Child) -> (i32, Value) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    (output.status.code().unwrap(), report)
}

fn has_cause(report: &Value) -> bool {
    report["findings"].as_array().unwrap().iter().any(|it| it["id"] == "KVT001")
}

fn warnings(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.contains("Failed to find")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_that_grow_are_followed_beside_nats_and_in_a_replay() {
    let lines = lines_of_the_frontend();
    assert!(warnings(&lines) > 10, "{}", warnings(&lines));
    let (before, after) = lines.split_at(lines.len() / 2);
    let messages = recording(CAPTURE);
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages).await;
    let folder = scratch();
    let log = folder.join("router.log");
    std::fs::write(&log, before.join("\n") + "\n").unwrap();
    let kept = folder.join("incident.frames");
    let (log, kept) = (log.to_str().unwrap(), kept.to_str().unwrap());

    let url = server.url();
    let recorder = kvtop(&["record", "--nats-url", &url, "--logs", log, "--for", "5s", "-o", kept]);
    let check = kvtop(&[
        "check",
        "--nats-url",
        &url,
        "--logs",
        log,
        "missing.log",
        "--for",
        "4s",
        "-o",
        "json",
    ]);
    std::thread::sleep(Duration::from_secs(1));
    // A half line, and its end.
    let mut file = std::fs::OpenOptions::new().append(true).open(log).unwrap();
    let text = after.join("\n") + "\n";
    let (half, rest) = text.split_at(text.len() / 3);
    file.write_all(half.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    file.write_all(rest.as_bytes()).unwrap();

    let (code, live) = report(check);
    assert_eq!((code, live["status"].as_str()), (2, Some("CRITICAL")), "{live:#}");
    assert!(has_cause(&live), "{live:#}");
    assert!(recorder.wait_with_output().unwrap().status.success());
    let (code, replayed) = report(kvtop(&["check", "--replay", kept, "-o", "json"]));
    assert_eq!((code, replayed["status"].as_str()), (2, Some("CRITICAL")), "{replayed:#}");
    assert!(has_cause(&replayed), "{replayed:#}");
    let (_, seen) = report(kvtop(&["snapshot", "--replay", kept, "-o", "json"]));
    let count = |key: &str| seen["router"][key].as_u64().unwrap();
    let counted = count("log_parent_warnings") + count("log_remove_warnings");
    assert_eq!(counted, warnings(&lines) as u64, "{seen:#}");
}

#[test]
fn a_log_alone_is_followed_on_the_screen_through_truncation_and_replacement() {
    use crate::support::pty::Pty;

    let lines = lines_of_the_frontend();
    let folder = scratch();
    let log = folder.join("frontend.log");
    std::fs::write(&log, lines.join("\n") + "\n").unwrap();
    let mut pty = Pty::spawn(
        env!("CARGO_BIN_EXE_kvtop"),
        &["--logs", log.to_str().unwrap()],
        &[("NATS_SERVER", "")],
        (140, 36),
    );
    pty.wait_for("the cause", |screen| screen.contains("KVT001"));
    pty.wait_for("the source", |screen| screen.contains("logs ✓"));
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&log, "INFO another file\n").unwrap();
    pty.wait_for("the source again", |screen| screen.contains("logs ✓"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn standard_input_is_followed_and_its_end_ends_nothing_else() {
    let server = NatsServer::with_jetstream();
    let url = server.url();
    let mut check =
        kvtop(&["check", "--nats-url", &url, "--logs", "-", "--for", "6s", "-o", "json"]);
    let begun = kvtop::clock::now();
    let mut input = check.stdin.take().unwrap();
    // While kvtop listens and hears no event, refusals go on.
    std::thread::sleep(Duration::from_secs(2));
    input.write_all((lines_of_the_frontend().join("\n") + "\n").as_bytes()).unwrap();
    drop(input);

    let (code, report) = report(check);

    assert!(kvtop::clock::now().since(begun) > Duration::from_secs(5), "{report:#}");
    assert_eq!(code, 2, "{report:#}");
    assert!(has_cause(&report), "{report:#}");
}

#[test]
fn a_log_that_appears_later_is_read_from_its_begin() {
    let server = NatsServer::with_jetstream();
    let url = server.url();
    let log = scratch().join("later.log");
    let path = log.to_str().unwrap();
    let check = kvtop(&["check", "--nats-url", &url, "--logs", path, "--for", "8s", "-o", "json"]);
    std::thread::sleep(Duration::from_secs(1));
    std::fs::write(&log, lines_of_the_frontend().join("\n") + "\n").unwrap();

    let (code, report) = report(check);

    assert_eq!(code, 2, "{report:#}");
    assert!(has_cause(&report), "{report:#}");
}

#[test]
fn a_log_that_cannot_be_read_is_named() {
    let server = NatsServer::with_jetstream();
    let url = server.url();
    let absent = Path::new("/nowhere/frontend.log").to_str().unwrap();
    let snapshot =
        kvtop(&["snapshot", "--nats-url", &url, "--logs", absent, "--for", "2s", "-o", "json"]);

    let (_, report) = report(snapshot);

    let sources = report["sources"].as_array().unwrap();
    let logs = sources.iter().find(|source| source["name"] == "logs").unwrap();
    assert_eq!(logs["health"], "down", "{logs:#}");
    assert!(logs["why"].as_str().unwrap().contains("/nowhere/frontend.log"), "{logs:#}");
}
