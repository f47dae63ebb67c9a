//! Counts of events.

/// Events counted since kvtop attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// `stored` events.
    pub stores: u64,
    /// `stored` events without blocks.
    pub empty_stores: u64,
    /// Blocks in `stored` events.
    pub stored_blocks: u64,
    /// Blocks stored again by a rank that already held them.
    pub duplicate_blocks: u64,
    /// `stored` events the router's index refuses, because the parent is unknown.
    pub refused_stores: u64,
    /// Blocks in them.
    pub refused_blocks: u64,
    /// Hashes in `removed` events.
    pub removed_blocks: u64,
    /// Hashes among them that the rank did not hold.
    pub unknown_removals: u64,
    /// `cleared` events.
    pub cleared: u64,
}

impl Counters {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        self.stores += other.stores;
        self.empty_stores += other.empty_stores;
        self.stored_blocks += other.stored_blocks;
        self.duplicate_blocks += other.duplicate_blocks;
        self.refused_stores += other.refused_stores;
        self.refused_blocks += other.refused_blocks;
        self.removed_blocks += other.removed_blocks;
        self.unknown_removals += other.unknown_removals;
        self.cleared += other.cleared;
    }

    /// Returns what was counted since `base`.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        let part = |now: u64, then: u64| now.saturating_sub(then);
        Self {
            stores: part(self.stores, base.stores),
            empty_stores: part(self.empty_stores, base.empty_stores),
            stored_blocks: part(self.stored_blocks, base.stored_blocks),
            duplicate_blocks: part(self.duplicate_blocks, base.duplicate_blocks),
            refused_stores: part(self.refused_stores, base.refused_stores),
            refused_blocks: part(self.refused_blocks, base.refused_blocks),
            removed_blocks: part(self.removed_blocks, base.removed_blocks),
            unknown_removals: part(self.unknown_removals, base.unknown_removals),
            cleared: part(self.cleared, base.cleared),
        }
    }
}
