//! What happened.

use std::sync::Arc;

use crate::domain::Timestamp;

/// How grave an event is.
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

/// What kind of event it is.
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
    /// When it happened.
    pub at: Timestamp,
    /// Whom it concerns: a worker's alias, a pod, a source.
    pub who: String,
    /// What kind.
    pub kind: EventKind,
    /// What, for people.
    pub text: String,
    /// How grave.
    pub gravity: Gravity,
    /// Which source it is from.
    pub source: Arc<str>,
    /// How many more of the same followed within the second.
    pub repeats: u64,
}
