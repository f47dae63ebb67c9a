//! The current view, moves between views, and the size of the banner.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{Open, Shell};
use crate::domain::Timestamp;
use crate::snapshot::{self, Answer, Snapshot};
use crate::tui::command::{Action, Command, Pick, View};
use crate::tui::findings;
use crate::tui::keymap::names::with_keys;
use crate::tui::keymap::{Feed, Focus};
use crate::tui::layout::Layout;
use crate::tui::overlay::help::{self, Book};
use crate::tui::panels::timeline::Course;
use crate::tui::panels::{self, PanelId, banner};
use crate::tui::scope::Aim;
use crate::tui::views::{self, Reply, ViewContext};

/// Rows of the screen from which on a row says which moment of the past is shown, and what is wrong now.
const PAST_ROWS: u16 = 8;

impl Shell {
    /// Returns the focus of the view without anything over it.
    pub(super) fn view_focus(&self, snapshot: &Snapshot) -> Focus {
        if snapshot.fleet.is_some() {
            return Focus::Fleet;
        }
        let feed = Feed::new(&snapshot.feed);
        if (views::view(self.view).opened)(&self.look) {
            return Focus::Opened(self.view, feed);
        }
        Focus::View(self.view, feed)
    }

    /// Closes what is open: help or line, then what the view opened, then the full screen, then the
    /// view, and at last the deployment where it was picked from a fleet.
    pub(super) fn back(&mut self, live: &Snapshot) -> Option<Action> {
        if matches!(self.open, Open::Filter(_)) {
            self.drop_filter();
        } else if let Open::Help(search) = &mut self.open
            && !search.typed.is_empty()
        {
            *search = help::Search::default();
        } else if self.open != Open::Nothing {
            self.open = Open::Nothing;
        } else if self.zoom {
            self.zoom = false;
        } else if !self.climb() && !self.offer(Command::Back, live) {
            if self.view == View::Overview && self.from_fleet {
                return Some(Action::LookAt(Aim::Fleet));
            }
            self.show(View::Overview);
        }
        None
    }

    /// Offers `command` to the view; returns false when that passes it on.
    pub(super) fn offer(&mut self, command: Command, live: &Snapshot) -> bool {
        let mut look = self.look.clone();
        let layout = self.layout(self.area(), live);
        let reply =
            (views::view(self.view).update)(&mut look, command, &self.view_context(live, &layout));
        let before = std::mem::replace(&mut self.look, look);
        match reply {
            Reply::Pass => return false,
            Reply::Done => {}
            Reply::Refused(why) => self.tell(why, true),
            Reply::Go(view) => self.drill(view, &before),
            Reply::Pick(picker) => self.open = Open::Picker(picker),
        }
        true
    }

    /// Takes what is selected in the list to pick from, which the view may open again, or runs what is
    /// selected in the help.
    pub(super) fn pick(&mut self, live: &Snapshot) -> Option<Action> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Picker(picker) => {
                if let Pick::Scope(scope) = picker.pick {
                    return self.picked_scope(scope, &picker);
                }
                self.offer(Command::Picked(picker.pick, picker.at), live);
            }
            Open::Help(search) => match self.book(live).command(&search) {
                Some(command) => return self.update(command, live),
                None => self.open = Open::Help(search),
            },
            other => self.open = other,
        }
        None
    }

    /// Returns what the help tells of.
    pub(super) fn book<'a>(&'a self, live: &Snapshot) -> Book<'a> {
        let demo = matches!(live.feed, snapshot::Feed::Demo(_));
        Book { keys: &self.keys, focus: self.view_focus(live), themes: &self.themes, demo }
    }

    /// Returns what a view works on.
    pub(super) fn view_context<'a>(
        &'a self,
        live: &'a Snapshot,
        layout: &'a Layout,
    ) -> ViewContext<'a> {
        let snapshot = self.shown(live);
        let held = self.held.is_some();
        let now = if held { snapshot.at } else { self.now(snapshot) };
        let age = snapshot.series.until.map_or(Duration::ZERO, |end| self.now(live).since(end));
        let (past, keys) = (self.is_past(), &self.keys);
        // A frame does not change, so that the newest picture may tell of it.
        let answer = match &live.answer {
            newest @ (Answer::Event(_) | Answer::Lines(_)) => newest,
            _ => &snapshot.answer,
        };
        let (live_at, timeline) = (live.at, self.timeline(live));
        let planning = &self.planning;
        ViewContext {
            snapshot,
            now,
            layout,
            answer,
            held,
            past,
            age,
            keys,
            live_at,
            timeline,
            planning,
        }
    }

    /// Returns the course of time that the overview shows: up to now with a cursor in it, or to the moment at
    /// which the picture was frozen.
    fn timeline<'a>(&'a self, live: &'a Snapshot) -> Course<'a> {
        let frozen = self.held.as_ref().filter(|held| !held.is_past());
        let shown = frozen.map_or(live, |held| &held.picture);
        let end = shown.series.until.unwrap_or(shown.at).min(live.at);
        let still = frozen.is_some() || shown.series.until.is_some();
        let age = if still { self.now(live).since(end) } else { Duration::ZERO };
        let cursor = self.held.as_ref().filter(|held| held.is_past()).map(|held| held.picture.at);
        Course { live: shown, series: &shown.series, end, age, cursor }
    }

    pub(super) fn show(&mut self, view: View) {
        if self.view != view && views::is_built(view) {
            self.before = std::mem::replace(&mut self.view, view);
            self.zoom = false;
            self.look.focus = views::view(view).home;
        }
    }

    pub(super) fn top_finding(&mut self, live: &Snapshot) {
        self.show(View::Findings);
        self.look.focus = PanelId::Findings;
        let shown = self.shown(live);
        // The list begins with the worst. While nothing is found, nothing is chosen: the first row stays selected.
        let all = views::findings::State::default();
        let first = findings::alert(shown)
            .top
            .and_then(|_| panels::findings::listed(shown, &all).first().map(|(key, _)| *key));
        let held = |id: &str| shown.findings.iter().any(|row| row.id == id);
        let late = findings::alert(live).top.filter(|top| !held(top.id));
        let (said, grave) = match late {
            Some(top) => {
                let said = "is newer than the frozen picture; {toggle-freeze} resumes";
                (format!("{} {}", top.id, with_keys(&self.keys, said)), true)
            }
            None => (nothing(shown), false),
        };
        self.look.findings = views::findings::State { selected: first, ..all };
        if !said.is_empty() {
            self.tell(said, grave);
        }
    }

    pub(super) fn toggle_banner(&mut self, live: &Snapshot) {
        self.collapsed = if self.is_collapsed(live) { Vec::new() } else { findings::facts(live) };
    }

    /// Returns true while the banner is wanted small and says what it said then.
    pub(super) fn is_collapsed(&self, live: &Snapshot) -> bool {
        !self.collapsed.is_empty() && self.collapsed == findings::facts(live)
    }

    /// Returns the rows of the banner, which tells of the moment that is shown.
    pub(super) fn banner(&self, area: Rect, live: &Snapshot) -> banner::Rows {
        banner::rows(self.verdict(live), area, self.is_collapsed(live))
    }

    /// Returns the picture whose verdict is shown: the one of the past, or the newest, which a frozen picture
    /// must not hide.
    pub(super) fn verdict<'a>(&'a self, live: &'a Snapshot) -> &'a Snapshot {
        // Without a row that says what is wrong now, the verdict of then would hide it.
        let told = self.area().height >= PAST_ROWS;
        if self.is_past() && told { self.shown(live) } else { live }
    }

    /// Returns the time that the ages of the verdict are counted from.
    pub(super) fn verdict_time(&self, live: &Snapshot) -> Timestamp {
        let told = self.area().height >= PAST_ROWS;
        if self.is_past() && told { self.shown(live).at } else { self.now(live) }
    }
}

/// Returns what to say when nothing is wrong; nothing when something is.
fn nothing(shown: &Snapshot) -> String {
    let good = "no problem found";
    match (findings::open(shown).len(), shown.checks.is_empty(), findings::unknown(shown)) {
        (1.., _, _) => String::new(),
        (0, true, _) => String::from("no check has run yet"),
        (0, false, 0) => String::from(good),
        (0, false, 1) => format!("{good}, but 1 check needs more data"),
        (0, false, count) => format!("{good}, but {count} checks need more data"),
    }
}
