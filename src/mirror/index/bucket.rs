//! One cache line of the index: tags, ids, and how many entries moved on.
//!
//! Finds slots by their tags, four at a time. Knows nothing of hashes.

/// Slots of a bucket.
pub(super) const SLOTS: usize = 10;

/// A bucket for hashes that have none.
pub(super) static NOWHERE: Bucket = Bucket { tags: [0; SLOTS], passed: 0, ids: [0; SLOTS] };

#[repr(align(64))]
#[derive(Clone, Copy, Default)]
pub(super) struct Bucket {
    /// A tag for each slot, 0 where it is free.
    pub(super) tags: [u16; SLOTS],
    /// Entries that found no room here and moved on.
    pub(super) passed: u32,
    pub(super) ids: [u32; SLOTS],
}

const EACH: u64 = 0x0001_0001_0001_0001;

/// Returns `word` with the top bit of each lane, 16 bits wide, set where that lane is zero, and nothing else.
#[inline]
const fn zero_lanes(word: u64) -> u64 {
    const LOW: u64 = EACH * 0x7FFF;
    !(((word & LOW) + LOW) | word | LOW)
}

/// Slots of a bucket, one bit each, in an order of their own.
#[derive(Clone, Copy)]
pub(super) struct Found(u64);

impl Found {
    /// Returns one of the slots and takes it out.
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        // Lane and word, four lanes to a word.
        Some((bit >> 4) + ((bit & 3) << 2))
    }
}

impl Bucket {
    /// Returns the slots whose tag is `tag`.
    #[inline]
    pub(super) const fn matches(&self, tag: u16) -> Found {
        let tags = &self.tags;
        let wanted = EACH * tag as u64;
        let first = zero_lanes(lanes([tags[0], tags[1], tags[2], tags[3]]) ^ wanted);
        let second = zero_lanes(lanes([tags[4], tags[5], tags[6], tags[7]]) ^ wanted);
        // The upper lanes of the third word never match.
        let third = zero_lanes(lanes([tags[8], tags[9], !tag, !tag]) ^ wanted);
        Found(first >> 15 | second >> 14 | third >> 13)
    }
}

#[inline]
const fn lanes(tags: [u16; 4]) -> u64 {
    let [a, b, c, d] = tags;
    a as u64 | (b as u64) << 16 | (c as u64) << 32 | (d as u64) << 48
}
