//! The frame of a panel: a title on the left, notes on the right, both within the upper edge.

use ratatui::layout::Rect;

use super::canvas::{Canvas, Part, part, width};
use crate::tui::text;
use crate::tui::theme::Role;

/// The texts in a frame.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// The panel's name, perhaps with a number.
    pub title: String,
    /// More about it; the last ones go first when there is no room.
    pub notes: Vec<Part>,
    /// True for the panel that keys act on.
    pub focused: bool,
}

/// Draws a frame around `area`; returns what is inside, one column of padding left out.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, heading: &Heading) -> Rect {
    let area = canvas.clip(area);
    if area.width < 4 || area.height < 2 {
        return Rect::default();
    }
    let role = if heading.focused { Role::BorderFocus } else { Role::Border };
    edges(canvas, area, role);
    let room = usize::from(area.width) - 4;
    let title =
        text::cut(&text::clean(&heading.title), room.saturating_sub(2), canvas.glyphs().ellipsis);
    let title_role = if heading.focused { Role::BorderFocus } else { Role::Title };
    let taken = taken(&title);
    if taken > 0 {
        canvas.put(area, 2, 0, &format!(" {title} "), title_role);
    }
    let notes = heading.notes.get(..fitting(area, &title, &heading.notes)).unwrap_or_default();
    if !notes.is_empty() {
        let start = usize::from(area.width) - 4 - width(notes);
        let padded: Vec<Part> = [part(" ", Role::Muted)]
            .into_iter()
            .chain(notes.iter().cloned())
            .chain([part(" ", Role::Muted)])
            .collect();
        canvas.parts(area, text::coordinate(start), 0, &padded);
    }
    Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 }
}

fn taken(title: &str) -> usize {
    if title.is_empty() { 0 } else { text::width(title) + 2 }
}

/// Returns how many of `notes`, from the first on, fit beside `title` into the frame of `area`.
pub fn fitting(area: Rect, title: &str, notes: &[Part]) -> usize {
    let room = usize::from(area.width).saturating_sub(4);
    let fits = |count: &usize| {
        notes.get(..*count).is_some_and(|notes| taken(title) + width(notes) + 2 < room)
    };
    (1..=notes.len()).rev().find(fits).unwrap_or(0)
}

fn edges(canvas: &mut Canvas<'_>, area: Rect, role: Role) {
    let set = canvas.glyphs().frame;
    let inner = usize::from(area.width) - 2;
    let last = area.height - 1;
    let top = format!("{}{}{}", set.top_left, set.horizontal_top.repeat(inner), set.top_right);
    canvas.put(area, 0, 0, &top, role);
    for y in 1..last {
        canvas.put(area, 0, y, set.vertical_left, role);
        canvas.put(area, area.width - 1, y, set.vertical_right, role);
    }
    let bottom =
        format!("{}{}{}", set.bottom_left, set.horizontal_bottom.repeat(inner), set.bottom_right);
    canvas.put(area, 0, last, &bottom, role);
}
