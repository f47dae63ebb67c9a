//! The scrubber: a rule of time with a head, for recordings and for the kept past.

use ratatui::layout::Rect;

use crate::domain::Timestamp;
use crate::tui::graph::timeline::Marker;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::Canvas;

/// A rule of time in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrubber {
    /// Its cells.
    pub area: Rect,
    /// The time at its left end.
    pub from: Timestamp,
    /// The time at its right end.
    pub to: Timestamp,
}

impl Scrubber {
    /// Draws the rule with its head at `at`, and a tick for each marker.
    pub fn draw(&self, canvas: &mut Canvas<'_>, at: Timestamp, markers: &[Marker], done: Role) {
        let glyphs = canvas.glyphs();
        let (cells, head) = (self.area.width, self.cell(at));
        for x in 0..cells {
            let role = if x < head { done } else { Role::Border };
            canvas.put(self.area, x, 0, glyphs.rule, role);
        }
        for marker in markers.iter().filter(|it| it.at >= self.from && it.at <= self.to) {
            canvas.put(self.area, self.cell(marker.at), 0, glyphs.tick, marker.role);
        }
        canvas.put(self.area, head, 0, glyphs.head, Role::Key);
    }

    fn cell(&self, at: Timestamp) -> u16 {
        let last = f64::from(self.area.width.saturating_sub(1));
        let whole = self.to.since(self.from).as_secs_f64();
        let share = if whole > 0.0 { at.since(self.from).as_secs_f64() / whole } else { 1.0 };
        text::coordinate(text::cells(share.clamp(0.0, 1.0) * last))
    }

    /// Returns the moment of a cell of the screen.
    pub fn moment(&self, x: u16) -> Timestamp {
        let last = self.area.width.saturating_sub(1).max(1);
        let share = f64::from(x.saturating_sub(self.area.x).min(last)) / f64::from(last);
        self.from.after(self.to.since(self.from).mul_f64(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_leads_to_the_moment_that_is_drawn_there() {
        let area = Rect { x: 10, y: 0, width: 101, height: 1 };
        let second = |at: u64| Timestamp(at * 1_000_000);
        let scrubber = Scrubber { area, from: second(1_000), to: second(2_000) };
        assert_eq!(scrubber.moment(10), second(1_000));
        assert_eq!(scrubber.moment(110), second(2_000));
        assert_eq!(scrubber.moment(200), second(2_000));
        for x in 10..=110 {
            assert_eq!(scrubber.cell(scrubber.moment(x)) + 10, x);
        }
    }
}
