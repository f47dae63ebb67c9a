//! The room of columns: what they need at least, and which have none.

use ratatui::layout::Rect;

use super::cells::{name, sizes};
use super::{Col, Entry, NAME, NAMED, NODE, ORPHANS, ROOMY, WARMING, Widths};
use super::{inside, is_shown, listed, widest};
use crate::tui::panels::PanelContext;
use crate::tui::theme::Glyphs;
use crate::tui::widgets::table::Table;

/// Returns the columns that are wanted and say something, but have no room in `area`.
pub fn crowded_out(area: Rect, context: &PanelContext<'_>, glyphs: &Glyphs) -> Vec<Col> {
    let state = &context.look.workers;
    let entries = listed(context.snapshot, state);
    let (room, _) = inside(area, context.framed);
    let shown = |col: &Col| is_shown(*col, &state.columns, context);
    let cols: Vec<Col> = Col::ALL.iter().copied().filter(shown).collect();
    let (widths, _) = least(&entries, room, glyphs);
    let columns = cols.iter().map(|col| col.column(&widths, glyphs)).collect();
    let kept = Table { columns, ..Table::default() }.fitting(room);
    let lost = cols.iter().enumerate().filter(|(at, _)| !kept.contains(at));
    lost.map(|(_, col)| *col).collect()
}

/// Returns the least widths of columns, and the width of the longest name.
pub(super) fn least(entries: &[Entry<'_>], room: usize, glyphs: &Glyphs) -> (Widths, usize) {
    let longest = widest(entries, |entry| name(entry.row)).clamp(NAME.0, NAME.1);
    let orphans = if room >= WARMING { ORPHANS } else { 6 };
    // Beside it stand the mark and REJ%, of which no digit may be lost.
    let left = room.saturating_sub(orphans + 3);
    let widths = Widths {
        // The name is what people look for, so that other columns go first where there are any.
        name: if room >= ROOMY { longest.min(NAMED) } else { NAME.0.min(left) },
        sizes: widest(entries, |entry| sizes(entry, glyphs)).clamp(4, 14),
        rank: widest(entries, |entry| entry.row.rank.dp_rank.0.to_string()).max(2),
        node: widest(entries, |entry| entry.row.node.clone().unwrap_or_default()).clamp(4, NODE),
        orphans,
    };
    (widths, longest)
}
