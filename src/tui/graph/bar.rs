//! Bars: how full something is, and how far something has come.

use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Part, part};

/// From one eighth of a cell to seven, filled from the left.
const PARTS: [&str; 7] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Returns how far something has come as a row of `cells`: `▰▰▰▱▱`.
pub fn progress(done: usize, all: usize, cells: usize, glyphs: &Glyphs) -> String {
    let filled = (done * cells).checked_div(all).unwrap_or(0).min(cells);
    let [full, empty] = glyphs.progress;
    full.repeat(filled) + &empty.repeat(cells - filled)
}

/// Returns a bar of `columns` cells that is filled to `share`, 0 to 1, in eighths of a cell where glyphs allow.
pub fn filled(share: f64, columns: usize, role: Role, glyphs: &Glyphs) -> Vec<Part> {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    if !glyphs.braille {
        let full = text::cells(share * columns as f64).min(columns);
        return vec![
            part(glyphs.full.repeat(full), role),
            part(glyphs.empty.repeat(columns - full), Role::Border),
        ];
    }
    let eighths = text::cells(share * (columns * super::EIGHTHS) as f64);
    let (full, rest) = (eighths / super::EIGHTHS, eighths % super::EIGHTHS);
    let partly = rest.checked_sub(1).filter(|_| full < columns).map(|at| PARTS[at]);
    let left = columns.saturating_sub(full + usize::from(partly.is_some()));
    vec![
        part(format!("{}{}", "█".repeat(full.min(columns)), partly.unwrap_or_default()), role),
        part(glyphs.empty.repeat(left), Role::Border),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::widgets::canvas::width;

    #[test]
    fn progress_is_whole_only_when_all_is_done() {
        let of = |done| progress(done, 30, 10, Glyphs::UNICODE);
        assert_eq!([of(0), of(29), of(30)], ["▱▱▱▱▱▱▱▱▱▱", "▰▰▰▰▰▰▰▰▰▱", "▰▰▰▰▰▰▰▰▰▰"]);
        assert_eq!(progress(1, 2, 4, Glyphs::ASCII), "==..");
        assert_eq!(progress(0, 0, 3, Glyphs::ASCII), "...");
    }

    #[test]
    fn a_bar_keeps_its_width_whatever_it_shows() {
        for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
            for share in [0.0, 0.04, 0.5, 0.999, 1.0, 7.0, f64::NAN] {
                assert_eq!(width(&filled(share, 10, Role::GaugeLow, glyphs)), 10, "{share}");
            }
        }
    }
}
