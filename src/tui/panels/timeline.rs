//! The timeline: one series of the whole deployment over the window, with what happened and the cursor.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::domain::Timestamp;
use crate::snapshot::{Series, SeriesSet, Snapshot};
use crate::tui::command::Command;
use crate::tui::graph::timeline::{Layer, Marker, TimeAxis, Timeline};
use crate::tui::keymap::names::key_or_line;
use crate::tui::markers;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::views::overview::Shown;
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// The series that every panel of the overview shares, and where in them the screen stands.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// The picture that they are of.
    pub live: &'a Snapshot,
    /// The series.
    pub series: &'a SeriesSet,
    /// Their end.
    pub end: Timestamp,
    /// Time between that moment and now.
    pub age: Duration,
    /// The moment that the rest of the screen shows, where it is not the end.
    pub cursor: Option<Timestamp>,
}

impl Course<'_> {
    /// Returns the points up to the moment that the screen shows.
    pub fn up_to_cursor(&self, points: &[Option<f64>]) -> Vec<Option<f64>> {
        let Some(cursor) = self.cursor else { return points.to_vec() };
        let before = self.end.since(cursor).as_secs_f64();
        let window = self.series.window.as_secs_f64().max(1.0);
        let share = (1.0 - before / window).clamp(0.0, 1.0);
        let kept = text::cells(share * points.len() as f64).min(points.len());
        points.get(..kept).unwrap_or_default().to_vec()
    }
}

/// A series with its name, and its value now where there is one.
struct Named {
    name: &'static str,
    now: Option<f64>,
    layer: Layer,
}

/// Draws it.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (up, down) = layers(context);
    let shown = context.look.overview.shown;
    let mut notes: Vec<Part> = Vec::new();
    let coloured = canvas.glyphs().braille && !canvas.is_colourless();
    // Of series in which nothing happened only the first of each half is named.
    let named = |all: &[Named]| -> Vec<usize> {
        let any = |named: &Named| named.layer.points.iter().flatten().any(|value| *value > 0.0);
        (0..all.len()).filter(|at| *at == 0 || any(&all[*at])).collect()
    };
    let shown_up = named(&up).into_iter().map(|at| &up[at]);
    let shown_down = named(&down).into_iter().map(|at| &down[at]);
    for named in shown_up.chain(shown_down) {
        let fills = canvas.glyphs().fills;
        let mark =
            if coloured { canvas.glyphs().full } else { fills[named.layer.fill % fills.len()] };
        let now = named.now.map_or_else(|| canvas.glyphs().none.to_owned(), shown.label());
        let gap = if notes.is_empty() { "" } else { "  " };
        notes.push(part(format!("{gap}{mark} {} {now}", named.name), named.layer.role));
    }
    let key = key_or_line(context.keys, Command::NextGraph);
    notes.push(part(format!("  {key}"), Role::Key));
    notes.push(part(" other series", Role::Muted));
    let inner = context.frame(canvas, area, PanelId::Timeline, shown.title(), notes);
    let happened = markers::list(context.timeline.live, canvas.glyphs());
    graph(context, up, down, happened).draw(canvas, inner);
}

/// Returns the time axis of the panel in `area`.
pub fn axis(area: Rect, context: &PanelContext<'_>) -> Option<TimeAxis> {
    let inner = if context.framed && area.width >= 4 && area.height >= 2 {
        Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 }
    } else {
        area
    };
    let (up, down) = layers(context);
    graph(context, up, down, Vec::new()).axis(inner)
}

fn graph(
    context: &PanelContext<'_>,
    up: Vec<Named>,
    down: Vec<Named>,
    markers: Vec<Marker>,
) -> Timeline {
    let layers = |named: Vec<Named>| named.into_iter().map(|named| named.layer).collect();
    let course = context.timeline;
    let window = course.series.window;
    Timeline {
        up: layers(up),
        down: layers(down),
        top: context.look.overview.shown.top(),
        label: context.look.overview.shown.label(),
        end: course.end,
        window: if window.is_zero() { context.look.window } else { window },
        age: course.age,
        markers,
        cursor: course.cursor,
    }
}

fn layers(context: &PanelContext<'_>) -> (Vec<Named>, Vec<Named>) {
    let (series, snapshot) = (context.timeline.series, context.snapshot);
    let one = |name, now, points: &Series, role| {
        vec![Named { name, now, layer: Layer { points: points.points.clone(), role, fill: 0 } }]
    };
    match context.look.overview.shown {
        Shown::Blocks => blocks(snapshot, series, context.is_warming()),
        Shown::Hits => {
            let tokens = series.cached_share.points.iter().any(Option::is_some);
            let (points, now) = if tokens {
                (&series.cached_share, snapshot.felt.cached)
            } else {
                (&series.hit_share, snapshot.felt.found)
            };
            let name =
                if tokens { "prompt tokens cached" } else { "requests with a cached prefix" };
            (one(name, now, points, Role::Series1), Vec::new())
        }
        Shown::FirstToken => {
            let above = series.ttft_p95.points.iter().zip(&series.ttft_p50.points);
            let above = above.map(|(p95, p50)| Some((p95.as_ref()? - p50.as_ref()?).max(0.0)));
            let [p50, p95] = snapshot.felt.first_token.map_or([None; 2], |pair| pair.map(Some));
            let mut layers = one("p50", p50, &series.ttft_p50, Role::Series1);
            let layer = Layer { points: above.collect(), role: Role::Series2, fill: 1 };
            layers.push(Named { name: "p95", now: p95, layer });
            (layers, Vec::new())
        }
        Shown::InUse => {
            let now = snapshot.totals.kv_utilization;
            (one("mean of workers", now, &series.kv_utilization, Role::Series4), Vec::new())
        }
        Shown::Index => {
            let now = snapshot.hears_events().then_some(snapshot.tree.accepted_blocks as f64);
            (one("blocks", now, &series.tree_size, Role::Series4), Vec::new())
        }
        Shown::Decisions => {
            let known = snapshot.router.tells_of_requests();
            let now = known.then_some(snapshot.router.routed_per_second);
            (one("requests", now, &series.routed, Role::Series6), Vec::new())
        }
    }
}

/// Returns the blocks that came and those that went. A store without blocks counts as one.
fn blocks(snapshot: &Snapshot, series: &SeriesSet, warming: bool) -> (Vec<Named>, Vec<Named>) {
    let rates = &snapshot.totals.rates.ten_seconds;
    let heard = snapshot.hears_events();
    let now = |value: f64| heard.then_some(value.max(0.0));
    let known = |points: Vec<Option<f64>>| if heard { points } else { Vec::new() };
    let less = |whole: &Series, part: &Series| -> Vec<Option<f64>> {
        let pairs = whole.points.iter().zip(&part.points);
        pairs.map(|(whole, part)| Some((whole.as_ref()? - part.as_ref()?).max(0.0))).collect()
    };
    let empty = |refused: Option<f64>, blocks: Option<f64>| match (refused, blocks) {
        (Some(refused), Some(blocks)) if refused > 0.0 && blocks <= 0.0 => Some(refused),
        (Some(_), Some(_)) => Some(0.0),
        _ => None,
    };
    let pairs = series.refused.points.iter().zip(&series.refused_blocks.points);
    let empties: Vec<Option<f64>> =
        pairs.map(|(refused, blocks)| empty(*refused, *blocks)).collect();
    // Until earlier blocks are known, a missing parent is no fault and must not look like one.
    let rejected = if warming { Role::Unknown } else { Role::Series3 };
    let layer = |name, now, points, role, fill| Named {
        name,
        now,
        layer: Layer { points: known(points), role, fill },
    };
    let stored = less(&series.stored_blocks, &series.refused_blocks);
    let up = vec![
        layer("stored", now(rates.stored_blocks - rates.refused_blocks), stored, Role::Series1, 0),
        layer(
            "empty",
            empty(now(rates.refused), now(rates.refused_blocks)),
            empties,
            Role::Series5,
            1,
        ),
        layer(
            "rejected",
            now(rates.refused_blocks),
            series.refused_blocks.points.clone(),
            rejected,
            2,
        ),
    ];
    let evicted = less(&series.removals, &series.unknown_removals);
    let down = vec![
        layer("evicted", now(rates.removals - rates.unknown_removals), evicted, Role::Series2, 0),
        layer(
            "of unknown blocks",
            now(rates.unknown_removals),
            series.unknown_removals.points.clone(),
            rejected,
            2,
        ),
    ];
    (up, down)
}
