//! The share of stored blocks that a larger KV cache would still have held.
//!
//! Engines evict the block that was used longest ago. At any moment a cache of n more blocks would therefore also
//! hold the n blocks that were evicted last and not stored again since (LRU inclusion, Mattson et al. 1970). A block
//! that is stored again when n such blocks have been evicted since its own eviction, itself included, needs n more
//! blocks of capacity to stay. Cache hits publish no event, and none is needed: they are hits in the larger cache too.
//!
//! Blocks are sampled by their hash, and counts and distances scaled by the rate (SHARDS, Waldspurger et al. 2015),
//! so that memory stays bounded however large the caches are.

mod evicted;
mod histogram;

use evicted::Evicted;
use histogram::Histogram;

use crate::domain::{Block, FastMap, SequenceHash, Timestamp};

/// Most evicted blocks that are remembered, over all ranks.
const EVICTED_LIMIT: usize = 8_192;

/// Most and fewest evicted blocks that are remembered of one rank.
const RANK_LIMITS: (usize, usize) = (2_048, 64);

/// Evictions are followed until a cache of this many times the capacity would not hold the block either.
const DEEPEST: u64 = 5;

/// How many times more blocks than needed a rank is sampled for at first, as a shift: few evictions should say
/// something soon. When they do not fit, one block in `1 << shift` is sampled, and ever fewer.
const FINER_AT_FIRST: u32 = 1;

/// The least rate: one block in 65,536.
const LAST_SHIFT: u32 = 16;

/// Counts are kept for this many seconds, and for as long again.
const PERIOD: u64 = 900;

/// Follows evictions and stores of each rank.
#[derive(Debug, Default)]
pub struct CapacityCurve {
    ranks: FastMap<u32, RankCurve>,
}

/// The stores of one rank, by the capacity that would have avoided them.
#[derive(Debug, Default)]
struct RankCurve {
    /// Sampled blocks that were evicted and not stored again.
    evicted: Evicted,
    shift: u32,
    /// Most blocks that it held when it evicted one.
    full_at: u64,
    /// Blocks sampled since the start of the period before the present one.
    present: Histogram,
    before: Histogram,
    /// Prompts of the present period and of the one before, by [`LengthBy`].
    prompts: [[Prompts; 2]; 2],
    /// The start of the present period, in seconds.
    since: u64,
}

/// Prompts whose lengths are known, in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prompts {
    /// The number of prompts.
    pub count: f64,
    /// Their blocks.
    pub blocks: f64,
    /// Of those, the blocks that were cached.
    pub cached: f64,
}

impl Prompts {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.blocks += other.blocks;
        self.cached += other.cached;
    }
}

/// Who tells the length of a prompt. A version may do so in more than one way, so that they are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthBy {
    /// Events about hits.
    HitRate,
    /// Events that routers send each other about requests.
    Request,
}

/// Stores of one or more ranks, by capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Avoided {
    /// Sampled stored blocks behind the shares.
    pub samples: u64,
    /// Stored blocks.
    pub stored: f64,
    /// Of those, the blocks that a cache of [`Avoided::FACTORS`] times the capacity would still have held.
    pub avoided: [f64; Self::FACTORS.len()],
    /// Prompts of the same time, by [`LengthBy`].
    pub prompts: [Prompts; 2],
}

impl Avoided {
    /// The capacities that are asked for, as multiples of the present one.
    pub const FACTORS: [f64; 4] = [1.25, 1.5, 2.0, 3.0];

    /// Fewest sampled blocks for which a share is given.
    pub const FEWEST: u64 = 200;

    /// Adds the stores of another rank.
    pub fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.stored += other.stored;
        for (sum, more) in self.avoided.iter_mut().zip(other.avoided) {
            *sum += more;
        }
        for (sum, more) in self.prompts.iter_mut().zip(&other.prompts) {
            sum.add(more);
        }
    }

    /// Fewest prompts for which the share of cached blocks is given.
    pub const FEWEST_PROMPTS: f64 = 50.0;

    /// Returns the prompts whose lengths are known, by whoever tells most.
    #[must_use]
    pub fn best_prompts(&self) -> Prompts {
        let [first, second] = self.prompts;
        if second.count > first.count { second } else { first }
    }

    /// Returns the share of prompt blocks that were cached, 0 to 1; none with too few prompts.
    #[must_use]
    pub fn cached(&self) -> Option<f64> {
        let Prompts { count, blocks, cached } = self.best_prompts();
        let known = count >= Self::FEWEST_PROMPTS && blocks > 0.0;
        known.then(|| (cached / blocks).clamp(0.0, 1.0))
    }

    /// Returns the share of prompt blocks that would have been cached with the capacity at `index` of
    /// [`Avoided::FACTORS`], 0 to 1; none with too few prompts or stores, or where these do not belong together.
    #[must_use]
    pub fn would_be_cached(&self, index: usize) -> Option<f64> {
        self.cached()?;
        self.share(index)?;
        let Prompts { blocks, cached, .. } = self.best_prompts();
        // Every block that was not cached is stored: with fewer stores, prompts or stores are missing.
        let is_whole = self.stored * 2.0 >= blocks - cached;
        is_whole.then(|| ((cached + self.avoided[index]) / blocks).clamp(0.0, 1.0))
    }

    /// Returns the share of stored blocks that the capacity at `index` of [`Avoided::FACTORS`] would have avoided,
    /// 0 to 1; none with too few samples.
    #[must_use]
    pub fn share(&self, index: usize) -> Option<f64> {
        let avoided = self.avoided.get(index)?;
        let known = self.samples >= Self::FEWEST && self.stored > 0.0;
        known.then(|| (avoided / self.stored).clamp(0.0, 1.0))
    }

    /// Returns the margin around [`Avoided::share`] within which 19 of 20 samples of this size lie, 0 to 1. Where
    /// no sample was avoided, or every one, it is that of the rule of three.
    #[must_use]
    pub fn margin(&self, index: usize) -> Option<f64> {
        let share = self.share(index)?;
        let samples = self.samples as f64;
        Some((1.96 * (share * (1.0 - share) / samples).sqrt()).max(3.0 / samples))
    }
}

impl CapacityCurve {
    /// Notes that the rank numbered `rank` evicted blocks, earliest first, and holds `held` blocks besides.
    pub fn removed(&mut self, rank: u32, hashes: &[SequenceHash], held: u64) {
        let limit = self.limit();
        let curve = self.ranks.entry(rank).or_default();
        let is_first = curve.full_at == 0;
        curve.full_at = curve.full_at.max(held.saturating_add(hashes.len() as u64));
        if is_first {
            curve.shift = first_shift(curve.full_at, limit);
        }
        for hash in hashes {
            if is_sampled(*hash, curve.shift) {
                curve.evict(*hash, limit);
            }
        }
    }

    /// Notes that the rank numbered `rank` stored `blocks` at `at`.
    pub fn stored(&mut self, rank: u32, blocks: &[Block], at: Timestamp) {
        if blocks.is_empty() {
            return;
        }
        let curve = self.ranks.entry(rank).or_default();
        curve.turn(at.seconds());
        if curve.shift == 0 && curve.evicted.len() == 0 {
            // Every block is sampled, and none was evicted: a cache that fills costs nothing for each block.
            curve.present.count_new(blocks.len() as u64);
            return;
        }
        for block in blocks {
            if is_sampled(block.sequence, curve.shift) {
                curve.store(block.sequence);
            }
        }
    }

    /// Notes a prompt of the rank numbered `rank` at `at`, as `by` tells it.
    pub fn prompt(&mut self, rank: u32, by: LengthBy, prompt: &Prompts, at: Timestamp) {
        let curve = self.ranks.entry(rank).or_default();
        curve.turn(at.seconds());
        curve.prompts[0][by as usize].add(prompt);
    }

    /// Notes that the rank numbered `rank` emptied its cache: no capacity would have kept those blocks.
    pub fn cleared(&mut self, rank: u32) {
        if let Some(curve) = self.ranks.get_mut(&rank) {
            curve.evicted.clear();
        }
    }

    /// Forgets the rank numbered `rank`: another process took its place.
    pub fn forget(&mut self, rank: u32) {
        self.ranks.remove(&rank);
    }

    /// Returns the most blocks that the rank numbered `rank` held when it evicted some; none before its first
    /// eviction. Without other knowledge that is its capacity, if all its blocks are known.
    #[must_use]
    pub fn full_at(&self, rank: u32) -> Option<u64> {
        self.ranks.get(&rank).map(|curve| curve.full_at).filter(|held| *held > 0)
    }

    /// Returns the stores of the last 15 to 30 minutes of the rank numbered `rank`, whose cache has a capacity of
    /// `capacity` blocks; none before its first store.
    #[must_use]
    pub fn avoided(&self, rank: u32, capacity: u64) -> Option<Avoided> {
        let curve = self.ranks.get(&rank)?;
        let both = [&curve.present, &curve.before];
        let mut sum = Avoided {
            samples: both.iter().map(|histogram| histogram.samples()).sum(),
            stored: both.iter().map(|histogram| histogram.stored()).sum(),
            avoided: [0.0; Avoided::FACTORS.len()],
            prompts: curve.prompts[0],
        };
        for (sum, before) in sum.prompts.iter_mut().zip(&curve.prompts[1]) {
            sum.add(before);
        }
        for (avoided, factor) in sum.avoided.iter_mut().zip(Avoided::FACTORS) {
            let more = capacity as f64 * (factor - 1.0);
            *avoided = both.iter().map(|histogram| histogram.within(more)).sum();
        }
        Some(sum)
    }

    /// Returns how many evictions are remembered.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.ranks.values().map(|curve| curve.evicted.len()).sum()
    }

    fn limit(&self) -> usize {
        let (most, fewest) = RANK_LIMITS;
        (EVICTED_LIMIT / self.ranks.len().max(1)).clamp(fewest, most)
    }
}

impl RankCurve {
    fn evict(&mut self, hash: SequenceHash, limit: usize) {
        self.evicted.push(hash);
        while self.evicted.len() > limit {
            let reaches = (self.evicted.len() as u64) << self.shift;
            let enough = reaches > self.full_at.saturating_mul(DEEPEST - 1);
            if enough || self.shift >= LAST_SHIFT {
                self.evicted.pop();
            } else {
                self.shift += 1;
                let shift = self.shift;
                self.evicted.retain(|hash| is_sampled(hash, shift));
            }
        }
    }

    fn store(&mut self, hash: SequenceHash) {
        let distance = self.evicted.take(hash).map(|since| since << self.shift);
        self.present.count(distance, 1 << self.shift);
    }

    /// Begins another period when the present one is over.
    fn turn(&mut self, second: u64) {
        if second < self.since.saturating_add(PERIOD) {
            return;
        }
        let is_next = second < self.since.saturating_add(2 * PERIOD);
        let ended = std::mem::take(&mut self.present);
        self.before = if is_next { ended } else { Histogram::default() };
        let ended = std::mem::take(&mut self.prompts[0]);
        self.prompts[1] = if is_next { ended } else { Default::default() };
        self.since = second;
    }
}

/// Returns the shift to begin with where `limit` blocks are remembered of a rank that holds `held`.
fn first_shift(held: u64, limit: usize) -> u32 {
    let needed = held.saturating_mul(DEEPEST - 1) / limit.max(1) as u64;
    needed.checked_ilog2().unwrap_or(0).saturating_sub(FINER_AT_FIRST).min(LAST_SHIFT)
}

/// Returns true for one hash in `1 << shift`. Hashes sampled at a lower rate are sampled at each higher one.
fn is_sampled(hash: SequenceHash, shift: u32) -> bool {
    // Engines may number blocks: a multiplication spreads such hashes.
    let mixed = (hash.0 ^ (hash.0 >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed.leading_zeros() >= shift
}

#[cfg(test)]
mod tests;
