//! Faults of the machine: a kill and a full disk while recording, and clocks that jump.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::Frame;
use kvtop::record::Recording;
use kvtop::snapshot::ViewQuery;
use rustix::process::{Pid, Signal, kill_process};

use crate::nats::{Publisher, durable};
use crate::support::nats_server::NatsServer;
use crate::support::{fixture, frames, scratch};

const STREAM: &str = crate::nats::STREAM;

fn event(number: u64) -> (String, Vec<u8>) {
    durable(
        format!(
            r#"{{"worker_id":1,"event":{{"event_id":{number},"data":{{"removed":{{"block_hashes":[{number}]}}}},"dp_rank":0}}}}"#
        )
        .into_bytes(),
    )
}

/// Returns the numbers of the events that a recording holds, and whether its end is torn.
fn recorded(path: &std::path::Path) -> (Vec<u64>, bool) {
    let mut recording = Recording::open(path).unwrap();
    let mut numbers = Vec::new();
    while let Some(frame) = recording.next_frame().unwrap() {
        let kvtop::frame::Body::Whole(body) = &frame.body else { continue };
        let Ok(event) = serde_json::from_slice::<serde_json::Value>(body) else { continue };
        numbers.extend(event["event"]["event_id"].as_u64());
    }
    (numbers, recording.torn())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_that_cannot_be_caught_costs_a_recording_one_second_at_most() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.publish(&[]).await;
    publisher.make_streams(&[event(0)]).await;
    let path = scratch().join("killed.frames.zst");
    let mut child = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["record", "-o", path.to_str().unwrap(), "--nats-url", &server.url()])
        .env("HOME", scratch())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Ten events each tenth of a second, for as long as the file has had flushes.
    let mut number = 0;
    let mut batches: Vec<(tokio::time::Instant, u64)> = Vec::new();
    for _ in 0..45 {
        let batch: Vec<_> = (number..number + 10).map(event).collect();
        publisher.publish(&batch).await;
        number += 10;
        batches.push((tokio::time::Instant::now(), number));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let killed = tokio::time::Instant::now();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();

    let (numbers, torn) = recorded(&path);
    // A flush interval, and what a busy machine takes to write.
    let due = killed.checked_sub(Duration::from_millis(1_600)).unwrap();
    let due = batches.iter().rev().find(|(at, _)| *at <= due).unwrap().1;
    assert!(numbers.len() as u64 >= due, "{} of {due} events, {number} published", numbers.len());
    assert!(numbers.iter().zip(0..).all(|(found, expected)| *found == expected), "{numbers:?}");
    assert!(torn, "the end is not said to be missing");
    let read = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["snapshot", "--replay", path.to_str().unwrap()])
        .env("HOME", scratch())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&read.stderr).into_owned();
    assert!(said.contains("ends") || said.contains("torn") || said.contains("cut"), "{said}");
    assert!(STREAM.ends_with("kv-events"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_full_ends_a_recording_with_a_reason_and_leaves_what_was_written() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&[event(0)]).await;
    publisher.publish(&(0..20_000).map(event).collect::<Vec<_>>()).await;
    let path = scratch().join("full.frames");
    // A limit on the size of files is the full disk of one process: 512 KiB.
    let command = format!(
        "ulimit -f 512; trap '' XFSZ; exec {} record -o {} --nats-url {} --for 20s",
        env!("CARGO_BIN_EXE_kvtop"),
        path.display(),
        server.url()
    );
    let mut child = Command::new("bash")
        .args(["-c", &command])
        .env("HOME", scratch())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap();

    assert!(!status.success(), "{said}");
    assert!(said.contains("full.frames") && said.contains("File too large"), "{said}");
    let (numbers, _) = recorded(&path);
    assert!(numbers.len() > 500, "{} events", numbers.len());
}

#[test]
fn a_clock_that_jumps_leaves_counts_as_they_are() {
    let day = 86_400_000_000_u64;
    let all = frames(&fixture("captures/0.9.0-evict.frames.gz"));
    let counts = |frames: &[Frame]| {
        let mut engine = Engine::new(EngineOptions::default());
        frames.chunks(64).for_each(|chunk| engine.ingest(chunk));
        engine.settle();
        let at = frames.iter().map(|frame| frame.at).max().unwrap();
        let seen = engine.snapshot(&ViewQuery::default(), at);
        let rows = seen.workers.iter().map(|row| (row.rank, row.counters, row.accepted));
        rows.collect::<Vec<_>>()
    };
    let plain = counts(&all);
    let half = all.len() / 2;
    for jump in [-i128::from(day), -1_500_000, 1_500_000, i128::from(day)] {
        let moved: Vec<Frame> = all
            .iter()
            .enumerate()
            .map(|(at, frame)| {
                let moved = if at < half { 0 } else { jump };
                let at = u64::try_from(i128::from(frame.at.0) + moved).unwrap();
                Frame { at: Timestamp(at), ..frame.clone() }
            })
            .collect();
        assert_eq!(counts(&moved), plain, "a jump of {jump} us");
    }
}
