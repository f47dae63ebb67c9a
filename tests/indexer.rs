//! The past from a standalone indexer's dump: asked for with one GET, and joined to what came live.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kvtop::domain::{KvKind, SequenceHash, SourceState, TokensHash, WorkerRank};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::snapshot::Snapshot;
use kvtop::source::indexer::{IndexerSpec, spawn};
use kvtop::source::reach::Reach;
use kvtop::wire::{self, Facts};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::captures::worker_differences;
use crate::support::frames::Delivered;
use crate::support::{fixture, frames, played};

/// Answers each connection with the next of `answers`, and returns what was asked.
async fn answering(answers: Vec<String>) -> (String, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 4096];
            let read = socket.read(&mut buffer).await.unwrap();
            asked.push(String::from_utf8_lossy(&buffer[..read]).lines().next().unwrap().to_owned());
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
        asked
    });
    (url, task)
}

fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_is_asked_for_once_and_again_after_a_failure_and_nothing_else_is() {
    let dump = "{\"m:g\":{\"block_size\":16,\"events\":[]}}";
    let (url, task) = answering(vec![http("503 Busy", ""), http("200 OK", dump)]).await;
    let (emitter, mut delivered) = Delivered::with_room(100);
    let mut spec = IndexerSpec::parse(&url, Reach::default()).unwrap();
    spec.settle = Duration::from_millis(10);
    let _handle = spawn(spec, emitter);

    let note = delivered.until_noted("/dump answered 503").await;
    assert_eq!(note.state, SourceState::Down);
    delivered.until("the dump", |it| it.frames.len() == 1).await;
    delivered.until_noted("a dump of 1 KiB was read").await;

    assert_eq!(delivered.frames[0].origin, Origin::Indexer { url: url.into() });
    assert_eq!(delivered.frames[0].body, Body::Whole(dump.into()));
    // Told before each question, so that what comes live is kept from then on.
    let states: Vec<SourceState> = delivered.notes.iter().map(|note| note.state).collect();
    let asked = SourceState::Connecting;
    assert_eq!(states, [asked, SourceState::Down, asked, SourceState::Live]);
    assert_eq!(task.await.unwrap(), ["GET /dump HTTP/1.1", "GET /dump HTTP/1.1"]);
}

/// An index of the simplest kind: each rank's blocks, with parent and tokens.
#[derive(Default)]
struct Index(BTreeMap<WorkerRank, BTreeMap<SequenceHash, (Option<SequenceHash>, TokensHash)>>);

impl Index {
    fn apply(&mut self, frame: &Frame) {
        let mut facts = Facts::default();
        wire::decode(frame, &mut facts).unwrap();
        for event in facts.kv.events() {
            let blocks = self.0.entry(event.rank).or_default();
            match &event.kind {
                KvKind::Stored { parent, blocks: stored } => {
                    let mut parent = *parent;
                    for block in facts.kv.blocks_of(stored) {
                        blocks.insert(block.sequence, (parent, block.tokens));
                        parent = Some(block.sequence);
                    }
                }
                KvKind::Removed { hashes } => {
                    for hash in facts.kv.removed_of(hashes) {
                        blocks.remove(hash);
                    }
                }
                KvKind::Cleared { .. } => blocks.clear(),
            }
        }
    }

    /// Returns the events that build it, parents first, as the indexer dumps them.
    fn dump(&self) -> Value {
        let mut events = Vec::new();
        for (rank, blocks) in &self.0 {
            let mut told = BTreeSet::new();
            while told.len() < blocks.len() {
                let before = told.len();
                for (hash, (parent, tokens)) in blocks {
                    let ready = parent.is_none_or(|parent| told.contains(&parent));
                    if ready && told.insert(*hash) {
                        events.push(json!({
                            "worker_id": rank.worker.0,
                            "storage_tier": "device",
                            "event": { "event_id": events.len(), "dp_rank": rank.dp_rank.0, "data": {
                                "stored": {
                                    "parent_hash": parent.map(|parent| parent.0),
                                    "blocks": [{ "block_hash": hash.0, "tokens_hash": tokens.0 }],
                                },
                            } },
                        }));
                    }
                }
                assert!(told.len() > before, "a block without its parent");
            }
        }
        json!({ "model:default": { "block_size": 16, "events": events } })
    }
}

/// What kvtop holds of a recording when it attaches, is given a dump and hears what comes then, each at
/// one of the recording's events, by tenths.
fn attached_late(name: &str, attached: usize, dumped: usize, arrived: usize) -> Snapshot {
    let all = frames(&fixture(&format!("captures/{name}.frames.gz")));
    let plane = |frame: &&Frame| matches!(frame.origin, Origin::Nats { .. } | Origin::Zmq { .. });
    let events: Vec<&Frame> = all.iter().filter(plane).collect();
    let [attached, dumped, arrived] =
        [attached, dumped, arrived].map(|tenths| events.len() * tenths / 10);
    let mut index = Index::default();
    events[..dumped].iter().for_each(|frame| index.apply(frame));
    let at = events[attached].at;
    let note = Frame::new(
        at,
        Origin::Health { source: "indexer".into() },
        "{\"state\":\"connecting\"}".to_owned(),
    );
    let dump = Frame::new(
        events[arrived].at,
        Origin::Indexer { url: "http://indexer:8090".into() },
        index.dump().to_string(),
    );
    let mut seen = vec![note];
    seen.extend(events[attached..arrived].iter().map(|frame| (*frame).clone()));
    seen.push(dump);
    seen.extend(events[arrived..].iter().map(|frame| (*frame).clone()));
    played(&seen).1
}

#[test]
fn a_late_attach_with_a_dump_holds_what_somebody_who_saw_everything_holds() {
    for name in ["1.6.1-evict", "1.6.1-dp", "1.6.1-default_healthy"] {
        // Attached, dumped by the indexer, and arrived: each some time after the other; and all at
        // once, while nobody publishes.
        for [attached, dumped, arrived] in [[4, 5, 6], [5, 5, 5]] {
            let snapshot = attached_late(name, attached, dumped, arrived);

            let found = kvtop::report::json::snapshot(&snapshot);
            let accepted: Vec<String> = worker_differences(name, &found)
                .into_iter()
                .filter(|difference| difference.contains(" accepted:"))
                .collect();
            assert!(accepted.is_empty(), "{}", accepted.join("\n"));
            assert_eq!(snapshot.rejects.count, 0, "{name}: {:?}", snapshot.rejects);
            let unknown =
                snapshot.tree.incomplete.iter().any(|why| why.contains("before kvtop attached"));
            assert!(!unknown, "{name}: {:?}", snapshot.tree.incomplete);
            let lost = snapshot.findings.iter().any(|finding| finding.id == "KVT014");
            assert!(!lost, "{name}: {:?}", snapshot.findings);
        }
    }
}

#[test]
fn a_dump_that_nobody_was_seen_to_ask_for_is_not_believed() {
    let recorded = frames(&fixture("wire/indexer-dump/dump.frames"));
    let (_, snapshot) = played(&recorded[..1]);
    assert_eq!((snapshot.rejects.count, snapshot.tree.held_blocks), (1, 0));
}
