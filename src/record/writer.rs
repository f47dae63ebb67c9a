//! Writing recordings.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::line::{self, Header};
use super::{FORMAT_VERSION, RecordError};
use crate::frame::Frame;

/// A recording that is being written, compressed when its name ends in `.zst`.
pub struct RecordWriter {
    path: PathBuf,
    output: Output,
    frames: u64,
    bytes: u64,
}

enum Output {
    Plain(BufWriter<File>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl Output {
    fn sink(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Zstd(encoder) => encoder,
        }
    }
}

/// Returns the error of creating a file, with advice if there is a file of that name.
pub(crate) fn never_overwritten(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let why = "exists already and is never overwritten; choose another name";
            io::Error::new(error.kind(), why)
        }
        _ => error,
    }
}

impl RecordWriter {
    /// Creates the file at `path`, readable by its owner only, and writes the header. An existing
    /// file is not overwritten, and a name that ends in `.gz` is refused.
    pub fn create(path: &Path, header: &Header) -> Result<Self, RecordError> {
        let ends = |with| path.extension().is_some_and(|extension| extension == with);
        if ends("gz") {
            return Err(RecordError::Gzip { path: path.to_owned() });
        }
        let failed = |source| RecordError::Create { path: path.to_owned(), source };
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| failed(never_overwritten(error)))?;
        let file = BufWriter::with_capacity(256 << 10, file);
        let output = if ends("zst") {
            Output::Zstd(zstd::Encoder::new(file, 3).map_err(failed)?)
        } else {
            Output::Plain(file)
        };
        let mut writer = Self { path: path.to_owned(), output, frames: 0, bytes: 0 };
        let header = Header { kvtop_frames: FORMAT_VERSION, ..header.clone() };
        writer.write_line(&serde_json::to_string(&header).unwrap_or_default())?;
        // So that a file that was started can be told from one that is empty.
        writer.flush()?;
        Ok(writer)
    }

    /// Appends `frame`.
    pub fn write(&mut self, frame: &Frame) -> Result<(), RecordError> {
        self.write_line(&line::encode(frame))?;
        self.frames += 1;
        Ok(())
    }

    /// Writes out what is buffered, so that a crash loses little.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        let done = self.output.sink().flush();
        self.checked(done)
    }

    /// Ends the file. Without it a compressed recording is torn.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.flush()?;
        let path = self.path;
        match self.output {
            Output::Plain(_) => Ok(()),
            Output::Zstd(encoder) => encoder
                .finish()
                .and_then(|mut file| file.flush())
                .map_err(|source| RecordError::Write { path, source }),
        }
    }

    /// Returns the frames written.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the bytes written, before compression.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn write_line(&mut self, text: &str) -> Result<(), RecordError> {
        let sink = self.output.sink();
        let done = sink.write_all(text.as_bytes()).and_then(|()| sink.write_all(b"\n"));
        self.bytes += text.len() as u64 + 1;
        self.checked(done)
    }

    fn checked(&self, done: io::Result<()>) -> Result<(), RecordError> {
        done.map_err(|source| RecordError::Write { path: self.path.clone(), source })
    }
}
