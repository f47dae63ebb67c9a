//! Sources: everything that emits frames.
//!
//! A source receives bytes and passes them on. It decodes nothing, keeps no state of the deployment,
//! and never waits for the engine, the disk or the screen: when the channel is full it drops the
//! frame and counts it. Losing its peer never ends it; it reports a [`SourceNote`] and tries again.

#[doc(hidden)]
pub mod decoders;
pub mod etcd;
pub mod files;
pub mod forward;
pub mod indexer;
pub mod kube;
pub mod logs;
mod memory;
pub mod metrics;
pub mod nats;
mod notes;
mod pace;
pub mod prometheus;
pub mod reach;
pub mod simulation;
mod supervisor;
pub mod zmq;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::domain::{SourceName, SourceNote, SourceState};
use crate::frame::{Frame, Origin};
use crate::wire::health;

pub use memory::Budget;
use memory::Part;
pub use pace::Pace;

/// Room for about 160 ms of events at 100 000 events a second: longer than the engine is ever busy
/// (PERFORMANCE G6), short enough to bound memory.
pub const FRAME_BUFFER: usize = 16_384;

/// The interval at which a source that paces itself looks for room: half of the channel is drained in about that
/// time at a million frames a second.
const ROOM_POLL: Duration = Duration::from_millis(5);

/// The fate of an offered frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is in the channel.
    Taken,
    /// There was no room, and nothing was counted.
    Full,
    /// There is no receiver any more.
    Unheard,
}

/// A message that goes ahead of a long history, for a screen that shows the present meanwhile.
#[derive(Clone, Debug)]
pub enum Ahead {
    /// One of the newest stored messages, or a live one that waits for the history.
    Frame(Frame),
    /// The frames have all of it now.
    Over,
}

/// Takes the frames of a source. Never waits.
#[derive(Clone, Debug)]
pub struct Emitter {
    frames: mpsc::Sender<Frame>,
    /// The channel of messages that go ahead of a long history; none where nobody looks at them.
    ahead: Option<mpsc::Sender<Ahead>>,
    dropped: Arc<AtomicU64>,
    budget: Arc<Budget>,
}

impl Emitter {
    /// Returns an emitter into `frames`.
    pub fn new(frames: mpsc::Sender<Frame>) -> Self {
        Self::within(frames, Arc::default())
    }

    /// Returns an emitter into `frames` whose frames count against `budget`.
    pub fn within(frames: mpsc::Sender<Frame>, budget: Arc<Budget>) -> Self {
        budget.count_waiting_in(&frames);
        Self { frames, ahead: None, dropped: Arc::default(), budget }
    }

    /// Returns this emitter, with `ahead` for messages that go ahead of a long history.
    #[must_use]
    pub fn with_ahead(self, ahead: mpsc::Sender<Ahead>) -> Self {
        Self { ahead: Some(ahead), ..self }
    }

    /// Returns the channel of messages that go ahead; none where nobody looks at them, or no more.
    fn ahead(&self) -> Option<&mpsc::Sender<Ahead>> {
        self.ahead.as_ref().filter(|ahead| !ahead.is_closed())
    }

    /// Returns true while somebody looks at messages that go ahead of a long history.
    pub(crate) fn shows_ahead(&self) -> bool {
        self.ahead().is_some()
    }

    /// Returns true while at least half of the channel of messages that go ahead is free, or nobody looks at them.
    pub(crate) fn has_room_ahead(&self) -> bool {
        self.ahead().is_none_or(|ahead| ahead.capacity() * 2 >= ahead.max_capacity())
    }

    /// Passes a message on ahead of a long history.
    pub(crate) fn offer_ahead(&self, news: Ahead) -> Offer {
        let Some(ahead) = self.ahead() else { return Offer::Unheard };
        let admitted = match news {
            Ahead::Frame(frame) => self.budget.admit(frame).map(Ahead::Frame),
            Ahead::Over => Some(Ahead::Over),
        };
        match admitted.map(|news| ahead.try_send(news)) {
            Some(Ok(())) => Offer::Taken,
            None | Some(Err(mpsc::error::TrySendError::Full(_))) => Offer::Full,
            Some(Err(mpsc::error::TrySendError::Closed(_))) => Offer::Unheard,
        }
    }

    /// Returns what counts the memory of frames.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Waits until the process holds more memory than it may, for those who buffer what they cannot count.
    pub(crate) async fn alarm(&self) {
        self.budget.alarm().await;
    }

    /// Passes `frame` on, or drops and counts it when the channel is full. Returns false when there
    /// is no receiver any more, that is, when the source should end.
    pub fn emit(&self, frame: Frame) -> bool {
        match self.offer(frame) {
            Offer::Taken => true,
            Offer::Full => {
                self.count_drop();
                true
            }
            Offer::Unheard => false,
        }
    }

    /// Passes `frame` on when there is room, and leaves it to the caller to count the loss when there is none: what
    /// can be fetched again is not lost.
    pub fn offer(&self, frame: Frame) -> Offer {
        let room = self.budget.has_room(memory::waiting_in(&self.frames), Part::Whole);
        let Some(frame) = Some(frame).filter(|_| room).and_then(|it| self.budget.admit(it)) else {
            return if self.frames.is_closed() { Offer::Unheard } else { Offer::Full };
        };
        match self.frames.try_send(frame) {
            Ok(()) => Offer::Taken,
            Err(mpsc::error::TrySendError::Full(_)) => Offer::Full,
            Err(mpsc::error::TrySendError::Closed(_)) => Offer::Unheard,
        }
    }

    /// Counts a frame that was offered in vain and cannot be fetched again.
    pub fn count_drop(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Passes on what a source says of itself, as a frame. Without room it is left out and not counted as a loss:
    /// a source says the same again within seconds.
    pub fn note(&self, note: &SourceNote) -> bool {
        let origin = Origin::Health { source: note.source.clone() };
        self.offer(Frame::new(note.at, origin, health::encode(note))) != Offer::Unheard
    }

    /// Returns true while at least half of the channel is free, and half of what all channels of the process may hold.
    ///
    /// Only for what can be asked for later, such as a stream's history: whoever reads that paces
    /// itself, so that live frames keep their room. Live frames are emitted without asking.
    pub fn has_room(&self) -> bool {
        self.has_room_in(Part::Half)
    }

    /// Returns true while at most `part` of the channel is taken, and of the memory for frames.
    fn has_room_in(&self, part: Part) -> bool {
        let waiting = memory::waiting_in(&self.frames);
        waiting <= part.of(self.frames.max_capacity()) && self.budget.has_room(waiting, part)
    }

    /// Passes `frame` on while at least a quarter of the channel is free, and else drops and counts it.
    ///
    /// For frames that come in floods and matter less than those of the event plane, such as lines of a log. A history
    /// that is being read fills half of the channel, and is no reason to lose them.
    pub fn emit_if_room(&self, frame: Frame) -> bool {
        if self.has_room_in(Part::Most) || self.frames.is_closed() {
            return self.emit(frame);
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Waits until at least half of the channel is free, for those who pace themselves. Returns
    /// false when there is no receiver any more.
    pub async fn room(&self) -> bool {
        while !self.has_room() {
            if self.frames.is_closed() {
                return false;
            }
            tokio::time::sleep(ROOM_POLL).await;
        }
        !self.frames.is_closed()
    }

    /// Returns an emitter into the same channel that counts its own drops.
    #[must_use]
    pub fn counting_apart(self) -> Self {
        Self { dropped: Arc::default(), ..self }
    }

    /// Returns true while there is someone to receive frames.
    pub fn is_heard(&self) -> bool {
        !self.frames.is_closed()
    }

    /// Returns how many frames this emitter and its clones dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// The state that `run` wants a source to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Desired {
    /// Deliver.
    Running,
    /// Unsubscribe and wait; the process is about to stop (Ctrl-Z).
    Suspended,
    /// End.
    Stopped,
}

/// A running source, seen from outside.
#[derive(Debug)]
pub struct SourceHandle {
    /// Its name, as in its notes.
    pub name: SourceName,
    /// Tells it what to do.
    pub desired: watch::Sender<Desired>,
    /// Its state, for those who must wait until it has unsubscribed.
    pub state: watch::Receiver<SourceState>,
    /// Its task.
    pub task: tokio::task::JoinHandle<()>,
}

/// Returns how kvtop names itself to servers: with its version and what a request is for.
pub(crate) fn user_agent(purpose: &str) -> String {
    format!("kvtop/{} ({purpose})", env!("CARGO_PKG_VERSION"))
}
