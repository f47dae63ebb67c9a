//! What is kept for looking at the tree: heat, what routers last said of each rank, and the way so far.

use std::collections::BTreeMap;

use crate::domain::{Decision, FormulaTerm, KvBatch, KvEvent, KvKind, Tier, Timestamp, WorkerRank};
use crate::mirror::{Browser, Heat, Mirror};

/// Most ranks of which something is kept.
const RANK_LIMIT: usize = 65_536;

/// What a router last said of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Said {
    /// Weight of the prefill term, and blocks decoding.
    pub(super) cost: Option<(f64, f64, Timestamp)>,
    /// Blocks of the rank in the router's index, and in the mirror at that time.
    pub(super) size: Option<(u64, u64, Timestamp)>,
}

/// What is kept for looking at the tree.
#[derive(Debug, Default)]
pub(super) struct Explorer {
    pub(super) browser: Browser,
    pub(super) heat: Heat,
    pub(super) said: BTreeMap<WorkerRank, Said>,
}

impl Explorer {
    /// Notes an event that was applied.
    pub(super) fn note(&mut self, event: &KvEvent, batch: &KvBatch) {
        if event.tier == Tier::Device
            && let KvKind::Stored { blocks, .. } = &event.kind
            && let Some(last) = batch.blocks_of(blocks).last()
        {
            self.heat.note(event.rank, last.sequence);
        }
    }

    /// Follows the stores of the last second.
    pub(super) fn warm(&mut self, mirror: &Mirror, at: Timestamp) {
        mirror.warm(&mut self.heat, tick(at));
    }

    fn of(&mut self, rank: WorkerRank) -> Option<&mut Said> {
        if self.said.len() >= RANK_LIMIT && !self.said.contains_key(&rank) {
            return None;
        }
        Some(self.said.entry(rank).or_default())
    }

    /// Notes the cost that a router computed for a rank.
    pub(super) fn term(&mut self, term: &FormulaTerm, at: Timestamp) {
        if let Some(said) = self.of(term.rank) {
            said.cost = Some((term.weight, term.decode_blocks, at));
        }
    }

    /// Notes a decision. The size it prints is 0 whenever the overlap is (dynamo-llm 0.9.0,
    /// `kv_router/scheduler.rs:583`), so then it says nothing.
    pub(super) fn decided(
        &mut self,
        decision: &Decision,
        rank: WorkerRank,
        mirror: &Mirror,
        at: Timestamp,
    ) {
        let Some(size) = decision.tree_size.filter(|size| *size > 0) else { return };
        let [mirrored, ..] = mirror.counts(rank).accepted;
        if let Some(said) = self.of(rank) {
            said.size = Some((size, mirrored, at));
        }
    }
}

/// Returns the time as the mirror counts it.
pub(super) fn tick(at: Timestamp) -> u32 {
    u32::try_from(at.seconds()).unwrap_or(u32::MAX)
}
