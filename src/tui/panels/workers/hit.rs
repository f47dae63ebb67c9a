//! The mouse on the table of workers.

use ratatui::layout::{Position, Rect};

use super::plan::Plan;
use super::{Col, Entry, Sort, entries, inside, listed, page, position};
use crate::domain::WorkerRank;
use crate::tui::panels::Scene;
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
pub fn hit(area: Rect, at: Position, chosen: bool, scene: &Scene<'_>) -> Option<Hit> {
    let edge = u16::from(scene.framed);
    let entries = if chosen {
        listed(scene.snapshot, &scene.look.workers)
    } else {
        entries(scene.snapshot, Sort::default())
    };
    let (room, height) = inside(area, scene.framed);
    let names = u16::from(Table::names_fit(height));
    let y = at.y.checked_sub(area.y + edge)?;
    if y < names {
        return header(room, at.x.checked_sub(area.x + 2 * edge)?, &entries, scene)
            .filter(|_| chosen);
    }
    let sums = chosen || !scene.framed;
    let page = page(area, scene.framed, entries.len(), sums);
    let first = if chosen {
        position(&entries, scene.look.workers.selected) / page * page
    } else {
        scene.look.first_worker.min(entries.len().saturating_sub(page))
    };
    let row = usize::from(y - names);
    let entry = entries.get(first + row).filter(|_| row < page)?;
    Some(Hit::Row(entry.row.rank))
}

/// Returns the column whose name stands at `x` of the chosen table.
fn header(room: usize, x: u16, entries: &[Entry<'_>], scene: &Scene<'_>) -> Option<Hit> {
    // The mark beside the selected row takes two columns.
    let mut x = usize::from(x.checked_sub(2)?);
    let glyphs = Glyphs::UNICODE;
    let state = &scene.look.workers;
    let room = room.saturating_sub(2);
    let plan = Plan::new(entries, &state.columns, room, scene, glyphs);
    for (col, width) in plan.shown() {
        if x <= width {
            return col.sorts().then_some(Hit::Header(col));
        }
        x -= width + 1;
    }
    None
}
