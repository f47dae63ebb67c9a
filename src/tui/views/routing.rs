//! Explains routing: the last decisions, their costs, and each worker's share.

use ratatui::layout::Rect;

use super::{Reply, View, ViewContext, moved};
use crate::snapshot::{Ask, ViewQuery};
use crate::tui::command::{self, Command, Scroll};
use crate::tui::layout::{Class, Layout, Needs, columns, take_top};
use crate::tui::panels::routing::{self, Listed};
use crate::tui::panels::{Look, PanelId};
use crate::tui::text;

/// Decisions in the list; older ones stay while one of them is selected.
const DECISIONS: usize = 200;
/// Rows of a graph, at least.
const GRAPH: u16 = 7;
/// Rows of the page about one decision from which on graphs may stand below it.
const READ: u16 = 14;
/// Rows of the router panel with all that it usually says.
const ROUTER: u16 = 14;

/// The view.
pub const VIEW: View = View {
    name: command::View::Routing,
    about: "why did the router pick that one?",
    home: PanelId::Decisions,
    opened: |look| look.routing.opened,
    filter: Some(|look| &mut look.routing.typed),
    arrange,
    ask,
    update,
    copy,
};

/// State of the view between pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Number of the selected decision; none to follow the newest.
    pub selected: Option<u64>,
    /// True while one decision has the view for itself.
    pub opened: bool,
    /// First row shown of it.
    pub first_line: usize,
    /// The filter, as it was typed.
    pub typed: String,
}

fn arrange(layout: &mut Layout, mut rest: Rect, class: Class, needs: &Needs) {
    match (class, needs.opened) {
        (Class::Full, false) => {
            let left = rest.width / 20 * 11;
            let mut right = columns(rest, left, rest.width - left);
            let mut left = columns(rest, 0, left);
            let list = take_top(&mut left, (rest.height / 2).saturating_sub(1).max(6));
            layout.panels.push((PanelId::Decisions, list));
            layout.panels.push((PanelId::Decision, left));
            // What does not fit scrolls; two graphs say more than its last rows.
            let height = right.height.saturating_sub(2 * GRAPH).clamp(GRAPH, ROUTER);
            let router = take_top(&mut right, height);
            layout.panels.push((PanelId::Router, router));
            graphs(layout, right);
        }
        (Class::Full, true) => {
            let left = rest.width / 20 * 11;
            let mut right = columns(rest, left, rest.width - left);
            layout.panels.push((PanelId::Decision, columns(rest, 0, left)));
            let most = right.height.saturating_sub(3 * GRAPH).max(4);
            let wanted = u16::try_from(needs.workers).unwrap_or(u16::MAX).saturating_add(2);
            let shares = take_top(&mut right, wanted.clamp(4, most));
            layout.panels.push((PanelId::Shares, shares));
            graphs(layout, right);
        }
        (Class::Medium, false) => {
            let height = (rest.height / 2).max(6);
            let list = take_top(&mut rest, height);
            layout.panels.push((PanelId::Decisions, list));
            layout.panels.push((PanelId::Router, rest));
        }
        (Class::Medium, true) if rest.height > READ + GRAPH => {
            let height = rest.height.saturating_sub(GRAPH + 1);
            let text = take_top(&mut rest, height);
            layout.panels.push((PanelId::Decision, text));
            let half = rest.width / 2;
            layout.panels.push((PanelId::RoutedRates, columns(rest, 0, half)));
            layout.panels.push((PanelId::Ttft, columns(rest, half, rest.width - half)));
        }
        (_, false) => layout.panels.push((PanelId::Decisions, rest)),
        (_, true) => layout.panels.push((PanelId::Decision, rest)),
    }
}

/// Places the graphs one below the other, as many as fit.
fn graphs(layout: &mut Layout, mut rest: Rect) {
    let graphs = [PanelId::RoutedRates, PanelId::Ttft, PanelId::Hits];
    let count = (rest.height / GRAPH).clamp(1, 3);
    for (at, id) in (0..count).zip(graphs) {
        let height = rest.height / (count - at);
        let area = take_top(&mut rest, height);
        layout.panels.push((id, area));
    }
}

fn ask(look: &Look, _: &ViewContext<'_>, query: &mut ViewQuery) {
    query.decisions = DECISIONS;
    query.ask = Ask::Routing(look.routing.selected);
}

/// Copies the selected decision in one line, with the terms of every worker.
fn copy(look: &Look, view_context: &ViewContext<'_>) -> Option<String> {
    let row = routing::selected(view_context.snapshot, &look.routing)?;
    let number = |name: &str, value: Option<f64>| {
        value.map(|value| format!(" {name}={value}")).unwrap_or_default()
    };
    let mut said = format!(
        "{}Z {} to {} worker_id={}{}{}",
        text::clock_millis(row.at),
        row.router,
        row.alias,
        row.worker.0,
        number("logit", row.logit),
        number("cached_blocks", row.cached_blocks)
    );
    if let Some(request) = &row.request {
        said = format!("{said} request_id={request}");
    }
    for term in &row.terms {
        let (weight, prefill, decode) = (term.weight, term.prefill_blocks, term.decode_blocks);
        let sum = format!("{} = {weight} x {prefill} + {decode}", term.logit);
        said = format!("{said}; {} {sum} (cached {})", term.alias, term.cached_blocks);
    }
    Some(said)
}

fn update(look: &mut Look, command: Command, view_context: &ViewContext<'_>) -> Reply {
    let focus = view_context.layout.focus(look.focus);
    match command {
        Command::Open => open(look, !look.routing.opened, view_context),
        Command::Back if look.routing.opened => open(look, false, view_context),
        Command::Back if look.focus != PanelId::Decisions => {
            look.focus = PanelId::Decisions;
            Reply::Done
        }
        Command::Back if !look.routing.typed.is_empty() => {
            look.routing.typed.clear();
            Reply::Done
        }
        Command::Scroll(by) if focus == PanelId::Decisions => select(look, by, view_context),
        Command::Scroll(by) if focus == PanelId::Decision => read(look, by, view_context),
        _ => Reply::Pass,
    }
}

/// Shows one decision, or all of them. The newest one stays selected once it is opened.
fn open(look: &mut Look, opened: bool, view_context: &ViewContext<'_>) -> Reply {
    if opened {
        let Listed { rows, at } = Listed::new(view_context.snapshot, &look.routing);
        let Some(row) = at.and_then(|at| rows.get(at)) else {
            return Reply::Refused(String::from("no decision to open"));
        };
        look.routing.selected = Some(row.number);
    }
    look.routing.opened = opened;
    look.routing.first_line = 0;
    look.focus = if opened { PanelId::Decision } else { PanelId::Decisions };
    Reply::Done
}

/// Selects another decision. The newest are on top, and the topmost is followed.
fn select(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let Listed { rows, at } = Listed::new(view_context.snapshot, &look.routing);
    let area = view_context.layout.panel(PanelId::Decisions).unwrap_or_default();
    let page = routing::page(area, view_context.layout.framed);
    let last = rows.len().saturating_sub(1);
    // One that left the list was below its end.
    let at = at.map_or(last, |at| last - at);
    let next = moved(at, by, page, last);
    let follows = next == 0 && matches!(by, Scroll::Up | Scroll::PageUp | Scroll::Top);
    let number = rows.iter().rev().nth(next).map(|row| row.number);
    look.routing.selected = number.filter(|_| !follows);
    look.routing.first_line = 0;
    Reply::Done
}

fn read(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let Some(area) = view_context.layout.panel(PanelId::Decision) else { return Reply::Done };
    let page = routing::decision_page(area, view_context.layout.framed).max(1);
    let last = routing::last(&view_context.panel_context(look), area);
    look.routing.first_line = moved(look.routing.first_line, by, page, last);
    Reply::Done
}
