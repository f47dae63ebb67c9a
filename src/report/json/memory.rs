//! The memory of a rank, by figure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::rfc3339;
use crate::snapshot::{MemoryRow, Snapshot};

/// A figure with its inputs.
#[derive(Serialize, JsonSchema)]
struct Figure {
    value: f64,
    unit: &'static str,
    source: String,
    at: String,
}

/// Figures by name; `null` where one is not known.
type Memory = BTreeMap<&'static str, Option<Figure>>;

/// Returns the figures of a row.
fn figures(row: &MemoryRow) -> Memory {
    let figure = |figure: &crate::snapshot::MemoryFigure| {
        let known = (figure.of)(row).as_ref().map(|known| Figure {
            value: known.value,
            unit: figure.unit,
            source: known.source.to_string(),
            at: rfc3339(known.at),
        });
        (figure.name, known)
    };
    MemoryRow::FIGURES.iter().map(figure).collect()
}

/// One rank with its figures.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct RowOfMemory<'a> {
    worker: &'a str,
    id: String,
    dp_rank: u32,
    figures: Memory,
}

/// Returns every rank that has a row.
pub(in crate::report) fn ranks(snapshot: &Snapshot) -> Vec<RowOfMemory<'_>> {
    let ranks = snapshot.memory.iter().map(|row| RowOfMemory {
        worker: &row.alias,
        id: row.rank.worker.to_string(),
        dp_rank: row.rank.dp_rank.0,
        figures: figures(row),
    });
    ranks.collect()
}
