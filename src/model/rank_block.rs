//! A block of a rank, as the key of a map: small, since some maps hold tens of thousands.

use std::hash::{Hash, Hasher};

use crate::domain::SequenceHash;

/// A block of one rank. Half as wide as a number of eight bytes demands, so that nothing is lost to alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RankBlock {
    /// The number of the rank.
    rank: u32,
    /// The halves of the hash.
    hash: [u32; 2],
}

impl RankBlock {
    /// Returns the block of that hash of the rank numbered `rank`.
    pub(super) const fn new(rank: u32, hash: SequenceHash) -> Self {
        Self { rank, hash: halves(hash.0) }
    }

    /// Returns the number of its rank.
    pub(super) const fn rank(self) -> u32 {
        self.rank
    }

    /// Returns its hash.
    pub(super) const fn sequence(self) -> SequenceHash {
        SequenceHash(whole(self.hash))
    }
}

/// Returns the halves of a number, the lower one first.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
pub(super) const fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// Returns the number of these halves.
pub(super) const fn whole([low, high]: [u32; 2]) -> u64 {
    low as u64 | (high as u64) << 32
}

impl Hash for RankBlock {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.rank);
        state.write_u64(self.sequence().0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_rank_and_hash_in_twelve_bytes() {
        let block = RankBlock::new(7, SequenceHash(0xFEDC_BA98_0123_4567));

        assert_eq!((block.rank(), block.sequence()), (7, SequenceHash(0xFEDC_BA98_0123_4567)));
        assert_eq!(size_of::<RankBlock>(), 12);
    }
}
