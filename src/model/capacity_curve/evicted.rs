//! Evicted blocks in the order of their eviction, and how many were evicted since one of them.

use std::collections::VecDeque;

use crate::domain::{FastMap, SequenceHash};

/// Blocks to a word of [`Evicted::present`].
const WORD: u64 = 64;

/// Places of blocks that are gone, besides as many as are there, before the rest moves together.
const SPARE: usize = 64;

/// The blocks of one rank that were evicted and not stored again.
///
/// A block keeps its place until those before it are gone, and a bit says whether it is still there: so the blocks
/// behind a place are counted 64 at a time, and none is moved when one in the middle leaves.
#[derive(Debug, Default)]
pub(super) struct Evicted {
    places: FastMap<SequenceHash, u64>,
    /// The block of each place from `first` on, also of those that are gone.
    order: VecDeque<SequenceHash>,
    /// The place of the front of `order`.
    first: u64,
    /// A bit for each place, 64 to a word. The first word is that of place `first`.
    present: VecDeque<u64>,
}

impl Evicted {
    /// Adds the block that was evicted last.
    pub(super) fn push(&mut self, hash: SequenceHash) {
        self.take(hash);
        if self.order.len() > 2 * self.places.len() + SPARE {
            self.retain(|_| true);
        }
        let place = self.first + self.order.len() as u64;
        self.places.insert(hash, place);
        self.order.push_back(hash);
        let word = self.word_of(place);
        if word == self.present.len() {
            self.present.push_back(0);
        }
        self.present[word] |= 1 << (place % WORD);
    }

    /// Takes a block out. Returns how many blocks were evicted since, itself included; none where it is not there.
    pub(super) fn take(&mut self, hash: SequenceHash) -> Option<u64> {
        let place = self.places.remove(&hash)?;
        let word = self.word_of(place);
        let later = self.present[word] >> (place % WORD);
        let behind = self.present.range(word + 1..).map(|word| word.count_ones());
        let since = later.count_ones() + behind.sum::<u32>();
        self.present[word] &= !(1 << (place % WORD));
        Some(u64::from(since))
    }

    /// Takes out the block that was evicted first.
    pub(super) fn pop(&mut self) {
        while let Some(hash) = self.order.pop_front() {
            let place = self.first;
            self.first += 1;
            if self.first.is_multiple_of(WORD) {
                self.present.pop_front();
            } else {
                self.present[0] &= !(1 << (place % WORD));
            }
            if self.places.get(&hash) == Some(&place) {
                self.places.remove(&hash);
                return;
            }
        }
    }

    /// Keeps only blocks that `keep` returns true for.
    pub(super) fn retain(&mut self, keep: impl Fn(SequenceHash) -> bool) {
        let (order, first) = (std::mem::take(&mut self.order), self.first);
        let mut places = std::mem::take(&mut self.places);
        (self.first, self.present) = (0, VecDeque::new());
        for (place, hash) in (first..).zip(order) {
            if places.get(&hash) == Some(&place) && keep(hash) {
                places.remove(&hash);
                self.push(hash);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of blocks.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    fn word_of(&self, place: u64) -> usize {
        usize::try_from(place / WORD - self.first / WORD).unwrap_or(usize::MAX)
    }
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
            assert!(evicted.order.len() <= 2 * 500 + SPARE + 1, "step {step}");
        }
    }
}
