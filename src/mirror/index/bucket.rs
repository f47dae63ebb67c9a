//! One cache line of the index: tags, ids, and how many entries moved on.
//!
//! Finds slots by their tags, all at once. Knows nothing of hashes.

use wide::u16x8;

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

/// Slots of a bucket, one bit each.
#[derive(Clone, Copy)]
pub(super) struct Found(u32);

impl Found {
    /// Returns one of the slots and takes it out.
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

impl Bucket {
    /// Returns the slots whose tag is `tag`.
    #[inline]
    pub(super) fn matches(&self, tag: u16) -> Found {
        // Eight as they lie there, in one load. Gathered one by one they would wait for each other.
        let [first @ .., ninth, tenth] = &self.tags;
        let equal = u16x8::new(*first).simd_eq(u16x8::splat(tag)).to_bitmask();
        Found(equal | u32::from(*ninth == tag) << 8 | u32::from(*tenth == tag) << 9)
    }
}
