//! Rows of workers, and their totals.

use std::sync::Arc;
use std::time::Duration;

use super::{room, sourced};
use crate::domain::{
    Backend, Basis, ClaimOf, ClaimValue, ClaimWhat, Counters, LEAVING, LatencyName, Pod, Subject,
    Timestamp,
};
use crate::engine::judge::Verdicts;
use crate::engine::known::Knowledge;
use crate::engine::meters::{KvMeter, RankNow};
use crate::engine::{Fleet, MINUTE};
use crate::metrics::{RANK_WINDOW, Window};
use crate::mirror::Mirror;
use crate::model::{Measured, RankRecord, ScrapedRoom, StoredClaim, WorkerRecord};
use crate::snapshot::{
    Belongs, BlockSizes, InEngine, Knowledge as Past, RateSet, RouterLoad, Series, Sourced, Totals,
    WorkerRow,
};

/// The time over which a change of the blocks held is measured.
const CHANGE: Duration = Duration::from_secs(10);
/// The rule that says that block sizes differ: no other one rests on the size that behaviour proves.
const SIZES_DIFFER: &str = "KVT001";
/// Workers whose rows have a graph, and its points.
const GRAPHED: usize = 64;
const ROW_POINTS: usize = 20;
/// The time over which the use of KV blocks is judged.
const LATELY: Duration = Duration::from_secs(30);

/// The moment of a picture, and what is the same for all its rows.
struct Now {
    at: Timestamp,
    /// True while history is being read.
    reading: bool,
    /// True when a router refused stores within the last minute.
    warned: bool,
    /// True where routers reject stores by their own counters, which name no worker.
    doubted: bool,
}

pub(super) fn rows(known: &Knowledge, verdicts: &Verdicts, at: Timestamp) -> Vec<WorkerRow> {
    let mismatch = verdicts.finds(SIZES_DIFFER);
    let proven = |index: usize| {
        let rank = u32::try_from(index).ok().filter(|_| mismatch)?;
        known.routing.prefixes.reuse.publisher_size_of(rank)
    };
    let reading = super::catching_up(&known.streams).is_some();
    // Pictures of the past keep the rows: with room for as many as there are, none is moved while they are made.
    let mut rows = Vec::with_capacity(known.fleet.workers.ranks().len());
    let limit = known.options.thresholds.loss_share;
    let doubted = counted_share(known, at).is_some_and(|share| share >= limit);
    let warned = known.routing.router.is_refusing(at, MINUTE);
    let now = Now { at, reading, warned, doubted };
    rows.extend(chosen(known).map(|rank| row(known, rank, proven(rank.0), &now)));
    rows.shrink_to_fit();
    router_sizes_by_model(&known.fleet, &mut rows);
    rows
}

/// Where workers serve several models, gives each the size that routers have for its own.
fn router_sizes_by_model(fleet: &Fleet, rows: &mut [WorkerRow]) {
    let mut models =
        rows.iter().filter(|row| !row.gone).filter_map(|row| row.belongs.model.as_deref());
    let first = models.next();
    if models.all(|model| Some(model) == first) {
        return;
    }
    for row in rows {
        let Some(model) = row.belongs.model.as_deref() else { continue };
        let size = fleet.claims.count_of_model(ClaimWhat::BlockSize, ClaimOf::Router, model);
        row.block_size.router = size.and_then(|size| u32::try_from(size).ok());
    }
}

/// Returns the ranks of what was chosen, with their positions among all.
fn chosen(known: &Knowledge) -> impl Iterator<Item = (usize, &RankRecord)> {
    let ours = |(_, record): &(usize, &RankRecord)| {
        known.setup().is_chosen(&Subject::Worker(record.rank.worker))
    };
    known.fleet.workers.ranks().iter().enumerate().filter(ours)
}

#[expect(clippy::too_many_lines, reason = "one field after the other")]
fn row(
    known: &Knowledge,
    (index, record): (usize, &RankRecord),
    proven: Option<u32>,
    now @ &Now { at, reading, .. }: &Now,
) -> WorkerRow {
    let worker = known.fleet.workers.worker(record.rank.worker);
    let pod = worker.and_then(|worker| worker.pod.as_deref());
    let meter = known.record.meters.ranks.get(index);
    let counts = known.index.mirror.counts(record.rank);
    let subjects = subjects(record, pod);
    let shown = pod.and_then(|pod| known.shown.cluster.pod(pod)).map(|record| &record.pod);
    let capacity = room::capacity(&known.fleet.claims, record, &subjects);
    let overlap = record.overlaps.best();
    let gauges = known.record.meters.gauges_by_rank.get(index);
    let lately = gauges.and_then(|gauges| gauges.utilization.steady(at, LATELY, CHANGE));
    let used = room::utilization(record, capacity.as_ref());
    let capacity = room::shown(&known.fleet.claims, record, &subjects, capacity);
    WorkerRow {
        reading,
        alias: known.fleet.workers.alias(record.rank.worker),
        rank: record.rank,
        pod: pod.map(str::to_owned),
        node: shown.and_then(|pod| pod.node.as_ref()).map(ToString::to_string),
        role: shown.map(|pod| pod.role.name().to_owned()),
        gone: worker.is_some_and(|worker| worker.gone),
        left: worker.and_then(|worker| worker.left),
        lives_on: worker.and_then(|worker| lives_on(worker, record, at)),
        knowledge: if record.complete { Past::Complete } else { Past::SinceAttach },
        accepted: counts.accepted[0],
        held: counts.held[0],
        change: gauges.and_then(|gauges| gauges.accepted.change(at, CHANGE)),
        tiers: counts.accepted,
        belongs: belongs(&known.fleet, worker, shown, &subjects),
        counters: record.counters,
        live: record.live,
        live_routed: record.live_routed,
        rates: meter.map(|meter| meter.rate_set(at, known.times.since_kv())).unwrap_or_default(),
        block_size: block_sizes(&known.fleet, &subjects, proven, shown.and_then(|pod| pod.backend)),
        used_blocks: room::used(&known.fleet.claims, record, &subjects, capacity.as_ref()),
        kv_lately: lately.or_else(|| used.as_ref().map(|used| used.value)),
        kv_utilization: used,
        capacity_blocks: capacity,
        hit_rate: record.found_share(at).as_ref().map(sourced),
        routed: record.routed,
        routed_per_second: routed_per_second(known, index, at),
        mean_overlap: (overlap.known > 0).then(|| overlap.blocks / overlap.known as f64),
        in_flight: known.fleet.loads.in_flight(record.rank, at).map(|load| super::whole(load.now)),
        in_engine: in_engine(known, record, worker, at),
        last_event: record.last_event,
        last_event_id: record.last_event_id,
        missing: record.ledger.missing,
        ledger: record.ledger,
        router_refused: record.router_refused,
        router_refuses: record.router_refused_last.is_some_and(|last| at.since(last) <= MINUTE),
        restarts: record.restarts,
        load: record.load.as_ref().map(|load| Sourced {
            value: RouterLoad {
                decode_blocks: load.value.decode_blocks,
                prefill_tokens: load.value.prefill_tokens,
            },
            source: load.source.clone(),
            at: load.at,
        }),
        orphan_share: shown_share(meter, now, record.complete),
        stored_lately: stored_lately(known, index, at),
    }
}

/// Returns the last event or request of a worker that left discovery, where they go on.
fn lives_on(worker: &WorkerRecord, record: &RankRecord, at: Timestamp) -> Option<Timestamp> {
    let left = worker.left.filter(|_| worker.gone && worker.joined.is_some());
    let last = record.last_event.max(record.last_routed);
    let (left, last) = left.zip(last)?;
    (last > left.after(LEAVING) && at.since(last) <= MINUTE).then_some(last)
}

/// Returns the requests in an engine, whose metrics the pod of its worker serves.
fn in_engine(
    known: &Knowledge,
    record: &RankRecord,
    worker: Option<&WorkerRecord>,
    at: Timestamp,
) -> InEngine {
    let value = |known: &Option<Measured<u64>>| known.as_ref().map(|known| known.value);
    let pod = worker.and_then(|worker| worker.pod.as_ref());
    let queue = pod.and_then(|pod| known.routing.latencies.of_pod(LatencyName::Queue, pod, at));
    let queue_time = queue.and_then(|queue| Duration::try_from_secs_f64(queue.p95).ok());
    let ScrapedRoom { running, waiting, .. } = &record.scraped;
    InEngine { running: value(running), waiting: value(waiting), queue_time }
}

/// Returns what a worker belongs to, by its pod where that is known.
fn belongs(
    fleet: &Fleet,
    worker: Option<&WorkerRecord>,
    pod: Option<&Pod>,
    subjects: &[Subject],
) -> Belongs {
    let named = || worker.and_then(|worker| worker.component.as_ref());
    let component = pod.and_then(|pod| pod.component.as_ref()).or_else(named);
    Belongs {
        graph: pod.and_then(|pod| pod.graph.as_ref()).map(ToString::to_string),
        component: component.map(ToString::to_string),
        model: fleet.model(subjects).map(|model| model.to_string()),
    }
}

/// Returns the requests routed to a rank per second over the last minute.
fn routed_per_second(known: &Knowledge, index: usize, at: Timestamp) -> f64 {
    let routed = known.record.meters.routed_by_rank.get(index);
    routed.map_or(0.0, |series| series.rate(at, known.times.since_logs(), MINUTE))
}

/// Returns blocks stored per second over the last minutes, in the points of a graph in a row.
fn stored_lately(known: &Knowledge, index: usize, at: Timestamp) -> Series {
    let window =
        Window { now: at, since: known.times.since_kv(), length: RANK_WINDOW, points: ROW_POINTS };
    let meter = known.record.meters.ranks.get(index).filter(|_| index < GRAPHED);
    Series { points: meter.map_or_else(Vec::new, |meter| meter.stored_blocks.points(&window)) }
}

/// Returns whom claims about a rank may name: its worker and its pod. What the manifest says of its
/// component is about the next pod, which may be started with something else.
pub(in crate::engine) fn subjects(record: &RankRecord, pod: Option<&str>) -> Vec<Subject> {
    let mut subjects = vec![Subject::Worker(record.rank.worker), Subject::Deployment];
    let Some(pod) = pod else { return subjects };
    subjects.push(Subject::Pod(pod.into()));
    subjects
}

/// Returns how many blocks are held, and in use as engines report, of the ranks whose past is not
/// known; none if no engine reports any, or at least as many are held. Engines count a block that is only cached as
/// free, so the held blocks may be others than those in use.
pub(in crate::engine) fn coverage(known: &Knowledge) -> Option<(u64, u64)> {
    let warming = |it: &&RankRecord| it.last_event.is_some() && !it.complete && it.doubt.is_none();
    let (mut held, mut used) = (0, 0);
    for record in known.fleet.workers.ranks().iter().filter(warming) {
        let in_use = record.used_blocks.as_ref().map(|measured| measured.value).or_else(|| {
            let pod = known.fleet.workers.worker(record.rank.worker).and_then(|w| w.pod.as_deref());
            let subjects = subjects(record, pod);
            let capacity = room::capacity(&known.fleet.claims, record, &subjects)?;
            let share = room::utilization(record, Some(&capacity))?.value;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
            Some((share * capacity.value as f64) as u64)
        });
        let in_use = in_use.unwrap_or(0);
        used = in_use.saturating_add(used);
        held += known.index.mirror.counts(record.rank).held[0].min(in_use);
    }
    (held < used).then_some((held, used))
}

/// Returns what every rank that is there holds and uses.
pub(in crate::engine) fn ranks_now(fleet: &Fleet, mirror: &Mirror, at: Timestamp) -> Vec<RankNow> {
    let now = |(index, record): (usize, &RankRecord)| {
        if !fleet.is_there(record.rank.worker) {
            return None;
        }
        let worker = fleet.workers.worker(record.rank.worker);
        let subjects = subjects(record, worker.and_then(|w| w.pod.as_deref()));
        let used =
            room::utilization(record, room::capacity(&fleet.claims, record, &subjects).as_ref());
        Some(RankNow {
            index,
            rank: record.rank,
            accepted: mirror.counts(record.rank).accepted[0],
            utilization: used.map(|sourced| sourced.value),
            hit_rate: record.found_share(at).map(|measured| measured.value),
        })
    };
    fleet.workers.ranks().iter().enumerate().filter_map(now).collect()
}

/// Returns the sizes that each says, and what is in effect where a setting is overruled: a live card beats the
/// flag, which engines override. TensorRT-LLM's card says nothing of its engine's size.
fn block_sizes(
    fleet: &Fleet,
    subjects: &[Subject],
    proven: Option<u32>,
    backend: Option<Backend>,
) -> BlockSizes {
    let tokens = |size: u64| u32::try_from(size).ok();
    let claimed = |of| fleet.claims.count(ClaimWhat::BlockSize, of, subjects);
    let observed = |stored: &StoredClaim| stored.claim.basis == Basis::Observed;
    let card = claimed(ClaimOf::Card);
    let live = card.filter(|(_, stored)| observed(stored)).map(|(size, _)| size);
    let in_effect = |of, follows: bool| {
        let (size, stored) = claimed(of)?;
        tokens(live.filter(|_| follows && !observed(stored)).unwrap_or(size))
    };
    let follows = backend.is_some_and(|backend| backend != Backend::TrtLlm);
    let model = fleet.model(subjects);
    let router = fleet.claims.count_for(ClaimWhat::BlockSize, ClaimOf::Router, model.as_deref());
    BlockSizes {
        proven,
        engine: in_effect(ClaimOf::Engine, follows),
        publisher: in_effect(ClaimOf::Publisher, true),
        card: card.and_then(|(size, _)| tokens(size)),
        router: router.and_then(|(size, _)| tokens(size)),
    }
}

pub(super) fn totals(known: &Knowledge, rows: &[WorkerRow], at: Timestamp) -> Totals {
    let mut counters = Counters::default();
    for row in rows {
        counters.add(&row.counters);
    }
    let present = rows.iter().filter(|row| !row.gone);
    let used = present.filter_map(|row| row.kv_utilization.as_ref().map(|value| value.value));
    let (count, sum) = used.fold((0_u32, 0.0), |(n, sum), value| (n + 1, sum + value));
    let (accepted, held) = blocks(known, rows);
    let rates = match known.options.dgd {
        None => {
            let total = &known.record.meters.total;
            total.rate_set(at, known.times.since_kv())
        }
        Some(_) => RateSet::sum(rows.iter().map(|row| row.rates)),
    };
    Totals {
        counters,
        rates,
        accepted,
        held,
        kv_utilization: (count > 0).then(|| sum / f64::from(count)),
        counted_share: counted_share(known, at)
            .filter(|_| super::catching_up(&known.streams).is_none()),
        orphan_share: orphan_share(known, at)
            .filter(|_| super::catching_up(&known.streams).is_none()),
    }
}

/// Returns the blocks accepted and held by those in `rows`, of the device tier.
pub(super) fn blocks(known: &Knowledge, rows: &[WorkerRow]) -> (u64, u64) {
    if known.options.dgd.is_none() {
        let tree = known.index.mirror.totals();
        return (tree.accepted, tree.held);
    }
    rows.iter().fold((0, 0), |(accepted, held), row| (accepted + row.accepted, held + row.held))
}

/// Returns refused stores of one rank as a share of its stores; none while history is read, or while only counters tell
/// that routers reject some.
fn shown_share(meter: Option<&KvMeter>, now: &Now, complete: bool) -> Option<f64> {
    let share = meter.filter(|_| !now.reading)?.orphan_share(now.at, now.warned, complete);
    share.filter(|share| !now.doubted || *share > 0.0)
}

/// Returns stores that routers rejected over the last minute as a share of those that they counted themselves.
fn counted_share(known: &Knowledge, at: Timestamp) -> Option<f64> {
    known.setup().counted_share(known.times.slots.slot(at.before(MINUTE)))
}

/// Returns refused stores of the chosen workers that are there as a share of their stores over the last
/// minute; workers that left do not count. None while the share of one of them is unknown.
fn orphan_share(known: &Knowledge, at: Timestamp) -> Option<f64> {
    let is_there = |(_, record): &(usize, &RankRecord)| {
        known.fleet.workers.worker(record.rank.worker).is_none_or(|worker| !worker.gone)
    };
    let warned = known.routing.router.is_refusing(at, MINUTE);
    let (mut stores, mut refused) = (0, 0);
    for (index, record) in chosen(known).filter(is_there) {
        let Some(meter) = known.record.meters.ranks.get(index) else { continue };
        match meter.last_minute(at, warned, record.complete) {
            Some((more, bad)) => (stores, refused) = (stores + more, refused + bad),
            None if meter.is_storing(at) => return None,
            None => {}
        }
    }
    (stores > 0).then(|| refused as f64 / stores as f64)
}

impl Fleet {
    /// Returns the model that a worker serves, when discovery says so.
    pub(in crate::engine) fn model(&self, subjects: &[Subject]) -> Option<Arc<str>> {
        let said = self.claims.best(ClaimWhat::Model, &[ClaimOf::Card], subjects)?;
        match &said.claim.value {
            ClaimValue::Text(model) => Some(Arc::clone(model)),
            ClaimValue::Count(_) | ClaimValue::Flag(_) | ClaimValue::Millionths(_) => None,
        }
    }
}
