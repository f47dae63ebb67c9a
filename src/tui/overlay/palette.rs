//! The palette over the view: commands that fit what is typed, above the line that is typed.

use ratatui::layout::Rect;

use crate::tui::keymap::Keymap;
use crate::tui::keymap::names::with_keys;
use crate::tui::palette::Entry;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, part};
use crate::tui::widgets::panel::{self, Heading};

/// Widest that the list gets, and the rows it has at most.
const SIZE: (u16, u16) = (84, 14);
/// Rows of the screen that a list needs to be worth its place.
const LEAST: u16 = 8;

/// Draws the list over `area`, with entry `at` selected, above its last row.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, entries: &[Entry], at: usize, keys: &Keymap) {
    if area.height < LEAST || area.width < 30 || entries.is_empty() {
        return;
    }
    let room = (area.height - 3).min(SIZE.1);
    let height = text::coordinate(entries.len() + 2).min(room);
    let width = area.width.min(SIZE.0);
    let over = Rect { x: area.x, y: area.y + area.height - 1 - height, width, height };
    canvas.clear(over);
    let page = usize::from(height - 2).max(1);
    let at = at.min(entries.len() - 1);
    let first = at / page * page;
    let keys = with_keys(keys, "{edit-submit} runs, {edit-complete} completes, arrows walk");
    let notes = vec![
        part(format!("{} of {}  ", at + 1, entries.len()), Role::Muted),
        part(keys, Role::Muted),
    ];
    let heading = Heading { title: String::from("Commands"), notes, focused: true };
    let inner = panel::draw(canvas, over, &heading);
    let names = entries.iter().map(|entry| text::width(&entry.line)).max().unwrap_or(0).min(28);
    for (y, (number, entry)) in entries.iter().enumerate().skip(first).take(page).enumerate() {
        let selected = number == at;
        let pointer = if selected { canvas.glyphs().mark } else { " " };
        let role = if selected { Role::Title } else { Role::Fg };
        let mark = canvas.glyphs().ellipsis;
        let name = text::pad(&text::cut_middle(&text::clean(&entry.line), names, mark), names);
        canvas.spot(inner, text::coordinate(y), number);
        let x = canvas.put(inner, 0, text::coordinate(y), pointer, Role::Key);
        let x = canvas.put(inner, x + 1, text::coordinate(y), &name, role);
        let left = usize::from(inner.width.saturating_sub(x + 2));
        let about = text::cut_words(&text::clean(&entry.about), left, mark);
        canvas.put(inner, x + 2, text::coordinate(y), &about, Role::Muted);
    }
}
