//! Answers to what only one view asks.

use super::span;
use crate::domain::{Timestamp, WorkerRank};
use crate::engine::Knowledge;
use crate::metrics::{CountSeries, GaugeSeries};
use crate::snapshot::{Answer, Ask, Series, ViewQuery, WorkerDetail};

pub(super) fn answer(known: &Knowledge, query: &ViewQuery, at: Timestamp) -> Answer {
    let answer = match query.ask {
        // The tree is looked at with what is remembered from the last look.
        Ask::Nothing | Ask::Tree(_) => None,
        Ask::Worker(rank) => {
            worker(known, rank, query, at).map(|detail| Answer::Worker(Box::new(detail)))
        }
        Ask::Routing(number) => {
            Some(Answer::Routing(Box::new(super::router::detail(known, number, query, at))))
        }
        Ask::Lines => Some(Answer::Lines(super::event::log_lines(known, query.events))),
        Ask::Event(number) => Some(Answer::Event(Box::new(super::event::detail(known, number)))),
    };
    answer.unwrap_or_default()
}

fn worker(
    known: &Knowledge,
    rank: WorkerRank,
    query: &ViewQuery,
    at: Timestamp,
) -> Option<WorkerDetail> {
    let index = known.fleet.workers.ranks().iter().position(|record| record.rank == rank)?;
    let record = known.fleet.workers.ranks().get(index)?;
    let window = span::of_rank(known, record, query, at);
    let counts = |series: Option<&CountSeries>| Series {
        points: series.map_or_else(Vec::new, |series| series.points(&window)),
    };
    let gauge = |series: Option<&GaugeSeries>| Series {
        points: series.map_or_else(Vec::new, |series| series.points(&window)),
    };
    let meter = known.record.meters.ranks.get(index);
    let gauges = known.record.meters.gauges_by_rank.get(index);
    Some(WorkerDetail {
        rank,
        stores: counts(meter.map(|meter| &meter.stores)),
        stored_blocks: counts(meter.map(|meter| &meter.stored_blocks)),
        removals: counts(meter.map(|meter| &meter.removals)),
        refused: counts(meter.map(|meter| &meter.refused)),
        refused_blocks: counts(meter.map(|meter| &meter.refused_blocks)),
        unknown_removals: counts(meter.map(|meter| &meter.unknown_removals)),
        routed: counts(known.record.meters.routed_by_rank.get(index)),
        accepted: gauge(gauges.map(|gauges| &gauges.accepted)),
        kv_utilization: gauge(gauges.map(|gauges| &gauges.utilization)),
        hit_rate: gauge(gauges.map(|gauges| &gauges.hit_rate)),
        window: window.length,
    })
}
