//! A long attach with cuts: every event counted once, and memory that does not grow.
//!
//! Ten seconds as a test. `KVTOP_SOAK_SECONDS=3600 KVTOP_SOAK_CUT=30 cargo test --test main soak -- --nocapture`
//! is the run that docs/RELIABILITY.md reports.
#![expect(clippy::print_stdout, reason = "a soak of an hour tells how it is doing")]

use std::time::{Duration, Instant};

use crate::nats::{Publisher, STREAM, durable};
use crate::support::exporter::Exporter;
use crate::support::nats_server::NatsServer;
use crate::support::wire_cut::WireCut;

/// Blocks that each worker holds: it stores one and removes the oldest.
const HELD: u64 = 500;
const WORKERS: u64 = 4;
const BATCH: u64 = 40;
const PAUSE: Duration = Duration::from_millis(100);

fn seconds(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The event numbered `number` of `worker`: it stores a block, or removes one when it holds enough.
fn event(worker: u64, number: u64) -> Vec<u8> {
    let hash = |number: u64| worker * 1_000_000_000 + number + 1;
    let (block, oldest) = (hash(number), number.checked_sub(HELD).map(hash));
    let data = match oldest {
        Some(oldest) if number % 2 == 1 => {
            format!(r#"{{"removed":{{"block_hashes":[{oldest},{}]}}}}"#, oldest - 1)
        }
        _ => format!(
            r#"{{"stored":{{"parent_hash":null,"blocks":[{{"block_hash":{block},"tokens_hash":{block}}},{{"block_hash":{},"tokens_hash":{}}}]}}}}"#,
            block + 1,
            block + 1
        ),
    };
    format!(r#"{{"worker_id":{worker},"event":{{"event_id":{number},"data":{data},"dp_rank":0}}}}"#)
        .into_bytes()
}

/// Returns the resident memory of the exporter in MiB.
fn resident(exporter: &Exporter) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", exporter.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}
/// Returns the sum of the samples of `page` that begin with `name`.
fn sum(page: &str, name: &str) -> u64 {
    let lines = page.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a soak lasts for a time")]
async fn with_a_cut_every_few_seconds_every_event_is_counted_once_and_memory_is_flat() {
    let span = Duration::from_secs(seconds("KVTOP_SOAK_SECONDS", 10));
    let every = Duration::from_secs(seconds("KVTOP_SOAK_CUT", 2));
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_short_stream(STREAM, Duration::from_secs(600)).await;
    let wire = WireCut::to(&server.host());
    let exporter = Exporter::of(&wire.url());

    let (started, mut cut_at, mut number) = (Instant::now(), Instant::now(), 0);
    let mut memory: Vec<f64> = Vec::new();
    let mut cuts = 0;
    while started.elapsed() < span {
        let batch: Vec<_> = (0..BATCH)
            .map(|at| durable(event(1 + (number + at) % WORKERS, (number + at) / WORKERS)))
            .collect();
        publisher.publish(&batch).await;
        number += BATCH;
        if cut_at.elapsed() >= every {
            wire.drop_connections();
            (cut_at, cuts) = (Instant::now(), cuts + 1);
            memory.push(resident(&exporter));
            println!(
                "{:?}: {number} events, {:.1} MiB",
                started.elapsed(),
                memory[memory.len() - 1]
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
    let received = r#"kvtop_stream_messages{stream="namespace-dynamo-component-backend-kv-events",fate="received"}"#;
    let mut page = String::new();
    for _ in 0..300 {
        page = exporter.ask("GET /metrics");
        if sum(&page, received) >= number {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }

    let (_, last) = publisher.range(STREAM).await;
    println!("{cuts} cuts, {number} events published, {last} stored, {memory:.1?} MiB");
    assert_eq!(last, number);
    assert_eq!(sum(&page, received), number, "{page}");
    for fate in ["aged_out", "dropped", "unseen"] {
        let name = received.replace("received", fate);
        assert_eq!(sum(&page, &name), 0, "{fate}: {page}");
    }
    assert_eq!(sum(&page, "kvtop_worker_numbered_events{"), number);
    assert_eq!(sum(&page, "kvtop_worker_missing_events{"), 0, "{page}");
    assert!(wire.connections.load(std::sync::atomic::Ordering::SeqCst) > cuts);
    let half = memory.len() / 2;
    let most = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    // The last half needs no more than the first: a tenth, and what one page takes.
    assert!(most(&memory[half..]) <= most(&memory[..half]) * 1.1 + 8.0, "{memory:.1?}");
}
