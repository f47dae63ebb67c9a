//! The last row: hints from the key table, a message, or the command line.

use ratatui::layout::Rect;

use crate::tui::filter::SYNTAX;
use crate::tui::keymap::names::with_keys;
use crate::tui::keymap::{Focus, Keymap};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Draws the hints that fit, whole ones only. Help and quit never go.
pub fn hints(canvas: &mut Canvas<'_>, area: Rect, keys: &Keymap, focus: Focus) {
    let mut hints: Vec<[Part; 2]> = keys
        .bindings(focus)
        .filter_map(|binding| {
            let hint = binding.hint?;
            Some([
                part(format!(" {}", binding.shown), Role::Key),
                part(format!(" {hint} "), Role::Fg),
            ])
        })
        .collect();
    let needed = |hints: &[[Part; 2]]| -> usize { hints.iter().map(|hint| width(hint)).sum() };
    while hints.len() > 2 && needed(&hints) > area.width.into() {
        // The last one is the way out.
        hints.remove(hints.len() - 2);
    }
    let mut x = 0;
    for hint in &hints {
        x = canvas.parts(area, x, 0, hint);
    }
}

/// Draws a message; it stays until the next key.
pub fn message(canvas: &mut Canvas<'_>, area: Rect, message: &str, role: Role) {
    let room = usize::from(area.width.saturating_sub(1));
    let said = text::cut_words(message, room, canvas.glyphs().ellipsis);
    canvas.put(area, 1, 0, &said, role);
}

/// Draws the filter that is typed, and what it may say.
pub fn filter(canvas: &mut Canvas<'_>, area: Rect, typed: &str, keys: &Keymap) {
    let x = typing(canvas, area, "/", typed);
    let cursor = Rect { x: area.x.saturating_add(x), width: 1.min(area.width), ..area };
    let known: Vec<&str> = SYNTAX.iter().map(|(word, _)| *word).collect();
    let keeps = with_keys(keys, "   {edit-submit} keeps, {back} drops");
    let said = format!("   {}{keeps}", known.join("  "));
    for said in [said.as_str(), &keeps] {
        if usize::from(x) + 1 + text::width(said) <= area.width.into() {
            canvas.put(area, x + 1, 0, said, Role::Muted);
            break;
        }
    }
    canvas.tint(cursor, Role::Select);
}

/// Draws the end of what is being typed; returns the column after it.
fn typing(canvas: &mut Canvas<'_>, area: Rect, before: &str, typed: &str) -> u16 {
    let x = canvas.put(area, 0, 0, before, Role::Key);
    let room = usize::from(area.width.saturating_sub(2));
    let skipped = typed.chars().count().saturating_sub(room);
    let tail: String = typed.chars().skip(skipped).collect();
    canvas.put(area, x, 0, &tail, Role::Fg)
}

/// Draws the command line with something said of it.
pub fn answered(canvas: &mut Canvas<'_>, area: Rect, typed: &str, said: &str, role: Role) {
    let x = typing(canvas, area, ":", typed);
    let cursor = Rect { x: area.x.saturating_add(x), width: 1.min(area.width), ..area };
    let room = usize::from(area.width.saturating_sub(x.saturating_add(3)));
    let said = text::cut_words(said, room, canvas.glyphs().ellipsis);
    canvas.put(area, x.saturating_add(3), 0, &said, role);
    canvas.tint(cursor, Role::Select);
}

/// Draws the command line with its first suggestion, what that does, and the key that takes it.
pub fn line(
    canvas: &mut Canvas<'_>,
    area: Rect,
    typed: &str,
    suggestions: &[(String, &'static str)],
    key: &str,
) {
    let Some((first, does)) = suggestions.first() else { return };
    let x = typing(canvas, area, ":", typed);
    let cursor = Rect { x: area.x.saturating_add(x), width: 1.min(area.width), ..area };
    // Nothing is proposed to who typed nothing.
    let rest = first.strip_prefix(typed).filter(|_| !typed.is_empty()).unwrap_or_default();
    let rest = match (rest, canvas.is_colourless()) {
        ("", _) => String::new(),
        // Without colours it would look as if it were typed.
        (rest, true) => format!(" [{rest}]"),
        (rest, false) => rest.to_owned(),
    };
    let x = canvas.put(area, x, 0, &rest, Role::Muted).max(x + 1);
    let more = suggestions.len() - 1;
    let mut said = vec![part(format!("   {key}: {first}, {does}"), Role::Muted)];
    if more > 0 {
        said.push(part(format!("  ({more} more)"), Role::Muted));
    }
    if usize::from(x) + width(&said) <= area.width.into() {
        canvas.parts(area, x, 0, &said);
    }
    canvas.tint(cursor, Role::Select);
}
