//! Keeps details for the tree view: heat, what routers last said of each rank, and the way so far.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::domain::{
    Decision, FormulaTerm, KvBatch, KvEvent, KvKind, Tier, Timestamp, TreeNode, WorkerRank,
};
use crate::mirror::{Browser, Heat, Mirror};
use crate::snapshot::{Foresight, TreePage};
use crate::wire::chain::chained;

/// Most ranks of which something is kept.
const RANK_LIMIT: usize = 65_536;
/// Requests that are followed in a second; more are thinned evenly, and each that is left counts for several.
const FOLLOWED: u32 = 256;

/// A router's last words about one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Said {
    /// Weight of the prefill term, and blocks decoding.
    pub(super) cost: Option<(f64, f64, Timestamp)>,
    /// Blocks of the rank in the router's index.
    pub(super) size: Option<Size>,
}

/// A router's last count of its index, and what the mirror held around that time: events that came
/// together with the log line are applied a moment later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) router: u64,
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) at: Timestamp,
}

/// Requests in one second, of which every so many one is followed.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    second: u64,
    count: u32,
    /// As many as came in the second before, by those that are followed.
    stride: u32,
}

impl Asked {
    /// Returns for how many requests this one counts; 0 when it is not followed.
    fn weight(&mut self, at: Timestamp) -> u32 {
        if self.second != at.seconds() {
            let full = self.count.div_ceil(FOLLOWED).max(1);
            *self = Self { second: at.seconds(), count: 0, stride: full };
        }
        self.count = self.count.saturating_add(1);
        // A second with many more than the one before it is not followed to its end.
        let stride = self.stride.max(1);
        let follows = self.count.is_multiple_of(stride) && self.count / stride <= FOLLOWED * 2;
        if follows { stride } else { 0 }
    }
}

/// The shares of demand of the first prefixes at one moment.
#[derive(Clone, Debug)]
pub(super) struct LeadersThen {
    pub(super) at: Timestamp,
    pub(super) shares: Vec<(TreeNode, f64)>,
    /// True when all prefixes were kept: one that is missing had no demand.
    pub(super) all: bool,
}

/// State kept between two looks at the tree.
#[derive(Debug, Default)]
pub(super) struct Browsing {
    pub(super) browser: Browser,
    /// The browser of the pages that pictures keep, and the last of them.
    pub(super) coarse: Browser,
    pub(super) prefixes: Option<(Timestamp, Arc<TreePage>)>,
    /// The last answers from state, and the blocks that they looked at, at most.
    pub(super) foresight: Option<(usize, Arc<Foresight>)>,
}

/// Data for looking at the tree.
#[derive(Debug, Default)]
pub(super) struct Explorer {
    pub(super) heat: Heat,
    /// Counts of requests that begin with each part, where routers tell each other of them.
    pub(super) hits: Heat,
    /// Prefixes and their shares of demand, minute by minute, oldest first.
    pub(super) leaders: VecDeque<LeadersThen>,
    /// True once a request was found in the tree: its hashes are those that kvtop knows how to chain.
    pub(super) hits_known: bool,
    asked: Asked,
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

    /// Returns for how many requests one is to be followed that a router told the others of; 0 when it is
    /// not.
    pub(super) fn follows(&mut self, chain: &[u64], at: Timestamp) -> u32 {
        if chain.is_empty() { 0 } else { self.asked.weight(at) }
    }

    /// Follows a request that stands for so many, as far as its prompt is cached. Returns how many of its blocks `rank`
    /// has.
    pub(super) fn asked(
        &mut self,
        chain: &[u64],
        rank: WorkerRank,
        mirror: &Mirror,
        weight: u32,
        at: Timestamp,
    ) -> usize {
        let (found, own) =
            mirror.hit(&mut self.hits, chain, rank, chained, weight as f32, tick(at));
        self.hits_known |= found > 0;
        own
    }

    /// Follows the stores of the last second.
    pub(super) fn warm(&mut self, mirror: &Mirror, at: Timestamp) {
        mirror.warm(&mut self.heat, tick(at));
    }

    /// Returns what demand is measured by: requests where routers tell each other of them, else stores.
    pub(super) fn demand(&self) -> &Heat {
        if self.hits_known { &self.hits } else { &self.heat }
    }

    fn rank_mut(&mut self, rank: WorkerRank) -> Option<&mut Said> {
        if self.said.len() >= RANK_LIMIT && !self.said.contains_key(&rank) {
            return None;
        }
        Some(self.said.entry(rank).or_default())
    }

    /// Notes the cost that a router computed for a rank.
    pub(super) fn term(&mut self, term: &FormulaTerm, at: Timestamp) {
        if let Some(said) = self.rank_mut(term.rank) {
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
        let Some(said) = self.rank_mut(rank) else { return };
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
