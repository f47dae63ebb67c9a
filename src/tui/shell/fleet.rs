//! The fleet: selecting a deployment, and entering it.

use std::ops::ControlFlow;

use crossterm::event::{MouseButton, MouseEventKind};
use ratatui::layout::Position;

use super::{Open, Shell};
use crate::snapshot::{Fleet, Snapshot};
use crate::tui::command::{Action, Command, Scroll};
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

    fn enter(&mut self, fleet: &Fleet) -> Option<Action> {
        let id = fleet.members.get(self.fleet.row(fleet))?.id.clone();
        // The selection stays where it is while rows change places.
        self.fleet.selected = Some(id.clone());
        self.tell(format!("opening {} in namespace {}", id.name(), id.namespace), false);
        Some(Action::LookAt(Aim::Member(id)))
    }
}
