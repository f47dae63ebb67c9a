//! What would help: larger caches, drains, copies, and where prefixes land.

pub mod copies;
pub mod curve;
pub mod drain;
pub mod leaders;
pub mod planner;

use ratatui::layout::Rect;

use super::PanelContext;
use crate::snapshot::{Foresight, Knowledge, Snapshot};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// Returns the answers of the picture; says why there are none.
fn answers<'a>(
    canvas: &mut Canvas<'_>,
    area: Rect,
    context: &PanelContext<'a>,
) -> Option<&'a Foresight> {
    let answers = context.snapshot.foresight.as_deref();
    if answers.is_none() {
        let why = if context.past { "not kept of that moment" } else { "counting blocks" };
        canvas.put(area, 0, 0, why, Role::Muted);
    }
    answers
}

/// Says `why` there is nothing to show, on as many rows as it needs.
fn explain(canvas: &mut Canvas<'_>, area: Rect, why: &str) {
    for (y, line) in text::wrap(why, area.width.into()).iter().enumerate() {
        canvas.put(area, 0, text::coordinate(y), line, Role::Muted);
    }
}

/// Returns why no block is counted. Workers may hold blocks that no event told of.
fn none_held(snapshot: &Snapshot) -> &'static str {
    let counters = &snapshot.totals.counters;
    let present = || snapshot.workers.iter().filter(|row| !row.gone);
    if !snapshot.hears_events() {
        "no KV events received: what workers hold is unknown"
    } else if counters.empty_stores > 0 && counters.stored_blocks == 0 {
        "store events arrive empty: what workers hold is unknown"
    } else if present().any(|row| row.knowledge != Knowledge::Complete) {
        "nothing stored since kvtop connected: earlier blocks are unknown"
    } else if snapshot.tree.accepted_blocks > 0 {
        // The answer is of a moment before the first block.
        "counting blocks"
    } else {
        "no worker holds a block yet"
    }
}

/// Returns what limits counts of blocks: a sample, or blocks that are unknown.
fn limits(answers: &Foresight, glyphs: &Glyphs) -> Vec<Part> {
    let mut notes = Vec::new();
    if answers.is_sampled() {
        let share = text::percent(answers.looked_at);
        notes.push(part(format!("estimate from {share} % of blocks"), Role::Warn));
    }
    if answers.unknown_ranks > 0 {
        let dot = if notes.is_empty() { String::new() } else { format!(" {} ", glyphs.dot) };
        let ranks = if answers.unknown_ranks == 1 { "rank" } else { "ranks" };
        let said = format!("{dot}{} {ranks} incomplete", answers.unknown_ranks);
        notes.push(part(said, Role::Unknown));
    }
    notes
}

/// Returns a share as percent with its sign.
fn percent(share: f64) -> String {
    format!("{} %", text::percent(share))
}
