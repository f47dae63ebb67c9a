//! The table of workers: which one, and what is wrong with it. The worst is on top.

mod cells;
mod columns;
mod hit;
mod plan;
mod room;

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::ops::Range;

use cells::{Graphs, Pen, name};
use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::domain::{SourceName, WorkerRank};
use crate::dynamo::plane::EVENTS_BY_ZMQ;
use crate::snapshot::{Gravity, PodRow, Snapshot, SourceRow, WorkerRow};
use crate::tui::filter::{Filter, Target};
use crate::tui::judge::{self, Named, State, Verdict};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::views::workers as view;
use crate::tui::widgets::canvas::{Canvas, part};
use crate::tui::widgets::table::Table;

pub use columns::{Col, Widths};
pub use hit::{Hit, hit};
use plan::Plan;
pub use room::crowded_out;

/// Columns of a worker's name, at least and at most.
const NAME: (usize, usize) = (16, 34);
/// Columns of the table from which on other columns go before a name is cut to less than this.
const ROOMY: usize = 76;
const NAMED: usize = 18;
/// Columns of the table from which on a worker that warms up says so in a word.
const WARMING: usize = 60;
/// Columns of the table from which on there is a word for each state, and of the overview's, whose graphs come first.
const WORDS: usize = 112;
const WORDS_BESIDE_GRAPHS: usize = 136;
/// Cells of the bar beside KV%.
const BAR: usize = 10;
/// Cells of the course beside STORE/s.
const COURSE: usize = 10;
/// Width of REJ% with room for the word.
const ORPHANS: usize = 9;
/// Columns of a node's name, at most.
const NODE: usize = 24;

/// A worker with what is known of it elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The worker.
    pub row: &'a WorkerRow,
    /// Its pod, when Kubernetes shows it.
    pub pod: Option<&'a PodRow>,
    /// Its state.
    pub verdict: Verdict,
    /// The state of its block size, where findings are about that.
    pub size: Option<State>,
}

/// By what workers are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    /// A column; none for the worst first.
    pub by: Option<Col>,
    /// True for the other way round.
    pub reversed: bool,
}

/// Draws the table, or its worst row where there is room for one only.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    if area.height == 1 && !context.framed {
        return line(canvas, area, context);
    }
    let entries = entries(context.snapshot, Sort::default());
    let count = entries.len();
    let (room, height) = inside(area, context.framed);
    let marked = if context.look.overview.follows_worker { 2 } else { 0 };
    let room = room.saturating_sub(marked);
    let mut wanted = Col::essential();
    if room >= WORDS_BESIDE_GRAPHS {
        wanted.insert(Col::State);
    }
    let sums = !context.framed;
    let page = page(area, context.framed, count, sums);
    let first = context.look.first_worker.min(count.saturating_sub(page));
    let total = has_total(height, count, sums);
    let mut table = table(canvas, context, (&entries, first..first + page), &wanted, (room, total));
    if context.look.overview.follows_worker {
        let at = position(&entries, context.look.workers.selected);
        table.point_at(at.wrapping_sub(first), canvas.glyphs());
    }
    let mut notes = vec![part(format!("worst first {}", canvas.glyphs().down), Role::Muted)];
    if count > page {
        let shown = format!("{}-{} of {count}  ", first + 1, (first + page).min(count));
        notes.insert(0, part(shown, Role::Muted));
    }
    let inner = context.frame(canvas, area, PanelId::Workers, titled(&entries), notes);
    if count == 0 {
        return wait(canvas, inner, context);
    }
    table.draw(canvas, inner, Table::names_fit(inner.height), 0);
}

/// Returns how many workers there are, and how many were there.
fn titled(entries: &[Entry<'_>]) -> String {
    let gone = entries.iter().filter(|entry| entry.row.gone).count();
    let present = entries.len() - gone;
    if gone == 0 { format!("Workers {present}") } else { format!("Workers {present}, {gone} gone") }
}

/// Draws the table of the view of workers: with a selection, in the order and with the columns that
/// were chosen.
pub fn choose(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let state = &context.look.workers;
    let entries = listed(context.snapshot, state);
    let count = entries.len();
    let (room, height) = inside(area, context.framed);
    let selected = position(&entries, state.selected);
    // The mark beside the selected row takes two columns.
    let room = room.saturating_sub(2);
    let mut wanted = state.columns.clone();
    if room >= WORDS && wanted == Col::usual() {
        wanted.insert(Col::State);
    }
    let page = page(area, context.framed, count, true);
    let first = selected / page * page;
    let total = has_total(height, count, true);
    let mut table = table(canvas, context, (&entries, first..first + page), &wanted, (room, total));
    table.point_at(selected - first, canvas.glyphs());
    let glyphs = canvas.glyphs();
    let way = if state.sort.reversed { glyphs.up } else { glyphs.down };
    let by = state.sort.by.map_or("worst first", |col| col.title(glyphs));
    let mut notes = vec![part(format!("sort: {by}{way}"), Role::Muted)];
    if count > page {
        let shown = format!("{}-{} of {count}  ", first + 1, (first + page).min(count));
        notes.insert(0, part(shown, Role::Muted));
    }
    let all = context.snapshot.workers.len();
    let title = if state.typed.trim().is_empty() {
        titled(&entries)
    } else {
        format!("Workers, {count} of {all} match {}", state.typed)
    };
    let inner = context.frame(canvas, area, PanelId::WorkerTable, title, notes);
    if all == 0 {
        return wait(canvas, inner, context);
    }
    if count == 0 {
        let none = "no worker matches; Esc clears the filter";
        canvas.put(inner, 0, 0, none, Role::Muted);
        return;
    }
    table.draw(canvas, inner, Table::names_fit(inner.height), 0);
}

/// Returns how many workers of `count` are seen at once in `area`, of a table with or without sums.
pub fn page(area: Rect, framed: bool, count: usize, sums: bool) -> usize {
    let (_, height) = inside(area, framed);
    let total = has_total(height, count, sums).then(Vec::new);
    Table { total, ..Table::default() }.page(height).max(1)
}

/// Returns true where a row of sums stands below the workers. The framed table of the overview has none: the
/// figures above it say the same.
const fn has_total(height: u16, count: usize, sums: bool) -> bool {
    sums && height >= 4 && count > 1
}

/// Returns the columns and rows inside of the frame.
fn inside(area: Rect, framed: bool) -> (usize, u16) {
    let around = if framed { (4, 2) } else { (0, 0) };
    (area.width.saturating_sub(around.0).into(), area.height.saturating_sub(around.1))
}

/// Says why there are no workers: what Kubernetes complains of, or that none has been seen yet.
fn wait(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let complains = |row: &&SourceRow| row.name == SourceName::Kubernetes && !row.why.is_empty();
    let found = context.snapshot.sources.iter().find(complains);
    let found = found.filter(|row| matches!(judge::source(row).state, State::Warn | State::Fail));
    let (said, role) = match found {
        Some(row) => {
            (format!("kubernetes: {}", text::clean(&row.why)), judge::source(row).state.role())
        }
        None => (waiting(context), Role::Muted),
    };
    for (line, y) in text::wrap(&said, area.width.into()).iter().zip(0..area.height) {
        canvas.put(area, 0, y, line, role);
    }
}

fn waiting(context: &PanelContext<'_>) -> String {
    if context.snapshot.frames == 0 {
        String::from("no data yet: waiting for the first event")
    } else if context.snapshot.is_silent_on_nats() {
        format!("no KV event over NATS yet: {EVENTS_BY_ZMQ}")
    } else {
        String::from("no worker seen yet: they appear with their first KV event")
    }
}

/// Draws how many workers are in which state, and names the worst.
fn line(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let entries = entries(context.snapshot, Sort::default());
    let Some(worst) = entries.first() else {
        canvas.put(area, 0, 0, "kvtop: no worker yet", Role::Muted);
        return;
    };
    let verdict = worst.verdict;
    let mark = verdict.state.glyph(canvas.glyphs());
    let name = text::clean(&worst.row.alias).into_owned();
    let said = format!("{mark} {name} {}", verdict.word);
    canvas.put(area, 0, 0, &said, verdict.state.role());
}

/// Returns the workers with their verdicts, sorted.
pub fn entries(snapshot: &Snapshot, sort: Sort) -> Vec<Entry<'_>> {
    let named = Named::new(snapshot);
    let mut entries: Vec<_> =
        snapshot.workers.iter().map(|row| entry(snapshot, &named, row)).collect();
    match sort.by {
        None => entries.sort_by_key(badness),
        Some(Col::Name) => entries.sort_by_cached_key(|entry| name(entry.row)),
        Some(col) => entries.sort_by(|a, b| largest_first(col.number(a), col.number(b))),
    }
    if sort.reversed {
        entries.reverse();
    }
    entries
}

/// Returns the workers that the filter lets through, sorted as was chosen.
pub fn listed<'a>(snapshot: &'a Snapshot, state: &view::State) -> Vec<Entry<'a>> {
    let mut entries = entries(snapshot, state.sort);
    let filter = Filter::new(&state.typed);
    if !filter.is_empty() {
        entries.retain(|entry| passes(entry, &filter));
    }
    entries
}

fn passes(entry: &Entry<'_>, filter: &Filter) -> bool {
    let row = entry.row;
    let said = [&row.pod, &row.node, &row.role].into_iter().flatten();
    let said: Vec<&str> = said.map(String::as_str).chain([entry.verdict.word]).collect();
    filter.matches(&Target {
        who: &row.alias,
        kind: "",
        source: "",
        text: &said.join(" "),
        gravity: match entry.verdict.state {
            State::Fail => Gravity::Bad,
            State::Warn => Gravity::Notice,
            State::Gone | State::Ok | State::Unknown => Gravity::Normal,
        },
        orphan: row.rates.minute.refused > 0.0,
    })
}

/// Returns the selected worker: the first of the list where none is selected, or it is gone.
pub fn selected<'a>(snapshot: &'a Snapshot, state: &view::State) -> Option<Entry<'a>> {
    let of = |rank| snapshot.workers.iter().find(|row| row.rank == rank);
    match state.selected.and_then(of) {
        Some(row) => Some(entry(snapshot, &Named::new(snapshot), row)),
        None => listed(snapshot, state).into_iter().next(),
    }
}

fn entry<'a>(snapshot: &'a Snapshot, named: &Named, row: &'a WorkerRow) -> Entry<'a> {
    Entry { row, pod: pod(snapshot, row), verdict: named.worker(row), size: named.size(row) }
}

/// Returns the pod of a worker, when Kubernetes shows it.
pub fn pod<'a>(snapshot: &'a Snapshot, row: &WorkerRow) -> Option<&'a PodRow> {
    let name = row.pod.as_ref()?;
    let at = snapshot.pods.binary_search_by(|pod| pod.name.cmp(name)).ok()?;
    snapshot.pods.get(at)
}

/// The worst first. Close shares do not swap places.
fn badness(entry: &Entry<'_>) -> Reverse<(State, usize)> {
    let tenths = text::cells(judge::rejected(entry.row).unwrap_or(0.0) * 10.0);
    Reverse((entry.verdict.state, tenths))
}

/// Orders values downwards, unknown ones last.
fn largest_first(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// Returns where the selected worker is; the first one when it is gone.
pub fn position(entries: &[Entry<'_>], selected: Option<WorkerRank>) -> usize {
    let of = |rank| entries.iter().position(|entry| entry.row.rank == rank);
    selected.and_then(of).unwrap_or(0)
}

/// Returns the table with its visible rows.
fn table(
    canvas: &Canvas<'_>,
    context: &PanelContext<'_>,
    (entries, visible): (&[Entry<'_>], Range<usize>),
    wanted: &BTreeSet<Col>,
    (room, total): (usize, bool),
) -> Table {
    let glyphs = canvas.glyphs();
    let plan = Plan::new(entries, wanted, room, context, glyphs);
    let Plan { cols, columns, widths, bar, course, .. } = plan;
    let (events, requests) =
        (context.snapshot.hears_events(), context.snapshot.router.tells_of_requests_now());
    let (name, sizes) = (widths.name, widths.sizes);
    let graphs = Graphs { bar, course };
    let pen = Pen { context, glyphs, room, name, sizes, graphs, events, requests };
    let cells = |entry: &Entry<'_>| cols.iter().map(|col| pen.cell(*col, entry)).collect();
    // Without a frame nothing else says that there are more.
    let unseen = if context.framed { 0 } else { entries.len().saturating_sub(visible.len()) };
    let sum = |col: &Col| match col {
        Col::Name if unseen > 0 => part(format!("total, {unseen} more"), Role::Title),
        col => pen.total(*col),
    };
    Table {
        rows: entries.iter().skip(visible.start).take(visible.len()).map(cells).collect(),
        total: total.then(|| cols.iter().map(sum).collect()),
        columns,
    }
}

/// Returns true for columns that are wanted and say something.
fn is_shown(col: Col, wanted: &BTreeSet<Col>, context: &PanelContext<'_>) -> bool {
    col.is_fixed() || (col.is_useful(context.snapshot) && wanted.contains(&col))
}

/// Returns true while nobody chose columns.
fn is_usual(wanted: &BTreeSet<Col>) -> bool {
    let usual = Col::usual();
    wanted.iter().all(|col| *col == Col::State || usual.contains(col))
        && wanted.is_superset(&Col::essential())
}
