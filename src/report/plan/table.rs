//! The table of a plan, for people.

use std::fmt::Write as _;

use crate::plan::{Basis, Cell, Check, Input, Marked, Plan, Row};
use crate::snapshot::Snapshot;

/// Columns of a change.
const NAME: usize = 26;
/// Columns of a figure.
const FIGURE: usize = 21;

/// Returns the table of a plan for `snapshot`.
pub fn text(plan: &Plan, snapshot: &Snapshot) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    write(&mut page, plan, snapshot).unwrap_or_default();
    page
}

fn write(page: &mut String, plan: &Plan, snapshot: &Snapshot) -> std::fmt::Result {
    let label: String =
        snapshot.deployment.title("->").chars().filter(|letter| !letter.is_control()).collect();
    let seeds = match plan.seeds.as_slice() {
        [one] => format!("seed {one}: no spread"),
        [first, .., last] => format!("seeds {first} to {last}"),
        [] => "no seeds".to_owned(),
    };
    writeln!(
        page,
        "Plan for {label}: SIMULATED estimates, not measurements ({seeds}, {} s each after {} s of warm-up, {} \
         conversations at once)\n",
        plan.length.measured.as_secs(),
        plan.length.warm_up.as_secs(),
        plan.users,
    )?;
    let ceiling = format!("users, p95 <= {} ms", plan.objective.as_millis());
    let heads = ["cached, %", "TTFT p50, ms", "TTFT p95, ms", "tokens/s", &ceiling];
    let heads: String = heads.map(|head| format!("{head:<FIGURE$}")).concat();
    writeln!(page, "{:NAME$}{}", "", heads.trim_end())?;
    for row in &plan.rows {
        writeln!(page, "{}", line(row).trim_end())?;
    }
    writeln!(
        page,
        "\nEach range is the lowest to the highest of all seeds, with the difference of the means to \"now\".\n\
         * outside the spread: the ranges do not overlap. Without *, the difference may be chance."
    )?;
    checks(page, &plan.checks)?;
    inputs(page, &plan.inputs)
}

fn line(row: &Row) -> String {
    let ceiling = match &row.ceiling {
        None => "-".to_owned(),
        Some(cell) => {
            let least = if row.ceiling_at_least { ">= " } else { "" };
            format!("{least}{}", figure(cell, 1.0, 0, false))
        }
    };
    let figures = [
        figure(&row.hits, 100.0, 1, false),
        figure(&row.ttft_p50, 1e3, 0, true),
        figure(&row.ttft_p95, 1e3, 0, true),
        figure(&row.tokens, 1.0, 0, true),
        ceiling,
    ];
    let mut line = format!("{:<NAME$}", row.summary());
    for figure in figures {
        // A name or figure that is too long keeps a space to the next.
        if !line.ends_with(' ') {
            line.push(' ');
        }
        // Writing to a string cannot fail.
        write!(line, "{figure:<FIGURE$}").unwrap_or_default();
    }
    line
}

/// Returns a range, and its difference to the present: in percent, or in the unit of the figure.
fn figure(cell: &Cell, unit: f64, places: usize, in_percent: bool) -> String {
    let (low, high) = (cell.low * unit, cell.high * unit);
    let range = format!("{low:.places$}-{high:.places$}");
    let before = cell.mean - cell.difference;
    let difference = if in_percent && before > 0.0 {
        format!("{:+.0}%", 100.0 * cell.difference / before)
    } else {
        format!("{:+.places$}", cell.difference * unit)
    };
    match cell.marked {
        Marked::Present => range,
        Marked::Within => format!("{range} {difference}"),
        Marked::Outside => format!("{range} {difference}*"),
    }
}

fn checks(page: &mut String, checks: &[Check]) -> std::fmt::Result {
    if checks.is_empty() {
        return writeln!(page, "\nNothing observed can be compared with the simulated present.");
    }
    writeln!(page, "\nObserved, and in the simulation of \"now\":")?;
    for check in checks {
        let (unit, by, places) = match check.unit {
            "s" => ("ms", 1e3, 0),
            "share" => ("%", 100.0, 1),
            _ => ("/s", 1.0, 2),
        };
        let deviation = 100.0 * check.deviation();
        let basis = if check.fitted { "fitted to it" } else { "not fitted" };
        let far = if check.is_far_off() { "; FAR OFF: do not rely on this figure" } else { "" };
        writeln!(
            page,
            "  {:<28}{:>8.places$} {unit:<3} -> {:.places$}-{:.places$} ({deviation:+.0} %, {basis}{far})",
            check.name,
            check.observed * by,
            check.simulated.low * by,
            check.simulated.high * by,
        )?;
    }
    Ok(())
}

fn inputs(page: &mut String, inputs: &[Input]) -> std::fmt::Result {
    let assumed = inputs.iter().filter(|input| input.basis == Basis::Assumed).count();
    writeln!(page, "\nInputs ({assumed} of {} assumed):", inputs.len())?;
    for input in inputs {
        let places = if input.value.fract() == 0.0 || input.value >= 1_000.0 { 0 } else { 2 };
        let value = format!("{:.places$} {}", input.value, input.unit);
        writeln!(
            page,
            "  {:<42}{:>16}  {:<9} {}",
            input.name,
            value.trim_end(),
            input.basis.name(),
            input.from
        )?;
    }
    Ok(())
}
