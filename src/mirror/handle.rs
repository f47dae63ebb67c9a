//! Handles and owners: how a rank calls a block, and who has it.
//!
//! A handle is what the router keeps per rank, sequence hash to node. A node of one hash implies the
//! handles of its owners. An odd node, one that somebody calls by another hash, has an alias record for
//! each; in the accepted per-block tree and in the orphan forest these are chained from the node.

use super::Semantics;
use super::alias::LOOSE;
use super::node::{EXTRA, NONE, ODD, ORPHAN, ROOT, SHELL};
use super::owners::{self, Spill, Word};
use super::tree::Tree;
use crate::domain::SequenceHash;

/// A rank's name of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Handle {
    /// The node carries the hash and is owned by the rank.
    Implied(u32),
    /// A record says so.
    Alias(u32),
}

/// The change made by inserting a handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// Nothing that counts: the rank had the block.
    Known,
    /// The rank had the block as an orphan.
    Adopted,
    /// The rank has one block more.
    New,
}

impl Tree {
    /// Returns the handle of `slot` for `hash`.
    #[inline]
    pub(super) fn handle(&self, slot: u32, hash: u64) -> Option<Handle> {
        let implied = self.index.find(hash, |id| {
            let node = self.nodes.at(id);
            node.sequence() == hash && self.spill.contains(node.owners(), slot)
        });
        match implied {
            Some(node) => Some(Handle::Implied(node)),
            None => self.aliases.find(slot, hash).map(Handle::Alias),
        }
    }

    /// Returns where `handle` leads, or none.
    #[inline]
    pub(super) fn target(&self, handle: Handle) -> u32 {
        match handle {
            Handle::Implied(node) => node,
            Handle::Alias(alias) => self.aliases.at(alias).node,
        }
    }

    /// Returns true when `handle` is one of the orphan forest.
    #[inline]
    pub(super) fn is_orphan(&self, handle: Handle) -> bool {
        let node = self.target(handle);
        node != NONE && self.nodes.at(node).is(ORPHAN)
    }

    /// Returns true when `slot` has `node`.
    #[inline]
    pub(super) fn owns(&self, node: u32, slot: u32) -> bool {
        self.spill.contains(self.nodes.at(node).owners(), slot)
    }

    /// Returns true when odd nodes like `node` keep their hash, because the router's edges do.
    fn keeps_hash(&self, node: u32) -> bool {
        self.semantics == Semantics::EdgeTruncating && !self.nodes.at(node).is(ORPHAN)
    }

    /// Makes `slot` an owner of `node`.
    #[inline]
    pub(super) fn own(&mut self, node: u32, slot: u32) {
        let before = self.nodes.at(node).owners();
        let after = self.spill.insert(before, slot);
        self.set_owners(node, before, after);
    }

    /// Makes `slot` no owner of `node`.
    #[inline]
    pub(super) fn disown(&mut self, node: u32, slot: u32) {
        let before = self.nodes.at(node).owners();
        let after = self.spill.remove(before, slot);
        self.set_owners(node, before, after);
    }

    #[inline]
    fn set_owners(&mut self, node: u32, before: Word, after: Word) {
        self.nodes.at_mut(node).set_owners(after);
        if before == owners::EMPTY && after != owners::EMPTY {
            self.awake(node);
        } else if before != owners::EMPTY && after == owners::EMPTY {
            self.asleep(node);
        }
    }

    /// Files `node` under its own hash.
    #[inline]
    fn file(&mut self, hash: u64, node: u32) {
        self.twins += usize::from(self.is_filed(hash));
        self.index.insert(hash, node);
    }

    /// Takes `node` out from under its own hash.
    #[inline]
    pub(super) fn unfile(&mut self, hash: u64, node: u32) {
        self.index.remove(hash, node);
        if self.twins > 0 {
            self.twins -= usize::from(self.is_filed(hash));
        }
    }

    fn is_filed(&self, hash: u64) -> bool {
        self.index.find(hash, |id| self.nodes.at(id).sequence() == hash).is_some()
    }

    /// Notes that `node` got its first owner.
    #[inline]
    fn awake(&mut self, node: u32) {
        let own = self.nodes.at(node);
        let (edge, orphan) = (own.edge(), own.is(ORPHAN));
        if !own.is(ODD) {
            self.file(own.sequence(), node);
        }
        if self.nodes.at(node).is(SHELL) {
            self.nodes.at_mut(node).set(SHELL, false);
            self.shells -= 1;
        }
        self.edges.at_mut(edge).live += 1;
        self.distinct += usize::from(!orphan);
        self.pend(edge, 1);
    }

    /// Notes that `node` lost its last owner.
    #[inline]
    fn asleep(&mut self, node: u32) {
        let own = self.nodes.at(node);
        let (edge, orphan) = (own.edge(), own.is(ORPHAN));
        if !own.is(ODD) {
            self.unfile(own.sequence(), node);
        } else if self.keeps_hash(node) {
            // Its own hash named nobody any more; what is left are entries that lead nowhere.
            self.nodes.at_mut(node).set(ODD, false);
        }
        self.edges.at_mut(edge).live -= 1;
        self.distinct -= usize::from(!orphan);
        self.pend(edge, -1);
    }

    /// Lets `slot` call `node` by `hash`, and own it. A handle of that name that led elsewhere is given
    /// up, with the ownership that went with it.
    #[inline]
    pub(super) fn put(&mut self, node: u32, slot: u32, hash: u64) -> Put {
        let own = self.nodes.at(node);
        if !own.is(ODD) && own.sequence() == hash && self.spill.contains(own.owners(), slot) {
            return Put::Known;
        }
        let (orphan, old) = (own.is(ORPHAN), self.handle(slot, hash));
        if let Some(Handle::Alias(alias)) = old
            && self.aliases.at(alias).node == node
        {
            self.own(node, slot);
            return Put::Known;
        }
        self.name(node, slot, hash);
        self.count(slot, orphan, 1);
        match old {
            None => Put::New,
            Some(old) => {
                let put = if self.is_orphan(old) && !orphan { Put::Adopted } else { Put::Known };
                self.give_up(old, slot);
                put
            }
        }
    }

    #[inline]
    fn name(&mut self, node: u32, slot: u32, hash: u64) {
        let own = self.nodes.at(node);
        if !own.is(ODD) {
            if own.owners() == owners::EMPTY && !self.keeps_hash(node) {
                self.nodes.at_mut(node).set_sequence(hash);
            }
            if self.nodes.at(node).sequence() == hash {
                self.own(node, slot);
                return;
            }
            self.make_odd(node);
        }
        let leads = !self.keeps_hash(node) || self.nodes.at(node).sequence() == hash;
        self.add_alias(if leads { node } else { NONE }, slot, hash);
        self.own(node, slot);
    }

    /// Counts `by` blocks more for `slot`.
    #[inline]
    pub(super) fn count(&mut self, slot: u32, orphan: bool, by: i64) {
        if orphan {
            self.slots.add_orphans(slot, by);
        } else {
            self.slots.add_accepted(slot, by);
        }
    }

    /// Gives up a handle of `slot`, and the block unless it has another handle for it.
    pub(super) fn give_up(&mut self, handle: Handle, slot: u32) {
        let node = self.target(handle);
        let orphan = self.is_orphan(handle);
        self.drop_handle(handle, slot, orphan);
        if node != NONE && !self.calls(node, slot) {
            self.disown(node, slot);
            self.settle(node);
        }
    }

    /// Takes a handle away, and counts it. An implied one goes with the ownership.
    pub(super) fn drop_handle(&mut self, handle: Handle, slot: u32, orphan: bool) {
        self.count(slot, orphan, -1);
        if let Handle::Alias(alias) = handle {
            self.drop_alias(alias);
        }
    }

    /// Returns true when an alias of `slot` leads to `node`.
    fn calls(&self, node: u32, slot: u32) -> bool {
        self.nodes.at(node).is(ODD)
            && !self.keeps_hash(node)
            && self.aliases_of(node).into_iter().any(|alias| self.aliases.at(alias).slot == slot)
    }

    /// Writes out the handles that `node` implies.
    fn make_odd(&mut self, node: u32) {
        let own = self.nodes.at(node);
        let (hash, set) = (own.sequence(), own.owners());
        if set != owners::EMPTY {
            self.unfile(hash, node);
        }
        let keeps_hash = self.keeps_hash(node);
        let mut own = self.nodes.at_mut(node);
        own.set(ODD, true);
        if !keeps_hash {
            own.set_sequence(u64::from(NONE));
        }
        let mut slots = Vec::new();
        self.spill.each(set, |slot| slots.push(slot));
        for slot in slots {
            self.add_alias(node, slot, hash);
        }
    }

    /// Adds a record. Chains are two-way; their first record and their length are in the node's hash.
    pub(super) fn add_alias(&mut self, node: u32, slot: u32, hash: u64) {
        let alias = self.aliases.add(slot, hash, node);
        if node == NONE || self.keeps_hash(node) {
            self.aliases.at_mut(alias).previous = LOOSE;
            return;
        }
        let chain = self.nodes.at(node).sequence();
        let first = chain as u32;
        self.aliases.at_mut(alias).next = first;
        if first != NONE {
            self.aliases.at_mut(first).previous = alias;
        }
        let longer = (chain >> 32) + 1;
        self.nodes.at_mut(node).set_sequence(longer << 32 | u64::from(alias));
    }

    pub(super) fn drop_alias(&mut self, alias: u32) {
        let own = *self.aliases.at(alias);
        self.aliases.drop(alias);
        if own.previous == LOOSE {
            return;
        }
        if own.next != NONE {
            self.aliases.at_mut(own.next).previous = own.previous;
        }
        let chain = self.nodes.at(own.node).sequence();
        let first = if own.previous == NONE {
            own.next
        } else {
            self.aliases.at_mut(own.previous).next = own.next;
            chain as u32
        };
        let shorter = (chain >> 32) - 1;
        self.nodes.at_mut(own.node).set_sequence(shorter << 32 | u64::from(first));
    }

    /// Returns `hash`, the name that `slot` has for `node`, and its names for those above, the nearest first.
    pub(super) fn chain(
        &self,
        node: u32,
        slot: u32,
        hash: SequenceHash,
    ) -> impl Iterator<Item = SequenceHash> + '_ {
        let above = move |(node, _): &(u32, SequenceHash)| {
            if *node == NONE || self.nodes.at(*node).is(EXTRA) {
                return None;
            }
            let parent = self.nodes.at(*node).parent();
            let known = parent != NONE && parent != ROOT && self.owns(parent, slot);
            known.then_some(parent).and_then(|parent| Some((parent, self.called_by(parent, slot)?)))
        };
        std::iter::successors(Some((node, hash)), above).map(|(_, hash)| hash)
    }

    /// Returns the name that `slot` has for `node`, which it owns; none where no record leads from the node to it.
    fn called_by(&self, node: u32, slot: u32) -> Option<SequenceHash> {
        let own = self.nodes.at(node);
        let name = if !own.is(ODD) {
            Some(own.sequence())
        } else if self.keeps_hash(node) {
            let record = self.aliases.find(slot, own.sequence())?;
            (self.aliases.at(record).node == node).then_some(own.sequence())
        } else {
            let records = self.aliases_of(node);
            records
                .into_iter()
                .map(|it| self.aliases.at(it))
                .find(|it| it.slot == slot)
                .map(|it| it.hash)
        };
        name.map(SequenceHash)
    }

    /// Returns the records chained from `node`, none for a node that implies its handles.
    pub(super) fn chained(&self, node: u32) -> Vec<u32> {
        if self.nodes.at(node).is(ODD) && !self.keeps_hash(node) {
            self.aliases_of(node)
        } else {
            Vec::new()
        }
    }

    /// Returns the records chained from `node`, which must be odd.
    pub(super) fn aliases_of(&self, node: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = self.nodes.at(node).sequence() as u32;
        while at != NONE {
            found.push(at);
            at = self.aliases.at(at).next;
        }
        found
    }

    /// Returns true when somebody can still call `node`.
    pub(super) fn is_called(&self, node: u32) -> bool {
        let own = self.nodes.at(node);
        own.owners() != owners::EMPTY
            || (own.is(ODD) && !self.keeps_hash(node) && own.sequence() >> 32 != 0)
    }

    /// Strips dead owners off `node` and does what their clearing would have done. Returns false when
    /// the node is gone. Must be called on a node that was just reached while slots wait for the sweep.
    #[inline]
    pub(super) fn reach(&mut self, node: u32) -> bool {
        !self.slots.any_dead() || node == ROOT || self.reach_stale(node)
    }

    fn reach_stale(&mut self, node: u32) -> bool {
        if self.keeps_hash(node) {
            return self.reach_edge(node);
        }
        let was_odd = self.nodes.at(node).is(ODD);
        let stripped = self.strip(node);
        if was_odd {
            for alias in self.aliases_of(node) {
                if self.slots.is_dead(self.aliases.at(alias).slot) {
                    self.drop_alias(alias);
                }
            }
        }
        if !stripped || self.nodes.at(node).owners() != owners::EMPTY {
            return true;
        }
        self.vacate(node)
    }

    /// Takes dead owners off `node`, returns true when there were any.
    #[inline]
    pub(super) fn strip(&mut self, node: u32) -> bool {
        let before = self.nodes.at(node).owners();
        let mut dead = Vec::new();
        if let Some(mask) = Spill::as_mask(before) {
            let gone = mask & !(self.slots.alive().first().copied().unwrap_or_default() as Word);
            if gone == 0 {
                return false;
            }
            self.set_owners(node, before, before & !gone);
            return true;
        }
        self.spill.each(before, |slot| {
            if self.slots.is_dead(slot) {
                dead.push(slot);
            }
        });
        for slot in &dead {
            self.disown(node, *slot);
        }
        !dead.is_empty()
    }
}
