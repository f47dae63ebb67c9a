//! Applies `removed` events.

use crate::domain::{Block, FastSet, SequenceHash};

use super::Semantics;
use super::handle::Handle;
use super::outcome::Outcome;
use super::tree::Tree;

/// Hashes of a removal beyond which its sets are not kept for the next one.
const KEPT: usize = 4096;

/// The blocks that one `removed` event took away so far. Its memory serves the next one.
#[derive(Default)]
pub(super) struct Removal {
    /// Hashes that went, in the edge-truncating tree. A second removal of one is no error.
    pub(super) dropped: Vec<u64>,
    known: FastSet<u64>,
    /// The blocks that truncations took: of each the removed one, then those that followed it.
    pub(super) truncated: Vec<Block>,
    /// Where each truncation ends among them.
    pub(super) ends: Vec<usize>,
    /// The hashes of the event.
    named: FastSet<u64>,
}

impl Removal {
    fn tolerates(&mut self, hash: u64) -> bool {
        self.known.extend(self.dropped.drain(..));
        self.known.contains(&hash)
    }

    /// Forgets everything, keeps the memory.
    fn clear(&mut self) {
        self.dropped.clear();
        self.truncated.clear();
        self.ends.clear();
        for set in [&mut self.known, &mut self.named] {
            if set.capacity() > KEPT {
                *set = FastSet::default();
            }
            set.clear();
        }
    }
}

impl Tree {
    /// Applies a `removed` event of `slot`.
    pub(super) fn remove(&mut self, slot: u32, hashes: &[SequenceHash]) -> Outcome {
        let mut outcome = Outcome::removed_event();
        match self.semantics {
            Semantics::PerBlock => {
                for hash in hashes {
                    match self.handle(slot, hash.0) {
                        Some(handle) if !self.is_orphan(handle) => {
                            self.remove_block(handle, slot);
                            outcome.removed += 1;
                        }
                        handle => self.remove_unknown(handle, slot, &mut outcome),
                    }
                }
            }
            Semantics::EdgeTruncating => self.remove_on_edges(slot, hashes, &mut outcome),
        }
        outcome
    }

    /// Removes an accepted block, whatever else `slot` calls it.
    fn remove_block(&mut self, handle: Handle, slot: u32) {
        let node = self.target(handle);
        let stale = self.slots.any_dead();
        self.drop_handle(handle, slot, false);
        self.disown(node, slot);
        if !stale || self.reach(node) {
            self.settle(node);
        }
    }

    /// Counts a removal the router knows nothing of. The block may be an orphan here.
    fn remove_unknown(&mut self, handle: Option<Handle>, slot: u32, outcome: &mut Outcome) {
        outcome.unknown_removals += 1;
        if let Some(handle) = handle {
            outcome.orphans_removed += 1;
            self.give_up(handle, slot);
        }
    }

    fn remove_on_edges(&mut self, slot: u32, hashes: &[SequenceHash], outcome: &mut Outcome) {
        let mut removal = std::mem::take(&mut self.removal);
        let mut rest = hashes;
        loop {
            let count = self.shorten(slot, rest, &mut removal.dropped);
            outcome.removed += count as u32;
            rest = &rest[count..];
            let Some((hash, after)) = rest.split_first() else { break };
            rest = after;
            match self.handle(slot, hash.0) {
                None if removal.tolerates(hash.0) => outcome.removed += 1,
                None => outcome.unknown_removals += 1,
                Some(handle) if self.is_orphan(handle) => {
                    self.remove_unknown(Some(handle), slot, outcome);
                }
                Some(Handle::Implied(node)) => {
                    self.truncate(node, slot, &mut removal);
                    outcome.removed += 1;
                }
                Some(Handle::Alias(alias)) => match self.alias_target(alias) {
                    // The router keeps an entry that it cannot find on the edge.
                    None => outcome.unknown_removals += 1,
                    Some(node) if self.owns(node, slot) => {
                        self.truncate(node, slot, &mut removal);
                        outcome.removed += 1;
                    }
                    Some(_) => {
                        self.drop_handle(Handle::Alias(alias), slot, false);
                        removal.dropped.push(hash.0);
                        outcome.removed += 1;
                    }
                },
            }
        }
        self.keep_truncated(slot, hashes, &mut removal, outcome);
        removal.clear();
        self.removal = removal;
    }

    /// Turns blocks that the router took for removed, and that the event did not name, into orphans:
    /// the worker still has them.
    fn keep_truncated(
        &mut self,
        slot: u32,
        hashes: &[SequenceHash],
        removal: &mut Removal,
        outcome: &mut Outcome,
    ) {
        let Removal { truncated, ends, named, .. } = removal;
        if truncated.is_empty() {
            return;
        }
        named.extend(hashes.iter().map(|hash| hash.0));
        let mut begin = 0;
        for end in ends.iter() {
            let lost = &truncated[begin..*end];
            begin = *end;
            let mut from = 0;
            while from < lost.len() {
                let parent = lost[from].sequence;
                let count = lost[from + 1..]
                    .iter()
                    .take_while(|block| !named.contains(&block.sequence.0))
                    .count();
                if count > 0 {
                    let mut kept = Outcome::default();
                    self.store_orphans(slot, parent.0, &lost[from + 1..=from + count], &mut kept);
                    outcome.truncated += kept.stored;
                }
                from += count + 1;
            }
        }
    }
}
