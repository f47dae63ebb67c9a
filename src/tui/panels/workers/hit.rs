//! The mouse on the table of workers.

use ratatui::layout::{Position, Rect};

use super::plan::Plan;
use super::{Col, Entry, Sort, entries, inside, listed, page, position};
use crate::domain::WorkerRank;
use crate::tui::panels::PanelContext;
use crate::tui::theme::Glyphs;
use crate::tui::widgets::table::Table;

/// The item at a place of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A worker.
    Row(WorkerRank),
    /// The name of a column.
    Header(Col),
}

/// Returns what is at a place of the screen, of the table in `area`; `chosen` is true for the table whose order
/// can be chosen.
pub fn hit(area: Rect, at: Position, chosen: bool, context: &PanelContext<'_>) -> Option<Hit> {
    let edge = u16::from(context.framed);
    let entries = if chosen {
        listed(context.snapshot, &context.look.workers)
    } else {
        entries(context.snapshot, Sort::default())
    };
    let (room, height) = inside(area, context.framed);
    let names = u16::from(Table::names_fit(height));
    let y = at.y.checked_sub(area.y + edge)?;
    if y < names {
        return header(room, at.x.checked_sub(area.x + 2 * edge)?, &entries, context)
            .filter(|_| chosen);
    }
    let sums = chosen || !context.framed;
    let page = page(area, context.framed, entries.len(), sums);
    let first = if chosen {
        position(&entries, context.look.workers.selected) / page * page
    } else {
        context.look.first_worker.min(entries.len().saturating_sub(page))
    };
    let row = usize::from(y - names);
    let entry = entries.get(first + row).filter(|_| row < page)?;
    Some(Hit::Row(entry.row.rank))
}

/// Returns the column whose name stands at `x` of the chosen table.
fn header(room: usize, x: u16, entries: &[Entry<'_>], context: &PanelContext<'_>) -> Option<Hit> {
    // The mark beside the selected row takes two columns.
    let mut x = usize::from(x.checked_sub(2)?);
    let glyphs = Glyphs::UNICODE;
    let state = &context.look.workers;
    let room = room.saturating_sub(2);
    let plan = Plan::new(entries, &state.columns, room, context, glyphs);
    for (col, width) in plan.shown() {
        if x <= width {
            return col.sorts().then_some(Hit::Header(col));
        }
        x -= width + 1;
    }
    None
}
