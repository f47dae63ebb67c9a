//! A series in one row, brighter where it is higher.

use ratatui::layout::Rect;

use crate::tui::text;
use crate::tui::theme::{Role, SPARK_LEVELS};
use crate::tui::widgets::canvas::Canvas;
use crate::tui::widgets::sparkline;

/// Draws `points` into `columns` cells of row `y` of `area`, scaled so that `top` fills one. The series begins
/// with its first known point; what is not known later stays blank.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    (x, y): (u16, u16),
    columns: usize,
    (points, top): (&[Option<f64>], f64),
    role: Role,
) {
    let points = points.get(super::first_known([points])..).unwrap_or_default();
    let top = if top.is_finite() && top > 0.0 { top } else { 1.0 };
    for (at, value) in sparkline::resample(points, columns).into_iter().enumerate() {
        let Some(value) = value else { continue };
        let share = (value / top).clamp(0.0, 1.0);
        let level = text::cells(share * (SPARK_LEVELS - 1) as f64).min(SPARK_LEVELS - 1);
        let style = canvas.shade(role, share);
        canvas.put_styled(area, x + text::coordinate(at), y, canvas.glyphs().sparks[level], style);
    }
}
