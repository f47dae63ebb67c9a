//! Looking into the tree: a few rows at a time, for whoever draws it.
//!
//! Every question costs what its answer is long. Subtree totals are as fresh as [`Mirror::advance`]
//! made them.

use crate::domain::{SequenceHash, TokensHash, WorkerRank};

use super::node::{NONE, ORPHAN, ROOT};
use super::tree::Tree;
use super::{DEVICE, Mirror};

/// A run of blocks without a branch. Valid until the run ends, is parted or its first block goes;
/// then questions about it answer none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EdgeId {
    edge: u32,
    head: u32,
    tokens: u64,
}

/// What is known of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeView {
    /// The run.
    pub id: EdgeId,
    /// Blocks on it that somebody has.
    pub blocks: u32,
    /// Blocks on it and below it that somebody has.
    pub subtree_blocks: u32,
    /// False while blocks below are still being added up: then `subtree_blocks` may be off.
    pub exact: bool,
    /// Ranks that have its first block.
    pub owners: usize,
    /// Runs that follow it.
    pub children: usize,
    /// The sequence hash of its first block; for a missing parent, its own.
    pub first: SequenceHash,
    /// The sequence hash of its last block.
    pub last: SequenceHash,
    /// The tokens hash of its first block.
    pub tokens: TokensHash,
    /// The tick of the last store that passed.
    pub touched: u32,
    /// True when the router refused these blocks.
    pub orphan: bool,
}

impl Mirror {
    /// Returns how many runs start a prompt.
    pub fn root_count(&self) -> usize {
        self.tiers[DEVICE].as_ref().map_or(0, |tree| tree.kids_of(ROOT).len())
    }

    /// Returns up to `limit` of the runs that start a prompt, from the `offset`-th on.
    pub fn roots(&self, offset: usize, limit: usize) -> Vec<EdgeView> {
        self.tiers[DEVICE].as_ref().map_or_else(Vec::new, |tree| tree.views(ROOT, offset, limit))
    }

    /// Returns up to `limit` of the runs that follow `edge`, from the `offset`-th on.
    pub fn children(&self, edge: EdgeId, offset: usize, limit: usize) -> Vec<EdgeView> {
        let found = self.tiers[DEVICE].as_ref().and_then(|tree| {
            let tail = tree.find_edge(edge)?;
            Some(tree.views(tail, offset, limit))
        });
        found.unwrap_or_default()
    }

    /// Returns what is known of `edge`, none when it is gone.
    pub fn edge(&self, edge: EdgeId) -> Option<EdgeView> {
        let tree = self.tiers[DEVICE].as_ref()?;
        tree.find_edge(edge)?;
        Some(tree.view(edge.head))
    }

    /// Returns the ranks that have the first block of `edge`, up to `limit`.
    pub fn owners(&self, edge: EdgeId, limit: usize) -> Vec<WorkerRank> {
        let mut ranks = Vec::new();
        if let Some(tree) = &self.tiers[DEVICE]
            && tree.find_edge(edge).is_some()
        {
            tree.spill.each(tree.nodes.at(edge.head).owners(), |slot| {
                if ranks.len() < limit && !tree.slots.is_dead(slot) {
                    ranks.extend(tree.slots.name(slot));
                }
            });
        }
        ranks
    }

    /// Returns up to `limit` missing parents that have orphans, from `cursor` on, and where to go on.
    /// [`Mirror::children`] has the orphans of each. A page may be short, even empty, while there is
    /// more: a missing parent is looked for among a bounded number of runs.
    pub fn missing_parents(&self, cursor: u32, limit: usize) -> (Vec<EdgeView>, Option<u32>) {
        self.tiers[DEVICE]
            .as_ref()
            .map_or_else(|| (Vec::new(), None), |tree| tree.ghosts_from(cursor, limit))
    }
}

/// Runs looked at for one page of missing parents.
const LOOK: u32 = 4096;

impl Tree {
    /// Returns the last node of a run, if it is still there.
    fn find_edge(&self, id: EdgeId) -> Option<u32> {
        if id.edge >= self.edges.end() || id.head >= self.nodes.end() {
            return None;
        }
        let edge = self.edges.at(id.edge);
        (edge.head == id.head && self.nodes.at(id.head).tokens() == id.tokens).then_some(edge.tail)
    }

    fn views(&self, node: u32, offset: usize, limit: usize) -> Vec<EdgeView> {
        let kids = self.kids_of(node);
        (offset..kids.len()).take(limit).filter_map(|at| Some(self.view(kids.get(at)?))).collect()
    }

    fn view(&self, head: u32) -> EdgeView {
        let own = self.nodes.at(head);
        let edge = self.edges.at(own.edge);
        let mut owners = 0;
        self.spill.each(own.owners(), |slot| owners += usize::from(!self.slots.is_dead(slot)));
        EdgeView {
            id: EdgeId { edge: own.edge, head, tokens: own.tokens() },
            blocks: edge.live,
            subtree_blocks: edge.total(),
            exact: self.queue.is_empty() && !self.slots.any_dead(),
            owners,
            children: self.kids_of(edge.tail).len(),
            first: SequenceHash(self.name_of(head)),
            last: SequenceHash(self.name_of(edge.tail)),
            tokens: TokensHash(own.tokens()),
            touched: edge.tick,
            orphan: own.is(ORPHAN),
        }
    }

    fn ghosts_from(&self, cursor: u32, limit: usize) -> (Vec<EdgeView>, Option<u32>) {
        let mut found = Vec::new();
        let mut at = cursor;
        let stop = self.edges.end().min(cursor.saturating_add(LOOK));
        while at < stop && found.len() < limit {
            let head = self.edges.at(at).head;
            if head != NONE
                && self.nodes.at(head).is(ORPHAN)
                && self.nodes.at(head).parent() == NONE
            {
                found.push(self.view(head));
            }
            at += 1;
        }
        (found, (at < self.edges.end()).then_some(at))
    }
}
