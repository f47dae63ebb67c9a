//! The recording within a bundle: compressed in memory, and bounded.

use std::io::{self, Write as _};

use crate::frame::Frame;
use crate::record::{self, FORMAT_VERSION, Header};

/// Most of a recording that is kept, in bytes before compression: half a minute of 10,000 events a second
/// and the history before them. Compressed it is about a tenth.
const LONGEST: u64 = 512 << 20;

/// Most that is kept of it compressed, in bytes: what is attached to a ticket.
const LARGEST: usize = 64 << 20;

/// A recording in the making. The first frames are kept: a tree cannot be told without its beginning.
pub(super) struct Tape {
    encoder: zstd::Encoder<'static, Vec<u8>>,
    bytes: u64,
    frames: u64,
    left_out: u64,
    limits: (u64, usize),
}

/// A recording that is complete.
pub(super) struct Wound {
    /// The recording, as `record` writes it into a `.frames.zst`.
    pub(super) bytes: Vec<u8>,
    /// Frames that it holds.
    pub(super) frames: u64,
    /// Frames that it would have been too long with.
    pub(super) left_out: u64,
}

impl Tape {
    /// Starts a recording with `header`.
    pub(super) fn start(header: &Header) -> io::Result<Self> {
        Self::within(header, (LONGEST, LARGEST))
    }

    fn within(header: &Header, limits: (u64, usize)) -> io::Result<Self> {
        let encoder = zstd::Encoder::new(Vec::new(), 3)?;
        let mut tape = Self { encoder, bytes: 0, frames: 0, left_out: 0, limits };
        let header = Header { kvtop_frames: FORMAT_VERSION, ..header.clone() };
        tape.line(&serde_json::to_string(&header)?)?;
        Ok(tape)
    }

    /// Adds `frames`, as long as there is room.
    pub(super) fn take(&mut self, frames: &[Frame]) {
        for frame in frames {
            let full = self.bytes >= self.limits.0 || self.encoder.get_ref().len() >= self.limits.1;
            // Once one was left out the rest would be a recording with a hole.
            let kept = !full && self.left_out == 0 && self.line(&record::encode(frame)).is_ok();
            self.frames += u64::from(kept);
            self.left_out += u64::from(!kept);
        }
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.bytes += line.len() as u64 + 1;
        self.encoder.write_all(line.as_bytes())?;
        self.encoder.write_all(b"\n")
    }

    /// Ends the recording.
    pub(super) fn end(self) -> io::Result<Wound> {
        let (frames, left_out) = (self.frames, self.left_out);
        Ok(Wound { bytes: self.encoder.finish()?, frames, left_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::frame::Origin;

    fn wound(limits: (u64, usize)) -> (Wound, String) {
        let mut tape = Tape::within(&Header::default(), limits).unwrap();
        let frame = Frame::new(Timestamp(1), Origin::log("", "frontend"), "hello");
        for _ in 0..10 {
            tape.take(std::slice::from_ref(&frame));
        }
        let wound = tape.end().unwrap();
        let text = String::from_utf8(zstd::decode_all(&*wound.bytes).unwrap()).unwrap();
        (wound, text)
    }

    #[test]
    fn a_recording_ends_where_there_is_no_more_room_and_says_so() {
        let (whole, text) = wound((LONGEST, LARGEST));
        assert_eq!((whole.frames, whole.left_out), (10, 0));
        assert_eq!(text.lines().count(), 11);

        let (cut, text) = wound((200, LARGEST));
        assert!(cut.frames > 0 && cut.left_out > 0, "{} {}", cut.frames, cut.left_out);
        assert_eq!(cut.frames + cut.left_out, 10);
        assert_eq!(text.lines().count() as u64, cut.frames + 1);
    }
}
