//! Graphs that more than one panel shows: areas over time with their legends.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::snapshot::{Rates, Series, SeriesSet, WorkerDetail};
use crate::tui::graph::timeline::{Layer, Timeline};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// A series with its name, and its value now where there is one.
pub(super) struct Named {
    /// Its name.
    pub name: &'static str,
    /// Its value now.
    pub now: Option<f64>,
    /// Its points and how they are drawn.
    pub layer: Layer,
}

impl Named {
    /// Returns the only series of a graph.
    pub(super) fn alone(
        name: &'static str,
        now: Option<f64>,
        series: &Series,
        role: Role,
    ) -> Vec<Self> {
        let layer = Layer { points: series.points.clone(), role, fill: 0 };
        vec![Self { name, now, layer }]
    }
}

/// A graph that fills a panel, up to the moment that the picture shows.
pub(super) struct Areas {
    /// Series that are stacked upwards, the lowest first.
    pub up: Vec<Layer>,
    /// Series that hang down, the nearest to the axis first.
    pub down: Vec<Layer>,
    /// The value at the top; none to fit the data.
    pub top: Option<f64>,
    /// Writes a value.
    pub label: fn(f64) -> String,
    /// The time that all points cover.
    pub window: Duration,
}

impl Areas {
    /// Draws the graph into `area`.
    pub(super) fn draw(self, canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
        let Self { up, down, top, label, window } = self;
        let window = if window.is_zero() { context.look.window } else { window };
        let (end, age) = (context.snapshot.at, context.age);
        let (markers, cursor) = (Vec::new(), None);
        let (least, first) = (1.0, None);
        Timeline { up, down, top, least, label, first, end, window, age, markers, cursor }
            .draw(canvas, area);
    }
}

/// The series of a graph of stored and evicted blocks.
pub(super) struct Blocks<'a> {
    stored: &'a Series,
    refused: &'a Series,
    in_refused: &'a Series,
    removals: &'a Series,
    unknown: &'a Series,
}

impl<'a> Blocks<'a> {
    /// Returns those of a whole deployment.
    pub(super) fn of_all(series: &'a SeriesSet) -> Self {
        Self {
            stored: &series.stored_blocks,
            refused: &series.refused,
            in_refused: &series.refused_blocks,
            removals: &series.removals,
            unknown: &series.unknown_removals,
        }
    }

    /// Returns those of one worker.
    pub(super) fn of_one(detail: &'a WorkerDetail) -> Self {
        Self {
            stored: &detail.stored_blocks,
            refused: &detail.refused,
            in_refused: &detail.refused_blocks,
            removals: &detail.removals,
            unknown: &detail.unknown_removals,
        }
    }
}

/// Returns the blocks that came, stacked upwards, and those that went, downwards; `rates` is none where no
/// events are heard. A store without blocks counts as one.
pub(super) fn blocks(
    of: &Blocks<'_>,
    rates: Option<&Rates>,
    rejected: Role,
) -> (Vec<Named>, Vec<Named>) {
    let now = |value: fn(&Rates) -> f64| rates.map(|rates| value(rates).max(0.0));
    let known = |points: Vec<Option<f64>>| if rates.is_some() { points } else { Vec::new() };
    let less = |whole: &Series, part: &Series| -> Vec<Option<f64>> {
        let pairs = whole.points.iter().zip(&part.points);
        pairs.map(|(whole, part)| Some((whole.as_ref()? - part.as_ref()?).max(0.0))).collect()
    };
    let empty = |refused: Option<f64>, blocks: Option<f64>| match (refused, blocks) {
        (Some(refused), Some(blocks)) if refused > 0.0 && blocks <= 0.0 => Some(refused),
        (Some(_), Some(_)) => Some(0.0),
        _ => None,
    };
    let pairs = of.refused.points.iter().zip(&of.in_refused.points);
    let empties: Vec<Option<f64>> =
        pairs.map(|(refused, blocks)| empty(*refused, *blocks)).collect();
    let layer = |name, now, points, role, fill| Named {
        name,
        now,
        layer: Layer { points: known(points), role, fill },
    };
    let stored = less(of.stored, of.in_refused);
    let refused = empty(now(|rates| rates.refused), now(|rates| rates.refused_blocks));
    let rejected_points = of.in_refused.points.clone();
    // While earlier blocks are unknown, only kvtop lacks these parents.
    let lacking = if rejected == Role::Unknown { "of unknown parents" } else { "rejected" };
    let up = vec![
        layer(
            "stored",
            now(|rates| rates.stored_blocks - rates.refused_blocks),
            stored,
            Role::Series1,
            0,
        ),
        layer("empty", refused, empties, Role::Series5, 1),
        layer(lacking, now(|rates| rates.refused_blocks), rejected_points, rejected, 2),
    ];
    let evicted = less(of.removals, of.unknown);
    let unknown = of.unknown.points.clone();
    let down = vec![
        layer(
            "evicted",
            now(|rates| rates.removals - rates.unknown_removals),
            evicted,
            Role::Series2,
            0,
        ),
        layer("of unknown blocks", now(|rates| rates.unknown_removals), unknown, rejected, 2),
    ];
    (up, down)
}

/// Returns the time to first token: the median, and what the 95th percentile adds to it.
pub(super) fn first_token(series: &SeriesSet, now: Option<[f64; 2]>) -> Vec<Named> {
    let above = series.ttft_p95.points.iter().zip(&series.ttft_p50.points);
    let above = above.map(|(p95, p50)| Some((p95.as_ref()? - p50.as_ref()?).max(0.0)));
    let [p50, p95] = now.map_or([None; 2], |pair| pair.map(Some));
    let mut layers = Named::alone("p50", p50, &series.ttft_p50, Role::Series1);
    let layer = Layer { points: above.collect(), role: Role::Series2, fill: 1 };
    layers.push(Named { name: "p95", now: p95, layer });
    layers
}

/// Returns the names of series with their values now. Of series in which nothing happened only the first of
/// each half is named, after the others: names are cut from the end where there is little room.
pub(super) fn legend(
    canvas: &Canvas<'_>,
    up: &[Named],
    down: &[Named],
    label: fn(f64) -> String,
) -> Vec<Part> {
    let any = |named: &Named| {
        named.layer.points.iter().flatten().chain(&named.now).any(|value| *value > 0.0)
    };
    let shown = |half: &[Named]| -> Vec<usize> {
        let happened = |at: &usize| half.get(*at).is_some_and(any);
        let mut shown: Vec<usize> = (0..half.len()).filter(|at| *at == 0 || happened(at)).collect();
        shown.sort_by_key(|at| !happened(at));
        shown
    };
    let (above, below) = (shown(up), shown(down));
    let named = above.into_iter().map(|at| &up[at]).chain(below.into_iter().map(|at| &down[at]));
    let mut notes = Vec::new();
    for named in named {
        let mark = mark(canvas, named.layer.fill);
        let now = named.now.map_or_else(|| canvas.glyphs().none.to_owned(), label);
        let gap = if notes.is_empty() { "" } else { "  " };
        notes.push(part(format!("{gap}{mark} {} {now}", named.name), named.layer.role));
    }
    notes
}

/// Returns the mark of a series in a legend: its fill, where colours do not tell series apart.
pub(super) fn mark(canvas: &Canvas<'_>, fill: usize) -> &'static str {
    let coloured = canvas.glyphs().braille && !canvas.is_colourless();
    let fills = canvas.glyphs().fills;
    if coloured { canvas.glyphs().full } else { fills[fill % fills.len()] }
}

/// Returns the layers of series.
pub(super) fn layers(named: Vec<Named>) -> Vec<Layer> {
    named.into_iter().map(|named| named.layer).collect()
}

/// Draws the share of requests for which routers found anything cached.
pub fn hits(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let router = &context.snapshot.router;
    let known = router.overlap_known;
    let hit = known.saturating_sub(router.overlap_zero);
    let share = (known > 0).then(|| hit as f64 / known as f64);
    let up = Named::alone("all", share, &context.snapshot.series.hit_share, Role::Series6);
    let notes = legend(canvas, &up, &[], text::whole_percent);
    let inner = context.frame(canvas, area, PanelId::Hits, "Requests with a cache hit, %", notes);
    let window = context.snapshot.series.window;
    let (down, label) = (Vec::new(), text::whole_percent as fn(f64) -> String);
    Areas { up: layers(up), down, top: Some(1.0), label, window }.draw(canvas, inner, context);
}
