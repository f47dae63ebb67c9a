//! Which view is shown, the way between views, and the size of the banner.

use ratatui::layout::Rect;

use super::{Open, Shell};
use crate::snapshot::{Feed, Snapshot};
use crate::tui::command::View;
use crate::tui::findings;
use crate::tui::keymap::Focus;
use crate::tui::panels::{self, PanelId, banner};

impl Shell {
    /// Returns the focus of the view without anything over it.
    pub(super) fn view_focus(&self, snapshot: &Snapshot) -> Focus {
        match (self.view, &snapshot.feed) {
            (View::Overview, Feed::Live) => Focus::Live,
            (View::Overview, Feed::Replay(_)) => Focus::Replay,
            (View::Overview, Feed::Demo(_)) => Focus::Demo,
            (View::Findings, Feed::Live) => Focus::LiveFindings,
            (View::Findings, Feed::Replay(_)) => Focus::ReplayFindings,
            (View::Findings, Feed::Demo(_)) => Focus::DemoFindings,
        }
    }

    /// Closes what is open: help or line, then the full screen, then a finding, then the view.
    pub(super) fn back(&mut self) {
        if self.open != Open::Nothing {
            self.open = Open::Nothing;
        } else if self.zoom {
            self.zoom = false;
        } else if self.view == View::Findings && self.look.focus == PanelId::Finding {
            self.look.focus = PanelId::Findings;
        } else {
            self.show(View::Overview);
        }
    }

    pub(super) fn show(&mut self, view: View) {
        if self.view != view {
            self.view = view;
            self.zoom = false;
            self.look.focus = match view {
                View::Overview => PanelId::Workers,
                View::Findings => PanelId::Findings,
            };
        }
    }

    pub(super) fn top_finding(&mut self, live: &Snapshot) {
        self.show(View::Findings);
        self.look.focus = PanelId::Findings;
        self.look.first_line = 0;
        let shown = self.shown(live);
        // The list begins with the worst.
        let first = panels::findings::key(&panels::findings::items(shown), 0);
        let held = |id: &str| shown.findings.iter().any(|row| row.id == id);
        let late = findings::alert(live).top.filter(|top| !held(top.id));
        let (said, grave) = match late {
            Some(top) => {
                (format!("{} is newer than the held picture; Space goes on", top.id), true)
            }
            None => (nothing(shown), false),
        };
        self.look.selected = first;
        if !said.is_empty() {
            self.tell(said, grave);
        }
    }

    pub(super) fn open_finding(&mut self) {
        self.look.focus = match self.look.focus {
            PanelId::Finding => PanelId::Findings,
            _ => PanelId::Finding,
        };
    }

    pub(super) fn toggle_banner(&mut self, live: &Snapshot) {
        self.collapsed = if self.is_collapsed(live) { Vec::new() } else { findings::facts(live) };
    }

    /// Returns true while the banner is wanted small and says what it said then.
    pub(super) fn is_collapsed(&self, live: &Snapshot) -> bool {
        !self.collapsed.is_empty() && self.collapsed == findings::facts(live)
    }

    /// Returns the rows of the banner, which tells of now even while a picture is held.
    pub(super) fn banner(&self, area: Rect, live: &Snapshot) -> banner::Rows {
        banner::rows(&findings::alert(live), area, self.is_collapsed(live))
    }
}

/// Returns what to say when nothing is wrong; nothing when something is.
fn nothing(shown: &Snapshot) -> String {
    let good = "nothing is found to be wrong";
    match (findings::open(shown).len(), shown.checks.is_empty(), findings::unknown(shown)) {
        (1.., _, _) => String::new(),
        (0, true, _) => String::from("no check has run yet"),
        (0, false, 0) => String::from(good),
        (0, false, 1) => format!("{good}, but 1 check cannot tell"),
        (0, false, count) => format!("{good}, but {count} checks cannot tell"),
    }
}
