//! Finds things: from names to blocks, from blocks to the rows that show them.
//!
//! A row is a run of blocks without a fork. The tree keeps such runs in one or more edges, since edges are
//! never joined again; what is shown joins them.

use super::Visits;
use crate::domain::{BlockRef, Hint, SequenceHash, TokensHash, TreeNode};
use crate::mirror::Semantics;
use crate::mirror::node::{NONE, ODD, ORPHAN, ROOT};
use crate::mirror::owners;
use crate::mirror::tree::Tree;

/// Names of one block that are compared.
const NAMES: usize = 256;
/// Edges that one row may join.
const JOINED: usize = 4_096;
/// Edges passed on the way to the root.
const CLIMB: usize = 65_536;

/// The current meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    Root,
    Detached,
    Orphans,
    /// A missing parent.
    Missing(u32),
    /// A block.
    Block(u32),
}

/// A row's worth of blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Its end, from which its children hang.
    pub(super) tail: u32,
    /// Its last block that somebody owns.
    pub(super) last: u32,
    /// Blocks that somebody owns.
    pub(super) blocks: u32,
    /// The time a store last passed.
    pub(super) touched: u32,
}

impl Tree {
    /// Returns what `node` stands for, none when it is gone.
    pub(super) fn spot(&self, node: &TreeNode) -> Option<Spot> {
        Some(match node {
            TreeNode::Root => Spot::Root,
            TreeNode::Detached => Spot::Detached,
            TreeNode::Orphans => Spot::Orphans,
            TreeNode::Missing(hash) => {
                let is_it = |id| self.nodes.at(id).sequence() == hash.0;
                Spot::Missing(self.ghosts.find(hash.0, is_it)?)
            }
            TreeNode::Block(block) => Spot::Block(self.find_block(block)?),
        })
    }

    fn find_block(&self, block: &BlockRef) -> Option<u32> {
        let fits = |id: u32| {
            if id == ROOT || id >= self.nodes.end() {
                return false;
            }
            let own = self.nodes.at(id);
            own.edge() != NONE
                && own.tokens() == block.tokens.0
                && own.is(ORPHAN) == block.orphan
                && !self.is_ghost(id)
                && self.answers_to(id, block.sequence.0)
        };
        let found = if fits(block.hint.0) {
            Some(block.hint.0)
        } else {
            self.index.find(block.sequence.0, fits)
        };
        // Nobody owns what lies at the end of a truncated edge; a row may begin with a block that is
        // only kept for what follows it.
        found.filter(|id| {
            let head = self.edges.at(self.nodes.at(*id).edge()).head;
            self.living(*id) > 0 || (head == *id && self.is_shown(head))
        })
    }

    /// Returns true when somebody calls `node` by `hash`, as far as that is quickly told.
    fn answers_to(&self, node: u32, hash: u64) -> bool {
        let own = self.nodes.at(node);
        if !own.is(ODD) || (self.semantics == Semantics::EdgeTruncating && !own.is(ORPHAN)) {
            return own.sequence() == hash;
        }
        let mut at = own.sequence() as u32;
        for _ in 0..NAMES {
            if at == NONE {
                return false;
            }
            if self.aliases.at(at).hash == hash {
                return true;
            }
            at = self.aliases.at(at).next;
        }
        false
    }

    /// Returns true when `node` stands for a parent that is missing.
    pub(super) fn is_ghost(&self, node: u32) -> bool {
        let own = self.nodes.at(node);
        own.is(ORPHAN) && own.parent() == NONE
    }

    /// Returns true when the edge of `head` has something to show: not when all owners died and are yet
    /// to be swept, as far as its ends tell.
    pub(super) fn is_shown(&self, head: u32) -> bool {
        let own = self.nodes.at(head);
        let edge = self.edges.at(own.edge());
        let dead = || {
            let any_dead = self.slots.any_dead() && !own.is(ORPHAN);
            any_dead && self.living(head) == 0 && self.living(edge.tail) == 0
        };
        edge.total() > 0 && !dead()
    }

    /// Returns the name of the block or missing parent at `node`.
    pub(super) fn named(&self, node: u32) -> TreeNode {
        let own = self.nodes.at(node);
        let sequence = SequenceHash(self.name_of(node));
        if self.is_ghost(node) {
            return TreeNode::Missing(sequence);
        }
        TreeNode::Block(BlockRef {
            sequence,
            tokens: TokensHash(own.tokens()),
            orphan: own.is(ORPHAN),
            hint: Hint(node),
        })
    }

    /// Returns the row that starts with `head`.
    pub(super) fn run(&self, head: u32, visits: &mut Visits) -> Run {
        let mut edge = self.edges.at(self.nodes.at(head).edge());
        let mut run =
            Run { tail: edge.tail, last: edge.tail, blocks: edge.live, touched: edge.tick };
        visits.count(1);
        if self.is_ghost(head) {
            return run;
        }
        for _ in 0..JOINED {
            let Some(next) = self.continuation(run.tail) else { break };
            edge = self.edges.at(self.nodes.at(next).edge());
            run.tail = edge.tail;
            run.blocks += edge.live;
            run.touched = run.touched.max(edge.tick);
            visits.count(1);
        }
        // Routers from 1.1 on keep blocks at the end of an edge that nobody covers any more.
        run.last = run.tail;
        for _ in 0..JOINED {
            let own = self.nodes.at(run.last);
            if run.last == head || own.owners() != owners::EMPTY {
                break;
            }
            run.last = own.parent();
            visits.count(1);
        }
        run
    }

    /// Returns the only block that follows `tail`, the end of an edge.
    fn continuation(&self, tail: u32) -> Option<u32> {
        let kid = self.only_kid(tail)?;
        (self.nodes.at(kid).parent() == tail && self.is_shown(kid)).then_some(kid)
    }

    /// Returns the first block of the row that shows `node`.
    pub(super) fn row_of(&self, node: u32, visits: &mut Visits) -> u32 {
        let mut head = self.edges.at(self.nodes.at(node).edge()).head;
        for _ in 0..CLIMB {
            visits.count(1);
            let parent = self.nodes.at(head).parent();
            let joined = parent != NONE
                && parent != ROOT
                && !self.is_ghost(parent)
                && self.only_kid(parent) == Some(head);
            if !joined {
                break;
            }
            head = self.edges.at(self.nodes.at(parent).edge()).head;
        }
        head
    }

    /// Returns the rows from the top down to the one of `node`: first blocks, and a missing parent
    /// where there is one. None when the way is too long.
    pub(super) fn way_to(&self, node: u32, visits: &mut Visits) -> Option<Vec<u32>> {
        let mut way = Vec::new();
        let mut at = node;
        let before = visits.spent();
        while visits.spent() - before < CLIMB {
            let head = if self.is_ghost(at) { at } else { self.row_of(at, visits) };
            way.push(head);
            at = self.nodes.at(head).parent();
            if at == NONE || at == ROOT {
                way.reverse();
                return Some(way);
            }
        }
        None
    }

    /// Returns how many owned blocks lead from the root to `head`, the first block of a row, without
    /// it. None when no root leads there.
    pub(super) fn blocks_above(&self, head: u32, visits: &mut Visits) -> Option<u32> {
        let mut sum = 0;
        let mut at = self.nodes.at(head).parent();
        for _ in 0..CLIMB {
            if at == ROOT {
                return Some(sum);
            }
            if at == NONE {
                return None;
            }
            let edge = self.edges.at(self.nodes.at(at).edge());
            sum += edge.live;
            visits.count(1);
            at = self.nodes.at(edge.head).parent();
        }
        None
    }
}
