//! The share of all requests that each worker gets.

use ratatui::layout::Rect;

use super::detail;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, part};
use crate::tui::widgets::gauge;

/// Columns of a name.
const NAME: usize = 8;
/// Columns of the numbers: share, rate and count.
const NUMBERS: usize = 26;

/// Draws a bar for each worker, the one with the most requests first.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let Some(detail) = detail(context.snapshot) else {
        let inner = context.frame(canvas, area, PanelId::Shares, "Shares of requests", Vec::new());
        return context.unanswered(canvas, inner);
    };
    let ranks = detail.shares.len() + detail.more;
    let notes = vec![part(format!("{ranks} of {}", context.snapshot.workers.len()), Role::Muted)];
    let inner = context.frame(canvas, area, PanelId::Shares, "Shares of requests", notes);
    let total = context.snapshot.router.routed;
    if total == 0 {
        canvas.put(inner, 0, 0, "no request routed yet", Role::Muted);
        return;
    }
    let rows = usize::from(inner.height);
    // The last row tells of those that have none.
    let shown = if ranks > rows { rows.saturating_sub(1) } else { ranks };
    let room = usize::from(inner.width).saturating_sub(NAME + NUMBERS + 2);
    for (y, share) in detail.shares.iter().take(shown).enumerate() {
        let part_of = share.routed as f64 / total as f64;
        let bar = gauge::bar(part_of, room, canvas.glyphs());
        let numbers = format!(
            " {:>5} % {:>6}/s {:>7}",
            text::percent(part_of),
            text::short(share.per_second),
            text::count(share.routed)
        );
        let name = text::cut(&share.alias, NAME, canvas.glyphs().ellipsis);
        let line = [
            part(format!("{} ", text::pad(&name, NAME)), Role::Fg),
            part(bar, Role::Series1),
            part(numbers, Role::Fg),
        ];
        canvas.parts(inner, 0, text::coordinate(y), &line);
    }
    if ranks > shown && rows > 0 {
        let more = format!("{} more with fewer", ranks - shown);
        canvas.put(inner, 0, text::coordinate(shown), &more, Role::Muted);
    }
}
