//! An engine's own events: what they say of blocks is kept, the tokens of prompts never are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::wire::engine_events::EngineBlocks;

/// The same is said again this often, so that it does not look old.
const AGAIN: Duration = Duration::from_secs(30);

/// The number of reports of blocks for an engine named by address: they identify its worker.
const BLOCKS_AGAIN: Duration = Duration::from_secs(2);

/// Parts of a message of Dynamo's own publisher.
const PUBLISHER_PARTS: usize = 4;

/// The largest number of ranks kept apart for one engine.
const RANKS: usize = 1024;

/// Turns an engine's messages into what may be kept of them.
pub(super) struct Stripper {
    /// The engine's pod; empty where the user named its address.
    pod: Arc<str>,
    /// The address that the user named.
    address: Option<Arc<str>>,
    /// By rank: the tokens in a block, when they were told, and a block that was stored then.
    told: HashMap<u32, (u64, Instant, Option<u64>)>,
}

/// True for a message of the publisher of a worker, which relays its engine's events to routers.
pub(super) fn is_publishers(parts: &[Bytes]) -> bool {
    parts.len() == PUBLISHER_PARTS
}

impl Stripper {
    /// For the engine in a pod.
    pub(super) fn of_pod(pod: Arc<str>) -> Self {
        Self { pod, address: None, told: HashMap::new() }
    }

    /// For the engine at an address that the user named.
    pub(super) fn of_address(address: Arc<str>) -> Self {
        Self { pod: Arc::default(), address: Some(address), told: HashMap::new() }
    }

    /// Returns the parts that take the place of `parts`; none when there is nothing new.
    pub(super) fn keep(&mut self, parts: &[Bytes]) -> Option<Vec<Bytes>> {
        let [_, _, payload] = parts else { return None };
        let mut blocks = EngineBlocks::new(payload)?;
        let now = Instant::now();
        let first = blocks.blocks.first().copied();
        let again = if self.address.is_some() && first.is_some() { BLOCKS_AGAIN } else { AGAIN };
        let known = self.told.get(&blocks.dp_rank).copied();
        if known.is_some_and(|(size, at, _)| size == blocks.block_size && now < at + again) {
            return None;
        }
        if self.told.len() < RANKS || known.is_some() {
            self.told.insert(blocks.dp_rank, (blocks.block_size, now, first));
        }
        blocks.address.clone_from(&self.address);
        if self.address.is_none() {
            blocks.blocks.clear();
        } else if let Some((_, _, Some(before))) = known {
            // The worker may not have passed on the newest block yet.
            blocks.blocks.push(before);
        }
        Some(blocks.parts(&self.pod))
    }
}
