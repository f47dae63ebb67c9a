//! The headline: what users feel and what the cache does, each figure with its course over the window.

use ratatui::layout::Rect;

use super::PanelContext;
use crate::snapshot::{Knowledge, Snapshot};
use crate::tui::graph::spark;
use crate::tui::judge::{self, State};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::Canvas;
use crate::tui::widgets::sparkline;

/// Rows from which on a figure has its name and its course in rows of their own.
const TALL: u16 = 3;
/// Columns of a figure at least, where it stands in three rows.
const TILE: u16 = 18;
/// Columns of a course beside its figure, in one row.
const BESIDE: usize = 6;

/// One figure.
struct Tile {
    name: &'static str,
    short: &'static str,
    /// Its value, from the longest form to the shortest.
    values: Vec<String>,
    role: Role,
    points: Vec<Option<f64>>,
    top: f64,
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
    let tiles = tiles(context, canvas.glyphs());
    if area.height >= TALL {
        tall(canvas, area, &tiles);
    } else {
        flat(canvas, area, &tiles);
    }
}

/// Every figure in three rows: its name, its value, its course.
fn tall(canvas: &mut Canvas<'_>, area: Rect, tiles: &[Tile]) {
    let count = usize::from(area.width / TILE).clamp(1, tiles.len());
    let width = area.width / text::coordinate(count);
    for (at, tile) in tiles.iter().take(count).enumerate() {
        let inner = Rect {
            x: area.x + text::coordinate(at) * width + 2,
            width: width.saturating_sub(3),
            ..area
        };
        canvas.put(inner, 0, 0, tile.name, Role::Muted);
        let style = canvas.strong(tile.role);
        canvas.put_styled(inner, 0, 1, tile.value(inner.width.into()), style);
        let points = (tile.points.as_slice(), tile.top);
        spark::draw(canvas, inner, (0, 2), inner.width.into(), points, course(tile.role));
    }
}

/// All figures in one row; the last ones go where there is no room.
fn flat(canvas: &mut Canvas<'_>, area: Rect, tiles: &[Tile]) {
    let room = usize::from(area.width);
    let needed = |tile: &Tile, columns: usize, beside: usize| {
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
        if beside > 0 {
            let points = (tile.points.as_slice(), tile.top);
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

fn tiles(context: &PanelContext<'_>, glyphs: &'static Glyphs) -> Vec<Tile> {
    let series = context.timeline.series;
    let cut = |points: &[Option<f64>]| context.timeline.up_to_cursor(points);
    let snapshot = context.snapshot;
    let (felt, before) = (&snapshot.felt, snapshot.before.unwrap_or_default());
    let (index, index_role) = index(snapshot, glyphs);
    let of_tokens = felt.cached.is_some();
    let (hits, hits_before) =
        if of_tokens { (felt.cached, before.cached) } else { (felt.found, before.found) };
    let hit_points = if of_tokens { &series.cached_share } else { &series.hit_share };
    let blind = felt.found.is_some_and(|found| found <= 0.0);
    let (rejected, rejected_role) = rejected(context, glyphs);
    let used = snapshot.totals.kv_utilization;
    vec![
        Tile {
            name: "CACHE HITS",
            short: "CACHE HITS",
            values: with_unit(shares(hits, hits_before, glyphs), of_tokens),
            role: if blind { Role::Crit } else { Role::Title },
            points: cut(&hit_points.points),
            top: 1.0,
        },
        ttft(context, glyphs),
        Tile {
            name: "REJECTED STORES",
            short: "REJECTED",
            values: vec![rejected],
            role: rejected_role,
            points: cut(&ratio(&series.refused.points, &series.stores.points)),
            top: 1.0,
        },
        Tile {
            name: "BLOCKS IN THE INDEX",
            short: "INDEX",
            values: vec![index],
            role: index_role,
            points: cut(&series.tree_size.points),
            top: sparkline::largest(&series.tree_size.points, 1.0),
        },
        Tile {
            name: "KV CACHE IN USE",
            short: "KV",
            values: vec![used.map_or_else(
                || glyphs.none.to_owned(),
                |used| format!("{} %", text::whole_percent(used)),
            )],
            role: used.map_or(Role::Muted, |used| judge::usage(snapshot, None, used)),
            points: cut(&series.kv_utilization.points),
            top: 1.0,
        },
    ]
}

/// Returns the blocks in the index: a lower bound while blocks of a worker from before the attach are unknown.
fn index(snapshot: &Snapshot, glyphs: &Glyphs) -> (String, Role) {
    let blocks = snapshot.tree.accepted_blocks;
    let mut present = snapshot.workers.iter().filter(|row| !row.gone).peekable();
    if !snapshot.hears_events() || present.peek().is_none() {
        return (glyphs.none.to_owned(), Role::Muted);
    }
    let count = text::thousands(blocks);
    if present.any(|row| row.knowledge != Knowledge::Complete) {
        let role = if blocks == 0 { Role::Unknown } else { Role::Title };
        (format!("{}{count}", glyphs.least), role)
    } else {
        (count, if blocks == 0 { Role::Warn } else { Role::Title })
    }
}

/// Returns the time to first token: half of the requests, and 95 % of them.
fn ttft(context: &PanelContext<'_>, glyphs: &'static Glyphs) -> Tile {
    let series = context.timeline.series;
    let (felt, before) = (context.snapshot.felt, context.snapshot.before.unwrap_or_default());
    let mut values = Vec::new();
    if let (Some([p50, p95]), Some([was50, was95])) = (felt.first_token, before.first_token)
        && changed(was95, p95)
    {
        let (arrow, [was50, was95, p50, p95]) =
            (glyphs.leads_to, [was50, was95, p50, p95].map(seconds));
        values.push(format!("{was50} / {was95} {arrow} {p50} / {p95} s"));
        values.push(format!("p95 {was95} {arrow} {p95} s"));
    }
    values.push(felt.first_token.map_or_else(
        || glyphs.none.to_owned(),
        |[p50, p95]| format!("{} / {} s", seconds(p50), seconds(p95)),
    ));
    let objective = context.snapshot.router.ttft.as_ref().and_then(|ttft| ttft.objective);
    let role = match (felt.first_token, objective) {
        (None, _) => Role::Muted,
        (Some([_, p95]), Some(most)) if p95 > most => Role::Crit,
        (Some(_), Some(_)) => Role::Ok,
        (Some(_), None) => Role::Title,
    };
    Tile {
        name: "TTFT p50 / p95",
        short: "TTFT",
        values,
        role,
        points: context.timeline.up_to_cursor(&series.ttft_p95.points),
        top: sparkline::largest(&series.ttft_p95.points, 0.1),
    }
}

/// Returns rejected stores as a share of all, and what that means.
fn rejected(context: &PanelContext<'_>, glyphs: &Glyphs) -> (String, Role) {
    match (context.orphans(), context.orphan_share()) {
        (_, None) => (glyphs.none.to_owned(), Role::Muted),
        (State::Unknown | State::Gone, Some(_)) => {
            (format!("{} not known yet", glyphs.unknown), Role::Unknown)
        }
        (State::Ok, Some(share)) => (format!("{} %", text::percent(share)), Role::Ok),
        (state, Some(share)) => (format!("{} %", text::percent(share)), state.role()),
    }
}

/// Returns a share, first with what it was before where that differs.
fn shares(now: Option<f64>, before: Option<f64>, glyphs: &Glyphs) -> Vec<String> {
    let Some(now) = now.map(text::whole_percent) else { return vec![glyphs.none.to_owned()] };
    let plain = format!("{now} %");
    match before.map(text::whole_percent) {
        Some(was) if was != now => vec![format!("{was} {} {plain}", glyphs.leads_to), plain],
        _ => vec![plain],
    }
}

/// Returns true for times that differ by more than two in a hundred: less is noise.
fn changed(before: f64, now: f64) -> bool {
    (before - now).abs() > 0.02 * before.max(now)
}

/// Adds what a share is of, where there is room for it.
fn with_unit(values: Vec<String>, of_tokens: bool) -> Vec<String> {
    let unit = if of_tokens { "of prompt tokens" } else { "of requests" };
    let short = if of_tokens { "of tokens" } else { "of requests" };
    let known = values.first().is_some_and(|value| value.ends_with('%'));
    let Some(last) = values.last().filter(|_| known) else { return values };
    let mut forms: Vec<String> =
        values.iter().flat_map(|it| [format!("{it} {unit}"), format!("{it} {short}")]).collect();
    let plain = last.clone();
    forms.extend(values);
    forms.retain(|form| *form != plain);
    forms.push(plain);
    forms
}

fn seconds(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

fn ratio(part: &[Option<f64>], whole: &[Option<f64>]) -> Vec<Option<f64>> {
    let share = |(part, whole): (&Option<f64>, &Option<f64>)| match (part, whole) {
        (Some(part), Some(whole)) if *whole > 0.0 => Some((part / whole).min(1.0)),
        _ => None,
    };
    part.iter().zip(whole).map(share).collect()
}
