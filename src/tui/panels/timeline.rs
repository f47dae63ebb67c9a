//! The timeline: one series of the whole deployment over the window, with what happened and the cursor.

use std::time::Duration;

use ratatui::layout::Rect;

use super::charts::{self, Named};
use super::{PanelContext, PanelId};
use crate::domain::Timestamp;
use crate::snapshot::{SeriesSet, Snapshot};
use crate::tui::command::Command;
use crate::tui::graph::first_shown;
use crate::tui::graph::timeline::{Marker, TimeAxis, Timeline};
use crate::tui::keymap::names::key_or_line;
use crate::tui::markers;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::views::overview::Shown;
use crate::tui::widgets::canvas::{Canvas, part};

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

/// Draws it.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (up, down) = layers(context);
    let shown = context.look.overview.shown;
    let mut notes = charts::legend(canvas, &up, &down, shown.label());
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
    let course = context.timeline;
    let window = course.series.window;
    Timeline {
        up: charts::layers(up),
        down: charts::layers(down),
        top: context.look.overview.shown.top(),
        least: context.look.overview.shown.least(),
        label: context.look.overview.shown.label(),
        first: Some(first_known(course.series)),
        end: course.end,
        window: if window.is_zero() { context.look.window } else { window },
        age: course.age,
        markers,
        cursor: course.cursor,
    }
}

/// Returns the first point that any of the series has, so that all of them have the same axis.
fn first_known(series: &SeriesSet) -> usize {
    let all = [
        &series.stores,
        &series.cached_share,
        &series.hit_share,
        &series.ttft_p95,
        &series.kv_utilization,
        &series.tree_size,
        &series.routed,
    ];
    let count = all.iter().map(|series| series.points.len()).max().unwrap_or(0);
    first_shown(all.iter().map(|series| series.points.as_slice()), count)
}

fn layers(context: &PanelContext<'_>) -> (Vec<Named>, Vec<Named>) {
    let (series, snapshot) = (context.timeline.series, context.snapshot);
    let one = Named::alone;
    match context.look.overview.shown {
        Shown::Blocks => {
            let rates = snapshot.hears_events().then_some(&snapshot.totals.rates.ten_seconds);
            // Until earlier blocks are known, a missing parent is no fault and must not look like one.
            let rejected = if context.is_warming() { Role::Unknown } else { Role::Series3 };
            charts::blocks(&charts::Blocks::of_all(series), rates, rejected)
        }
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
        Shown::FirstToken => (charts::first_token(series, snapshot.felt.first_token), Vec::new()),
        Shown::InUse => {
            let now = snapshot.totals.kv_utilization;
            (one("mean of workers", now, &series.kv_utilization, Role::Series4), Vec::new())
        }
        Shown::Index => {
            let now = snapshot.hears_events().then_some(snapshot.tree.accepted_blocks as f64);
            (one("blocks", now, &series.tree_size, Role::Series4), Vec::new())
        }
        Shown::Decisions => {
            let known = snapshot.router.tells_of_requests_now();
            let now = known.then_some(snapshot.router.routed_per_second);
            (one("requests", now, &series.routed, Role::Series6), Vec::new())
        }
    }
}
