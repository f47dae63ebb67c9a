//! Live messages that come before the history of their stream.
//!
//! A stream is read from its first message on, so a message that comes live while its source still connects is newer
//! than all that is to be read. Applied at once it would refer to blocks that come later, and the numbers of events
//! would fall and leap. kvtop's own source keeps the order; a recording whose parts were joined may not.

use std::time::Duration;

use super::Engine;
use crate::domain::{Plane, SourceState, Timestamp};
use crate::dynamo::plane::stream_of;
use crate::frame::{Frame, Origin};

/// The longest time that messages wait for their source to connect.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most messages that wait, and most bytes of them.
const MESSAGES: usize = 4096;
const BYTES: usize = 8 << 20;

/// Live messages of a stream that wait for its history.
#[derive(Debug, Default)]
pub(super) struct Early {
    frames: Vec<Frame>,
    bytes: usize,
    /// True when nothing waits any more. What comes after a lost connection follows what was read before it.
    over: bool,
}

impl Engine {
    /// Takes in a burst, but for live messages whose history is yet to be read.
    pub(super) fn ingest_in_order(&mut self, burst: &[Frame]) {
        let mut rest = burst;
        while !self.early.over {
            let tells =
                |frame: &Frame| is_stored(frame) || matches!(frame.origin, Origin::Health { .. });
            let (now, later) = rest.split_at(rest.iter().position(tells).unwrap_or(rest.len()));
            self.ingest_now(now);
            let Some((first, after)) = later.split_first() else { return };
            rest = after;
            if !is_stored(first) {
                self.ingest_now(std::slice::from_ref(first));
                self.let_early_in(first.at);
            } else if self.connects(first.at) && self.early.has_room(first) {
                self.early.bytes += first.len();
                self.early.frames.push(first.clone());
            } else {
                self.end_early();
                self.ingest_now(std::slice::from_ref(first));
            }
        }
        self.ingest_now(rest);
    }

    /// Takes in what waits, if its source does not connect any more at `at`.
    pub(super) fn let_early_in(&mut self, at: Timestamp) {
        if !self.early.frames.is_empty() && !self.connects(at) {
            self.end_early();
        }
    }

    fn end_early(&mut self) {
        self.early.over = true;
        let frames = std::mem::take(&mut self.early.frames);
        self.ingest_now(&frames);
    }

    /// Returns true while the source of streams connects for the first time.
    fn connects(&self, at: Timestamp) -> bool {
        let streams = &self.known.streams;
        let note =
            streams.sources.get(&Plane::JetStream.source()).and_then(|record| record.note.as_ref());
        let attached = self.known.times.watched.unwrap_or(at);
        !streams.history.is_partial()
            && note.is_some_and(|note| note.state == SourceState::Connecting)
            && at.since(attached) < PATIENCE
    }
}

impl Early {
    fn has_room(&self, frame: &Frame) -> bool {
        self.frames.len() < MESSAGES && self.bytes + frame.len() <= BYTES
    }
}

/// Returns true for a live message that a stream stores.
fn is_stored(frame: &Frame) -> bool {
    matches!(&frame.origin, Origin::Nats { subject, .. } if stream_of(subject).is_some())
}
