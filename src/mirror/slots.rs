//! Owner slots: which small number stands for which rank, and what it holds.
//!
//! Owns their life: a slot that is cleared dies at once, its rank gets another one, and the number is
//! used again only after every trace of the dead one was swept. Knows nothing of nodes.

use std::collections::BTreeSet;

use crate::domain::{FastMap, WorkerId, WorkerRank};

/// Ranks a mirror can tell apart. Beyond it events are refused, and counted.
pub(super) const MAX_RANKS: usize = 65_536;
/// Numbers for slots, dead ones included; they fit into 20 bits.
const MAX_SLOTS: usize = 1 << 19;

/// The blocks of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) accepted: u64,
    pub(super) orphans: u64,
    alive: bool,
}

/// Ranks that are found without the map, most of the time.
const RECENT: usize = 256;

const fn recent(rank: WorkerRank) -> usize {
    let mixed = (rank.worker.0 ^ (rank.dp_rank.0 as u64) << 48).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as usize
}

/// All slots.
pub(super) struct Slots {
    has: Vec<Slot>,
    names: Vec<WorkerRank>,
    alive: Vec<u64>,
    ranks: FastMap<WorkerRank, u32>,
    workers: FastMap<WorkerId, Vec<WorkerRank>>,
    last: [Option<(WorkerRank, u32)>; RECENT],
    free: BTreeSet<u32>,
    waiting: Vec<u32>,
    sweeping: Vec<u32>,
    pub(super) accepted: u64,
    pub(super) orphans: u64,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            has: Vec::new(),
            names: Vec::new(),
            alive: Vec::new(),
            ranks: FastMap::default(),
            workers: FastMap::default(),
            last: [None; RECENT],
            free: BTreeSet::new(),
            waiting: Vec::new(),
            sweeping: Vec::new(),
            accepted: 0,
            orphans: 0,
        }
    }
}

impl Slots {
    /// Returns the slot of `rank`, a new one if need be, none when there are too many.
    #[inline]
    pub(super) fn enter(&mut self, rank: WorkerRank) -> Option<u32> {
        let recent = recent(rank);
        if let Some((last, slot)) = self.last[recent]
            && last == rank
        {
            return Some(slot);
        }
        let slot = match self.ranks.get(&rank) {
            Some(slot) => *slot,
            None => self.admit(rank)?,
        };
        self.last[recent] = Some((rank, slot));
        Some(slot)
    }

    fn admit(&mut self, rank: WorkerRank) -> Option<u32> {
        if self.ranks.len() >= MAX_RANKS {
            return None;
        }
        let slot = self.number(rank)?;
        self.ranks.insert(rank, slot);
        self.workers.entry(rank.worker).or_default().push(rank);
        Some(slot)
    }

    fn number(&mut self, rank: WorkerRank) -> Option<u32> {
        let slot = if let Some(slot) = self.free.pop_first() {
            slot
        } else if self.has.len() < MAX_SLOTS {
            self.has.push(Slot::default());
            self.names.push(rank);
            (self.has.len() - 1) as u32
        } else {
            return None;
        };
        self.has[slot as usize] = Slot { alive: true, ..Slot::default() };
        self.names[slot as usize] = rank;
        let word = slot as usize / 64;
        if word >= self.alive.len() {
            self.alive.resize(word + 1, 0);
        }
        self.alive[word] |= 1 << (slot % 64);
        Some(slot)
    }

    /// Returns the slot of a rank seen before.
    pub(super) fn get(&self, rank: WorkerRank) -> Option<u32> {
        self.ranks.get(&rank).copied()
    }

    /// Returns the rank that `slot` stands for.
    pub(super) fn name(&self, slot: u32) -> Option<WorkerRank> {
        self.names.get(slot as usize).copied()
    }

    /// Returns what `slot` has.
    #[inline]
    pub(super) fn at(&self, slot: u32) -> Slot {
        self.has.get(slot as usize).copied().unwrap_or_default()
    }

    /// Adds `by` to the accepted blocks of `slot`.
    #[inline]
    pub(super) fn add_accepted(&mut self, slot: u32, by: i64) {
        if let Some(slot) = self.has.get_mut(slot as usize)
            && slot.alive
        {
            slot.accepted = slot.accepted.saturating_add_signed(by);
            self.accepted = self.accepted.saturating_add_signed(by);
        }
    }

    /// Adds `by` to the orphans of `slot`.
    #[inline]
    pub(super) fn add_orphans(&mut self, slot: u32, by: i64) {
        if let Some(slot) = self.has.get_mut(slot as usize)
            && slot.alive
        {
            slot.orphans = slot.orphans.saturating_add_signed(by);
            self.orphans = self.orphans.saturating_add_signed(by);
        }
    }

    /// Returns true while nothing of `slot` may be seen any more.
    #[inline]
    pub(super) fn is_dead(&self, slot: u32) -> bool {
        !self.has.get(slot as usize).is_some_and(|slot| slot.alive)
    }

    /// Returns true while dead slots wait to be swept.
    #[inline]
    pub(super) fn any_dead(&self) -> bool {
        !(self.waiting.is_empty() && self.sweeping.is_empty())
    }

    /// Returns the slots alive, 64 to a word.
    #[inline]
    pub(super) fn alive(&self) -> &[u64] {
        &self.alive
    }

    /// Forgets all that `rank` has, returns how many accepted blocks that were.
    pub(super) fn clear(&mut self, rank: WorkerRank) -> u64 {
        let Some(slot) = self.get(rank) else { return 0 };
        let was = self.at(slot);
        if was.accepted == 0 && was.orphans == 0 {
            return 0;
        }
        self.kill(slot);
        self.last[recent(rank)] = None;
        match self.number(rank) {
            Some(fresh) => {
                self.ranks.insert(rank, fresh);
            }
            None => self.forget(rank),
        }
        was.accepted
    }

    /// Forgets that `rank` exists.
    pub(super) fn remove(&mut self, rank: WorkerRank) {
        if let Some(slot) = self.get(rank) {
            self.kill(slot);
            self.forget(rank);
        }
    }

    fn forget(&mut self, rank: WorkerRank) {
        self.last[recent(rank)] = None;
        self.ranks.remove(&rank);
        if let Some(ranks) = self.workers.get_mut(&rank.worker) {
            ranks.retain(|own| *own != rank);
            if ranks.is_empty() {
                self.workers.remove(&rank.worker);
            }
        }
    }

    fn kill(&mut self, slot: u32) {
        if let Some(own) = self.has.get_mut(slot as usize) {
            self.accepted -= own.accepted;
            self.orphans -= own.orphans;
            *own = Slot::default();
            self.alive[slot as usize / 64] &= !(1 << (slot % 64));
            self.waiting.push(slot);
        }
    }

    /// Returns the ranks of `worker`.
    pub(super) fn ranks_of(&self, worker: WorkerId) -> Vec<WorkerRank> {
        self.workers.get(&worker).cloned().unwrap_or_default()
    }

    /// Returns every rank seen and its slot.
    pub(super) fn ranks(&self) -> impl Iterator<Item = (WorkerRank, u32)> {
        self.ranks.iter().map(|(rank, slot)| (*rank, *slot))
    }

    /// Starts a sweep of all slots that died so far.
    pub(super) fn begin_sweep(&mut self) {
        self.sweeping.append(&mut self.waiting);
    }

    /// Frees the numbers of the slots that were swept.
    pub(super) fn end_sweep(&mut self) {
        self.free.extend(self.sweeping.drain(..));
    }

    /// Returns the memory of the tables in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.has.capacity() * size_of::<Slot>()
            + self.ranks.capacity() * 48
            + self.workers.capacity() * 64
    }
}
