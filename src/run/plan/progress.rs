//! The progress of `kvtop plan` on standard error, where that is a terminal.

use std::io::{self, IsTerminal as _, Write as _};

use tokio::time::Instant;

use super::simulate::Step;

/// Erases the line that the cursor is in.
const ERASE: &str = "\r\u{1b}[K";

/// A line that is written over until it is dropped, which removes it.
pub(super) struct ProgressLine {
    is_shown: bool,
    start: Instant,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal(), start: Instant::now() }
    }

    /// Shows a step.
    pub(super) fn show(&self, step: &Step<'_>) {
        if self.is_shown {
            write(&format!("{ERASE}kvtop: {}", said(step, self.start.elapsed().as_secs())));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_shown {
            write(ERASE);
        }
    }
}

fn write(text: &str) {
    let mut err = io::stderr().lock();
    // There is nobody left to tell when even that fails.
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

/// Returns a step in words, `seconds` after the start.
fn said(step: &Step<'_>, seconds: u64) -> String {
    match step {
        Step::Fitting => "fitting service times to the deployment".to_owned(),
        Step::Simulated { results, of, .. } => {
            format!("{} of {of} simulations done, {seconds} s so far", results.len())
        }
    }
}
