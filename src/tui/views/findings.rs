//! Findings with evidence and fix.

use ratatui::layout::Rect;

use super::{Reply, View, ViewContext, moved};
use crate::tui::command::{self, Command, Scroll};
use crate::tui::findings;
use crate::tui::layout::{Class, Layout, Needs, columns, table_rows, take_top};
use crate::tui::panels::findings::{self as panel, Item, Key};
use crate::tui::panels::{Look, PanelId};
use crate::tui::theme::Glyphs;

/// The view.
pub const VIEW: View = View {
    name: command::View::Findings,
    about: "what is wrong, and how to fix it",
    home: PanelId::Findings,
    opened: |look| look.focus == PanelId::Finding,
    filter: Some(|look| &mut look.findings.typed),
    arrange,
    ask: |_, _, _| {},
    update,
    copy,
};

/// State of the view between pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The selected finding or check; none for the first.
    pub selected: Option<Key>,
    /// First row shown of it.
    pub first_line: usize,
    /// The filter, as it was typed.
    pub typed: String,
}

/// The list, and beside or below it what is selected.
fn arrange(layout: &mut Layout, mut rest: Rect, class: Class, needs: &Needs) {
    if class <= Class::Medium && rest.width >= 100 {
        let list = (rest.width / 20 * 7).clamp(38, 60);
        layout.panels.push((PanelId::Findings, columns(rest, 0, list)));
        layout.panels.push((PanelId::Finding, columns(rest, list, rest.width - list)));
        return;
    }
    // There is no room for both: what is read has the view for itself.
    if needs.opened {
        layout.panels.push((PanelId::Finding, rest));
        return;
    }
    let around = if layout.framed { 2 } else { 0 };
    let wanted = table_rows(needs.findings, around);
    let most = (rest.height / 3).max(around + 1);
    let list = take_top(&mut rest, wanted.min(most));
    layout.panels.push((PanelId::Findings, list));
    if !rest.is_empty() {
        layout.panels.push((PanelId::Finding, rest));
    }
}

fn update(look: &mut Look, command: Command, view_context: &ViewContext<'_>) -> Reply {
    let focus = view_context.layout.focus(look.focus);
    match command {
        Command::Open => {
            let back = focus == PanelId::Finding;
            look.focus = if back { PanelId::Findings } else { PanelId::Finding };
            Reply::Done
        }
        Command::Back if look.focus == PanelId::Finding => {
            look.focus = PanelId::Findings;
            Reply::Done
        }
        Command::Back if !look.findings.typed.is_empty() => {
            look.findings.typed.clear();
            Reply::Done
        }
        // The list is short, what is selected is not.
        Command::Scroll(by @ (Scroll::PageUp | Scroll::PageDown)) => read(look, by, view_context),
        Command::Scroll(by) if focus == PanelId::Findings => select(look, by, view_context),
        Command::Scroll(by) => read(look, by, view_context),
        _ => Reply::Pass,
    }
}

fn read(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let layout = view_context.layout;
    let area = layout.panel(PanelId::Finding).or_else(|| layout.panel(PanelId::Findings));
    let Some(area) = area else { return Reply::Done };
    let page = panel::detail::page(area, layout.framed).max(1);
    // The glyphs decide nothing about how many rows there are.
    let last = panel::detail::last(&view_context.panel_context(look), area, Glyphs::UNICODE);
    look.findings.first_line = moved(look.findings.first_line, by, page, last);
    Reply::Done
}

/// Selects another finding or check, and shows it from its beginning.
fn select(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let listed = panel::listed(view_context.snapshot, &look.findings);
    let at = panel::position(&listed, &look.findings);
    let next = moved(at, by, 1, listed.len().saturating_sub(1));
    if next != at || look.findings.selected.is_none() {
        look.findings.selected = listed.get(next).map(|(key, _)| *key);
        look.findings.first_line = 0;
    }
    Reply::Done
}

fn copy(look: &Look, view_context: &ViewContext<'_>) -> Option<String> {
    Some(match panel::selected(view_context.snapshot, &look.findings)? {
        Item::Finding(row) | Item::Past(row) => {
            let (word, grade) = (findings::word(row.severity), findings::grade(row));
            format!("{} {} {word} {grade}: {}", row.id, row.name, row.summary)
        }
        Item::Check(row) => format!("{} {} {}", row.id, row.name, row.note),
    })
}
