//! Applies events on compressed edges, as the routers of Dynamo 1.1 and later do.
//!
//! Whoever covers a block of an edge covers all before it on that edge. A removal in the middle takes
//! the rank off the rest of the edge (dynamo-kv-router 1.6.1, `indexer/radix_tree.rs`).

use crate::domain::{Block, SequenceHash, TokensHash};

use super::handle::Handle;
use super::node::{NONE, ODD, ROOT};
use super::outcome::{Outcome, Refusal};
use super::remove::Removal;
use super::tree::Tree;

impl Tree {
    pub(super) fn store_on_edges(
        &mut self,
        slot: u32,
        parent: Option<SequenceHash>,
        blocks: &[Block],
        outcome: &mut Outcome,
    ) -> Result<(), Refusal> {
        let mut at = ROOT;
        if let Some(parent) = parent {
            if blocks.iter().any(|block| block.sequence == parent) {
                return Err(Refusal::SelfReference);
            }
            at = self.covered_parent(slot, parent.0)?;
            if !self.follows(at, blocks)
                && let Some(next) = self.next_on_edge(at)
            {
                self.split(next);
            }
        }
        let mut rest = blocks;
        loop {
            let (count, last) = self.join_in(at, slot, rest, outcome);
            at = last;
            rest = &rest[count..];
            let (count, last) = self.lengthen(at, slot, rest);
            outcome.stored += count as u32;
            at = last;
            rest = &rest[count..];
            let Some((block, after)) = rest.split_first() else { break };
            if self.index.is_crowded(block.sequence.0) {
                return Err(Refusal::Full);
            }
            let child = if let Some(child) = self.living_child(at, block.tokens.0) {
                child
            } else {
                if let Some(next) = self.next_on_edge(at) {
                    self.split(next);
                }
                self.sprout_edge(at, slot, block)?
            };
            outcome.note(self.put(child, slot, block.sequence.0));
            self.touch(child);
            at = child;
            rest = after;
        }
        Ok(())
    }

    /// Adds the node for `block`. A leaf is lengthened only by a rank that has all of it.
    fn sprout_edge(&mut self, parent: u32, slot: u32, block: &Block) -> Result<u32, Refusal> {
        if parent != ROOT && !self.owns(parent, slot) {
            self.edges.at_mut(self.nodes.at(parent).edge()).set_internal(true);
        }
        let node = self.sprout(parent, block.tokens.0).ok_or(Refusal::Full)?;
        self.nodes.at_mut(node).set_sequence(block.sequence.0);
        Ok(node)
    }

    /// Returns the node that `slot` calls `parent`, if it covers it.
    fn covered_parent(&mut self, slot: u32, parent: u64) -> Result<u32, Refusal> {
        let missing = Refusal::ParentMissing { held: false };
        let handle = self.handle(slot, parent).ok_or(missing)?;
        if self.is_orphan(handle) {
            return Err(Refusal::ParentMissing { held: true });
        }
        match handle {
            Handle::Implied(node) if self.reach(node) => Ok(node),
            Handle::Implied(_) => Err(missing),
            Handle::Alias(alias) => {
                let node = self.alias_target(alias).ok_or(missing)?;
                if self.owns(node, slot) {
                    return Ok(node);
                }
                self.drop_handle(handle, slot, false);
                Err(missing)
            }
        }
    }

    /// Returns the node that an alias leads to, none when the router's entry leads nowhere.
    pub(super) fn alias_target(&self, alias: u32) -> Option<u32> {
        let own = self.aliases.at(alias);
        let leads = own.node != NONE && {
            let node = self.nodes.at(own.node);
            node.edge() != NONE && node.is(ODD) && node.sequence() == own.hash
        };
        leads.then_some(own.node)
    }

    /// Returns true when `blocks` are what follows `node` on its edge, or go on from its end.
    fn follows(&self, node: u32, blocks: &[Block]) -> bool {
        let mut at = node;
        for block in blocks {
            let Some(next) = self.next_on_edge(at) else {
                return !self.edges.at(self.nodes.at(at).edge()).is_internal();
            };
            let own = self.nodes.at(next);
            if own.tokens() != block.tokens.0 || own.sequence() != block.sequence.0 {
                return false;
            }
            at = next;
        }
        true
    }

    /// Parts an edge before `node`.
    fn split(&mut self, node: u32) {
        let above = self.nodes.at(node).parent();
        self.rename_suffix(node);
        self.cut(node);
        let edge = self.nodes.at(above).edge();
        self.edges.at_mut(edge).set_internal(true);
        if self.slots.any_dead() && !self.reach_edge(node) {
            return;
        }
        self.settle_edge(self.nodes.at(node).edge());
    }

    /// Gives every owner from `node` to the end of its edge the edge's own name for the block: the
    /// router files them so when it parts an edge.
    fn rename_suffix(&mut self, node: u32) {
        let mut at = Some(node);
        while let Some(node) = at {
            if self.nodes.at(node).is(ODD) {
                let hash = self.nodes.at(node).sequence();
                let mut slots = Vec::new();
                self.spill.each(self.nodes.at(node).owners(), |slot| slots.push(slot));
                for slot in slots {
                    if !self.slots.is_dead(slot) {
                        self.put(node, slot, hash);
                    }
                }
            }
            at = self.next_on_edge(node);
        }
    }

    /// Takes `slot` off the edge from `node` on, and notes what it lost.
    pub(super) fn truncate(&mut self, node: u32, slot: u32, removal: &mut Removal) {
        let edge = self.nodes.at(node).edge();
        let first = node;
        let begin = removal.truncated.len();
        let mut at = Some(node);
        while let Some(node) = at {
            if !self.owns(node, slot) {
                break;
            }
            let own = self.nodes.at(node);
            let (sequence, tokens, odd) = (own.sequence(), own.tokens(), own.is(ODD));
            if !odd {
                self.count(slot, false, -1);
            } else if let Some(alias) = self.aliases.find(slot, sequence) {
                self.drop_handle(Handle::Alias(alias), slot, false);
            }
            at = self.next_on_edge(node);
            self.disown(node, slot);
            removal.dropped.push(sequence);
            if node != first || at.is_some_and(|next| self.owns(next, slot)) {
                let (sequence, tokens) = (SequenceHash(sequence), TokensHash(tokens));
                removal.truncated.push(Block { sequence, tokens });
            }
        }
        if removal.truncated.len() > begin {
            removal.ends.push(removal.truncated.len());
        }
        self.settle_edge(edge);
    }
}
