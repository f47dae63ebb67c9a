//! The help: keys from the key table, marks, and what the columns mean.

pub mod picker;

use ratatui::layout::Rect;

use super::filter::SYNTAX;
use super::keymap::{Focus, Keymap};
use super::panels::workers::Col;
use super::text;
use super::theme::{Glyphs, Role};
use super::widgets::canvas::{Canvas, Part, part};
use super::widgets::panel::{self, Heading};

/// Widest that the help gets.
const WIDTH: u16 = 84;
/// Columns of a key or a term.
const TERM: usize = 10;

/// Returns the lines of the help.
fn lines(keys: &Keymap, focus: Focus, glyphs: &Glyphs) -> Vec<[Part; 2]> {
    let heading = |title: &str| [part(title, Role::Title), part("", Role::Fg)];
    let term = |term: &str, meaning: &str, role: Role| {
        [part(format!("  {}", text::pad(term, TERM)), role), part(meaning, Role::Fg)]
    };
    let blank = || [part("", Role::Fg), part("", Role::Fg)];
    let mut lines = vec![heading("Keys")];
    for binding in keys.bindings(focus).filter(|binding| !binding.help.is_empty()) {
        lines.push(term(binding.shown, binding.help, Role::Key));
    }
    lines.extend([blank(), heading("Marks")]);
    lines.push(term(glyphs.ok, "proven good", Role::Ok));
    lines.push(term(glyphs.warn, "worth a look", Role::Warn));
    lines.push(term(glyphs.fail, "broken", Role::Crit));
    lines.push(term(glyphs.unknown, "not known yet; it never counts as good", Role::Unknown));
    lines.push(term(glyphs.info, "good to know; it makes no banner", Role::Fg));
    let warming = "blocks from before kvtop attached are unknown, so orphans prove nothing yet";
    lines.push(term("warming", warming, Role::Unknown));
    lines.push(term(glyphs.none, "nobody reports it; it is not 0", Role::Muted));
    lines.extend([blank(), heading("Filter")]);
    lines.extend(SYNTAX.map(|(word, meaning)| term(word, meaning, Role::Key)));
    lines.extend([blank(), heading("Columns")]);
    let columns = Col::ALL.into_iter().filter(|col| !col.title(glyphs).is_empty());
    lines.extend(columns.map(|col| term(col.title(glyphs), col.says().1, Role::Title)));
    lines.extend([blank(), heading("kvtop only reads; it never changes the cluster.")]);
    lines
}

/// Returns the last row to which the help can be scrolled in an area of that height.
pub fn last(keys: &Keymap, focus: Focus, glyphs: &Glyphs, height: u16) -> usize {
    lines(keys, focus, glyphs).len().saturating_sub(usize::from(height.saturating_sub(2)).max(1))
}

/// Returns the middle of `area`.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

/// Draws the help over `area`, from row `first` on.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, keys: &Keymap, focus: Focus, first: usize) {
    let lines = lines(keys, focus, canvas.glyphs());
    let wanted = text::coordinate(lines.len()).saturating_add(2);
    let (width, height) = (area.width.min(WIDTH), area.height.min(wanted));
    let over = centred(area, width, height);
    canvas.clear(over);
    let first = first.min(last(keys, focus, canvas.glyphs(), height));
    let page = usize::from(height.saturating_sub(2));
    let mut notes = vec![part("Esc closes", Role::Muted)];
    if lines.len() > page {
        let below = lines.len() - (first + page).min(lines.len());
        notes.insert(0, part(format!("{below} more below  "), Role::Warn));
    }
    let heading = Heading { title: String::from("Help"), notes, focused: true };
    let inner = panel::draw(canvas, over, &heading);
    for (y, line) in lines.iter().skip(first).take(inner.height.into()).enumerate() {
        canvas.parts(inner, 0, text::coordinate(y), line);
    }
}
