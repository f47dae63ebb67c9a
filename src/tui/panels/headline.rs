//! The headline: what users feel and what the cache does, each figure with its course over the window.
//!
//! Which figures there are, `figure.rs` knows; which are shown, and in which order, the user chooses.

mod figure;

use ratatui::layout::Rect;

use super::PanelContext;
use crate::tui::graph::spark;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::Canvas;

pub use figure::Figure;

/// Rows from which on a figure has its name and its course in rows of their own.
const TALL: u16 = 3;
/// Columns of a figure at least, where it stands in three rows.
const TILE: u16 = 18;
/// Columns of a course beside its figure, in one row.
const BESIDE: usize = 6;

/// One figure, as it is drawn.
struct Tile {
    name: &'static str,
    /// Its name where there is little room.
    short: &'static str,
    /// Its value, from the longest form to the shortest.
    values: Vec<String>,
    role: Role,
    /// Its points up to the cursor and the value at the top; none for a figure of which no series is kept.
    course: Option<(Vec<Option<f64>>, f64)>,
}

impl Tile {
    /// Returns the longest form that fits into `columns`.
    fn value(&self, columns: usize) -> &str {
        let fits = self.values.iter().find(|value| text::width(value) <= columns);
        fits.or(self.values.last()).map_or("", String::as_str)
    }
}

/// Draws the figures, as many as there is room for.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let area = canvas.clip(area);
    if area.is_empty() {
        return;
    }
    let figures = &context.look.overview.headline;
    let tiles: Vec<Tile> = figures.iter().map(|it| it.tile(context, canvas.glyphs())).collect();
    if area.height >= TALL {
        tall(canvas, area, &tiles);
    } else {
        flat(canvas, area, &tiles);
    }
}

/// Every figure in three rows: its name, its value, its course.
fn tall(canvas: &mut Canvas<'_>, area: Rect, tiles: &[Tile]) {
    let count = usize::from(area.width / TILE).min(tiles.len()).max(1);
    let width = area.width / text::coordinate(count);
    for (at, tile) in tiles.iter().take(count).enumerate() {
        let inner = Rect {
            x: area.x + text::coordinate(at) * width + 2,
            width: width.saturating_sub(3),
            ..area
        };
        let fits = text::width(tile.name) <= inner.width.into();
        canvas.put(inner, 0, 0, if fits { tile.name } else { tile.short }, Role::Muted);
        let style = canvas.strong(tile.role);
        canvas.put_styled(inner, 0, 1, tile.value(inner.width.into()), style);
        if let Some((points, top)) = &tile.course {
            let points = (points.as_slice(), *top);
            spark::draw(canvas, inner, (0, 2), inner.width.into(), points, course(tile.role));
        }
    }
}

/// All figures in one row; the last ones go where there is no room.
fn flat(canvas: &mut Canvas<'_>, area: Rect, tiles: &[Tile]) {
    let room = usize::from(area.width);
    let needed = |tile: &Tile, columns: usize, beside: usize| {
        let beside = if tile.course.is_some() { beside } else { 0 };
        text::width(tile.short) + text::width(tile.value(columns)) + beside + 4
    };
    let sum = |columns: usize, beside: usize| {
        tiles.iter().map(|tile| needed(tile, columns, beside)).sum::<usize>()
    };
    // Units and former values go before a figure does, and courses go first.
    let columns = [room, 28, 20, 13].into_iter().find(|columns| sum(*columns, 0) <= room + 2);
    let columns = columns.unwrap_or(0);
    let beside = if sum(columns, BESIDE + 1) <= room + 2 { BESIDE + 1 } else { 0 };
    let mut x = 1;
    for tile in tiles {
        if usize::from(x) + needed(tile, columns, 0) > room + 3 {
            break;
        }
        x = canvas.put(area, x, 0, tile.short, Role::Muted) + 1;
        let style = canvas.strong(tile.role);
        x = canvas.put_styled(area, x, 0, tile.value(columns), style);
        if let Some((points, top)) = tile.course.as_ref().filter(|_| beside > 0) {
            let points = (points.as_slice(), *top);
            spark::draw(canvas, area, (x + 1, 0), BESIDE, points, course(tile.role));
            x += text::coordinate(beside);
        }
        x += 2;
    }
}

/// Plain figures have a course in colour.
const fn course(role: Role) -> Role {
    match role {
        Role::Fg | Role::Title | Role::Muted => Role::Series4,
        role => role,
    }
}
