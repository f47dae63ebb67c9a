//! Snapshots: what front ends get of everything the engine knows.

mod answer;
mod cluster;
mod event;
mod explore;
mod memory;
mod room;
mod router;
mod span;
mod workers;

use std::sync::Arc;

use super::judge::Verdicts;
use super::known::EventSign;
use super::{Knowledge, Streams};
use crate::diagnose::Thresholds;
use crate::domain::{Claim, SourceName, SourceNote, SourceState, Subject, Timestamp, WorkerRank};
use crate::mirror::Semantics;
use crate::model::{Measured, OverlapBy, Reading, RejectLog, Sources, StoredClaim};
use crate::snapshot::{
    CatchingUp, ClaimRow, Deployment, EventRow, Feed, Felt, Limits, PodRow, RejectRow, Rejects,
    Series, SeriesSet, Snapshot, SourceRow, Sourced, TreeSummary, ViewQuery, WorkerRow,
    ranks_beyond,
};
use crate::wire::Shape;

pub(super) use explore::{page as explore, prefixes};
pub(super) use room::{capacity, utilization};
pub(super) use router::{felt_now, whole};
pub(super) use workers::{ranks_now, subjects};

/// Rows of the last picture that seldom change: the next one shares them while they are the same.
#[derive(Debug, Default)]
pub(super) struct Lasting {
    claims: Arc<Vec<ClaimRow>>,
    pods: Arc<Vec<PodRow>>,
}

impl Lasting {
    /// Takes the rows of the present picture.
    fn update(&mut self, known: &Knowledge) {
        let pods = cluster::pods(&known.setup());
        if *self.pods != pods {
            self.pods = pods.into();
        }
        if !claims(known).map(|stored| (&stored.claim, stored.first)).eq(self.known_claims()) {
            let row =
                |stored: &StoredClaim| ClaimRow { claim: stored.claim.clone(), at: stored.first };
            self.claims = claims(known).map(row).collect::<Vec<_>>().into();
        }
    }

    fn known_claims(&self) -> impl Iterator<Item = (&Claim, Timestamp)> {
        self.claims.iter().map(|row| (&row.claim, row.at))
    }
}

pub(super) fn snapshot(
    known: &Knowledge,
    verdicts: &Verdicts,
    lasting: &mut Lasting,
    query: &ViewQuery,
    at: Timestamp,
) -> Snapshot {
    lasting.update(known);
    let workers = workers::rows(known, verdicts, at);
    let totals = workers::totals(known, &workers, at);
    Snapshot {
        at,
        since: known.times.first.unwrap_or(at),
        newest: known.times.told,
        frames: known.times.frames,
        feed: Feed::Live,
        deployment: deployment(known),
        memory: memory::rows(known, at).into(),
        curve: known.capacity_curve(at),
        pods: Arc::clone(&lasting.pods),
        totals,
        router: router::summary(known, at),
        felt: felt(known, query, at),
        before: query.compare.map(|then| known.record.meters.felt_at(then)),
        tree: tree(known, &workers, at),
        prefixes: None,
        foresight: None,
        claims: Arc::clone(&lasting.claims),
        sources: sources(known, at),
        ledger: known.streams.ledger(&known.fleet, at),
        catching_up: catching_up(&known.streams),
        rejects: rejects(&known.streams.rejects),
        series: series(known, query, at),
        events: events(known, query.events),
        decisions: router::decisions(known, query.decisions),
        findings: verdicts.findings(&known.setup()),
        past: verdicts.past(),
        checks: verdicts.checks(),
        raises: verdicts.raises(),
        coverage: verdicts.coverage.clone(),
        limits: limits(&known.options.thresholds),
        answer: answer::answer(known, query, at),
        fleet: None,
        workers: workers.into(),
    }
}

/// Returns the thresholds that figures are compared with.
fn limits(thresholds: &Thresholds) -> Limits {
    Limits {
        pressure: thresholds.pressure,
        rejected: thresholds.loss_share,
        empty: thresholds.empty_share,
        stores: thresholds.min_stores,
    }
}

/// Returns Dynamo's version as well as is known, and how.
fn version(known: &Knowledge) -> (Option<String>, Option<String>) {
    use crate::domain::{ClaimWhat, Release};
    if let Some((version, source)) = &known.options.version {
        return (Some(version.clone()), Some(source.clone()));
    }
    let family = known.family();
    if let Some([(_, old, _), (_, new, _)]) = &family.mixed {
        return (Some(format!("{old} and {new}")), Some("mixed, see KVT019".to_owned()));
    }
    // A tag names the patch level too; what processes do may contradict it.
    let tagged = known.fleet.claims.text(ClaimWhat::DynamoVersion);
    let fits = |tag: &str| {
        let release = Release::parse(tag);
        family.releases.is_open() || release.is_some() && release == family.releases.single()
    };
    match tagged.filter(|(tag, _)| fits(tag)) {
        Some((tag, stored)) => (Some(tag.to_string()), Some(stored.claim.source.to_string())),
        None if family.releases.is_open() => (None, None),
        None => (Some(family.releases.to_string()), Some(family.by.join(", "))),
    }
}

fn deployment(known: &Knowledge) -> Deployment {
    use crate::domain::ClaimWhat;
    let shape = known.streams.deployment.shape;
    let (version, version_source) = version(known);
    let semantics = match shape {
        None => "not known yet",
        Some(Shape::Plain) => "per block (0.9, 1.0)",
        Some(_) => "edge truncating (1.1 and later)",
    };
    Deployment {
        label: known.options.label.clone(),
        asked: known.options.asked.clone(),
        version,
        version_source,
        namespace: known
            .fleet
            .foreign
            .chosen()
            .or(known.streams.deployment.namespace.as_ref())
            .map(ToString::to_string),
        model: known.fleet.claims.text(ClaimWhat::Model).map(|(name, _)| name.to_string()),
        event_plane: known.streams.deployment.plane.map(|plane| plane.name().to_owned()),
        semantics: semantics.to_owned(),
        dgd: known.setup().looked_at(),
        chosen: known.options.dgd.clone(),
        graphs: cluster::graphs(&known.shown.cluster),
        foreign: known.fleet.ignored(),
    }
}

/// Returns the last entries of the journal, but those about another graph deployment than the chosen one.
fn events(known: &Knowledge, count: usize) -> Vec<EventRow> {
    known.record.journal.last(count, |worker, who| {
        let ours = |subject| known.setup().is_chosen(&subject);
        known.options.dgd.is_none()
            || worker.is_none_or(|worker| ours(Subject::Worker(worker)))
                && ours(Subject::Pod(who.into()))
    })
}

/// Returns the sums of the mirror; of what the workers in `rows` hold, where those are not all.
fn tree(known: &Knowledge, rows: &[WorkerRow], at: Timestamp) -> TreeSummary {
    let totals = known.index.mirror.totals();
    let (accepted, held) = workers::blocks(known, rows);
    let orphans = if known.options.dgd.is_some() { held - accepted } else { totals.orphan_blocks };
    TreeSummary {
        accepted_blocks: accepted,
        held_blocks: held,
        // What is shared with others is not counted apart.
        distinct_blocks: totals.distinct.min(accepted),
        orphan_roots: totals.orphan_roots.min(orphans),
        orphan_blocks: orphans,
        edges: totals.edges,
        memory_bytes: totals.memory_bytes,
        memory_limit: known.options.memory_limit as u64,
        shed_blocks: totals.shed_blocks,
        behind: totals.behind,
        incomplete: gaps(known, totals.shed_blocks, at),
    }
}

/// Returns what users felt in the minute before the end of the graphs.
fn felt(known: &Knowledge, query: &ViewQuery, at: Timestamp) -> Felt {
    match query.until.filter(|until| *until < at) {
        Some(until) => known.record.meters.felt_at(until),
        None => felt_now(&known.routing, &known.record.meters, &known.options.objectives, at),
    }
}

/// Returns why the mirror may differ from a router's index, missing events included.
fn gaps(known: &Knowledge, shed: u64, at: Timestamp) -> Vec<String> {
    let mut reasons = incomplete(known, shed, at);
    let told = known.streams.history.lost > 0 && known.streams.lacks_events(&known.fleet, at);
    if let Some(hole) = known.streams.hole(&known.fleet, at).filter(|_| !told) {
        reasons.push(hole.sentence());
    }
    reasons
}

/// Returns every claim about what was chosen; none where only verdicts and present figures are wanted.
fn claims(known: &Knowledge) -> impl Iterator<Item = &StoredClaim> {
    let all = known.fleet.claims.all().filter(|_| !known.options.brief);
    all.filter(|stored| known.setup().is_chosen(&stored.claim.subject))
}

/// Returns how much of what engines report in use is held at most, as the beginning of a sentence.
fn coverage(known: &Knowledge) -> Option<String> {
    let (held, used) = workers::coverage(known)?;
    let share = match held.saturating_mul(100).div_ceil(used) {
        0 => "none".to_owned(),
        percent => format!("at most {percent} %"),
    };
    Some(format!("held {share} of the blocks that engines report in use; "))
}

/// Returns why the mirror may differ from a router's index.
pub(super) fn incomplete(known: &Knowledge, shed: u64, at: Timestamp) -> Vec<String> {
    let mut reasons = Vec::new();
    // No index has blocks of a worker that is gone.
    let present = known.fleet.present_ranks();
    let ranks = known.fleet.workers.ranks();
    let unknown = present
        .iter()
        .filter_map(|index| ranks.get(*index as usize))
        .filter(|it| it.last_event.is_some() && !it.complete && it.doubt.is_none())
        .count();
    if unknown > 0 {
        // The numbers first: they are what is left where there is little room.
        let fate = if known.streams.history.is_partial() {
            "older blocks are still to be read"
        } else {
            "blocks stored before kvtop attached are unknown"
        };
        reasons.push(format!(
            "{}{unknown} of {} ranks: {fate}",
            coverage(known).unwrap_or_default(),
            present.len(),
        ));
    }
    let lacks = known.streams.lacks_events(&known.fleet, at);
    if lacks && known.streams.history.lost > 0 {
        let why = match known.streams.history.missed {
            0 => String::new(),
            missed if missed == known.streams.history.lost => {
                ": kvtop's connection was away".to_owned()
            }
            missed => format!(", {missed} of them while kvtop's connection was away"),
        };
        reasons
            .push(format!("{} messages of KV events are missing{why}", known.streams.history.lost));
    }
    for (name, record) in known.streams.sources.all() {
        let Some(note) = &record.note else { continue };
        let dropped = note.dropped > 0 || note.drops_uncounted > 0;
        if dropped && (lacks || !known.streams.brings_events(name)) {
            let least = if note.drops_uncounted > 0 { "at least " } else { "" };
            let dropped = note.dropped.max(1);
            reasons.push(format!("kvtop dropped {least}{dropped} frames of {name}"));
        }
    }
    if shed > 0 {
        reasons.push(format!("{shed} blocks were let go to stay within the memory bound"));
    }
    if known.fleet.workers.refused() > 0 {
        reasons.push(ranks_beyond(known.fleet.workers.limit()));
    }
    if known.fleet.claims.evicted() > 0 {
        let evicted = known.fleet.claims.evicted();
        reasons.push(format!("the oldest {evicted} claims about settings were let go"));
    }
    reasons.extend(other_semantics(known).map(str::to_owned));
    reasons
}

/// Returns why the index copy does not treat the events of every worker that is there as its routers do: they are of
/// several versions, or of another one than those that it began with.
fn other_semantics(known: &Knowledge) -> Option<&'static str> {
    let signs = known.fleet.workers.ranks().iter().zip(&known.fleet.signed);
    let signs = signs.filter(|(record, _)| known.fleet.is_there(record.rank.worker));
    let per_block =
        |(_, sign): (_, &Option<EventSign>)| sign.map(|(shape, ..)| shape == Shape::Plain);
    let mut shapes = signs.filter_map(per_block);
    let first = shapes.next()?;
    if shapes.any(|shape| shape != first) {
        return Some("events of different Dynamo versions are mixed");
    }
    let other = first != (known.index.mirror.semantics() == Semantics::PerBlock);
    (known.streams.deployment.changed && other).then_some(
        "the index copy removes blocks as routers of an earlier Dynamo version do: restart kvtop",
    )
}

fn sources(known: &Knowledge, at: Timestamp) -> Vec<SourceRow> {
    use std::time::Duration;
    let lossy = known.streams.lossy(&known.fleet, at);
    let row = |(name, record): (&SourceName, &crate::model::SourceRecord)| {
        let note = record.note.as_ref();
        // History comes over the connection to NATS and has no note of its own.
        let carrier = note.or_else(|| carrier(&known.streams.sources, name));
        let frames = known.record.meters.frames.get(name);
        let state = carrier.map_or(SourceState::Live, |note| note.state);
        let why = note.map(|note| note.why.to_string()).unwrap_or_default();
        // A source does not read what it passes on, so that holes in the numbers are found here.
        let lossy = lossy
            .as_ref()
            .filter(|_| known.streams.brings_events(name) && state == SourceState::Live);
        SourceRow {
            name: name.clone(),
            state: if lossy.is_some() { SourceState::Lossy } else { state },
            peers: note.and_then(|note| note.peers),
            troubles: note.map(|note| note.troubles.clone()).unwrap_or_default(),
            why: match lossy {
                Some(hole) if why.is_empty() => {
                    format!("{}; {}", hole.sentence(), hole.awaited(at))
                }
                _ => why,
            },
            retry_at: note
                .and_then(|note| note.retry_ms.map(|ms| note.at.after(Duration::from_millis(ms)))),
            rtt: note.and_then(|note| note.rtt_us).map(Duration::from_micros),
            frames: record.frames,
            frames_per_second: frames
                .map_or(0.0, |(since, series)| series.rate(at, *since, Duration::from_secs(10))),
            rejects: record.rejects,
            gaps: record.gaps,
            dropped: note.map_or(0, |note| note.dropped),
            drops_uncounted: note.is_some_and(|note| note.drops_uncounted > 0),
            interruptions: note.map_or(0, |note| note.interruptions),
            last_frame: record.last_frame,
            pending: note.is_some_and(|note| note.pending),
            history: note.and_then(|note| note.history.clone()),
        }
    };
    known.streams.sources.all().map(row).collect()
}

/// Returns how far histories are read; none once they all have been.
pub(super) fn catching_up(streams: &Streams) -> Option<CatchingUp> {
    use std::time::Duration;
    let readings = streams.sources.all().flat_map(|(_, record)| record.readings.values());
    let open: Vec<&Reading> = readings.filter(|reading| reading.behind() > 0).collect();
    let sum =
        |count: fn(&Reading) -> u64| open.iter().map(|it| count(it)).fold(0, u64::saturating_add);
    let total = sum(|reading| reading.note.total());
    let read = sum(|reading| reading.note.read.min(reading.note.total()));
    // Streams are read one after the other.
    let speed = open.iter().filter_map(|reading| reading.speed()).reduce(f64::max);
    let seconds = speed.map(|speed| total.saturating_sub(read) as f64 / speed);
    let left = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    (!open.is_empty()).then(|| CatchingUp {
        read,
        total,
        left,
        ahead: streams.history.is_partial(),
    })
}

/// Returns what is said of the source that `name` is read through.
fn carrier<'a>(sources: &'a Sources, name: &SourceName) -> Option<&'a SourceNote> {
    let mut all = sources.all().filter(|_| *name == SourceName::JetStream);
    all.find(|(known, _)| **known == SourceName::Nats)?.1.note.as_ref()
}

fn rejects(rejects: &RejectLog) -> Rejects {
    Rejects {
        count: rejects.count(),
        live: rejects.live(),
        reasons: rejects
            .reasons()
            .map(|(origin, why, record)| RejectRow {
                origin: origin.to_owned(),
                why: why.to_owned(),
                count: record.count,
                first: record.first,
                sample: record.sample.clone(),
            })
            .collect(),
    }
}

fn sourced<T: Clone>(measured: &Measured<T>) -> Sourced<T> {
    Sourced { value: measured.value.clone(), source: measured.source.clone(), at: measured.at }
}

fn series(known: &Knowledge, query: &ViewQuery, at: Timestamp) -> SeriesSet {
    let meters = &known.record.meters;
    let window = span::window(known, query, at);
    let points = |points| Series { points };
    let router = &known.routing.router;
    let by = OverlapBy::ALL
        .into_iter()
        .find(|by| router.overlaps.is_best(*by))
        .unwrap_or(OverlapBy::Decision) as usize;
    let known = meters.overlap_known[by].points(&window);
    let hit = meters.overlap_hit[by].points(&window);
    let share = |(hit, known): (Option<f64>, Option<f64>)| match (hit, known) {
        (Some(hit), Some(known)) if known > 0.0 => Some(hit / known),
        _ => None,
    };
    SeriesSet {
        window: query.window,
        until: query.until,
        stores: points(meters.total.stores.points(&window)),
        stored_blocks: points(meters.total.stored_blocks.points(&window)),
        removals: points(meters.total.removals.points(&window)),
        refused: points(meters.total.refused.points(&window)),
        known_refused: points(meters.total.known_refused.points(&window)),
        routers_refused: points(meters.total.routers_refused.points(&window)),
        refused_blocks: points(meters.total.refused_blocks.points(&window)),
        unknown_removals: points(meters.total.unknown_removals.points(&window)),
        tree_size: points(meters.tree_size.points(&window)),
        kv_utilization: points(meters.utilization.points(&window)),
        kv_utilization_by_rank: meters
            .utilization_by_rank
            .iter()
            .map(|(rank, series)| (*rank, points(series.points(&window))))
            .collect::<Vec<(WorkerRank, Series)>>(),
        routed: points(meters.routed.points(&window)),
        hit_share: points(hit.into_iter().zip(known).map(share).collect()),
        cached_share: points(meters.felt[0].points(&window)),
        ttft_p50: points(meters.felt[2].points(&window)),
        ttft_p95: points(meters.felt[3].points(&window)),
    }
}
