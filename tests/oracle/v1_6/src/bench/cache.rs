//! The cache of one engine: blocks in use, and a queue of those that may go.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const NIL: u32 = u32::MAX;

/// A hasher for small numbers, since the generator does little else.
#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A cache. The block that waits longest goes first.
pub struct Cache {
    entries: Vec<Entry>,
    free: Vec<u32>,
    first: u32,
    last: u32,
    by_block: HashMap<u32, u32, BuildHasherDefault<Multiply>>,
}

struct Entry {
    block: u32,
    users: u32,
    before: u32,
    after: u32,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            first: NIL,
            last: NIL,
            by_block: HashMap::default(),
        }
    }
}

impl Cache {
    pub fn len(&self) -> usize {
        self.by_block.len()
    }

    pub fn blocks(&self) -> impl Iterator<Item = u32> {
        self.by_block.keys().copied()
    }

    /// Pins the part of `path` that is cached, from its start; returns how long it is.
    pub fn pin_prefix(&mut self, path: &[u32]) -> usize {
        let known = path.iter().take_while(|block| self.by_block.contains_key(*block)).count();
        for block in &path[..known] {
            self.pin(*block);
        }
        known
    }

    /// Pins a block, and adds it unless it is there: then returns true.
    pub fn pin(&mut self, block: u32) -> bool {
        if let Some(at) = self.by_block.get(&block).copied() {
            if self.entries[at as usize].users == 0 {
                self.unhook(at);
            }
            self.entries[at as usize].users += 1;
            return false;
        }
        let entry = Entry { block, users: 1, before: NIL, after: NIL };
        let at = if let Some(at) = self.free.pop() {
            self.entries[at as usize] = entry;
            at
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        };
        self.by_block.insert(block, at);
        true
    }

    /// Lets go of `path`; what nobody else uses queues up, the last block first.
    pub fn unpin(&mut self, path: &[u32]) {
        for block in path.iter().rev() {
            let Some(at) = self.by_block.get(block).copied() else { continue };
            self.entries[at as usize].users -= 1;
            if self.entries[at as usize].users == 0 {
                self.hook(at);
            }
        }
    }

    /// Takes out the block that waits longest, if any waits.
    pub fn evict(&mut self) -> Option<u32> {
        let at = self.first;
        let block = self.entries.get(at as usize)?.block;
        self.unhook(at);
        self.by_block.remove(&block);
        self.free.push(at);
        Some(block)
    }

    fn unhook(&mut self, at: u32) {
        let Entry { before, after, .. } = self.entries[at as usize];
        match before {
            NIL => self.first = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NIL => self.last = before,
            after => self.entries[after as usize].before = before,
        }
    }

    fn hook(&mut self, at: u32) {
        let last = std::mem::replace(&mut self.last, at);
        let entry = &mut self.entries[at as usize];
        (entry.before, entry.after) = (last, NIL);
        match last {
            NIL => self.first = at,
            last => self.entries[last as usize].after = at,
        }
    }
}
