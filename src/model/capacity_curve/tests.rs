#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "small positive numbers, and counts of zero"
)]

mod oracle;

use std::collections::BTreeMap;

use super::*;
use crate::domain::TokensHash;

/// A cache that evicts the block used longest ago.
#[derive(Default)]
struct Lru {
    capacity: usize,
    used: BTreeMap<u64, u64>,
    last: FastMap<u64, u64>,
    clock: u64,
}

impl Lru {
    fn new(capacity: usize) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// Uses a block. Returns whether it had to be stored, and the block that was evicted for it.
    fn use_block(&mut self, block: u64) -> (bool, Option<u64>) {
        self.clock += 1;
        let stored = match self.last.insert(block, self.clock) {
            Some(before) => {
                self.used.remove(&before);
                false
            }
            None => true,
        };
        self.used.insert(self.clock, block);
        let evicted = (self.used.len() > self.capacity).then(|| {
            let (_, oldest) = self.used.pop_first().unwrap();
            self.last.remove(&oldest);
            oldest
        });
        (stored, evicted)
    }
}

/// Numbers without a pattern.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Blocks of prompts: conversations that come back, some more often than others, or a loop.
fn workload(kind: &str, count: usize) -> Vec<u64> {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    let mut blocks = Vec::new();
    let mut turn = 0;
    while blocks.len() < count {
        turn += 1;
        let session = match kind {
            "few are popular" => (400.0 * random.unit().powi(3)) as u64,
            "all alike" => (300.0 * random.unit()) as u64,
            _ => turn % 250,
        };
        let length = 10 + session % 23;
        blocks.extend((0..length).map(|n| hash(session * 1_000 + n)));
        // The answer, which nobody asks for again.
        blocks.extend((0..4).map(|n| hash(1 << 40 | (turn * 10 + n))));
    }
    blocks
}

fn hash(n: u64) -> u64 {
    let mut mixed = n.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^= mixed >> 32;
    mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

fn block(n: u64) -> Block {
    Block { sequence: SequenceHash(n), tokens: TokensHash(n) }
}

fn stores(blocks: &[u64], capacity: usize) -> usize {
    let mut cache = Lru::new(capacity);
    blocks.iter().filter(|block| cache.use_block(**block).0).count()
}

/// Follows a cache of `capacity` over `blocks`, and returns the prediction.
fn predict(blocks: &[u64], capacity: usize) -> Avoided {
    let mut cache = Lru::new(capacity);
    let mut curve = CapacityCurve::default();
    for used in blocks {
        let (stored, evicted) = cache.use_block(*used);
        if let Some(evicted) = evicted {
            curve.removed(0, &[SequenceHash(evicted)], cache.used.len() as u64);
        }
        if stored {
            curve.stored(0, &[block(*used)], Timestamp(1));
        }
    }
    assert!(curve.remembered() <= RANK_LIMITS.0);
    curve.avoided(0, capacity as u64).unwrap()
}

#[test]
fn a_larger_cache_avoids_as_many_stores_as_predicted() {
    for (kind, capacity) in [
        ("few are popular", 800),
        ("few are popular", 3_000),
        ("all alike", 2_000),
        ("all alike", 4_000),
        // All of it fits into 6,247 blocks: near such a step a sample is off by more.
        ("one after the other", 2_500),
        ("one after the other", 4_400),
    ] {
        let blocks = workload(kind, 200_000);
        let predicted = predict(&blocks, capacity);
        let now = stores(&blocks, capacity) as f64;
        for (index, factor) in Avoided::FACTORS.into_iter().enumerate() {
            let then = stores(&blocks, (capacity as f64 * factor) as usize) as f64;
            let (share, really) = (predicted.share(index).unwrap(), 1.0 - then / now);
            let off = (share - really).abs();
            assert!(off < 0.02, "{kind}, {capacity} x {factor}: {share:.3}, really {really:.3}");
        }
    }
}

#[test]
fn a_cache_that_was_emptied_is_no_smaller_for_it() {
    let mut curve = CapacityCurve::default();
    let hashes: Vec<u64> = (0..4_000).map(hash).collect();
    let blocks: Vec<Block> = hashes.iter().copied().map(block).collect();
    let removed: Vec<SequenceHash> = hashes.iter().copied().map(SequenceHash).collect();
    curve.stored(0, &blocks, Timestamp(1));
    curve.removed(0, &removed, 0);

    curve.cleared(0);
    curve.stored(0, &blocks, Timestamp(2));

    assert_eq!(curve.avoided(0, 4_000).unwrap().avoided, [0.0; 4]);
}

#[test]
fn few_samples_give_no_share() {
    let mut curve = CapacityCurve::default();
    assert_eq!((curve.avoided(0, 10), curve.full_at(0)), (None, None));
    curve.stored(0, &[block(hash(1))], Timestamp(1));

    assert_eq!(curve.avoided(0, 10).unwrap().share(0), None);
}

#[test]
fn stores_of_long_ago_are_forgotten() {
    let mut curve = CapacityCurve::default();
    let at = |second: u64| Timestamp(second * 1_000_000);
    for (second, samples) in [(1_000, 1), (1_800, 2), (1_950, 3), (2_900, 2), (9_000, 1)] {
        // Zero is sampled at each rate.
        curve.stored(0, &[block(0)], at(second));
        assert_eq!(curve.avoided(0, 10).unwrap().samples, samples, "at {second} s");
    }
}

#[test]
fn memory_is_bounded_over_all_ranks() {
    let mut curve = CapacityCurve::default();
    for n in 0..2_000_000_u64 {
        let rank = u32::try_from(n % 3_000).unwrap();
        curve.removed(rank, &[SequenceHash(hash(n))], 100_000);
    }

    // Ranks that came early may keep what they had until they evict again.
    assert!(curve.remembered() <= 3_000 * RANK_LIMITS.1, "{}", curve.remembered());
}
