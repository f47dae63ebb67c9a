//! Any valid JSON of a `RouterEvent`, through `serde_json`.

use serde::Deserialize;

use super::shape_of;
use crate::domain::{
    Block, ClearScope, DpRank, KvBatch, KvHead, SequenceHash, Tier, Timestamp, TokensHash,
    WorkerId, WorkerRank,
};
use crate::wire::{Reject, Shape};

/// An event, unread but for its form.
#[derive(Deserialize)]
pub(in crate::wire) struct RouterEvent {
    worker_id: u64,
    #[serde(default)]
    storage_tier: Option<String>,
    #[serde(default)]
    residency_domain: Option<serde::de::IgnoredAny>,
    event: Event,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "event_id")]
    id: u64,
    data: Data,
    #[serde(default)]
    dp_rank: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Data {
    Stored {
        parent_hash: Option<u64>,
        blocks: Vec<WireBlock>,
        #[serde(default, deserialize_with = "present")]
        start_position: bool,
    },
    Removed {
        block_hashes: Vec<u64>,
    },
    Cleared,
}

#[derive(Deserialize)]
struct WireBlock {
    block_hash: u64,
    tokens_hash: u64,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}

pub(super) fn decode(body: &[u8], at: Timestamp, batch: &mut KvBatch) -> Result<Shape, Reject> {
    let wire: RouterEvent = serde_json::from_slice(body).map_err(|error| {
        // The text of the error may quote input; its category does not.
        Reject::new(match error.classify() {
            serde_json::error::Category::Data => "KV event: valid JSON of another form",
            _ => "KV event: invalid JSON",
        })
    })?;
    push(wire, at, batch)
}

/// Adds an event to `batch` and returns its shape.
pub(in crate::wire) fn push(
    wire: RouterEvent,
    at: Timestamp,
    batch: &mut KvBatch,
) -> Result<Shape, Reject> {
    let tier = match &wire.storage_tier {
        Some(name) => {
            Tier::from_name(name).ok_or_else(|| Reject::new("KV event: unknown storage tier"))?
        }
        None => Tier::Device,
    };
    let head = KvHead {
        at,
        rank: WorkerRank { worker: WorkerId(wire.worker_id), dp_rank: DpRank(wire.event.dp_rank) },
        tier,
        event_id: wire.event.id,
    };
    let mut positioned = false;
    match wire.event.data {
        Data::Stored { parent_hash, blocks, start_position } => {
            positioned = start_position;
            let blocks: Vec<Block> = blocks.iter().map(block).collect();
            batch.stored(&head, parent_hash.map(SequenceHash), &blocks);
        }
        Data::Removed { block_hashes } => {
            let hashes: Vec<SequenceHash> = block_hashes.into_iter().map(SequenceHash).collect();
            batch.remove(&head, &hashes);
        }
        Data::Cleared => batch.cleared(&head, ClearScope::Worker),
    }
    Ok(shape_of(wire.storage_tier.is_some(), positioned, wire.residency_domain.is_some()))
}

fn block(wire: &WireBlock) -> Block {
    Block { sequence: SequenceHash(wire.block_hash), tokens: TokensHash(wire.tokens_hash) }
}
