//! Areas over one time axis: some series stacked upwards, others hanging down from the axis in the middle,
//! with markers for what happened and a cursor.

use std::time::Duration;

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::EIGHTHS;
use crate::domain::Timestamp;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::Canvas;
use crate::tui::widgets::chart::scale;
use crate::tui::widgets::sparkline;

/// Columns of the vertical axis: a label of six and its line.
const AXIS: u16 = 7;

/// A series of an area.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The values, oldest first.
    pub points: Vec<Option<f64>>,
    /// Its colour.
    pub role: Role,
    /// Index of its fill in `Glyphs::fills`, for terminals whose colours do not tell series apart.
    pub fill: usize,
}

/// Something that happened, on the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// When.
    pub at: Timestamp,
    /// Its mark, of one column.
    pub glyph: &'static str,
    /// The event in a few words.
    pub text: String,
    /// Its colour.
    pub role: Role,
}

/// The graph.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Series that are stacked upwards, the lowest first.
    pub up: Vec<Layer>,
    /// Series that hang down, the nearest to the axis first; none for a graph without a lower half.
    pub down: Vec<Layer>,
    /// The value at the top; none to fit the data.
    pub top: Option<f64>,
    /// The least value at the top, where it fits the data.
    pub least: f64,
    /// Writes a value.
    pub label: fn(f64) -> String,
    /// The first point that is shown, where another graph has the same axis; none to begin with the first known.
    pub first: Option<usize>,
    /// Its end.
    pub end: Timestamp,
    /// The time that all points cover.
    pub window: Duration,
    /// Time between its end and now.
    pub age: Duration,
    /// Event markers, oldest first.
    pub markers: Vec<Marker>,
    /// The moment that the rest of the screen shows, where it is not the end.
    pub cursor: Option<Timestamp>,
}

/// The time axis of a graph that was drawn: which column is which moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeAxis {
    /// The first column of the plot, on the screen.
    pub left: u16,
    /// Columns of the plot.
    pub width: u16,
    /// The moment of the first column.
    pub start: Timestamp,
    /// The moment of the last.
    pub end: Timestamp,
}

impl TimeAxis {
    /// Returns the moment of a column of the screen, that of the nearest end outside of the plot.
    pub fn moment(&self, column: u16) -> Timestamp {
        let last = self.width.saturating_sub(1).max(1);
        let at = column.saturating_sub(self.left).min(last);
        let span = self.end.since(self.start);
        self.start.after(span.mul_f64(f64::from(at) / f64::from(last)))
    }

    /// Returns the column of the plot of a moment; none outside of it.
    pub fn column(&self, at: Timestamp) -> Option<u16> {
        if at < self.start || at > self.end || self.width == 0 {
            return None;
        }
        let span = self.end.since(self.start).as_secs_f64().max(1e-6);
        let share = at.since(self.start).as_secs_f64() / span;
        Some(text::coordinate(text::cells(share * f64::from(self.width - 1))).min(self.width - 1))
    }
}

impl Timeline {
    /// Returns the time axis of the graph in `area`; none where there is no room for it.
    pub fn axis(&self, area: Rect) -> Option<TimeAxis> {
        if area.width < AXIS + 8 || area.height < 3 {
            return None;
        }
        let count = self.points();
        let shown = count.saturating_sub(self.first()).max(1);
        let span = self.window.min(super::LONGEST).mul_f64(shown as f64 / count.max(1) as f64);
        let start = self.end.before(span);
        Some(TimeAxis { left: area.x + AXIS, width: area.width - AXIS, start, end: self.end })
    }

    /// Draws the graph into `area`.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let area = canvas.clip(area);
        let Some(axis) = self.axis(area) else { return };
        let plot = Rect { x: axis.left, width: axis.width, height: area.height - 1, ..area };
        let columns = usize::from(plot.width);
        let up = stacks(&self.up, self.first(), columns);
        let down = stacks(&self.down, self.first(), columns);
        let peak = |stacks: &[Vec<f64>]| {
            stacks.iter().map(|stack| stack.iter().sum::<f64>()).fold(0.0, f64::max)
        };
        let peaks = (peak(&up), peak(&down));
        let (above, below) = self.halves(plot.height, peaks);
        // A row stands for as much above the axis as below it.
        let each = f64::from(below) / f64::from(above.max(1));
        let needed = if below > 0 { peaks.0.max(peaks.1 / each) } else { peaks.0 };
        let top = self.top.unwrap_or_else(|| scale(needed, self.least));
        let bottom = top * each;
        self.vertical(canvas, area, (above, below), (top, bottom));
        for (x, stack) in up.iter().enumerate() {
            let half = Half { rows: above, base: above, up: true, layers: &self.up };
            half.column(canvas, plot, text::coordinate(x), stack, top);
        }
        for (x, stack) in down.iter().enumerate() {
            let half = Half { rows: below, base: above + 1, up: false, layers: &self.down };
            half.column(canvas, plot, text::coordinate(x), stack, bottom);
        }
        if self.up.iter().chain(&self.down).all(|layer| layer.points.iter().all(Option::is_none)) {
            let why = if self.age.is_zero() { "no data yet" } else { "not kept of that time" };
            canvas.put(plot, 1, plot.height / 2, why, Role::Muted);
        }
        self.horizontal(canvas, area, &axis, above);
    }

    /// Returns the rows above and below the axis, which has a row of its own where anything may hang below it.
    /// They share what there is by their peaks, in steps of a quarter, so that the axis seldom moves.
    fn halves(&self, rows: u16, (up, down): (f64, f64)) -> (u16, u16) {
        if self.down.is_empty() || rows < 2 {
            return (rows, 0);
        }
        let both = rows - 1;
        let share = if up + down > 0.0 && down.is_finite() { down / (up + down) } else { 0.0 };
        let quarters = text::coordinate(text::cells(share * 4.0)).min(3);
        let below = (both * quarters / 4).clamp(u16::from(both > 1), both - 1);
        (both - below, below)
    }

    fn points(&self) -> usize {
        self.up.iter().chain(&self.down).map(|layer| layer.points.len()).max().unwrap_or(0)
    }

    /// Returns the first point that is drawn: the graph begins where its data begin.
    fn first(&self) -> usize {
        let series = self.up.iter().chain(&self.down).map(|layer| layer.points.as_slice());
        let own = super::first_shown(series, self.points());
        self.first.map_or(own, |first| first.min(own))
    }

    fn vertical(
        &self,
        canvas: &mut Canvas<'_>,
        area: Rect,
        (above, below): (u16, u16),
        (top, bottom): (f64, f64),
    ) {
        let [line, tick, _] = canvas.glyphs().axis;
        let rows = area.height - 1;
        for y in 0..rows {
            let value = match y {
                0 => Some(top),
                _ if below > 0 && y == above => Some(0.0),
                _ if below > 1 && y + 1 == rows => Some(bottom),
                _ if below == 0 && y + 1 == rows => Some(0.0),
                _ => None,
            };
            let mark = if value.is_some() { tick } else { line };
            let said = value.map(self.label).unwrap_or_default();
            let said = text::pad_left(&said, usize::from(AXIS) - 1);
            canvas.put(area, 0, y, &said, Role::Muted);
            canvas.put(area, AXIS - 1, y, mark, Role::Border);
        }
    }

    /// Draws the axis of time with its markers and the cursor.
    fn horizontal(&self, canvas: &mut Canvas<'_>, area: Rect, axis: &TimeAxis, above: u16) {
        let plot = Rect { x: axis.left, width: axis.width, ..area };
        let (rule, last) = (canvas.glyphs().rule, area.height - 1);
        if !self.down.is_empty() {
            canvas.put(plot, 0, above, &rule.repeat(plot.width.into()), Role::Border);
        }
        let marked = if self.down.is_empty() { last.saturating_sub(1) } else { above };
        let mut taken = vec![false; usize::from(plot.width)];
        let cursor = self.cursor.and_then(|at| axis.column(at));
        if let Some(x) = cursor {
            for y in 0..last {
                canvas.put(plot, x, y, canvas.glyphs().bar, Role::Key);
            }
            let said = self.cursor.map(text::clock).unwrap_or_default();
            let x = x.min(plot.width.saturating_sub(text::coordinate(said.len())));
            write(canvas, plot, (x, last), &said, Role::Key, &mut taken);
        }
        // The newest matter most; where labels would overlap the older one gives way.
        for marker in self.markers.iter().rev() {
            let Some(x) = axis.column(marker.at) else { continue };
            canvas.put(plot, x, marked, marker.glyph, marker.role);
            let long = format!("{} {}", marker.glyph, text::clean(&marker.text));
            for said in [long.as_str(), marker.glyph] {
                let width = text::coordinate(text::width(said));
                let x = x.min(plot.width.saturating_sub(width));
                if write(canvas, plot, (x, last), said, marker.role, &mut taken) {
                    break;
                }
            }
        }
        let end = if self.age.is_zero() {
            "now".to_owned()
        } else {
            format!("-{}", text::span(self.age))
        };
        let x = plot.width.saturating_sub(text::coordinate(end.len()));
        write(canvas, plot, (x, last), &end, Role::Muted, &mut taken);
        let span = axis.end.since(axis.start);
        let pieces: u16 = if plot.width >= 60 { 5 } else { 2 };
        for piece in 0..pieces {
            let ago = self.age + span.mul_f64(f64::from(pieces - piece) / f64::from(pieces));
            let said = format!("-{}", text::span(ago));
            let x = plot.width / pieces * piece;
            write(canvas, plot, (x, last), &said, Role::Muted, &mut taken);
        }
    }
}

/// Writes `said` where nothing is written yet, with a blank on both sides; returns false where there is no room.
fn write(
    canvas: &mut Canvas<'_>,
    plot: Rect,
    (x, y): (u16, u16),
    said: &str,
    role: Role,
    taken: &mut [bool],
) -> bool {
    let (first, width) = (usize::from(x), text::width(said));
    let around = first.saturating_sub(1)..(first + width + 1).min(taken.len());
    let Some(room) = taken.get_mut(around) else { return false };
    if room.iter().any(|taken| *taken) || first + width > usize::from(plot.width) {
        return false;
    }
    room.fill(true);
    canvas.put(plot, x, y, said, role);
    true
}

/// Returns the heights of all layers for each column.
fn stacks(layers: &[Layer], first: usize, columns: usize) -> Vec<Vec<f64>> {
    let mut stacks = vec![Vec::with_capacity(layers.len()); columns];
    for layer in layers {
        let points = layer.points.get(first..).unwrap_or_default();
        for (stack, value) in stacks.iter_mut().zip(sparkline::resample(points, columns)) {
            stack.push(value.filter(|value| value.is_finite()).unwrap_or(0.0).max(0.0));
        }
    }
    stacks
}

/// The half of a graph above or below the axis.
struct Half<'a> {
    rows: u16,
    /// The row after the last one above the axis, or the first one below it.
    base: u16,
    up: bool,
    layers: &'a [Layer],
}

impl Half<'_> {
    /// Draws one column.
    fn column(&self, canvas: &mut Canvas<'_>, plot: Rect, x: u16, stack: &[f64], top: f64) {
        let height = usize::from(self.rows) * EIGHTHS;
        // Where each layer ends, in eighths of a row; what is there at all is seen.
        let mut ends = Vec::with_capacity(stack.len());
        let (mut sum, mut end) = (0.0, 0);
        for value in stack {
            sum += value;
            let least = if *value > 0.0 { end + 1 } else { end };
            end = text::cells(sum / top * height as f64).max(least).min(height);
            ends.push(end);
        }
        let plain = canvas.glyphs().braille && !canvas.is_colourless();
        for row in 0..self.rows {
            let from = usize::from(row) * EIGHTHS;
            if from >= end {
                break;
            }
            let y = if self.up { self.base - 1 - row } else { self.base + row };
            let strength = f64::from(row + 1) / f64::from(self.rows.max(1));
            let cell = Cell::new(&ends, from);
            let Some(layer) = self.layers.get(cell.layer) else { continue };
            if plain {
                let (symbol, style) = self.filled(canvas, &cell, strength);
                canvas.put_styled(plot, x, y, symbol, style);
            } else if cell.height * 2 >= EIGHTHS || row == 0 {
                let fill = canvas.glyphs().fills[layer.fill % canvas.glyphs().fills.len()];
                canvas.put(plot, x, y, fill, layer.role);
            }
        }
    }

    /// Returns the character and the style of a cell in colours.
    fn filled(&self, canvas: &Canvas<'_>, cell: &Cell, strength: f64) -> (&'static str, Style) {
        let shade = |layer: usize| {
            let role = self.layers.get(layer).map_or(Role::Fg, |layer| layer.role);
            canvas.shade(role, strength)
        };
        let style = shade(cell.layer);
        let sparks = canvas.glyphs().sparks;
        if let Some((boundary, above)) = cell.boundary
            && cell.height == EIGHTHS
        {
            // The nearer layer is the character where it grows upwards, the ground where it hangs.
            let (low, high) = if self.up { (style, shade(above)) } else { (shade(above), style) };
            let eighths = if self.up { boundary } else { EIGHTHS - boundary };
            let ground = high.fg.map_or(low, |colour| low.bg(colour));
            return (sparks[eighths.clamp(1, EIGHTHS) - 1], ground);
        }
        if cell.height >= EIGHTHS {
            return ("█", style);
        }
        if self.up {
            return (sparks[cell.height - 1], style);
        }
        // No font has blocks that hang from the top, so the rest of the cell is drawn and turned inside out.
        (sparks[EIGHTHS - cell.height - 1], style.add_modifier(Modifier::REVERSED))
    }
}

/// The content of one cell of a column.
struct Cell {
    /// The layer that has most of it.
    layer: usize,
    /// Eighths of it that are filled.
    height: usize,
    /// The eighth at which another layer begins within it, and that layer.
    boundary: Option<(usize, usize)>,
}

impl Cell {
    /// Returns the cell that begins `from` eighths away from the axis, of layers that end at `ends`.
    fn new(ends: &[usize], from: usize) -> Self {
        let to = from + EIGHTHS;
        let height = ends.last().map_or(0, |end| (*end).min(to).saturating_sub(from));
        let mut begin = 0;
        let mut shares: Vec<(usize, usize)> = Vec::new();
        for (layer, end) in ends.iter().enumerate() {
            let share = (*end).min(to).saturating_sub(begin.max(from));
            if share > 0 {
                shares.push((layer, share));
            }
            begin = begin.max(*end);
        }
        let boundary = match shares.as_slice() {
            [(_, first), (second, _), ..] => Some((*first, *second)),
            _ => None,
        };
        let most = shares.iter().copied().rev().max_by_key(|(_, share)| *share);
        let first = shares.first().map_or(0, |(layer, _)| *layer);
        let layer = match boundary {
            // A cell that is full shows both.
            Some(_) if height == EIGHTHS => first,
            _ => most.map_or(0, |(layer, _)| layer),
        };
        Self { layer, height: height.clamp(1, EIGHTHS), boundary }
    }
}

#[cfg(test)]
mod tests;
