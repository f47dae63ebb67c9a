//! A share as a bar.

use crate::tui::text;
use crate::tui::theme::Glyphs;

/// Returns a bar of `columns` cells that is filled to `share`, 0 to 1.
pub fn bar(share: f64, columns: usize, glyphs: &Glyphs) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = text::cells(share * columns as f64).min(columns);
    glyphs.full.repeat(filled) + &glyphs.empty.repeat(columns - filled)
}
