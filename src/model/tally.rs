//! Counts that rules compare over windows: what happened since a moment is a difference.

use super::decisions::{Overlap, Overlaps};
use crate::domain::Counters;

/// Everything that is counted of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// KV events.
    pub counters: Counters,
    /// Stores that begin a prompt.
    pub roots: u64,
    /// Stores that fork from a prefix that another chain has.
    pub forks: u64,
    /// Stores of several blocks under a parent.
    pub landings: u64,
    /// Blocks stored, of those that are sampled for returns.
    pub sampled: u64,
    /// Blocks among them that had been removed a while ago.
    pub returned: u64,
    /// Requests routed to it.
    pub routed: u64,
    /// What routers found cached for them.
    pub overlaps: Overlaps,
    /// The same for requests that came when it held blocks already.
    pub warm: Overlaps,
}

/// Everything that is counted of the routers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RouterTally {
    /// Requests routed.
    pub routed: u64,
    /// What routers found cached for them.
    pub overlaps: Overlaps,
    /// The same for requests that came when workers held blocks already.
    pub warm: Overlaps,
    /// Warnings about missing parents, of stores with blocks.
    pub parent_full: u64,
    /// Of those, the ones whose parent the mirror holds.
    pub parent_held: u64,
    /// Of those, the ones that were stored before the router started.
    pub parent_before: u64,
    /// Of those that the mirror holds, the ones that were stored while the router followed.
    pub parent_after: u64,
    /// Warnings about missing parents, of stores without blocks.
    pub parent_empty: u64,
    /// Warnings about missing parents whose blocks are not told.
    pub parent_unsaid: u64,
    /// Warnings about removed blocks that are missing.
    pub remove: u64,
    /// Warnings about gaps in event numbers.
    pub gaps: u64,
    /// Lines of publishers that cannot read their engine's events.
    pub decode_failed: u64,
    /// Stores that routers' indexes took in, by their own counters.
    pub stores_applied: u64,
    /// Stores that they refused for want of a parent, by their own counters.
    pub stores_orphaned: u64,
    /// Stores that they refused for other reasons, by their own counters.
    pub stores_invalid: u64,
    /// Removals that they followed, by their own counters.
    pub removals_applied: u64,
    /// Removals of blocks that they did not have, by their own counters.
    pub removals_missing: u64,
    /// Warnings about hashes that differ between workers.
    pub hash_mismatch: u64,
    /// Messages of KV events that are missing by their publishers' numbers, while kvtop listened.
    pub lost: u64,
    /// Messages of KV events that passed by while kvtop's own connection was away.
    pub missed: u64,
    /// Messages of KV events that could not be read.
    pub unreadable: u64,
    /// KV events read.
    pub events: u64,
}

impl Tally {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.roots += other.roots;
        self.forks += other.forks;
        self.landings += other.landings;
        self.sampled += other.sampled;
        self.returned += other.returned;
        self.routed += other.routed;
        self.overlaps.add(&other.overlaps);
        self.warm.add(&other.warm);
    }

    /// Returns what was counted since `base`.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        Self {
            counters: self.counters.since(&base.counters),
            roots: self.roots.saturating_sub(base.roots),
            forks: self.forks.saturating_sub(base.forks),
            landings: self.landings.saturating_sub(base.landings),
            sampled: self.sampled.saturating_sub(base.sampled),
            returned: self.returned.saturating_sub(base.returned),
            routed: self.routed.saturating_sub(base.routed),
            overlaps: self.overlaps.since(&base.overlaps),
            warm: self.warm.since(&base.warm),
        }
    }

    /// Returns what routers found cached, as told by whoever told most.
    pub fn overlap(&self) -> Overlap {
        self.overlaps.best()
    }

    /// Returns the stores that hold blocks.
    pub fn full_stores(&self) -> u64 {
        self.counters.stores.saturating_sub(self.counters.empty_stores)
    }
}

impl RouterTally {
    /// Returns the stores that routers say they refused for want of a parent, by their logs or their
    /// counters.
    pub fn refused(&self) -> u64 {
        let said = self.parent_full + self.parent_empty + self.parent_unsaid;
        said.max(self.stores_orphaned)
    }

    /// Returns what was counted since `base`.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        Self {
            routed: self.routed.saturating_sub(base.routed),
            overlaps: self.overlaps.since(&base.overlaps),
            warm: self.warm.since(&base.warm),
            parent_full: self.parent_full.saturating_sub(base.parent_full),
            parent_held: self.parent_held.saturating_sub(base.parent_held),
            parent_before: self.parent_before.saturating_sub(base.parent_before),
            parent_after: self.parent_after.saturating_sub(base.parent_after),
            parent_empty: self.parent_empty.saturating_sub(base.parent_empty),
            parent_unsaid: self.parent_unsaid.saturating_sub(base.parent_unsaid),
            remove: self.remove.saturating_sub(base.remove),
            gaps: self.gaps.saturating_sub(base.gaps),
            decode_failed: self.decode_failed.saturating_sub(base.decode_failed),
            stores_applied: self.stores_applied.saturating_sub(base.stores_applied),
            stores_orphaned: self.stores_orphaned.saturating_sub(base.stores_orphaned),
            stores_invalid: self.stores_invalid.saturating_sub(base.stores_invalid),
            removals_applied: self.removals_applied.saturating_sub(base.removals_applied),
            removals_missing: self.removals_missing.saturating_sub(base.removals_missing),
            hash_mismatch: self.hash_mismatch.saturating_sub(base.hash_mismatch),
            lost: self.lost.saturating_sub(base.lost),
            missed: self.missed.saturating_sub(base.missed),
            unreadable: self.unreadable.saturating_sub(base.unreadable),
            events: self.events.saturating_sub(base.events),
        }
    }
}
