//! The frames behind the last entries of the journal, for whoever wants to see what was sent.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::frame::{Body, Frame, Origin};

/// Most frames that are kept.
const FRAMES: usize = 2000;

/// Most bytes of them together.
const BYTES: usize = 1 << 20;

/// Most bytes of one; what is longer is cut.
const LONGEST: usize = 64 << 10;

/// A frame that is kept.
#[derive(Debug)]
pub(super) struct KeptFrame {
    /// The frame, without headers; its body may be cut.
    pub(super) frame: Frame,
    /// The size of its body before it was cut.
    pub(super) size: usize,
}

/// Frames by the number of the entry that they made.
#[derive(Debug, Default)]
pub(super) struct FrameRing {
    frames: VecDeque<(u64, KeptFrame)>,
    bytes: usize,
}

impl FrameRing {
    /// Keeps what entry `number` was made from. The oldest frames make room.
    pub(super) fn keep(&mut self, number: u64, frame: &Frame) {
        // A copy of its own, so that no buffer of a connection is held on to.
        let kept = KeptFrame { frame: copy(frame), size: frame.len() };
        self.bytes += kept.frame.len();
        self.frames.push_back((number, kept));
        while self.frames.len() > FRAMES || (self.bytes > BYTES && self.frames.len() > 1) {
            if let Some((_, gone)) = self.frames.pop_front() {
                self.bytes -= gone.frame.len();
            }
        }
    }

    /// Returns the frame of entry `number`.
    pub(super) fn frame(&self, number: u64) -> Option<&KeptFrame> {
        let at = self.frames.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.frames.get(at).map(|(_, kept)| kept)
    }

    /// Returns how many frames are kept, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.frames.len(), self.bytes)
    }
}

/// Returns `frame` without headers and reply subject, which no entry is made from, its body shared.
pub(super) fn light(frame: &Frame) -> Frame {
    let origin = match &frame.origin {
        Origin::Nats { subject, .. } => {
            Origin::Nats { subject: Arc::clone(subject), reply: None, headers: Vec::new() }
        }
        other => other.clone(),
    };
    Frame { at: frame.at, time: frame.time, origin, body: frame.body.clone() }
}

fn copy(frame: &Frame) -> Frame {
    let mut room = LONGEST;
    let mut part = |bytes: &[u8]| {
        let kept = bytes[..bytes.len().min(room)].to_vec();
        room -= kept.len();
        kept
    };
    let body = match &frame.body {
        Body::Whole(bytes) => Body::Whole(part(bytes).into()),
        Body::Parts(parts) => Body::Parts(parts.iter().map(|bytes| part(bytes).into()).collect()),
    };
    Frame { body, ..light(frame) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn the_oldest_make_room_and_the_longest_are_cut() {
        let mut kept = FrameRing::default();
        let frame = |size: usize| Frame::new(Timestamp(1), Origin::nats("a"), vec![b'x'; size]);
        for number in 0..100 {
            kept.keep(number, &frame(100_000));
        }

        let (frames, bytes) = kept.size();
        assert!(frames == BYTES / LONGEST && bytes <= BYTES, "{frames} {bytes}");
        assert!(kept.frame(0).is_none());
        let last = kept.frame(99).unwrap();
        assert_eq!((last.size, last.frame.len()), (100_000, LONGEST));
        for number in 100..5_000 {
            kept.keep(number, &frame(1));
        }
        assert_eq!(kept.size().0, FRAMES);
    }
}
