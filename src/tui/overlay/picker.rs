//! A list to pick from, over everything else.

use ratatui::layout::Rect;

use super::centred;
use crate::tui::keymap::Keymap;
use crate::tui::keymap::names::with_keys;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::views::{Choice, Picker};
use crate::tui::widgets::canvas::{Canvas, Part, part, width};
use crate::tui::widgets::panel::{self, Heading};

/// Widest that the list gets.
const WIDTH: u16 = 76;

/// Draws the list over `area`, around the choice that is selected.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, picker: &Picker, keys: &Keymap) {
    let wanted = text::coordinate(picker.choices.len()).saturating_add(2);
    // The first and the last row stay, where there are more: the last one says which keys there are.
    let edge = u16::from(area.height > 6);
    let area = Rect { y: area.y + edge, height: area.height - 2 * edge, ..area };
    let over = centred(area, area.width.min(WIDTH), area.height.min(wanted));
    canvas.clear(over);
    let page = usize::from(over.height.saturating_sub(2)).max(1);
    let at = picker.at.min(picker.choices.len().saturating_sub(1));
    let first = at / page * page;
    let below = picker.choices.len().saturating_sub(first + page);
    let mut notes = vec![part(with_keys(keys, "{pick} picks, {back} closes"), Role::Muted)];
    if below > 0 {
        notes.insert(0, part(format!("{below} more {}  ", canvas.glyphs().down), Role::Muted));
    }
    let heading = Heading { title: picker.title.to_owned(), notes, focused: true };
    let inner = panel::draw(canvas, over, &heading);
    let names = picker.choices.iter().map(|choice| text::width(&choice.name)).max().unwrap_or(0);
    let visible = picker.choices.iter().enumerate().skip(first).take(page);
    for (y, (number, choice)) in visible.enumerate() {
        let line = line(canvas, choice, number == at, names, inner.width.into());
        canvas.parts(inner, 0, text::coordinate(y), &line);
        canvas.spot(inner, text::coordinate(y), number);
    }
}

fn line(
    canvas: &Canvas<'_>,
    choice: &Choice,
    selected: bool,
    names: usize,
    columns: usize,
) -> Vec<Part> {
    let glyphs = canvas.glyphs();
    let pointer = if selected { glyphs.mark } else { " " };
    let mark = match choice.on {
        Some(true) => format!("{} ", glyphs.ok),
        Some(false) => "  ".to_owned(),
        None => String::new(),
    };
    let role = if selected { Role::Title } else { Role::Fg };
    let mut parts = vec![
        part(format!("{pointer} "), Role::Key),
        part(mark, Role::Ok),
        part(format!("{}  ", text::pad(glyphs.named(&choice.name), names)), role),
    ];
    let room = columns.saturating_sub(width(&parts));
    let about = text::cut_words(&text::clean(&choice.about), room, glyphs.ellipsis);
    parts.push(part(about, Role::Muted));
    parts
}
