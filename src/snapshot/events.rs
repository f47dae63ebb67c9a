//! Events for the journal.

use crate::domain::{SourceName, Timestamp};

/// The gravity of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Nothing to worry about.
    #[default]
    Normal,
    /// Worth a look.
    Notice,
    /// The router complains, or would.
    Bad,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// Blocks were stored.
    Store,
    /// Blocks were removed.
    Remove,
    /// A cache was emptied.
    Clear,
    /// A request was routed.
    Route,
    /// A warning in a log.
    Warning,
    /// A worker came, went or started anew.
    Worker,
    /// A source changed its state, or lost something.
    Source,
    /// Input could not be read.
    Reject,
}

impl EventKind {
    /// Returns its name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Store => "STORE",
            Self::Remove => "REMOVE",
            Self::Clear => "CLEAR",
            Self::Route => "ROUTE",
            Self::Warning => "WARN",
            Self::Worker => "WORKER",
            Self::Source => "SOURCE",
            Self::Reject => "REJECT",
        }
    }
}

/// Something that happened, or a run of the same within a second.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Its number since kvtop started; views anchor to it.
    pub number: u64,
    /// The time it happened.
    pub at: Timestamp,
    /// The subject: a worker's alias, a pod or a source.
    pub who: String,
    /// The kind.
    pub kind: EventKind,
    /// What, for people.
    pub text: String,
    /// The gravity.
    pub gravity: Gravity,
    /// The source it is from.
    pub source: SourceName,
    /// Number of similar events within the same second; they may differ in size.
    pub repeats: u64,
    /// True for blocks that a router refuses, or would, because it does not know them.
    pub orphan: bool,
}

/// An event with the frame that it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDetail {
    /// The event's number.
    pub number: u64,
    /// The frame; none when it is not kept any more, or when there was none.
    pub frame: Option<FrameView>,
    /// Number of frames in memory.
    pub kept_frames: u64,
    /// Their bytes.
    pub kept_bytes: u64,
}

/// A log line as it was kept: only lines that kvtop reads are, and of these only the fields that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The number of the event that was made from it.
    pub number: u64,
    /// Its text.
    pub text: String,
}

/// A frame for people: what came, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameView {
    /// Its origin.
    pub origin: String,
    /// Its arrival.
    pub at: Timestamp,
    /// The time it happened, if its origin says so.
    pub time: Option<Timestamp>,
    /// Bytes of its body.
    pub size: u64,
    /// True when only the beginning of its body is kept.
    pub cut: bool,
    /// Its content, one line for each statement.
    pub decoded: Vec<String>,
    /// Its body: JSON indented, text as it is, anything else as a dump of its bytes.
    pub body: Vec<String>,
}
