//! Nodes: one block of a prompt each, in two halves of 16 bytes.
//!
//! Owns their layout; where they lie is the arena's business. Knows nothing of how they hang together.

use super::owners::{EMPTY, Word};

/// No node.
pub(super) const NONE: u32 = 0x0FFF_FFFF;
/// The root of the accepted tree.
pub(super) const ROOT: u32 = 0;

const ID: u32 = 0x0FFF_FFFF;
/// Its handles are explicit aliases.
pub(super) const ODD: u32 = 1 << 28;
/// It belongs to the orphan forest.
pub(super) const ORPHAN: u32 = 1 << 29;
/// It has further parents, listed aside.
pub(super) const EXTRA: u32 = 1 << 30;
/// Nobody can call it; it only keeps its place taken.
pub(super) const SHELL: u32 = 1 << 31;

/// The fields of a block that look-ups read. They are read in long runs, so nothing else lies among them.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Step {
    pub(super) tokens: u64,
    /// Its holders.
    pub(super) owners: Word,
    /// Nothing, the only child, or a branch.
    pub(super) kids: u32,
}

impl Step {
    /// Returns owners and children as one number, as `pair` makes it.
    #[inline]
    pub(super) const fn pair(&self) -> u64 {
        pair(self.owners, self.kids)
    }
}

/// Returns owners and children as one number, to be compared at once.
#[inline]
pub(super) const fn pair(owners: Word, kids: u32) -> u64 {
    owners as u64 | (kids as u64) << 32
}

/// The other fields of a block.
#[derive(Clone, Copy)]
pub(super) struct Tie {
    sequence: u64,
    /// Parent and flags.
    parent: u32,
    /// The compressed edge it lies on.
    edge: u32,
}

/// One block.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) step: Step,
    pub(super) tie: Tie,
}

impl Node {
    pub(super) const EMPTY: Self = Self::new(0, 0, EMPTY, NONE, NONE);

    /// Returns a node without children.
    #[inline]
    pub(super) const fn new(
        sequence: u64,
        tokens: u64,
        owners: Word,
        parent: u32,
        edge: u32,
    ) -> Self {
        let step = Step { tokens, owners, kids: u32::MAX };
        Self { step, tie: Tie { sequence, parent, edge } }
    }

    #[inline]
    pub(super) const fn sequence(&self) -> u64 {
        self.tie.sequence
    }

    #[inline]
    pub(super) const fn set_sequence(&mut self, hash: u64) {
        self.tie.sequence = hash;
    }

    #[inline]
    pub(super) const fn owners(&self) -> Word {
        self.step.owners
    }

    #[inline]
    pub(super) const fn kids(&self) -> u32 {
        self.step.kids
    }

    #[inline]
    pub(super) const fn parent(&self) -> u32 {
        self.tie.parent & ID
    }

    #[inline]
    pub(super) const fn set_parent(&mut self, parent: u32) {
        self.tie.parent = (self.tie.parent & !ID) | parent;
    }

    #[inline]
    pub(super) const fn is(&self, flag: u32) -> bool {
        self.tie.parent & flag != 0
    }

    #[inline]
    pub(super) const fn edge(&self) -> u32 {
        self.tie.edge
    }
}

/// A node where it lies: of its halves only what is asked for is read.
#[derive(Clone, Copy)]
pub(super) struct NodeRef<'a> {
    pub(super) steps: &'a [Step],
    pub(super) ties: &'a [Tie],
    pub(super) id: u32,
}

impl NodeRef<'_> {
    #[inline]
    fn step(&self) -> &Step {
        &self.steps[self.id as usize]
    }

    #[inline]
    fn tie(&self) -> &Tie {
        &self.ties[self.id as usize]
    }

    /// Returns a copy of both halves.
    #[inline]
    pub(super) fn whole(&self) -> Node {
        Node { step: *self.step(), tie: *self.tie() }
    }

    #[inline]
    pub(super) fn sequence(&self) -> u64 {
        self.tie().sequence
    }

    #[inline]
    pub(super) fn tokens(&self) -> u64 {
        self.step().tokens
    }

    #[inline]
    pub(super) fn owners(&self) -> Word {
        self.step().owners
    }

    #[inline]
    pub(super) fn kids(&self) -> u32 {
        self.step().kids
    }

    #[inline]
    pub(super) fn parent(&self) -> u32 {
        self.tie().parent & ID
    }

    #[inline]
    pub(super) fn is(&self, flag: u32) -> bool {
        self.tie().parent & flag != 0
    }

    #[inline]
    pub(super) fn edge(&self) -> u32 {
        self.tie().edge
    }
}

/// A node where it lies, to be changed.
pub(super) struct NodeMut<'a> {
    pub(super) steps: &'a mut [Step],
    pub(super) ties: &'a mut [Tie],
    pub(super) id: u32,
}

impl NodeMut<'_> {
    #[inline]
    fn step(&mut self) -> &mut Step {
        &mut self.steps[self.id as usize]
    }

    #[inline]
    fn tie(&mut self) -> &mut Tie {
        &mut self.ties[self.id as usize]
    }

    #[inline]
    pub(super) fn set_sequence(&mut self, hash: u64) {
        self.tie().sequence = hash;
    }

    #[inline]
    pub(super) fn set_tokens(&mut self, hash: u64) {
        self.step().tokens = hash;
    }

    #[inline]
    pub(super) fn set_owners(&mut self, owners: Word) {
        self.step().owners = owners;
    }

    #[inline]
    pub(super) fn set_kids(&mut self, kids: u32) {
        self.step().kids = kids;
    }

    #[inline]
    pub(super) fn set_parent(&mut self, parent: u32) {
        let own = &mut self.tie().parent;
        *own = (*own & !ID) | parent;
    }

    #[inline]
    pub(super) fn set(&mut self, flag: u32, on: bool) {
        let own = &mut self.tie().parent;
        *own = if on { *own | flag } else { *own & !flag };
    }

    #[inline]
    pub(super) fn set_edge(&mut self, edge: u32) {
        self.tie().edge = edge;
    }
}
