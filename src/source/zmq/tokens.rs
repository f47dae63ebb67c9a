//! An engine's own events: what they say of blocks is kept, the tokens of prompts never are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::wire::engine_events::EngineBlocks;

/// The same is said again this often, so that it does not look old.
const AGAIN: Duration = Duration::from_secs(30);

/// How often blocks of an engine named by address are reported: they identify its worker.
const BLOCKS_AGAIN: Duration = Duration::from_secs(2);

/// The first reports of blocks come sooner: a short burst of requests may be all that is ever seen.
const FIRST_AGAIN: Duration = Duration::from_millis(200);

/// The number of those first reports.
const FIRST: u32 = 20;

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
    /// The last report of each rank.
    told: HashMap<u32, Told>,
}

/// A report of a rank.
#[derive(Clone, Copy)]
struct Told {
    /// The tokens in a block.
    size: u64,
    at: Instant,
    /// A block that was stored then.
    block: Option<u64>,
    /// How many reports there were.
    times: u32,
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
        let block = blocks.blocks.first().copied();
        let known = self.told.get(&blocks.dp_rank).copied();
        let times = known.map_or(0, |told| told.times);
        let again = match (self.address.is_some() && block.is_some(), times < FIRST) {
            (true, true) => FIRST_AGAIN,
            (true, false) => BLOCKS_AGAIN,
            (false, _) => AGAIN,
        };
        if known.is_some_and(|told| told.size == blocks.block_size && now < told.at + again) {
            return None;
        }
        if self.told.len() < RANKS || known.is_some() {
            let size = blocks.block_size;
            let told = Told { size, at: now, block, times: times.saturating_add(1) };
            self.told.insert(blocks.dp_rank, told);
        }
        blocks.address.clone_from(&self.address);
        if self.address.is_none() {
            blocks.blocks.clear();
        } else if let Some(before) = known.and_then(|told| told.block) {
            // The worker may not have passed on the newest block yet.
            blocks.blocks.push(before);
        }
        Some(blocks.parts(&self.pod))
    }
}
