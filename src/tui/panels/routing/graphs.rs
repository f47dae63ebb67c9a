//! Decisions per second by worker, and the time to first token.

use ratatui::layout::Rect;

use super::detail;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, part};
use crate::tui::widgets::chart::{Chart, Line, scale};
use crate::tui::widgets::sparkline::largest;

/// Workers that get a line of their own.
const LINES: usize = Role::SERIES.len();

/// Draws requests routed per second, a line for each of the workers that get most.
pub fn rates(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (id, title) = (PanelId::RoutedRates, "Decisions/s by worker");
    let total = context.snapshot.router.routed.max(1) as f64;
    let Some(detail) = detail(context.snapshot) else {
        return missing(canvas, area, context, id, title);
    };
    let shares = || detail.shares.iter().take(LINES).zip(Role::SERIES).enumerate();
    let mut notes = Vec::new();
    for (at, (share, role)) in shares() {
        let gap = if at > 0 { "  " } else { "" };
        let percent = text::whole_percent(share.routed as f64 / total);
        notes.push(part(format!("{gap}{} {percent}%", share.alias), role));
    }
    let more = detail.shares.len().saturating_sub(LINES) + detail.more;
    if more > 0 {
        notes.push(part(format!("  {more} more"), Role::Muted));
    }
    let title = format!("{title}{}", context.kept(detail.window));
    let inner = context.frame(canvas, area, id, title, notes);
    let line = |(at, (share, role)): (usize, (&'_ crate::snapshot::ShareRow, Role))| {
        let digit = u32::try_from(at).ok().and_then(|at| char::from_digit(at, 10));
        (share.series.points.clone(), role, digit.unwrap_or('*'))
    };
    let points: Vec<_> = shares().map(line).collect();
    let lines = points.iter().map(|(points, role, mark)| Line { points, role: *role, mark: *mark });
    let ends = context.ends(detail.window);
    Chart { lines: lines.collect(), top: None, label: text::short, ends }.draw(canvas, inner);
}

/// Draws the mean time to first token.
pub fn ttft(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (id, title) = (PanelId::Ttft, "Time to first token, s");
    let Some(detail) = detail(context.snapshot) else {
        return missing(canvas, area, context, id, title);
    };
    let now = context.snapshot.router.ttft_mean.filter(|mean| mean.is_finite());
    let now = now.map_or_else(|| canvas.glyphs().none.to_owned(), |mean| format!("{mean:.2}"));
    let notes = vec![part(format!("mean {now}"), Role::Series5)];
    let inner = context.frame(canvas, area, id, title, notes);
    let line = Line { points: &detail.ttft.points, role: Role::Series5, mark: '*' };
    let ends = context.ends(context.snapshot.series.window);
    let top = Some(scale(largest(&detail.ttft.points, 0.0), 0.05));
    Chart { lines: vec![line], top, label: seconds, ends }.draw(canvas, inner);
}

/// Returns seconds in at most six columns.
fn seconds(value: f64) -> String {
    if value < 1e-9 {
        String::from("0")
    } else if value < 0.095 {
        format!("{value:.3}")
    } else if value < 9.95 {
        format!("{value:.2}")
    } else {
        text::short(value)
    }
}

fn missing(
    canvas: &mut Canvas<'_>,
    area: Rect,
    context: &PanelContext<'_>,
    id: PanelId,
    title: &str,
) {
    let inner = context.frame(canvas, area, id, title, Vec::new());
    context.unanswered(canvas, inner);
}
