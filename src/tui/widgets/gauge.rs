//! A share as a bar.

use crate::tui::judge;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};

/// Returns a bar of `columns` cells that is filled to `share`, 0 to 1.
pub fn bar(share: f64, columns: usize, glyphs: &Glyphs) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = text::cells(share * columns as f64).min(columns);
    glyphs.full.repeat(filled) + &glyphs.empty.repeat(columns - filled)
}

/// Returns the role of a bar that is filled to `share` of KV blocks.
pub fn role(share: f64) -> Role {
    if share >= judge::KV_FAIL {
        Role::GaugeHigh
    } else if share >= judge::KV_WARN {
        Role::GaugeMid
    } else {
        Role::GaugeLow
    }
}
