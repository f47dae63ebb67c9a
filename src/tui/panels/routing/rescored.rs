//! The decisions in the list with other overlap weights, in one line.

use crate::plan::{Questions, rescore};
use crate::snapshot::Snapshot;
use crate::tui::text;

/// Fewest decisions with all terms.
const FEWEST: u64 = 20;

/// Returns the share of decisions that other weights would have sent elsewhere, in at most `width` columns; none while
/// too few decisions have the terms of all workers.
pub(super) fn line(snapshot: &Snapshot, width: usize) -> Option<String> {
    let now = snapshot.router.overlap_weight.unwrap_or(1.0);
    let mut weights = Questions::default().weight;
    weights.retain(|weight| (weight - now).abs() > 1e-6);
    let found = rescore(snapshot, &weights, &[], now);
    if found.decisions < FEWEST {
        return None;
    }
    let share = |row: &crate::plan::Rescore| {
        format!("{}: {} %", row.weight, text::whole_percent(row.flips / found.decisions as f64))
    };
    let shares = found.rows.iter().map(share).collect::<Vec<_>>().join(", ");
    let long = format!(
        "Of {} decisions, another overlap weight would have sent elsewhere: {shares} (one step deep, not a forecast)",
        found.decisions
    );
    let short = format!("Elsewhere at weight {shares} (not a forecast)");
    [long, short].into_iter().find(|line| text::width(line) <= width)
}
