//! Work put off: sweeping dead owners, dropping shells.
//!
//! A cleared rank is invisible at once, since its slot is dead. What it left in nodes is taken out here,
//! a slice at a time.

use super::alias::LOOSE;
use super::node::{NONE, ORPHAN, ROOT, SHELL};
use super::tree::Tree;

impl Tree {
    /// Does up to `budget` steps of work put off. Returns true while some is left.
    pub(super) fn advance(&mut self, budget: usize) -> bool {
        let left = budget - self.propagate(budget);
        if left > 0 {
            self.sweep(left);
        }
        self.is_behind()
    }

    /// Returns true while work is put off.
    pub(super) fn is_behind(&self) -> bool {
        !self.queue.is_empty() || self.slots.any_dead() || self.shells_to_drop()
    }

    /// Shells matter only while there are blocks without a parent.
    const fn shells_to_drop(&self) -> bool {
        self.shells > 0 && self.detached == 0
    }

    fn sweep(&mut self, budget: usize) {
        if self.sweep_at == 0 && self.alias_at == 0 {
            // Slots that die during a pass wait for the next one.
            self.slots.begin_sweep();
            if !self.slots.any_dead() && !self.shells_to_drop() {
                return;
            }
        }
        let mut left = budget;
        while left > 0 && self.sweep_at < self.nodes.end() {
            self.sweep_node(self.sweep_at);
            self.sweep_at += 1;
            left -= 1;
        }
        while left > 0 && self.sweep_at >= self.nodes.end() && self.alias_at < self.aliases.end() {
            self.sweep_alias(self.alias_at);
            self.alias_at += 1;
            left -= 1;
        }
        if self.sweep_at >= self.nodes.end() && self.alias_at >= self.aliases.end() {
            self.sweep_at = 0;
            self.alias_at = 0;
            self.slots.end_sweep();
        }
    }

    fn sweep_node(&mut self, node: u32) {
        let own = self.nodes.at(node).whole();
        if own.edge() == NONE || node == ROOT {
            return;
        }
        if own.is(SHELL) && self.detached == 0 {
            self.settle(node);
        } else if !(own.is(ORPHAN) && own.parent() == NONE) {
            self.reach(node);
        }
    }

    fn sweep_alias(&mut self, alias: u32) {
        let own = self.aliases.at(alias);
        if own.slot != NONE && own.previous == LOOSE && self.slots.is_dead(own.slot) {
            self.drop_alias(alias);
        }
    }
}
