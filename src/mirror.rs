//! The mirror of the router's index, fed by the same events.
//!
//! Owns which rank holds which block, in two views: *accepted*, what a router that saw every event would
//! have, and *held*, what the ranks have in fact, the blocks that the router refused included. Knows
//! nothing of time, rates or display.
//!
//! Blocks are a tree in an arena, one node for each distinct block, with a sharded index from hash to node. Rejected
//! chains hang in a forest under their missing parent. Look-ups are made for a burst of events before any is followed,
//! so that cache misses overlap; this decides the speed. `tests/oracle` compares both semantics with the originals.
#![expect(
    clippy::cast_possible_truncation,
    reason = "ids have 32 bits because the arenas end there, and halves of hashes are meant"
)]

mod alias;
mod arena;
mod branch;
mod browse;
mod bulk;
mod burst;
mod decay;
mod edge;
mod handle;
mod heat;
mod hits;
mod index;
mod landings;
mod node;
mod outcome;
mod overlap;
mod owners;
mod remove;
mod run;
mod shed;
mod slots;
mod store;
mod sweep;
#[cfg(test)]
mod tests;
mod tree;
mod truncating;

pub use browse::{
    Browser, Detail, Holding, Holdings, HoldingsQuestion, Lead, Leaders, Page, Question,
    SHOWN_RANKS, Share,
};
pub use heat::Heat;
pub use landings::Landed;
pub use outcome::{Outcome, OutcomeKind, Refusal};

use crate::domain::{
    ClearScope, KvBatch, KvEvent, KvKind, SequenceHash, Tier, TokensHash, WorkerId, WorkerRank,
};
use tree::Tree;

const DEVICE: usize = Tier::Device.index();
/// Runs looked at between two bursts to get back below the memory limit.
const SHED_BUDGET: usize = 65_536;
const TIERS: usize = Tier::ALL.len();

/// Semantics of a router's index, which differ by version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// Every block for itself: Dynamo 0.9 and 1.0, and versions unknown.
    PerBlock,
    /// A removal amid a compressed edge takes the rank off the rest of it: Dynamo 1.1 and later.
    EdgeTruncating,
}

/// The blocks of one rank, by tier in the order of [`Tier::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankCounts {
    /// Blocks that the router counts for it.
    pub accepted: [u64; TIERS],
    /// Blocks that it has.
    pub held: [u64; TIERS],
}

/// Blocks of all ranks together, in the device tier unless said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Blocks that the router counts, once per rank.
    pub accepted: u64,
    /// Blocks that the ranks have, once per rank.
    pub held: u64,
    /// Accepted blocks, each counted once. Blocks of cleared ranks count until they are swept.
    pub distinct: u64,
    /// Missing parents that have orphans. Those of cleared ranks count until they are swept.
    pub orphan_roots: u64,
    /// Blocks that the router refused and that the ranks have, once per rank.
    pub orphan_blocks: u64,
    /// Runs of blocks without a branch.
    pub edges: u64,
    /// Memory in use by all tiers, in bytes.
    pub memory_bytes: u64,
    /// Blocks of all tiers that were dropped at the memory limit. The mirror is incomplete when there
    /// are any.
    pub shed_blocks: u64,
    /// Events turned away because their ranks are too many.
    pub refused_events: u64,
    /// True while [`Mirror::advance`] has work to do.
    pub behind: bool,
}

/// The mirror.
pub struct Mirror {
    semantics: Semantics,
    memory_limit: usize,
    tiers: [Option<Box<Tree>>; TIERS],
    turned_away: u64,
}

impl Mirror {
    /// Returns an empty mirror that will use about `memory_limit` bytes at most.
    pub fn new(semantics: Semantics, memory_limit: usize) -> Self {
        let mut tiers = [const { None }; TIERS];
        tiers[DEVICE] = Some(Box::new(Tree::new(semantics)));
        Self { semantics, memory_limit, tiers, turned_away: 0 }
    }

    /// Returns how it treats removals.
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Lets it use about `bytes` at most from now on.
    pub fn set_memory_limit(&mut self, bytes: usize) {
        self.memory_limit = bytes;
    }

    /// Applies the events of `batch` in order, and adds what each did to `outcomes`. `tick` stamps the
    /// prefixes they touch.
    pub fn apply(&mut self, batch: &KvBatch, tick: u32, outcomes: &mut Vec<Outcome>) {
        outcomes.reserve(batch.events().len());
        let mut rest = batch.events();
        while !rest.is_empty() {
            let mut blocks = 0;
            let fits = |event: &&KvEvent| {
                blocks += burst::weight(event);
                blocks < burst::AHEAD
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (burst, after) = rest.split_at(count);
            self.make_room();
            if let Some(tree) = &self.tiers[DEVICE] {
                tree.look_ahead(batch, burst);
            }
            for event in burst {
                outcomes.push(self.apply_event(batch, event, tick));
            }
            rest = after;
        }
    }

    /// Sheds cold blocks while the memory limit is exceeded.
    fn make_room(&mut self) {
        let used: usize = self.tiers.iter().flatten().map(|tree| tree.bytes()).sum();
        if used <= self.memory_limit {
            return;
        }
        let mut over = used - self.memory_limit;
        for tree in self.tiers.iter_mut().flatten().rev() {
            let before = tree.bytes();
            tree.shed(before.saturating_sub(over), SHED_BUDGET);
            over = over.saturating_sub(before.saturating_sub(tree.bytes()));
        }
    }

    fn apply_event(&mut self, batch: &KvBatch, event: &KvEvent, tick: u32) -> Outcome {
        if let KvKind::Cleared { scope } = event.kind {
            return self.clear(event, scope);
        }
        let entered = self.enter(event.rank, event.tier);
        match (&event.kind, entered) {
            (KvKind::Stored { parent, blocks }, Some((tree, slot))) => {
                tree.tick = tick;
                tree.store(slot, *parent, batch.blocks_of(blocks))
            }
            (KvKind::Removed { hashes }, Some((tree, slot))) => {
                tree.remove(slot, batch.removed_of(hashes))
            }
            (KvKind::Stored { blocks, .. }, None) => {
                self.turned_away += 1;
                let mut outcome = Outcome::stored_event(batch.blocks_of(blocks));
                outcome.refuse(Refusal::Full, batch.blocks_of(blocks));
                outcome
            }
            (KvKind::Removed { .. } | KvKind::Cleared { .. }, _) => {
                self.turned_away += 1;
                Outcome::removed_event()
            }
        }
    }

    /// Returns the tree of `tier` and the slot of `rank` in it. Every rank is known to the device tier.
    fn enter(&mut self, rank: WorkerRank, tier: Tier) -> Option<(&mut Tree, u32)> {
        if tier != Tier::Device {
            self.tiers[DEVICE].as_mut()?.slots.enter(rank)?;
        }
        let semantics = self.semantics;
        let tree = self.tiers[tier.index()].get_or_insert_with(|| Box::new(Tree::new(semantics)));
        let slot = tree.slots.enter(rank)?;
        Some((tree, slot))
    }

    fn clear(&mut self, event: &KvEvent, scope: ClearScope) -> Outcome {
        let mut outcome = Outcome { kind: OutcomeKind::Cleared, ..Outcome::default() };
        if self.enter(event.rank, Tier::Device).is_none() {
            self.turned_away += 1;
        }
        for tree in self.tiers.iter_mut().flatten() {
            let ranks = match scope {
                ClearScope::Worker => tree.slots.ranks_of(event.rank.worker),
                ClearScope::Rank => vec![event.rank],
            };
            for rank in ranks {
                outcome.cleared_blocks += tree.slots.clear(rank);
            }
        }
        outcome
    }

    /// Forgets `worker`, which left discovery. Visible at once.
    pub fn remove_worker(&mut self, worker: WorkerId) {
        for tree in self.tiers.iter_mut().flatten() {
            for rank in tree.slots.ranks_of(worker) {
                tree.slots.remove(rank);
            }
        }
    }

    /// Forgets all blocks of `rank`, as when its worker restarts.
    pub fn forget_rank(&mut self, rank: WorkerRank) {
        for tree in self.tiers.iter_mut().flatten() {
            tree.slots.clear(rank);
        }
    }

    /// Does up to `budget` steps of work that was put off: forgetting cleared blocks, adding up
    /// subtrees. Returns true while some is left.
    pub fn advance(&mut self, budget: usize) -> bool {
        let mut behind = false;
        for tree in self.tiers.iter_mut().flatten() {
            behind |= tree.advance(budget);
        }
        behind
    }

    /// Returns every rank seen and what it has, in no order.
    pub fn ranks(&self) -> impl Iterator<Item = (WorkerRank, RankCounts)> {
        let device = self.tiers[DEVICE].as_ref();
        let ranks = device.into_iter().flat_map(|tree| tree.slots.ranks());
        ranks.map(|(rank, _)| (rank, self.counts(rank)))
    }

    /// Returns what `rank` has.
    pub fn counts(&self, rank: WorkerRank) -> RankCounts {
        let mut counts = RankCounts::default();
        for (at, tree) in self.tiers.iter().enumerate() {
            if let Some(tree) = tree
                && let Some(slot) = tree.slots.get(rank)
            {
                let slot = tree.slots.at(slot);
                counts.accepted[at] = slot.accepted;
                counts.held[at] = slot.accepted + slot.orphans;
            }
        }
        counts
    }

    /// Returns what all ranks have together.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { refused_events: self.turned_away, ..Totals::default() };
        for tree in self.tiers.iter().flatten() {
            totals.memory_bytes += tree.bytes() as u64;
            totals.shed_blocks += tree.shed;
            totals.behind |= tree.is_behind();
        }
        if let Some(tree) = &self.tiers[DEVICE] {
            totals.accepted = tree.slots.accepted;
            totals.orphan_blocks = tree.slots.orphans;
            totals.held = totals.accepted + totals.orphan_blocks;
            totals.distinct = tree.distinct as u64;
            totals.orphan_roots = tree.orphan_roots as u64;
            totals.edges = tree.edges.len() as u64 - 1;
        }
        totals
    }

    /// Returns, for every rank that has a part of the prompt `tokens` in the device tier, how many of
    /// its blocks: the router's scores.
    pub fn overlap(&self, tokens: &[TokensHash]) -> Vec<(WorkerRank, u32)> {
        let Some(tree) = &self.tiers[DEVICE] else { return Vec::new() };
        let scores = tree.scores(tokens);
        let mut named = Vec::with_capacity(scores.len());
        let name = |(slot, depth)| Some((tree.slots.name(slot)?, depth));
        named.extend(scores.into_iter().filter_map(name));
        named
    }

    /// Returns true when the router would find `block` with `rank` in the device tier.
    pub fn holds(&self, rank: WorkerRank, block: SequenceHash) -> bool {
        self.find(rank, block).is_some_and(|orphan| !orphan)
    }

    /// Returns true when `rank` has `block` in the device tier, whether the router took it or refused
    /// it. KVT007 asks for the parents that a router says it lacks.
    pub fn knows(&self, rank: WorkerRank, block: SequenceHash) -> bool {
        self.find(rank, block).is_some()
    }

    /// Returns `block` and those above it in the device tier by the names that `rank` has for them, the nearest
    /// first; they end where it lacks one, or where its name for one cannot be told.
    pub fn chain(
        &self,
        rank: WorkerRank,
        block: SequenceHash,
    ) -> impl Iterator<Item = SequenceHash> + '_ {
        let place = self.tiers[DEVICE].as_ref().and_then(|tree| {
            let slot = tree.slots.get(rank)?;
            Some((tree, slot, tree.target(tree.handle(slot, block.0)?)))
        });
        place.into_iter().flat_map(move |(tree, slot, node)| tree.chain(node, slot, block))
    }

    fn find(&self, rank: WorkerRank, block: SequenceHash) -> Option<bool> {
        let tree = self.tiers[DEVICE].as_ref()?;
        let handle = tree.handle(tree.slots.get(rank)?, block.0)?;
        Some(tree.is_orphan(handle))
    }
}
