//! Lines over time, in braille or ASCII, with axes and units.

use std::time::Duration;

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::sparkline;
use crate::tui::graph;
use crate::tui::text;
use crate::tui::theme::Role;

/// Columns of the vertical axis: a label of six and its line.
const AXIS: usize = 7;

/// One line of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The values, oldest first.
    pub points: &'a [Option<f64>],
    /// Its colour.
    pub role: Role,
    /// Its character in ASCII.
    pub mark: char,
}

/// A chart. Later lines are drawn over earlier ones.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// The lines.
    pub lines: Vec<Line<'a>>,
    /// The value at the top; none to fit the data.
    pub top: Option<f64>,
    /// Writes a value.
    pub label: fn(f64) -> String,
    /// The time that all points cover.
    pub window: Duration,
    /// Time between their end and now.
    pub age: Duration,
    /// The names of both ends of the axis, where that is not time.
    pub ends: Option<[String; 2]>,
}

impl Chart<'_> {
    /// Draws the chart into `area`.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let area = canvas.clip(area);
        if usize::from(area.width) < AXIS + 8 || area.height < 3 {
            return;
        }
        let plot = Rect {
            x: area.x + text::coordinate(AXIS),
            y: area.y,
            width: area.width - text::coordinate(AXIS),
            height: area.height - 1,
        };
        let per_column = if canvas.glyphs().braille { 2 } else { 1 };
        let dots = usize::from(plot.width) * per_column;
        let count = self.lines.iter().map(|line| line.points.len()).max().unwrap_or(0);
        let first = graph::first_shown(self.lines.iter().map(|line| line.points), count);
        let cropped = |line: &Line<'_>| {
            sparkline::resample(line.points.get(first..).unwrap_or_default(), dots)
        };
        let series: Vec<_> = self.lines.iter().map(|line| (line, cropped(line))).collect();
        let peak =
            series.iter().map(|(_, points)| sparkline::largest(points, 0.0)).fold(0.0, f64::max);
        let top = self.top.unwrap_or_else(|| scale(peak, 1.0));
        let shown = count.saturating_sub(first).max(1) as f64 / count.max(1) as f64;
        self.axes(canvas, area, top, self.window.min(graph::LONGEST).mul_f64(shown));
        if canvas.glyphs().braille {
            braille(canvas, plot, &series, top);
        } else {
            for (line, points) in &series {
                ascii(canvas, plot, points, top, line);
            }
        }
        if series.iter().all(|(_, points)| points.iter().all(Option::is_none)) {
            let why = if self.age.is_zero() { "no data yet" } else { "not known of that time" };
            canvas.put(plot, 1, plot.height / 2, why, Role::Muted);
        }
    }

    fn axes(&self, canvas: &mut Canvas<'_>, area: Rect, top: f64, span: Duration) {
        let [line, tick, corner] = canvas.glyphs().axis;
        let base = area.height - 1;
        let middle = (area.height - 1) / 2;
        for y in 0..base {
            // The bottom of the lowest row is 0; a label sits in the row whose middle it names best.
            let label = match y {
                0 => Some((self.label)(top)),
                y if y == base - 1 => Some((self.label)(0.0)),
                y if y == middle && base >= 5 && base % 2 == 1 => Some((self.label)(top / 2.0)),
                _ => None,
            };
            let mark = if label.is_some() { tick } else { line };
            canvas.put(
                area,
                0,
                y,
                &text::pad_left(&label.unwrap_or_default(), AXIS - 1),
                Role::Muted,
            );
            canvas.put(area, text::coordinate(AXIS - 1), y, mark, Role::Border);
        }
        let rule = canvas.glyphs().rule;
        let [left, right] = self.ends.clone().unwrap_or_else(|| {
            let right = match self.age.as_secs() {
                0 => String::from("now"),
                _ => format!("-{}", text::span(self.age)),
            };
            [format!("-{}", text::span(span + self.age)), right]
        });
        let room = usize::from(area.width) - AXIS;
        canvas.put(area, text::coordinate(AXIS - 1), base, corner, Role::Border);
        canvas.put(area, text::coordinate(AXIS), base, &rule.repeat(room), Role::Border);
        if room > left.len() + right.len() + 5 {
            canvas.put(area, text::coordinate(AXIS + 1), base, &left, Role::Muted);
            let x = usize::from(area.width) - right.len() - 1;
            canvas.put(area, text::coordinate(x), base, &right, Role::Muted);
        }
    }
}

/// Returns a round number that is not below `value`, and at least `least`, which is one itself: 1, 1.5,
/// 2, 3, 5 or 8 of a power of ten.
pub fn scale(value: f64, least: f64) -> f64 {
    if !value.is_finite() || value <= least {
        return least;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|&step| step >= value).unwrap_or(10.0 * power)
}

/// Returns the row of each point, counted in `rows` from the top, with how far its line reaches to
/// meet the point before it.
fn spans(
    points: &[Option<f64>],
    top: f64,
    rows: usize,
) -> impl Iterator<Item = (usize, usize, usize)> {
    let height = |value: f64| {
        let share = (value / top).clamp(0.0, 1.0);
        rows.saturating_sub(1) - text::cells(share * rows.saturating_sub(1) as f64).min(rows - 1)
    };
    let mut before = None;
    let mut spans = Vec::new();
    for (x, value) in points.iter().enumerate() {
        let here = value.filter(|value| value.is_finite()).map(height);
        if let Some(here) = here {
            let from = before.unwrap_or(here);
            spans.push((x, here.min(from), here.max(from)));
        }
        before = here;
    }
    spans.into_iter()
}

/// Draws all lines; dots of several share a cell, which has the colour of the last.
fn braille(
    canvas: &mut Canvas<'_>,
    plot: Rect,
    series: &[(&Line<'_>, Vec<Option<f64>>)],
    top: f64,
) {
    // Bits of a braille cell: two columns of four dots.
    const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    let width = usize::from(plot.width);
    let rows = usize::from(plot.height) * 4;
    let mut cells = vec![(0_u32, Role::Fg); width * usize::from(plot.height)];
    for (line, points) in series {
        for (x, high, low) in spans(points, top, rows.max(1)) {
            for y in high..=low {
                if let Some((bits, role)) = cells.get_mut(y / 4 * width + x / 2) {
                    *bits |= DOTS[x % 2][y % 4];
                    *role = line.role;
                }
            }
        }
    }
    for (at, (bits, role)) in cells.into_iter().enumerate().filter(|(_, (bits, _))| *bits > 0) {
        let symbol = char::from_u32(0x2800 + bits).unwrap_or(' ').to_string();
        let (x, y) = (text::coordinate(at % width), text::coordinate(at / width));
        canvas.put(plot, x, y, &symbol, role);
    }
}

fn ascii(canvas: &mut Canvas<'_>, plot: Rect, points: &[Option<f64>], top: f64, line: &Line<'_>) {
    let mark = line.mark.to_string();
    for (x, high, low) in spans(points, top, usize::from(plot.height).max(1)) {
        for y in high..=low {
            canvas.put(plot, text::coordinate(x), text::coordinate(y), &mark, line.role);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round() {
        let tops: Vec<f64> =
            [0.0, 0.3, 1.2, 46.0, 92.0, 8_001.0].into_iter().map(|peak| scale(peak, 1.0)).collect();
        assert_eq!(tops, [1.0, 1.0, 1.5, 50.0, 100.0, 10_000.0]);
    }

    #[test]
    fn lines_stop_where_nothing_is_known() {
        let points = [Some(0.0), Some(1.0), None, Some(1.0)];
        let spans: Vec<_> = spans(&points, 1.0, 4).collect();
        assert_eq!(spans, [(0, 3, 3), (1, 0, 3), (3, 0, 0)]);
    }
}
