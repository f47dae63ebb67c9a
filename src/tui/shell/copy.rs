//! Copies: fixes, commands, and the selected item.

use super::Shell;
use crate::snapshot::{FindingRow, Snapshot};
use crate::tui::command::{Action, Copied, View};
use crate::tui::findings;
use crate::tui::keymap::names::with_keys;
use crate::tui::panels::{self, findings::Item};
use crate::tui::text;
use crate::tui::views;

impl Shell {
    /// Returns the action that copies `what`, or says why there is none.
    pub(super) fn copy(&mut self, what: Copied, live: &Snapshot) -> Option<Action> {
        let found = match what {
            Copied::Fix => self.fix(live),
            Copied::Kubectl => self.kubectl(live),
            Copied::Selection => self.selection(live),
        };
        match found {
            Ok((what, text)) => Some(Action::Copy { what, text: printable(&text) }),
            Err(why) => {
                self.tell(why, true);
                None
            }
        }
    }

    /// Returns the finding whose fix is meant: the selected one where it has a fix, else the worst.
    fn meant<'a>(&'a self, live: &'a Snapshot) -> Option<&'a FindingRow> {
        let open = findings::open(live).into_iter();
        let worst = open.into_iter().find(|finding| finding.fix.is_some());
        let selected = match self.selected(live) {
            Some(Item::Finding(finding) | Item::Past(finding)) if self.view == View::Findings => {
                Some(finding)
            }
            _ => None,
        };
        let mends = |finding: &&FindingRow| finding.fix.is_some() && finding.resolved.is_none();
        selected.filter(mends).or(worst)
    }

    fn selected<'a>(&'a self, live: &'a Snapshot) -> Option<Item<'a>> {
        panels::findings::selected(self.shown(live), &self.look.findings)
    }

    fn fix(&self, live: &Snapshot) -> Result<(String, String), String> {
        let none = || String::from("there is no fix to copy");
        let finding = self.meant(live).ok_or_else(none)?;
        let fix = finding.fix.as_ref().ok_or_else(none)?;
        Ok(match (&fix.kubectl, &fix.yaml) {
            (Some(commands), _) => (format!("commands of {}", finding.id), commands.clone()),
            (None, Some(yaml)) => (format!("lines of {}", finding.id), yaml.clone()),
            (None, None) => (format!("fix of {}", finding.id), fix.sentence.clone()),
        })
    }

    fn kubectl(&self, live: &Snapshot) -> Result<(String, String), String> {
        let finding = self.meant(live).ok_or_else(|| String::from("there is no fix to copy"))?;
        let command = finding.fix.as_ref().and_then(|fix| fix.kubectl.clone());
        let none = || {
            let said = "has no command, because no object is known; {copy-fix} copies the fix";
            format!("{} {}", finding.id, with_keys(&self.keys, said))
        };
        Ok((format!("command of {}", finding.id), command.ok_or_else(none)?))
    }

    fn selection(&self, live: &Snapshot) -> Result<(String, String), String> {
        let layout = self.layout(self.area(), live);
        let copy = views::view(self.view).copy;
        let text = copy(&self.look, &self.view_context(live, &layout));
        let none = "nothing selected to copy";
        Ok((String::from("selection"), text.ok_or(none)?))
    }
}

/// Returns `text` with its lines, and without what a shell or an editor would obey.
fn printable(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().map(|line| text::clean(line).into_owned()).collect();
    if text.ends_with('\n') {
        lines.push(String::new());
    }
    lines.join("\n")
}
