//! Where frames come from.

use std::sync::Arc;

use super::Snapshot;
use crate::domain::Timestamp;

/// Where frames come from, and what can be done about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Feed {
    /// A running deployment.
    #[default]
    Live,
    /// A recording.
    Replay(Playback),
    /// The simulator.
    Demo(DemoState),
}

/// How a replay stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Playback {
    /// The file.
    pub name: String,
    /// Time of the first frame.
    pub start: Timestamp,
    /// Time of the last frame.
    pub end: Timestamp,
    /// Time up to which frames were played.
    pub position: Timestamp,
    /// The part of the way to the position that was played, in percent, while a jump is not done: until then the
    /// picture is the nearest of an index.
    pub seeking: Option<u8>,
    /// The newest picture of the index, which knows the events of all that was indexed.
    pub known: Option<Arc<Snapshot>>,
    /// How many times faster than it happened.
    pub speed: f64,
    /// True while it stands still.
    pub paused: bool,
    /// Lines of the file that could not be read.
    pub bad_lines: u64,
    /// Number of the first of them, from 1; 0 while there is none.
    pub first_bad_line: u64,
    /// True when the file ended within a line.
    pub torn: bool,
}

/// How a demo stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DemoState {
    /// The scenario.
    pub scenario: String,
    /// One sentence about it.
    pub about: String,
    /// True once its fix was applied.
    pub fixed: bool,
    /// What the fix does, in one sentence; empty when there is nothing to fix.
    pub fix: String,
    /// How many steps of its story were taken; the first is the fix.
    pub steps_taken: usize,
    /// Conversations that users hold at once.
    pub users: usize,
    /// How the frontend chooses workers, as `DYN_ROUTER_MODE` has it.
    pub mode: &'static str,
    /// Workers, those that restart included.
    pub workers: usize,
    /// What the presenter changed last.
    pub change: Option<DemoChange>,
}

/// A change that the presenter of a demo made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoChange {
    /// When.
    pub at: Timestamp,
    /// What, in a few words.
    pub what: String,
}
