//! Frames that a source under test delivers.

use std::sync::Arc;
use std::time::Duration;

use kvtop::domain::SourceNote;
use kvtop::frame::{Body, Frame, Origin};
use kvtop::source::Emitter;
use kvtop::wire::health;
use tokio::sync::mpsc;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// The receiving end of a source.
pub(crate) struct Delivered {
    receiver: mpsc::Receiver<Frame>,
    /// Frames but notes.
    pub(crate) frames: Vec<Frame>,
    pub(crate) notes: Vec<SourceNote>,
}

impl Delivered {
    /// Returns an emitter with room for `room` frames, and what receives them.
    pub(crate) fn with_room(room: usize) -> (Emitter, Self) {
        let (sender, receiver) = mpsc::channel(room);
        (Emitter::new(sender), Self { receiver, frames: Vec::new(), notes: Vec::new() })
    }

    /// Takes frames until `done`, or panics with `what`.
    pub(crate) async fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let deadline = tokio::time::sleep(PATIENCE);
        tokio::pin!(deadline);
        while !done(self) {
            tokio::select! {
                frame = self.receiver.recv() => self.take(frame.unwrap()),
                () = &mut deadline => {
                    panic!("{what}; {} frames, {:#?}", self.frames.len(), self.notes.last());
                }
            }
        }
    }

    /// Takes the frames that wait, without waiting for more.
    pub(crate) fn take_queued(&mut self) {
        while let Ok(frame) = self.receiver.try_recv() {
            self.take(frame);
        }
    }

    /// Takes frames for `span`.
    pub(crate) async fn during(&mut self, span: Duration) {
        let deadline = tokio::time::sleep(span);
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                frame = self.receiver.recv() => self.take(frame.unwrap()),
                () = &mut deadline => return,
            }
        }
    }

    /// Takes frames until a note says `text`, and returns that note.
    pub(crate) async fn until_noted(&mut self, text: &str) -> SourceNote {
        let from = self.notes.len().saturating_sub(1);
        self.until(&format!("expected a note with `{text}`"), |it| {
            it.notes[from..].iter().any(|note| note.why.contains(text))
        })
        .await;
        self.notes[from..].iter().find(|note| note.why.contains(text)).unwrap().clone()
    }

    fn take(&mut self, frame: Frame) {
        match &frame.origin {
            Origin::Health { source } => {
                let note = health::decode(source, frame.at, &body(&frame)).unwrap();
                self.notes.push(note);
            }
            _ => self.frames.push(frame),
        }
    }

    /// Returns the lines of the container `container` of `pod`.
    pub(crate) fn lines(&self, pod: &str) -> Vec<String> {
        let of_pod = |frame: &&Frame| match &frame.origin {
            Origin::Log { pod: of, .. } => **of == *pod,
            _ => false,
        };
        let text = |frame: &Frame| String::from_utf8_lossy(&body(frame)).into_owned();
        self.frames.iter().filter(of_pod).map(text).collect()
    }

    /// Returns the bodies of the scrapes of `pod`.
    pub(crate) fn scrapes(&self, pod: &str) -> Vec<String> {
        let of_pod = |frame: &&Frame| match &frame.origin {
            Origin::Metrics { pod: of, .. } => **of == *pod,
            _ => false,
        };
        let text = |frame: &Frame| String::from_utf8_lossy(&body(frame)).into_owned();
        self.frames.iter().filter(of_pod).map(text).collect()
    }
}

fn body(frame: &Frame) -> Vec<u8> {
    match &frame.body {
        Body::Whole(bytes) => bytes.to_vec(),
        Body::Parts(_) => panic!("{} has one part", frame.origin.kind()),
    }
}

/// Returns `text` as the names of objects are kept.
pub(crate) fn name(text: &str) -> Arc<str> {
    text.into()
}
