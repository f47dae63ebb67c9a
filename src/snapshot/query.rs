//! What a front end wants to see.

use std::time::Duration;

/// What a front end wants to see; it comes from the UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewQuery {
    /// The time graphs cover.
    pub window: Duration,
    /// Points of each graph.
    pub points: usize,
    /// Events wanted at most.
    pub events: usize,
    /// Decisions wanted at most.
    pub decisions: usize,
}

impl Default for ViewQuery {
    fn default() -> Self {
        Self { window: Duration::from_secs(300), points: 300, events: 200, decisions: 50 }
    }
}
