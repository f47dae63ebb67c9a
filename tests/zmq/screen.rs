//! From the publishers' sockets to the screen and the report, with the binary itself.

use std::process::{Command, Stdio};

use super::kv_events;
use crate::captures::worker_differences;
use crate::support::libzmq::LibzmqPublisher;
use crate::support::pty::Pty;

const SIZE: (u16, u16) = (140, 36);

fn arguments(publishers: &[LibzmqPublisher]) -> Vec<String> {
    publishers.iter().flat_map(|it| ["--zmq".to_owned(), it.endpoint()]).collect()
}

#[test]
fn the_screen_shows_what_publishers_send() {
    let lists = kv_events();
    let mut publishers: Vec<_> = lists.iter().map(|_| LibzmqPublisher::start()).collect();
    let arguments = arguments(&publishers);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &[("NATS_URL", "")], SIZE);
    for (publisher, messages) in publishers.iter_mut().zip(&lists) {
        publisher.wait_for("subscribed kv-events");
        publisher.publish(messages);
    }

    pty.wait_for("two workers", |screen| screen.contains("Workers 2"));
    pty.wait_for("a live source", |screen| screen.contains("zmq ✓"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn the_report_counts_what_publishers_send_as_the_reference_does() {
    let lists = kv_events();
    let mut publishers: Vec<_> = lists.iter().map(|_| LibzmqPublisher::start()).collect();
    let kvtop = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["snapshot", "-o", "json", "--for", "3s"])
        .args(arguments(&publishers))
        .env_remove("NATS_URL")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    for (publisher, messages) in publishers.iter_mut().zip(&lists) {
        publisher.wait_for("subscribed kv-events");
        publisher.publish(messages);
    }
    let output = kvtop.wait_with_output().unwrap();

    let found = String::from_utf8(output.stdout).unwrap();
    let differences = worker_differences("1.6.1-default_healthy", &found);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn an_address_that_is_none_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["snapshot", "--zmq", "ipc:///tmp/events"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("tcp://host:port"), "{said}");
}
