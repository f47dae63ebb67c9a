//! Overlays above a view: help, palette, and lists to pick from.

pub mod help;
pub mod palette;
pub mod picker;

use ratatui::layout::Rect;

/// Returns the middle of `area`.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}
