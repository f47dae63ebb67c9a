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

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Engine;
use crate::diagnose::Thresholds;
use crate::domain::{SourceNote, SourceState, Subject, Timestamp, WorkerRank};
use crate::model::{Measured, OverlapBy, Reading};
use crate::snapshot::{
    CatchingUp, ClaimRow, Deployment, EventRow, Feed, Hole, Limits, RejectRow, Rejects, Series,
    SeriesSet, Snapshot, SourceRow, Sourced, TreeSummary, ViewQuery, WorkerRow,
};
use crate::wire::Shape;

pub(super) use cluster::{is_chosen, looked_at};
pub(super) use explore::{of as explore, prefixes};
pub(super) use room::{capacity, utilization};
pub(super) use router::{felt_now, whole};
pub(super) use workers::{model, ranks_now, subjects};

pub(super) fn of(engine: &Engine, query: &ViewQuery, at: Timestamp) -> Snapshot {
    let workers = workers::rows(engine, at);
    let totals = workers::totals(engine, &workers, at);
    Snapshot {
        at,
        since: engine.times.first.unwrap_or(at),
        newest: engine.times.told,
        frames: engine.frames,
        feed: Feed::Live,
        deployment: deployment(engine),
        memory: memory::rows(engine, at),
        pods: cluster::pods(engine),
        totals,
        router: router::summary(engine, at),
        felt: engine.meters.felt_at(query.until.map_or(at, |until| until.min(at))),
        before: query.compare.map(|then| engine.meters.felt_at(then)),
        tree: tree(engine, &workers),
        prefixes: None,
        claims: engine
            .claims
            .all()
            .filter(|stored| cluster::is_chosen(engine, &stored.claim.subject))
            .map(|stored| ClaimRow { claim: stored.claim.clone(), at: stored.first })
            .collect(),
        sources: sources(engine, at),
        ledger: engine.ledger(at),
        catching_up: catching_up(engine),
        rejects: rejects(engine),
        series: series(engine, query, at),
        events: events(engine, query.events),
        decisions: router::decisions(engine, query.decisions),
        findings: engine.findings(),
        past: Arc::clone(&engine.past.1),
        checks: engine.checks(),
        raises: raises(engine),
        coverage: engine.coverage.clone(),
        limits: limits(&engine.options.thresholds),
        answer: answer::of(engine, query, at),
        workers,
    }
}

/// Returns how often each finding was raised.
fn raises(engine: &Engine) -> BTreeMap<&'static str, u64> {
    let judged = engine.preview.as_ref().map_or(&engine.diagnosis, |(_, preview)| preview);
    judged.checks().into_iter().map(|check| (check.rule.id(), check.raises)).collect()
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
fn version(engine: &Engine) -> (Option<String>, Option<String>) {
    use crate::domain::{ClaimWhat, Release};
    if let Some((version, source)) = &engine.options.version {
        return (Some(version.clone()), Some(source.clone()));
    }
    let family = engine.versions.family();
    if let Some([(_, old, _), (_, new, _)]) = &family.mixed {
        return (Some(format!("{old} and {new}")), Some("mixed, see KVT019".to_owned()));
    }
    // A tag names the patch level too; what processes do may contradict it.
    let tagged = engine.claims.text(ClaimWhat::DynamoVersion);
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

fn deployment(engine: &Engine) -> Deployment {
    use crate::domain::ClaimWhat;
    let shape = engine.deployment.shape;
    let (version, version_source) = version(engine);
    let semantics = match shape {
        None => "not known yet",
        Some(Shape::Plain) => "per block (0.9, 1.0)",
        Some(_) => "edge truncating (1.1 and later)",
    };
    Deployment {
        label: engine.options.label.clone(),
        asked: engine.options.asked.clone(),
        version,
        version_source,
        namespace: engine.deployment.namespace.as_ref().map(ToString::to_string),
        model: engine.claims.text(ClaimWhat::Model).map(|(name, _)| name.to_string()),
        event_plane: engine.deployment.plane.map(str::to_owned),
        semantics: semantics.to_owned(),
        dgd: cluster::looked_at(engine),
        chosen: engine.options.dgd.clone(),
        graphs: cluster::graphs(engine),
        foreign: engine.ignored(),
    }
}

/// Returns the last entries of the journal, but those about another graph deployment than the chosen one.
fn events(engine: &Engine, count: usize) -> Vec<EventRow> {
    engine.journal.last(count, |worker, who| {
        let ours = |subject| cluster::is_chosen(engine, &subject);
        engine.options.dgd.is_none()
            || worker.is_none_or(|worker| ours(Subject::Worker(worker)))
                && ours(Subject::Pod(who.into()))
    })
}

/// Returns the sums of the mirror; of what the workers in `rows` hold, where those are not all.
fn tree(engine: &Engine, rows: &[WorkerRow]) -> TreeSummary {
    let totals = engine.mirror.totals();
    let (accepted, held) = workers::blocks(engine, rows);
    let orphans = if engine.options.dgd.is_some() { held - accepted } else { totals.orphan_blocks };
    TreeSummary {
        accepted_blocks: accepted,
        held_blocks: held,
        // What is shared with others is not counted apart.
        distinct_blocks: totals.distinct.min(accepted),
        orphan_roots: totals.orphan_roots.min(orphans),
        orphan_blocks: orphans,
        edges: totals.edges,
        memory_bytes: totals.memory_bytes,
        memory_limit: engine.options.memory_limit as u64,
        shed_blocks: totals.shed_blocks,
        behind: totals.behind,
        incomplete: incomplete(engine, totals.shed_blocks),
    }
}

/// Returns why the mirror may differ from a router's index.
pub(super) fn incomplete(engine: &Engine, shed: u64) -> Vec<String> {
    let mut reasons = Vec::new();
    let ranks = engine.workers.ranks();
    let unknown =
        ranks.iter().filter(|it| it.last_event.is_some() && !it.complete && !it.lost).count();
    if unknown > 0 {
        let coverage = workers::coverage(engine).map(|(held, used)| {
            let percent = held.saturating_mul(100) / used;
            format!("held {percent} % of the blocks that engines report in use; ")
        });
        // The numbers first: they are what is left where there is little room.
        reasons.push(format!(
            "{}{unknown} of {} ranks: blocks stored before kvtop attached are unknown",
            coverage.as_deref().unwrap_or_default(),
            ranks.len(),
        ));
    }
    if engine.history.lost > 0 {
        let why = match engine.history.missed {
            0 => String::new(),
            missed if missed == engine.history.lost => ": kvtop's connection was away".to_owned(),
            missed => format!(", {missed} of them while kvtop's connection was away"),
        };
        reasons.push(format!("{} messages of KV events are missing{why}", engine.history.lost));
    }
    for (name, record) in engine.sources.all() {
        let Some(note) = &record.note else { continue };
        if note.dropped > 0 || note.drops_uncounted > 0 {
            let least = if note.drops_uncounted > 0 { "at least " } else { "" };
            let dropped = note.dropped.max(1);
            reasons.push(format!("kvtop dropped {least}{dropped} frames of {name}"));
        }
    }
    if shed > 0 {
        reasons.push(format!("{shed} blocks were let go to stay within the memory bound"));
    }
    if engine.workers.refused() > 0 {
        reasons.push("there are more workers than kvtop keeps".to_owned());
    }
    if engine.claims.evicted() > 0 {
        let evicted = engine.claims.evicted();
        reasons.push(format!("the oldest {evicted} claims about settings were let go"));
    }
    if engine.deployment.mixed {
        reasons.push("events of different Dynamo versions are mixed".to_owned());
    }
    reasons
}

fn sources(engine: &Engine, at: Timestamp) -> Vec<SourceRow> {
    use std::time::Duration;
    let lossy = engine.lossy(at);
    let row = |(name, record): (&std::sync::Arc<str>, &crate::model::SourceRecord)| {
        let note = record.note.as_ref();
        // History comes over the connection to NATS and has no note of its own.
        let carrier = note.or_else(|| carrier(engine, name));
        let frames = engine.meters.frames.get(name);
        let state = carrier.map_or(SourceState::Live, |note| note.state);
        let why = note.map(|note| note.why.to_string()).unwrap_or_default();
        // A source does not read what it passes on, so that holes in the numbers are found here.
        let lossy = lossy.filter(|_| engine.brings_events(name) && state == SourceState::Live);
        SourceRow {
            name: name.to_string(),
            state: if lossy.is_some() { SourceState::Lossy } else { state },
            troubles: note.map(|note| note.troubles.clone()).unwrap_or_default(),
            peers: note.and_then(|note| note.peers),
            why: lossy.filter(|_| why.is_empty()).map_or(why, Hole::sentence),
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
    engine.sources.all().map(row).collect()
}

/// Returns how far histories are read; none once they all have been.
pub(super) fn catching_up(engine: &Engine) -> Option<CatchingUp> {
    use std::time::Duration;
    let readings = engine.sources.all().flat_map(|(_, record)| record.readings.values());
    let open: Vec<&Reading> = readings.filter(|reading| reading.behind() > 0).collect();
    let sum =
        |count: fn(&Reading) -> u64| open.iter().map(|it| count(it)).fold(0, u64::saturating_add);
    let total = sum(|reading| reading.note.total());
    let read = sum(|reading| reading.note.read.min(reading.note.total()));
    // Streams are read one after the other.
    let speed = open.iter().filter_map(|reading| reading.speed()).reduce(f64::max);
    let seconds = speed.map(|speed| total.saturating_sub(read) as f64 / speed);
    let left = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    (!open.is_empty()).then_some(CatchingUp { read, total, left })
}

/// Returns what is said of the source that `name` is read through.
fn carrier<'a>(engine: &'a Engine, name: &str) -> Option<&'a SourceNote> {
    let mut all = engine.sources.all().filter(|_| name == "jetstream");
    all.find(|(known, _)| known.as_ref() == "nats")?.1.note.as_ref()
}

fn rejects(engine: &Engine) -> Rejects {
    Rejects {
        count: engine.rejects.count(),
        live: engine.rejects.live(),
        reasons: engine
            .rejects
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
    Sourced { value: measured.value.clone(), source: measured.source.to_string(), at: measured.at }
}

fn series(engine: &Engine, query: &ViewQuery, at: Timestamp) -> SeriesSet {
    let meters = &engine.meters;
    let window = span::window(engine, query, at);
    let points = |points| Series { points };
    let by = OverlapBy::ALL
        .into_iter()
        .find(|by| engine.router.overlaps.is_best(*by))
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
