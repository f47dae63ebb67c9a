//! The tour of a demo within the shell.

use ratatui::layout::Rect;

use super::Shell;
use crate::snapshot::{Feed, Snapshot};
use crate::tui::command::{Action, Command};
use crate::tui::tour::{self, Move, Step, strip};
use crate::tui::widgets::canvas::Canvas;

impl Shell {
    /// Begins the tour; it shows as soon as there is a demo.
    pub const fn begin_tour(&mut self) {
        self.tour = Some(0);
    }

    /// Moves the tour, and does what the step does.
    pub(super) fn move_tour(&mut self, by: Move, live: &Snapshot) -> Option<Action> {
        let Feed::Demo(demo) = &live.feed else {
            self.tell("only a demo has a tour", true);
            return None;
        };
        let steps = tour::steps(demo);
        self.tour = match (by, self.tour) {
            (Move::Next, Some(at)) => Some(at + 1).filter(|next| *next < steps.len()),
            (Move::Back, Some(at)) => Some(at.saturating_sub(1)),
            (Move::Next | Move::Back, None) => return None,
            (Move::Toggle, Some(_)) => None,
            (Move::Toggle, None) => Some(0),
        };
        // The view gets the room of the strip, or gives it away.
        self.size = self.divided(self.screen).0;
        let step = self.tour.and_then(|at| steps.get(at))?;
        if by == Move::Back {
            return None;
        }
        let fixed = demo.fixed;
        let wanted = step.enter.iter().filter(|command| **command != Command::DemoFix || !fixed);
        // At most one of a step's commands is for the program: the fix.
        wanted.fold(None, |action, command| self.obey(*command, live).or(action))
    }

    /// Returns the columns and rows of the view on a screen of that size, and where the strip is.
    pub(super) fn divided(&self, (width, height): (u16, u16)) -> ((u16, u16), Rect) {
        let whole = Rect { x: 0, y: 0, width, height };
        if self.tour.is_none() {
            return ((width, height), Rect::default());
        }
        let (view, strip) = strip::divide(whole);
        ((view.width, view.height), strip)
    }

    /// Draws the strip, where there is a tour.
    pub(super) fn draw_tour(&self, canvas: &mut Canvas<'_>, area: Rect, live: &Snapshot) {
        let (Some(at), Feed::Demo(demo)) = (self.tour, &live.feed) else { return };
        let steps: Vec<&Step> = tour::steps(demo);
        strip::draw(canvas, area, &steps, at, &self.keys, live);
    }
}
