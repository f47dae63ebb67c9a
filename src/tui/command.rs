//! Commands of keys and of the command line, and actions that the UI asks of the program.

use std::time::Duration;

use super::scope::{Aim, Scope};
use super::tour::Move;
use crate::domain::Timestamp;
use crate::snapshot::ViewQuery;

/// Something a person wants. Panels and the shell see these, never keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Leave the program.
    Quit,
    /// Take the mouse, or give it back to the terminal.
    ToggleMouse,
    /// Stop the program until the shell continues it.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Open or close the help.
    ToggleHelp,
    /// Close what is open; never quits.
    Back,
    /// Show this view.
    Show(View),
    /// Show the view that was shown before.
    PreviousView,
    /// Hold the picture, or let it go on.
    ToggleFreeze,
    /// Show a picture of the past, or the newest again.
    Past(Past),
    /// Focus the next panel.
    FocusNext,
    /// Focus the previous panel.
    FocusPrevious,
    /// Scroll the focused panel.
    Scroll(Scroll),
    /// Give the focused panel the whole screen, or take it back.
    ToggleZoom,
    /// Show the next series in the timeline.
    NextGraph,
    /// Graphs cover more time.
    WindowLonger,
    /// Graphs cover less time.
    WindowShorter,
    /// Graphs cover this time.
    Window(Duration),
    /// Use the next theme.
    NextTheme,
    /// Use the theme at this position of the list.
    Theme(usize),
    /// Open the command line.
    OpenLine,
    /// Edit the command line.
    Edit(Edit),
    /// Give the banner one row, or all of its rows again.
    ToggleBanner,
    /// Show what is behind the worst finding.
    TopFinding,
    /// Open what is selected, or go back to the list.
    Open,
    /// Type a filter.
    OpenFilter,
    /// Follow the newest, or stop at it.
    Follow,
    /// Wrap texts, or cut them.
    Wrap,
    /// Tell times, or ages.
    Times,
    /// Shows log lines as they were written, or all events.
    Lines,
    /// Let the order be picked.
    Sort,
    /// Turn the order round.
    SortReversed,
    /// Let columns be taken away or put back.
    Columns,
    /// Let figures of the headline be taken away or put back.
    Figures,
    /// Take what is selected in the list to pick from.
    Pick,
    /// The choice of this number was picked.
    Picked(Pick, usize),
    /// Let what is looked at be picked: graph deployment, namespace or context.
    LookAt(Scope),
    /// Copy this.
    Copy(Copied),
    /// Open the command line to say in which format to write the view.
    OpenExport,
    /// Write the view into a file.
    Export(Format),
    /// Open the command line to type what to find.
    OpenFind,
    /// Change what is shown of the tree.
    Tree(TreeCommand),
    /// Find a hash in the tree.
    Find(HashText),
    /// Show what was heard of the selected worker.
    Heard,
    /// Show the tree of the selected worker alone.
    WorkerTree,
    /// Show only the worker of this number in the tree; none for all.
    OnlyWorker(Option<usize>),
    /// Apply the demo's fix.
    DemoFix,
    /// Change what the demo simulates.
    Simulate(Simulate),
    /// Move within a recording.
    Replay(ReplayCommand),
    /// Move within the tour of a demo.
    Tour(Move),
    /// Open the planner; there, simulate changes, or stop.
    Plan,
}

/// A screenful, reached by its number. Which of them are built, `views` knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// Is KV routing working?
    #[default]
    Overview,
    /// The workers.
    Workers,
    /// The tree of cached prefixes.
    Tree,
    /// Why did the router pick that one?
    Routing,
    /// The stream of events.
    Events,
    /// Findings with evidence and fix.
    Findings,
    /// The effect of larger caches and of drains, and blocks that are held twice.
    Foresight,
}

impl View {
    /// Every view, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Overview,
        Self::Workers,
        Self::Tree,
        Self::Routing,
        Self::Events,
        Self::Findings,
        Self::Foresight,
    ];

    /// Returns its number, which is its key.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Returns its name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Workers => "Workers",
            Self::Tree => "Tree",
            Self::Routing => "Routing",
            Self::Events => "Events",
            Self::Findings => "Findings",
            Self::Foresight => "Foresight",
        }
    }

    /// Returns its name where there is little room.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Overview => "Over",
            Self::Workers => "Work",
            Self::Tree => "Tree",
            Self::Routing => "Route",
            Self::Events => "Evts",
            Self::Findings => "Find",
            Self::Foresight => "Fore",
        }
    }

    /// Returns its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Workers => "workers",
            Self::Tree => "tree",
            Self::Routing => "routing",
            Self::Events => "events",
            Self::Findings => "findings",
            Self::Foresight => "foresight",
        }
    }
}

/// The purpose of a list to pick from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The order of a table.
    Sort,
    /// The columns of a table.
    Columns,
    /// The figures of the headline.
    Figures,
    /// The worker whose blocks are shown.
    Worker,
    /// The scope that is watched.
    Scope(Scope),
}

/// A change of what is shown of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeCommand {
    /// Open the selected row, or go to the first below it.
    In,
    /// Close the selected row, or go to the one above it.
    Out,
    /// Open everything below the selected row.
    OpenAll,
    /// Open three levels below it.
    OpenLevels,
    /// Show only what is below it, or everything again.
    Pin,
    /// Let the worker be picked whose blocks are shown.
    Worker,
    /// Give what is said about it the whole view, or take it back.
    Describe,
}

/// The digits typed of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashText {
    bytes: [u8; Self::LONGEST],
    length: usize,
}

impl HashText {
    /// Longest hash: 20 decimal digits.
    pub const LONGEST: usize = 20;

    /// Returns `text` if it can be a hash or the first digits of one: decimal, or hexadecimal with or
    /// without `0x`.
    pub fn new(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let hex = (1..=16).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if !hex && text.parse::<u64>().is_err() || text.starts_with('+') {
            return None;
        }
        let mut bytes = [0; Self::LONGEST];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { bytes, length: text.len() })
    }

    /// Returns it as it was typed.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// Texts that can be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The fix of the top finding: its patch, or the sentence where there is none.
    Fix,
    /// The command that applies it.
    Kubectl,
    /// The selected item.
    Selection,
}

/// A format that a view can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A picture.
    Svg,
    /// A page.
    Html,
    /// For chats and tickets.
    Markdown,
    /// The characters.
    Text,
    /// The state, not the view.
    Json,
    /// The workers, not the view.
    Csv,
}

impl Format {
    /// Every format, in the order of the suggestions.
    pub const ALL: [Self; 6] =
        [Self::Svg, Self::Html, Self::Markdown, Self::Text, Self::Json, Self::Csv];

    /// Returns its name on the command line, which is the ending of its files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Text => "txt",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }

    /// Returns what it is good for.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Svg => "the view as a picture",
            Self::Html => "the view as a page",
            Self::Markdown => "findings and view, for a ticket",
            Self::Text => "the view as text",
            Self::Json => "the whole state",
            Self::Csv => "the workers",
        }
    }
}

/// A distance to scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first row.
    Top,
    /// To the last row.
    Bottom,
}

/// A change of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Add a character.
    Insert(char),
    /// Take the last character away.
    Erase,
    /// Take everything away.
    Clear,
    /// Take the first suggestion.
    Complete,
    /// Run the line.
    Submit,
}

/// Moves through the pictures that are kept of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// By this many seconds from the picture that is shown.
    By(i64),
    /// By this many steps of the cursor on the timeline.
    Step(i64),
    /// To the next marker on the timeline, or to the one before.
    Marker(i64),
    /// To this moment.
    At(Timestamp),
    /// To this many seconds before now.
    Ago(u64),
    /// To now.
    Now,
}

/// A change of what a demo simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulate {
    /// More users at once.
    MoreUsers,
    /// Fewer users at once.
    FewerUsers,
    /// The other way to choose workers.
    Mode,
    /// One worker more.
    Worker,
}

/// Moves a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayCommand {
    /// Pause or play.
    Toggle,
    /// Play one frame and pause.
    Step,
    /// Move by this many seconds.
    SeekBy(i64),
    /// Move to this moment.
    SeekTo(Timestamp),
    /// Move to the first frame.
    SeekStart,
    /// Move to the last frame.
    SeekEnd,
    /// Play faster.
    Faster,
    /// Play slower.
    Slower,
}

/// An action that the UI asks of the program around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Take the mouse, or give it back to the terminal.
    ToggleMouse,
    /// Stop until continued.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Make pictures for this query from now on.
    Query(ViewQuery),
    /// Apply the demo's fix.
    DemoFix,
    /// Change what the demo simulates.
    Simulate(Simulate),
    /// Move the replay.
    Replay(ReplayCommand),
    /// Look at something else.
    LookAt(Aim),
    /// Simulate changes to the deployment of the picture that is shown, or stop that.
    TogglePlan {
        /// The short name of a worker whose drain is among the changes.
        drain: Option<String>,
    },
    /// Write the view into a file.
    Export(Format),
    /// Put `text` where it can be pasted from.
    Copy {
        /// Its name for people.
        what: String,
        /// The text.
        text: String,
    },
}
