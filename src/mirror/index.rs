//! A multimap from hashes to small ids, one cache line a probe.
//!
//! Owns the buckets and their growth. Knows nothing of what an id names: the caller tells. Buckets of
//! 64 bytes hold ten tags and ten ids; a counter says how many entries had to move on to a later
//! bucket, so that a miss ends at the first bucket nobody left. The tag of an entry alone says where it
//! belongs, whatever the number of buckets, so growing reads nothing else. Many small shards grow one
//! at a time, so that no growth is ever long.

mod bucket;

use std::slice;

use prefetch_index::prefetch_index;

use bucket::{Bucket, NOWHERE, SLOTS};

/// Shards of an index. A shard of a tree of 10 million blocks has about 4000 entries.
const SHARDS: usize = 2048;
/// Entries per bucket at which a shard grows.
const FULL: usize = 8;
/// Buckets below which a shard doubles: room is cheap there, and moving entries is not.
const SMALL: usize = 128;
/// Entries of a bucket that may move on before hashes of that bucket are refused. Honest hashes stay far
/// below; hashes made to collide must not make every probe long.
const CROWD: u32 = 256;

/// Lines touched in one go: what is looked ahead for.
pub(super) const AT_ONCE: usize = 256;

#[derive(Default)]
struct Shard {
    buckets: Vec<Bucket>,
    entries: usize,
}

/// The place of a hash.
#[derive(Clone, Copy)]
struct Place {
    shard: usize,
    tag: u16,
}

impl Place {
    #[inline]
    const fn new(hash: u64) -> Self {
        let mixed = mix(hash);
        let tag = (mixed >> 36) as u16;
        Self { shard: (mixed >> 53) as usize, tag: if tag == 0 { 1 } else { tag } }
    }
}

/// Returns the bucket that `tag` belongs to, of so many.
#[inline]
const fn home(tag: u16, buckets: usize) -> usize {
    (tag as usize * buckets) >> 16
}

/// Returns `hash` with every bit spread over all others. Engines may number their blocks 1, 2, 3.
#[inline]
pub(super) const fn mix(hash: u64) -> u64 {
    let wide = (hash ^ 0x9FB2_1C65_1E98_DF25) as u128 * 0xD6E8_FEB8_6659_FD93;
    (wide >> 64) as u64 ^ wide as u64
}

/// Returns a sign of `hash`, for tables that only ask whether it is still the same. Of four thousand million pairs one
/// shares its sign.
#[inline]
pub(super) const fn sign(hash: u64) -> u32 {
    (mix(hash) >> 32) as u32
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

    /// Returns an id filed under a hash like `hash` that `is_it` accepts.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let place = Place::new(hash);
        let buckets = &self.shards.get(place.shard)?.buckets;
        let mut at = home(place.tag, buckets.len());
        // There are no more than so many, and the counters end it sooner.
        for _ in 0..buckets.len() {
            let bucket = &buckets[at];
            let mut found = bucket.matches(place.tag);
            while let Some(slot) = found.next() {
                let id = bucket.ids[slot];
                if is_it(id) {
                    return Some(id);
                }
            }
            if bucket.passed == 0 {
                return None;
            }
            at = if at + 1 == buckets.len() { 0 } else { at + 1 };
        }
        None
    }

    /// Brings the lines of `hashes` near and waits for none of them.
    #[inline]
    pub(super) fn approach(&self, hashes: impl Iterator<Item = u64>) {
        for hash in hashes {
            let place = Place::new(hash);
            if let Some(shard) = self.shards.get(place.shard) {
                prefetch_index(&shard.buckets, home(place.tag, shard.buckets.len()));
            }
        }
    }

    #[inline]
    fn line(&self, hash: u64) -> &Bucket {
        let place = Place::new(hash);
        let shard = self.shards.get(place.shard);
        shard
            .and_then(|shard| shard.buckets.get(home(place.tag, shard.buckets.len())))
            .unwrap_or(&NOWHERE)
    }

    /// Puts a candidate for each of `hashes` into `ids` without following it, 0 where there is none. Returns
    /// how many, as many as there is room for. All their lines are asked for before the first is read.
    #[inline]
    pub(super) fn glance(
        &self,
        hashes: impl Iterator<Item = u64>,
        ids: &mut [u32; AT_ONCE],
    ) -> usize {
        let mut lines = [(&NOWHERE, 0); AT_ONCE];
        let mut count = 0;
        for (line, hash) in lines.iter_mut().zip(hashes) {
            *line = (self.line(hash), Place::new(hash).tag);
            prefetch_index(slice::from_ref(line.0), 0);
            count += 1;
        }
        for (id, (line, tag)) in ids.iter_mut().zip(&lines[..count]) {
            *id = line.matches(*tag).next().map_or(0, |slot| line.ids[slot]);
        }
        count
    }

    /// Returns true when so many entries crowd around `hash` that no more are taken.
    #[inline]
    pub(super) fn is_crowded(&self, hash: u64) -> bool {
        let place = Place::new(hash);
        let bucket = self
            .shards
            .get(place.shard)
            .and_then(|shard| shard.buckets.get(home(place.tag, shard.buckets.len())));
        bucket.is_some_and(|bucket| bucket.passed >= CROWD)
    }

    /// Files `id` under `hash`.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, id: u32) {
        let place = Place::new(hash);
        if self.shards.is_empty() {
            self.shards.resize_with(SHARDS, Shard::default);
        }
        let Some(shard) = self.shards.get_mut(place.shard) else { return };
        if shard.entries >= shard.buckets.len() * FULL {
            self.buckets += shard.grow();
        }
        shard.put(place.tag, id);
    }

    /// Files `id` under `hash`, unless an id is there that `is_it` accepts, or too many are. Returns true
    /// when it did.
    #[inline]
    pub(super) fn insert_new(&mut self, hash: u64, id: u32, is_it: impl Fn(u32) -> bool) -> bool {
        let place = Place::new(hash);
        let Some(shard) = self.shards.get_mut(place.shard) else {
            return self.insert_on(hash, id, is_it);
        };
        if shard.entries >= shard.buckets.len() * FULL {
            self.buckets += shard.grow();
        }
        let at = home(place.tag, shard.buckets.len());
        let bucket = &mut shard.buckets[at];
        if bucket.passed > 0 {
            return self.insert_on(hash, id, is_it);
        }
        let mut found = bucket.matches(place.tag);
        while let Some(slot) = found.next() {
            if is_it(bucket.ids[slot]) {
                return false;
            }
        }
        let Some(slot) = bucket.matches(0).next() else {
            shard.put(place.tag, id);
            return true;
        };
        bucket.tags[slot] = place.tag;
        bucket.ids[slot] = id;
        shard.entries += 1;
        true
    }

    /// Does the same where entries moved on to later buckets.
    fn insert_on(&mut self, hash: u64, id: u32, is_it: impl Fn(u32) -> bool) -> bool {
        let is_new = self.find(hash, is_it).is_none() && !self.is_crowded(hash);
        if is_new {
            self.insert(hash, id);
        }
        is_new
    }

    /// Takes `id` out from under `hash`.
    #[inline]
    pub(super) fn remove(&mut self, hash: u64, id: u32) {
        let place = Place::new(hash);
        let Some(shard) = self.shards.get_mut(place.shard) else { return };
        shard.take(place.tag, id);
    }
}

impl Shard {
    /// Doubles the buckets while they are few, later adds a quarter. Returns how many more they are.
    #[cold]
    fn grow(&mut self) -> usize {
        let before = self.buckets.len();
        let more = if before < SMALL { before.max(1) } else { before / 4 };
        let count = before + more;
        let mut fresh = vec![Bucket::default(); count];
        // Until something is taken out again, a bucket is filled from its first slot on.
        let mut filled = vec![0_u8; count];
        for bucket in &self.buckets {
            for (tag, id) in bucket.tags.into_iter().zip(bucket.ids) {
                if tag == 0 {
                    continue;
                }
                let mut at = home(tag, count);
                while usize::from(filled[at]) == SLOTS {
                    fresh[at].passed += 1;
                    at = if at + 1 == count { 0 } else { at + 1 };
                }
                let into = usize::from(filled[at]);
                fresh[at].tags[into] = tag;
                fresh[at].ids[into] = id;
                filled[at] += 1;
            }
        }
        self.buckets = fresh;
        more
    }

    #[inline]
    fn put(&mut self, tag: u16, id: u32) {
        let count = self.buckets.len();
        let mut at = home(tag, count);
        for _ in 0..count {
            let bucket = &mut self.buckets[at];
            if let Some(slot) = bucket.matches(0).next() {
                bucket.tags[slot] = tag;
                bucket.ids[slot] = id;
                self.entries += 1;
                return;
            }
            bucket.passed += 1;
            at = if at + 1 == count { 0 } else { at + 1 };
        }
    }

    #[inline]
    fn take(&mut self, tag: u16, id: u32) {
        let count = self.buckets.len();
        let home = home(tag, count);
        let mut at = home;
        for _ in 0..count {
            let bucket = &mut self.buckets[at];
            let mut found = bucket.matches(tag);
            while let Some(slot) = found.next() {
                if bucket.ids[slot] == id {
                    bucket.tags[slot] = 0;
                    self.entries -= 1;
                    self.unpass(home, at);
                    return;
                }
            }
            if bucket.passed == 0 {
                return;
            }
            at = if at + 1 == count { 0 } else { at + 1 };
        }
    }

    /// Takes one off the counter of every bucket from `home` up to, but without, `end`.
    #[inline]
    fn unpass(&mut self, home: usize, end: usize) {
        let count = self.buckets.len();
        let mut at = home;
        while at != end {
            self.buckets[at].passed -= 1;
            at = if at + 1 == count { 0 } else { at + 1 };
        }
    }
}
