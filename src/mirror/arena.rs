//! The arena: where the nodes of a tree lie.
//!
//! Two vectors, one for each half of a node. Once they have more than 16,384 nodes they have room for two
//! million: of so much, allocators hand out pages that take memory when they are first written to, and grow it by
//! moving pages, not bytes. Growing step by step would leave holes of every size behind. Free nodes are rows, and
//! runs that grow bit by bit get rows, so that walking them is reading on. Where the next row is, is noted, so that
//! it can be fetched in time.

use prefetch_index::prefetch_index;

use crate::domain::{Block, TokensHash};

use super::node::{NONE, Node, NodeMut, NodeRef, Step, Tie, pair};
use super::owners::Word;

/// Nodes from which on a tree counts as large, and the nodes that a large one has room for at least: 32 MiB for each
/// half, as much as the allocator of glibc takes from its own stock at most.
const LARGE: usize = 16_384;
const ROOMY: usize = 2 << 20;

/// Nodes kept for one run at a time, so that one stored bit by bit lies in a row: a look-up then waits for
/// memory once in so many blocks.
const ROOM: u32 = 64;
/// Runs that nodes are kept for at once.
const ROOMS: usize = 1024;

/// Nodes that share a hint.
const NEAR: u32 = 16;
/// Steps to a cache line.
const STEPS: usize = 64 / size_of::<Step>();
/// Lines of a row that are fetched before it is reached; the processor reads on by itself.
const LINES: usize = 6;

/// Nodes in a row that are kept for the run on `edge`.
#[derive(Clone, Copy)]
struct Room {
    edge: u32,
    /// The first node of the row, used or not.
    first: u32,
    start: u32,
    end: u32,
    /// Asked for since the hand passed last.
    asked: bool,
}

/// All nodes of a tree.
pub(super) struct Arena {
    steps: Vec<Step>,
    ties: Vec<Tie>,
    /// Free nodes, row by row: the first, and the one after the last.
    free: Vec<(u32, u32)>,
    used: usize,
    rooms: Vec<Room>,
    /// The next place to look for rooms that nobody asks for.
    hand: usize,
    /// The node at which the run goes on whose row begins in so many nodes, 0 where that is not known. Only to fetch it
    /// in time: it may be wrong.
    hints: Vec<u32>,
}

impl Arena {
    pub(super) fn new() -> Self {
        Self {
            steps: Vec::new(),
            ties: Vec::new(),
            free: Vec::new(),
            used: 0,
            rooms: Vec::new(),
            hand: 0,
            hints: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn at(&self, id: u32) -> NodeRef<'_> {
        NodeRef { steps: &self.steps, ties: &self.ties, id }
    }

    #[inline]
    pub(super) fn at_mut(&mut self, id: u32) -> NodeMut<'_> {
        NodeMut { steps: &mut self.steps, ties: &mut self.ties, id }
    }

    /// Writes a node's half that look-ups do not read.
    #[inline]
    pub(super) fn set_tie(&mut self, id: u32, tie: Tie) {
        self.ties[id as usize] = tie;
    }

    /// Writes the steps of `blocks` from `start` on, each the only child of the one before.
    #[inline]
    pub(super) fn set_steps(&mut self, start: u32, blocks: &[Block], owners: Word) {
        let row = self.steps.get_mut(start as usize..).unwrap_or_default();
        for ((step, block), kids) in row.iter_mut().zip(blocks).zip(start + 1..) {
            *step = Step { tokens: block.tokens.0, owners, kids };
        }
    }

    /// Brings node `id` near and does not wait for it.
    #[inline]
    pub(super) fn approach(&self, id: u32) {
        prefetch_index(&self.steps, id as usize);
        prefetch_index(&self.ties, id as usize);
    }

    /// Brings the two rows near that come after the one that begins with `id`, as far as known.
    #[inline]
    pub(super) fn approach_next(&self, id: u32) {
        let next = |id: u32| self.hints.get((id / NEAR) as usize).copied().unwrap_or_default();
        let one = next(id);
        for row in [one, next(one)] {
            for line in 0..LINES {
                prefetch_index(&self.steps, row as usize + line * STEPS);
            }
        }
    }

    /// Returns how many nodes follow `id` one after the other, each the only child of the one before,
    /// with these tokens and the same owners. Their places do not depend on what is read, so loads overlap.
    #[inline]
    pub(super) fn run_length(&self, id: u32, owners: Word, tokens: &[TokensHash]) -> usize {
        let Some((first, after)) = self.steps.get(id as usize..).and_then(<[Step]>::split_first)
        else {
            return 0;
        };
        if first.kids != id + 1 {
            return 0;
        }
        let (mut length, mut next) = (0, id + 2);
        for (step, hash) in after.iter().zip(tokens) {
            if step.tokens != hash.0 || step.pair() != pair(owners, next) {
                return length + usize::from(step.tokens == hash.0 && step.owners == owners);
            }
            length += 1;
            next += 1;
        }
        length
    }

    /// Returns a fresh node, none when there are too many.
    pub(super) fn alloc(&mut self) -> Option<u32> {
        let Some((start, end)) = self.free.last_mut() else {
            if self.steps.len() >= NONE as usize {
                return None;
            }
            self.used += 1;
            self.reserve(1);
            self.steps.push(Node::EMPTY.step);
            self.ties.push(Node::EMPTY.tie);
            return Some((self.steps.len() - 1) as u32);
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
            let none = Room { edge: NONE, first: 0, start: 0, end: 0, asked: false };
            self.rooms = vec![none; ROOMS];
        }
        let before = self.rooms[at];
        let goes_on = before.edge == edge;
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
        self.rooms[at] = Room { edge, first: start, start, end, asked: true };
        let hints = (end / NEAR) as usize + 1;
        if hints > self.hints.len() {
            self.hints.resize(hints, 0);
        }
        self.hints[(start / NEAR) as usize] = 0;
        if goes_on {
            self.hints[(before.first / NEAR) as usize] = start;
        }
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
        let start = self.steps.len() as u32;
        let end = start + ROOM;
        if end > NONE {
            return None;
        }
        self.reserve(ROOM as usize);
        self.steps.resize(end as usize, Node::EMPTY.step);
        self.ties.resize(end as usize, Node::EMPTY.tie);
        Some((start, end))
    }

    /// Makes room for `more` nodes behind the last one.
    fn reserve(&mut self, more: usize) {
        let wanted = self.steps.len() + more;
        if wanted <= self.steps.capacity().min(self.ties.capacity()) {
            return;
        }
        let room = if wanted > LARGE { ROOMY } else { 1024 };
        let room = room.max(wanted.next_power_of_two());
        self.steps.reserve_exact(room - self.steps.len());
        self.ties.reserve_exact(room - self.ties.len());
    }

    /// Gives node `id` back.
    pub(super) fn release(&mut self, id: u32) {
        self.steps[id as usize] = Node::EMPTY.step;
        self.ties[id as usize] = Node::EMPTY.tie;
        self.used -= 1;
        match self.free.last_mut() {
            Some((start, _)) if *start == id + 1 => *start = id,
            Some((_, end)) if *end == id => *end += 1,
            _ => self.free.push((id, id + 1)),
        }
    }

    /// Returns one more than the highest id ever used.
    pub(super) fn end(&self) -> u32 {
        self.steps.len() as u32
    }

    /// Returns the memory of the nodes in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.used * size_of::<Node>() + self.free.capacity() * 8 + self.hints.len() * 4
    }
}
