//! Counts that rules compare over windows.

use super::buckets::Summed;
use super::overlaps::{Lookups, Overlap, Overlaps};
use crate::domain::Counters;

/// All counts of one rank over a span of time. Slots of time hold the parts apart, so that what does not
/// happen takes no memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Counts from its KV events.
    pub kv: KvTally,
    /// Its requests, as routers tell of them.
    pub requests: RequestTally,
    /// Its blocks that routers refused.
    pub refusals: Refusals,
}

/// Counts from the KV events of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvTally {
    /// KV events.
    pub counters: Counters,
    /// Stores that came while all that the rank held was known.
    pub known_stores: u64,
    /// Of those, the ones that the mirror refused: others prove nothing, since their parents may be older.
    pub known_refused: u64,
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
}

/// Counts from routers about one rank: requests and overlaps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestTally {
    /// Requests routed to it.
    pub routed: u64,
    /// Of those, the ones whose prompt is known to be shorter than a block: nothing is stored for them.
    pub short: u64,
    /// Blocks that routers found cached for them.
    pub overlaps: Overlaps,
    /// The same for requests that came when it held blocks already.
    pub warm: Lookups,
}

/// Warnings of routers about one rank, or about nobody in particular.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
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
    /// Warnings about hashes that differ between workers.
    pub hash_mismatch: u64,
}

impl Refusals {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        self.parent_full += other.parent_full;
        self.parent_held += other.parent_held;
        self.parent_before += other.parent_before;
        self.parent_after += other.parent_after;
        self.parent_empty += other.parent_empty;
        self.parent_unsaid += other.parent_unsaid;
        self.remove += other.remove;
        self.hash_mismatch += other.hash_mismatch;
    }
}

/// Everything that is counted of the routers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RouterTally {
    /// Requests routed.
    pub routed: u64,
    /// Of those, the ones whose prompt is known to be shorter than a block.
    pub short: u64,
    /// Blocks that routers found cached for them.
    pub overlaps: Overlaps,
    /// The same for requests that came when workers held blocks already.
    pub warm: Lookups,
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
    /// Warnings about hashes that differ between workers.
    pub hash_mismatch: u64,
    /// Warnings about gaps in event numbers.
    pub gaps: u64,
    /// Lines of publishers that cannot read their engine's events.
    pub decode_failed: u64,
    /// Their own counters.
    pub own: RouterCounts,
    /// Messages of KV events that are missing by their publishers' numbers, while kvtop listened.
    pub lost: u64,
    /// Messages of KV events that passed by while kvtop's own connection was away.
    pub missed: u64,
    /// Messages of KV events that could not be read.
    pub unreadable: u64,
    /// KV events read.
    pub events: u64,
    /// The messages that brought them; from 1.4 on one may hold several.
    pub messages: u64,
    /// Frames of KV events that kvtop dropped.
    pub dropped: u64,
    /// Requests whose prompt was computed, as events about requests say.
    pub answered: u64,
}

/// Growth of the counters in the metrics of routers and their frontends, of the processes that run now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterCounts {
    /// Stores that routers' indexes took in.
    pub stores_applied: u64,
    /// Stores that they rejected because the parent block is unknown.
    pub stores_orphaned: u64,
    /// Stores that they refused for other reasons.
    pub stores_invalid: u64,
    /// Removals that they followed.
    pub removals_applied: u64,
    /// Removals of blocks that they did not have.
    pub removals_missing: u64,
    /// Prompts that frontends answered.
    pub prompts: u64,
    /// Requests that frontends answered with an error.
    pub failed: u64,
    /// Requests of which routers tell the share that they found cached.
    pub shares: u64,
    /// The sum of these shares, in millionths.
    pub share_sum: u64,
}

impl RouterCounts {
    /// Returns the mean share of prompts that routers found cached; none where they counted no request.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.shares > 0).then(|| self.share_sum as f64 / self.shares as f64 / 1e6)
    }
}

impl Tally {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        self.kv.sum(&other.kv);
        self.requests.sum(&other.requests);
        self.refusals.add(&other.refusals);
    }
}

impl KvTally {
    /// Returns the stores that hold blocks.
    pub fn full_stores(&self) -> u64 {
        self.counters.stores.saturating_sub(self.counters.empty_stores)
    }
}

impl RequestTally {
    /// Returns the requests for which an engine stores blocks, unless they are cached.
    pub fn storing(&self) -> u64 {
        self.routed.saturating_sub(self.short)
    }

    /// Returns what routers found cached, as told by whoever told most.
    pub fn overlap(&self) -> Overlap {
        self.overlaps.best()
    }
}

impl RouterTally {
    /// Returns the requests for which engines store blocks, unless they are cached.
    pub fn storing(&self) -> u64 {
        self.routed.saturating_sub(self.short)
    }

    /// Returns the stores that routers report as rejected because the parent block is unknown, by their logs or their
    /// counters.
    pub fn refused(&self) -> u64 {
        let said = self.parent_full + self.parent_empty + self.parent_unsaid;
        said.max(self.own.stores_orphaned)
    }

    /// Adds what `other` counts of KV events, and not of what routers tell.
    pub fn add_events(&mut self, other: &Self) {
        self.gaps += other.gaps;
        self.decode_failed += other.decode_failed;
        self.lost += other.lost;
        self.missed += other.missed;
        self.unreadable += other.unreadable;
        self.events += other.events;
        self.messages += other.messages;
        self.dropped += other.dropped;
    }

    /// Adds what routers tell of one rank.
    pub fn add_rank(&mut self, requests: &RequestTally, refusals: &Refusals) {
        self.routed += requests.routed;
        self.short += requests.short;
        self.overlaps.add(&requests.overlaps);
        self.warm.add(&requests.warm);
        self.add_refusals(refusals);
    }

    /// Adds what a router's log says it refused.
    pub fn add_refusals(&mut self, refusals: &Refusals) {
        self.parent_full += refusals.parent_full;
        self.parent_held += refusals.parent_held;
        self.parent_before += refusals.parent_before;
        self.parent_after += refusals.parent_after;
        self.parent_empty += refusals.parent_empty;
        self.parent_unsaid += refusals.parent_unsaid;
        self.remove += refusals.remove;
        self.hash_mismatch += refusals.hash_mismatch;
    }
}

impl Summed for KvTally {
    fn sum(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.known_stores += other.known_stores;
        self.known_refused += other.known_refused;
        self.roots += other.roots;
        self.forks += other.forks;
        self.landings += other.landings;
        self.sampled += other.sampled;
        self.returned += other.returned;
    }
}

impl Summed for RequestTally {
    fn sum(&mut self, other: &Self) {
        self.routed += other.routed;
        self.short += other.short;
        self.overlaps.add(&other.overlaps);
        self.warm.add(&other.warm);
    }
}

impl Summed for Refusals {
    fn sum(&mut self, other: &Self) {
        self.add(other);
    }
}

impl Summed for RouterTally {
    fn sum(&mut self, other: &Self) {
        self.routed += other.routed;
        self.short += other.short;
        self.overlaps.add(&other.overlaps);
        self.warm.add(&other.warm);
        self.parent_full += other.parent_full;
        self.parent_held += other.parent_held;
        self.parent_before += other.parent_before;
        self.parent_after += other.parent_after;
        self.parent_empty += other.parent_empty;
        self.parent_unsaid += other.parent_unsaid;
        self.remove += other.remove;
        self.hash_mismatch += other.hash_mismatch;
        self.own.sum(&other.own);
        self.answered += other.answered;
        self.add_events(other);
    }
}

impl Summed for RouterCounts {
    fn sum(&mut self, other: &Self) {
        self.stores_applied += other.stores_applied;
        self.stores_orphaned += other.stores_orphaned;
        self.stores_invalid += other.stores_invalid;
        self.removals_applied += other.removals_applied;
        self.removals_missing += other.removals_missing;
        self.prompts += other.prompts;
        self.failed += other.failed;
        self.shares += other.shares;
        self.share_sum += other.share_sum;
    }
}
