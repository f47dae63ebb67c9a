//! The state of one rank: counters, load, and what is known of its past.

use std::time::Duration;

use crate::domain::{Counters, Provenance, RankLedger, Timestamp, WorkerRank};
use crate::model::buckets::{Buckets, Slot};
use crate::model::hole::{Doubt, RankHole};
use crate::model::numbers::{Numbers, Step};
use crate::model::overlaps::Overlaps;
use crate::model::reused::TokenScrapes;
use crate::model::tally::{KvTally, Refusals, RequestTally};

/// A value with where it was read and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured<T> {
    /// The value.
    pub value: T,
    /// The place it was read from.
    pub source: Provenance,
    /// When.
    pub at: Timestamp,
}

/// The state of one rank.
#[derive(Clone, Debug)]
pub struct RankRecord {
    /// The rank.
    pub rank: WorkerRank,
    /// Events counted.
    pub counters: Counters,
    /// KV events that happened while kvtop was watching.
    pub live: Counters,
    /// Requests routed to it while kvtop was watching.
    pub live_routed: u64,
    /// Time of its first KV event.
    pub first_event: Option<Timestamp>,
    /// Time of the first thing that is counted of it: a KV event or a request.
    pub begun: Option<Timestamp>,
    /// Time of its last KV event.
    pub last_event: Option<Timestamp>,
    /// The publisher's number of its last KV event.
    pub last_event_id: Option<u64>,
    /// True when the blocks it held before kvtop attached are known.
    pub complete: bool,
    /// The reason for which they are no longer known; none while they are, or if they never were.
    pub doubt: Option<Doubt>,
    /// Number of restarts under the same id.
    pub restarts: u64,
    /// The last time it did so.
    pub restarted: Option<Timestamp>,
    /// Blocks its engine has in use.
    pub used_blocks: Option<Measured<u64>>,
    /// Share of its KV blocks in use, 0 to 1, as its engine reports it.
    pub utilization: Option<Measured<f64>>,
    /// Share of prompt tokens found in its engine's cache, 0 to 1.
    pub hit_rate: Option<Measured<f64>>,
    /// Prompt tokens found in the engine's cache and looked up in it, where engines count them.
    pub looked_up: TokenScrapes,
    /// The first of them in a scrape of which the second is still to come.
    pub tokens_found: Option<f64>,
    /// Blocks it has room for, from a router's log.
    pub capacity: Option<Measured<u64>>,
    /// The room of its cache by other metrics.
    pub scraped: ScrapedRoom,
    /// A router's estimate of its load.
    pub load: Option<Measured<RouterLoad>>,
    /// Stores of it that routers' logs say they refused although the mirror holds their parents.
    pub router_refused: u64,
    /// The last time a router said so.
    pub router_refused_last: Option<Timestamp>,
    /// Requests routed to it.
    pub routed: u64,
    /// The time of the first.
    pub first_routed: Option<Timestamp>,
    /// The time of the last.
    pub last_routed: Option<Timestamp>,
    /// Requests since its last KV event.
    pub owed: Option<Owed>,
    /// Overlaps of those whose overlap is known.
    pub overlaps: Overlaps,
    /// The same since the last request with a cache hit.
    pub since_hit: Overlaps,
    /// Until then nobody needs to follow its chains: a router was seen to find prefixes on it.
    pub idle_until: Timestamp,
    /// Counts from the KV events of its present incarnation, by time.
    pub kv: Buckets<KvTally>,
    /// Requests to its present incarnation, by time.
    pub requests: Buckets<RequestTally>,
    /// Blocks of its present incarnation that routers refused, by time.
    pub refusals: Buckets<Refusals>,
    /// Start of its present incarnation, as far as that is known: what happened before is history, and
    /// accuses nobody.
    pub born: Timestamp,
    /// The numbers of its KV events, where engines number every event (0.9).
    pub ids: Numbers,
    /// The fates of its messages, by its publisher's numbers.
    pub ledger: RankLedger,
    /// KV events that did not reach kvtop; none once they came, or once they matter to nothing that it holds.
    pub hole: Option<RankHole>,
    /// KV events of its present incarnation that did not reach kvtop, also where it holds nothing of that time any
    /// more: counts of that time lack them.
    pub loss: Option<RankHole>,
    /// True while the last of its events was of an earlier incarnation.
    pub is_old: bool,
    /// True from the time the mirror dropped its blocks, because its worker left discovery, until its next event.
    pub dropped: bool,
}

/// Requests to a rank since its last KV event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Their number.
    pub requests: u64,
    /// Of those, the ones for which its engine had to store blocks, as the router's log shows.
    pub storing: u64,
    /// The time of the first.
    pub since: Timestamp,
}

/// A router's estimate of a rank's load. It weighs a rank by this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterLoad {
    /// Blocks decoding.
    pub decode_blocks: u64,
    /// Tokens waiting for prefill.
    pub prefill_tokens: u64,
    /// True when it was scraped. What is published is told when it changes, and holds until then.
    pub scraped: bool,
}

/// Room and use of an engine's KV cache, from its metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScrapedRoom {
    /// Blocks it has room for, as Dynamo's worker says.
    pub blocks: Option<Measured<u64>>,
    /// Blocks it is configured with, as the engine says. A hybrid model cuts them otherwise than KV
    /// events do, so that nothing is judged by them.
    pub configured: Option<Measured<u64>>,
    /// Tokens it has room for.
    pub tokens: Option<Measured<u64>>,
    /// Tokens in use.
    pub used_tokens: Option<Measured<u64>>,
    /// Requests that it computes.
    pub running: Option<Measured<u64>>,
    /// Requests that wait in it.
    pub waiting: Option<Measured<u64>>,
}

impl RankRecord {
    /// Returns the share of prompt tokens found in the engine's cache: in the minute before `at` where the engine
    /// counts tokens, and else as it reports the share.
    pub fn found_share(&self, at: Timestamp) -> Option<Measured<f64>> {
        let reported = self.hit_rate.as_ref()?;
        if self.looked_up.is_empty() {
            return Some(reported.clone());
        }
        let value = self.looked_up.share(at)?;
        Some(Measured { value, ..reported.clone() })
    }

    pub(super) fn new(rank: WorkerRank, coarse: bool) -> Self {
        Self {
            rank,
            counters: Counters::default(),
            live: Counters::default(),
            live_routed: 0,
            first_event: None,
            begun: None,
            last_event: None,
            last_event_id: None,
            complete: false,
            doubt: None,
            restarts: 0,
            restarted: None,
            used_blocks: None,
            utilization: None,
            hit_rate: None,
            looked_up: TokenScrapes::default(),
            tokens_found: None,
            capacity: None,
            scraped: ScrapedRoom::default(),
            load: None,
            router_refused: 0,
            router_refused_last: None,
            routed: 0,
            first_routed: None,
            last_routed: None,
            owed: None,
            overlaps: Overlaps::default(),
            since_hit: Overlaps::default(),
            idle_until: Timestamp::default(),
            kv: Buckets::new(coarse),
            requests: Buckets::new(coarse),
            refusals: Buckets::new(coarse),
            born: Timestamp::default(),
            ids: Numbers::default(),
            ledger: RankLedger::default(),
            hole: None,
            loss: None,
            is_old: false,
            dropped: false,
        }
    }

    /// Notes that something of it happened at `at`, which may be before what was heard of first.
    pub fn note_begun(&mut self, at: Timestamp) {
        self.begun = Some(self.begun.map_or(at, |begun| begun.min(at)));
    }

    /// Returns the KV event counts of `slot`, for an event of time `at`; none when `at` is before the present
    /// incarnation.
    pub fn kv_counts(&mut self, slot: Slot, at: Timestamp) -> Option<&mut KvTally> {
        (at >= self.born).then(|| self.kv.slot(slot))
    }

    /// Returns the routers' counts of `slot`, for a report of time `at`; none when `at` is before the present
    /// incarnation.
    pub fn request_counts(&mut self, slot: Slot, at: Timestamp) -> Option<&mut RequestTally> {
        (at >= self.born).then(|| self.requests.slot(slot))
    }

    /// Returns the refusals of `slot`, for a warning of time `at`; none when `at` is before the present incarnation.
    pub fn refusal_counts(&mut self, slot: Slot, at: Timestamp) -> Option<&mut Refusals> {
        (at >= self.born).then(|| self.refusals.slot(slot))
    }

    /// Begins a new incarnation at `at`. Returns false when one began later already.
    pub fn begin(&mut self, at: Timestamp, slot: Slot) -> bool {
        if at <= self.born {
            return false;
        }
        self.born = at;
        self.kv.forget(slot);
        self.requests.forget(slot);
        self.refusals.forget(slot);
        self.since_hit = Overlaps::default();
        self.ids.settle();
        self.owed = None;
        self.hole = None;
        self.loss = None;
        self.doubt = None;
        true
    }

    /// Notes a request at `at`; `stores` is true where its engine has to store blocks for it.
    pub fn owes(&mut self, stores: bool, at: Timestamp) {
        let owed = self.owed.get_or_insert(Owed { requests: 0, storing: 0, since: at });
        owed.requests += 1;
        owed.storing += u64::from(stores);
    }

    /// Notes an event at `at`. The first of all, at most `skew` before the start by another clock, is of the process that
    /// started; none where the rank may have published before.
    pub fn first_heard(&mut self, at: Timestamp, skew: Option<Duration>) {
        let ahead = at < self.born && skew.is_some_and(|skew| self.born.since(at) <= skew);
        if self.last_event.is_none() && ahead {
            self.born = at;
        }
    }

    /// Notes that all that it holds is known from now on: its cache is empty, or was read.
    pub fn is_known(&mut self) {
        self.complete = true;
        self.doubt = None;
        self.hole = None;
    }

    /// Notes what the number of a message that came at `at` means for those before it. `followed` is true when an
    /// earlier number of its publisher was known.
    pub fn stepped(&mut self, step: Step, followed: bool, at: Timestamp) {
        let was_open = self.hole.is_some();
        let after = |hole: Option<RankHole>| match (step, hole) {
            (Step::Hole(count), hole) => Some(RankHole::with_missing(hole, count, at)),
            (Step::Late, Some(hole)) => hole.less_one(),
            (Step::Next, Some(hole)) if followed => hole.settled(),
            (_, hole) => hole,
        };
        self.hole = after(self.hole);
        self.loss = after(self.loss);
        // Whatever was missing of it came, or had never been its own.
        if was_open && self.hole.is_none() && self.doubt == Some(Doubt::Missing) {
            self.complete = true;
            self.doubt = None;
        }
    }

    /// Notes a loss at `at` of which nobody knows whose messages it took.
    pub fn suspect(&mut self, at: Timestamp) {
        self.hole = Some(RankHole::with_doubt(self.hole, at));
        self.loss = Some(RankHole::with_doubt(self.loss, at));
    }
}
