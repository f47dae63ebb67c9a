//! Evicted blocks in the order of their eviction, and how many were evicted since one of them.

use std::collections::VecDeque;

use crate::domain::SequenceHash;

/// The blocks of one rank that were evicted and not stored again, earliest first.
///
/// There are a few dozen of each rank, or two thousand of a single one: to look through them, several at a time, costs
/// less than the places in memory that a table of them would touch.
#[derive(Debug, Default)]
pub(super) struct Evicted(VecDeque<SequenceHash>);

/// Blocks that are compared at a time.
const LANES: usize = 16;

impl Evicted {
    /// Adds the block that was evicted last.
    pub(super) fn push(&mut self, hash: SequenceHash) {
        self.take(hash);
        self.0.push_back(hash);
    }

    /// Takes a block out. Returns how many blocks were evicted since, itself included; none where it is not there.
    pub(super) fn take(&mut self, hash: SequenceHash) -> Option<u64> {
        let (earlier, later) = self.0.as_slices();
        let place = place_of(hash, earlier)
            .or_else(|| place_of(hash, later).map(|place| earlier.len() + place))?;
        let since = self.0.len() - place;
        self.0.remove(place);
        Some(since as u64)
    }

    /// Takes out the block that was evicted first.
    pub(super) fn pop(&mut self) {
        self.0.pop_front();
    }

    /// Keeps only blocks that `keep` returns true for.
    pub(super) fn retain(&mut self, keep: impl Fn(SequenceHash) -> bool) {
        self.0.retain(|hash| keep(*hash));
    }

    pub(super) fn clear(&mut self) {
        self.0 = VecDeque::new();
    }

    /// Returns the number of blocks.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Returns the place of a block.
fn place_of(hash: SequenceHash, blocks: &[SequenceHash]) -> Option<usize> {
    let (lots, rest) = blocks.as_chunks::<LANES>();
    // A count compares all of them without a branch for each.
    let is_in = |lot: &[SequenceHash; LANES]| lot.iter().filter(|it| **it == hash).count() > 0;
    let (from, lot) = match lots.iter().position(is_in) {
        Some(at) => (at * LANES, lots[at].as_slice()),
        None => (lots.len() * LANES, rest),
    };
    lot.iter().position(|block| *block == hash).map(|place| from + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by looking at every block.
    #[derive(Default)]
    struct Plain(Vec<SequenceHash>);

    impl Plain {
        fn take(&mut self, hash: SequenceHash) -> Option<u64> {
            let at = self.0.iter().position(|known| *known == hash)?;
            let since = self.0.len() - at;
            self.0.remove(at);
            Some(since as u64)
        }
    }

    #[test]
    fn blocks_are_counted_as_by_looking_at_each() {
        let (mut evicted, mut plain) = (Evicted::default(), Plain::default());
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        for step in 0..20_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let hash = SequenceHash(random % 500);
            match random >> 32 & 7 {
                0..=3 => {
                    plain.take(hash);
                    plain.0.push(hash);
                    evicted.push(hash);
                }
                4 | 5 => assert_eq!(evicted.take(hash), plain.take(hash), "step {step}"),
                6 => {
                    if !plain.0.is_empty() {
                        plain.0.remove(0);
                    }
                    evicted.pop();
                }
                _ if (random >> 40).is_multiple_of(256) => {
                    plain.0.retain(|hash| hash.0 % 3 != 0);
                    evicted.retain(|hash| hash.0 % 3 != 0);
                }
                _ => {}
            }
            assert_eq!(evicted.len(), plain.0.len(), "step {step}");
        }
    }
}
