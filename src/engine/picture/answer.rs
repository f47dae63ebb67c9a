//! Answers to what only one view asks.

use std::time::Duration;

use crate::domain::{Timestamp, WorkerRank};
use crate::engine::Engine;
use crate::metrics::{CountSeries, GaugeSeries, RANK_WINDOW, Window};
use crate::model::RankRecord;
use crate::snapshot::{Answer, Ask, Series, ViewQuery, WorkerDetail};

pub(super) fn of(engine: &Engine, query: &ViewQuery, at: Timestamp) -> Answer {
    let answer = match query.ask {
        // The tree is looked at with what is remembered from the last look.
        Ask::Nothing | Ask::Tree(_) => None,
        Ask::Worker(rank) => {
            worker(engine, rank, query, at).map(|detail| Answer::Worker(Box::new(detail)))
        }
        Ask::Routing(number) => {
            Some(Answer::Routing(Box::new(super::router::detail(engine, number, query, at))))
        }
        Ask::Event(number) => Some(Answer::Event(Box::new(super::event::detail(engine, number)))),
    };
    answer.unwrap_or_default()
}

/// Returns the window of a graph about one rank, whose history is shorter than that of the totals. It
/// begins when the rank is known to have been there: before that nothing is known of it.
pub(super) fn rank_window(
    engine: &Engine,
    record: &RankRecord,
    query: &ViewQuery,
    at: Timestamp,
) -> Window {
    let window = super::window(engine, query, at);
    let joined = engine.workers.worker(record.rank.worker).and_then(|worker| worker.joined);
    let seen = joined.into_iter().chain(record.begun).min();
    Window {
        since: seen.map_or(window.since, |seen| seen.max(window.since)),
        length: rank_span(query),
        ..window
    }
}

/// Returns how much time such a graph covers.
pub(super) fn rank_span(query: &ViewQuery) -> Duration {
    query.window.min(RANK_WINDOW)
}

fn worker(
    engine: &Engine,
    rank: WorkerRank,
    query: &ViewQuery,
    at: Timestamp,
) -> Option<WorkerDetail> {
    let index = engine.workers.ranks().iter().position(|record| record.rank == rank)?;
    let record = engine.workers.ranks().get(index)?;
    let window = rank_window(engine, record, query, at);
    let counts = |series: Option<&CountSeries>| Series {
        points: series.map_or_else(Vec::new, |series| series.points(&window)),
    };
    let gauge = |series: Option<&GaugeSeries>| Series {
        points: series.map_or_else(Vec::new, |series| series.points(&window)),
    };
    let meter = engine.meters.ranks.get(index);
    let gauges = engine.meters.gauges_by_rank.get(index);
    Some(WorkerDetail {
        rank,
        stores: counts(meter.map(|meter| &meter.stores)),
        stored_blocks: counts(meter.map(|meter| &meter.stored_blocks)),
        removals: counts(meter.map(|meter| &meter.removals)),
        refused: counts(meter.map(|meter| &meter.refused)),
        refused_blocks: counts(meter.map(|meter| &meter.refused_blocks)),
        unknown_removals: counts(meter.map(|meter| &meter.unknown_removals)),
        routed: counts(engine.meters.routed_by_rank.get(index)),
        accepted: gauge(gauges.map(|gauges| &gauges.accepted)),
        kv_utilization: gauge(gauges.map(|gauges| &gauges.utilization)),
        hit_rate: gauge(gauges.map(|gauges| &gauges.hit_rate)),
        window: window.length,
    })
}
