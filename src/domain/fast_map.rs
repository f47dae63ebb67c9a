//! Maps and sets whose keys are numbers, such as workers, ranks and hashes of blocks.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};

/// A map that hashes in a few instructions, for what is looked up for each event.
pub type FastMap<K, V> = HashMap<K, V, NumberHashing>;

/// A set that hashes in a few instructions, for what each event names.
pub type FastSet<K> = HashSet<K, NumberHashing>;

/// An odd number without structure (2^64 divided by the golden ratio).
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Makes hashers that begin with a number of their own, so that nobody can prepare keys that collide.
#[derive(Clone, Debug)]
pub struct NumberHashing(u64);

impl Default for NumberHashing {
    fn default() -> Self {
        Self(RandomState::new().hash_one(FACTOR))
    }
}

impl BuildHasher for NumberHashing {
    type Hasher = NumberHasher;

    #[inline]
    fn build_hasher(&self) -> NumberHasher {
        NumberHasher(self.0)
    }
}

/// Hashes each number by a multiplication.
#[derive(Clone, Copy, Debug)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(FACTOR);
        self.0 = mixed ^ (mixed >> 32);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // Tables take the place from the low bits and a tag from the high ones.
        self.0.wrapping_mul(FACTOR).rotate_left(26)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_spread() {
        let hashing = NumberHashing::default();
        let places: HashSet<u64> =
            (0..4096_u64).map(|key| hashing.hash_one((3_u32, key << 12)) & 0xFFF).collect();

        // So many different places out of 4096 are left when keys fall at random: 63 %.
        assert!((2400..2800).contains(&places.len()), "{}", places.len());
    }

    #[test]
    fn two_maps_do_not_hash_alike() {
        let hash = || NumberHashing::default().hash_one(7_u64);
        assert_ne!(hash(), hash());
    }
}
