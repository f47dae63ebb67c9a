//! Nodes: one block of a prompt each, and the arena they live in.
//!
//! Owns their layout. Knows nothing of how they hang together. A node takes 32 bytes. The arena is one
//! vector: from a few megabytes on, the allocator of a Linux system grows it by moving pages, not bytes.

use crate::domain::TokensHash;

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

/// One block.
#[derive(Clone, Copy)]
pub(super) struct Node {
    sequence: [u32; 2],
    tokens: [u32; 2],
    /// Who has it.
    owners: Word,
    /// Parent and flags.
    parent: u32,
    /// Nothing, the only child, or a branch.
    pub(super) kids: u32,
    /// The compressed edge it lies on.
    pub(super) edge: u32,
}

const fn join(pair: [u32; 2]) -> u64 {
    pair[0] as u64 | (pair[1] as u64) << 32
}

const fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

impl Node {
    pub(super) const EMPTY: Self = Self {
        sequence: [0; 2],
        tokens: [0; 2],
        owners: EMPTY,
        parent: NONE,
        kids: u32::MAX,
        edge: NONE,
    };

    /// Returns a node without children.
    #[inline]
    pub(super) const fn of(
        sequence: u64,
        tokens: u64,
        owners: Word,
        parent: u32,
        edge: u32,
    ) -> Self {
        Self {
            sequence: halves(sequence),
            tokens: halves(tokens),
            owners,
            parent,
            kids: u32::MAX,
            edge,
        }
    }

    #[inline]
    pub(super) const fn sequence(&self) -> u64 {
        join(self.sequence)
    }

    #[inline]
    pub(super) const fn set_sequence(&mut self, hash: u64) {
        self.sequence = halves(hash);
    }

    #[inline]
    pub(super) const fn tokens(&self) -> u64 {
        join(self.tokens)
    }

    #[inline]
    pub(super) const fn set_tokens(&mut self, hash: u64) {
        self.tokens = halves(hash);
    }

    #[inline]
    pub(super) const fn owners(&self) -> Word {
        self.owners
    }

    #[inline]
    pub(super) const fn set_owners(&mut self, owners: Word) {
        self.owners = owners;
    }

    #[inline]
    pub(super) const fn parent(&self) -> u32 {
        self.parent & ID
    }

    #[inline]
    pub(super) const fn set_parent(&mut self, parent: u32) {
        self.parent = (self.parent & !ID) | parent;
    }

    #[inline]
    pub(super) const fn is(&self, flag: u32) -> bool {
        self.parent & flag != 0
    }

    #[inline]
    pub(super) const fn set(&mut self, flag: u32, on: bool) {
        if on {
            self.parent |= flag;
        } else {
            self.parent &= !flag;
        }
    }
}

/// Nodes kept for one run at a time, so that one stored bit by bit lies in a row: a look-up then waits for
/// memory once in so many blocks.
const ROOM: u32 = 64;
/// Runs that nodes are kept for at once.
const ROOMS: usize = 1024;

/// Nodes kept for the run on `edge`, chained like free ones.
#[derive(Clone, Copy)]
struct Room {
    edge: u32,
    first: u32,
    last: u32,
    left: u32,
}

/// All nodes of a tree.
pub(super) struct Arena {
    nodes: Vec<Node>,
    free: u32,
    used: usize,
    rooms: Vec<Room>,
}

impl Arena {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, used: 0, rooms: Vec::new() }
    }

    #[inline]
    pub(super) fn at(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, id: u32) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    /// Returns how many nodes follow `id` one after the other, each the only child of the one before,
    /// with these tokens and the same owners. Their places do not depend on what is read, so loads overlap.
    #[inline]
    pub(super) fn run_length(&self, id: u32, owners: Word, tokens: &[TokensHash]) -> usize {
        let Some((first, after)) = self.nodes.get(id as usize..).and_then(<[Node]>::split_first)
        else {
            return 0;
        };
        let (mut kids, mut next) = (first.kids, id + 1);
        for (node, hash) in after.iter().zip(tokens) {
            if kids != next || node.tokens() != hash.0 || node.owners() != owners {
                break;
            }
            kids = node.kids;
            next += 1;
        }
        (next - id - 1) as usize
    }

    /// Returns a fresh node, none when there are too many.
    #[inline]
    pub(super) fn alloc(&mut self) -> Option<u32> {
        self.add(Node::EMPTY)
    }

    /// Adds `node` and returns its id, none when there are too many.
    #[inline]
    fn add(&mut self, node: Node) -> Option<u32> {
        let id = self.free;
        if id == NONE {
            if self.nodes.len() >= NONE as usize {
                return None;
            }
            self.used += 1;
            self.nodes.push(node);
            return Some((self.nodes.len() - 1) as u32);
        }
        let own = self.at_mut(id);
        let next = own.kids;
        *own = node;
        self.free = next;
        self.used += 1;
        Some(id)
    }

    /// Adds `node` to the run on `edge`, next to the one before it if possible. Returns its id, none when
    /// there are too many.
    #[inline]
    pub(super) fn add_to(&mut self, edge: u32, node: Node) -> Option<u32> {
        let at = edge as usize % ROOMS;
        if !self.rooms.get(at).is_some_and(|room| room.edge == edge && room.left > 0) {
            self.make_room(at, edge)?;
        }
        let room = &mut self.rooms[at];
        let id = room.first;
        let own = &mut self.nodes[id as usize];
        room.first = own.kids;
        room.left -= 1;
        *own = node;
        Some(id)
    }

    /// Keeps nodes for the run on `edge`, and gives back what is left of the run that had its place.
    fn make_room(&mut self, at: usize, edge: u32) -> Option<()> {
        if self.rooms.is_empty() {
            self.rooms = vec![Room { edge: NONE, first: NONE, last: NONE, left: 0 }; ROOMS];
        }
        let old = self.rooms[at];
        if old.left > 0 {
            self.at_mut(old.last).kids = self.free;
            self.free = old.first;
            self.used -= old.left as usize;
        }
        if self.free == NONE {
            self.extend()?;
        }
        let (first, mut last, mut left) = (self.free, self.free, 1);
        while left < ROOM && self.at(last).kids != NONE {
            last = self.at(last).kids;
            left += 1;
        }
        self.free = self.at(last).kids;
        self.used += left as usize;
        self.rooms[at] = Room { edge, first, last, left };
        Some(())
    }

    /// Adds free nodes in a row. Returns none when there are too many.
    fn extend(&mut self) -> Option<()> {
        let start = self.nodes.len() as u32;
        if start + ROOM > NONE {
            return None;
        }
        for id in start + 1..=start + ROOM {
            let kids = if id == start + ROOM { NONE } else { id };
            self.nodes.push(Node { kids, ..Node::EMPTY });
        }
        self.free = start;
        Some(())
    }

    /// Gives node `id` back.
    pub(super) fn release(&mut self, id: u32) {
        let free = self.free;
        let node = self.at_mut(id);
        *node = Node::EMPTY;
        node.kids = free;
        self.free = id;
        self.used -= 1;
    }

    /// Returns one more than the highest id ever used.
    pub(super) fn end(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns the memory of the nodes in use, in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.used * size_of::<Node>()
    }
}
