//! What sources report of themselves.

use std::sync::Arc;

use super::Timestamp;

/// How a source is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceState {
    /// It is trying for the first time, or again.
    Connecting,
    /// It delivers.
    Live,
    /// It delivers, but frames were lost.
    Lossy,
    /// It does not deliver.
    Down,
    /// It was told to pause.
    Suspended,
    /// It has nothing more to deliver.
    Ended,
}

impl SourceState {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Connecting, Self::Live, Self::Lossy, Self::Down, Self::Suspended, Self::Ended];

    /// Returns the name in recordings and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Live => "live",
            Self::Lossy => "lossy",
            Self::Down => "down",
            Self::Suspended => "suspended",
            Self::Ended => "ended",
        }
    }
}

/// What a source reports of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceNote {
    /// The source, such as `nats`.
    pub source: Arc<str>,
    /// How it is doing.
    pub state: SourceState,
    /// Why, for people; empty when there is nothing to say.
    pub why: Arc<str>,
    /// When it will try again, in milliseconds from the note.
    pub retry_ms: Option<u64>,
    /// Round trip in microseconds.
    pub rtt_us: Option<u64>,
    /// Frames that were lost at this source since it started, and counted.
    pub dropped: u64,
    /// Losses that could not be counted: the client library only says that there were some.
    pub drops_uncounted: u64,
    /// Times the source was without connection, or lost messages, after it had been live.
    pub interruptions: u64,
    /// True while it is not known yet what there is of the past to be read.
    pub pending: bool,
    /// What was read of a stream's history.
    pub history: Option<HistoryNote>,
    /// How many publishers of KV events it reaches, where it connects to each.
    pub peers: Option<Peers>,
    /// When the note was made.
    pub at: Timestamp,
}

impl SourceNote {
    /// Returns a note that says no more than how a source is doing, and why.
    pub fn new(source: &str, state: SourceState, why: &str, at: Timestamp) -> Self {
        Self {
            source: source.into(),
            state,
            why: why.into(),
            retry_ms: None,
            rtt_us: None,
            dropped: 0,
            drops_uncounted: 0,
            interruptions: 0,
            pending: false,
            history: None,
            peers: None,
            at,
        }
    }
}

/// Publishers of KV events that a source connects to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// Those that it should.
    pub wanted: u64,
    /// Those that it does.
    pub reached: u64,
}

/// What was read of the history of a `JetStream` stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryNote {
    /// The stream.
    pub stream: Arc<str>,
    /// First sequence number that the stream still had.
    pub first_seq: u64,
    /// Last sequence number to be read.
    pub last_seq: u64,
    /// Messages read so far.
    pub read: u64,
    /// True once all was read and joined to the live feed.
    pub complete: bool,
}

impl HistoryNote {
    /// Returns how many messages there are to be read.
    pub fn total(&self) -> u64 {
        (self.last_seq + 1).saturating_sub(self.first_seq)
    }
}
