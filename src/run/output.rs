//! Output of commands, and messages beside the output.

use std::io::{self, Write as _};

use super::RunError;
use crate::wire::printable;

/// Writes output. A pipe that was closed is an error like any other.
pub(super) fn print(text: &str) -> Result<(), RunError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(RunError::Output)
}

/// Prints a message that is not output to standard error.
pub(super) fn tell(text: &str) {
    // There is nobody left to tell when even that fails.
    drop(writeln!(io::stderr().lock(), "{}", printable_lines(text)));
}

/// Longest line that is said, in characters.
const LINE_LIMIT: usize = 4096;

/// Returns `text` without what could steer a terminal; its lines stay.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(|line| printable(line, LINE_LIMIT)).collect::<Vec<_>>().join("\n")
}
