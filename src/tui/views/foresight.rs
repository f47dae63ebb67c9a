//! The view of what would help: larger caches, drains, copies, and where prefixes land.

use ratatui::layout::Rect;

use super::{Reply, View, ViewContext, moved};
use crate::domain::WorkerId;
use crate::snapshot::{DrainRow, Foresight, Snapshot, ViewQuery};
use crate::tui::command::{self, Command, Scroll};
use crate::tui::layout::{Class, Layout, Needs, columns, take_top};
use crate::tui::panels::foresight::{drain, leaders};
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
    opened: |_| false,
    filter: None,
    arrange,
    ask,
    update,
    copy,
};

/// Rows of the planner.
const PLANNER: u16 = 6;

/// State of the view between pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The selected worker; none for the first.
    pub selected: Option<WorkerId>,
    /// First row shown of the prefixes.
    pub first_prefix: usize,
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
fn arrange(layout: &mut Layout, mut rest: Rect, class: Class, _: &Needs) {
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
                let planner = take_top(&mut rest, PLANNER);
                layout.panels.push((PanelId::Planner, planner));
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

/// Every picture holds these answers, so that the past has them too.
const fn ask(_: &Look, _: &ViewContext<'_>, _: &mut ViewQuery) {}

fn copy(look: &Look, view_context: &ViewContext<'_>) -> Option<String> {
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
