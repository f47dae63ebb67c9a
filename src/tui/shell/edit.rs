//! Typing on the command line.

use super::{Open, Shell, scope};
use crate::snapshot::{Feed, Snapshot};
use crate::tui::command::{Action, Command, Edit, View};
use crate::tui::line;
use crate::tui::palette;
use crate::tui::views;

impl Shell {
    /// Lets the filter of the view's list be typed, which holds while it is typed. It leads back to the list where
    /// that is hidden, and from the overview to the list of workers.
    pub(super) fn open_filter(&mut self, live: &Snapshot) {
        if views::view(self.view).filter.is_none() {
            self.show(View::Workers);
        }
        let view = views::view(self.view);
        if self.layout(self.area(), live).panel(view.home).is_none() {
            self.zoom = false;
        }
        if (view.opened)(&self.look) && self.layout(self.area(), live).panel(view.home).is_none() {
            self.offer(Command::Back, live);
        }
        if let Some(filter) = view.filter {
            self.look.focus = view.home;
            self.open = Open::Filter(filter(&mut self.look).clone());
        }
    }

    /// Gives the view the filter back that it had before, and closes what is typed.
    pub(super) fn drop_filter(&mut self) {
        if let Open::Filter(before) = std::mem::replace(&mut self.open, Open::Nothing)
            && let Some(filter) = views::view(self.view).filter
        {
            *filter(&mut self.look) = before;
        }
    }

    fn edit_filter(&mut self, edit: Edit) {
        let Some(filter) = views::view(self.view).filter else { return };
        let typed = filter(&mut self.look);
        match edit {
            Edit::Insert(c) if line::has_room(typed) => typed.push(c),
            Edit::Insert(_) | Edit::Complete => {}
            // Nothing left to take away: it closes, as the command line does.
            Edit::Erase => {
                if typed.pop().is_none() {
                    self.open = Open::Nothing;
                }
            }
            Edit::Clear => typed.clear(),
            Edit::Submit => self.open = Open::Nothing,
        }
    }

    /// Returns the commands that fit what is typed; none while something else is open.
    pub(super) fn palette(&self, snapshot: &Snapshot) -> Vec<palette::Entry> {
        match &self.open {
            Open::Line(typed) => {
                palette::entries(typed, &self.themes, &self.look.tree.labels, snapshot)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the selected entry of the palette.
    pub(super) fn selected_entry(&self, snapshot: &Snapshot) -> Option<palette::Entry> {
        let entries = self.palette(snapshot);
        let last = entries.len().checked_sub(1)?;
        entries.into_iter().nth(self.palette_at.min(last))
    }

    /// Changes what is looked for in the help.
    fn edit_search(&mut self, edit: Edit) {
        let Open::Help(search) = &mut self.open else { return };
        match edit {
            Edit::Insert(c) if line::has_room(&search.typed) => search.typed.push(c),
            Edit::Erase => {
                search.typed.pop();
            }
            Edit::Clear => search.typed.clear(),
            Edit::Insert(_) | Edit::Complete | Edit::Submit => {}
        }
        search.at = 0;
    }

    /// Changes the command line, or runs what it says.
    pub(super) fn edit(&mut self, edit: Edit, snapshot: &Snapshot) -> Option<Action> {
        if matches!(self.open, Open::Filter(_)) {
            self.edit_filter(edit);
            return None;
        }
        if matches!(self.open, Open::Help(_)) {
            self.edit_search(edit);
            return None;
        }
        let demo = matches!(snapshot.feed, Feed::Demo(_));
        let selected = self.selected_entry(snapshot);
        let walked = std::mem::take(&mut self.palette_at) > 0;
        let Open::Line(typed) = &mut self.open else { return None };
        // An empty line closes, and what means something by itself is run as it stands.
        let means = typed.trim().is_empty()
            || line::scope(typed).is_some()
            || line::parse(typed, &self.themes, demo).is_ok();
        if edit == Edit::Submit
            && (walked || !means)
            && let Some(entry) = &selected
        {
            entry.line.clone_into(typed);
        }
        match edit {
            Edit::Insert(c) if line::has_room(typed) => typed.push(c),
            Edit::Insert(_) => {}
            // Nothing left to take away: the line closes, as in vim.
            Edit::Erase => {
                if typed.pop().is_none() {
                    self.open = Open::Nothing;
                }
            }
            Edit::Clear => typed.clear(),
            Edit::Complete if line::scope(typed).is_some() => {
                *typed = scope::completed(typed, snapshot);
            }
            Edit::Complete => {
                if let Some(entry) = &selected {
                    entry.line.clone_into(typed);
                }
            }
            Edit::Submit if line::scope(typed).is_some() => {
                let typed = std::mem::take(typed);
                self.open = Open::Nothing;
                let (scope, name) = line::scope(&typed)?;
                return self.typed_scope(scope, name, snapshot);
            }
            Edit::Submit => {
                let parsed = line::parse(typed, &self.themes, demo);
                self.open = Open::Nothing;
                match parsed {
                    Ok(command) => return self.update(command, snapshot),
                    Err(why) => self.tell(why, true),
                }
            }
        }
        None
    }
}
