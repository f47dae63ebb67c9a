//! Removal of nodes that no rank owns any more.
//!
//! The per-block router forgets the children of a block that lost its last owner, but keeps its place
//! below the parent taken (dynamo-kv-router 1.0.2, `radix_tree.rs`). The edge-truncating one forgets an
//! edge that nobody covers, and the children of an edge that nobody covers to its end.

use super::Semantics;
use super::node::{EXTRA, NONE, ORPHAN, ROOT, SHELL};
use super::owners;
use super::tree::Tree;

/// Shells kept at most. Beyond it the router's memory is not matched.
const MAX_SHELLS: usize = 65_536;

impl Tree {
    /// Does what follows when `node` was given up: frees it if nobody can reach it any more.
    pub(super) fn settle(&mut self, node: u32) {
        if self.nodes.at(node).is(ORPHAN) {
            self.settle_orphan(node);
        } else if self.semantics == Semantics::EdgeTruncating {
            self.settle_edge(self.nodes.at(node).edge());
        } else if self.nodes.at(node).owners() == owners::EMPTY {
            self.vacate(node);
        }
    }

    /// Clears the children of `node`, which lost its last owner. Returns false when it is gone itself.
    pub(super) fn vacate(&mut self, node: u32) -> bool {
        if self.nodes.at(node).is(ORPHAN) {
            return self.settle_orphan(node);
        }
        self.clear_kids(node);
        let gone = !self.is_called(node) && !self.keep_as_shell(node);
        if gone {
            self.doomed.push(node);
        }
        self.free_doomed();
        !gone
    }

    /// Returns true when the place of `node`, which nobody can call, matters: a block without a parent
    /// might otherwise be hung there again, which the router would not do.
    fn keep_as_shell(&mut self, node: u32) -> bool {
        if self.nodes.at(node).parent() == NONE || self.detached == 0 || self.shells >= MAX_SHELLS {
            return false;
        }
        if !self.nodes.at(node).is(SHELL) {
            self.nodes.at_mut(node).set(SHELL, true);
            self.shells += 1;
        }
        true
    }

    /// Unlinks every child of `node`, dooms those that nobody can reach.
    fn clear_kids(&mut self, node: u32) {
        if let Some(next) = self.next_on_edge(node) {
            self.cut(next);
        }
        while let Some(kid) = self.kids_of(node).get(self.kids_of(node).len().wrapping_sub(1)) {
            self.unlink(kid, node);
            if self.nodes.at(kid).parent() == NONE && self.is_lost(kid) {
                self.doomed.push(kid);
            }
        }
    }

    /// Returns true when nobody can reach `node`, the head of an edge without a parent.
    fn is_lost(&self, node: u32) -> bool {
        if self.semantics == Semantics::EdgeTruncating {
            self.edges.at(self.nodes.at(node).edge()).live == 0
        } else {
            !self.is_called(node)
        }
    }

    pub(super) fn free_doomed(&mut self) {
        while let Some(node) = self.doomed.pop() {
            if self.semantics == Semantics::EdgeTruncating && !self.nodes.at(node).is(ORPHAN) {
                self.free_edge(node);
            } else {
                self.clear_kids(node);
                self.free_node(node);
            }
        }
    }

    /// Frees `node`, which has no children.
    fn free_node(&mut self, node: u32) {
        if self.nodes.at(node).is(EXTRA) {
            for parent in self.parents_of(node) {
                self.unlink(node, parent);
            }
        } else if self.nodes.at(node).parent() != NONE {
            self.unlink_last(node, self.nodes.at(node).parent());
        }
        let own = self.nodes.at(node).whole();
        let edge = *self.edges.at(own.edge());
        if edge.head == node {
            self.edges.release(own.edge());
        } else {
            self.edges.at_mut(own.edge()).tail = own.parent();
        }
        if !own.is(ORPHAN) && edge.head == node {
            self.attached(node, 1);
        }
        self.shells -= usize::from(own.is(SHELL));
        self.spill.release(own.owners());
        self.nodes.release(node);
    }

    /// Takes `node` from below `parent`, on whichever edge it is.
    fn unlink_last(&mut self, node: u32, parent: u32) {
        if self.nodes.at(node).edge() == self.nodes.at(parent).edge() {
            self.nodes.at_mut(parent).set_kids(u32::MAX);
        } else {
            self.unlink(node, parent);
        }
    }

    /// Frees orphans that nobody has and that have nothing below, upwards. Returns false when `node`
    /// went.
    fn settle_orphan(&mut self, node: u32) -> bool {
        let mut at = node;
        while at != NONE && !self.is_called(at) && self.is_childless(at) {
            let parent = self.nodes.at(at).parent();
            if parent == NONE {
                self.ghosts.remove(self.nodes.at(at).sequence(), at);
                self.orphan_roots -= 1;
            }
            self.free_node(at);
            at = parent;
        }
        at == node
    }

    /// Does what the router does to an edge after somebody left it.
    pub(super) fn settle_edge(&mut self, edge: u32) -> bool {
        let own = *self.edges.at(edge);
        if own.live == 0 {
            self.doomed.push(own.head);
        } else if self.nodes.at(own.tail).owners() == owners::EMPTY {
            self.clear_kids(own.tail);
        }
        self.free_doomed();
        own.live != 0
    }

    /// Frees the edge that starts with `head`, and dooms what only hung from it.
    fn free_edge(&mut self, head: u32) {
        let edge = self.nodes.at(head).edge();
        let mut node = self.edges.at(edge).tail;
        self.clear_kids(node);
        let parent = self.nodes.at(head).parent();
        if parent != NONE {
            self.unlink(head, parent);
        }
        self.attached(head, 1);
        self.edges.release(edge);
        loop {
            let above = self.nodes.at(node).parent();
            self.spill.release(self.nodes.at(node).owners());
            self.nodes.release(node);
            if node == head {
                return;
            }
            node = above;
        }
    }

    /// Strips dead owners off the edge of `node`. Returns false when the edge is gone.
    pub(super) fn reach_edge(&mut self, node: u32) -> bool {
        if node == ROOT {
            return true;
        }
        let edge = self.nodes.at(node).edge();
        let own = *self.edges.at(edge);
        let stripped = self.strip(node);
        if self.nodes.at(node).owners() != owners::EMPTY {
            return !stripped || self.settle_tail(node, own.tail);
        }
        // A head that nobody alive has means an edge that nobody alive has.
        if node == own.head {
            let mut at = node;
            while let Some(next) = self.next_on_edge(at) {
                self.strip(next);
                at = next;
            }
        }
        self.settle_edge(edge)
    }

    fn settle_tail(&mut self, node: u32, tail: u32) -> bool {
        node != tail || self.settle_edge(self.nodes.at(node).edge())
    }
}
