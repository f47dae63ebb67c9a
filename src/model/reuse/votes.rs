//! The block size that lengths of prompts and of their chains prove.

use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Block sizes that are weighed.
const SIZES: [u32; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/// Fewer prompts prove nothing.
const MIN_VOTES: u32 = 8;

/// A size as behaviour tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeByStores {
    /// Tokens per block.
    pub tokens: u32,
    /// Prompts whose chains are as long as blocks of this size make them.
    pub agreeing: u32,
    /// Prompts that were compared.
    pub prompts: u32,
}

/// The number of prompts that fit each of [`SIZES`].
type Counts = [u32; SIZES.len()];

/// Votes of prompts for a size: of all ranks together, and of each. There is a rank for each that the
/// model of workers has at most.
#[derive(Debug, Default)]
pub(super) struct Votes {
    all: Counts,
    by_rank: HashMap<u32, (Counts, u32)>,
    prompts: u32,
}

impl Votes {
    /// Lets a prompt of a rank vote for the sizes that give one of `depths`.
    pub(super) fn cast(&mut self, rank: u32, tokens: &RangeInclusive<u64>, depths: &[u64]) {
        self.prompts += 1;
        let (of_rank, prompts) = self.by_rank.entry(rank).or_default();
        *prompts += 1;
        for ((all, of_rank), size) in self.all.iter_mut().zip(of_rank).zip(SIZES.map(u64::from)) {
            let fitting = tokens.start() / size..=tokens.end() / size;
            let fits = depths.iter().any(|depth| *depth > 0 && fitting.contains(depth));
            *all += u32::from(fits);
            *of_rank += u32::from(fits);
        }
    }

    /// Forgets the prompts of the rank numbered `rank`.
    pub(super) fn forget(&mut self, rank: u32) {
        let Some((counts, prompts)) = self.by_rank.remove(&rank) else { return };
        self.prompts -= prompts;
        for (all, count) in self.all.iter_mut().zip(counts) {
            *all -= count;
        }
    }

    /// Returns the size that prompts of all ranks together prove; none while they do not.
    pub(super) fn size(&self) -> Option<SizeByStores> {
        proven(&self.all, self.prompts)
    }

    /// Returns the size that prompts of the ranks numbered `ranks` prove together.
    pub(super) fn size_among(&self, ranks: &[u32]) -> Option<SizeByStores> {
        let (mut sum, mut prompts) = (Counts::default(), 0);
        for (counts, of_rank) in ranks.iter().filter_map(|rank| self.by_rank.get(rank)) {
            prompts += of_rank;
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        proven(&sum, prompts)
    }

    /// Returns the same, where prompts of the rank numbered `rank` fit it and no other.
    pub(super) fn size_of(&self, rank: u32) -> Option<u32> {
        let proven = self.size()?.tokens;
        let (at, _) = clear(&self.by_rank.get(&rank)?.0)?;
        (SIZES[at] == proven).then_some(proven)
    }
}

fn proven(votes: &Counts, prompts: u32) -> Option<SizeByStores> {
    let (at, agreeing) = clear(votes)?;
    // Requests that run together hide the chains of some; they vote for nothing, not for another.
    let enough = agreeing >= MIN_VOTES && agreeing * 4 >= prompts;
    enough.then_some(SizeByStores { tokens: SIZES[at], agreeing, prompts })
}

/// Returns the place of the size that at least three times as many prompts fit as any other, and how many
/// do; none where no size stands out.
fn clear(votes: &Counts) -> Option<(usize, u32)> {
    let (at, most) = votes.iter().copied().enumerate().max_by_key(|(_, votes)| *votes)?;
    let others =
        votes.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, votes)| *votes);
    (most > 0 && most >= 3 * others.max().unwrap_or(0)).then_some((at, most))
}
