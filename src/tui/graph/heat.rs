//! Cells of a heat map: how much of something is somewhere.

use ratatui::style::Style;

use crate::tui::theme::Role;
use crate::tui::widgets::canvas::Canvas;

/// Columns of one cell of the map.
pub const CELL: usize = 2;

/// Returns a cell for `share`, 0 to 1: nothing, a part or all, shaded by how much.
pub fn cell(canvas: &Canvas<'_>, share: f64) -> (String, Style) {
    let glyph = match share {
        share if share <= 0.0 => canvas.glyphs().heat[0],
        share if share < 0.5 => canvas.glyphs().heat[1],
        share if share < 1.0 => canvas.glyphs().heat[2],
        _ => canvas.glyphs().heat[3],
    };
    let style =
        if share <= 0.0 { canvas.style(Role::Border) } else { canvas.shade(Role::Series1, share) };
    (glyph.repeat(CELL), style)
}
