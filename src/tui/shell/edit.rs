//! Typing on the command line.

use super::{Open, Shell};
use crate::snapshot::{Feed, Snapshot};
use crate::tui::command::{Action, Edit};
use crate::tui::line;

impl Shell {
    /// Changes the command line, or runs what it says.
    pub(super) fn edit(&mut self, edit: Edit, snapshot: &Snapshot) -> Option<Action> {
        let demo = matches!(snapshot.feed, Feed::Demo(_));
        let Open::Line(typed) = &mut self.open else { return None };
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
            Edit::Complete => {
                if let Some((first, _)) = line::suggestions(typed, &self.themes, demo).first() {
                    first.clone_into(typed);
                }
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
