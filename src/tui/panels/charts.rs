//! Charts that more than one view shows.

use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::snapshot::Series;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::chart::{Chart, Line};

/// Returns true where stores were refused, and none of them held a block.
pub(super) fn are_empty(refused: &Series, blocks: &Series) -> bool {
    let any = |series: &Series| series.points.iter().flatten().any(|value| *value > 0.0);
    any(refused) && !any(blocks)
}

/// Draws the share of requests for which routers found anything cached.
pub fn hits(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let router = &context.snapshot.router;
    let known = router.overlap_known;
    let hit = known.saturating_sub(router.overlap_zero);
    let share = (known > 0).then(|| hit as f64 / known as f64);
    let notes = vec![legend(canvas, "all", share, Role::Series6)];
    let inner = context.frame(canvas, area, PanelId::Hits, "Requests with a cache hit, %", notes);
    let points = &context.snapshot.series.hit_share.points;
    let lines = vec![Line { points, role: Role::Series6, mark: '*' }];
    chart(context, lines, Some(1.0), text::whole_percent).draw(canvas, inner);
}

fn legend(canvas: &Canvas<'_>, name: &str, share: Option<f64>, role: Role) -> Part {
    let value = share.map_or_else(|| canvas.glyphs().none.to_owned(), text::whole_percent);
    part(format!("{name} {value}"), role)
}

fn chart<'a>(
    context: &PanelContext<'_>,
    lines: Vec<Line<'a>>,
    top: Option<f64>,
    label: fn(f64) -> String,
) -> Chart<'a> {
    let window = context.snapshot.series.window;
    let window = if window.is_zero() { context.look.window } else { window };
    Chart { lines, top, label, ends: context.ends(window) }
}
