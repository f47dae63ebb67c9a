//! The planner: opening it, starting and stopping it, and the states that it tells.

use super::Shell;
use crate::snapshot::Snapshot;
use crate::tui::command::{Action, Command, View};
use crate::tui::keymap::names::key_or_line;
use crate::tui::panels::PanelId;
use crate::tui::planning::{Planning, Stage};
use crate::tui::views::foresight;

impl Shell {
    /// Opens the planner. Where it was open, or has nothing to show, starts a plan or stops the one that runs.
    pub(super) fn toggle_plan(&mut self, live: &Snapshot) -> Option<Action> {
        let was_open = self.shows_plan();
        if self.view != View::Foresight {
            self.visit(View::Foresight);
        }
        if !was_open {
            self.look.foresight.planner = Some(0);
            self.look.focus = PanelId::Planner;
        }
        let begins = was_open || self.planning.stage == Stage::Idle;
        let shown = self.shown(live);
        let drain = foresight::selected(shown, &self.look.foresight).map(|row| row.alias.clone());
        begins.then_some(Action::TogglePlan { drain })
    }

    /// Takes a state of the planner. A result that is not on the screen is announced.
    pub fn show_plan(&mut self, planning: Planning) {
        let ended = self.planning.is_running() && !planning.is_running();
        self.planning = planning;
        if !ended || self.shows_plan() {
            return;
        }
        let key = key_or_line(&self.keys, Command::Plan);
        match self.planning.stage {
            Stage::Done => self.tell(format!("the plan is ready: view 7, {key}"), false),
            Stage::Impossible(_) | Stage::Failed => {
                self.tell(format!("no plan could be made: view 7, {key}"), true);
            }
            _ => {}
        }
    }

    const fn shows_plan(&self) -> bool {
        matches!(self.view, View::Foresight) && self.look.foresight.planner.is_some()
    }
}
