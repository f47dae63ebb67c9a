//! Tests of graphs by the characters they draw.

use ratatui::buffer::Buffer;

use super::*;
use crate::tui::theme::{Glyphs, Level, Themes};

const END: Timestamp = Timestamp(1_771_252_733_000_000);

fn layer(points: &[f64], role: Role, fill: usize) -> Layer {
    Layer { points: points.iter().copied().map(Some).collect(), role, fill }
}

fn graph(up: Vec<Layer>, down: Vec<Layer>) -> Timeline {
    Timeline {
        up,
        down,
        top: Some(8.0),
        least: 1.0,
        label: text::short,
        first: None,
        end: END,
        window: Duration::from_secs(60),
        age: Duration::ZERO,
        markers: Vec::new(),
        cursor: None,
    }
}

fn drawn(graph: &Timeline, level: Level, glyphs: &'static Glyphs, size: (u16, u16)) -> Buffer {
    let theme = Themes::default().theme("dark", level, glyphs).unwrap();
    let area = Rect::new(0, 0, size.0, size.1);
    let mut buffer = Buffer::empty(area);
    graph.draw(&mut Canvas::new(&mut buffer, &theme), area);
    buffer
}

fn row(buffer: &Buffer, y: u16) -> String {
    (AXIS..buffer.area().width).map(|x| buffer[(x, y)].symbol()).collect()
}

#[test]
fn areas_are_as_high_as_their_values_and_hang_as_deep() {
    let (values, half) = ([8.0; 20], [4.0; 20]);
    let graph = graph(vec![layer(&values, Role::Series1, 0)], vec![layer(&half, Role::Series2, 1)]);
    // Six rows above the axis, two below, and the row of times.
    let buffer = drawn(&graph, Level::True, Glyphs::UNICODE, (27, 10));

    assert_eq!(row(&buffer, 0), "█".repeat(20));
    assert_eq!(row(&buffer, 6), "─".repeat(20));
    assert_eq!(row(&buffer, 8), "█".repeat(20));
}

#[test]
fn a_half_in_which_little_happens_is_small() {
    let axis = |down: f64| {
        let up = vec![layer(&[8.0; 20], Role::Series1, 0)];
        let graph = graph(up, vec![layer(&[down; 20], Role::Series2, 1)]);
        let buffer = drawn(&graph, Level::True, Glyphs::UNICODE, (27, 14));
        (0..13).find(|y| row(&buffer, *y).starts_with('─')).unwrap()
    };
    assert_eq!([axis(0.0), axis(1.0), axis(8.0), axis(80.0)], [11, 11, 6, 3]);
}

#[test]
fn a_part_of_a_row_that_hangs_is_the_rest_turned_inside_out() {
    let up = vec![layer(&[0.5; 20], Role::Series1, 0)];
    let graph = graph(up, vec![layer(&[0.5; 20], Role::Series2, 1)]);
    let buffer = drawn(&graph, Level::True, Glyphs::UNICODE, (27, 10));

    // Of two units a row a quarter hangs from the axis, so that three quarters are drawn and reversed.
    let cell = &buffer[(AXIS, 5)];
    assert_eq!(row(&buffer, 4), "─".repeat(20));
    assert_eq!(cell.symbol(), "▆");
    assert!(cell.modifier.contains(Modifier::REVERSED));
}

#[test]
fn two_series_share_a_cell_at_their_boundary() {
    let graph = graph(
        vec![layer(&[1.0; 20], Role::Series1, 0), layer(&[7.0; 20], Role::Series3, 2)],
        Vec::new(),
    );
    let buffer = drawn(&graph, Level::True, Glyphs::UNICODE, (27, 5));

    // Two units a row: the first row is half of one series and half of the other.
    let cell = &buffer[(AXIS, 3)];
    let theme = Themes::default().theme("dark", Level::True, Glyphs::UNICODE).unwrap();
    assert_eq!(cell.symbol(), "▄");
    assert_eq!(cell.fg, theme.shade(Role::Series1, 0.25).fg.unwrap());
    assert_eq!(cell.bg, theme.shade(Role::Series3, 0.25).fg.unwrap());
}

#[test]
fn without_colour_fills_tell_series_apart() {
    let up = || vec![layer(&[4.0; 20], Role::Series1, 0), layer(&[4.0; 20], Role::Series3, 2)];
    for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
        let buffer = drawn(&graph(up(), Vec::new()), Level::Mono, glyphs, (27, 5));
        assert_eq!(row(&buffer, 3), glyphs.fills[0].repeat(20));
        assert_eq!(row(&buffer, 0), glyphs.fills[2].repeat(20));
        assert_ne!(glyphs.fills[0], glyphs.fills[2]);
    }
}

#[test]
fn shades_rise_with_the_value_in_true_colour_only() {
    let colours = |level| {
        let graph = graph(vec![layer(&[8.0; 20], Role::Series1, 0)], Vec::new());
        let buffer = drawn(&graph, level, Glyphs::UNICODE, (27, 5));
        (0..4).map(|y| buffer[(AXIS, y)].fg).collect::<std::collections::HashSet<_>>().len()
    };
    assert_eq!(colours(Level::True), 4);
    assert_eq!(colours(Level::TwoHundred), 1);
    assert_eq!(colours(Level::Sixteen), 1);
}

#[test]
fn the_graph_begins_where_its_data_begin() {
    let mut points = vec![None; 30];
    points.extend([Some(8.0); 30]);
    let layer = Layer { points, role: Role::Series1, fill: 0 };
    let graph = graph(vec![layer], Vec::new());

    let axis = graph.axis(Rect::new(0, 0, 27, 5)).unwrap();

    assert_eq!(axis.end.since(axis.start), Duration::from_secs(30));
    let buffer = drawn(&graph, Level::True, Glyphs::UNICODE, (27, 5));
    assert_eq!(row(&buffer, 0), "█".repeat(20));
    assert!(row(&buffer, 4).starts_with("-30s") && row(&buffer, 4).ends_with("now"));
}

#[test]
fn columns_and_moments_lead_to_each_other() {
    let graph = graph(vec![layer(&[1.0; 60], Role::Series1, 0)], Vec::new());
    let axis = graph.axis(Rect::new(3, 0, 67, 5)).unwrap();

    assert_eq!((axis.moment(0), axis.moment(500)), (axis.start, axis.end));
    for column in 0..axis.width {
        assert_eq!(axis.column(axis.moment(axis.left + column)), Some(column));
    }
    assert_eq!(axis.column(axis.start.before(Duration::from_secs(1))), None);
}

#[test]
fn the_newest_marker_keeps_its_words_where_two_would_overlap() {
    let marker = |ago: u64, text: &str| Marker {
        at: END.before(Duration::from_secs(ago)),
        glyph: "✗",
        text: text.to_owned(),
        role: Role::Crit,
    };
    let markers = vec![marker(31, "older"), marker(30, "newer")];
    let graph =
        Timeline { markers, ..graph(vec![layer(&[1.0; 60], Role::Series1, 0)], Vec::new()) };

    let buffer = drawn(&graph, Level::True, Glyphs::UNICODE, (67, 6));

    let said = row(&buffer, 5);
    assert!(said.contains("✗ newer") && !said.contains("older"), "{said}");
    assert_eq!(row(&buffer, 4).matches('✗').count(), 2, "both stand on the axis");
}

#[test]
fn no_size_and_no_value_breaks_it() {
    let odd = [f64::NAN, f64::INFINITY, -3.0, 0.0, 1e300];
    for width in [0, 1, 14, 15, 40] {
        for height in 0..8 {
            for level in Level::ALL {
                let graph = Timeline {
                    top: None,
                    least: 1.0,
                    first: None,
                    cursor: Some(END),
                    ..graph(
                        vec![layer(&odd, Role::Series1, 0), layer(&odd, Role::Series3, 9)],
                        vec![layer(&odd, Role::Series2, 1)],
                    )
                };
                drawn(&graph, level, Glyphs::UNICODE, (width, height));
            }
        }
    }
}
