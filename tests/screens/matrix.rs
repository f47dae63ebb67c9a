//! Every view at every size, in both sets of glyphs, with and without colours, cell by cell.
//!
//! A picture is kept as its text and as one line of styles for each row: `30. 5g+` are thirty plain cells
//! and five bold green ones. What two pictures must have in common is compared instead of kept twice.

use std::fmt::Write as _;

use kvtop::simulator::Scenario;
use kvtop::snapshot::Feed;
use kvtop::tui::theme::{Glyphs, Level};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::views::Seat;
use super::{draw_with, rows, text, theme};
use crate::support::{captures, frames, played};

const SIZES: [(u16, u16); 5] = [(160, 45), (120, 36), (80, 24), (60, 12), (20, 3)];

const VIEWS: [(&str, &str); 6] = [
    ("overview", "1"),
    ("workers", "2"),
    ("tree", "3"),
    ("routing", "4"),
    ("events", "5"),
    ("findings", "6"),
];

fn colour(colour: Color) -> char {
    match colour {
        Color::Reset => '.',
        Color::Red => 'r',
        Color::Green => 'g',
        Color::Yellow => 'y',
        Color::Blue => 'b',
        Color::Magenta => 'm',
        Color::Cyan => 'c',
        Color::White => 'w',
        Color::DarkGray => 'k',
        Color::Black => 'x',
        other => panic!("no letter for {other:?}"),
    }
}

/// Returns a style in letters: the colour, `/` and the ground's, then `+` bold, `-` dim, `_` underlined,
/// `~` italic, `!` reversed.
fn style(cell: &Cell) -> String {
    let mut out = String::from(colour(cell.fg));
    if cell.bg != Color::Reset {
        out.extend(['/', colour(cell.bg)]);
    }
    let mut left = cell.modifier;
    for (modifier, letter) in [
        (Modifier::BOLD, '+'),
        (Modifier::DIM, '-'),
        (Modifier::UNDERLINED, '_'),
        (Modifier::ITALIC, '~'),
        (Modifier::REVERSED, '!'),
    ] {
        if left.contains(modifier) {
            out.push(letter);
            left.remove(modifier);
        }
    }
    assert!(left.is_empty(), "no letter for {left:?}");
    out
}

/// Returns a line for each row: how many cells have which style.
fn styles(buffer: &Buffer) -> String {
    let mut out = String::new();
    for (y, cells) in rows(buffer).enumerate() {
        write!(out, "{y:2}:").unwrap();
        for run in cells.chunk_by(|one, next| style(one) == style(next)) {
            write!(out, " {}{}", run.len(), style(&run[0])).unwrap();
        }
        out.push('\n');
    }
    out
}

fn is_without_colours(buffer: &Buffer) -> bool {
    let plain = |cell: &Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
    buffer.content().iter().all(plain)
}

fn compare(scenario: &str, mut seat: Seat) {
    for (view, key) in VIEWS {
        for size in SIZES {
            seat.sit_down(size);
            seat.keys(key);
            let mut drawn = |level, glyphs| {
                draw_with(&mut seat.shell, &seat.picture, size, &theme(level, glyphs))
            };
            let coloured = drawn(Level::Sixteen, Glyphs::UNICODE);
            let plain = drawn(Level::Mono, Glyphs::UNICODE);
            let ascii = drawn(Level::Sixteen, Glyphs::ASCII);
            let ascii_plain = drawn(Level::Mono, Glyphs::ASCII);

            let name = format!("{scenario}_{view}_{}x{}", size.0, size.1);
            assert!(is_without_colours(&plain) && is_without_colours(&ascii_plain), "{name}");
            assert!(!is_without_colours(&coloured), "{name}");
            // Without colours areas have fills that tell series apart.
            if !["overview", "workers", "routing"].contains(&view) {
                assert_eq!(text(&plain), text(&coloured), "{name}");
                assert_eq!(text(&ascii_plain), text(&ascii), "{name}");
            }
            assert!(text(&ascii).is_ascii(), "{name}\n{}", text(&ascii));

            let mut kept = format!("{}\n\ncolours\n{}", text(&coloured), styles(&coloured));
            write!(kept, "\nno colours\n{}\nascii\n{}\n", styles(&plain), text(&ascii)).unwrap();
            // Glyphs are one cell each in both sets, so that styles may differ only in charts.
            if styles(&ascii) != styles(&coloured) {
                write!(kept, "\nascii, colours\n{}", styles(&ascii)).unwrap();
            }
            insta::assert_snapshot!(name, kept);
        }
    }
}

/// A router of 0.9 whose workers publish blocks of another size, recorded under load.
#[test]
fn an_incident_in_every_view_at_every_size() {
    let path = captures().into_iter().find(|(name, _)| name == "0.9.0-incident_load10").unwrap().1;
    let frames = frames(&path);
    let (engine, _) = played(&frames);
    compare("incident", Seat::at(engine, frames[frames.len() - 1].at, Feed::Live, (120, 36)));
}

/// A cache that is too small, where everything is known that there is to know.
#[test]
fn a_full_cache_in_every_view_at_every_size() {
    compare("churn", Seat::of_scenario(Scenario::Churn, (120, 36)));
}
