//! Blocks that are stored again after they were removed: what a cache that is too small looks like.

use super::rank_block::RankBlock;
use crate::domain::{Block, FastMap, SequenceHash};

/// One block in sixteen is followed.
const SAMPLE_MASK: u64 = 0xF0;

/// Most removed blocks that are remembered: half of what fits into a table of 2^16 places, which clears away what was
/// taken out as long as it is no fuller.
const LIMIT: usize = 28_672;

/// A removal is remembered this long, in seconds.
const SPAN: u64 = 600;

/// Remembers a sample of removed blocks.
#[derive(Debug, Default)]
pub struct ReuseWindow {
    /// The second of the removal of each.
    removed: FastMap<RankBlock, u32>,
}

impl ReuseWindow {
    /// Notes blocks that the rank numbered `rank` removed in `second`.
    pub fn removed(&mut self, rank: u32, hashes: &[SequenceHash], second: u64) {
        let second = u32::try_from(second).unwrap_or(u32::MAX);
        for hash in hashes.iter().filter(|hash| hash.0 & SAMPLE_MASK == 0) {
            if self.removed.len() >= LIMIT {
                self.removed.clear();
            }
            self.removed.insert(RankBlock::new(rank, *hash), second);
        }
    }

    /// Returns how many of `blocks` are sampled, and how many of those had been removed lately.
    pub fn stored(&mut self, rank: u32, blocks: &[Block], second: u64) -> (u64, u64) {
        let (mut sampled, mut returned) = (0, 0);
        for block in blocks.iter().filter(|block| block.sequence.0 & SAMPLE_MASK == 0) {
            sampled += 1;
            let before = self.removed.remove(&RankBlock::new(rank, block.sequence));
            returned +=
                u64::from(before.is_some_and(|then| second.saturating_sub(then.into()) <= SPAN));
        }
        (sampled, returned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TokensHash;

    #[test]
    fn a_block_returns_once_for_each_removal() {
        let block = Block { sequence: SequenceHash(0x100), tokens: TokensHash(1) };
        let mut returns = ReuseWindow::default();

        assert_eq!(returns.stored(0, &[block], 1), (1, 0));
        returns.removed(0, &[block.sequence], 2);
        assert_eq!(returns.stored(1, &[block], 3), (1, 0), "another rank's");
        assert_eq!(returns.stored(0, &[block], 3), (1, 1));
        assert_eq!(returns.stored(0, &[block], 4), (1, 0));
    }
}
