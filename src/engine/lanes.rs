//! Lanes: what follows from the subject of a message alone. It is worked out once, not for each message.

use std::sync::Arc;

use crate::domain::{SourceName, Timestamp};
use crate::frame::{Frame, Origin};

/// Subjects that are remembered: a deployment has one for KV events, and few others.
const LANES: usize = 16;

/// A subject of messages, with what is known of it and what was counted since it was last settled.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    subject: Arc<str>,
    /// The stream, for messages that were read back from one.
    stream: Option<Arc<str>>,
    /// The source.
    pub(super) source: SourceName,
    /// The generation of names by which its Dynamo namespace is one of those looked at.
    pub(super) ours: Option<u64>,
    /// The position of its stream in the ledger, once it has one.
    pub(super) account: Option<usize>,
    /// Frames since it was settled, and the arrivals of the first and of the last of them.
    frames: u32,
    span: (Timestamp, Timestamp),
}

/// The subjects that were seen last.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// The lane of the last frame.
    last: usize,
}

/// Returns the subject that tells everything about a message but its content, and the stream.
fn key(origin: &Origin) -> Option<(&Arc<str>, Option<&Arc<str>>)> {
    match origin {
        Origin::Nats { subject, .. } => Some((subject, None)),
        Origin::Jetstream { stream, subject, .. } => Some((subject, Some(stream))),
        _ => None,
    }
}

impl Lane {
    fn is_of(&self, subject: &Arc<str>, stream: Option<&Arc<str>>) -> bool {
        let same = |one: &Arc<str>, other: &Arc<str>| Arc::ptr_eq(one, other) || one == other;
        let stream = match (&self.stream, stream) {
            (None, None) => true,
            (Some(one), Some(other)) => same(one, other),
            _ => false,
        };
        stream && same(&self.subject, subject)
    }

    /// Returns true when frames were counted that arrived in another second than `at`.
    pub(super) fn is_of_another_second(&self, at: Timestamp) -> bool {
        self.frames > 0 && self.span.1.seconds() != at.seconds()
    }

    /// Counts a frame that arrived at `at`.
    pub(super) fn count(&mut self, at: Timestamp) {
        let first = if self.frames == 0 { at } else { self.span.0.min(at) };
        self.span = (first, at);
        self.frames += 1;
    }
}

/// Frames of one lane that were not counted anywhere yet.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    pub(super) source: &'a SourceName,
    pub(super) frames: u32,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
}

impl Lanes {
    /// Returns the lane of `frame`; none for one whose subject was not seen lately, or tells nothing.
    pub(super) fn lane(&mut self, frame: &Frame) -> Option<&mut Lane> {
        let (subject, stream) = key(&frame.origin)?;
        if !self.lanes.get(self.last).is_some_and(|lane| lane.is_of(subject, stream)) {
            self.last = self.lanes.iter().position(|lane| lane.is_of(subject, stream))?;
        }
        self.lanes.get_mut(self.last)
    }

    /// Remembers the subject of `frame`, whose names are fit for a terminal.
    pub(super) fn open(&mut self, frame: &Frame, source: &SourceName) {
        let Some((subject, stream)) = key(&frame.origin) else { return };
        let (subject, stream) = (Arc::clone(subject), stream.cloned());
        let source = source.clone();
        let span = (Timestamp::default(), Timestamp::default());
        let lane = Lane { subject, stream, source, ours: None, account: None, frames: 0, span };
        self.lanes.push(lane);
    }

    /// Returns true when another subject needs room.
    pub(super) fn is_full(&self) -> bool {
        self.lanes.len() >= LANES
    }

    /// Forgets all subjects.
    pub(super) fn clear(&mut self) {
        self.lanes.clear();
    }

    /// Hands over what was counted since the last time.
    pub(super) fn settle(&mut self, mut each: impl FnMut(Counted<'_>)) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.frames > 0) {
            let frames = std::mem::take(&mut lane.frames);
            let (first, last) = lane.span;
            each(Counted { source: &lane.source, frames, first, last });
        }
    }
}
