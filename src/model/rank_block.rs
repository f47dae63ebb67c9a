//! A block of a rank, as the key of a map: small, since some maps hold tens of thousands.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use crate::domain::SequenceHash;

/// A block of one rank. Its hash is kept in bytes, so that nothing is lost to alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RankBlock {
    /// The number of the rank: there are 65,536 of them at most.
    rank: u16,
    hash: [u8; 8],
}

impl RankBlock {
    /// Returns the block of that hash of the rank numbered `rank`.
    pub(super) fn new(rank: u32, hash: SequenceHash) -> Self {
        Self { rank: narrow(rank), hash: hash.0.to_ne_bytes() }
    }

    /// Returns true when it is one of the rank numbered `rank`.
    pub(super) fn is_of(self, rank: u32) -> bool {
        self.rank == narrow(rank)
    }

    /// Returns its hash.
    pub(super) const fn sequence(self) -> SequenceHash {
        SequenceHash(u64::from_ne_bytes(self.hash))
    }
}

fn narrow(rank: u32) -> u16 {
    u16::try_from(rank).unwrap_or(u16::MAX)
}

/// Returns a sign of the block with that hash, half as wide. Of four thousand million pairs of blocks one shares its
/// sign.
#[expect(clippy::cast_possible_truncation, reason = "both halves are in it")]
pub(super) fn sign(hash: SequenceHash) -> NonZeroU32 {
    NonZeroU32::new((hash.0 ^ hash.0 >> 32) as u32).unwrap_or(NonZeroU32::MAX)
}

impl Hash for RankBlock {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.rank.into());
        state.write_u64(self.sequence().0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_rank_and_hash_in_ten_bytes() {
        let block = RankBlock::new(7, SequenceHash(0xFEDC_BA98_0123_4567));

        assert!(block.is_of(7) && !block.is_of(8));
        assert_eq!(block.sequence(), SequenceHash(0xFEDC_BA98_0123_4567));
        assert_eq!(size_of::<RankBlock>(), 10);
    }
}
