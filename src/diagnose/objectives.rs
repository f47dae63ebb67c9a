//! Latency objectives.

use std::time::Duration;

/// The default objective for the time to first token.
const USUAL_TTFT: Duration = Duration::from_millis(600);

/// Objectives for 95th percentiles, where they are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Objectives {
    /// For the time to the first token.
    pub ttft_p95: Option<Duration>,
    /// For the time between tokens.
    pub itl_p95: Option<Duration>,
}

impl Objectives {
    /// Returns the objective for the time to the first token, in seconds, or the usual one.
    pub fn ttft_seconds(&self) -> f64 {
        self.ttft_p95.unwrap_or(USUAL_TTFT).as_secs_f64()
    }
}
