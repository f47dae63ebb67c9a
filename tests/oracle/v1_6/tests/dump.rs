//! What the router's own index dumps, in its own JSON, builds the same index in kvtop.

use kvtop::domain::{Block, DpRank, SequenceHash, Timestamp, TokensHash, WorkerId, WorkerRank};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Frame, Origin};
use kvtop::snapshot::ViewQuery;
use kvtop_oracle_v1_6::{Index, removed, stored};

fn chain(from: u64, count: u64) -> Vec<Block> {
    let block = |n| Block { sequence: SequenceHash(n + 1_000), tokens: TokensHash(n) };
    (from..from + count).map(block).collect()
}

#[test]
fn the_dump_of_an_index_builds_it_anew() {
    let mut index = Index(dynamo_kv_router::indexer::RadixTree::new());
    let rank = |worker, dp_rank| WorkerRank { worker: WorkerId(worker), dp_rank: DpRank(dp_rank) };
    for (rank, parent, blocks) in [
        (rank(7, 0), None, chain(1, 12)),
        (rank(7, 1), None, chain(1, 5)),
        (rank(8, 0), None, chain(1, 8)),
        // A fork below a part of the chain.
        (rank(8, 0), Some(1_006), chain(50, 4)),
        (rank(7, 0), None, chain(90, 3)),
    ] {
        assert!(index.apply(stored(rank, parent, &blocks)).is_ok());
    }
    let tail = [SequenceHash(1_012), SequenceHash(1_011)];
    assert!(index.apply(removed(rank(7, 0), &tail)).is_ok());
    let events = serde_json::to_value(index.0.dump_tree_as_events()).unwrap();
    // As `services/indexer/server.rs:476` wraps them.
    let dump = serde_json::json!({ "model:default": { "block_size": 16, "events": events } });

    let mut engine = Engine::new(EngineOptions::default());
    let (at, url) = (Timestamp(1_000_000), "http://indexer:8090".into());
    let asks = Origin::Health { source: "indexer".into() };
    engine.ingest(&[
        Frame::new(at, asks, "{\"state\":\"connecting\"}".to_owned()),
        Frame::new(at, Origin::Indexer { url }, dump.to_string()),
    ]);
    engine.settle();
    let snapshot = engine.snapshot(&ViewQuery::default(), at);

    assert_eq!(snapshot.rejects.count, 0, "{:?}", snapshot.rejects);
    assert_eq!(snapshot.tree.accepted_blocks, 13 + 5 + 12);
    assert_eq!(snapshot.tree.accepted_blocks, index.0.current_size() as u64);
    assert_eq!(snapshot.tree.orphan_blocks, 0);
}
