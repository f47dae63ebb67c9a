//! The memory of one rank: what it holds, how long it keeps it, and what each figure rests on.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{PanelContext, PanelId, reader, worker, workers};
use crate::snapshot::{MemoryFigure, MemoryRow, Sourced};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// Rows that every figure needs, one each, with the frame.
pub const ROWS: u16 = 21;

/// Columns of the names; the longest has 22.
const NAMES: usize = 24;

/// Columns of the values.
const VALUES: usize = 12;

/// Columns from which on inputs are told in full, on as many rows as they need.
const WHOLE: usize = 100;

/// Columns for inputs below which none are shown: the first words of each would say nothing.
const INPUTS: usize = 24;

/// Draws the figures of the selected worker, from the row on that the UI wants.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let Some(entry) = workers::selected(context.snapshot, &context.look.workers) else {
        context.frame(canvas, area, PanelId::WorkerMemory, context.no_worker(), Vec::new());
        return;
    };
    let inside = reader::inside(area, context.framed);
    let hint = if inside < NAMES + VALUES + 2 + INPUTS { ", zoom shows inputs" } else { "" };
    let title = format!("{} memory{hint}", worker::alias(entry.row));
    let lines = lines(context, inside, canvas.glyphs());
    let first = context.look.workers.first_figure;
    reader::draw(canvas, area, context, (PanelId::WorkerMemory, &title), &lines, first);
}

/// Returns the last row from which on it can be shown in `area`.
pub fn last(context: &PanelContext<'_>, area: Rect) -> usize {
    // The glyphs decide nothing about how many rows there are.
    let lines = lines(context, reader::inside(area, context.framed), Glyphs::UNICODE).len();
    lines.saturating_sub(reader::page(area, context.framed))
}

/// Returns a row for each figure of the selected worker, or why there is none.
pub(super) fn lines(
    context: &PanelContext<'_>,
    width: usize,
    glyphs: &'static Glyphs,
) -> Vec<Vec<Part>> {
    let rank = workers::selected(context.snapshot, &context.look.workers).map(|it| it.row.rank);
    let row = context.snapshot.memory.iter().find(|row| Some(row.rank) == rank);
    row.map_or_else(
        || {
            let why = "not available: the worker has left, or there are too many";
            let lines = text::wrap(&format!("{} {why}", glyphs.none), width.max(1));
            lines.into_iter().map(|line| vec![part(line, Role::Muted)]).collect()
        },
        |row| figures(row, width, glyphs),
    )
}

/// Returns the figures of `row` as rows of `width` columns: name, value, inputs. Where one is not known,
/// what would tell it.
pub fn figures(row: &MemoryRow, width: usize, glyphs: &'static Glyphs) -> Vec<Vec<Part>> {
    let room = width.saturating_sub(NAMES + VALUES + 2);
    let mut lines = Vec::new();
    for figure in MemoryRow::FIGURES {
        let (value, role, inputs) = match (figure.of)(row) {
            Some(known) => {
                (shown(figure, known), role(figure, known.value), known.source.to_string())
            }
            None => (glyphs.unknown.to_owned(), Role::Unknown, format!("needs {}", figure.missing)),
        };
        let inputs = text::clean(&inputs);
        let inputs = if room < INPUTS {
            vec![String::new()]
        } else if width < WHOLE {
            vec![text::cut_words(&inputs, room, glyphs.ellipsis)]
        } else {
            text::wrap(&inputs, room)
        };
        for (at, inputs) in inputs.into_iter().enumerate() {
            let (name, value) = if at == 0 { (figure.title, value.as_str()) } else { ("", "") };
            lines.push(vec![
                part(text::pad(name, NAMES), Role::Muted),
                part(text::pad_left(value, VALUES), role),
                part(format!("  {inputs}"), Role::Muted),
            ]);
        }
    }
    lines
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

/// Marks figures above the capacity. A full cache is no fault.
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
