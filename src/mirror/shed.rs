//! Staying within memory: the coldest orphans go first, then cold leaves.
//!
//! A clock hand walks the edges and looks at a few at a time, which is nearly the oldest and costs the
//! same whatever the size of the tree. What is shed is counted; the mirror is then incomplete.

use super::edge::Edge;
use super::node::{EXTRA, NONE, ODD, ORPHAN, ROOT};
use super::owners;
use super::tree::Tree;

/// Edges looked at for one to shed.
const LOOK: usize = 32;

impl Tree {
    /// Frees cold blocks until the tree takes at most `limit` bytes, looking at no more edges than
    /// `budget`. Returns false when there was nothing to free.
    pub(super) fn shed(&mut self, limit: usize, budget: usize) -> bool {
        let mut left = budget;
        while self.bytes() > limit && left > 0 {
            let Some(edge) = self.coldest() else { return false };
            self.shed_edge(edge);
            left -= LOOK.min(left);
        }
        true
    }

    /// Returns the edge to shed among the next few that end in a leaf.
    fn coldest(&mut self) -> Option<u32> {
        let mut best: Option<(bool, u32, u32)> = None;
        let mut seen = 0;
        for _ in 0..self.edges.end() {
            self.hand = if self.hand + 1 >= self.edges.end() { 0 } else { self.hand + 1 };
            let edge = *self.edges.at(self.hand);
            if !self.is_leaf(&edge) {
                continue;
            }
            let rank = (!self.nodes.at(edge.tail).is(ORPHAN), edge.tick, self.hand);
            if best.is_none_or(|best| rank < best) {
                best = Some(rank);
            }
            seen += 1;
            if seen >= LOOK {
                break;
            }
        }
        best.map(|(_, _, edge)| edge)
    }

    fn is_leaf(&self, edge: &Edge) -> bool {
        edge.head != NONE && edge.head != ROOT && self.is_childless(edge.tail)
    }

    /// Sheds an edge from its tail up.
    fn shed_edge(&mut self, edge: u32) {
        let Edge { head, tail, .. } = *self.edges.at(edge);
        let orphan = self.nodes.at(tail).is(ORPHAN);
        let mut path = vec![tail];
        let mut at = tail;
        while at != head {
            at = self.nodes.at(at).parent();
            path.push(at);
        }
        for node in path {
            let gone = self.drop_block(node, orphan);
            self.shed += gone;
        }
        if orphan {
            self.settle(tail);
        } else if self.edges.at(edge).head == head && self.edges.at(edge).live == 0 {
            self.doom_edge(head);
        }
    }

    /// Takes every owner off `node`, returns how many alive there were.
    fn drop_block(&mut self, node: u32, orphan: bool) -> u64 {
        let mut slots = Vec::new();
        self.spill.each(self.nodes.at(node).owners(), |slot| slots.push(slot));
        let mut gone = 0;
        let (odd, hash) = (self.nodes.at(node).is(ODD), self.name_of(node));
        for slot in slots {
            gone += u64::from(!self.slots.is_dead(slot));
            if !odd {
                self.count(slot, orphan, -1);
            } else if let Some(alias) = self.aliases.find(slot, hash) {
                // Only in the edge-truncating tree do odd nodes have a name of their own.
                if self.aliases.at(alias).node == node {
                    self.count(slot, orphan, -1);
                    self.drop_alias(alias);
                }
            }
            self.disown(node, slot);
        }
        for alias in self.chained(node) {
            let slot = self.aliases.at(alias).slot;
            self.count(slot, orphan, -1);
            self.drop_alias(alias);
        }
        gone
    }

    /// Frees the edge of `head`, whose nodes nobody owns, with its shells.
    fn doom_edge(&mut self, head: u32) {
        debug_assert!(self.nodes.at(head).owners() == owners::EMPTY, "the edge was emptied");
        if self.semantics == super::Semantics::EdgeTruncating {
            self.doomed.push(head);
        } else {
            let mut at = self.edges.at(self.nodes.at(head).edge()).tail;
            while at != head {
                let above = self.nodes.at(at).parent();
                self.doomed.push(at);
                self.free_doomed();
                at = above;
            }
            if !self.nodes.at(head).is(EXTRA) || self.is_childless(head) {
                self.doomed.push(head);
            }
        }
        self.free_doomed();
    }
}
