//! Edges of the tree: growth, splits, counts and rows.

use super::Semantics;
use super::edge::Edge;
use super::node::{NONE, ORPHAN, ROOT};
use super::tree::Tree;

impl Tree {
    /// Adds a node for `tokens` below `parent`, on the same edge when `parent` ends one that may grow.
    /// Returns none when there is no room.
    #[inline]
    pub(super) fn sprout(&mut self, parent: u32, tokens: u64) -> Option<u32> {
        let above = self.nodes.at(parent).whole();
        let node = self.nodes.alloc()?;
        let orphan = above.is(ORPHAN);
        let truncating = self.semantics == Semantics::EdgeTruncating && !orphan;
        let grows =
            above.kids() == u32::MAX && parent != ROOT && !(orphan && above.parent() == NONE) && {
                let edge = self.edges.at(above.edge());
                edge.tail == parent && !(truncating && edge.is_internal())
            };
        let edge = if grows {
            self.edges.at_mut(above.edge()).tail = node;
            above.edge()
        } else {
            self.edges.at_mut(above.edge()).set_internal(true);
            self.edges.add(Edge::new(node, self.tick))
        };
        let mut fresh = self.nodes.at_mut(node);
        fresh.set_tokens(tokens);
        fresh.set_edge(edge);
        fresh.set(ORPHAN, orphan);
        self.attached(node, -1);
        self.link(node, parent);
        Some(node)
    }

    /// Makes `node` the head of an edge. The shorter part gets the new record.
    pub(super) fn cut(&mut self, node: u32) {
        let edge = self.nodes.at(node).edge();
        if self.edges.at(edge).head == node {
            return;
        }
        let Edge { head, tail, .. } = *self.edges.at(edge);
        let (mut up, mut down) = (self.nodes.at(node).parent(), node);
        while up != head && down != tail {
            up = self.nodes.at(up).parent();
            match self.only_kid(down) {
                Some(next) => down = next,
                None => break,
            }
        }
        if down == tail { self.cut_suffix(edge, node) } else { self.cut_prefix(edge, node) }
    }

    fn cut_suffix(&mut self, edge: u32, node: u32) {
        let old = *self.edges.at(edge);
        let mut suffix = Edge { head: node, live: 0, pending: 0, ..old };
        suffix.set_place(0);
        suffix.set_queued(false);
        let fresh = self.edges.add(suffix);
        let live = self.relabel(node, old.tail, fresh);
        self.edges.at_mut(fresh).live = live;
        let below = live.wrapping_add(old.below);
        let parent = self.nodes.at(node).parent();
        let prefix = self.edges.at_mut(edge);
        prefix.tail = parent;
        prefix.live -= live;
        prefix.below = below;
        prefix.set_internal(true);
    }

    fn cut_prefix(&mut self, edge: u32, node: u32) {
        let old = *self.edges.at(edge);
        let parent = self.nodes.at(node).parent();
        let mut prefix = Edge { tail: parent, live: 0, pending: 0, ..old };
        prefix.set_internal(true);
        prefix.set_queued(false);
        let fresh = self.edges.add(prefix);
        let live = self.relabel(old.head, parent, fresh);
        let suffix = self.edges.at_mut(edge);
        suffix.head = node;
        suffix.live -= live;
        suffix.pending = 0;
        suffix.set_place(0);
        let below = suffix.total();
        let prefix = self.edges.at_mut(fresh);
        prefix.live = live;
        prefix.below = below;
        self.pend(fresh, old.pending);
    }

    /// Moves the nodes from `head` to `tail` to `edge`, returns how many of them are owned.
    fn relabel(&mut self, head: u32, tail: u32, edge: u32) -> u32 {
        let mut live = 0;
        let mut node = head;
        loop {
            self.nodes.at_mut(node).set_edge(edge);
            live += u32::from(self.nodes.at(node).owners() != super::owners::EMPTY);
            if node == tail {
                return live;
            }
            match self.only_kid(node) {
                Some(next) => node = next,
                None => return live,
            }
        }
    }

    /// Notes that `edge` has `by` owned nodes more, for the edges above to learn.
    #[inline]
    pub(super) fn pend(&mut self, edge: u32, by: i32) {
        if by == 0 {
            return;
        }
        let own = self.edges.at_mut(edge);
        own.pending = own.pending.wrapping_add(by);
        if !own.is_queued() {
            own.set_queued(true);
            self.queue.push_back(edge);
        }
    }

    /// Lets up to `budget` edges report to the edge above. Returns how many did.
    pub(super) fn propagate(&mut self, budget: usize) -> usize {
        for done in 0..budget {
            let Some(edge) = self.queue.pop_front() else { return done };
            let own = self.edges.at_mut(edge);
            own.set_queued(false);
            let (head, pending) = (own.head, own.pending);
            if head == NONE || pending == 0 {
                continue;
            }
            let parent = self.nodes.at(head).parent();
            self.edges.at_mut(edge).pending = 0;
            if parent != NONE {
                self.gain(self.nodes.at(parent).edge(), pending);
            }
        }
        budget
    }

    fn gain(&mut self, edge: u32, by: i32) {
        let above = self.edges.at_mut(edge);
        above.below = above.below.wrapping_add_signed(by);
        self.pend(edge, by);
    }

    /// Adds what `child`'s edge counts to the edge of `parent`, which it was just hung below.
    pub(super) fn report(&mut self, child: u32, parent: u32) {
        let (edge, above) = (self.nodes.at(child).edge(), self.nodes.at(parent).edge());
        if edge != above {
            let own = self.edges.at_mut(edge);
            own.pending = 0;
            let total = own.total().cast_signed();
            if total != 0 {
                self.gain(above, total);
            }
        }
    }

    /// Takes what `child`'s edge reported back from the edge of `parent`.
    pub(super) fn unreport(&mut self, child: u32, parent: u32) {
        let (edge, above) = (self.nodes.at(child).edge(), self.nodes.at(parent).edge());
        if edge != above {
            let reported = self.edges.at(edge).reported();
            self.edges.at_mut(edge).pending = 0;
            if reported != 0 {
                self.gain(above, reported.wrapping_neg());
            }
        }
    }

    /// Notes that a store passed `node`.
    #[inline]
    pub(super) fn touch(&mut self, node: u32) {
        let tick = self.tick;
        self.edges.at_mut(self.nodes.at(node).edge()).tick = tick;
    }
}
