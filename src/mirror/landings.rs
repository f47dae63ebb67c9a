//! Landings: whether successive stores or requests of one prefix come to the same rank.
//!
//! A prefix is here a run that ends in a leaf, such as one conversation; what all conversations begin with says
//! nothing of one. Only landings some time apart count: a request that goes on stores block after block.

use super::index::sign;
use crate::domain::{FastMap, WorkerRank};

/// Prefixes whose last rank is kept: as many as fill a table of 2^15 places.
const PREFIXES: usize = 28_672;
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
    /// A sign of the tokens of the first block, which tells whether it is still the same prefix.
    tokens: u32,
    /// A sign of the rank.
    rank: u32,
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
        let rank = sign(rank.worker.0) ^ rank.dp_rank.0;
        let now = Last { tokens: sign(tokens), rank, tick };
        let Some(last) = self.last.get_mut(&head) else {
            if self.last.len() >= PREFIXES {
                self.make_room();
            }
            self.last.insert(head, now);
            return;
        };
        let before = std::mem::replace(last, now);
        if before.tokens != now.tokens {
            return;
        }
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
        // A new table: the places of what leaves one are not free again, so that it would double.
        let before = std::mem::take(&mut self.last);
        self.last.reserve(PREFIXES);
        self.last.extend(before.into_iter().filter(|(_, last)| last.tick > median));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{DpRank, WorkerId};

    #[test]
    fn the_prefixes_of_a_busy_tree_stay_within_their_table() {
        let mut landings = Landings::default();
        let rank = |number: u32| WorkerRank { worker: WorkerId(7), dp_rank: DpRank(number) };
        for step in 0..3 * PREFIXES as u32 {
            landings.note(step, 1, rank(0), step, 5);
            // Another one lands where it landed before.
            landings.note(step / 2, 1, rank(step / 2 % 2), step, 5);
        }

        assert!(landings.last.len() <= PREFIXES && landings.last.len() > PREFIXES / 3);
        assert!(landings.last.capacity() <= PREFIXES, "{}", landings.last.capacity());
    }

    #[test]
    fn a_prefix_that_comes_to_another_rank_or_begins_anew_is_no_return() {
        let mut landings = Landings::default();
        let rank = |worker, rank| WorkerRank { worker: WorkerId(worker), dp_rank: DpRank(rank) };
        for (tick, tokens, rank) in [
            (0, 1, rank(7, 0)),
            (10, 1, rank(7, 0)),
            (20, 1, rank(7, 1)),
            (30, 1, rank(8, 1)),
            (40, 2, rank(8, 1)),
        ] {
            landings.note(3, tokens, rank, tick, 5);
        }

        assert_eq!(landings.landed(40), Landed { successive: 3, same: 1 });
    }
}
