//! The room of columns: what they need at least, and which have none.

use ratatui::layout::Rect;

use super::cells::{name_width, sizes};
use super::{Col, Entry, NAME, NAMED, NODE, ORPHANS, ROOMY, WARMING, Widths};
use super::{inside, is_shown, listed};
use crate::tui::panels::PanelContext;
use crate::tui::text;
use crate::tui::theme::Glyphs;
use crate::tui::widgets::table::Table;

/// Most combinations of block sizes that widths are taken of.
const SIZES_APART: usize = 64;

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
    let longest = widest(entries, |entry| name_width(entry.row)).clamp(NAME.0, NAME.1);
    let orphans = if room >= WARMING { ORPHANS } else { 6 };
    // Beside it stand the mark and REJ%, of which no digit may be lost.
    let left = room.saturating_sub(orphans + 3);
    let last_rank = entries.iter().map(|entry| entry.row.rank.dp_rank.0).max().unwrap_or(0);
    let widths = Widths {
        // The name is what people look for, so that other columns go first where there are any.
        name: if room >= ROOMY { longest.min(NAMED) } else { NAME.0.min(left) },
        sizes: sizes_width(entries, glyphs).clamp(4, 14),
        rank: text::width(&last_rank.to_string()).max(2),
        node: widest(entries, |entry| text::width(entry.row.node.as_deref().unwrap_or_default()))
            .clamp(4, NODE),
        orphans,
    };
    (widths, longest)
}

fn widest(entries: &[Entry<'_>], width: impl Fn(&Entry<'_>) -> usize) -> usize {
    entries.iter().map(width).max().unwrap_or(0)
}

/// Returns the widest text about block sizes. Thousands of ranks have a few sizes, so that each is written once.
fn sizes_width(entries: &[Entry<'_>], glyphs: &Glyphs) -> usize {
    let mut seen = Vec::new();
    for entry in entries {
        let said = (entry.row.block_size, entry.size);
        if seen.len() < SIZES_APART && !seen.iter().any(|(known, _)| *known == said) {
            seen.push((said, text::width(&sizes(entry, glyphs))));
        }
    }
    seen.into_iter().map(|(_, width)| width).max().unwrap_or(0)
}
