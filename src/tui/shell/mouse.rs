//! The mouse: tabs, rows, headers, the wheel, and the timeline.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{Open, Shell};
use crate::snapshot::Snapshot;
use crate::tui::command::{Action, Command, Past, Scroll};
use crate::tui::panels::{self, PanelId, bars, timeline};

/// Rows that one turn of the wheel scrolls.
const WHEEL: usize = 3;

impl Shell {
    /// Does what a movement or a button of the mouse means; returns what the program has to do, if anything.
    pub fn point(&mut self, event: MouseEvent, live: &Snapshot) -> Option<Action> {
        let at = Position { x: event.column, y: event.row };
        let by = match event.kind {
            MouseEventKind::ScrollUp => Some(Scroll::Up),
            MouseEventKind::ScrollDown => Some(Scroll::Down),
            _ => None,
        };
        match (by, event.kind) {
            (Some(by), _) => self.wheel(at, by, live),
            (None, MouseEventKind::Down(MouseButton::Left)) => self.click(at, live),
            (None, MouseEventKind::Drag(MouseButton::Left)) if self.open == Open::Nothing => {
                self.on_timeline(at, live)
            }
            _ => None,
        }
    }

    fn wheel(&mut self, at: Position, by: Scroll, live: &Snapshot) -> Option<Action> {
        if self.open == Open::Nothing {
            self.focus_at(at, live);
        }
        let mut action = None;
        for _ in 0..WHEEL {
            action = self.update(Command::Scroll(by), live).or(action);
        }
        action
    }

    /// Focuses the panel at a place of the screen, and returns it.
    fn focus_at(&mut self, at: Position, live: &Snapshot) -> Option<(PanelId, Rect)> {
        let layout = self.layout(self.area(), live);
        let found = layout.panels.iter().find(|(_, area)| area.contains(at)).copied();
        if let Some((id, _)) = found {
            self.look.focus = id;
        }
        found
    }

    fn click(&mut self, at: Position, live: &Snapshot) -> Option<Action> {
        self.message = None;
        match &self.open {
            Open::Nothing => {}
            // A click beside what is open closes it.
            Open::Help(_) | Open::Picker(_) | Open::Line(_) | Open::Filter(_) => {
                return self.update(Command::Back, live);
            }
        }
        let layout = self.layout(self.area(), live);
        if layout.views.contains(at) {
            let (held, window) = (self.held.is_some(), self.look.window);
            let column = at.x - layout.views.x;
            let shown = self.verdict(live);
            let found = bars::view_at(layout.views.width, self.view, shown, window, held, column);
            return found.and_then(|view| self.update(Command::Show(view), live));
        }
        if layout.past.contains(at) {
            return self.update(Command::Past(Past::Now), live);
        }
        if layout.banner.contains(at) {
            return self.update(Command::TopFinding, live);
        }
        let (id, area) = self.focus_at(at, live)?;
        match id {
            PanelId::Timeline => self.on_timeline(at, live),
            PanelId::Workers | PanelId::WorkerTable => self.on_table(at, (id, area), live),
            _ => {
                // What the view asks for may depend on the focus.
                self.asked.is_some().then(|| self.ask(live)).flatten()
            }
        }
    }

    /// Moves to the moment under the mouse.
    fn on_timeline(&mut self, at: Position, live: &Snapshot) -> Option<Action> {
        let layout = self.layout(self.area(), live);
        let area = layout.panel(PanelId::Timeline)?;
        if !area.contains(at) {
            return None;
        }
        let look = self.look.clone();
        let axis = timeline::axis(area, &self.stage(live, &layout).scene(&look))?;
        self.update(Command::Past(Past::At(axis.moment(at.x))), live)
    }

    /// Sorts by the column whose name is under the mouse, or selects the row.
    fn on_table(
        &mut self,
        at: Position,
        (id, area): (PanelId, Rect),
        live: &Snapshot,
    ) -> Option<Action> {
        let layout = self.layout(self.area(), live);
        let look = self.look.clone();
        let stage = self.stage(live, &layout);
        let hit = panels::workers::hit(area, at, id == PanelId::WorkerTable, &stage.scene(&look));
        match hit? {
            panels::workers::Hit::Row(rank) => {
                let again = self.look.workers.selected == Some(rank)
                    && (id == PanelId::WorkerTable || self.look.overview.follows_worker);
                self.look.workers.selected = Some(rank);
                self.look.workers.first_line = 0;
                self.look.overview.follows_worker |= id == PanelId::Workers;
                if again {
                    return self.update(Command::Open, live);
                }
            }
            panels::workers::Hit::Header(col) => {
                let sort = &mut self.look.workers.sort;
                if sort.by == Some(col) {
                    sort.reversed = !sort.reversed;
                } else {
                    *sort = panels::workers::Sort { by: Some(col), reversed: false };
                }
            }
        }
        self.asked.is_some().then(|| self.ask(live)).flatten()
    }
}
