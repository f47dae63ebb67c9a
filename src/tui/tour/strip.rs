//! Draws the text of the tour: a strip beside the view, or below it on a narrow screen.

use ratatui::layout::Rect;

use super::{Move, Step};
use crate::snapshot::Snapshot;
use crate::tui::command::Command;
use crate::tui::keymap::Keymap;
use crate::tui::keymap::names::{key_or_line, with_keys};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};
use crate::tui::widgets::panel::{self, Heading};

/// Columns of the strip beside the view.
const WIDTH: u16 = 36;
/// Columns from which on the strip stands beside.
const BESIDE: u16 = 80 + WIDTH;
/// Rows of the strip below the view, and the rows that a screen needs for it.
const BELOW: [(u16, u16); 6] = [(24, 7), (20, 6), (14, 5), (12, 4), (10, 3), (8, 1)];
/// Rows from which on the strip has a frame.
const FRAMED: u16 = 6;

/// Divides the screen between the view and the strip, which may be empty.
pub fn divide(screen: Rect) -> (Rect, Rect) {
    if screen.width >= BESIDE && screen.height >= 12 {
        let view = Rect { width: screen.width - WIDTH, ..screen };
        return (view, Rect { x: screen.x + view.width, width: WIDTH, ..screen });
    }
    let rows = BELOW.iter().find(|(least, _)| screen.height >= *least).map_or(0, |(_, rows)| *rows);
    let view = Rect { height: screen.height - rows, ..screen };
    (view, Rect { y: screen.y + view.height, height: rows, ..screen })
}

/// Draws step `at` of `steps`.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    steps: &[&Step],
    at: usize,
    keys: &Keymap,
    live: &Snapshot,
) {
    let Some(step) = steps.get(at) else { return };
    let moves = moves(keys, at, steps.len());
    let count = format!("{}/{}", at + 1, steps.len());
    if area.height < FRAMED {
        let hints = hints(&moves);
        let titles = [
            format!(" Tour {count}  {}  ", step.title),
            format!(" {count}  {}  ", step.title),
            format!(" Tour {count}  "),
            String::from(" "),
        ];
        let room = usize::from(area.width).saturating_sub(width(&hints));
        let title = titles.into_iter().find(|title| text::width(title) <= room).unwrap_or_default();
        let x = canvas.put(area, 0, 0, &title, Role::Title);
        canvas.parts(area, x, 0, &hints);
        let below = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
        let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..below };
        return write(canvas, below, &fitting(step, keys, below, live));
    }
    let is_tall = area.height > BELOW[0].1;
    let title =
        if is_tall { format!("Tour {count}") } else { format!("Tour {count}: {}", step.title) };
    let notes = if is_tall { Vec::new() } else { hints(&moves) };
    let inner = panel::draw(canvas, area, &Heading { title, notes, focused: false });
    if inner.is_empty() {
        return;
    }
    let room = inner.height - u16::from(is_tall);
    if is_tall {
        canvas.parts(inner, 0, room, &hints(&moves));
    }
    let inner = Rect { height: room, ..inner };
    let rows = if is_tall {
        rows(step, keys, inner.width.into(), live)
    } else {
        fitting(step, keys, inner, live)
    };
    write(canvas, inner, &rows);
}

/// Returns as much of a step as there is room for whole: with what the picture says of it, without, or in
/// short.
fn fitting(step: &Step, keys: &Keymap, area: Rect, live: &Snapshot) -> Vec<(String, Role)> {
    let columns = usize::from(area.width);
    let said = wrapped(&with_keys(keys, step.say), columns, Role::Fg);
    let of_picture = (step.live)(live).map(|said| wrapped(&said, columns, Role::Key));
    let all = [said.clone(), of_picture.unwrap_or_default()].concat();
    let brief = || wrapped(&with_keys(keys, step.brief), columns, Role::Fg);
    let mut forms = [all, said].into_iter();
    forms.find(|rows| rows.len() <= area.height.into()).unwrap_or_else(brief)
}

fn wrapped(said: &str, columns: usize, role: Role) -> Vec<(String, Role)> {
    text::wrap(&text::clean(said), columns).into_iter().map(|line| (line, role)).collect()
}

/// Writes as many rows as there is room for; the last says that there are more.
fn write(canvas: &mut Canvas<'_>, area: Rect, rows: &[(String, Role)]) {
    let room = usize::from(area.height);
    let cut = rows.len() > room;
    for (y, (line, role)) in rows.iter().take(room).enumerate() {
        let last = cut && y + 1 == room;
        let mark = canvas.glyphs().ellipsis;
        let rest = rows.get(y + 1).filter(|_| last).map_or("", |(next, _)| next.as_str());
        let shown = text::cut_words(format!("{line} {rest}").trim_end(), area.width.into(), mark);
        canvas.put(area, 0, text::coordinate(y), &shown, *role);
    }
}

/// Returns the keys that move the tour, with what they do.
fn moves(keys: &Keymap, at: usize, count: usize) -> Vec<(String, &'static str)> {
    let next = if at + 1 < count { "next" } else { "end" };
    let all = [(Move::Back, "back"), (Move::Next, next), (Move::Toggle, "quit")];
    let named = |(by, does)| (key_or_line(keys, Command::Tour(by)), does);
    all.into_iter().skip(usize::from(at == 0)).map(named).collect()
}

fn hints(keys: &[(String, &'static str)]) -> Vec<Part> {
    keys.iter()
        .enumerate()
        .flat_map(|(at, (key, does))| {
            let gap = if at > 0 { "  " } else { "" };
            [part(format!("{gap}{key}"), Role::Key), part(format!(" {does}"), Role::Fg)]
        })
        .collect()
}

/// Returns the text of a step beside the view: its title, what it means, and what the picture says of it.
fn rows(step: &Step, keys: &Keymap, columns: usize, live: &Snapshot) -> Vec<(String, Role)> {
    let gap = || (String::new(), Role::Fg);
    let key = step.by_hand.map(|command| format!(" ({})", key_or_line(keys, command)));
    let key = key.unwrap_or_default();
    let mut rows = vec![(format!("{}{key}", step.title), Role::Title), gap()];
    rows.extend(wrapped(&with_keys(keys, step.say), columns, Role::Fg));
    if let Some(said) = (step.live)(live) {
        rows.push(gap());
        rows.extend(wrapped(&said, columns, Role::Key));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strip_never_takes_the_view_away() {
        for (width, height) in
            [(20, 3), (40, 10), (60, 12), (60, 16), (80, 24), (116, 36), (200, 60), (1, 1)]
        {
            let screen = Rect::new(0, 0, width, height);
            let (view, strip) = divide(screen);
            assert!(view.width >= width.min(80) && view.height >= height.min(7), "{screen}");
            assert_eq!(view.area() + strip.area(), screen.area(), "{screen}");
            assert!(!view.intersects(strip) || strip.is_empty(), "{screen}");
        }
    }
}
