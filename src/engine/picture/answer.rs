//! Answers to what only one view asks.

use super::span;
use crate::domain::{Timestamp, WorkerRank};
use crate::engine::Engine;
use crate::metrics::{CountSeries, GaugeSeries};
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
        Ask::Lines => Some(Answer::Lines(super::event::log_lines(engine, query.events))),
        Ask::Event(number) => Some(Answer::Event(Box::new(super::event::detail(engine, number)))),
    };
    answer.unwrap_or_default()
}

fn worker(
    engine: &Engine,
    rank: WorkerRank,
    query: &ViewQuery,
    at: Timestamp,
) -> Option<WorkerDetail> {
    let index = engine.workers.ranks().iter().position(|record| record.rank == rank)?;
    let record = engine.workers.ranks().get(index)?;
    let window = span::of_rank(engine, record, query, at);
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
