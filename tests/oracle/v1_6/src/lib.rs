//! The router's own index, behind the words of the tests.

use std::collections::BTreeMap;

use dynamo_kv_router::indexer::RadixTree;
use dynamo_kv_router::protocols::{
    ExternalSequenceBlockHash, KvCacheEvent, KvCacheEventData, KvCacheEventError,
    KvCacheRemoveData, KvCacheStoreData, KvCacheStoredBlockData, LocalBlockHash, RouterEvent,
};
use kvtop::domain::{Block, SequenceHash, TokensHash, WorkerRank};

/// The router's index.
pub struct Index(pub RadixTree);

impl Index {
    /// Applies one event, made beforehand.
    pub fn apply(&mut self, event: RouterEvent) -> Result<(), KvCacheEventError> {
        self.0.apply_event(event)
    }

    /// Returns the router's scores for a prompt.
    pub fn scores(&self, tokens: &[TokensHash]) -> BTreeMap<WorkerRank, u32> {
        let tokens = tokens.iter().map(|hash| LocalBlockHash(hash.0)).collect();
        let found = self.0.find_matches(tokens, false).scores;
        found
            .into_iter()
            .map(|(rank, score)| (WorkerRank::new(rank.worker_id, rank.dp_rank), score))
            .collect()
    }
}

fn event(rank: WorkerRank, data: KvCacheEventData) -> RouterEvent {
    let event = KvCacheEvent { event_id: 0, data, dp_rank: rank.dp_rank.0 };
    RouterEvent::new(rank.worker.0, event)
}

/// Returns a `stored` event.
pub fn stored(rank: WorkerRank, parent: Option<u64>, blocks: &[Block]) -> RouterEvent {
    let blocks = blocks
        .iter()
        .map(|block| KvCacheStoredBlockData {
            block_hash: ExternalSequenceBlockHash(block.sequence.0),
            tokens_hash: LocalBlockHash(block.tokens.0),
            mm_extra_info: None,
        })
        .collect();
    let parent_hash = parent.map(ExternalSequenceBlockHash);
    event(
        rank,
        KvCacheEventData::Stored(KvCacheStoreData { parent_hash, start_position: None, blocks }),
    )
}

/// Returns a `removed` event.
pub fn removed(rank: WorkerRank, hashes: &[SequenceHash]) -> RouterEvent {
    let block_hashes = hashes.iter().map(|hash| ExternalSequenceBlockHash(hash.0)).collect();
    event(rank, KvCacheEventData::Removed(KvCacheRemoveData { block_hashes }))
}

/// Returns a `cleared` event.
pub fn cleared(rank: WorkerRank) -> RouterEvent {
    event(rank, KvCacheEventData::Cleared)
}
