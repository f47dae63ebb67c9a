//! The capacity curve: stored blocks that a larger KV cache would have avoided.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{answers, explain, percent};
use crate::snapshot::{CapacityCurve, CurvePoint, CurveProgress, DrainRow};
use crate::tui::layout::take_top;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::views::foresight as view;
use crate::tui::widgets::canvas::{Canvas, part};
use crate::tui::widgets::chart::{Chart, Line, scale};

const TITLE: &str = "Stores that a larger KV cache avoids";
const NARROW_TITLE: &str = "Stores a larger cache avoids";
/// Columns from which on the title is whole.
const WIDE: u16 = 50;
/// Points of the graph; between those that are known it is straight.
const POINTS: usize = 161;
/// Rows below which there are numbers alone.
const GRAPH: u16 = 5;
/// Columns of a capacity and of a share with its margin.
const FACTOR: usize = 8;
const SHARE: usize = 15;
/// The top of the graph, at least.
const LEAST: f64 = 0.05;

/// Draws the curve of all workers, and that of the selected one.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let title = if area.width < WIDE { NARROW_TITLE } else { TITLE };
    let curve = context.snapshot.curve.as_ref();
    let samples = curve.map(|curve| format!("n = {}", text::count(curve.samples)));
    let mut notes: Vec<_> = samples.map(|said| part(said, Role::Muted)).into_iter().collect();
    let rows = usize::from(area.height.saturating_sub(2));
    let hidden = curve.map_or(0, |curve| (curve.points.len() + 1).saturating_sub(rows));
    if hidden > 0 {
        notes.push(part(format!("  {hidden} more {}", canvas.glyphs().down), Role::Muted));
    }
    let mut inner = context.frame(canvas, area, PanelId::Curve, title, notes);
    if !context.framed {
        let heading = take_top(&mut inner, 1);
        canvas.put(heading, 0, 0, title, Role::Title);
    }
    let Some(curve) = curve else {
        if let Some(answers) = answers(canvas, inner, context) {
            explain(canvas, inner, &missing(answers.curve));
        }
        return;
    };
    let worker = view::selected(context.snapshot, &context.look.foresight)
        .filter(|row| !row.curve.is_empty());
    let numbers = text::coordinate(curve.points.len() + 1);
    let about = u16::from(inner.height > numbers + GRAPH);
    if inner.height >= numbers + GRAPH {
        let rows = inner.height - numbers - about;
        let graph = take_top(&mut inner, rows);
        plot(canvas, graph, curve, worker);
    }
    table(canvas, inner, curve, worker);
    if about > 0 {
        let ranks = if curve.ranks == 1 { "rank" } else { "ranks" };
        let blocks = text::count(curve.capacity);
        let said = format!("1x is {blocks} blocks on {} {ranks}; last 15 to 30 min", curve.ranks);
        canvas.put(inner, 0, numbers, &said, Role::Muted);
    }
}

/// Returns what has to be known before shares are given.
fn missing(progress: CurveProgress) -> String {
    let CurveProgress { samples, needed, ranks: (known, ranks) } = progress;
    if ranks > 0 && known == 0 {
        return String::from(
            "needs the capacity of the KV cache: no model card, log or metric reports it, and no worker evicted a block",
        );
    }
    format!("not enough data yet: {samples} of {needed} stored blocks")
}

/// Draws the shares over the capacity, from the present one to three times as much, within their margins.
fn plot(canvas: &mut Canvas<'_>, area: Rect, curve: &CapacityCurve, worker: Option<&DrainRow>) {
    let all = |of: fn(&CurvePoint) -> f64| line(&curve.points, of);
    let share = all(|point| point.avoided);
    let low = all(|point| (point.avoided - point.margin).max(0.0));
    let high = all(|point| (point.avoided + point.margin).min(1.0));
    let own = worker.map(|row| line(&row.curve, |point| point.avoided)).unwrap_or_default();
    let peak = high.iter().chain(&own).flatten().copied().fold(LEAST, f64::max);
    let mut lines = vec![
        Line { points: &low, role: Role::Border, mark: '.' },
        Line { points: &high, role: Role::Border, mark: '.' },
    ];
    if !own.is_empty() {
        lines.push(Line { points: &own, role: Role::Series2, mark: 'o' });
    }
    lines.push(Line { points: &share, role: Role::Series1, mark: '*' });
    let label = |share: f64| format!("{} %", text::whole_percent(share));
    let last = curve.points.last().map_or(1.0, |point| point.factor);
    let ends = Some([String::from("1x"), format!("{last}x")]);
    let (top, none) = (Some(scale(peak, LEAST)), Duration::ZERO);
    Chart { lines, top, label, window: none, age: none, ends }.draw(canvas, area);
}

/// Returns points at even distances of the line through `points`, which begins with nothing at the present capacity.
fn line(points: &[CurvePoint], of: fn(&CurvePoint) -> f64) -> Vec<Option<f64>> {
    let mut known = vec![(1.0, 0.0)];
    known.extend(points.iter().map(|point| (point.factor, of(point))));
    let Some(&(last, _)) = known.last() else { return Vec::new() };
    let at = |step: usize| {
        let factor = 1.0 + (last - 1.0) * step as f64 / (POINTS - 1) as f64;
        let next = known.iter().position(|(own, _)| *own >= factor).unwrap_or(known.len() - 1);
        let ((left, low), (right, high)) = (known[next.saturating_sub(1)], known[next]);
        let part = if right > left { (factor - left) / (right - left) } else { 0.0 };
        Some(low + (high - low) * part)
    };
    (0..POINTS).map(at).collect()
}

fn table(canvas: &mut Canvas<'_>, area: Rect, curve: &CapacityCurve, worker: Option<&DrainRow>) {
    let x = text::coordinate(FACTOR);
    let own = x + text::coordinate(SHARE);
    let room = usize::from(area.width) >= FACTOR + 2 * SHARE;
    let within = if canvas.glyphs().braille { "±" } else { "+-" };
    canvas.put(area, 0, 0, "CAPACITY", Role::Title);
    canvas.put(area, x, 0, &text::pad_left("ALL WORKERS", SHARE), Role::Series1);
    if let Some(row) = worker.filter(|_| room) {
        canvas.put(area, own, 0, &text::pad_left(&row.alias, SHARE), Role::Series2);
    }
    // The hit rate comes beside the stores where lengths of prompts are known, and there is room.
    let cached = own + text::coordinate(if worker.is_some() { SHARE } else { 0 });
    let hits = curve.cached.filter(|_| usize::from(area.width) >= usize::from(cached) + SHARE);
    if let Some(now) = hits {
        let title = format!("CACHED {} %", text::whole_percent(now));
        canvas.put(area, cached, 0, &text::pad_left(&title, SHARE), Role::Series3);
    }
    for (at, point) in curve.points.iter().enumerate() {
        let y = text::coordinate(at + 1);
        canvas.put(area, 0, y, &format!("{}x", point.factor), Role::Fg);
        canvas.put(area, x, y, &text::pad_left(&share(point, within), SHARE), Role::Fg);
        if hits.is_some() {
            let share = point.cached.map_or_else(|| canvas.glyphs().none.to_owned(), percent);
            canvas.put(area, cached, y, &text::pad_left(&share, SHARE), Role::Fg);
        }
        let point = worker.and_then(|row| row.curve.get(at)).filter(|_| room);
        if let Some(point) = point {
            canvas.put(area, own, y, &text::pad_left(&share(point, within), SHARE), Role::Fg);
        }
    }
}

fn share(point: &CurvePoint, within: &str) -> String {
    format!("{} {within} {}", percent(point.avoided), text::percent(point.margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_straight_between_the_capacities_that_are_known() {
        let point = |factor, avoided| CurvePoint { factor, avoided, margin: 0.0, cached: None };
        let points = [point(1.5, 0.1), point(3.0, 0.4)];
        let line = line(&points, |point| point.avoided);
        let near = |at: usize, value: f64| (line[at].unwrap() - value).abs() < 1e-9;
        assert!(near(0, 0.0) && near(20, 0.05) && near(40, 0.1) && near(160, 0.4), "{line:?}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let progress = |samples, known| CurveProgress { samples, needed: 200, ranks: (known, 2) };
        assert_eq!(missing(progress(37, 2)), "not enough data yet: 37 of 200 stored blocks");
        assert!(missing(progress(0, 0)).starts_with("needs the capacity"));
    }
}
