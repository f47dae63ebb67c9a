//! KV events: through the mirror, into the counters, the series and the journal.

use std::sync::Arc;
use std::time::Duration;

use super::journal::Head;
use super::{Learner, MIRROR_BUDGET};
use crate::domain::{
    ClearScope, Counters, KvBatch, KvEvent, KvHead, KvKind, RankLedger, SequenceHash, Tier,
    WorkerId,
};
use crate::mirror::Outcome;
use crate::model::{Landing, Step};
use crate::snapshot::{EventKind, Gravity};
use crate::wire::Shape;

/// A worker whose event numbers fall from at least this to their first value started anew. Smaller
/// ones may be an engine that numbers batches, not events (Dynamo 0.9).
const RESTART_FROM: u64 = 8;

/// A larger step of event numbers is another engine.
const HOLE_LIMIT: u64 = 1 << 20;

const SECOND: Duration = Duration::from_secs(1);

impl Learner<'_> {
    /// Applies the KV events that were gathered.
    pub(super) fn apply_kv(&mut self) {
        if self.pending.facts.kv.is_empty() {
            self.known.index.explorer.applied(&self.known.index.mirror);
            return;
        }
        let batch = std::mem::take(&mut self.pending.facts.kv);
        // The events of a burst are from other frames than the present one.
        let present = self.known.record.journal.frame.take();
        self.known.index.warm_up.keep(&batch);
        let restarted = self.restarts(&batch);
        let tick = u32::try_from(self.known.times.cursor.seconds()).unwrap_or(u32::MAX);
        self.pending.outcomes.clear();
        if restarted.is_empty() {
            self.known.index.mirror.apply(&batch, tick, &mut self.pending.outcomes);
        } else {
            self.apply_around(&batch, &restarted, tick);
        }
        self.doubt_what_was_shed();
        let outcomes = std::mem::take(&mut self.pending.outcomes);
        let mut frames = std::mem::take(&mut self.pending.burst).into_iter().peekable();
        for (at, (event, outcome)) in batch.events().iter().zip(&outcomes).enumerate() {
            while let Some((_, frame)) = frames.next_if(|(from, _)| *from <= at) {
                self.known.record.journal.frame = Some(frame);
            }
            self.count(event, outcome, &batch);
        }
        self.known.record.journal.frame = present;
        self.pending.outcomes = outcomes;
        self.pending.facts.kv = batch;
        self.pending.facts.kv.clear();
        self.known.index.mirror.advance(MIRROR_BUDGET);
        self.known.index.explorer.applied(&self.known.index.mirror);
    }

    /// Doubts what a worker holds, or everybody, from the present frame on.
    pub(super) fn doubt_before_frame(&mut self, worker: Option<WorkerId>) {
        let mut own = KvBatch::default();
        let mut earlier = KvBatch::default();
        for (position, event) in self.pending.facts.kv.events().iter().enumerate() {
            let to = if position < self.pending.frame_from { &mut earlier } else { &mut own };
            copy_event(event, &self.pending.facts.kv, to);
        }
        self.pending.facts.kv = earlier;
        self.apply_kv();
        self.known.fleet.workers.doubt(worker);
        self.pending.facts.kv = own;
        self.pending.frame_from = 0;
        self.pending.burst.extend(self.known.record.journal.frame.clone().map(|frame| (0, frame)));
    }

    /// Returns the positions of events with which a rank starts anew, and notes what is known of
    /// each rank's past.
    fn restarts(&mut self, batch: &KvBatch) -> Vec<usize> {
        let first_id = match self.known.streams.deployment.shape {
            None | Some(Shape::Plain) => 0,
            Some(_) => 1,
        };
        let whole_history =
            self.known.streams.history.is_whole() && self.known.streams.history.lost == 0;
        // On 0.9 numbers repeat, so that a first one proves nothing.
        let ids_prove = self.known.streams.deployment.plane != Some("JetStream");
        let upstream = self.known.streams.ids_are_upstream();
        let mut found = Vec::new();
        for (position, event) in batch.events().iter().enumerate() {
            let Some(record) = self.known.fleet.workers.rank_mut(event.rank) else { continue };
            let fell = record.last_event_id.is_some_and(|last| last >= RESTART_FROM);
            let anew = ids_prove && fell && event.event_id == first_id;
            if anew {
                record.restarts += 1;
                record.restarted = Some(event.at);
                record.complete = true;
                record.begin(event.at, self.known.times.slots.of(event.at.before(SECOND)));
            }
            // The first event after a start that discovery or a pod told of.
            let crosses = record.is_old && event.at >= record.born;
            record.is_old = event.at < record.born;
            if anew || crosses {
                found.push(position);
            }
            if record.last_event_id.is_none() {
                // A dump may have told its past before its first event came.
                record.complete |= whole_history || (ids_prove && event.event_id == first_id);
            }
            if ids_prove {
                record.last_event_id = Some(event.event_id);
                continue;
            }
            // An engine leaves out numbers of events that its publisher drops, too.
            let step = record.ids.follow(event.event_id, HOLE_LIMIT, event.at);
            if event.at < record.born {
                record.ids.settle();
            }
            if step != Step::Late {
                record.last_event_id = Some(event.event_id);
            }
            record.hole_at = record.ids.hole_at();
            record.id_holes = if upstream { 0 } else { record.ids.missing() };
            record.ledger = RankLedger {
                received: record.ids.received(),
                missing: record.ids.missing(),
                reordered: record.ids.reordered(),
            };
        }
        found
    }

    /// Applies a burst in which ranks start anew: each forgets its blocks right before.
    fn apply_around(&mut self, batch: &KvBatch, restarted: &[usize], tick: u32) {
        let mut single = KvBatch::default();
        for (position, event) in batch.events().iter().enumerate() {
            if restarted.contains(&position) {
                self.known.index.mirror.forget_rank(event.rank);
                self.forget_stores(event.rank);
                let who = self.known.fleet.alias(event.rank);
                self.describe_restart(event.rank.worker, &who, event.at);
            }
            single.clear();
            copy_event(event, batch, &mut single);
            self.known.index.mirror.apply(&single, tick, &mut self.pending.outcomes);
        }
    }

    fn count(&mut self, event: &KvEvent, outcome: &Outcome, batch: &KvBatch) {
        let Some(index) = self.known.fleet.workers.index_of(event.rank) else { return };
        self.follow_prefixes(index, event, batch);
        self.known.index.explorer.note(event, batch);
        let Some(record) = self.known.fleet.workers.ranks_mut().get_mut(index) else { return };
        record.first_event.get_or_insert(event.at);
        record.note_begun(event.at);
        record.last_event = record.last_event.max(Some(event.at));
        let mut counted = Counters::default();
        let counters = &mut counted;
        let mut rates = [0_u32; 6];
        match &event.kind {
            KvKind::Stored { blocks, .. } => {
                counters.stores += 1;
                counters.empty_stores += u64::from(blocks.is_empty());
                counters.stored_blocks += blocks.len() as u64;
                counters.duplicate_blocks += u64::from(outcome.duplicates);
                counters.refused_stores += u64::from(outcome.refused());
                counters.refused_blocks += u64::from(outcome.refused_blocks);
                rates[0] = 1;
                rates[2] = u32::from(outcome.refused());
                rates[4] = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
                rates[5] = outcome.refused_blocks;
            }
            KvKind::Removed { hashes } => {
                let removed = batch.removed_of(hashes).len();
                counters.removed_blocks += removed as u64;
                counters.unknown_removals += u64::from(outcome.unknown_removals);
                rates[1] = u32::try_from(removed).unwrap_or(u32::MAX);
                rates[3] = outcome.unknown_removals;
            }
            KvKind::Cleared { scope } => {
                counters.cleared += 1;
                // What was missing is not in the cache any more.
                record.hole_at = None;
                if *scope == ClearScope::Rank {
                    record.complete = true;
                } else {
                    self.known.fleet.workers.complete(event.rank.worker);
                }
            }
        }
        let live = self.known.times.is_live(event.at);
        if let Some(record) = self.known.fleet.workers.ranks_mut().get_mut(index) {
            record.counters.add(&counted);
            if live {
                record.live.add(&counted);
            }
        }
        if let Some(counts) = self.counts_of(index, event.at) {
            counts.counters.add(&counted);
        }
        self.known.record.meters.count_kv(index, event.at, rates);
        self.describe(index, event, outcome, batch);
    }

    /// Follows chains for what they tell of reuse.
    fn follow_prefixes(&mut self, index: usize, event: &KvEvent, batch: &KvBatch) {
        if event.tier != Tier::Device {
            return;
        }
        let rank = u32::try_from(index).unwrap_or(u32::MAX);
        let second = event.at.seconds();
        self.follow_stores(rank, event, batch);
        match &event.kind {
            KvKind::Stored { parent, blocks } => {
                let blocks = batch.blocks_of(blocks);
                let (sampled, returned) =
                    self.known.routing.prefixes.returns.stored(rank, blocks, second);
                let idle_until =
                    self.known.fleet.workers.ranks().get(index).map(|record| record.idle_until);
                let landing = if idle_until.is_some_and(|until| event.at < until) {
                    Landing::default()
                } else {
                    let told = self.known.routing.router.overlaps.best().known > 0;
                    self.known.routing.prefixes.reuse.stored(rank, *parent, blocks, told)
                };
                let Some(counts) = self.counts_of(index, event.at) else { return };
                counts.sampled += sampled;
                counts.returned += returned;
                counts.roots += u64::from(parent.is_none() && !blocks.is_empty());
                counts.forks += u64::from(landing.fork);
                counts.landings += u64::from(landing.landed);
            }
            KvKind::Removed { hashes } => {
                self.known.routing.prefixes.returns.removed(rank, batch.removed_of(hashes), second);
            }
            KvKind::Cleared { .. } => {}
        }
    }

    /// Writes an event into the journal.
    fn describe(&mut self, index: usize, event: &KvEvent, outcome: &Outcome, batch: &KvBatch) {
        let record = self.known.fleet.workers.ranks().get(index);
        let complete = record.is_some_and(|record| record.complete);
        let excuse = match record {
            Some(record) if record.complete => "not in tree",
            Some(record) if record.lost => "unknown, maybe from missing messages",
            _ => "unknown, maybe from before attach",
        };
        let fault = if complete { Gravity::Bad } else { Gravity::Notice };
        let who = self.known.fleet.alias(event.rank);
        let (kind, gravity, class) = match &event.kind {
            KvKind::Stored { .. } if outcome.refused() => (EventKind::Store, fault, "refused"),
            // A publisher that refuses every block is no question of the past.
            KvKind::Stored { blocks, .. } if blocks.is_empty() => {
                (EventKind::Store, Gravity::Notice, "empty")
            }
            KvKind::Stored { .. } => (EventKind::Store, Gravity::Normal, event.tier.name()),
            KvKind::Removed { .. } if outcome.unknown_removals > 0 => {
                (EventKind::Remove, fault, "unknown")
            }
            KvKind::Removed { .. } => (EventKind::Remove, Gravity::Normal, event.tier.name()),
            KvKind::Cleared { .. } => (EventKind::Clear, Gravity::Notice, "cleared"),
        };
        let orphan = outcome.refused() || outcome.unknown_removals > 0;
        let source = kv_source(self.known.streams.deployment.plane);
        let worker = Some(event.rank.worker);
        let (at, source) = (event.at, &source);
        let head = Head { at, who: &who, kind, gravity, source, orphan, worker, class };
        self.known.record.journal.add(head, || text_of(event, outcome, batch, excuse));
    }
}

fn text_of(event: &KvEvent, outcome: &Outcome, batch: &KvBatch, why: &str) -> String {
    let tier = if event.tier == Tier::Device {
        String::new()
    } else {
        format!(" on {}", event.tier.name())
    };
    match &event.kind {
        KvKind::Stored { parent: Some(parent), blocks } if outcome.refused() => {
            format!("{} under parent {}: {why}", count_of(blocks.len()), short(*parent))
        }
        KvKind::Stored { parent, blocks } => {
            let place = match parent {
                Some(parent) => format!("under {}", short(*parent)),
                None => "at the root".to_owned(),
            };
            format!("{} {place}{tier}", count_of(blocks.len()))
        }
        KvKind::Removed { hashes } => {
            let count = batch.removed_of(hashes).len();
            match outcome.unknown_removals {
                0 => format!("{}{tier}", count_of(count)),
                1 if count == 1 => format!("{}, unknown", count_of(count)),
                all if usize::try_from(all) == Ok(count) => {
                    format!("{}, all unknown", count_of(count))
                }
                unknown => format!("{}, {unknown} of them unknown", count_of(count)),
            }
        }
        KvKind::Cleared { scope: ClearScope::Worker } => "cache emptied, all ranks".to_owned(),
        KvKind::Cleared { scope: ClearScope::Rank } => "cache emptied".to_owned(),
    }
}

/// Returns a number of blocks in words.
pub(super) fn count_of(blocks: usize) -> String {
    match blocks {
        0 => "no blocks".to_owned(),
        1 => "1 block".to_owned(),
        more => format!("{more} blocks"),
    }
}

/// Returns the first half of a hash: enough to tell blocks apart on a screen.
fn short(hash: SequenceHash) -> String {
    format!("{:08x}", hash.0 >> 32)
}

/// Returns the name of the source that KV events come from.
fn kv_source(plane: Option<&'static str>) -> Arc<str> {
    use std::sync::LazyLock;
    static NAMES: LazyLock<[Arc<str>; 2]> = LazyLock::new(|| ["nats".into(), "zmq".into()]);
    Arc::clone(&NAMES[usize::from(plane == Some("ZMQ"))])
}

pub(super) fn copy_event(event: &KvEvent, from: &KvBatch, to: &mut KvBatch) {
    let head =
        KvHead { at: event.at, rank: event.rank, tier: event.tier, event_id: event.event_id };
    match &event.kind {
        KvKind::Stored { parent, blocks } => to.stored(&head, *parent, from.blocks_of(blocks)),
        KvKind::Removed { hashes } => to.remove(&head, from.removed_of(hashes)),
        KvKind::Cleared { scope } => to.cleared(&head, *scope),
    }
}
