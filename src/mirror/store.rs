//! Applies `stored` events per block, as the routers of Dynamo 0.9 and 1.0 do.

use crate::domain::{Block, SequenceHash};

use super::Semantics;
use super::handle::Put;
use super::node::{NONE, ODD, ORPHAN, ROOT};
use super::outcome::{Outcome, Refusal};
use super::tree::Tree;

impl Tree {
    /// Applies a `stored` event of `slot`.
    pub(super) fn store(
        &mut self,
        slot: u32,
        parent: Option<SequenceHash>,
        blocks: &[Block],
    ) -> Outcome {
        let mut outcome = Outcome::stored_event(blocks);
        let done = match self.semantics {
            Semantics::PerBlock => self.store_per_block(slot, parent, blocks, &mut outcome),
            Semantics::EdgeTruncating => self.store_on_edges(slot, parent, blocks, &mut outcome),
        };
        if let Err(refusal) = done {
            outcome.refuse(refusal, blocks);
            if let (Refusal::ParentMissing { .. }, Some(parent)) = (refusal, parent) {
                self.store_orphans(slot, parent.0, blocks, &mut outcome);
            }
        }
        outcome
    }

    fn store_per_block(
        &mut self,
        slot: u32,
        parent: Option<SequenceHash>,
        blocks: &[Block],
        outcome: &mut Outcome,
    ) -> Result<(), Refusal> {
        let mut at = match parent {
            None => ROOT,
            Some(parent) => self.known_parent(slot, parent.0)?,
        };
        let mut rest = blocks;
        loop {
            let (count, last) = self.join_in(at, slot, rest, outcome);
            (at, rest) = (last, &rest[count..]);
            let (count, last) = self.lengthen(at, slot, rest);
            outcome.stored += count as u32;
            (at, rest) = (last, &rest[count..]);
            let Some((block, after)) = rest.split_first() else { break };
            rest = after;
            if self.index.is_crowded(block.sequence.0) {
                return Err(Refusal::Full);
            }
            let child = match self.living_child(at, block.tokens.0) {
                Some(child) => child,
                None => match self.relinked(slot, at, block) {
                    Some(child) if child == at => return Err(Refusal::SelfReference),
                    Some(child) => child,
                    None => self.sprout(at, block.tokens.0).ok_or(Refusal::Full)?,
                },
            };
            outcome.note(self.put(child, slot, block.sequence.0));
            self.touch(child);
            at = child;
        }
        Ok(())
    }

    /// Returns the accepted node that `slot` calls `parent`.
    fn known_parent(&mut self, slot: u32, parent: u64) -> Result<u32, Refusal> {
        let missing = Refusal::ParentMissing { held: false };
        let handle = self.handle(slot, parent).ok_or(missing)?;
        if self.is_orphan(handle) {
            return Err(Refusal::ParentMissing { held: true });
        }
        let node = self.target(handle);
        if node != NONE && self.reach(node) { Ok(node) } else { Err(missing) }
    }

    /// Returns the child of `parent` for `tokens`, unless only dead owners had it.
    #[inline]
    pub(super) fn living_child(&mut self, parent: u32, tokens: u64) -> Option<u32> {
        let child = self.child_of(parent, tokens)?;
        self.reach(child).then_some(child)
    }

    /// Hangs the node that `slot` already calls by the hash of `block` below `parent`, as the router
    /// does when its old parent was forgotten (dynamo-kv-router 1.0.2, `radix_tree.rs`).
    fn relinked(&mut self, slot: u32, parent: u32, block: &Block) -> Option<u32> {
        let handle = self.handle(slot, block.sequence.0)?;
        let node = self.target(handle);
        if node == NONE || self.is_orphan(handle) || node == parent {
            return (node == parent).then_some(node);
        }
        // One hash with two contents would need two names for one node. No engine does that.
        if self.nodes.at(node).tokens() != block.tokens.0 || !self.reach(node) {
            return None;
        }
        self.cut(node);
        self.link(node, parent);
        Some(node)
    }

    /// Keeps what the router refused, below the parent that it lacks.
    pub(super) fn store_orphans(
        &mut self,
        slot: u32,
        parent: u64,
        blocks: &[Block],
        outcome: &mut Outcome,
    ) {
        let mut at = match self.handle(slot, parent) {
            Some(handle) if self.is_orphan(handle) => Place::Node(self.target(handle)),
            _ => Place::Missing(parent),
        };
        for block in blocks {
            match self.handle(slot, block.sequence.0) {
                Some(handle) if self.is_orphan(handle) => {
                    outcome.duplicates += 1;
                    at = Place::Node(self.target(handle));
                    self.touch(self.target(handle));
                    continue;
                }
                Some(_) => {
                    outcome.duplicates += 1;
                    at = Place::Missing(block.sequence.0);
                    continue;
                }
                None => {}
            }
            if self.index.is_crowded(block.sequence.0) {
                return;
            }
            let Some(node) = self.orphan_child(at, block.tokens.0) else { return };
            if self.put(node, slot, block.sequence.0) == Put::New {
                outcome.stored += 1;
            }
            self.touch(node);
            at = Place::Node(node);
        }
    }

    fn orphan_child(&mut self, place: Place, tokens: u64) -> Option<u32> {
        let parent = match place {
            Place::Node(node) => node,
            Place::Missing(hash) => self.ghost(hash)?,
        };
        if let Some(child) = self.living_child(parent, tokens) {
            return Some(child);
        }
        // A child that only dead ranks had may have taken its missing parent with it.
        let parent = match place {
            Place::Node(node) => node,
            Place::Missing(hash) => self.ghost(hash)?,
        };
        self.sprout(parent, tokens)
    }

    /// Returns the node that stands for a missing parent, a new one if need be.
    fn ghost(&mut self, hash: u64) -> Option<u32> {
        let known = self.ghosts.find(hash, |id| self.nodes.at(id).sequence() == hash);
        if known.is_some() {
            return known;
        }
        let ghost = self.nodes.alloc()?;
        let edge = self.edges.add(super::edge::Edge::new(ghost, self.tick));
        let mut own = self.nodes.at_mut(ghost);
        own.set(ORPHAN, true);
        own.set_sequence(hash);
        own.set_edge(edge);
        self.ghosts.insert(hash, ghost);
        self.orphan_roots += 1;
        Some(ghost)
    }

    /// Returns a sequence hash by which somebody calls `node`.
    pub(super) fn name_of(&self, node: u32) -> u64 {
        let own = self.nodes.at(node);
        if !own.is(ODD) || (self.semantics == Semantics::EdgeTruncating && !own.is(ORPHAN)) {
            return own.sequence();
        }
        match own.sequence() as u32 {
            NONE => 0,
            first => self.aliases.at(first).hash,
        }
    }
}

/// The place of the next orphan.
#[derive(Clone, Copy)]
enum Place {
    /// Below this orphan.
    Node(u32),
    /// Below the parent of this hash, which is missing.
    Missing(u64),
}
