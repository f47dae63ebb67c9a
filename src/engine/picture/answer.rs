//! Answers to what only one view asks.

use crate::domain::{Timestamp, WorkerRank};
use crate::engine::Engine;
use crate::metrics::CountSeries;
use crate::snapshot::{Answer, Ask, Series, ViewQuery, WorkerDetail};

pub(super) fn of(engine: &Engine, query: &ViewQuery, at: Timestamp) -> Answer {
    let answer = match query.ask {
        Ask::Nothing => None,
        Ask::Worker(rank) => {
            worker(engine, rank, query, at).map(|detail| Answer::Worker(Box::new(detail)))
        }
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
    let window = super::window(engine, query, at);
    let points = |series: Option<&CountSeries>| Series {
        points: series.map_or_else(Vec::new, |series| series.points(&window)),
    };
    let meter = engine.meters.ranks.get(index);
    Some(WorkerDetail {
        rank,
        stores: points(meter.map(|meter| &meter.stores)),
        removals: points(meter.map(|meter| &meter.removals)),
        refused: points(meter.map(|meter| &meter.refused)),
        unknown_removals: points(meter.map(|meter| &meter.unknown_removals)),
        routed: points(engine.meters.routed_by_rank.get(index)),
    })
}
