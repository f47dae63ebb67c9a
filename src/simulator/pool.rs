//! A KV cache: blocks in a tree, the least recently used leaves go first.

use std::collections::{BTreeSet, HashMap};

use crate::domain::SequenceHash;

#[derive(Clone, Debug)]
struct Slot {
    parent: Option<u64>,
    children: u32,
    pins: u32,
    used: u64,
}

/// The blocks that one rank holds.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    capacity: usize,
    slots: HashMap<u64, Slot>,
    /// Blocks that may be evicted now, by last use.
    leaves: BTreeSet<(u64, u64)>,
    pinned: usize,
    tick: u64,
}

impl Pool {
    /// Returns an empty pool with room for `capacity` blocks.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, slots: HashMap::new(), leaves: BTreeSet::new(), pinned: 0, tick: 0 }
    }

    /// Returns how many blocks it holds.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the blocks that running requests hold.
    pub(super) fn used(&self) -> usize {
        self.pinned
    }

    /// Returns how many blocks could be held besides those in use.
    pub(super) fn available(&self) -> usize {
        self.capacity.saturating_sub(self.pinned)
    }

    /// Returns true when it holds `hash`.
    pub(super) fn holds(&self, hash: SequenceHash) -> bool {
        self.slots.contains_key(&hash.0)
    }

    /// Returns true when `hash` is held, but by no running request.
    pub(super) fn idle(&self, hash: SequenceHash) -> bool {
        self.slots.get(&hash.0).is_some_and(|slot| slot.pins == 0)
    }

    /// Keeps `hash` from being evicted, once more.
    pub(super) fn pin(&mut self, hash: SequenceHash) {
        if let Some(slot) = self.slots.get_mut(&hash.0) {
            if slot.pins == 0 {
                self.leaves.remove(&(slot.used, hash.0));
                self.pinned += 1;
            }
            slot.pins += 1;
        }
    }

    /// Lets go of `hashes`, once each, and counts that as their last use.
    pub(super) fn unpin(&mut self, hashes: &[SequenceHash]) {
        self.tick += 1;
        for hash in hashes {
            let Some(slot) = self.slots.get_mut(&hash.0) else { continue };
            slot.pins = slot.pins.saturating_sub(1);
            slot.used = self.tick;
            if slot.pins == 0 {
                self.pinned -= 1;
                if slot.children == 0 {
                    self.leaves.insert((slot.used, hash.0));
                }
            }
        }
    }

    /// Adds a block under `parent`, pinned once.
    pub(super) fn insert(&mut self, hash: SequenceHash, parent: Option<SequenceHash>) {
        let parent = parent.map(|parent| parent.0);
        if let Some(above) = parent.and_then(|parent| self.slots.get_mut(&parent)) {
            above.children += 1;
        }
        self.slots.insert(hash.0, Slot { parent, children: 0, pins: 1, used: self.tick });
        self.pinned += 1;
    }

    /// Evicts until `room` more blocks fit, leaves first. Returns what was evicted, in order.
    pub(super) fn make_room(&mut self, room: usize) -> Vec<SequenceHash> {
        let mut gone = Vec::new();
        while self.slots.len() + room > self.capacity {
            let Some((_, hash)) = self.leaves.pop_first() else { break };
            let parent = self.slots.remove(&hash).and_then(|slot| slot.parent);
            if let Some(parent) = parent
                && let Some(above) = self.slots.get_mut(&parent)
            {
                above.children -= 1;
                if above.children == 0 && above.pins == 0 {
                    self.leaves.insert((above.used, parent));
                }
            }
            gone.push(SequenceHash(hash));
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SequenceHash = SequenceHash(1);
    const B: SequenceHash = SequenceHash(2);
    const C: SequenceHash = SequenceHash(3);

    fn chain() -> Pool {
        let mut pool = Pool::new(3);
        pool.insert(A, None);
        pool.insert(B, Some(A));
        pool.insert(C, Some(B));
        pool
    }

    #[test]
    fn leaves_go_before_their_parents() {
        let mut pool = chain();
        pool.unpin(&[A, B, C]);

        assert_eq!(pool.make_room(2), [C, B]);
        assert!(pool.holds(A));
    }

    #[test]
    fn what_a_request_holds_stays() {
        let mut pool = chain();
        pool.unpin(&[A, B, C]);
        pool.pin(A);
        pool.pin(B);

        assert_eq!(pool.make_room(3), [C]);
        assert_eq!((pool.used(), pool.available()), (2, 1));
    }
}
