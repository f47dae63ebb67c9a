//! A multimap from hashes to small ids, one cache line a probe.
//!
//! Owns the buckets and their growth. Knows nothing of what an id names: the caller tells, and
//! rehashes on demand. Buckets of 64 bytes hold twelve tags and twelve ids; a counter says how many
//! entries had to move on to a later bucket, so that a miss ends at the first bucket nobody left.
//! Many small shards grow one at a time, from sizes that differ, so that no growth is ever long.

/// Shards of an index. A shard of a tree of 10 million blocks has about 10 000 entries, and growing it
/// takes less than a millisecond.
const SHARDS: usize = 1024;
const SLOTS: usize = 12;

#[repr(align(64))]
#[derive(Clone, Copy, Default)]
struct Bucket {
    /// Tags of the first eight slots, a byte each.
    low: u64,
    /// Tags of the other four.
    high: u32,
    /// Entries that found no room here and moved on.
    passed: u32,
    ids: [u32; SLOTS],
}

impl Bucket {
    /// Returns a word with bit `i` set where tag `i` equals `tag`.
    #[inline]
    const fn matches(&self, tag: u8) -> u32 {
        let wanted = EACH * tag as u64;
        zero_bytes(self.low ^ wanted) | (zero_bytes(self.high as u64 ^ wanted) & 0xF) << 8
    }

    #[inline]
    const fn tag(&self, slot: usize) -> u8 {
        if slot < 8 { (self.low >> (slot * 8)) as u8 } else { (self.high >> (slot * 8 - 64)) as u8 }
    }

    #[inline]
    const fn set_tag(&mut self, slot: usize, tag: u8) {
        if slot < 8 {
            let at = slot * 8;
            self.low = self.low & !(0xFF << at) | (tag as u64) << at;
        } else {
            let at = slot * 8 - 64;
            self.high = self.high & !(0xFF << at) | (tag as u32) << at;
        }
    }
}

const EACH: u64 = 0x0101_0101_0101_0101;

/// Returns a word with bit `i` set where byte `i` of `word` is zero.
#[inline]
const fn zero_bytes(word: u64) -> u32 {
    const LOW: u64 = EACH * 0x7F;
    let nonzero = ((word & LOW) + LOW) | word;
    let zero = !nonzero & (EACH << 7);
    (zero.wrapping_mul(0x0002_0408_1020_4081) >> 56) as u32
}

#[derive(Default)]
struct Shard {
    buckets: Vec<Bucket>,
    entries: usize,
}

/// Where a hash belongs.
#[derive(Clone, Copy)]
struct Place {
    shard: usize,
    spread: u32,
    tag: u8,
}

impl Place {
    #[inline]
    fn of(hash: u64) -> Self {
        let mixed = mix(hash);
        Self {
            shard: (mixed >> 54) as usize,
            spread: (mixed >> 16) as u32,
            tag: (mixed as u8).max(1),
        }
    }

    #[inline]
    const fn bucket(self, buckets: usize) -> usize {
        ((self.spread as u64 * buckets as u64) >> 32) as usize
    }
}

/// Returns `hash` with every bit spread over all others. Engines may number their blocks 1, 2, 3.
#[inline]
pub(super) const fn mix(hash: u64) -> u64 {
    let once = (hash ^ (hash >> 32)).wrapping_mul(0x9FB2_1C65_1E98_DF25);
    let twice = (once ^ (once >> 29)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    twice ^ (twice >> 32)
}

/// The multimap.
pub(super) struct Index {
    shards: Vec<Shard>,
    buckets: usize,
}

impl Index {
    pub(super) fn new() -> Self {
        Self { shards: Vec::new(), buckets: 0 }
    }

    /// Returns the memory of the buckets in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.buckets * size_of::<Bucket>() + self.shards.len() * size_of::<Shard>()
    }

    /// Returns the first id filed under a hash like `hash` that `is_it` accepts.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let place = Place::of(hash);
        let shard = self.shards.get(place.shard)?;
        let count = shard.buckets.len();
        if count == 0 {
            return None;
        }
        let mut at = place.bucket(count);
        for _ in 0..count {
            let bucket = &shard.buckets[at];
            let mut found = bucket.matches(place.tag);
            while found != 0 {
                let id = bucket.ids[found.trailing_zeros() as usize];
                if is_it(id) {
                    return Some(id);
                }
                found &= found - 1;
            }
            if bucket.passed == 0 {
                return None;
            }
            at = if at + 1 == count { 0 } else { at + 1 };
        }
        None
    }

    /// Reads the line of `hash` and nothing else, to bring it near.
    #[inline]
    pub(super) fn touch(&self, hash: u64) -> u64 {
        let place = Place::of(hash);
        let shard = self.shards.get(place.shard);
        shard
            .and_then(|shard| shard.buckets.get(place.bucket(shard.buckets.len())))
            .map_or(0, |bucket| bucket.low)
    }

    /// Returns a candidate for `hash` without following it.
    #[inline]
    pub(super) fn glance(&self, hash: u64) -> Option<u32> {
        let place = Place::of(hash);
        let shard = self.shards.get(place.shard)?;
        let bucket = shard.buckets.get(place.bucket(shard.buckets.len()))?;
        let found = bucket.matches(place.tag);
        (found != 0).then(|| bucket.ids[found.trailing_zeros() as usize])
    }

    /// Files `id` under `hash`. `hash_of` returns the hash of an id filed before.
    pub(super) fn insert(&mut self, hash: u64, id: u32, hash_of: impl Fn(u32) -> u64) {
        if self.shards.is_empty() {
            self.shards.resize_with(SHARDS, Shard::default);
        }
        let place = Place::of(hash);
        let Some(shard) = self.shards.get_mut(place.shard) else { return };
        let count = shard.buckets.len();
        if (shard.entries + 1) * 16 > count * SLOTS * 13 {
            let grown = grown(place.shard, count);
            self.buckets += grown - count;
            shard.grow(grown, hash_of);
        }
        shard.put(place, id);
    }

    /// Takes `id` out from under `hash`.
    pub(super) fn remove(&mut self, hash: u64, id: u32) {
        let place = Place::of(hash);
        let Some(shard) = self.shards.get_mut(place.shard) else { return };
        shard.take(place, id);
    }
}

/// Returns the next size of a shard: half as much again. Shards part ways at 32 buckets, so that
/// later growths are spread evenly over time.
const fn grown(shard: usize, count: usize) -> usize {
    match count {
        0 => 1,
        1..8 => count + 2,
        20..32 => 32 + shard * 16 / SHARDS,
        _ => count + count / 2,
    }
}

impl Shard {
    fn grow(&mut self, count: usize, hash_of: impl Fn(u32) -> u64) {
        let old = std::mem::replace(&mut self.buckets, vec![Bucket::default(); count]);
        self.entries = 0;
        let mut places: Vec<(Place, u32)> = Vec::with_capacity(old.len() * SLOTS);
        for bucket in &old {
            for (slot, id) in bucket.ids.into_iter().enumerate() {
                if bucket.tag(slot) != 0 {
                    places.push((Place::of(hash_of(id)), id));
                }
            }
        }
        for (place, id) in places {
            self.put(place, id);
        }
    }

    #[inline]
    fn put(&mut self, place: Place, id: u32) {
        let count = self.buckets.len();
        let mut at = place.bucket(count);
        for _ in 0..count {
            let bucket = &mut self.buckets[at];
            let free = bucket.matches(0);
            if free != 0 {
                let slot = free.trailing_zeros() as usize;
                bucket.set_tag(slot, place.tag);
                bucket.ids[slot] = id;
                self.entries += 1;
                return;
            }
            bucket.passed += 1;
            at = if at + 1 == count { 0 } else { at + 1 };
        }
    }

    #[inline]
    fn take(&mut self, place: Place, id: u32) {
        let count = self.buckets.len();
        let home = if count == 0 { return } else { place.bucket(count) };
        let mut at = home;
        for _ in 0..count {
            let bucket = &mut self.buckets[at];
            let mut found = bucket.matches(place.tag);
            while found != 0 {
                let slot = found.trailing_zeros() as usize;
                if bucket.ids[slot] == id {
                    bucket.set_tag(slot, 0);
                    self.entries -= 1;
                    self.unpass(home, at);
                    return;
                }
                found &= found - 1;
            }
            if bucket.passed == 0 {
                return;
            }
            at = if at + 1 == count { 0 } else { at + 1 };
        }
    }

    /// Takes one off the counter of every bucket from `home` up to, but without, `end`.
    fn unpass(&mut self, home: usize, end: usize) {
        let count = self.buckets.len();
        let mut at = home;
        while at != end {
            self.buckets[at].passed -= 1;
            at = if at + 1 == count { 0 } else { at + 1 };
        }
    }
}
