//! Exit codes, and errors with their causes.

use std::error::Error;
use std::fmt::Write as _;

/// The end of the process. docs/reference/cli.md lists the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Clean,
    /// Failure.
    Failed,
    /// Two states differ, as `diff` has it.
    Differs,
    /// A word of the command line that is not known, or trouble where 1 has a meaning of its own.
    Usage,
    /// The verdict of `kvtop check`, as monitoring systems read it: 0 good, 1 warning, 2 critical, 3 unknown;
    /// what `kvtop lint` found: 0, 1, 3.
    Check(u8),
    /// Ended by a signal: 128 and its number.
    Signal(u8),
}

impl Exit {
    /// Returns the exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Failed | Self::Differs => 1,
            Self::Usage => 2,
            Self::Check(code) => code,
            Self::Signal(number) => 128 + number,
        }
    }
}

/// Returns `error` with its causes, in one line. Messages never repeat their causes; this is the one
/// place that joins them.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        // Writing to a string cannot fail.
        let written = write!(text, ": {inner}");
        debug_assert!(written.is_ok());
        cause = inner.source();
    }
    text
}
