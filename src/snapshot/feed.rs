//! The origin of frames.

use std::sync::Arc;

use super::Snapshot;
use crate::domain::Timestamp;

/// The origin of frames, and the control that it allows.
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

/// The state of a replay.
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
    /// The speed, as a multiple of real time.
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

/// The state of a demo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DemoState {
    /// The scenario.
    pub scenario: String,
    /// One sentence about it.
    pub about: String,
    /// True once its fix was applied.
    pub fixed: bool,
    /// The effect of the fix, in one sentence; empty when there is nothing to fix.
    pub fix: String,
    /// The name of the finding that it ends; empty when there is nothing to fix.
    pub mends: &'static str,
    /// Number of story steps taken.
    pub steps_taken: usize,
    /// The next step of the story, in a few words; none after the last. The first is the fix.
    pub next_step: Option<&'static str>,
    /// Conversations that users hold at once.
    pub users: usize,
    /// The router mode of the frontend, as in `DYN_ROUTER_MODE`.
    pub mode: &'static str,
    /// Workers, those that restart included.
    pub workers: usize,
    /// The presenter's last change.
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
