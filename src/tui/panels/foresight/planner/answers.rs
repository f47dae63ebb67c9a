//! The answers of a plan as lines: a table of changes, then what they rest on.

use super::{Line, said};
use crate::plan::{Basis, Cell, Check, Input, Marked, Plan, Row};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::part;

/// Columns from which on each range has its difference to the present.
const WIDE: u16 = 112;
/// Columns of a change and of each figure, with differences and without.
const COLUMNS: [(usize, [usize; 5]); 2] = [(27, [16, 18, 18, 19, 16]), (22, [9, 11, 12, 12, 11])];
/// The names of the figures.
const NAMES: [&str; 5] = ["CACHED %", "TTFT P50 MS", "TTFT P95 MS", "TOKENS/S", "CEILING"];
/// The same in narrow columns.
const SHORT: [&str; 5] = ["CACHED %", "P50 MS", "P95 MS", "TOKENS/S", "CEILING"];
/// Columns of the name of an input.
const INPUT: usize = 42;
/// Columns before the source of an input.
const BEFORE: usize = INPUT + 16 + 9 + 1;

/// The value of a figure that is better than a lower one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Higher,
    Lower,
}

/// Adds the lines of a plan.
pub(super) fn add(lines: &mut Vec<Line>, plan: &Plan, width: u16, glyphs: &Glyphs) {
    let wide = width >= WIDE;
    let (name, columns) = COLUMNS[usize::from(!wide)];
    let titles = if wide { NAMES } else { SHORT };
    let titles: String =
        titles.iter().zip(columns).map(|(title, width)| text::pad(title, width)).collect();
    lines.push(vec![part(format!("{}{titles}", text::pad("CHANGE", name)), Role::Title)]);
    lines.push(observed(plan, name, columns, glyphs));
    lines.extend(plan.rows.iter().map(|row| of_row(row, name, columns, wide, glyphs)));
    let objective = plan.objective.as_millis();
    let notes = format!(
        "Simulated ranges over {}, {} each after {} of warm-up, {} conversations at once. CEILING: most users with a TTFT p95 of \
         at most {objective} ms. * outside the range of now: without it, the difference may be chance.",
        seeds(&plan.seeds),
        text::span(plan.length.measured),
        text::span(plan.length.warm_up),
        plan.users,
    );
    said(lines, &notes, width, Role::Muted);
    if !plan.checks.is_empty() {
        lines.push(Line::new());
        let title = format!("OBSERVED {} SIMULATED NOW", glyphs.leads_to);
        lines.push(vec![part(title, Role::Title)]);
        lines.extend(plan.checks.iter().map(|check| of_check(check, glyphs)));
    }
    lines.push(Line::new());
    let assumed = plan.inputs.iter().filter(|input| input.basis == Basis::Assumed).count();
    let title = format!("INPUTS, {assumed} OF {} ASSUMED", plan.inputs.len());
    lines.push(vec![part(title, Role::Title)]);
    lines.extend(plan.inputs.iter().map(|input| of_input(input, width, glyphs)));
}

fn seeds(seeds: &[u64]) -> String {
    match seeds {
        [] => String::from("no seeds"),
        [one] => format!("seed {one} alone"),
        [first, .., last] => format!("seeds {first} to {last}"),
    }
}

fn of_row(row: &Row, name: usize, columns: [usize; 5], wide: bool, glyphs: &Glyphs) -> Line {
    let figures = [
        (Some(&row.hits), 100.0, Better::Higher, false),
        (Some(&row.ttft_p50), 1e3, Better::Lower, true),
        (Some(&row.ttft_p95), 1e3, Better::Lower, true),
        (Some(&row.tokens), 1.0, Better::Higher, true),
        (row.ceiling.as_ref(), 1.0, Better::Higher, false),
    ];
    let summary = text::cut_middle(&row.summary(), name - 1, glyphs.ellipsis);
    let mut line = vec![part(text::pad(&summary, name), Role::Fg)];
    for (at, ((cell, unit, better, percent), width)) in figures.into_iter().zip(columns).enumerate()
    {
        let Some(cell) = cell else {
            line.push(part(text::pad(glyphs.none, width), Role::Muted));
            continue;
        };
        let least = if at == 4 && row.ceiling_at_least { glyphs.least } else { "" };
        let figure = format!("{least}{}", range(cell, unit, percent, wide));
        line.push(part(apart(&figure, width), role(cell, better)));
    }
    line
}

/// Returns a figure in its column, apart from the next one even where it fills the column.
fn apart(figure: &str, width: usize) -> String {
    text::pad(figure, width.saturating_sub(1)) + " "
}

/// Returns a range; where there is room, with its difference to the present, in percent or in the unit of the figure.
fn range(cell: &Cell, unit: f64, percent: bool, wide: bool) -> String {
    let [low, high] = [cell.low, cell.high].map(|value| format!("{:.0}", value * unit));
    let range = if low == high { low } else { format!("{low}-{high}") };
    let mark = if cell.marked == Marked::Outside { "*" } else { "" };
    if !wide || cell.marked == Marked::Present {
        return range + mark;
    }
    let before = cell.mean - cell.difference;
    if percent && before > 0.0 {
        format!("{range} {}%{mark}", signed(100.0 * cell.difference / before))
    } else {
        format!("{range} {}{mark}", signed(cell.difference * unit))
    }
}

/// Returns a whole number with its sign; 0 has none.
fn signed(value: f64) -> String {
    let rounded = value.round();
    if rounded == 0.0 { String::from("0") } else { format!("{rounded:+.0}") }
}

fn role(cell: &Cell, better: Better) -> Role {
    match cell.marked {
        Marked::Present => Role::Fg,
        Marked::Within => Role::Muted,
        Marked::Outside if (cell.difference > 0.0) == (better == Better::Higher) => Role::Ok,
        Marked::Outside => Role::Warn,
    }
}

/// Returns what was observed, in the columns of the simulated figures.
fn observed(plan: &Plan, name: usize, columns: [usize; 5], glyphs: &Glyphs) -> Line {
    let seen = &plan.observed;
    let ttft = |place: usize| seen.ttft.map(|both| 1e3 * both[place]);
    let figures = [seen.hits.map(|share| 100.0 * share), ttft(0), ttft(1), None, None];
    let mut line = vec![part(text::pad("observed", name), Role::Fg)];
    for (figure, width) in figures.into_iter().zip(columns) {
        let figure = figure.map_or_else(|| glyphs.none.to_owned(), |value| format!("{value:.0}"));
        line.push(part(text::pad(&figure, width), Role::Fg));
    }
    line
}

fn of_check(check: &Check, glyphs: &Glyphs) -> Line {
    let (unit, by, places) = match check.unit {
        "s" => ("ms", 1e3, 0),
        "share" => ("%", 100.0, 1),
        _ => ("/s", 1.0, 2),
    };
    let [low, high] =
        [check.simulated.low, check.simulated.high].map(|value| format!("{:.places$}", value * by));
    let basis = if check.fitted { "fitted to it" } else { "not fitted" };
    let far = check.is_far_off();
    let said = format!(
        "{:<26}{:>7.places$} {unit:<3}{} {low}-{high} ({:+.0} %, {basis}){}",
        check.name,
        check.observed * by,
        glyphs.leads_to,
        100.0 * check.deviation(),
        if far { " FAR OFF" } else { "" },
    );
    vec![part(said, if far { Role::Warn } else { Role::Fg })]
}

fn of_input(input: &Input, width: u16, glyphs: &Glyphs) -> Line {
    let places = if input.value.fract() == 0.0 || input.value >= 1_000.0 { 0 } else { 2 };
    let value = format!("{:.places$} {}", input.value, input.unit);
    let from = text::clean(&input.from).into_owned();
    let role = if input.basis == Basis::Assumed { Role::Warn } else { Role::Fg };
    vec![
        part(text::pad(&text::cut(input.name, INPUT - 1, glyphs.ellipsis), INPUT), Role::Fg),
        part(format!("{:>14}  ", value.trim_end()), Role::Fg),
        part(format!("{:<9} ", input.basis.name()), role),
        part(
            text::cut(&from, usize::from(width).saturating_sub(BEFORE), glyphs.ellipsis),
            Role::Muted,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_fills_its_column_is_apart_from_the_next() {
        assert_eq!(apart("224-228", 12), "224-228     ");
        assert_eq!(apart("12817-15140*", 12), "12817-15140* ");
    }
}
