//! The selected decision: every term of the cost for every worker weighed, and by how much it won.

use ratatui::layout::Rect;

use super::{aligned, blocks, chosen, cost, margin, runner_up, selected, worker};
use crate::snapshot::{DecisionRow, TermRow};
use crate::tui::panels::{PanelContext, PanelId, reader};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::sheet::Sheet;

/// Most workers that are listed with their terms.
const CANDIDATES: usize = 256;
/// Difference of costs that the log's three digits cannot tell apart.
const TIE: f64 = 0.000_5;

/// Draws it from the row on that the UI wants.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let Some(row) = selected(context.snapshot, &context.look.routing) else {
        let none = match context.look.routing.selected {
            _ if context.snapshot.decisions.is_empty() => "No decision yet",
            None => "No decision matches",
            Some(_) => "This decision is no longer kept",
        };
        context.frame(canvas, area, PanelId::Decision, none, Vec::new());
        return;
    };
    let title = format!("{} to {}", text::clock_millis(row.at), row.alias);
    let lines = rows(row, context, reader::inside(area, context.framed), canvas.glyphs());
    let first = context.look.routing.first_line;
    reader::draw(canvas, area, context, (PanelId::Decision, &title), &lines, first);
}

/// Returns the last row from which on it can be shown in `area`.
pub fn last(context: &PanelContext<'_>, area: Rect) -> usize {
    let Some(row) = selected(context.snapshot, &context.look.routing) else { return 0 };
    // The glyphs decide nothing about how many rows there are.
    let rows = rows(row, context, reader::inside(area, context.framed), Glyphs::UNICODE).len();
    rows.saturating_sub(page(area, context.framed))
}

/// Returns the rows for its text.
pub fn page(area: Rect, framed: bool) -> usize {
    reader::page(area, framed)
}

fn rows(
    row: &DecisionRow,
    context: &PanelContext<'_>,
    width: usize,
    glyphs: &'static Glyphs,
) -> Vec<Vec<Part>> {
    let mut sheet = Sheet::new(width, true, glyphs);
    let chosen_name = worker(context.snapshot, row);
    sheet.say("CHOSEN", &chosen_name, Role::Title);
    verdict(&mut sheet, row, glyphs);
    sheet.say("OVERLAP", &overlap(row, context, glyphs), Role::Fg);
    candidates(&mut sheet, row, width, glyphs);
    sheet.gap();
    formula(&mut sheet, row, context);
    sheet.gap();
    let request = row.request.as_deref().unwrap_or("not logged by this Dynamo version");
    sheet.say("REQUEST", request, Role::Fg);
    let at = text::clock_millis(row.at);
    sheet.say("SOURCE", &format!("log of {}, {at}Z", row.router), Role::Muted);
    sheet.rows
}

/// Writes by how much it won, or that it did not cost least.
fn verdict(sheet: &mut Sheet, row: &DecisionRow, glyphs: &Glyphs) {
    let (Some(next), Some(margin)) = (runner_up(row), margin(row)) else {
        let logit = row.logit.map_or_else(|| glyphs.none.to_owned(), cost);
        sheet.say("COST", &format!("{logit}; the lowest cost wins"), Role::Fg);
        return;
    };
    let (name, logit) = (&next.alias, cost(next.logit));
    if margin.abs() < TIE {
        sheet.say("MARGIN", &format!("0: {name} also costs {logit}"), Role::Fg);
        let how = "a tie goes to the worker with the smaller tree (Dynamo 0.9), later to any";
        sheet.say("", how, Role::Muted);
    } else if margin > 0.0 {
        let said = format!("{} cheaper than {name} ({logit})", cost(margin));
        sheet.say("MARGIN", &said, Role::Fg);
    } else {
        let said = format!("{name} was {} cheaper ({logit})", cost(-margin));
        sheet.say("MARGIN", &said, Role::Warn);
        sheet.say("", "a router temperature above 0 allows that", Role::Muted);
    }
}

/// Returns what was found cached, in blocks and in tokens, and of how much.
fn overlap(row: &DecisionRow, context: &PanelContext<'_>, glyphs: &Glyphs) -> String {
    let Some(cached) = row.cached_blocks else {
        return format!("{} not logged by this Dynamo version", glyphs.none);
    };
    let mut said = format!("{} blocks", blocks(cached));
    if let Some(length) = row.prompt_blocks {
        said = format!("{said} of {}", text::thousands(length));
        if length > 0 {
            let share = text::percent(cached / length as f64);
            said = format!("{said} ({share} %)");
        }
    }
    if let Some(tokens) = row.prompt_tokens {
        said = format!("{said}, of a prompt of {} tokens", text::thousands(tokens));
    }
    let of_row = |row: &crate::snapshot::WorkerRow| row.block_size.router.or(row.block_size.card);
    let size = context.snapshot.workers.iter().find(|it| it.rank.worker == row.worker);
    if let Some(size) = size.and_then(of_row).filter(|_| cached > 0.0) {
        let tokens = text::thousands(text::cells(cached * f64::from(size)) as u64);
        said = format!("{said}: {tokens} tokens at {size} a block");
    }
    said
}

/// Writes the formula of the version, with the numbers of the worker chosen.
fn formula(sheet: &mut Sheet, row: &DecisionRow, context: &PanelContext<'_>) {
    let credited = row.terms.iter().any(|term| term.credit.is_some());
    let weight = chosen(row).map_or(1.0, |term| term.weight);
    if row.terms.is_empty() {
        sheet.say("FORMULA", "logit = overlap weight x prefill blocks + active blocks", Role::Fg);
    } else if credited {
        let said = format!(
            "logit = prefill scale {} x (prefill - credit) + active + running requests",
            cost(weight)
        );
        sheet.say("FORMULA", &said, Role::Fg);
    } else {
        let said = format!("logit = overlap weight {} x prefill + active", cost(weight));
        sheet.say("FORMULA", &said, Role::Fg);
    }
    let unit = if row.terms.is_empty() { "" } else { "unit: blocks; " };
    let said = format!("{unit}cached blocks lower the prefill term");
    sheet.say("", &said, Role::Muted);
    if row.terms.is_empty() {
        let version = context.snapshot.deployment.version.as_deref();
        let version = version
            .map_or_else(|| String::from("This version"), |version| format!("Dynamo {version}"));
        let said = format!(
            "{version} logs the cost of the chosen worker only. From 1.0 on the terms of every worker \
             are logged at level DEBUG ({}=debug on the frontend).",
            crate::dynamo::variable::LOG
        );
        sheet.say("", &said, Role::Muted);
    }
}

/// Writes the terms of every worker weighed, the cheapest first.
fn candidates(sheet: &mut Sheet, row: &DecisionRow, width: usize, glyphs: &Glyphs) {
    if row.terms.is_empty() {
        return;
    }
    sheet.gap();
    let mut terms: Vec<&TermRow> = row.terms.iter().collect();
    terms.sort_by(|a, b| a.logit.total_cmp(&b.logit));
    let own = chosen(row).map(|term| term.rank);
    let names = terms.iter().map(|term| text::width(&term.alias)).max().unwrap_or(0).max(6);
    let head = format!("  {}  {:>9}  {:>7}", text::pad("WORKER", names), "LOGIT", "CACHED");
    sheet.rows.push(vec![part(head, Role::Title), part("  COST", Role::Title)]);
    for term in terms.iter().take(CANDIDATES) {
        let is_chosen = own == Some(term.rank);
        let role = if is_chosen { Role::Title } else { Role::Fg };
        let pointer = if is_chosen { glyphs.play } else { " " };
        let (logit, cached) = (aligned(term.logit), blocks(term.cached_blocks));
        let head = format!(" {}  {logit:>9}  {cached:>7}", text::pad(&term.alias, names));
        let line = vec![part(pointer, Role::Key), part(head, role)];
        let sum = sum(term);
        let used = 3 + names + 2 + 9 + 2 + 7;
        if used + 2 + text::width(&sum) <= width {
            sheet.rows.push([line, vec![part(format!("  {sum}"), Role::Muted)]].concat());
        } else {
            sheet.rows.push(line);
            let lines = text::wrap(&sum, width.saturating_sub(4));
            let rows = lines.into_iter().map(|line| vec![part(format!("    {line}"), Role::Muted)]);
            sheet.rows.extend(rows);
        }
    }
    if terms.len() > CANDIDATES {
        let more = text::thousands((terms.len() - CANDIDATES) as u64);
        sheet.say("", &format!("{more} more with higher costs"), Role::Muted);
    }
}

/// Returns a cost as the sum it is: `1 x 4.406 + 4`.
fn sum(term: &TermRow) -> String {
    let (weight, decode) = (cost(term.weight), cost(term.decode_blocks));
    match term.credit {
        None => format!("{weight} x {} + {decode}", cost(term.prefill_blocks)),
        Some(credit) => {
            let decay = if credit.decay < 1.0 {
                format!(" decayed by {}", cost(credit.decay))
            } else {
                String::new()
            };
            let (raw, less) = (cost(credit.raw_prefill_blocks), cost(credit.credit_blocks));
            let requests = cost(credit.request_blocks);
            format!("{weight} x ({raw} - {less}{decay}) + {decode} + {requests}")
        }
    }
}
