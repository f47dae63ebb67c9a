//! Compressed edges: runs of blocks without a branch, with what is counted per run.
//!
//! Owns the records. How edges are cut and joined is the tree's business.

use prefetch_index::prefetch_index;

use super::node::NONE;

const INTERNAL: u32 = 1 << 31;
const QUEUED: u32 = 1 << 30;
const PLACE: u32 = QUEUED - 1;

/// One run.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) head: u32,
    pub(super) tail: u32,
    /// Nodes on it that somebody owns.
    pub(super) live: u32,
    /// Owned nodes below it, as far as the edges below have reported.
    pub(super) below: u32,
    /// Change of `live + below` that the edge above was not told yet.
    pub(super) pending: i32,
    /// The time a store last passed.
    pub(super) tick: u32,
    /// Place among its siblings, and flags.
    pub(super) place: u32,
}

impl Edge {
    pub(super) const fn new(node: u32, tick: u32) -> Self {
        Self { head: node, tail: node, live: 0, below: 0, pending: 0, tick, place: 0 }
    }

    pub(super) const fn place(&self) -> usize {
        (self.place & PLACE) as usize
    }

    pub(super) const fn set_place(&mut self, place: usize) {
        self.place = (self.place & !PLACE) | (place as u32 & PLACE);
    }

    /// Returns true when the edge once had children. The router then never lengthens it again.
    pub(super) const fn is_internal(&self) -> bool {
        self.place & INTERNAL != 0
    }

    pub(super) const fn set_internal(&mut self, on: bool) {
        self.place = if on { self.place | INTERNAL } else { self.place & !INTERNAL };
    }

    pub(super) const fn is_queued(&self) -> bool {
        self.place & QUEUED != 0
    }

    pub(super) const fn set_queued(&mut self, on: bool) {
        self.place = if on { self.place | QUEUED } else { self.place & !QUEUED };
    }

    /// Returns the owned nodes on and below the edge, as far as they were reported.
    pub(super) const fn total(&self) -> u32 {
        self.live.wrapping_add(self.below)
    }

    /// Returns what the edge above has counted for this one.
    pub(super) const fn reported(&self) -> i32 {
        self.total().wrapping_sub(self.pending.cast_unsigned()).cast_signed()
    }
}

/// All edges of a tree.
pub(super) struct Edges {
    all: Vec<Edge>,
    free: u32,
    used: usize,
}

impl Edges {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), free: NONE, used: 0 }
    }

    #[inline]
    pub(super) fn at(&self, id: u32) -> &Edge {
        &self.all[id as usize]
    }

    /// Brings edge `id` near and does not wait for it.
    #[inline]
    pub(super) fn approach(&self, id: u32) {
        prefetch_index(&self.all, id as usize);
    }

    #[inline]
    pub(super) fn at_mut(&mut self, id: u32) -> &mut Edge {
        &mut self.all[id as usize]
    }

    /// Files an edge, returns its id.
    pub(super) fn add(&mut self, edge: Edge) -> u32 {
        self.used += 1;
        if self.free != NONE {
            let id = self.free;
            self.free = self.at(id).tail;
            let queued = self.at(id).is_queued();
            *self.at_mut(id) = edge;
            self.at_mut(id).set_queued(queued);
            return id;
        }
        self.all.push(edge);
        (self.all.len() - 1) as u32
    }

    /// Takes edge `id` away. Its place in the queue, if any, stays.
    pub(super) fn release(&mut self, id: u32) {
        let free = self.free;
        let edge = self.at_mut(id);
        edge.head = NONE;
        edge.tail = free;
        edge.live = 0;
        edge.below = 0;
        edge.pending = 0;
        self.free = id;
        self.used -= 1;
    }

    pub(super) fn end(&self) -> u32 {
        self.all.len() as u32
    }

    pub(super) const fn len(&self) -> usize {
        self.used
    }

    pub(super) const fn bytes(&self) -> usize {
        self.used * size_of::<Edge>()
    }
}
