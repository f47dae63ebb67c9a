//! Sparklines, where there is no room for charts.

use ratatui::layout::Rect;

use super::{PanelId, Scene};
use crate::tui::judge::State;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::{gauge, sparkline};

/// Columns of a label, and of a value with its mark.
const LABEL: usize = 12;
const VALUE: usize = 12;
/// Columns from which on the router's panel stands beside, which says more.
const ROUTED: u16 = 100;

struct Trend {
    label: &'static str,
    points: Vec<Option<f64>>,
    top: f64,
    value: String,
    role: Role,
}

/// Draws one row for each trend that fits; the most telling ones where few do.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    let title = format!("Last {}", text::span(scene.look.window));
    let notes = unknown(canvas, area, scene, &title).into_iter().collect();
    let inner = scene.frame(canvas, area, PanelId::Trends, title, notes);
    let mut trends = trends(canvas, scene);
    match inner.height {
        0 => return,
        1 => trends.drain(..2).for_each(drop),
        // Removals say least.
        2 | 3 => drop(trends.remove(1)),
        _ => {}
    }
    for (y, trend) in trends.iter().enumerate() {
        row(canvas, inner, text::coordinate(y), trend);
    }
}

/// Returns why not every block is known, where no other panel says so.
fn unknown(canvas: &Canvas<'_>, area: Rect, scene: &Scene<'_>, title: &str) -> Option<Part> {
    let glyphs = canvas.glyphs();
    let tree = &scene.snapshot.tree;
    let why = tree.incomplete.first().filter(|_| scene.snapshot.hears_events())?;
    if area.width >= ROUTED {
        return None;
    }
    // Frame, blanks around title and note, and some of the edge between them.
    let room = usize::from(area.width).saturating_sub(text::width(title) + 12);
    let said =
        text::cut_words(&format!("{} {}", glyphs.unknown, text::clean(why)), room, glyphs.ellipsis);
    Some(part(said, Role::Unknown))
}

fn row(canvas: &mut Canvas<'_>, area: Rect, y: u16, trend: &Trend) {
    let room = usize::from(area.width).saturating_sub(LABEL + VALUE).min(120);
    let cells = sparkline::cells(&trend.points, room, trend.top, canvas.glyphs());
    let parts = [
        part(text::pad(trend.label, LABEL), Role::Fg),
        part(cells, trend.role),
        part(text::pad_left(&trend.value, VALUE), trend.role),
    ];
    canvas.parts(area, 0, y, &parts);
}

fn trends(canvas: &Canvas<'_>, scene: &Scene<'_>) -> Vec<Trend> {
    let glyphs = canvas.glyphs();
    let snapshot = scene.snapshot;
    let (series, rates) = (&snapshot.series, &snapshot.totals.rates.ten_seconds);
    let heard = snapshot.hears_events();
    let rate = |label, points: &[Option<f64>], value: f64, role| Trend {
        label,
        points: points.to_vec(),
        top: sparkline::largest(points, 1.0),
        value: if heard {
            format!("{}  ", text::short(value))
        } else {
            format!("{}  ", glyphs.none)
        },
        role,
    };
    vec![
        rate("stored/s", &series.stored_blocks.points, rates.stored_blocks, Role::Series1),
        rate("removed/s", &series.removals.points, rates.removals, Role::Series2),
        orphans(canvas, scene),
        if let Some(used) = snapshot.totals.kv_utilization {
            let mark = match gauge::role(used) {
                Role::GaugeHigh | Role::GaugeMid => glyphs.warn,
                _ => " ",
            };
            Trend {
                label: "KV in use %",
                points: series.kv_utilization.points.clone(),
                top: 1.0,
                value: format!("{} {mark}", text::whole_percent(used)),
                role: gauge::role(used),
            }
        } else {
            let blocks = snapshot.tree.accepted_blocks;
            let points = series.tree_size.points.clone();
            let top = sparkline::largest(&points, 1.0);
            let value = if heard { text::count(blocks) } else { glyphs.none.to_owned() };
            let value = format!("{value}  ");
            Trend { label: "tree blocks", points, top, value, role: Role::Series4 }
        },
    ]
}

fn orphans(canvas: &Canvas<'_>, scene: &Scene<'_>) -> Trend {
    let series = &scene.snapshot.series;
    let pairs = series.stores.points.iter().zip(&series.refused.points);
    let share = |(stores, refused): (&Option<f64>, &Option<f64>)| match (stores, refused) {
        (Some(stores), Some(refused)) if *stores > 0.0 => Some((refused / stores).min(1.0)),
        _ => None,
    };
    let state = scene.orphans();
    let mark = state.glyph(canvas.glyphs());
    let value = match (state, scene.orphan_share()) {
        (State::Unknown, _) if scene.is_warming() => format!("{mark} warming"),
        (State::Gone | State::Unknown, _) | (_, None) => format!("{}  ", canvas.glyphs().none),
        (State::Ok, Some(share)) => format!("{}  ", text::percent(share)),
        (State::Warn | State::Fail, Some(share)) => format!("{} {mark}", text::percent(share)),
    };
    Trend {
        label: "orphan %",
        points: pairs.map(share).collect(),
        top: 1.0,
        value,
        role: if state == State::Ok { Role::Series1 } else { state.role() },
    }
}
