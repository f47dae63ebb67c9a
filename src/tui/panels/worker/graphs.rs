//! Graphs of the selected worker.

use ratatui::layout::Rect;

use super::{alias, detail, selected};
use crate::snapshot::{Series, WorkerDetail, WorkerRow};
use crate::tui::judge;
use crate::tui::panels::charts::are_empty;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::chart::{Chart, Line};
use crate::tui::widgets::panel;

/// Lines that are drawn even where there is no room for their names.
const LEAST: usize = 3;

/// The series of a graph.
#[derive(Clone, Copy)]
struct Axis {
    /// Its title, and a short one for where names of lines need the room.
    titles: [&'static str; 2],
    /// The value at the top; none to fit the data.
    top: Option<f64>,
    /// Writes a value.
    label: fn(f64) -> String,
}

/// A line with its name and what it is now.
struct Named<'a> {
    name: &'static str,
    series: &'a Series,
    now: Option<String>,
    role: Role,
}

/// Draws the blocks that its KV events store, remove and orphan per second.
pub fn traffic(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    draw(
        canvas,
        area,
        context,
        PanelId::WorkerTraffic,
        Axis { titles: ["KV blocks/s"; 2], top: None, label: text::short },
        |it, row| {
            let rates = &row.rates.ten_seconds;
            // Until earlier blocks are known, orphans are no fault and must not look like one.
            let known = judge::rejected(row).is_some();
            let orphan = if known { Role::Series3 } else { Role::Unknown };
            let line = |name, series, now: f64, role| Named {
                name,
                series,
                now: Some(text::short(now)),
                role,
            };
            let refused = if are_empty(&it.refused, &it.refused_blocks) {
                line("empty stores", &it.refused, rates.refused, orphan)
            } else {
                line("rejected", &it.refused_blocks, rates.refused_blocks, orphan)
            };
            vec![
                refused,
                line("stored", &it.stored_blocks, rates.stored_blocks, Role::Series1),
                line("removed", &it.removals, rates.removals, Role::Series2),
                line("unknown", &it.unknown_removals, rates.unknown_removals, Role::Series4),
            ]
        },
    );
}

/// Draws the blocks that a router would hold for it.
pub fn blocks(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let axis = Axis { titles: ["Cached blocks"; 2], top: None, label: text::short };
    draw(canvas, area, context, PanelId::WorkerBlocks, axis, |it, row| {
        let now = Some(text::count(row.accepted));
        vec![Named { name: "accepted", series: &it.accepted, now, role: Role::Series4 }]
    });
}

/// Draws the share of its KV blocks in use, and of prompts found cached.
pub fn shares(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let titles = ["KV in use, hits %", "%"];
    let axis = Axis { titles, top: Some(1.0), label: text::whole_percent };
    draw(canvas, area, context, PanelId::WorkerShares, axis, |it, row| {
        let percent = |value: f64| text::whole_percent(value);
        let used = row.kv_utilization.as_ref().map(|used| percent(used.value));
        let hits = row.hit_rate.as_ref().map(|hits| percent(hits.value));
        vec![
            Named { name: "in use", series: &it.kv_utilization, now: used, role: Role::Series1 },
            Named { name: "hits", series: &it.hit_rate, now: hits, role: Role::Series2 },
        ]
    });
}

fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    context: &PanelContext<'_>,
    id: PanelId,
    axis: Axis,
    lines: impl for<'a> Fn(&'a WorkerDetail, &WorkerRow) -> Vec<Named<'a>>,
) {
    let Axis { titles: [title, short], top, label } = axis;
    let entry = selected(context);
    let found = entry.and_then(|entry| Some((entry, detail(context, &entry)?)));
    let Some((entry, detail)) = found else {
        let inner = context.frame(canvas, area, id, title, Vec::new());
        return context.unanswered(canvas, inner);
    };
    let named = lines(detail, entry.row);
    let notes: Vec<Part> =
        named.iter().enumerate().map(|(at, line)| note(canvas, at, line)).collect();
    let kept = context.kept(detail.window);
    let whole = format!("{} {title}{kept}", alias(entry.row));
    let fits = panel::fitting(area, &whole, &notes) == notes.len();
    let title = if fits { whole } else { format!("{} {short}{kept}", alias(entry.row)) };
    // A line whose name does not fit is a riddle; but never fewer than what a worker stores and loses.
    let named = &named[..named.len().min(panel::fitting(area, &title, &notes).max(LEAST))];
    let inner = context.frame(canvas, area, id, title, notes);
    let mut lines = Vec::new();
    // What comes first is worst, and is drawn over the others.
    for line in named.iter().rev() {
        let mark = line.name.chars().next().unwrap_or('*');
        lines.push(Line { points: &line.series.points, role: line.role, mark });
    }
    let ends = context.ends(detail.window);
    Chart { lines, top, label, ends }.draw(canvas, inner);
}

fn note(canvas: &Canvas<'_>, at: usize, line: &Named<'_>) -> Part {
    let gap = if at > 0 { "  " } else { "" };
    let now = line.now.as_deref().unwrap_or(canvas.glyphs().none);
    part(format!("{gap}{} {now}", line.name), line.role)
}
