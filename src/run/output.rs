//! What commands write: output, and what is said beside it.

use std::io::{self, Write as _};

use super::RunError;

/// Writes output. A pipe that was closed is an error like any other.
pub(super) fn print(text: &str) -> Result<(), RunError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(RunError::Output)
}

/// Says something that is no output, where a person sees it.
pub(super) fn tell(text: &str) {
    // There is nobody left to tell when even that fails.
    drop(writeln!(io::stderr().lock(), "{text}"));
}
