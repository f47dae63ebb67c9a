//! Typing on the command line.

use super::{Open, Shell, scope};
use crate::snapshot::{Feed, Snapshot};
use crate::tui::command::{Action, Edit};
use crate::tui::keymap::names::with_keys;
use crate::tui::line;
use crate::tui::views;

impl Shell {
    /// Lets the filter of the view be typed, which holds while it is typed; or says why there is nothing
    /// to filter.
    pub(super) fn open_filter(&mut self, live: &Snapshot) {
        let view = views::of(self.view);
        let shown = self.layout(self.area(), live).panel(view.home).is_some();
        let why = match view.filter {
            Some(filter) if shown => {
                self.open = Open::Filter(filter(&mut self.look).clone());
                return;
            }
            Some(_) => "{open-filter} filters the list behind this: {back} goes back to it",
            None => {
                "{open-filter} filters workers ({show-workers}), decisions ({show-routing}), events \
                 ({show-events}) and findings ({show-findings})"
            }
        };
        self.tell(with_keys(&self.keys, why), false);
    }

    /// Gives the view the filter back that it had before, and closes what is typed.
    pub(super) fn drop_filter(&mut self) {
        if let Open::Filter(before) = std::mem::replace(&mut self.open, Open::Nothing)
            && let Some(filter) = views::of(self.view).filter
        {
            *filter(&mut self.look) = before;
        }
    }

    fn edit_filter(&mut self, edit: Edit) {
        let Some(filter) = views::of(self.view).filter else { return };
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

    /// Changes the command line, or runs what it says.
    pub(super) fn edit(&mut self, edit: Edit, snapshot: &Snapshot) -> Option<Action> {
        if matches!(self.open, Open::Filter(_)) {
            self.edit_filter(edit);
            return None;
        }
        if let Open::Help(search) = &mut self.open {
            match edit {
                Edit::Insert(c) if line::has_room(&search.typed) => search.typed.push(c),
                Edit::Erase => {
                    search.typed.pop();
                }
                Edit::Clear => search.typed.clear(),
                Edit::Insert(_) | Edit::Complete | Edit::Submit => {}
            }
            search.at = 0;
            return None;
        }
        let demo = matches!(snapshot.feed, Feed::Demo(_));
        let Open::Line(typed) = &mut self.open else { return None };
        if edit == Edit::Submit
            && let Some(line) = line::taken(typed, &self.themes, demo)
        {
            *typed = line;
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
                if let Some((first, _)) = line::suggestions(typed, &self.themes, demo).first() {
                    first.clone_into(typed);
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
