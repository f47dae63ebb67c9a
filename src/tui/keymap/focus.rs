//! The open part of the screen, and the bindings that hold there.

use crate::snapshot;
use crate::tui::command::View;
use crate::tui::views;

/// A part of the screen in which a binding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// Always, whatever is open.
    Everywhere,
    /// In every view, while nothing lies over it.
    Views,
    /// The same, in this view only.
    In(View),
    /// The same, while nothing of this view is opened.
    InList(View),
    /// The same, while something of it is.
    InOpened(View),
    /// The same, in this view only, unless of a replay.
    InUnlessReplay(View),
    /// The same, of a replay.
    Replay,
    /// The same, of anything else.
    UnlessReplay,
    /// The same, of a demo with a fix left to apply.
    Mendable,
    /// The same, of any demo.
    Demo,
    /// In the fleet, while nothing lies over it.
    Fleet,
    /// While the help is open.
    Help,
    /// While there is something to pick.
    Picker,
    /// While the command line is open.
    Line,
    /// While a filter is typed.
    Filter,
}

/// The source of pictures, as far as keys depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// A deployment.
    Plain,
    /// A demo with nothing to mend.
    Demo,
    /// A recording.
    Replay,
    /// A demo whose fix is yet to be applied.
    Mendable,
}

impl Feed {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Demo, Self::Replay, Self::Mendable];

    /// Returns the kind of a picture's feed.
    pub fn new(feed: &snapshot::Feed) -> Self {
        match feed {
            snapshot::Feed::Replay(_) => Self::Replay,
            snapshot::Feed::Demo(demo) if !demo.fixed && !demo.fix.is_empty() => Self::Mendable,
            snapshot::Feed::Demo(_) => Self::Demo,
            snapshot::Feed::Live => Self::Plain,
        }
    }
}

/// The open part of the screen, which decides the contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// A view.
    View(View, Feed),
    /// The part of a view that is opened.
    Opened(View, Feed),
    /// The fleet.
    Fleet,
    /// The help.
    Help,
    /// A list to pick from.
    Picker,
    /// The command line.
    Line,
    /// A filter that is typed.
    Filter,
}

impl Focus {
    /// Returns everything that can be open.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |view: &views::View| {
            let name = view.name;
            Feed::ALL.map(|feed| [Self::View(name, feed), Self::Opened(name, feed)])
        };
        views::built().flat_map(of).flatten().chain([
            Self::Fleet,
            Self::Help,
            Self::Picker,
            Self::Line,
            Self::Filter,
        ])
    }

    /// Returns true when `context` holds while this is open.
    pub(super) fn holds(self, context: Context) -> bool {
        match (self, context) {
            (Self::Opened(view, _), Context::InOpened(other))
            | (Self::View(view, _), Context::In(other) | Context::InList(other)) => view == other,
            (Self::Opened(..), Context::InList(_)) => false,
            (Self::Opened(view, feed), _) => Self::View(view, feed).holds(context),
            (_, Context::Everywhere)
            | (Self::View(..), Context::Views)
            | (Self::View(_, Feed::Replay), Context::Replay)
            | (Self::View(_, Feed::Mendable), Context::Mendable | Context::Demo)
            | (Self::View(_, Feed::Demo), Context::Demo)
            | (Self::Fleet, Context::Fleet)
            | (Self::Help, Context::Help)
            | (Self::Picker, Context::Picker)
            | (Self::Line, Context::Line)
            | (Self::Filter, Context::Filter) => true,
            (Self::View(_, feed), Context::UnlessReplay) => feed != Feed::Replay,
            (Self::View(view, feed), Context::InUnlessReplay(other)) => {
                view == other && feed != Feed::Replay
            }
            _ => false,
        }
    }
}
