//! Every graph with made-up data, for looking at them in each mode.

use std::time::Duration;

use ratatui::layout::Rect;

use super::timeline::{Layer, Marker, Timeline};
use super::{bar, heat, spark};
use crate::domain::Timestamp;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::Canvas;

/// Columns and rows that the gallery needs.
pub const SIZE: (u16, u16) = (100, 32);
/// Points of each series.
const POINTS: usize = 300;
/// The end of its graphs.
const END: Timestamp = Timestamp(1_771_425_542_000_000);

/// Draws every graph into `area`.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect) {
    let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
    canvas.put(
        area,
        0,
        0,
        "Stacked upwards and downwards, with markers and the cursor",
        Role::Title,
    );
    mirrored().draw(canvas, row(1, 12));
    canvas.put(area, 0, 14, "One half: p50 below, p95 on top", Role::Title);
    halved().draw(canvas, row(15, 7));
    canvas.put(area, 0, 23, "In one row", Role::Title);
    let sparks =
        [(Role::Series1, 20.0), (Role::Series2, 7.0), (Role::Series3, 3.0), (Role::Series4, 50.0)];
    for (at, (role, pace)) in sparks.into_iter().enumerate() {
        let points = wave(0.5, 0.5, pace);
        let x = text::coordinate(at * 24);
        spark::draw(canvas, area, (x, 24), 20, (&points, 1.0), role);
    }
    canvas.put(area, 0, 26, "Bars", Role::Title);
    let bars = [
        (0.0, Role::GaugeLow),
        (0.37, Role::GaugeLow),
        (0.92, Role::GaugeMid),
        (1.0, Role::GaugeHigh),
    ];
    for (at, (share, role)) in bars.into_iter().enumerate() {
        let parts = bar::filled(share, 20, role, canvas.glyphs());
        canvas.parts(area, text::coordinate(at * 24), 27, &parts);
    }
    for (at, done) in [0, 18, 30].into_iter().enumerate() {
        let said = bar::progress(done, 30, 10, canvas.glyphs());
        canvas.put(area, text::coordinate(at * 24), 28, &said, Role::Resolved);
    }
    canvas.put(area, 0, 30, "Heat", Role::Title);
    for (at, share) in [0.0, 0.3, 0.7, 1.0].into_iter().enumerate() {
        let (cell, style) = heat::cell(canvas, share);
        canvas.put_styled(area, text::coordinate(at * 4), 31, &cell, style);
    }
}

fn mirrored() -> Timeline {
    let up =
        |middle, swing, pace, role, fill| Layer { points: wave(middle, swing, pace), role, fill };
    let marker = |ago, glyph, text: &str, role| Marker {
        at: END.before(Duration::from_secs(ago)),
        glyph,
        text: text.to_owned(),
        role,
    };
    Timeline {
        up: vec![
            up(80.0, 30.0, 23.0, Role::Series1, 0),
            up(14.0, 14.0, 40.0, Role::Series5, 1),
            up(20.0, 20.0, 60.0, Role::Series3, 2),
        ],
        down: vec![up(60.0, 25.0, 17.0, Role::Series2, 0), up(12.0, 12.0, 30.0, Role::Series3, 2)],
        top: None,
        least: 1.0,
        first: None,
        label: text::short,
        end: END,
        window: Duration::from_secs(300),
        age: Duration::ZERO,
        markers: vec![
            marker(220, "*", "3 workers started", Role::Key),
            marker(120, "x", "KVT001", Role::Crit),
            marker(40, "+", "KVT001 resolved", Role::Resolved),
        ],
        cursor: Some(END.before(Duration::from_secs(80))),
    }
}

fn halved() -> Timeline {
    let layer =
        |middle, swing, pace, role, fill| Layer { points: wave(middle, swing, pace), role, fill };
    Timeline {
        up: vec![
            layer(0.3, 0.05, 25.0, Role::Series1, 0),
            layer(0.25, 0.2, 33.0, Role::Series2, 1),
        ],
        down: Vec::new(),
        top: None,
        least: 1.0,
        first: None,
        label: |seconds| format!("{seconds:.2}"),
        markers: Vec::new(),
        cursor: None,
        ..mirrored()
    }
}

/// Returns a series that goes up and down around `middle`.
fn wave(middle: f64, swing: f64, pace: f64) -> Vec<Option<f64>> {
    (0..POINTS).map(|at| Some((middle + swing * (at as f64 / pace).sin()).max(0.0))).collect()
}
