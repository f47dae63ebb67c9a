//! Graphs of the selected worker.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{Entry, alias, detail, selected};
use crate::snapshot::{Knowledge, WorkerDetail};
use crate::tui::judge;
use crate::tui::panels::charts::{self, Areas, Named};
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::chart::{Chart, Line};
use crate::tui::widgets::panel;

/// Draws the blocks that its KV events store, remove and orphan per second.
pub fn traffic(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (id, title) = (PanelId::WorkerTraffic, "KV blocks/s");
    let Some((entry, it)) = found(canvas, area, context, (id, title)) else { return };
    // Until earlier blocks are known, orphans are no fault and must not look like one.
    let known = entry.row.knowledge == Knowledge::Complete && judge::rejected(entry.row).is_some();
    let rejected = if known { Role::Series3 } else { Role::Unknown };
    let rates = &entry.row.rates.ten_seconds;
    let (up, down) = charts::blocks(&charts::Blocks::of_one(it), Some(rates), rejected);
    let label = text::short as fn(f64) -> String;
    let notes = charts::legend(canvas, &up, &down, label);
    let title = [title; 2];
    let inner = frame(canvas, area, context, id, (&entry, title, it.window), notes);
    let (up, down) = (charts::layers(up), charts::layers(down));
    Areas { up, down, top: None, label, window: it.window }.draw(canvas, inner, context);
}

/// Draws the blocks that a router would hold for it.
pub fn blocks(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (id, title) = (PanelId::WorkerBlocks, "Cached blocks");
    let Some((entry, it)) = found(canvas, area, context, (id, title)) else { return };
    let now = Some(entry.row.accepted as f64);
    let up = Named::alone("accepted", now, &it.accepted, Role::Series4);
    let notes = charts::legend(canvas, &up, &[], text::short);
    let inner = frame(canvas, area, context, id, (&entry, [title; 2], it.window), notes);
    let (up, down, top) = (charts::layers(up), Vec::new(), None);
    let label = text::short as fn(f64) -> String;
    Areas { up, down, top, label, window: it.window }.draw(canvas, inner, context);
}

/// Draws the share of its KV blocks in use, and of prompts found cached.
pub fn shares(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (id, titles) = (PanelId::WorkerShares, ["KV in use, hits %", "%"]);
    let Some((entry, it)) = found(canvas, area, context, (id, titles[0])) else { return };
    let now = |share: Option<f64>| {
        share.map_or_else(|| canvas.glyphs().none.to_owned(), text::whole_percent)
    };
    let used = now(entry.row.kv_utilization.as_ref().map(|used| used.value));
    let hits = now(entry.row.hit_rate.as_ref().map(|hits| hits.value));
    let notes = vec![
        part(format!("in use {used}"), Role::Series1),
        part(format!("  hits {hits}"), Role::Series2),
    ];
    let inner = frame(canvas, area, context, id, (&entry, titles, it.window), notes);
    let lines = vec![
        Line { points: &it.hit_rate.points, role: Role::Series2, mark: 'h' },
        Line { points: &it.kv_utilization.points, role: Role::Series1, mark: 'i' },
    ];
    let (top, label) = (Some(1.0), text::whole_percent as fn(f64) -> String);
    Chart { lines, top, label, window: it.window, age: context.age, ends: None }
        .draw(canvas, inner);
}

/// Returns the selected worker with its series; draws an empty panel where there is none.
fn found<'a>(
    canvas: &mut Canvas<'_>,
    area: Rect,
    context: &PanelContext<'a>,
    (id, title): (PanelId, &str),
) -> Option<(Entry<'a>, &'a WorkerDetail)> {
    let entry = selected(context);
    let found = entry.and_then(|entry| Some((entry, detail(context, &entry)?)));
    if found.is_none() {
        let inner = context.frame(canvas, area, id, title, Vec::new());
        context.unanswered(canvas, inner);
    }
    found
}

/// Draws the frame with the worker's name, with the short title where names of series need the room.
fn frame(
    canvas: &mut Canvas<'_>,
    area: Rect,
    context: &PanelContext<'_>,
    id: PanelId,
    (entry, [title, short], window): (&Entry<'_>, [&str; 2], Duration),
    notes: Vec<Part>,
) -> Rect {
    let kept = context.kept(window);
    let whole = format!("{} {title}{kept}", alias(entry.row));
    let fits = panel::fitting(area, &whole, &notes) == notes.len();
    let title = if fits { whole } else { format!("{} {short}{kept}", alias(entry.row)) };
    context.frame(canvas, area, id, title, notes)
}
