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
    /// Blocks of the rank in the router's index.
    pub(super) size: Option<Size>,
}

/// What a router last said of its index, and what the mirror held around that time: events that came
/// together with the log line are applied a moment later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) router: u64,
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) at: Timestamp,
}

/// What is kept for looking at the tree.
#[derive(Debug, Default)]
pub(super) struct Explorer {
    pub(super) browser: Browser,
    pub(super) heat: Heat,
    pub(super) said: BTreeMap<WorkerRank, Said>,
    /// Ranks of which a router said something since events were applied last.
    fresh: Vec<WorkerRank>,
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
        let Some(router) = decision.tree_size.filter(|size| *size > 0) else { return };
        let [before, ..] = mirror.counts(rank).accepted;
        let Some(said) = self.of(rank) else { return };
        said.size = Some(Size { router, before, after: before, at });
        if !self.fresh.contains(&rank) {
            self.fresh.push(rank);
        }
    }

    /// Notes that the events up to now were applied.
    pub(super) fn applied(&mut self, mirror: &Mirror) {
        for rank in self.fresh.drain(..) {
            if let Some(size) = self.said.get_mut(&rank).and_then(|said| said.size.as_mut()) {
                [size.after, ..] = mirror.counts(rank).accepted;
            }
        }
    }
}

/// Returns the time as the mirror counts it.
pub(super) fn tick(at: Timestamp) -> u32 {
    u32::try_from(at.seconds()).unwrap_or(u32::MAX)
}
