//! The memory of one rank: what it holds, how long it keeps it, and what each figure rests on.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::snapshot::{MemoryFigure, MemoryRow, Sourced};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, part};

/// Columns of the names; the longest has 22.
const NAMES: usize = 24;

/// Columns of the values.
const VALUES: usize = 12;

/// Draws the figures of `row` into `area`, from the one numbered `first` on: name, value, inputs. Where one
/// is not known, what would tell it.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, row: &MemoryRow, first: usize) {
    let room = usize::from(area.width);
    let mark = canvas.glyphs().ellipsis;
    for (line, figure) in MemoryRow::FIGURES.iter().skip(first).take(area.height.into()).enumerate()
    {
        let known = (figure.of)(row).as_ref();
        let (value, role, inputs) = match known {
            Some(known) => (shown(figure, known), role(figure, known.value), known.source.clone()),
            None => (
                canvas.glyphs().unknown.to_owned(),
                Role::Unknown,
                format!("needs {}", figure.missing),
            ),
        };
        let inputs =
            text::cut(&text::clean(&inputs), room.saturating_sub(NAMES + VALUES + 2), mark);
        let parts = [
            part(text::pad(figure.title, NAMES), Role::Muted),
            part(text::pad_left(&value, VALUES), role),
            part(format!("  {inputs}"), Role::Muted),
        ];
        canvas.parts(area, 0, text::coordinate(line), &parts);
    }
}

fn shown(figure: &MemoryFigure, known: &Sourced<f64>) -> String {
    let value = known.value;
    match figure.unit {
        "bytes" => text::bytes(whole(value)),
        "blocks" | "tokens" => text::count(whole(value)),
        "share" => format!("{} %", text::percent(value)),
        "per_second" => format!("{}/s", text::short(value)),
        "seconds" if value < 60.0 => format!("{value:.1} s"),
        "seconds" => text::span(Duration::from_secs_f64(value.clamp(0.0, 1e9))),
        _ => format!("{value:.2}"),
    }
}

/// What does not fit is marked; what fills the room is no fault, caches are meant to be full.
fn role(figure: &MemoryFigure, value: f64) -> Role {
    match figure.name {
        "pressure" | "over_commit" if value > 1.2 => Role::Warn,
        "active" if value > 0.95 => Role::Warn,
        "returned" if value >= 0.2 => Role::Warn,
        _ => Role::Fg,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 to 1e18")]
fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, 1e18) as u64
}
