//! Scrolling the focused panel.

use super::{Open, Shell};
use crate::snapshot::Snapshot;
use crate::tui::command::Scroll;
use crate::tui::overlay;
use crate::tui::panels::{Look, PanelId, events, findings};
use crate::tui::theme::Glyphs;

/// Rows of a panel that are not its content: frame and names.
const AROUND: u16 = 3;
/// Rows that the router panel has at most.
const ROUTER_ROWS: usize = 64;

impl Shell {
    /// Scrolls what is open, or the focused panel.
    pub(super) fn scroll(&mut self, by: Scroll, live: &Snapshot) {
        let screen = self.size.1;
        if let Open::Help(first) = self.open {
            let last = overlay::last(self.view_focus(live), Glyphs::UNICODE, screen);
            let page = usize::from(screen.saturating_sub(AROUND)).max(1);
            self.open = Open::Help(moved(first, by, page, last));
            return;
        }
        let layout = self.layout(self.area(), live);
        let focus = layout.focus(self.look.focus);
        let Some(area) = layout.panel(focus) else { return };
        let page = usize::from(area.height.saturating_sub(AROUND)).max(1);
        match focus {
            PanelId::Workers => {
                let count = self.shown(live).workers.len();
                // The rule and the total stay below.
                let page = page.saturating_sub(2).max(1);
                let last = count.saturating_sub(page);
                self.look.first_worker = moved(self.look.first_worker, by, page, last);
            }
            PanelId::Router => {
                self.look.first_router = moved(self.look.first_router, by, page, ROUTER_ROWS);
            }
            PanelId::Events => self.scroll_events(by, page, live),
            PanelId::Findings if !matches!(by, Scroll::PageUp | Scroll::PageDown) => {
                self.select(by, live);
            }
            // The list is short, what is selected is not.
            PanelId::Findings | PanelId::Finding => {
                let area = layout.panel(PanelId::Finding).unwrap_or(area);
                let page = findings::detail::page(area, layout.framed).max(1);
                let look = Look { focus, ..self.look };
                let scene = self.scene(self.shown(live), &look, &layout);
                // The glyphs decide nothing about how many rows there are.
                let last = findings::detail::last(&scene, area, Glyphs::UNICODE);
                self.look.first_line = moved(look.first_line, by, page, last);
            }
            PanelId::Traffic | PanelId::Usage | PanelId::Growth | PanelId::Trends => {}
        }
    }

    /// Selects another finding or check, and shows it from its beginning.
    fn select(&mut self, by: Scroll, live: &Snapshot) {
        let items = findings::items(self.shown(live));
        let at = findings::position(&items, self.look.selected);
        let next = moved(at, by, 1, items.len().saturating_sub(1));
        let key = findings::key(&items, next);
        if next != at || self.look.selected.is_none() {
            self.look.selected = key;
            self.look.first_line = 0;
        }
    }

    /// Moves the event that the view holds on to; the newest one is followed again.
    fn scroll_events(&mut self, by: Scroll, page: usize, live: &Snapshot) {
        let rows = &self.shown(live).events;
        let below = events::later(rows, self.look.last_event);
        let most = rows.len().saturating_sub(1);
        let below = match by {
            Scroll::Up => below.saturating_add(1),
            Scroll::Down => below.saturating_sub(1),
            Scroll::PageUp => below.saturating_add(page),
            Scroll::PageDown => below.saturating_sub(page),
            Scroll::Top => most.saturating_sub(page.saturating_sub(1)),
            Scroll::Bottom => 0,
        };
        let held = rows.len().checked_sub(1 + below.min(most)).filter(|_| below > 0);
        self.look.last_event = held.and_then(|at| rows.get(at)).map(|event| event.number);
    }
}

fn moved(first: usize, by: Scroll, page: usize, last: usize) -> usize {
    let first = first.min(last);
    match by {
        Scroll::Up => first.saturating_sub(1),
        Scroll::Down => first.saturating_add(1).min(last),
        Scroll::PageUp => first.saturating_sub(page),
        Scroll::PageDown => first.saturating_add(page).min(last),
        Scroll::Top => 0,
        Scroll::Bottom => last,
    }
}
