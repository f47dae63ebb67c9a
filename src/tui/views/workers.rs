//! The view of workers: the table with all columns, and everything about one worker.

use std::collections::BTreeSet;

use ratatui::layout::Rect;

use super::{Choice, Picker, Reply, View, ViewContext, moved};
use crate::domain::WorkerRank;
use crate::snapshot::{Ask, ViewQuery};
use crate::tui::command::{self, Command, Pick, Scroll};
use crate::tui::layout::{Class, Layout, Needs, TABLE, columns, table_rows, take_top};
use crate::tui::panels::workers::{self as table, Col, Sort};
use crate::tui::panels::{Look, PanelId, memory, worker};
use crate::tui::theme::Glyphs;

/// Most workers on a page; more are paged.
const PAGE: u16 = 12;
/// Rows of a graph, at least.
const GRAPH: u16 = 7;
/// Rows of the page about one worker from which on graphs may stand below it.
const READ: u16 = 14;

/// The view.
pub const VIEW: View = View {
    name: command::View::Workers,
    about: "which worker is affected?",
    home: PanelId::WorkerTable,
    opened: |look| look.workers.opened,
    filter: Some(|look| &mut look.workers.typed),
    arrange,
    ask,
    update,
    copy,
};

/// State of the view between pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The selected worker; none for the first.
    pub selected: Option<WorkerRank>,
    /// True while one worker has the view for itself.
    pub opened: bool,
    /// The order.
    pub sort: Sort,
    /// The columns that are wanted.
    pub columns: BTreeSet<Col>,
    /// First row shown of the worker.
    pub first_line: usize,
    /// First row shown of its memory.
    pub first_figure: usize,
    /// The filter, as it was typed.
    pub typed: String,
}

impl Default for State {
    fn default() -> Self {
        Self {
            selected: None,
            opened: false,
            sort: Sort::default(),
            columns: Col::usual(),
            first_line: 0,
            first_figure: 0,
            typed: String::new(),
        }
    }
}

fn arrange(layout: &mut Layout, mut rest: Rect, class: Class, needs: &Needs) {
    if needs.opened {
        return one(layout, rest, class);
    }
    let around = if layout.framed { TABLE } else { 2 };
    let wanted = table_rows(needs.workers, around).min(PAGE + around);
    // The view is for the table: what is below takes no more than half.
    let below = match class {
        Class::Full => (2 * GRAPH + 2).min(rest.height / 2),
        Class::Medium => GRAPH,
        Class::Compact | Class::Small | Class::Tiny => 0,
    };
    let most = rest.height.saturating_sub(below).max(around + 1);
    // What would be left over is too little for anything else.
    let height =
        if rest.height < wanted.min(most) + GRAPH { rest.height } else { wanted.min(most) };
    let height = if below == 0 { rest.height } else { height };
    let area = take_top(&mut rest, height);
    layout.panels.push((PanelId::WorkerTable, area));
    match class {
        _ if rest.height == 0 => {}
        Class::Full => beside(layout, rest, false),
        // Text needs more columns than half of them.
        _ => pair(layout, rest),
    }
}

/// Places two graphs side by side.
fn pair(layout: &mut Layout, rest: Rect) {
    let half = rest.width / 2;
    layout.panels.push((PanelId::WorkerTraffic, columns(rest, 0, half)));
    layout.panels.push((PanelId::WorkerShares, columns(rest, half, rest.width - half)));
}

/// Gives one worker the view: its text, and its graphs beside or below.
fn one(layout: &mut Layout, mut rest: Rect, class: Class) {
    match class {
        Class::Full => beside(layout, rest, true),
        Class::Medium if rest.height > READ + GRAPH => {
            let height = rest.height.saturating_sub(GRAPH + 1);
            let text = take_top(&mut rest, height);
            layout.panels.push((PanelId::Worker, text));
            pair(layout, rest);
        }
        _ => layout.panels.push((PanelId::Worker, rest)),
    }
}

/// Places the text on the left; its memory, where there is one worker only, and as many graphs as fit on
/// the right.
fn beside(layout: &mut Layout, rest: Rect, alone: bool) {
    let left = rest.width / 2;
    layout.panels.push((PanelId::Worker, columns(rest, 0, left)));
    let mut right = columns(rest, left, rest.width - left);
    if alone {
        let height = memory::ROWS.min(right.height.saturating_sub(GRAPH));
        let area = take_top(&mut right, height);
        layout.panels.push((PanelId::WorkerMemory, area));
    }
    let graphs = [PanelId::WorkerTraffic, PanelId::WorkerShares, PanelId::WorkerBlocks];
    let count = (right.height / GRAPH).clamp(1, 3);
    for (at, id) in (0..count).zip(graphs) {
        let height = right.height / (count - at);
        let area = take_top(&mut right, height);
        layout.panels.push((id, area));
    }
}

fn ask(look: &Look, view_context: &ViewContext<'_>, query: &mut ViewQuery) {
    let shown = view_context.layout.panels.iter().any(|(id, _)| *id != PanelId::WorkerTable);
    let selected = || table::selected(view_context.snapshot, &look.workers);
    if let Some(entry) = shown.then(selected).flatten() {
        query.ask = Ask::Worker(entry.row.rank);
    }
}

fn copy(look: &Look, view_context: &ViewContext<'_>) -> Option<String> {
    let entry = table::selected(view_context.snapshot, &look.workers)?;
    let row = entry.row;
    let pod = row.pod.as_deref().unwrap_or_default();
    let (id, rank) = (row.rank.worker.0, row.rank.dp_rank);
    Some(format!("{} {pod} worker_id={id} dp_rank={rank} {}", row.alias, entry.verdict.word))
}

fn update(look: &mut Look, command: Command, view_context: &ViewContext<'_>) -> Reply {
    let focus = view_context.layout.focus(look.focus);
    match command {
        Command::Open => open(look, !look.workers.opened, view_context),
        Command::Back if look.workers.opened => open(look, false, view_context),
        Command::Back if look.focus != PanelId::WorkerTable => {
            look.focus = PanelId::WorkerTable;
            Reply::Done
        }
        Command::Back if !look.workers.typed.is_empty() => {
            look.workers.typed.clear();
            Reply::Done
        }
        Command::Scroll(by) if focus == PanelId::WorkerTable => select(look, by, view_context),
        Command::Scroll(by) => read(look, by, view_context),
        Command::Heard => match table::selected(view_context.snapshot, &look.workers) {
            Some(entry) => {
                look.events = super::events::State {
                    typed: entry.row.alias.replacen('w', "w:", 1),
                    ..super::events::State::default()
                };
                Reply::Go(command::View::Events)
            }
            None => Reply::Refused(String::from("no worker was seen yet")),
        },
        Command::WorkerTree => match table::selected(view_context.snapshot, &look.workers) {
            Some(entry) => {
                look.tree.narrow(entry.row.rank.worker);
                Reply::Go(command::View::Tree)
            }
            None => Reply::Refused(String::from("no worker was seen yet")),
        },
        Command::Sort => Reply::Pick(sorts(look)),
        Command::SortReversed => {
            look.workers.sort.reversed ^= true;
            Reply::Done
        }
        Command::Columns => Reply::Pick(columns_of(look, 0, view_context)),
        Command::Picked(Pick::Sort, at) => {
            let by = sort_keys(look).get(at).copied().flatten();
            look.workers.sort = Sort { by, reversed: false };
            Reply::Done
        }
        Command::Picked(Pick::Columns, at) => {
            if let Some(col) = optional().nth(at)
                && !look.workers.columns.remove(&col)
            {
                look.workers.columns.insert(col);
            }
            Reply::Pick(columns_of(look, at, view_context))
        }
        _ => Reply::Pass,
    }
}

/// Shows one worker, or all of them. The first one is selected for good as soon as it is opened.
fn open(look: &mut Look, opened: bool, view_context: &ViewContext<'_>) -> Reply {
    let selected = table::selected(view_context.snapshot, &look.workers);
    if opened && selected.is_none() {
        return Reply::Refused(String::from("no worker was seen yet"));
    }
    look.workers.selected = selected.map(|entry| entry.row.rank);
    look.workers.opened = opened;
    (look.workers.first_line, look.workers.first_figure) = (0, 0);
    look.focus = if opened { PanelId::Worker } else { PanelId::WorkerTable };
    Reply::Done
}

fn select(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let entries = table::listed(view_context.snapshot, &look.workers);
    let at = table::position(&entries, look.workers.selected);
    let area = view_context.layout.panel(PanelId::WorkerTable).unwrap_or_default();
    let page = table::page(area, view_context.layout.framed, entries.len(), true);
    let next = moved(at, by, page, entries.len().saturating_sub(1));
    look.workers.selected = entries.get(next).map(|entry| entry.row.rank);
    (look.workers.first_line, look.workers.first_figure) = (0, 0);
    Reply::Done
}

fn read(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let focus = view_context.layout.focus(look.focus);
    let Some(area) = view_context.layout.panel(focus) else { return Reply::Done };
    let page = worker::page(area, view_context.layout.framed).max(1);
    let context = view_context.panel_context(look);
    match focus {
        PanelId::Worker => {
            let last = worker::last(&context, area);
            look.workers.first_line = moved(look.workers.first_line, by, page, last);
        }
        PanelId::WorkerMemory => {
            let last = memory::last(&context, area);
            look.workers.first_figure = moved(look.workers.first_figure, by, page, last);
        }
        // Graphs do not scroll.
        _ => {}
    }
    Reply::Done
}

/// Returns what there is to sort by: the worst first, then the columns that are shown.
fn sort_keys(look: &Look) -> Vec<Option<Col>> {
    let shown = |col: &Col| col.is_fixed() || look.workers.columns.contains(col);
    let cols = Col::ALL.iter().copied().filter(|col| col.sorts()).filter(shown);
    [None].into_iter().chain(cols.map(Some)).collect()
}

fn sorts(look: &Look) -> Picker {
    let keys = sort_keys(look);
    let choice = |key: &Option<Col>| match key {
        None => Choice::new("worst first", "failed workers, then by rejected stores"),
        Some(col) => Choice::new(col.title(Glyphs::ASCII), col.about()),
    };
    let at = keys.iter().position(|key| *key == look.workers.sort.by).unwrap_or(0);
    Picker { pick: Pick::Sort, title: "Sort by", choices: keys.iter().map(choice).collect(), at }
}

/// Returns the columns that can be taken away and put back.
fn optional() -> impl Iterator<Item = Col> {
    Col::ALL.iter().copied().filter(|col| !col.is_fixed())
}

fn columns_of(look: &Look, at: usize, view_context: &ViewContext<'_>) -> Picker {
    let area = view_context.layout.panel(PanelId::WorkerTable).unwrap_or_default();
    let lost = table::crowded_out(area, &view_context.panel_context(look), Glyphs::UNICODE);
    let choice = |col: Col| {
        let on = look.workers.columns.contains(&col);
        let room = if lost.contains(&col) { "no room now: " } else { "" };
        let about = format!("{room}{}", col.about());
        Choice { on: Some(on), ..Choice::new(col.title(Glyphs::ASCII), about) }
    };
    Picker { pick: Pick::Columns, title: "Columns", choices: optional().map(choice).collect(), at }
}
