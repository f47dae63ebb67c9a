//! An engine's own events: what they say of blocks is kept, the tokens of prompts never are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::wire::engine_events::EngineBlocks;

/// The same is said again this often, so that it does not look old.
const AGAIN: Duration = Duration::from_secs(30);

/// Most ranks of an engine that are told apart.
const RANKS: usize = 1024;

/// Turns an engine's messages into what may be kept of them.
pub(super) struct Stripper {
    pub(super) pod: Arc<str>,
    /// By rank: the tokens in a block, and when they were told.
    pub(super) told: HashMap<u32, (u64, Instant)>,
}

impl Stripper {
    pub(super) fn new(pod: Arc<str>) -> Self {
        Self { pod, told: HashMap::new() }
    }

    /// Returns the parts that take the place of `parts`; none when there is nothing new.
    pub(super) fn keep(&mut self, parts: &[Bytes]) -> Option<Vec<Bytes>> {
        let [_, _, payload] = parts else { return None };
        let blocks = EngineBlocks::of(payload)?;
        let now = Instant::now();
        let fresh = |(size, at): &(u64, Instant)| *size == blocks.block_size && now < *at + AGAIN;
        if self.told.get(&blocks.dp_rank).is_some_and(fresh) {
            return None;
        }
        if self.told.len() < RANKS || self.told.contains_key(&blocks.dp_rank) {
            self.told.insert(blocks.dp_rank, (blocks.block_size, now));
        }
        Some(blocks.parts(&self.pod))
    }
}
