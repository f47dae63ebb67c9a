//! The fleet: selecting a deployment, and entering it.

use std::ops::ControlFlow;
use std::time::Duration;

use crossterm::event::{MouseButton, MouseEventKind};
use ratatui::layout::Position;

use super::{Open, Shell};
use crate::domain::Timestamp;
use crate::snapshot::{FLEET_SPANS, Fleet, FleetPast, Snapshot};
use crate::tui::command::{Action, Command, Past, Scroll};
use crate::tui::scope::Aim;
use crate::tui::theme::Theme;

/// Rows of the screen that are no rows of the list: title, names, the selected deployment, footer.
const AROUND: u16 = 5;
/// Rows that one turn of the wheel scrolls.
const WHEEL: usize = 3;

impl Shell {
    /// Applies `command` while the fleet is shown; goes on where there is none, or it means the same everywhere.
    pub(super) fn obey_in_fleet(
        &mut self,
        command: Command,
        live: &Snapshot,
    ) -> ControlFlow<Option<Action>> {
        let fleet = live.fleet.as_deref().filter(|_| self.open == Open::Nothing);
        let Some(fleet) = fleet else { return ControlFlow::Continue(()) };
        match command {
            Command::Scroll(by) => {
                self.scroll_fleet(by, fleet);
                ControlFlow::Break(None)
            }
            Command::Open => ControlFlow::Break(self.enter(fleet)),
            Command::Back => ControlFlow::Break(None),
            Command::Past(by) => ControlFlow::Break(self.wind_fleet(by, fleet)),
            Command::WindowLonger => ControlFlow::Break(self.span_fleet(true, fleet)),
            Command::WindowShorter => ControlFlow::Break(self.span_fleet(false, fleet)),
            Command::Quit
            | Command::Suspend
            | Command::Redraw
            | Command::ToggleHelp
            | Command::ToggleMouse
            | Command::OpenLine
            | Command::NextTheme
            | Command::Theme(_) => ControlFlow::Continue(()),
            _ => {
                self.tell("not available for the fleet; Enter opens a deployment", true);
                ControlFlow::Break(None)
            }
        }
    }

    /// Obeys the mouse while the fleet is shown: the wheel scrolls, a click selects, a second one opens.
    pub(super) fn point_in_fleet(
        &mut self,
        kind: MouseEventKind,
        at: Position,
        live: &Snapshot,
        theme: &Theme,
    ) -> Option<Action> {
        let fleet = live.fleet.as_deref()?;
        match kind {
            MouseEventKind::ScrollUp => {
                (0..WHEEL).for_each(|_| self.scroll_fleet(Scroll::Up, fleet));
            }
            MouseEventKind::ScrollDown => {
                (0..WHEEL).for_each(|_| self.scroll_fleet(Scroll::Down, fleet));
            }
            MouseEventKind::Down(MouseButton::Left) => {
                let spots = self.spots(live, theme);
                let row = spots.iter().rfind(|spot| spot.area.contains(at))?.row;
                if self.fleet.row(fleet) == row {
                    return self.enter(fleet);
                }
                self.fleet.selected = fleet.members.get(row).map(|member| member.id.clone());
            }
            _ => {}
        }
        None
    }

    fn scroll_fleet(&mut self, by: Scroll, fleet: &Fleet) {
        let page = usize::from(self.size.1.saturating_sub(AROUND)).max(1);
        self.fleet.scroll(by, page, fleet);
    }

    /// Shows another moment of the fleet's past.
    fn wind_fleet(&mut self, by: Past, fleet: &Fleet) -> Option<Action> {
        let Some(past) = &fleet.past else {
            self.tell("the past of a fleet is available with --prometheus", true);
            return None;
        };
        let Some(newest) = past.points.last() else {
            self.tell("no history yet", true);
            return None;
        };
        let here = past.shown.unwrap_or(newest.at);
        let span = |seconds: i64| Duration::from_secs(seconds.unsigned_abs());
        // Now is behind all points.
        let place = match past.shown {
            Some(shown) => past.points.partition_point(|point| point.at < shown),
            None => past.points.len(),
        };
        let wanted = match by {
            Past::Now => None,
            Past::Step(steps) => {
                let place = place.saturating_add_signed(isize::try_from(steps).unwrap_or(0));
                past.points.get(place).map(|point| point.at)
            }
            Past::Marker(way) => match change(past, place, way) {
                Some(at) => Some(at),
                None if way > 0 => None,
                None => {
                    self.tell("no change before this moment", false);
                    return None;
                }
            },
            Past::At(at) => Some(at),
            Past::Ago(seconds) => Some(newest.at.before(Duration::from_secs(seconds))),
            Past::By(seconds) if seconds < 0 => Some(here.before(span(seconds))),
            Past::By(seconds) => Some(here.after(span(seconds))),
        };
        let wanted = wanted.filter(|at| *at < newest.at || matches!(by, Past::Step(_)));
        if wanted == past.shown && wanted.is_some() {
            self.tell("start of history", false);
            return None;
        }
        Some(Action::LookAt(Aim::Moment(wanted)))
    }

    /// Shows more or less of the fleet's past.
    fn span_fleet(&mut self, longer: bool, fleet: &Fleet) -> Option<Action> {
        let Some(past) = &fleet.past else {
            self.tell("the past of a fleet is available with --prometheus", true);
            return None;
        };
        let at = FLEET_SPANS.iter().position(|span| *span == past.span)?;
        let at = if longer { at + 1 } else { at.checked_sub(1)? };
        FLEET_SPANS.get(at).map(|span| Action::LookAt(Aim::Span(*span)))
    }

    fn enter(&mut self, fleet: &Fleet) -> Option<Action> {
        let id = fleet.members.get(self.fleet.row(fleet))?.id.clone();
        // The selection stays where it is while rows change places.
        self.fleet.selected = Some(id.clone());
        self.tell(format!("opening {} in namespace {}", id.name(), id.namespace), false);
        Some(Action::LookAt(Aim::Member(id)))
    }
}

/// Returns the nearest moment before or after the one at `place` at which the worst state changed.
fn change(past: &FleetPast, place: usize, way: i64) -> Option<Timestamp> {
    let mut changes = past.points.windows(2).enumerate().filter_map(|(at, pair)| match pair {
        [before, after] if before.worst != after.worst => Some((at + 1, after.at)),
        _ => None,
    });
    let found = if way < 0 {
        changes.rfind(|(at, _)| *at < place)
    } else {
        changes.find(|(at, _)| *at > place)
    };
    found.map(|(_, at)| at)
}
