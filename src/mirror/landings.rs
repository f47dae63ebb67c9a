//! Landings: whether successive stores or requests of one prefix come to the same rank.
//!
//! A prefix is here a run that ends in a leaf, such as one conversation; what all conversations begin with says
//! nothing of one. Only landings some time apart count: a request that goes on stores block after block.

use crate::domain::{FastMap, WorkerRank};

/// Prefixes whose last rank is kept.
const PREFIXES: usize = 32_768;
/// Counts are kept for this many ticks, and for as long again.
const PERIOD: u32 = 900;

/// Successive landings of the last 15 to 30 minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Landed {
    /// Landings of a prefix that had landed before.
    pub successive: u64,
    /// Of those, the ones on the same rank as the time before.
    pub same: u64,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    /// Tokens of the first block, which tell whether it is still the same prefix.
    tokens: u64,
    rank: WorkerRank,
    tick: u32,
}

/// The rank that each prefix came to last.
#[derive(Debug, Default)]
pub(super) struct Landings {
    /// By the first block of the prefix's own run.
    last: FastMap<u32, Last>,
    present: Landed,
    before: Landed,
    since: u32,
}

impl Landings {
    /// Notes that a prefix landed on `rank` at `tick`. Within `apart` ticks of the last landing it is the same request.
    pub(super) fn note(&mut self, head: u32, tokens: u64, rank: WorkerRank, tick: u32, apart: u32) {
        self.turn(tick);
        if self.last.len() >= PREFIXES && !self.last.contains_key(&head) {
            self.make_room();
        }
        let now = Last { tokens, rank, tick };
        let Some(before) = self.last.insert(head, now).filter(|last| last.tokens == tokens) else {
            return;
        };
        if tick.saturating_sub(before.tick) >= apart {
            self.present.successive += 1;
            self.present.same += u64::from(before.rank == rank);
        }
    }

    /// Returns the counts as of `tick`.
    pub(super) fn landed(&self, tick: u32) -> Landed {
        let age = tick.saturating_sub(self.since);
        let counted = |landed: Landed, until: u32| {
            if age < until { landed } else { Landed::default() }
        };
        let (present, before) = (counted(self.present, 2 * PERIOD), counted(self.before, PERIOD));
        Landed {
            successive: present.successive + before.successive,
            same: present.same + before.same,
        }
    }

    fn turn(&mut self, tick: u32) {
        let age = tick.saturating_sub(self.since);
        if age >= PERIOD {
            let ended = std::mem::take(&mut self.present);
            self.before = if age < 2 * PERIOD { ended } else { Landed::default() };
            self.since = tick;
        }
    }

    /// Forgets the half that landed longest ago.
    fn make_room(&mut self) {
        let mut ticks: Vec<u32> = self.last.values().map(|last| last.tick).collect();
        let middle = ticks.len() / 2;
        let (_, median, _) = ticks.select_nth_unstable(middle);
        let median = *median;
        self.last.retain(|_, last| last.tick > median);
    }
}
