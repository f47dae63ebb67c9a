//! Rows of memory: capacity and churn by arithmetic, each figure with its inputs.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{ClaimOf, ClaimWhat, Provenance, Subject, Timestamp};
use crate::engine::Knowledge;
use crate::engine::curve::counts_all;
use crate::model::{Avoided, KvTally, RankRecord, Summed as _};
use crate::snapshot::{MemoryRow, Sourced};

/// Most ranks with a row: each costs some dozen look-ups of claims.
const RANK_LIMIT: usize = 256;

/// Blocks that must have been sampled before the share of those that return is told.
const MIN_SAMPLED: u64 = 50;

/// The least time that a rate is told of, in seconds.
const MIN_SECONDS: f64 = 30.0;

/// The window in which churn is counted.
const LATELY: Duration = Duration::from_secs(300);

type Figure = Option<Sourced<f64>>;

pub(super) fn rows(known: &Knowledge, at: Timestamp) -> Vec<MemoryRow> {
    let ranks = known.fleet.workers.ranks().iter().enumerate().filter(|(_, record)| {
        known.setup().is_chosen(&Subject::Worker(record.rank.worker))
            && !known.fleet.workers.worker(record.rank.worker).is_some_and(|worker| worker.gone)
    });
    let mut rows = Vec::with_capacity(known.fleet.workers.ranks().len().min(RANK_LIMIT));
    let length = known.routing.router.scrapes.mean_sequence();
    let length = length.map(|mean| told(mean, "mean tokens by frontends' metrics", at));
    let length = length.as_ref();
    rows.extend(
        ranks.take(RANK_LIMIT).map(|(index, record)| row(known, index, record, length, at)),
    );
    rows.shrink_to_fit();
    rows
}

/// Returns the row of a rank; requests have that mean `length`.
fn row(
    known: &Knowledge,
    index: usize,
    record: &RankRecord,
    length: Option<&Sourced<f64>>,
    at: Timestamp,
) -> MemoryRow {
    let room = Room::new(known, record);
    let churn = Churn::new(known, record, at);
    let held = known.index.mirror.counts(record.rank).held[0];
    let held = told(held as f64, "blocks by KV events", at);
    let held = counts_all(record).then_some(held);
    let [quarter_more, half_more, twice, three_times] = avoided(known, index, record, &room, at);
    let pressure = ratio(churn.working_set.as_ref(), room.blocks.as_ref());
    MemoryRow {
        alias: known.fleet.workers.alias(record.rank.worker),
        rank: record.rank,
        fill: ratio(held.as_ref(), room.blocks.as_ref()),
        active: super::utilization(record, room.capacity.as_ref()),
        residency: ratio(held.as_ref(), churn.stored.as_ref()),
        over_commit: over_commit(known, &room, length),
        weight_bytes: room.claim(known, ClaimWhat::WeightBytes, ""),
        kv_bytes: room.bytes,
        token_bytes: room.token_bytes,
        block_tokens: room.block,
        capacity_blocks: room.blocks,
        capacity_tokens: room.tokens,
        stored_per_second: churn.stored,
        removed_per_second: churn.removed,
        working_set: churn.working_set,
        pressure,
        returned: churn.returned,
        avoided_1_25: quarter_more,
        avoided_1_5: half_more,
        avoided_2: twice,
        avoided_3: three_times,
    }
}

/// Returns the shares of stored blocks that larger caches would have avoided, each with its basis.
fn avoided(
    known: &Knowledge,
    index: usize,
    record: &RankRecord,
    room: &Room,
    at: Timestamp,
) -> [Figure; Avoided::FACTORS.len()] {
    let capacity = room.blocks.as_ref().map(|blocks| super::router::whole(blocks.value));
    let known = known.avoided(index, record, capacity);
    std::array::from_fn(|point| {
        let (avoided, capacity) = known.as_ref()?;
        let (share, margin) = (avoided.share(point)?, avoided.margin(point)?);
        let text = format!(
            "margin {:.1} %, {} samples; capacity {capacity} blocks",
            margin * 100.0,
            avoided.samples
        );
        Some(derived(share, text, at))
    })
}

/// The room of a rank's cache.
struct Room {
    subjects: Vec<Subject>,
    capacity: Option<Sourced<u64>>,
    block: Figure,
    blocks: Figure,
    tokens: Figure,
    bytes: Figure,
    token_bytes: Figure,
}

impl Room {
    fn new(known: &Knowledge, record: &RankRecord) -> Self {
        let worker = known.fleet.workers.worker(record.rank.worker);
        let pod = worker.and_then(|worker| worker.pod.as_deref());
        let subjects = super::subjects(record, pod);
        let capacity = super::capacity(&known.fleet.claims, record, &subjects);
        let mut room = Self {
            subjects,
            capacity,
            block: None,
            blocks: None,
            tokens: None,
            bytes: None,
            token_bytes: None,
        };
        room.block = super::room::sizes(record)
            .iter()
            .copied()
            .find_map(|of| room.claim_of(known, ClaimWhat::BlockSize, of, "tokens per block"));
        room.blocks = room.capacity.as_ref().map(|capacity| {
            told(capacity.value as f64, format!("blocks by {}", capacity.source), capacity.at)
        });
        room.tokens = room
            .claim(known, ClaimWhat::KvCacheTokens, "tokens")
            .or_else(|| product(room.blocks.as_ref(), room.block.as_ref()));
        if room.blocks.is_none() {
            room.blocks = ratio(room.tokens.as_ref(), room.block.as_ref());
            room.capacity = room.blocks.as_ref().map(|blocks| {
                let value = super::router::whole(blocks.value.floor());
                Sourced { value, source: blocks.source.clone(), at: blocks.at }
            });
        }
        room.bytes = room.claim(known, ClaimWhat::KvCacheBytes, "bytes");
        room.token_bytes = room
            .claim(known, ClaimWhat::KvTokenBytes, "bytes")
            .or_else(|| ratio(room.bytes.as_ref(), room.tokens.as_ref()));
        room
    }

    fn claim(&self, known: &Knowledge, what: ClaimWhat, unit: &str) -> Figure {
        self.claim_of(known, what, ClaimOf::Engine, unit)
    }

    fn claim_of(&self, known: &Knowledge, what: ClaimWhat, of: ClaimOf, unit: &str) -> Figure {
        let (value, stored) = known.fleet.claims.count(what, of, &self.subjects)?;
        let source = if unit.is_empty() {
            stored.claim.source.to_string()
        } else {
            format!("{unit} by {}", stored.claim.source)
        };
        Some(told(value as f64, source, stored.last))
    }
}

/// Blocks that came and went in the last minutes.
struct Churn {
    stored: Figure,
    removed: Figure,
    working_set: Figure,
    returned: Figure,
}

impl Churn {
    fn new(known: &Knowledge, record: &RankRecord, at: Timestamp) -> Self {
        // A worker that came since then stored nothing before.
        let began = record.first_event.unwrap_or_default().max(record.born);
        let since = at.before(LATELY).max(known.times.since_kv()).max(began);
        let mut tally = KvTally::default();
        record.kv.since(Some(known.times.slots.slot(since)), None, |counts, _| tally.sum(counts));
        let seconds = at.since(since).as_secs_f64();
        let span = format!("in {seconds:.0} s, KV events");
        let rate = |blocks: u64| {
            let counted = seconds >= MIN_SECONDS && record.last_event.is_some();
            counted.then(|| derived(blocks as f64 / seconds, format!("{blocks} blocks {span}"), at))
        };
        let returned = (tally.sampled >= MIN_SAMPLED).then(|| {
            let text = format!("{} of {} sampled blocks {span}", tally.returned, tally.sampled);
            derived(tally.returned as f64 / tally.sampled as f64, text, at)
        });
        let stored = tally.counters.stored_blocks;
        let again = returned.as_ref().map_or(0.0, |share| share.value);
        let working_set = (stored > 0).then(|| {
            let text = format!("{stored} blocks stored {span}, without those stored again");
            derived(stored as f64 * (1.0 - again), text, at)
        });
        Self {
            stored: rate(stored),
            removed: rate(tally.counters.removed_blocks),
            working_set,
            returned,
        }
    }
}

/// Tokens of as many requests as may run at once, against the room for tokens. Of mean `length`: the
/// longest ones need more.
fn over_commit(known: &Knowledge, room: &Room, length: Option<&Sourced<f64>>) -> Figure {
    let running = [ClaimOf::Card, ClaimOf::Engine]
        .into_iter()
        .find_map(|of| room.claim_of(known, ClaimWhat::MaxNumSeqs, of, "requests at once"));
    ratio(product(running.as_ref(), length).as_ref(), room.tokens.as_ref())
}

fn told(value: f64, place: impl Into<Arc<str>>, at: Timestamp) -> Sourced<f64> {
    Sourced { value, source: Provenance::told(place), at }
}

fn derived(value: f64, calculation: impl Into<Arc<str>>, at: Timestamp) -> Sourced<f64> {
    Sourced { value, source: Provenance::derived(calculation), at }
}

fn amount(input: &Sourced<f64>) -> String {
    let places = if input.value >= 100.0 || input.value.fract() == 0.0 { 0 } else { 2 };
    match input.source {
        Provenance::Derived(_) => format!("{:.places$} ({})", input.value, input.source),
        _ => format!("{:.places$} {}", input.value, input.source),
    }
}

fn ratio(over: Option<&Sourced<f64>>, under: Option<&Sourced<f64>>) -> Figure {
    let (over, under) = (over?, under.filter(|under| under.value > 0.0)?);
    let source = format!("{} / {}", amount(over), amount(under));
    Some(derived(over.value / under.value, source, over.at.max(under.at)))
}

fn product(one: Option<&Sourced<f64>>, other: Option<&Sourced<f64>>) -> Figure {
    let (one, other) = (one?, other?);
    let source = format!("{} * {}", amount(one), amount(other));
    Some(derived(one.value * other.value, source, one.at.max(other.at)))
}
