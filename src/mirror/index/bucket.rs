//! One cache line of the index: tags, ids, and how many entries moved on.
//!
//! Finds slots by their tags, all at once. Knows nothing of hashes.

use wide::{i8x16, i16x16};

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
        // The upper lanes hold no tags, and are masked.
        let lane = |at: usize| if at < SLOTS { self.tags[at].cast_signed() } else { 0 };
        let tags = i16x16::new(std::array::from_fn(lane));
        let equal = tags.simd_eq(i16x16::splat(tag.cast_signed()));
        Found(i8x16::from_i16x16_saturate(equal).to_bitmask() & ((1 << SLOTS) - 1))
    }
}
