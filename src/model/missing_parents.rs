//! Blocks that routers lack: stored before the router started, or while it followed.
//!
//! Owns when blocks were stored, and which of them routers missed. The time is kept with the first block of each store:
//! the others are found by going up their chain, which is asked for seldom, while stores come by the thousand. A store
//! that a router refused takes along everything below it, so that a block is judged by the first of its chain.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::rank_block::{RankBlock, sign};
use crate::domain::{Block, FastMap, SequenceHash, Timestamp};

/// Most stores whose time is remembered; of more, a sample is. Half of what fits into a table of 2^15 places: one that is
/// fuller does not clear away what was removed, but doubles.
const STORED_LIMIT: usize = 14_336;

/// Blocks of a store that are found by its first one; a longer store counts as several.
const REACH: usize = 1_024;

/// Most refusals that are remembered.
const MISSED_LIMIT: usize = 65_536;

/// Clocks differ: nothing so close to a router's start tells on which side of it it was.
const MARGIN: Duration = Duration::from_secs(1);

/// The time a block was stored whose parent a router misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingParent {
    /// Before the router started: it lacks history.
    Before,
    /// While the router followed: its event got lost on the way to it.
    After,
    /// Nothing tells.
    Unsure,
}

/// The time of a router's process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Its start, where that is known.
    pub began: Option<Timestamp>,
    /// From when on it follows events and its refusals are read, where that is known.
    pub follows: Option<Timestamp>,
}

/// The last store of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// When.
    pub at: Timestamp,
    /// The parent under which that store hung.
    pub parent: Option<SequenceHash>,
}

/// The same in twelve bytes, since many are kept, by the first block.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// The lower six bytes of the time in units of [`UNIT`].
    at: [u8; 6],
    /// The sign of the parent, or zeros.
    parent: [u8; 4],
    /// The number of blocks.
    blocks: [u8; 2],
}

/// Microseconds of a unit of time: six bytes of them reach to the year 2041.
const UNIT: u64 = 8;

/// The last time that six bytes hold.
const LAST: u64 = (1 << 48) - 1;

impl Kept {
    fn new(at: Timestamp, parent: Option<NonZeroU32>, blocks: usize) -> Self {
        let units = (at.0 / UNIT).min(LAST).to_le_bytes();
        Self {
            at: *units.first_chunk().unwrap_or(&[u8::MAX; 6]),
            parent: parent.map_or(0, NonZeroU32::get).to_ne_bytes(),
            blocks: u16::try_from(blocks).unwrap_or(u16::MAX).to_ne_bytes(),
        }
    }

    /// Returns true when the block that many below the first is one of the store.
    fn reaches(self, below: usize) -> bool {
        below < usize::from(u16::from_ne_bytes(self.blocks))
    }

    fn at(self) -> Timestamp {
        let mut units = [0; 8];
        units.iter_mut().zip(self.at).for_each(|(to, from)| *to = from);
        Timestamp(u64::from_le_bytes(units) * UNIT)
    }

    fn parent(self) -> Option<NonZeroU32> {
        NonZeroU32::new(u32::from_ne_bytes(self.parent))
    }
}

/// Follows when blocks were stored, and what routers refused.
#[derive(Debug, Default)]
pub struct MissingParents {
    /// First blocks whose hashes have one of these bits are not followed.
    mask: u64,
    /// Stores by their first block.
    stored: FastMap<RankBlock, Kept>,
    /// By router, rank and the sign of the block.
    missed: HashMap<(Arc<str>, u32, NonZeroU32), MissingParent>,
    /// Refusals from before are forgotten.
    forgot: Option<Timestamp>,
}

impl MissingParents {
    /// Notes that the rank numbered `rank` stored `blocks` under `parent` at `at`.
    pub fn stored(
        &mut self,
        rank: u32,
        parent: Option<SequenceHash>,
        blocks: &[Block],
        at: Timestamp,
    ) {
        for part in blocks.chunks(REACH) {
            let Some((first, rest)) = part.split_first() else { continue };
            let new = Kept::new(at, parent.map(sign), part.len());
            for block in rest.iter().filter(|block| block.sequence.0 & self.mask == 0) {
                // A store that began in the middle of this one is older, unless history is read after live events.
                let key = RankBlock::new(rank, block.sequence);
                if let Entry::Occupied(inner) = self.stored.entry(key)
                    && inner.get().at() <= at
                {
                    inner.remove();
                }
            }
            self.note(RankBlock::new(rank, first.sequence), new);
        }
    }

    fn note(&mut self, first: RankBlock, new: Kept) {
        let is_followed = |mask| first.sequence().0 & mask == 0;
        // Room is made before it is needed: a table that once grew stays as large.
        if is_followed(self.mask)
            && self.stored.len() >= STORED_LIMIT
            && !self.stored.contains_key(&first)
        {
            self.thin();
        }
        if !is_followed(self.mask) {
            return;
        }
        let last = self.stored.entry(first).or_insert(new);
        if last.at() <= new.at() {
            *last = new;
        }
    }

    /// Makes room: follows a smaller sample from now on.
    fn thin(&mut self) {
        while self.stored.len() >= STORED_LIMIT && self.mask < u64::MAX {
            self.mask = self.mask << 1 | 1;
            let mask = self.mask;
            self.stored.retain(|block, _| block.sequence().0 & mask == 0);
        }
        if self.stored.len() >= STORED_LIMIT {
            self.stored.clear();
        }
    }

    /// Notes that the rank numbered `rank` removed blocks.
    pub fn removed(&mut self, rank: u32, hashes: &[SequenceHash]) {
        for hash in hashes.iter().filter(|hash| hash.0 & self.mask == 0) {
            self.stored.remove(&RankBlock::new(rank, *hash));
        }
    }

    /// Forgets what the rank numbered `rank` stored.
    pub fn forget(&mut self, rank: u32) {
        self.stored.retain(|block, _| !block.is_of(rank));
    }

    /// Forgets what the router in `pod` refused: another process runs there now.
    pub fn restarted(&mut self, pod: &str) {
        self.missed.retain(|(of, ..), _| of.as_ref() != pod);
    }

    /// Tells why the router in `pod`, which runs since `watch`, lacks `parent` of the rank numbered `rank`, at `at`.
    /// `chain` is the parent and the blocks above it, as far as the rank has them. `pending` is the parent's last store,
    /// where that is not noted yet.
    pub fn missing_parent(
        &mut self,
        pod: &Arc<str>,
        (rank, parent): (u32, SequenceHash),
        chain: impl Iterator<Item = SequenceHash>,
        pending: Option<Stored>,
        watch: Watch,
        at: Timestamp,
    ) -> MissingParent {
        let stored = match pending {
            Some(stored) => Some(Kept::new(stored.at, stored.parent.map(sign), 1)),
            None => self.last_store(rank, chain),
        };
        let key = (Arc::clone(pod), rank, sign(parent));
        let lack = match stored {
            Some(stored) => self.judged(pod, rank, stored, watch),
            None => self.missed.get(&key).copied().unwrap_or(MissingParent::Unsure),
        };
        if self.missed.len() >= MISSED_LIMIT {
            self.missed.clear();
            self.forgot = Some(at);
        }
        self.missed.insert(key, lack);
        lack
    }

    /// Returns the last store of the block that `chain` begins with.
    fn last_store(&self, rank: u32, chain: impl Iterator<Item = SequenceHash>) -> Option<Kept> {
        let firsts = chain.take(REACH).enumerate().filter(|(_, block)| block.0 & self.mask == 0);
        let mut stores = firsts.filter_map(|(below, block)| {
            let found = self.stored.get(&RankBlock::new(rank, block)).copied();
            found.filter(|store| store.reaches(below))
        });
        stores.next()
    }

    fn judged(&self, pod: &Arc<str>, rank: u32, stored: Kept, watch: Watch) -> MissingParent {
        let at = stored.at();
        let above = stored.parent().and_then(|it| self.missed.get(&(Arc::clone(pod), rank, it)));
        if watch.began.is_some_and(|began| at.after(MARGIN) <= began) {
            return MissingParent::Before;
        }
        if let Some(above) = above {
            return *above;
        }
        let since = watch.follows.map(|follows| follows.max(self.forgot.unwrap_or_default()));
        match since {
            Some(since) if at >= since.after(MARGIN) => MissingParent::After,
            _ => MissingParent::Unsure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TokensHash;

    const SECOND: u64 = 1_000_000;

    fn block(hash: u64) -> Block {
        Block { sequence: SequenceHash(hash), tokens: TokensHash(hash) }
    }

    fn at(second: u64) -> Timestamp {
        Timestamp(second * SECOND)
    }

    /// A router that started in second 20 and followed events from second 22 on.
    const WATCH: Watch =
        Watch { began: Some(Timestamp(20 * SECOND)), follows: Some(Timestamp(22 * SECOND)) };

    #[test]
    fn a_block_is_judged_by_the_first_of_its_chain_that_is_missing() {
        let pod: Arc<str> = "frontend".into();
        let mut parents = MissingParents::default();
        let hash = SequenceHash;
        parents.stored(0, None, &[block(1)], at(10));
        parents.stored(0, Some(hash(1)), &[block(2), block(3)], at(30));
        parents.stored(0, Some(hash(3)), &[block(4)], at(31));
        parents.stored(0, None, &[block(5)], at(30));
        parents.stored(0, Some(hash(5)), &[block(6)], at(31));
        parents.stored(0, None, &[block(7)], at(21));
        let mut lack = |rank, parent| {
            let chain = (1..=parent).rev().map(hash).take(if parent < 5 { 4 } else { 2 });
            parents.missing_parent(&pod, (rank, hash(parent)), chain, None, WATCH, at(40))
        };

        assert_eq!(lack(0, 1), MissingParent::Before);
        assert_eq!(
            lack(0, 3),
            MissingParent::Before,
            "stored later, but rejected because 1 was missing"
        );
        assert_eq!(lack(0, 4), MissingParent::Before, "below that");
        assert_eq!(lack(0, 5), MissingParent::After);
        assert_eq!(lack(0, 6), MissingParent::After, "below 5");
        assert_eq!(lack(0, 7), MissingParent::Unsure, "while it started");
        assert_eq!(lack(1, 1), MissingParent::Unsure, "of another rank");
    }

    #[test]
    fn a_store_is_kept_in_twelve_bytes_with_its_time_its_length_and_the_sign_of_its_parent() {
        let parent = Some(sign(SequenceHash(7)));
        let kept = Kept::new(Timestamp(1_790_000_000_123_457), parent, 3);

        assert_eq!((kept.at(), kept.parent()), (Timestamp(1_790_000_000_123_456), parent));
        assert!(kept.reaches(2) && !kept.reaches(3));
        assert_eq!(size_of::<(RankBlock, Kept)>(), 22);
        let never = Kept::new(Timestamp(u64::MAX), None, 1);
        assert!(never.at() > kept.at() && never.parent().is_none(), "{never:?}");
    }

    #[test]
    fn nothing_is_told_of_a_router_whose_time_is_not_known() {
        let pod: Arc<str> = "frontend".into();
        let mut parents = MissingParents::default();
        parents.stored(0, None, &[block(1)], at(10));
        let mut lack = |watch| {
            let parent = SequenceHash(1);
            parents.missing_parent(&pod, (0, parent), [parent].into_iter(), None, watch, at(40))
        };

        assert_eq!(lack(Watch::default()), MissingParent::Unsure);
        assert_eq!(lack(Watch { began: None, follows: Some(at(30)) }), MissingParent::Unsure);
        assert_eq!(lack(Watch { began: None, follows: Some(at(5)) }), MissingParent::After);
    }

    /// Returns when the block that `chain` begins with was stored last.
    fn last(parents: &MissingParents, chain: &[u64]) -> Option<u64> {
        let chain = chain.iter().copied().map(SequenceHash);
        parents.last_store(0, chain).map(|store| store.at().seconds())
    }

    fn run(blocks: std::ops::RangeInclusive<u64>) -> Vec<Block> {
        blocks.map(block).collect()
    }

    #[test]
    fn a_block_is_found_by_the_first_of_its_last_store() {
        let mut parents = MissingParents::default();
        parents.stored(0, None, &run(1..=9), at(10));
        assert_eq!(parents.stored.len(), 1);
        assert_eq!(last(&parents, &[9, 8, 7, 6, 5, 4, 3, 2, 1]), Some(10));
        assert_eq!(last(&parents, &[9, 8, 7]), None, "the rank lacks one between");

        parents.stored(0, Some(SequenceHash(3)), &run(4..=6), at(20));
        assert_eq!(last(&parents, &[5, 4, 3, 2, 1]), Some(20));
        assert_eq!(last(&parents, &[7, 6, 5, 4, 3, 2, 1]), Some(10), "the later one ended above");

        // History may be read after events that came live.
        parents.stored(0, Some(SequenceHash(2)), &run(3..=9), at(15));
        assert_eq!(last(&parents, &[5, 4, 3, 2, 1]), Some(20));
        assert_eq!(last(&parents, &[8, 7, 6, 5, 4, 3, 2, 1]), Some(15));

        parents.stored(0, None, &run(1..=9), at(30));
        assert_eq!(last(&parents, &[5, 4, 3, 2, 1]), Some(30));
        assert_eq!(parents.stored.len(), 1, "what began in the middle is over");
        parents.removed(0, &[SequenceHash(1)]);
        assert_eq!(last(&parents, &[5, 4, 3, 2]), None);
    }

    #[test]
    fn a_long_store_is_found_within_a_bounded_way() {
        let mut parents = MissingParents::default();
        let blocks = 2 * REACH as u64 + 1;
        parents.stored(0, None, &run(1..=blocks), at(10));

        for block in [1, REACH as u64, REACH as u64 + 1, blocks] {
            let above: Vec<u64> = (1..=block).rev().collect();
            assert_eq!(last(&parents, &above), Some(10), "{block}");
        }
        assert_eq!(parents.stored.len(), 3);
    }

    #[test]
    fn what_is_followed_is_bounded_and_a_sample_remains() {
        let mut parents = MissingParents::default();
        for number in 0..3 * STORED_LIMIT as u64 {
            parents.stored(0, None, &[block(number)], at(1));
        }
        let left = parents.stored.len();
        let mask = parents.mask;
        parents.stored(0, None, &vec![block(0); 2 * STORED_LIMIT], at(2));
        assert_eq!(parents.mask, mask, "a block takes one place, however often a store names it");

        assert!((STORED_LIMIT / 4..=STORED_LIMIT).contains(&left), "{left}");
        let all: Vec<SequenceHash> = (0..3 * STORED_LIMIT as u64).map(SequenceHash).collect();
        parents.removed(0, &all);
        assert!(parents.stored.is_empty());
    }

    #[test]
    fn blocks_that_come_and_go_leave_the_table_as_large() {
        let mut parents = MissingParents::default();
        for number in 0..20 * STORED_LIMIT as u64 {
            parents.stored(0, None, &[block(number << 32)], at(3));
            parents.removed(
                0,
                &[SequenceHash(number.wrapping_sub(STORED_LIMIT as u64 / 4 * 3) << 32)],
            );
        }
        assert!(parents.stored.capacity() <= 2 * STORED_LIMIT, "{}", parents.stored.capacity());
    }
}
