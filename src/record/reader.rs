//! Reading recordings: plain, zstd or gzip, told apart by their first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::line::{self, Header};
use super::{FORMAT_VERSION, RecordError};
use crate::domain::Timestamp;
use crate::frame::Frame;

/// Longest line that is read. One line is one frame; the largest real ones are scrapes of some
/// 100 KB.
const MAX_LINE: usize = 48 << 20;

/// Longest header that is read. It is parsed into a tree of values, which takes many times its length.
const MAX_HEADER: usize = 1 << 20;

/// Largest window of a zstd stream that is accepted, as a power of two: what is held while it is read.
const MAX_WINDOW: u32 = 26;

/// Later times cannot be shown: the calendar ends with the year 9999.
const LAST_TIME: Timestamp = Timestamp(253_402_207_200_000_000);

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

/// Lines that could not be read, with the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadLines {
    /// The number.
    pub count: u64,
    /// Number of the first, from 1.
    pub first_line: u64,
    /// The fault.
    pub first_error: String,
}

/// A recording that is being read, frame by frame, in the order of the file.
///
/// Times never go back: a frame that is older than its predecessor is given the predecessor's time.
pub struct Recording {
    path: PathBuf,
    input: Box<dyn BufRead + Send>,
    compressed: bool,
    header: Header,
    bad: BadLines,
    torn: bool,
    is_empty: bool,
    line: u64,
    last: Timestamp,
    buffer: Vec<u8>,
}

/// The result of reading one line.
enum Line {
    Whole,
    Unfinished,
    TooLong,
    End,
}

impl Recording {
    /// Opens the recording at `path` and reads its header.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let failed = |source| RecordError::Open { path: path.to_owned(), source };
        // A pipe without a writer would be waited for without end.
        if std::fs::metadata(path).map_err(failed)?.file_type().is_fifo() {
            return Err(failed(io::Error::other("a named pipe is no recording")));
        }
        let file = File::open(path).map_err(failed)?;
        Self::from_reader(path, BufReader::with_capacity(1 << 20, file))
    }

    /// Reads the recording in `input`; `path` is what errors call it.
    pub fn from_reader(
        path: &Path,
        mut input: impl BufRead + Send + 'static,
    ) -> Result<Self, RecordError> {
        let path = path.to_owned();
        let failed = |source| RecordError::Read { path: path.clone(), source };
        let magic = input.fill_buf().map_err(failed)?;
        let compressed = magic.starts_with(&ZSTD_MAGIC) || magic.starts_with(&GZIP_MAGIC);
        let input: Box<dyn BufRead + Send> = if magic.starts_with(&ZSTD_MAGIC) {
            let failed = |source| RecordError::Read { path: path.clone(), source };
            let mut decoder = zstd::Decoder::with_buffer(input).map_err(failed)?;
            decoder.window_log_max(MAX_WINDOW).map_err(failed)?;
            Box::new(BufReader::with_capacity(1 << 20, decoder))
        } else if magic.starts_with(&GZIP_MAGIC) {
            let decoder = flate2::bufread::MultiGzDecoder::new(input);
            Box::new(BufReader::with_capacity(1 << 20, decoder))
        } else {
            Box::new(input)
        };
        let mut recording = Self {
            path,
            input,
            compressed,
            header: Header::default(),
            bad: BadLines::default(),
            torn: false,
            is_empty: true,
            line: 0,
            last: Timestamp::default(),
            buffer: Vec::new(),
        };
        recording.read_header()?;
        Ok(recording)
    }

    fn read_header(&mut self) -> Result<(), RecordError> {
        let none = || RecordError::NoHeader { path: self.path.clone() };
        self.line += 1;
        // The end of a longer line is not looked for: a device has none.
        let limit = u64::try_from(MAX_HEADER).unwrap_or(u64::MAX);
        match (&mut self.input).take(limit).read_until(b'\n', &mut self.buffer) {
            Ok(taken) if taken < MAX_HEADER || self.buffer.ends_with(b"\n") => {}
            Ok(_) => return Err(none()),
            Err(source) => return Err(RecordError::Read { path: self.path.clone(), source }),
        }
        let value: serde_json::Value = serde_json::from_slice(&self.buffer).map_err(|_| none())?;
        let version =
            value.get("kvtop_frames").and_then(serde_json::Value::as_u64).ok_or_else(none)?;
        if version != FORMAT_VERSION {
            return Err(RecordError::Version { path: self.path.clone(), version });
        }
        self.header = serde_json::from_value(value).map_err(|error| RecordError::Header {
            path: self.path.clone(),
            why: error.to_string(),
        })?;
        Ok(())
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the lines that could not be read so far.
    pub fn bad(&self) -> &BadLines {
        &self.bad
    }

    /// Returns true once the file turned out to end within a line, as after a crash, or a compressed
    /// one to be damaged; what came before was read.
    pub fn torn(&self) -> bool {
        self.torn
    }

    /// Returns the next frame, none at the end. Bad lines are counted and passed over. A recording without any frame
    /// is an error: nothing is known then, which is neither a deployment without workers nor a healthy one.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, RecordError> {
        let frame = self.find_frame()?;
        if frame.is_none() && self.is_empty {
            return Err(RecordError::Empty { path: self.path.clone(), why: self.damage() });
        }
        self.is_empty = false;
        Ok(frame)
    }

    fn damage(&self) -> String {
        if self.bad.count > 0 {
            return format!("line {}: {}", self.bad.first_line, self.bad.first_error);
        }
        let end = if self.torn { "it is truncated or damaged" } else { "it ends with its header" };
        end.to_owned()
    }

    fn find_frame(&mut self) -> Result<Option<Frame>, RecordError> {
        loop {
            let found = match self.read_line() {
                Ok(found) => found,
                Err(error) if self.compressed && error.raw_os_error().is_none() => {
                    // What a damaged stream says is the decoder's word, not the disk's. What came
                    // before is good.
                    self.torn = true;
                    return Ok(None);
                }
                Err(source) => return Err(RecordError::Read { path: self.path.clone(), source }),
            };
            let unfinished = match found {
                Line::End => return Ok(None),
                Line::TooLong => {
                    self.note_bad(format!("line is longer than {MAX_LINE} bytes"));
                    continue;
                }
                Line::Whole => false,
                Line::Unfinished => true,
            };
            if self.buffer.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let read = std::str::from_utf8(&self.buffer)
                .map_err(|error| error.to_string())
                .and_then(line::decode);
            match read {
                Ok(frame) if frame.at > LAST_TIME => {
                    self.note_bad("its time is after the year 9999".to_owned());
                }
                Ok(mut frame) => {
                    frame.at = frame.at.max(self.last);
                    self.last = frame.at;
                    return Ok(Some(frame));
                }
                Err(_) if unfinished => self.torn = true,
                Err(error) => self.note_bad(error),
            }
        }
    }

    fn note_bad(&mut self, error: String) {
        if self.bad.count == 0 {
            self.bad.first_line = self.line;
            self.bad.first_error = error;
        }
        self.bad.count += 1;
    }

    /// Reads one line into the buffer, without its newline. Memory is bounded by the longest line
    /// allowed; the rest of a longer one is skipped.
    fn read_line(&mut self) -> io::Result<Line> {
        self.buffer.clear();
        self.line += 1;
        let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
        let taken = (&mut self.input).take(limit).read_until(b'\n', &mut self.buffer)?;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            return Ok(Line::Whole);
        }
        if taken == 0 {
            return Ok(Line::End);
        }
        if taken < MAX_LINE {
            return Ok(Line::Unfinished);
        }
        self.buffer.clear();
        self.skip_line()?;
        Ok(Line::TooLong)
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(());
            }
            let newline = chunk.iter().position(|byte| *byte == b'\n');
            let used = newline.map_or(chunk.len(), |position| position + 1);
            self.input.consume(used);
            if newline.is_some() {
                return Ok(());
            }
        }
    }
}
