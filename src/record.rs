//! Recordings: frames in a file, one JSON object a line, as docs/RECORDING.md has it.
//!
//! Owns the format: header, versions, compression, torn tails and bad lines. Knows nothing of what a
//! payload means.

mod line;
mod reader;
mod writer;

use std::io;
use std::path::PathBuf;

pub use line::{Header, RecordedTarget, decode, encode};
pub use reader::{BadLines, Recording};
pub use writer::RecordWriter;
pub(crate) use writer::never_overwritten;

/// The major version of the format that this build reads and writes.
pub const FORMAT_VERSION: u64 = 1;

/// An error that keeps a recording from being read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be opened.
    #[error("could not open `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A name that promises what is not written.
    #[error("could not create `{}`: recordings are compressed with zstd, name it `.zst`", path.display())]
    Gzip {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be created.
    #[error("could not create `{}`", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Reading stopped.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Writing stopped.
    #[error("could not write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The first line is no header.
    #[error("`{}` is not a kvtop recording: its first line has no `kvtop_frames`; `kvtop check --logs` judges saved logs", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// The first line is a header with something wrong in it.
    #[error("the header of `{}` cannot be read: {why}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// The file holds no frame, so nothing is known of the deployment.
    #[error("`{}` holds no frame that can be read: {why}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The first fault, or that the file ends with its header.
        why: String,
    },
    /// The file is of a later format.
    #[error("`{}` is a recording of format {version}; this kvtop reads format 1", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u64,
    },
}
