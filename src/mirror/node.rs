//! Nodes: one block of a prompt each, and the arena they live in.
//!
//! Owns their layout and places. Knows nothing of how they hang together. A node takes 32 bytes. The arena
//! is one vector: from a few megabytes on, the allocator of a Linux system grows it by moving pages, not
//! bytes. Free nodes are rows, and runs that grow bit by bit get rows, so that walking them is reading on.

use prefetch_index::prefetch_index;

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
    sequence: u64,
    tokens: u64,
    /// Who has it.
    owners: Word,
    /// Parent and flags.
    parent: u32,
    /// Nothing, the only child, or a branch.
    pub(super) kids: u32,
    /// The compressed edge it lies on.
    pub(super) edge: u32,
}

impl Node {
    pub(super) const EMPTY: Self =
        Self { sequence: 0, tokens: 0, owners: EMPTY, parent: NONE, kids: u32::MAX, edge: NONE };

    /// Returns a node without children.
    #[inline]
    pub(super) const fn of(
        sequence: u64,
        tokens: u64,
        owners: Word,
        parent: u32,
        edge: u32,
    ) -> Self {
        Self { sequence, tokens, owners, parent, kids: u32::MAX, edge }
    }

    #[inline]
    pub(super) const fn sequence(&self) -> u64 {
        self.sequence
    }

    #[inline]
    pub(super) const fn set_sequence(&mut self, hash: u64) {
        self.sequence = hash;
    }

    #[inline]
    pub(super) const fn tokens(&self) -> u64 {
        self.tokens
    }

    #[inline]
    pub(super) const fn set_tokens(&mut self, hash: u64) {
        self.tokens = hash;
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

/// Nodes in a row that are kept for the run on `edge`.
#[derive(Clone, Copy)]
struct Room {
    edge: u32,
    start: u32,
    end: u32,
    /// Asked for since the hand passed last.
    asked: bool,
}

/// All nodes of a tree.
pub(super) struct Arena {
    nodes: Vec<Node>,
    /// Free nodes, row by row: the first, and the one after the last.
    free: Vec<(u32, u32)>,
    used: usize,
    rooms: Vec<Room>,
    /// Where rooms that nobody asks for are looked for next.
    hand: usize,
}

impl Arena {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), used: 0, rooms: Vec::new(), hand: 0 }
    }

    #[inline]
    pub(super) fn at(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    /// Brings node `id` near and does not wait for it.
    #[inline]
    pub(super) fn approach(&self, id: u32) {
        prefetch_index(&self.nodes, id as usize);
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
    pub(super) fn alloc(&mut self) -> Option<u32> {
        let Some((start, end)) = self.free.last_mut() else {
            if self.nodes.len() >= NONE as usize {
                return None;
            }
            self.used += 1;
            self.nodes.push(Node::EMPTY);
            return Some((self.nodes.len() - 1) as u32);
        };
        let id = *start;
        *start += 1;
        if start == end {
            self.free.pop();
        }
        self.used += 1;
        Some(id)
    }

    /// Returns up to `count` nodes in a row for the run on `edge`, after those before it if possible: the
    /// first, and the one after the last. Returns none when there are too many.
    #[inline]
    pub(super) fn row_for(&mut self, edge: u32, count: usize) -> Option<(u32, u32)> {
        let at = edge as usize % ROOMS;
        if !self.rooms.get(at).is_some_and(|room| room.edge == edge && room.start < room.end) {
            self.make_room(at, edge, count.min(ROOM as usize) as u32)?;
        }
        let room = &mut self.rooms[at];
        let start = room.start;
        room.asked = true;
        room.start += count.min((room.end - start) as usize) as u32;
        Some((start, room.start))
    }

    /// Gives back the end of a row for the run on `edge`, from `start` on.
    pub(super) fn unused(&mut self, edge: u32, start: u32) {
        self.rooms[edge as usize % ROOMS].start = start;
    }

    /// Keeps nodes for the run on `edge`, `count` at first and more when it goes on. Gives back what is left
    /// of the run that had its place, and what a run keeps that did not go on for long.
    fn make_room(&mut self, at: usize, edge: u32, count: u32) -> Option<()> {
        if self.rooms.is_empty() {
            let none = Room { edge: NONE, start: 0, end: 0, asked: false };
            self.rooms = vec![none; ROOMS];
        }
        let goes_on = self.rooms[at].edge == edge;
        self.give_back(at);
        self.hand = (self.hand + 1) % ROOMS;
        if !std::mem::take(&mut self.rooms[self.hand].asked) {
            self.give_back(self.hand);
        }
        let (start, free) = match self.free.pop() {
            Some(row) => row,
            None => self.extend()?,
        };
        let wanted = if goes_on { ROOM } else { count };
        let end = free.min(start + wanted);
        if end < free {
            self.free.push((end, free));
        }
        self.used += (end - start) as usize;
        self.rooms[at] = Room { edge, start, end, asked: true };
        Some(())
    }

    /// Frees what is left of a room.
    fn give_back(&mut self, at: usize) {
        let room = &mut self.rooms[at];
        if room.start < room.end {
            self.free.push((room.start, room.end));
            self.used -= (room.end - room.start) as usize;
            room.end = room.start;
        }
    }

    /// Adds nodes in a row and returns it, none when there are too many.
    fn extend(&mut self) -> Option<(u32, u32)> {
        let start = self.nodes.len() as u32;
        let end = start + ROOM;
        if end > NONE {
            return None;
        }
        self.nodes.resize(end as usize, Node::EMPTY);
        Some((start, end))
    }

    /// Gives node `id` back.
    pub(super) fn release(&mut self, id: u32) {
        *self.at_mut(id) = Node::EMPTY;
        self.used -= 1;
        match self.free.last_mut() {
            Some((start, _)) if *start == id + 1 => *start = id,
            Some((_, end)) if *end == id => *end += 1,
            _ => self.free.push((id, id + 1)),
        }
    }

    /// Returns one more than the highest id ever used.
    pub(super) fn end(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns the memory of the nodes in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.used * size_of::<Node>() + self.free.capacity() * 8
    }
}
