//! Panels that are read like a page: rows of text that scroll below a title.

use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{self, Canvas, Part, part};

/// Rows without a frame from which on the first one has the title.
const NAMED: u16 = 4;

/// Columns of a frame's upper edge beside title and mark: corners, blanks, and a piece of the line.
const FRAME: usize = 9;

/// Draws `lines` from row `first` on.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    context: &PanelContext<'_>,
    (id, title): (PanelId, &str),
    lines: &[Vec<Part>],
    first: usize,
) {
    let page = page(area, context.framed);
    let first = first.min(lines.len().saturating_sub(page));
    let below = lines.len().saturating_sub(first + page);
    let mut notes = Vec::new();
    if below > 0 {
        notes.push(part(format!("{below} more {}", canvas.glyphs().down), Role::Muted));
    }
    // A page that is cut says so, however long its title is.
    let around = canvas::width(&notes) + FRAME;
    let room = if below > 0 { usize::from(area.width).saturating_sub(around) } else { usize::MAX };
    let title = text::cut(title, room, canvas.glyphs().ellipsis);
    let mut inner = context.frame(canvas, area, id, title.as_str(), notes.clone());
    if !context.framed && area.height >= NAMED {
        let x = canvas.put(inner, 0, 0, &title, Role::Title);
        if usize::from(x) + 16 <= inner.width.into() {
            canvas.parts_right(inner, 0, &notes);
        }
        inner = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    }
    for (y, line) in lines.iter().skip(first).take(inner.height.into()).enumerate() {
        canvas.parts(inner, 0, text::coordinate(y), line);
    }
}

/// Returns the rows for its text: all but the frame, or the title where there is no frame.
pub(super) fn page(area: Rect, framed: bool) -> usize {
    let around = if framed { 2 } else { u16::from(area.height >= NAMED) };
    usize::from(area.height.saturating_sub(around))
}

/// Returns the columns inside of the frame.
pub(super) fn inside(area: Rect, framed: bool) -> usize {
    usize::from(if framed { area.width.saturating_sub(4) } else { area.width })
}
