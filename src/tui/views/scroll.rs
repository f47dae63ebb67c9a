//! Scrolling panels that more than one view shows.

use super::{ViewContext, moved};
use crate::tui::command::Scroll;
use crate::tui::panels::{Look, PanelId, events};

/// Rows of a panel that are not its content: frame and names.
pub const AROUND: u16 = 3;
/// Rows that the router panel has at most.
const ROUTER_ROWS: usize = 64;

/// Scrolls the focused panel.
pub fn panel(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) {
    let focus = view_context.layout.focus(look.focus);
    let Some(area) = view_context.layout.panel(focus) else { return };
    let page = usize::from(area.height.saturating_sub(AROUND)).max(1);
    match focus {
        PanelId::Workers => {
            // The rule and the total stay below.
            let page = page.saturating_sub(2).max(1);
            let last = view_context.snapshot.workers.len().saturating_sub(page);
            look.first_worker = moved(look.first_worker, by, page, last);
        }
        PanelId::Router => look.first_router = moved(look.first_router, by, page, ROUTER_ROWS),
        PanelId::Events => scroll_events(look, by, page, view_context),
        // Others do not scroll, or their view scrolls them.
        _ => {}
    }
}

/// Moves the event that the view holds on to; the newest one is followed again.
fn scroll_events(look: &mut Look, by: Scroll, page: usize, view_context: &ViewContext<'_>) {
    let rows = &view_context.snapshot.events;
    let below = events::later(rows, look.last_event);
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
    look.last_event = held.and_then(|at| rows.get(at)).map(|event| event.number);
}
