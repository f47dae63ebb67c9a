//! The view of what would help: larger caches, drains, copies, where prefixes land, and the planner.

use ratatui::layout::Rect;

use super::{Reply, View, ViewContext, moved};
use crate::domain::WorkerId;
use crate::plan;
use crate::snapshot::{DrainRow, Foresight, Snapshot, ViewQuery};
use crate::tui::command::{self, Command, Scroll};
use crate::tui::layout::{Class, Layout, Needs, columns, take_top};
use crate::tui::panels::foresight::{drain, leaders, planner};
use crate::tui::panels::{Look, PanelId};
use crate::tui::text;

/// Most rows of the upper and of the lower panels: more would stay empty.
const UPPER: u16 = 22;
const LOWER: u16 = 18;

/// The view.
pub const VIEW: View = View {
    name: command::View::Foresight,
    about: "what would help?",
    home: PanelId::Drain,
    opened: |look| look.foresight.planner.is_some(),
    filter: None,
    arrange,
    ask,
    update,
    copy,
};

/// Fewest rows of the planner below the other panels.
const PLANNER: u16 = 6;

/// State of the view between pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The selected worker; none for the first.
    pub selected: Option<WorkerId>,
    /// First row shown of the prefixes.
    pub first_prefix: usize,
    /// First line shown of the planner, while it has the view for itself.
    pub planner: Option<usize>,
}

impl State {
    /// Returns the position of the selected worker.
    pub fn row(&self, answers: &Foresight) -> usize {
        let is_it = |row: &DrainRow| Some(row.worker) == self.selected;
        answers.drain.iter().position(is_it).unwrap_or(0)
    }
}

/// Returns the selected worker.
pub fn selected<'a>(snapshot: &'a Snapshot, state: &State) -> Option<&'a DrainRow> {
    let answers = snapshot.foresight.as_deref()?;
    answers.drain.get(state.row(answers))
}

/// Places the panels: the curve and what a drain loses above, prefixes and copies below, and in what is left the
/// planner.
fn arrange(layout: &mut Layout, mut rest: Rect, class: Class, needs: &Needs) {
    if needs.opened {
        layout.panels.push((PanelId::Planner, rest));
        return;
    }
    match class {
        Class::Full | Class::Medium => {
            let upper = (rest.height / 2).min(UPPER);
            let above = take_top(&mut rest, upper);
            let below = take_top(&mut rest, LOWER);
            let left = above.width / 2;
            layout.panels.push((PanelId::Curve, columns(above, 0, left)));
            layout.panels.push((PanelId::Drain, columns(above, left, above.width - left)));
            layout.panels.push((PanelId::Leaders, columns(below, 0, left)));
            layout.panels.push((PanelId::Copies, columns(below, left, below.width - left)));
            if rest.height >= PLANNER {
                layout.panels.push((PanelId::Planner, rest));
            }
        }
        Class::Compact => {
            let height = rest.height / 2;
            let curve = take_top(&mut rest, height);
            layout.panels.push((PanelId::Curve, curve));
            layout.panels.push((PanelId::Drain, rest));
        }
        Class::Small | Class::Tiny => layout.panels.push((PanelId::Drain, rest)),
    }
}

/// Every picture holds the answers from state, so that the past has them too. The planner reads lengths of prompts from
/// decisions.
fn ask(_: &Look, _: &ViewContext<'_>, query: &mut ViewQuery) {
    query.decisions = query.decisions.max(plan::DECISIONS);
}

fn copy(look: &Look, view_context: &ViewContext<'_>) -> Option<String> {
    if look.foresight.planner.is_some() {
        return Some(planner::text(&view_context.panel_context(look)));
    }
    let row = selected(view_context.snapshot, &look.foresight)?;
    Some(format!(
        "{} worker_id={} held={} only_here={} hot={}",
        row.alias,
        row.worker,
        text::count(row.held),
        text::count(row.only),
        text::count(row.hot)
    ))
}

fn update(look: &mut Look, command: Command, view_context: &ViewContext<'_>) -> Reply {
    let focus = view_context.layout.focus(look.focus);
    if let Some(first) = look.foresight.planner {
        match command {
            Command::Back | Command::Open => {
                look.foresight.planner = None;
                look.focus = PanelId::Drain;
            }
            Command::Scroll(by) => {
                let area = view_context.layout.panel(PanelId::Planner).unwrap_or_default();
                let (page, lines) = planner::extent(area, &view_context.panel_context(look));
                let last = lines.saturating_sub(page);
                look.foresight.planner = Some(moved(first, by, page, last));
            }
            _ => return Reply::Pass,
        }
        return Reply::Done;
    }
    match command {
        Command::Back if look.focus != PanelId::Drain => {
            look.focus = PanelId::Drain;
            Reply::Done
        }
        Command::Scroll(by) if focus == PanelId::Leaders => scroll(look, by, view_context),
        Command::Scroll(by) => select(look, by, view_context),
        Command::Open => open(look, view_context),
        _ => Reply::Pass,
    }
}

/// Shows the selected worker among the others.
fn open(look: &mut Look, view_context: &ViewContext<'_>) -> Reply {
    let worker = selected(view_context.snapshot, &look.foresight).map(|row| row.worker);
    let mut rows = view_context.snapshot.workers.iter();
    let Some(row) = rows.find(|row| Some(row.rank.worker) == worker) else {
        return Reply::Refused(String::from("no worker was seen yet"));
    };
    look.workers.selected = Some(row.rank);
    Reply::Go(command::View::Workers)
}

fn select(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let Some(answers) = view_context.snapshot.foresight.as_deref() else { return Reply::Done };
    let area = view_context.layout.panel(PanelId::Drain).unwrap_or_default();
    let page = drain::page(area, view_context.layout.framed);
    let last = answers.drain.len().saturating_sub(1);
    let next = moved(look.foresight.row(answers), by, page, last);
    look.foresight.selected = answers.drain.get(next).map(|row| row.worker);
    Reply::Done
}

fn scroll(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let Some(answers) = view_context.snapshot.foresight.as_deref() else { return Reply::Done };
    let area = view_context.layout.panel(PanelId::Leaders).unwrap_or_default();
    let page = leaders::page(area, view_context.layout.framed).max(1);
    let last = leaders::rows(answers).saturating_sub(page);
    look.foresight.first_prefix = moved(look.foresight.first_prefix, by, page, last);
    Reply::Done
}
