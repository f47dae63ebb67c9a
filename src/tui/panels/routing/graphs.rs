//! Decisions per second by worker, and the time to first token.

use ratatui::layout::Rect;

use super::detail;
use crate::tui::graph::timeline::Layer;
use crate::tui::panels::charts::{self, Areas};
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, part};
use crate::tui::widgets::chart::scale;
use crate::tui::widgets::sparkline::largest;

/// Workers that get an area of their own.
const LINES: usize = Role::SERIES.len();

/// Draws requests routed per second, stacked by the workers that get most.
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
        let mark = charts::mark(canvas, at);
        notes.push(part(format!("{gap}{mark} {} {percent}%", share.alias), role));
    }
    let more = detail.shares.len().saturating_sub(LINES) + detail.more;
    if more > 0 {
        notes.push(part(format!("  {more} more"), Role::Muted));
    }
    let title = format!("{title}{}", context.kept(detail.window));
    let inner = context.frame(canvas, area, id, title, notes);
    let layer = |(fill, (share, role)): (usize, (&'_ crate::snapshot::ShareRow, Role))| {
        let points = share.series.points.clone();
        Layer { points, role, fill }
    };
    let (up, label) = (shares().map(layer).collect(), text::short as fn(f64) -> String);
    let (down, top, window) = (Vec::new(), None, detail.window);
    Areas { up, down, top, label, window }.draw(canvas, inner, context);
}

/// Draws the time to first token: percentiles where engines or frontends report them, and else the mean.
pub fn ttft(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (id, title) = (PanelId::Ttft, "Time to first token, s");
    let snapshot = context.snapshot;
    let Some(detail) = detail(snapshot) else {
        return missing(canvas, area, context, id, title);
    };
    let percentiles = snapshot.series.ttft_p95.points.iter().any(Option::is_some);
    let up = if percentiles {
        charts::first_token(&snapshot.series, snapshot.felt.first_token)
    } else {
        let now = snapshot.router.ttft_mean.filter(|mean| mean.is_finite());
        charts::Named::alone("mean", now, &detail.ttft, Role::Series5)
    };
    let notes = charts::legend(canvas, &up, &[], text::seconds);
    let inner = context.frame(canvas, area, id, title, notes);
    let up = charts::layers(up);
    let highest = if percentiles { &snapshot.series.ttft_p95 } else { &detail.ttft };
    let top = Some(scale(largest(&highest.points, 0.0), 0.05));
    let (down, label) = (Vec::new(), text::seconds as fn(f64) -> String);
    let window = snapshot.series.window;
    Areas { up, down, top, label, window }.draw(canvas, inner, context);
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
