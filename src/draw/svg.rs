//! SVG: one text element for each run, stretched to its columns so that every font keeps the grid.

use ratatui::style::Modifier;

use super::{Ground, Run, escaped, put};
use crate::tui::text::width;

/// A cell, in hundredths of a pixel: what the usual monospaced fonts have at this size.
const CELL: (usize, usize) = (843, 1630);
/// Size of the font, in pixels.
const FONT: usize = 14;
/// The baseline of letters, from the top of the row, in hundredths of a pixel.
const BASE: usize = 1300;
/// Room around, in hundredths of a pixel.
const MARGIN: usize = 1000;
/// Fonts that have boxes, blocks and braille.
const FONTS: &str = "'DejaVu Sans Mono', Menlo, 'Cascadia Mono', Consolas, monospace";

/// The end of a page.
pub(super) const FOOT: &str = "</g>\n</svg>\n";

pub(super) fn page(lines: &[Vec<Run>], ground: &Ground, size: (u16, u16), title: &str) -> String {
    let mut page = head(ground, size, title);
    for (number, runs) in lines.iter().enumerate() {
        page.push_str(&row(runs, ground, number));
    }
    page.push_str(FOOT);
    page
}

/// Returns the beginning of a page of so many columns and rows.
pub(super) fn head(ground: &Ground, (columns, rows): (u16, u16), title: &str) -> String {
    let width = px(2 * MARGIN + usize::from(columns) * CELL.0);
    let height = px(2 * MARGIN + usize::from(rows) * CELL.1);
    let mut page = String::new();
    put(
        &mut page,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{}\"/>\n\
             <g font-family=\"{FONTS}\" font-size=\"{FONT}\" fill=\"{}\" \
             style=\"white-space:pre\">\n",
            escaped(title),
            ground.back,
            ground.text,
        ),
    );
    page
}

/// Returns row `number` of a page.
pub(super) fn row(runs: &[Run], ground: &Ground, number: usize) -> String {
    let mut row = String::new();
    let top = MARGIN + number * CELL.1;
    for run in runs {
        back(&mut row, run, ground, top);
    }
    for run in runs.iter().filter(|run| !run.text.trim().is_empty()) {
        text(&mut row, run, ground, top);
    }
    row
}

fn back(page: &mut String, run: &Run, ground: &Ground, top: usize) {
    // What is turned inside out without a colour of its own has the text's.
    let Some(fill) = run.look.back.as_ref().filter(|back| **back != ground.back) else { return };
    let (x, width) = (px(MARGIN + run.column * CELL.0), px(run.columns * CELL.0));
    let (y, height) = (px(top), px(CELL.1));
    put(
        page,
        format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>\n"
        ),
    );
}

fn text(page: &mut String, run: &Run, ground: &Ground, top: usize) {
    let look = look(run, ground);
    let mut column = run.column;
    for (kind, part) in parts(&run.text) {
        let columns = width(&part);
        match kind {
            Kind::Blank => {}
            Kind::Braille => dots(page, &part, column, top, &look),
            Kind::Letters => {
                let (x, y) = (px(MARGIN + column * CELL.0), px(top + BASE));
                let (length, part) = (px(columns * CELL.0), escaped(&part));
                put(
                    page,
                    format_args!(
                        "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" \
                         lengthAdjust=\"spacingAndGlyphs\"{look}>{part}</text>\n"
                    ),
                );
            }
        }
        column += columns;
    }
}

fn look(run: &Run, ground: &Ground) -> String {
    let mut look = String::new();
    if let Some(fill) = run.look.text.as_ref().filter(|text| **text != ground.text) {
        put(&mut look, format_args!(" fill=\"{fill}\""));
    }
    for (modifier, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::DIM, " opacity=\"0.7\""),
    ] {
        if run.look.modifier.contains(modifier) {
            look.push_str(attribute);
        }
    }
    look
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Blank,
    Letters,
    Braille,
}

/// Returns the parts of a run that are drawn alike. Single spaces within letters stay with them.
fn parts(text: &str) -> Vec<(Kind, String)> {
    let mut parts: Vec<(Kind, String)> = Vec::new();
    for letter in text.chars() {
        let kind = match letter {
            ' ' => Kind::Blank,
            '\u{2800}'..='\u{28ff}' => Kind::Braille,
            _ => Kind::Letters,
        };
        match parts.last_mut() {
            Some((last, part)) if *last == kind => part.push(letter),
            _ => parts.push((kind, letter.to_string())),
        }
    }
    let mut joined: Vec<(Kind, String)> = Vec::new();
    for (at, (kind, part)) in parts.iter().enumerate() {
        let between = *kind == Kind::Blank
            && part == " "
            && parts.get(at + 1).is_some_and(|(next, _)| *next == Kind::Letters);
        match joined.last_mut() {
            Some((Kind::Letters, last)) if between || *kind == Kind::Letters => last.push_str(part),
            _ => joined.push((*kind, part.clone())),
        }
    }
    joined
}

/// Draws braille as the dots of a chart: few monospaced fonts have it.
fn dots(page: &mut String, part: &str, column: usize, top: usize, look: &str) {
    // The eight bits of a pattern, as column and row.
    const PLACES: [(usize, usize); 8] =
        [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let mut path = String::new();
    for (at, letter) in part.chars().enumerate() {
        let pattern = u32::from(letter) - 0x2800;
        for (bit, (across, down)) in PLACES.into_iter().enumerate() {
            if pattern & (1 << bit) != 0 {
                let x = MARGIN + (column + at) * CELL.0 + across * CELL.0 / 2 + 100;
                let y = top + down * CELL.1 / 4 + 100;
                put(&mut path, format_args!("M{} {}h2.2v2.2h-2.2z", px(x), px(y)));
            }
        }
    }
    put(page, format_args!("<path{look} d=\"{path}\"/>\n"));
}

/// Returns hundredths of a pixel in pixels.
fn px(hundredths: usize) -> String {
    let (whole, part) = (hundredths / 100, hundredths % 100);
    if part == 0 { whole.to_string() } else { format!("{whole}.{part:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_together_and_charts_are_dots() {
        let found = parts("a b  c\u{28ff}d ");
        let expected = [
            (Kind::Letters, "a b"),
            (Kind::Blank, "  "),
            (Kind::Letters, "c"),
            (Kind::Braille, "\u{28ff}"),
            (Kind::Letters, "d"),
            (Kind::Blank, " "),
        ];
        let found: Vec<_> = found.iter().map(|(kind, part)| (*kind, part.as_str())).collect();
        assert_eq!(found, expected);
        let mut page = String::new();
        dots(&mut page, "\u{2801}\u{2880}", 0, 0, "");
        assert_eq!(page.matches('M').count(), 2, "{page}");
        assert_eq!((px(1234), px(500)), (String::from("12.34"), String::from("5")));
    }
}
