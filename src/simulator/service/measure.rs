//! A client's measurements of its answers.

use std::time::Duration;

use crate::domain::Timestamp;

/// One answered request, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Arrival of the last token.
    pub done: Timestamp,
    /// Time from the request to the first token.
    pub first_token: Duration,
    /// Time from the request to the last token.
    pub latency: Duration,
    /// Tokens of the answer.
    pub tokens: usize,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Those of them that the engine had cached.
    pub cached: usize,
}

impl Answered {
    /// Returns the mean time between two tokens.
    pub fn token_time(&self) -> Duration {
        let gaps = u32::try_from(self.tokens.saturating_sub(1)).unwrap_or(u32::MAX).max(1);
        self.latency.saturating_sub(self.first_token) / gaps
    }
}

/// The requests of one worker at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Those it computes.
    pub running: usize,
    /// Those that wait for a place in its batch.
    pub waiting: usize,
}
