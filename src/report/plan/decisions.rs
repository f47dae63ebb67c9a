//! Decisions re-scored, as JSON and for people.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::plan::Rescored;

/// Decisions re-scored one step deep, with the terms that the router had: no forecast, since later decisions would have
/// had other terms.
#[derive(Serialize, JsonSchema)]
pub(super) struct Decisions {
    /// Decisions whose candidates' terms are all known.
    counted: u64,
    overlap_blocks: f64,
    /// Decisions in which the chosen rank did not cost least.
    not_cheapest: u64,
    left_out: Vec<LeftOut>,
    rescored: Vec<Row>,
}

/// Decisions that were left out, with the reason.
#[derive(Serialize, JsonSchema)]
struct LeftOut {
    why: &'static str,
    decisions: u64,
}

/// The result for one weight and temperature.
#[derive(Serialize, JsonSchema)]
struct Row {
    weight: f64,
    temperature: f64,
    /// Decisions that would have gone elsewhere; their expected number with a temperature.
    flips: f64,
    flip_rate: f64,
    /// Cached blocks found in addition; negative where fewer would have been found.
    overlap_blocks_gained: f64,
}

impl Decisions {
    /// Returns the decisions; none where none was seen.
    pub(super) fn new(rescored: &Rescored) -> Option<Self> {
        let left_out: Vec<LeftOut> = rescored
            .left_out
            .iter()
            .map(|(why, decisions)| LeftOut { why: why.name(), decisions: *decisions })
            .collect();
        let count = rescored.decisions.max(1) as f64;
        let row = |row: &crate::plan::Rescore| Row {
            weight: row.weight,
            temperature: row.temperature,
            flips: row.flips,
            flip_rate: row.flips / count,
            overlap_blocks_gained: row.overlap_blocks,
        };
        (rescored.decisions > 0 || !left_out.is_empty()).then(|| Self {
            counted: rescored.decisions,
            overlap_blocks: rescored.overlap_blocks,
            not_cheapest: rescored.not_cheapest,
            left_out,
            rescored: rescored.rows.iter().map(row).collect(),
        })
    }
}

/// Returns the decisions for people; nothing where none was seen.
pub fn decisions(rescored: &Rescored) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    write(&mut page, rescored).unwrap_or_default();
    page
}

fn write(page: &mut String, rescored: &Rescored) -> std::fmt::Result {
    let left: u64 = rescored.left_out.iter().map(|(_, count)| count).sum();
    if rescored.decisions == 0 && left == 0 {
        return Ok(());
    }
    let (count, all) = (rescored.decisions, rescored.decisions + left);
    writeln!(
        page,
        "\nRouting decisions re-scored with the costs that the router had ({count} of {all}):"
    )?;
    for row in &rescored.rows {
        let setting = if row.temperature > 0.0 {
            format!("temperature {} (weight {})", row.temperature, row.weight)
        } else {
            format!("overlap weight {}", row.weight)
        };
        let share = 100.0 * row.flips / count.max(1) as f64;
        let (flips, blocks) = (row.flips, row.overlap_blocks);
        let of = rescored.overlap_blocks;
        writeln!(
            page,
            "  {setting:<30} {share:>5.1} % would go elsewhere ({flips:.0}); cached blocks {blocks:+.0} of {of:.0}"
        )?;
    }
    if rescored.not_cheapest > 0 {
        writeln!(
            page,
            "  in {} decisions the chosen worker did not cost least",
            rescored.not_cheapest
        )?;
    }
    for (why, count) in &rescored.left_out {
        writeln!(page, "  left out: {count} decisions ({})", why.name())?;
    }
    if !rescored.rows.is_empty() {
        writeln!(
            page,
            "  One step deep, and no forecast: after another choice, later decisions would have had other costs."
        )?;
    }
    Ok(())
}
