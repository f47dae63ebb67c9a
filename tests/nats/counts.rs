//! The counts of the reference, through a real server and the real binary.

use std::process::{Command, Output};

use super::*;
use crate::captures;
use crate::support::nats_server::NatsServer;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::report::json;
use kvtop::snapshot::ViewQuery;

/// `JetStream`, with empty stores, evictions and two ranks; core in the three shapes.
const RECORDINGS: [&str; 6] = [
    "0.9.0-incident_load10",
    "0.9.0-evict",
    "0.9.0-dp",
    "0.9.0-li_healthy",
    "1.0.2-evict",
    "1.6.1-evict",
];

fn kv_events(name: &str) -> Vec<Published> {
    recording(name).into_iter().filter(|(subject, _)| subject.ends_with("kv-events")).collect()
}

/// Returns how the workers' counts of what was delivered differ from the reference.
fn differences(name: &str, delivered: &[Published]) -> Vec<String> {
    let mut engine = Engine::new(EngineOptions::default());
    let at = kvtop::domain::Timestamp(1_000_000);
    let frames: Vec<Frame> = delivered
        .iter()
        .map(|(subject, payload)| Frame::new(at, Origin::nats(subject), payload.clone()))
        .collect();
    engine.ingest(&frames);
    engine.settle();
    let found = json::snapshot(&engine.snapshot(&ViewQuery::default(), at));
    captures::worker_differences(name, &found)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attached_before_and_across_a_restart_the_counts_are_those_of_the_reference() {
    for name in RECORDINGS {
        let messages = kv_events(name);
        let (early, late) = messages.split_at(messages.len() / 2);
        let mut server = NatsServer::with_jetstream();
        let publisher = Publisher::to(&server.url()).await;
        publisher.make_streams(&messages).await;
        let mut attached = Attached::to(&at(&server.url()));
        attached.until_live().await;
        publisher.publish(early).await;
        attached.until_delivered(early.len()).await;

        server.restart();
        attached
            .until("expected to lose the server", |it| {
                it.notes.iter().any(|note| note.state == SourceState::Down)
            })
            .await;
        let known = attached.notes.len();
        attached
            .until("expected to be back", |it| {
                let news = it.notes.iter().skip(known);
                // A round trip: the server has the subscriptions, which were sent before.
                news.clone().any(|note| {
                    matches!(note.state, SourceState::Live | SourceState::Lossy)
                        && note.rtt_us.is_some()
                })
            })
            .await;
        Publisher::to(&server.url()).await.publish(late).await;
        attached.until_delivered(messages.len()).await;
        attached.linger(Duration::from_millis(300)).await;

        let wrong = differences(name, &attached.delivered);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        attached.end().await;
    }
}

fn kvtop(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(arguments)
        .env_remove("NATS_URL")
        .env_remove("NATS_SERVER")
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_binary_attached_late_reads_history_and_prints_the_counts_of_the_reference() {
    for name in ["0.9.0-incident_load10", "0.9.0-dp"] {
        let messages = kv_events(name);
        let server = NatsServer::with_jetstream();
        let publisher = Publisher::to(&server.url()).await;
        publisher.make_streams(&messages).await;
        publisher.publish(&messages).await;

        let output =
            kvtop(&["snapshot", "-o", "json", "--for", "300ms", "--nats-url", &server.url()]);

        let found = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{found}");
        let wrong = captures::worker_differences(name, &found);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert!(found["workers"].as_array().unwrap().iter().all(|it| it["past_known"] == true));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_binary_records_replays_to_the_same_counts() {
    let name = "0.9.0-evict";
    let messages = kv_events(name);
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages).await;
    let file = crate::support::scratch().join("taken.frames.zst");
    let file = file.to_str().unwrap();

    let taken = kvtop(&["record", "-o", file, "--for", "2s", "--nats-url", &server.url()]);
    let output = kvtop(&["snapshot", "-o", "json", "--replay", file]);

    assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
    let wrong = captures::worker_differences(name, &String::from_utf8(output.stdout).unwrap());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
