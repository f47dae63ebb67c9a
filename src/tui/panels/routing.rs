//! The last decisions of routers: which worker, at which cost, and by how much it won.

mod decision;
mod graphs;
mod listed;
mod rescored;
mod shares;

use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::domain::Topic;
use crate::snapshot::{Answer, DecisionRow, RoutingDetail, Snapshot, TermRow};
use crate::tui::findings;
use crate::tui::keymap::names::with_keys;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::table::{Align, Column, Table};

pub use decision::{draw as decision, last, page as decision_page};
pub use graphs::{rates, ttft};
pub use listed::Listed;
pub(crate) use listed::selected;
pub use shares::draw as shares;

/// Columns of a worker's name.
const WORKER: (usize, usize) = (6, 34);
/// Rows from which on the last one has other weights.
const RESCORED: u16 = 8;
/// Columns of a request's id.
const REQUEST: usize = 36;

/// Draws the list, the newest on top.
pub fn list(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let state = &context.look.routing;
    let listed = Listed::new(context.snapshot, state);
    let count = listed.rows.len();
    let (room, mut height) = inside(area, context.framed);
    let rescored =
        rescored::line(context.snapshot, room).filter(|_| height >= RESCORED && count > 0);
    height -= u16::from(rescored.is_some());
    let mut table = table(context, &listed.rows, room.saturating_sub(2), canvas.glyphs());
    let page = table.page(height).max(1);
    // The newest are on top.
    let at = count.saturating_sub(1).saturating_sub(listed.at.unwrap_or(0));
    table.point_at(if listed.at.is_some() { at } else { usize::MAX }, canvas.glyphs());
    let first = if listed.at.is_some() { at / page * page } else { 0 };
    let notes = match (state.selected, listed.at) {
        (None, _) => {
            let (word, mark) = context.newest(canvas.glyphs().play, canvas.glyphs());
            vec![part(format!("{word} {mark}"), Role::Muted)]
        }
        (Some(_), Some(_)) => {
            let said = with_keys(context.keys, "newer above, {scroll-top} follows");
            vec![part(format!("{at} {said}"), Role::Warn)]
        }
        (Some(_), None) if count == 0 => Vec::new(),
        (Some(_), None) => vec![part("the selected one is older", Role::Warn)],
    };
    let all = context.snapshot.decisions.len();
    let title = if state.typed.trim().is_empty() {
        format!("Decisions, last {all}")
    } else {
        format!("Decisions, {count} of {all} match {}", state.typed)
    };
    let inner = context.frame(canvas, area, PanelId::Decisions, title, notes);
    if count == 0 {
        let why = match (all, context.snapshot.router.decisions) {
            (1.., _) => "no decision matches; Esc clears the filter",
            (0, 0) => waiting(context.snapshot),
            (0, _) => "none of them can be read",
        };
        let why = text::cut_words(why, inner.width.into(), canvas.glyphs().ellipsis);
        canvas.put(inner, 0, 0, &why, Role::Muted);
        return;
    }
    let rows = Rect { height: inner.height.min(height), ..inner };
    table.draw(canvas, rows, Table::names_fit(rows.height), first);
    if let Some(line) = rescored {
        canvas.put(inner, 0, rows.height, &line, Role::Muted);
    }
}

fn waiting(snapshot: &Snapshot) -> &'static str {
    if findings::open(snapshot).iter().any(|row| row.topic == Topic::RouterMode) {
        "no decision seen: requests are not routed by cached blocks (KVT005)"
    } else if snapshot.router.routers.is_empty() && !snapshot.router.quiet {
        "no decision seen: no router's log is read yet"
    } else {
        "no decision seen yet: they appear with the first request"
    }
}

fn inside(area: Rect, framed: bool) -> (usize, u16) {
    let around = if framed { (4, 2) } else { (0, 0) };
    (area.width.saturating_sub(around.0).into(), area.height.saturating_sub(around.1))
}

/// Returns how many decisions are seen at once in `area`.
pub fn page(area: Rect, framed: bool) -> usize {
    Table::default().page(inside(area, framed).1).max(1)
}

/// Returns what the engine answered about routing.
fn detail(snapshot: &Snapshot) -> Option<&RoutingDetail> {
    match &snapshot.answer {
        Answer::Routing(detail) => Some(detail),
        _ => None,
    }
}

/// Returns the cost of the worker that was chosen, when the log spells it out.
fn chosen(row: &DecisionRow) -> Option<&TermRow> {
    let rank = row.dp_rank.unwrap_or_default();
    row.terms.iter().find(|term| term.rank.worker == row.worker && term.rank.dp_rank == rank)
}

/// Returns the cheapest of the workers that were not chosen.
fn runner_up(row: &DecisionRow) -> Option<&TermRow> {
    let chosen = chosen(row)?;
    let others = row.terms.iter().filter(|term| term.rank != chosen.rank);
    others.min_by(|a, b| a.logit.total_cmp(&b.logit))
}

/// Returns how much dearer the next worker would have been.
fn margin(row: &DecisionRow) -> Option<f64> {
    Some(runner_up(row)?.logit - chosen(row)?.logit)
}

/// Returns a worker by its alias and its pod.
fn worker(snapshot: &Snapshot, row: &DecisionRow) -> String {
    let rank = row.dp_rank.unwrap_or_default();
    let mut rows = snapshot.workers.iter();
    let known = rows.find(|it| it.rank.worker == row.worker && it.rank.dp_rank == rank);
    match known.and_then(|known| known.pod.as_ref()) {
        Some(pod) => format!("{} {pod}", row.alias),
        None => row.alias.clone(),
    }
}

/// Returns the table with the rows that are `shown`. All rows decide the widths, so that these stay while
/// a filter is typed.
fn table(
    context: &PanelContext<'_>,
    shown: &[&DecisionRow],
    room: usize,
    glyphs: &'static Glyphs,
) -> Table {
    let rows = &context.snapshot.decisions;
    let longest = |text: &dyn Fn(&DecisionRow) -> String| {
        rows.iter().map(|row| text::width(&text::clean(&text(row)))).max().unwrap_or(0)
    };
    let name = longest(&|row| worker(context.snapshot, row)).clamp(WORKER.0, WORKER.1);
    // The terms of the cost are worth more than a whole name and thousandths of seconds.
    let [name, time] = match room {
        0..25 => [name.min(room.saturating_sub(11)), 8],
        25..70 => [name.min(14), 8],
        70..100 => [name.min(17), 12],
        _ => [name, 12],
    };
    let routers = context.snapshot.router.routers.len() > 1;
    let requests = rows.iter().any(|row| row.request.is_some());
    let terms = rows.iter().any(|row| !row.terms.is_empty());
    let trees = rows.iter().any(|row| row.tree_size.is_some());
    let left = |title, width, rank| Column { title, width, align: Align::Left, rank };
    let right = |title, width, rank| Column { title, width, align: Align::Right, rank };
    let only = |shown: bool, column: Column| {
        if shown { column } else { Column { rank: 0, ..column } }
    };
    let columns = vec![
        left("TIME", time, 40),
        left("WORKER", name, 50),
        right("LOGIT", 9, 30),
        right("CACHED", 7, 20),
        only(terms, right("PREFILL", 8, 17)),
        only(terms, right("ACTIVE", 8, 16)),
        only(terms, right("MARGIN", 7, 15)),
        right("PROMPT", 7, 8),
        only(trees, right("TREE", 7, 9)),
        only(routers, left("ROUTER", longest(&|row| row.router.to_string()).min(24), 6)),
        only(requests, left("REQUEST", REQUEST, 5)),
    ];
    let cells = |row: &&DecisionRow| cells(context.snapshot, row, &columns, glyphs);
    Table { rows: shown.iter().rev().map(cells).collect(), total: None, columns }
}

fn cells(
    snapshot: &Snapshot,
    row: &DecisionRow,
    columns: &[Column],
    glyphs: &'static Glyphs,
) -> Vec<Part> {
    let known = |value: Option<String>| {
        value.map_or_else(|| part(glyphs.none, Role::Muted), |value| part(value, Role::Fg))
    };
    let cut = |text: &str, at: usize| {
        text::cut_middle(&text::clean(text), columns[at].width, glyphs.ellipsis)
    };
    let term = chosen(row);
    let prompt = row.prompt_blocks.or(row.prompt_tokens).map(|_| prompt(row));
    let cached = row.cached_blocks.map(|cached| {
        let role = if cached <= 0.0 { Role::Warn } else { Role::Fg };
        part(blocks(cached), role)
    });
    vec![
        part(
            if columns[0].width < 12 { text::clock(row.at) } else { text::clock_millis(row.at) },
            Role::Muted,
        ),
        part(cut(&worker(snapshot, row), 1), Role::Fg),
        known(row.logit.map(aligned)),
        cached.unwrap_or_else(|| known(None)),
        known(term.map(|term| aligned(term.prefill_blocks))),
        known(term.map(|term| aligned(term.decode_blocks))),
        known(margin(row).map(aligned)),
        known(prompt),
        known(row.tree_size.map(text::count)),
        part(cut(&row.router, 9), Role::Muted),
        known(row.request.as_ref().map(|request| cut(request, 10))),
    ]
}

/// Returns the length of a prompt in the unit that is known: `135b` or `4,320t`.
fn prompt(row: &DecisionRow) -> String {
    match (row.prompt_blocks, row.prompt_tokens) {
        (Some(blocks), _) => format!("{}b", text::count(blocks)),
        (None, Some(tokens)) => format!("{}t", text::count(tokens)),
        (None, None) => String::new(),
    }
}

/// Returns a cost in at most nine columns: with three digits where there is room, as logs print it.
fn cost(value: f64) -> String {
    if !value.is_finite() {
        return String::from("?");
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    let said = if size < 1_000.0 {
        format!("{size:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text::short(size)
    };
    if said == "0" { said } else { format!("{sign}{said}") }
}

/// Returns a cost for a column, with all of its three digits.
fn aligned(value: f64) -> String {
    let plain = value.is_finite() && value.abs() < 1_000.0;
    if plain { format!("{value:.3}") } else { cost(value) }
}

/// Returns a number of blocks, which later versions print with a fraction.
fn blocks(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 {
        text::count(text::cells(value) as u64)
    } else {
        cost(value)
    }
}
