//! KV events: through the mirror, into the counters, the series and the journal.

use std::time::Duration;

use super::gathered::{Counts, Gathered};
use super::incarnations::SKEW;
use super::journal::{Journal, KvClass, KvEntry};
use super::known::{EventSign, Index, Routing};
use super::{Fleet, Knowledge, Learner, MIRROR_BUDGET};
use crate::domain::{
    ClearScope, Counters, KvBatch, KvEvent, KvHead, KvKind, Plane, RankLedger, SequenceHash,
    SourceName, Tier, Timestamp, WorkerId,
};
use crate::frame::Frame;
use crate::mirror::{Mirror, Outcome};
use crate::model::{KvTally, Landing, Step};
use crate::snapshot::Gravity;
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
        self.known.index.warm_up.keep(&batch);
        let mut ranks = std::mem::take(&mut self.pending.ranks);
        ranks.clear();
        let workers = &mut self.known.fleet.workers;
        let index = |event: &KvEvent| workers.index_of(event.rank).unwrap_or(usize::MAX);
        ranks.extend(batch.events().iter().map(index));
        let whole = self.known.options.memory_limit;
        let limit = whole.saturating_sub(workers.bytes()).max(whole / 4);
        self.known.index.mirror.set_memory_limit(limit);
        let restarted = self.restarts(&batch, &ranks);
        let tick = u32::try_from(self.known.times.cursor.seconds()).unwrap_or(u32::MAX);
        let mut outcomes = std::mem::take(&mut self.pending.outcomes);
        outcomes.clear();
        if restarted.is_empty() {
            self.known.index.mirror.apply(&batch, tick, &mut outcomes);
        } else {
            self.apply_around(&batch, &restarted, tick, &mut outcomes);
        }
        self.doubt_what_was_shed();
        // The events of a burst are from other frames than the present one.
        let present = self.frame.take();
        let mut frames = self.pending.burst.iter().copied().peekable();
        let counted = batch.events().iter().zip(&outcomes).zip(&ranks).enumerate();
        for (at, ((event, outcome), rank)) in counted {
            while let Some((_, frame)) = frames.next_if(|(from, _)| *from <= at) {
                self.frame = self.burst.get(frame);
            }
            let gathered = &mut self.pending.gathered;
            count(self.known, gathered, self.frame, *rank, event, outcome, &batch);
        }
        let Knowledge { times, fleet, record, .. } = &mut *self.known;
        self.pending.gathered.settle(Counts { times, fleet, meters: &mut record.meters });
        self.pending.burst.clear();
        self.frame = present;
        self.pending.outcomes = outcomes;
        self.pending.ranks = ranks;
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
        self.pending.burst.extend(self.frame.map(|_| (0, self.pending.present)));
    }

    /// Returns the positions of events with which a rank starts anew, and notes what is known of
    /// each rank's past.
    fn restarts(&mut self, batch: &KvBatch, ranks: &[usize]) -> Vec<usize> {
        let deployment = &self.known.streams.deployment;
        let (plane, shape) = (deployment.plane, deployment.shape);
        let history = &self.known.streams.history;
        let (whole_history, lost_at) = (history.is_whole(), history.lost_at);
        let signed = &self.known.fleet.signed;
        // The stream brings every event of a worker that began since kvtop listens, if a source tells since when.
        let listens = self.known.streams.listens_since(&self.known.times);
        let listens = listens.filter(|since| *since > Timestamp::default());
        let mut found = Vec::new();
        let workers = self.known.fleet.workers.ranks_mut();
        for (position, (event, rank)) in batch.events().iter().zip(ranks).enumerate() {
            let Some(record) = workers.get_mut(*rank) else { continue };
            let sign = signed.get(*rank).copied().flatten();
            let (ids_prove, first_id) = numbering(sign, plane, shape);
            let fell = record.last_event_id.is_some_and(|last| last >= RESTART_FROM);
            let anew = ids_prove && fell && event.event_id == first_id;
            if anew {
                record.restarts += 1;
                record.restarted = Some(event.at);
                record.is_known();
                record.begin(event.at, self.known.times.slots.slot(event.at.before(SECOND)));
            }
            let listened = whole_history || listens.is_some_and(|it| it.after(SKEW) < event.at);
            record.first_heard(event.at, listened.then_some(SKEW));
            // The first event after a start that discovery or a pod told of.
            let crosses = record.is_old && event.at >= record.born;
            record.is_old = event.at < record.born;
            found.extend((anew || crosses).then_some(position));
            // A process whose numbers go on did not restart, but kvtop dropped its blocks when it left discovery.
            let goes_on = record.last_event_id.is_some_and(|last| event.event_id > last);
            if std::mem::take(&mut record.dropped) && goes_on {
                record.complete = false;
                (record.doubt, record.hole) = (None, None);
            }
            if record.last_event_id.is_none() || crosses && !goes_on {
                // A dump may have told its past before its first event came.
                let since_loss = lost_at.is_none_or(|lost| record.born > lost);
                // A stream holds the history of those workers only that publish into it.
                let is_whole = !ids_prove
                    && (whole_history || listens.is_some_and(|since| since < record.born));
                record.complete |=
                    is_whole && since_loss || (ids_prove && event.event_id == first_id);
            }
            if ids_prove {
                record.last_event_id = Some(event.event_id);
                continue;
            }
            // An engine leaves out numbers of events that its publisher drops, too.
            let followed = record.ids.received() > 0;
            let step = record.ids.follow(event.event_id, HOLE_LIMIT);
            record.stepped(step, followed, event.at);
            if event.at < record.born {
                record.ids.settle();
                (record.hole, record.loss) = (None, None);
            }
            if step != Step::Late {
                record.last_event_id = Some(event.event_id);
            }
            record.ledger = RankLedger {
                received: record.ids.received(),
                missing: record.ids.missing(),
                reordered: record.ids.reordered(),
            };
        }
        found
    }

    /// Applies a burst in which ranks start anew: each forgets its blocks right before.
    fn apply_around(
        &mut self,
        batch: &KvBatch,
        restarted: &[usize],
        tick: u32,
        outcomes: &mut Vec<Outcome>,
    ) {
        let mut single = KvBatch::default();
        let mut restarted = restarted.iter().peekable();
        let present = self.frame;
        for (position, event) in batch.events().iter().enumerate() {
            if restarted.next_if(|start| **start == position).is_some() {
                // The events of a burst are from other frames than the present one.
                let mut frames = self.pending.burst.iter().rev();
                let own = frames.find(|(from, _)| *from <= position);
                self.frame = own.and_then(|(_, frame)| self.burst.get(*frame));
                self.known.index.mirror.forget_rank(event.rank);
                self.forget_stores(event.rank);
                let who = self.known.fleet.alias(event.rank);
                self.describe_restart(event.rank.worker, &who, event.at);
            }
            single.clear();
            copy_event(event, batch, &mut single);
            self.known.index.mirror.apply(&single, tick, outcomes);
        }
        self.frame = present;
    }
}

/// Returns whether the first number of an event proves a start, and that number, by the `sign` of its rank: releases
/// may be mixed. Without one `plane` and `shape` of the deployment tell. On 0.9 numbers repeat, and prove nothing.
fn numbering(sign: Option<EventSign>, plane: Option<Plane>, shape: Option<Shape>) -> (bool, u64) {
    let carrier = sign.map(|(_, carrier, _)| carrier).or(plane);
    let plain = matches!(sign.map(|(shape, ..)| shape).or(shape), None | Some(Shape::Plain));
    (carrier != Some(Plane::JetStream), u64::from(!plain))
}

/// Counts an event of the rank at `index`, follows what it tells of prefixes, and writes it into the journal.
fn count(
    known: &mut Knowledge,
    gathered: &mut Gathered,
    frame: Option<&Frame>,
    index: usize,
    event: &KvEvent,
    outcome: &Outcome,
    batch: &KvBatch,
) {
    let Knowledge { times, fleet, routing, index: Index { explorer, mirror, .. }, record, .. } =
        known;
    let Some(rank) = fleet.workers.ranks_mut().get_mut(index) else { return };
    let mut followed = follow_prefixes(routing, mirror, rank.idle_until, index, event, batch);
    explorer.note(event, batch);
    rank.first_event.get_or_insert(event.at);
    rank.note_begun(event.at);
    rank.last_event = rank.last_event.max(Some(event.at));
    rank.owed = None;
    let mut counted = Counters::default();
    match &event.kind {
        KvKind::Stored { blocks, .. } => {
            let refused = outcome.refused();
            followed.known_stores = u64::from(rank.complete);
            followed.known_refused = u64::from(rank.complete && refused);
            counted.stores = 1;
            counted.empty_stores = u64::from(blocks.is_empty());
            counted.stored_blocks = blocks.len() as u64;
            counted.duplicate_blocks = u64::from(outcome.duplicates);
            counted.refused_stores = u64::from(refused);
            counted.refused_blocks = u64::from(outcome.refused_blocks);
        }
        KvKind::Removed { hashes } => {
            counted.removed_blocks = hashes.len() as u64;
            counted.unknown_removals = u64::from(outcome.unknown_removals);
        }
        KvKind::Cleared { scope } => {
            counted.cleared = 1;
            // What was missing is not in the cache any more.
            if *scope == ClearScope::Rank {
                rank.is_known();
            }
        }
    }
    times.active = times.active.max(event.at);
    let mut counts = Counts { times, fleet, meters: &mut record.meters };
    gathered.add(index, event.at, &counted, followed, &mut counts);
    if event.kind == (KvKind::Cleared { scope: ClearScope::Worker }) {
        fleet.workers.complete(event.rank.worker);
        for (index, _) in (0_u32..)
            .zip(fleet.workers.ranks())
            .filter(|(_, record)| record.rank.worker == event.rank.worker)
        {
            routing.prefixes.curve.cleared(index);
        }
    }
    let plane = known.streams.deployment.plane;
    describe(fleet, &mut record.journal, plane, frame, index, event, outcome, batch);
}

/// The prefixes of an event, and whether its rank's past was known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Followed {
    known_stores: u64,
    pub(super) known_refused: u64,
    sampled: u64,
    returned: u64,
    roots: u64,
    forks: u64,
    landings: u64,
}

impl Followed {
    pub(super) fn add(&mut self, other: Self) {
        self.known_stores += other.known_stores;
        self.known_refused += other.known_refused;
        self.sampled += other.sampled;
        self.returned += other.returned;
        self.roots += other.roots;
        self.forks += other.forks;
        self.landings += other.landings;
    }

    pub(super) fn add_to(self, tally: &mut KvTally) {
        tally.known_stores += self.known_stores;
        tally.known_refused += self.known_refused;
        tally.sampled += self.sampled;
        tally.returned += self.returned;
        tally.roots += self.roots;
        tally.forks += self.forks;
        tally.landings += self.landings;
    }
}

/// Follows chains for what they tell of reuse. While routers find prefixes on a rank, until `idle_until`, nobody
/// needs to know where chains fork.
fn follow_prefixes(
    routing: &mut Routing,
    mirror: &Mirror,
    idle_until: Timestamp,
    index: usize,
    event: &KvEvent,
    batch: &KvBatch,
) -> Followed {
    if event.tier != Tier::Device {
        return Followed::default();
    }
    let rank = u32::try_from(index).unwrap_or(u32::MAX);
    let second = event.at.seconds();
    let Routing { router, prefixes, missing_parents, .. } = routing;
    match &event.kind {
        KvKind::Stored { parent, blocks } => {
            let blocks = batch.blocks_of(blocks);
            missing_parents.stored(rank, *parent, blocks, event.at);
            let (sampled, returned) = prefixes.reuse_window.stored(rank, blocks, second);
            prefixes.curve.stored(rank, blocks, event.at);
            let landing = if event.at < idle_until {
                Landing::default()
            } else {
                let told = router.overlaps.best().known > 0;
                prefixes.reuse.stored(rank, *parent, blocks, event.at, told)
            };
            Followed {
                known_stores: 0,
                known_refused: 0,
                sampled,
                returned,
                roots: u64::from(parent.is_none() && !blocks.is_empty()),
                forks: u64::from(landing.fork),
                landings: u64::from(landing.landed),
            }
        }
        KvKind::Removed { hashes } => {
            let hashes = batch.removed_of(hashes);
            missing_parents.removed(rank, hashes);
            prefixes.reuse_window.removed(rank, hashes, second);
            prefixes.curve.removed(rank, hashes, mirror.counts(event.rank).held[0]);
            Followed::default()
        }
        KvKind::Cleared { .. } => {
            missing_parents.forget(rank);
            prefixes.curve.cleared(rank);
            Followed::default()
        }
    }
}

/// Writes an event into the journal.
#[expect(clippy::too_many_arguments, reason = "the topics that one event touches")]
fn describe(
    fleet: &Fleet,
    journal: &mut Journal,
    plane: Option<Plane>,
    frame: Option<&Frame>,
    index: usize,
    event: &KvEvent,
    outcome: &Outcome,
    batch: &KvBatch,
) {
    let rank = fleet.workers.ranks().get(index);
    let fault = if rank.is_some_and(|it| it.complete) { Gravity::Bad } else { Gravity::Notice };
    let (class, gravity) = match &event.kind {
        KvKind::Stored { .. } if outcome.refused() => (KvClass::Refused, fault),
        // Empty stores are the publisher's fault, not missing history.
        KvKind::Stored { blocks, .. } if blocks.is_empty() => (KvClass::Empty, Gravity::Notice),
        KvKind::Stored { .. } => (KvClass::Stored(event.tier), Gravity::Normal),
        KvKind::Removed { .. } if outcome.unknown_removals > 0 => (KvClass::Unknown, fault),
        KvKind::Removed { .. } => (KvClass::Removed(event.tier), Gravity::Normal),
        KvKind::Cleared { .. } => (KvClass::Cleared, Gravity::Notice),
    };
    let source = kv_source(plane);
    let (at, worker) = (event.at, event.rank.worker);
    let entry = KvEntry { at, rank: index, worker, class, gravity, source: &source, frame };
    journal.add_kv(&entry, || {
        let excuse = match rank {
            Some(rank) if rank.complete => "",
            Some(rank) if rank.doubt.is_some() => ", maybe from missing messages",
            _ => ", maybe from before attach",
        };
        (fleet.alias(event.rank), text_of(event, outcome, batch, excuse))
    });
}

fn text_of(event: &KvEvent, outcome: &Outcome, batch: &KvBatch, why: &str) -> String {
    let tier = if event.tier == Tier::Device {
        String::new()
    } else {
        format!(" on {}", event.tier.name())
    };
    match &event.kind {
        KvKind::Stored { parent: Some(parent), blocks } if outcome.refused() => {
            format!("{}, parent {} unknown{why}", stored(blocks.len()), short(*parent))
        }
        KvKind::Stored { parent, blocks } => {
            let place = match parent {
                Some(parent) => format!("under {}", short(*parent)),
                None => "at the root".to_owned(),
            };
            format!("{} {place}{tier}", stored(blocks.len()))
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

/// Returns a number of stored blocks in words.
fn stored(blocks: usize) -> String {
    if blocks == 0 { "empty".to_owned() } else { count_of(blocks) }
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

/// Returns the source that KV events come from.
pub(super) fn kv_source(plane: Option<Plane>) -> SourceName {
    plane.map_or(SourceName::Nats, Plane::source)
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
