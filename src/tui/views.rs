//! The views: which are built, and what each does with its panels and keys.
//!
//! A view is a file below this one and a line in `BUILT`; tabs, keys, the command line and the
//! layout follow. It keeps what it remembers in [`Look`].

pub mod events;
pub mod findings;
pub mod foresight;
pub mod overview;
pub mod routing;
pub mod scroll;
pub mod tree;
pub mod workers;

use std::time::Duration;

use ratatui::layout::Rect;

use super::command::{self, Command, Pick, Scroll};
use super::keymap::Keymap;
use super::layout::{Class, Layout, Needs};
use super::panels::timeline::Course;
use super::panels::{Look, PanelContext};
use super::planning::Planning;
use crate::domain::Timestamp;
use crate::snapshot::{Answer, Snapshot, ViewQuery};

/// Every view that is built, in the order of their numbers. The first is the one to begin with.
const BUILT: &[View] = &[
    overview::VIEW,
    workers::VIEW,
    tree::VIEW,
    routing::VIEW,
    events::VIEW,
    findings::VIEW,
    foresight::VIEW,
];

/// A view, as everything around it sees it.
#[derive(Clone, Copy)]
pub struct View {
    /// The view that it describes.
    pub name: command::View,
    /// The question that it answers, for the command line.
    pub about: &'static str,
    /// The panel that is focused at first.
    pub home: super::panels::PanelId,
    /// Returns true while what is selected has the view for itself.
    pub opened: fn(&Look) -> bool,
    /// Returns the text of its filter, where it has one.
    pub filter: Option<fn(&mut Look) -> &mut String>,
    /// Places its panels in what the bars leave.
    pub arrange: fn(&mut Layout, Rect, Class, &Needs),
    /// Adds to a query what it shows beyond what every picture holds.
    pub ask: fn(&Look, &ViewContext<'_>, &mut ViewQuery),
    /// Obeys a command; what it passes on is for the shell.
    pub update: fn(&mut Look, Command, &ViewContext<'_>) -> Reply,
    /// Returns what is selected, as text to copy.
    pub copy: fn(&Look, &ViewContext<'_>) -> Option<String>,
}

/// The context in which a view works.
#[derive(Clone, Copy, Debug)]
pub struct ViewContext<'a> {
    /// The picture that is shown.
    pub snapshot: &'a Snapshot,
    /// The time that ages are counted from.
    pub now: Timestamp,
    /// The areas of its panels.
    pub layout: &'a Layout,
    /// The answer of the engine.
    pub answer: &'a Answer,
    /// True while the picture is held.
    pub held: bool,
    /// True while it is one of the past.
    pub past: bool,
    /// Time between the end of its graphs and now.
    pub age: Duration,
    /// The keys that hold.
    pub keys: &'a Keymap,
    /// The time of the newest picture.
    pub live_at: Timestamp,
    /// The series that the panels of the overview share.
    pub timeline: Course<'a>,
    /// The last plan.
    pub planning: &'a Planning,
}

impl<'a> ViewContext<'a> {
    /// Returns what panels are drawn from.
    pub fn panel_context(&self, look: &'a Look) -> PanelContext<'a> {
        let Self { snapshot, now, layout, answer, held, past, age, keys, .. } = *self;
        let Self { timeline, planning, .. } = *self;
        let (framed, panels) = (layout.framed, &layout.panels);
        PanelContext {
            snapshot,
            now,
            look,
            framed,
            answer,
            held,
            past,
            age,
            keys,
            timeline,
            panels,
            planning,
        }
    }
}

/// The reply of a view to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing: it is the shell's.
    Pass,
    /// The command.
    Done,
    /// Nothing, for this reason.
    Refused(String),
    /// To go on in another view.
    Go(command::View),
    /// To let one of these be picked.
    Pick(Picker),
}

/// A list to pick from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picker {
    /// Its purpose.
    pub pick: Pick,
    /// Its title.
    pub title: &'static str,
    /// The names that exist.
    pub choices: Vec<Choice>,
    /// The one that is selected.
    pub at: usize,
}

/// Something to pick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub about: String,
    /// True if it is on; none where one is picked of many.
    pub on: Option<bool>,
}

impl Choice {
    /// Returns one of many.
    pub fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self { name: name.into(), about: about.into(), on: None }
    }
}

/// Returns the views that are built, in the order of their numbers.
pub fn built() -> impl Iterator<Item = &'static View> {
    BUILT.iter()
}

/// Returns true when the view can be shown.
pub fn is_built(name: command::View) -> bool {
    built().any(|view| view.name == name)
}

/// Returns the view called `name`; the first one while that is not built.
pub fn view(name: command::View) -> &'static View {
    built().find(|view| view.name == name).unwrap_or(&BUILT[0])
}

/// Returns where a list that begins at `first`, at most at `last`, begins after scrolling `by`.
pub fn moved(first: usize, by: Scroll, page: usize, last: usize) -> usize {
    let first = first.min(last);
    match by {
        Scroll::Up => first.saturating_sub(1),
        Scroll::Down => first.saturating_add(1).min(last),
        Scroll::PageUp => first.saturating_sub(page),
        Scroll::PageDown => first.saturating_add(page).min(last),
        Scroll::Top => 0,
        Scroll::Bottom => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_stand_in_the_order_of_their_numbers_and_each_once() {
        let numbers: Vec<_> = built().map(|view| view.name.number()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    }
}
