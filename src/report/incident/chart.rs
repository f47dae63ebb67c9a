//! A figure over time, as SVG and as a line of text.

use super::put;
use crate::domain::Timestamp;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 120.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 18.0;
const TOP: f64 = 8.0;

/// Heights of text, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Most characters of a line of text.
const COLUMNS: usize = 72;

/// A figure over time. Moments without a value are gaps.
#[derive(Clone, Debug)]
pub(in crate::report) struct Curve {
    pub(super) title: &'static str,
    unit: &'static str,
    points: Vec<(Timestamp, Option<f64>)>,
}

/// A moment that every chart marks.
#[derive(Clone, Debug)]
pub(in crate::report) struct Mark {
    pub(super) at: Timestamp,
    /// True where a finding was raised, false where it was resolved.
    pub(super) raised: bool,
    pub(super) id: &'static str,
}

impl Curve {
    pub(super) fn new(
        title: &'static str,
        unit: &'static str,
        points: Vec<(Timestamp, Option<f64>)>,
    ) -> Self {
        Self { title, unit, points }
    }

    /// Returns true when any moment has a value.
    pub(super) fn is_known(&self) -> bool {
        self.points.iter().any(|(_, value)| value.is_some())
    }

    fn top(&self) -> f64 {
        let most = self.points.iter().filter_map(|(_, value)| *value).fold(0.0, f64::max);
        if most > 0.0 { most } else { 1.0 }
    }

    /// Returns a value with its unit.
    fn label(&self, value: f64) -> String {
        let decimals = if value >= 10.0 || value.fract() == 0.0 { 0 } else { 2 };
        let gap = if matches!(self.unit, "" | "/s") { "" } else { " " };
        format!("{value:.decimals$}{gap}{}", self.unit)
    }

    /// Returns the curve as one line of text, with its range.
    pub(super) fn text(&self) -> String {
        let top = self.top();
        let step = self.points.len().div_ceil(COLUMNS).max(1);
        let bars = self.points.chunks(step).map(|chunk| {
            let known = chunk.iter().filter_map(|(_, value)| *value);
            known.reduce(f64::max).map_or('·', |value| {
                let place = ((value / top).clamp(0.0, 1.0) * 7.0).round();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "0 to 7"
                )]
                let place = place as usize;
                BARS[place]
            })
        });
        format!("{:<22} {}  0 to {}", self.title, bars.collect::<String>(), self.label(top))
    }

    /// Returns the curve as SVG.
    pub(super) fn svg(&self, marks: &[Mark]) -> String {
        let (Some((first, _)), Some((last, _))) = (self.points.first(), self.points.last()) else {
            return String::new();
        };
        let span = last.since(*first).as_secs_f64().max(1.0);
        let x = |at: Timestamp| LEFT + at.since(*first).as_secs_f64() / span * (WIDTH - LEFT - 8.0);
        let top = self.top();
        let floor = HEIGHT - BOTTOM;
        let y = |value: f64| floor - value / top * (floor - TOP);
        let mut paths = String::new();
        let mut line = String::new();
        for (at, value) in &self.points {
            match value {
                Some(value) => {
                    let command = if line.is_empty() { 'M' } else { 'L' };
                    put(&mut line, format_args!("{command}{:.1} {:.1}", x(*at), y(*value)));
                }
                None if !line.is_empty() => {
                    put(&mut paths, format_args!("<path class=\"curve\" d=\"{line}\"/>"));
                    line.clear();
                }
                None => {}
            }
        }
        if !line.is_empty() {
            put(&mut paths, format_args!("<path class=\"curve\" d=\"{line}\"/>"));
        }
        let mut marked = String::new();
        for mark in marks.iter().filter(|mark| mark.at <= *last) {
            let (class, verb) =
                if mark.raised { ("raised", "raised") } else { ("resolved", "resolved") };
            put(
                &mut marked,
                format_args!(
                    "<line class=\"{class}\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{TOP}\" y2=\"{floor}\">\
                 <title>{1} {verb} {2}</title></line>",
                    // A finding that was true from the start is marked there.
                    x(mark.at.max(*first)),
                    mark.id,
                    mark.at.time_of_day()
                ),
            );
        }
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\
             <line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{floor}\" y2=\"{floor}\"/>\
             <text x=\"{gap}\" y=\"{high}\" text-anchor=\"end\">{most}</text>\
             <text x=\"{gap}\" y=\"{floor}\" text-anchor=\"end\">0</text>\
             <text x=\"{LEFT}\" y=\"{HEIGHT}\">{begin}</text>\
             <text x=\"{right}\" y=\"{HEIGHT}\" text-anchor=\"end\">{end}</text>{paths}{marked}</svg>",
            title = self.title,
            right = WIDTH - 8.0,
            gap = LEFT - 6.0,
            high = TOP + 8.0,
            most = self.label(top),
            begin = first.time_of_day(),
            end = last.time_of_day(),
        )
    }
}
