//! Aliases: handles that a node does not imply.
//!
//! Usually rank and hash lead to the node that carries the hash and is owned by the rank. Where workers
//! salt their hashes, the same content has several hashes, and every handle of such a node is a
//! record here. Knows nothing of trees.

use super::index::{Index, mix};
use super::node::NONE;

/// In `previous`: the record is not chained from its node.
pub(super) const LOOSE: u32 = NONE - 1;

/// One explicit handle: `slot` calls `node` by `hash`.
#[derive(Clone, Copy)]
pub(super) struct Alias {
    pub(super) hash: u64,
    pub(super) slot: u32,
    /// The node, or none where the router's own entry leads nowhere.
    pub(super) node: u32,
    pub(super) previous: u32,
    pub(super) next: u32,
}

/// All explicit handles.
pub(super) struct Aliases {
    records: Vec<Alias>,
    free: Vec<u32>,
    index: Index,
}

const fn key(hash: u64, slot: u32) -> u64 {
    mix(hash).wrapping_add((slot as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl Aliases {
    pub(super) fn new() -> Self {
        Self { records: Vec::new(), free: Vec::new(), index: Index::new() }
    }

    /// Returns how many records there are.
    pub(super) fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// Returns one more than the highest record ever used.
    pub(super) fn end(&self) -> u32 {
        self.records.len() as u32
    }

    pub(super) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<Alias>() + self.free.capacity() * 4 + self.index.bytes()
    }

    #[inline]
    pub(super) fn at(&self, id: u32) -> &Alias {
        &self.records[id as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, id: u32) -> &mut Alias {
        &mut self.records[id as usize]
    }

    /// Returns the record of `slot` and `hash`.
    #[inline]
    pub(super) fn find(&self, slot: u32, hash: u64) -> Option<u32> {
        if self.len() == 0 {
            return None;
        }
        self.index.find(key(hash, slot), |id| {
            let alias = &self.records[id as usize];
            alias.hash == hash && alias.slot == slot
        })
    }

    /// Adds a record, returns its id.
    pub(super) fn add(&mut self, slot: u32, hash: u64, node: u32) -> u32 {
        let alias = Alias { hash, slot, node, previous: NONE, next: NONE };
        let id = if let Some(id) = self.free.pop() {
            self.records[id as usize] = alias;
            id
        } else {
            self.records.push(alias);
            (self.records.len() - 1) as u32
        };
        self.index.insert(key(hash, slot), id);
        id
    }

    /// Takes record `id` away.
    pub(super) fn drop(&mut self, id: u32) {
        let alias = self.records[id as usize];
        self.index.remove(key(alias.hash, alias.slot), id);
        self.records[id as usize].slot = NONE;
        self.free.push(id);
    }
}
