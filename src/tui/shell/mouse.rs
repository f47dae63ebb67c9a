//! The mouse: tabs, rows, headers, the wheel, the timeline and the scrubber.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{Open, Shell};
use crate::domain::Timestamp;
use crate::snapshot::{Feed, Snapshot};
use crate::tui::command::{Action, Command, Edit, Past, Scroll, View};
use crate::tui::keymap::names::key_or_line;
use crate::tui::layout::Layout;
use crate::tui::panels::routing::Listed;
use crate::tui::panels::{self, PanelId, bars, findings, stream, timeline};
use crate::tui::theme::Theme;
use crate::tui::views;

/// Rows that one turn of the wheel scrolls.
const WHEEL: usize = 3;

impl Shell {
    /// Obeys a movement or a button of the mouse; returns an action for the program, if any. `theme` is the one that
    /// the screen was drawn with.
    pub fn point(&mut self, event: MouseEvent, live: &Snapshot, theme: &Theme) -> Option<Action> {
        let at = Position { x: event.column, y: event.row };
        if live.fleet.is_some() && self.open == Open::Nothing {
            return self.point_in_fleet(event.kind, at, live, theme);
        }
        match event.kind {
            MouseEventKind::ScrollUp => self.wheel(at, Scroll::Up, live),
            MouseEventKind::ScrollDown => self.wheel(at, Scroll::Down, live),
            MouseEventKind::Down(MouseButton::Left) => self.click(at, live, theme),
            MouseEventKind::Drag(MouseButton::Left) if self.open == Open::Nothing => {
                self.on_time(at, live)
            }
            _ => None,
        }
    }

    fn wheel(&mut self, at: Position, by: Scroll, live: &Snapshot) -> Option<Action> {
        let over = match self.open {
            Open::Nothing => self.focus_at(at, live).map(|(id, _)| id),
            _ => None,
        };
        if over == Some(PanelId::Timeline) {
            let step = if by == Scroll::Up { -1 } else { 1 };
            return self.update(Command::Past(Past::Step(step)), live);
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

    fn click(&mut self, at: Position, live: &Snapshot, theme: &Theme) -> Option<Action> {
        self.message = None;
        let spots = self.spots(live, theme);
        let row = spots.iter().rfind(|spot| spot.area.contains(at)).map(|spot| spot.row);
        if self.open != Open::Nothing {
            return self.click_open(row, live);
        }
        let layout = self.layout(self.area(), live);
        if layout.views.contains(at) {
            let (held, window) = (self.held.is_some(), self.look.window);
            let column = at.x - layout.views.x;
            let shown = self.verdict(live);
            let found = bars::view_at(layout.views.width, self.view, shown, window, held, column);
            return found.and_then(|view| self.update(Command::Show(view), live));
        }
        if let Some(action) = self.on_scrubber(at, &layout, live) {
            return self.update(Command::Past(action), live);
        }
        if layout.past.contains(at) {
            return self.update(Command::Past(Past::Now), live);
        }
        if layout.banner.contains(at) {
            return self.update(Command::TopFinding, live);
        }
        let focused = layout.focus(self.look.focus);
        let (id, area) = self.focus_at(at, live)?;
        match (id, row) {
            (PanelId::Timeline, _) => return self.on_timeline(at, live),
            (PanelId::Workers | PanelId::WorkerTable, _) => {
                return self.on_table(at, (id, area), live);
            }
            (_, Some(row)) if self.select(id, row, live) => {
                return self.update(Command::Open, live);
            }
            // A click on a panel that has the focus already leads to the view that has more of it.
            (PanelId::Events | PanelId::Router, None)
                if self.view == View::Overview && focused == id =>
            {
                return self.update(Command::Open, live);
            }
            _ => {}
        }
        // The questions of the view may depend on the focus.
        self.asked.is_some().then(|| self.ask(live)).flatten()
    }

    /// Runs or picks the row of an overlay under the mouse. A click elsewhere closes the overlay.
    fn click_open(&mut self, row: Option<usize>, live: &Snapshot) -> Option<Action> {
        match (&mut self.open, row) {
            (Open::Line(_), Some(row)) => {
                let entry = self.palette(live).into_iter().nth(row)?;
                self.open = Open::Line(entry.line);
                self.palette_at = 0;
                self.update(Command::Edit(Edit::Submit), live)
            }
            (Open::Picker(picker), Some(row)) => {
                picker.at = row;
                self.update(Command::Pick, live)
            }
            (Open::Help(search), Some(row)) => {
                let again = search.at == row;
                search.at = row;
                if again { self.update(Command::Pick, live) } else { None }
            }
            _ => self.update(Command::Back, live),
        }
    }

    /// Selects row `row` of a list. Returns true where it was selected already, so that it is to be opened.
    fn select(&mut self, id: PanelId, row: usize, live: &Snapshot) -> bool {
        let shown = self.shown(live);
        match id {
            PanelId::Tree | PanelId::HeatMap => {
                let page = views::tree::page(shown);
                let Some(found) = page.and_then(|page| page.rows.get(row)) else { return false };
                let place = found.place;
                if id == PanelId::HeatMap {
                    let before = self.look.clone();
                    self.drill(View::Tree, &before);
                }
                let again = id == PanelId::Tree && self.look.tree.cursor == place;
                self.look.tree.cursor = place;
                again
            }
            PanelId::Findings => {
                let listed = findings::listed(shown, &self.look.findings);
                let Some(key) = listed.get(row).map(|(key, _)| *key) else { return false };
                let again = self.look.findings.selected == Some(key);
                self.look.findings.selected = Some(key);
                self.look.findings.first_line = 0;
                again
            }
            PanelId::Drain => {
                let answers = shown.foresight.as_deref();
                let rows = answers.map(|answers| answers.drain.as_slice()).unwrap_or_default();
                let Some(worker) = rows.get(row).map(|row| row.worker) else { return false };
                let again = self.look.foresight.selected == Some(worker);
                self.look.foresight.selected = Some(worker);
                again
            }
            PanelId::Stream => {
                let rows = stream::filtered(shown, &self.look.events);
                let Some(number) = rows.get(row).map(|row| row.number) else { return false };
                let again = self.look.events.selected == Some(number);
                self.look.events.selected = Some(number);
                self.look.events.first_line = 0;
                again
            }
            PanelId::Decisions if self.view == View::Routing => {
                let rows = Listed::new(shown, &self.look.routing).rows;
                // The newest are on top.
                let found = rows.len().checked_sub(row + 1).and_then(|at| rows.get(at));
                let Some(number) = found.map(|row| row.number) else { return false };
                let again = self.look.routing.selected == Some(number);
                self.look.routing.selected = Some(number);
                self.look.routing.first_line = 0;
                again
            }
            _ => false,
        }
    }

    /// Moves to the moment under the mouse, on the timeline or on a scrubber.
    fn on_time(&mut self, at: Position, live: &Snapshot) -> Option<Action> {
        let layout = self.layout(self.area(), live);
        match self.on_scrubber(at, &layout, live) {
            Some(moment) => self.update(Command::Past(moment), live),
            None => self.on_timeline(at, live),
        }
    }

    /// Returns the moment of the scrubber under the mouse.
    fn on_scrubber(&self, at: Position, layout: &Layout, live: &Snapshot) -> Option<Past> {
        let moment = |scrubber: bars::Scrubber| -> Option<Timestamp> {
            scrubber.area.contains(at).then(|| scrubber.moment(at.x))
        };
        if let Feed::Replay(playback) = &live.feed
            && let Some(found) = bars::replay_scrubber(layout.playback, playback).and_then(moment)
        {
            return Some(Past::At(found));
        }
        let back = key_or_line(&self.keys, Command::Past(Past::Now));
        let past = self.moment(live)?;
        bars::past_scrubber(layout.past, past, live, &back).and_then(moment).map(Past::At)
    }

    /// Moves to the moment under the mouse.
    fn on_timeline(&mut self, at: Position, live: &Snapshot) -> Option<Action> {
        let layout = self.layout(self.area(), live);
        let area = layout.panel(PanelId::Timeline)?;
        if !area.contains(at) {
            return None;
        }
        let look = self.look.clone();
        let axis = timeline::axis(area, &self.view_context(live, &layout).panel_context(&look))?;
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
        let view_context = self.view_context(live, &layout);
        let hit = panels::workers::hit(
            area,
            at,
            id == PanelId::WorkerTable,
            &view_context.panel_context(&look),
        );
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
