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
    /// What became of the stream's messages; none in recordings of earlier versions.
    pub ledger: Option<StreamLedger>,
}

/// What became of a stream's messages, by the numbers that the stream gave them.
///
/// Whatever was published was deleted before kvtop looked, received, deleted unread, dropped, found to be missing,
/// or is still being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamLedger {
    /// Messages that the stream ever numbered.
    pub published: u64,
    /// Of those, deleted before kvtop first looked.
    pub before: u64,
    /// Passed on, live or from history.
    pub received: u64,
    /// Not KV events, and not passed on.
    pub other: u64,
    /// Deleted by the stream's limits or a purge before kvtop could read them.
    pub aged_out: u64,
    /// Dropped by kvtop, which had no room.
    pub dropped: u64,
    /// Did not come live and are being read from the stream.
    pub missing: u64,
    /// Did not come live and were read from the stream.
    pub refilled: u64,
    /// Times that an unknown number of messages was lost, because the stream was deleted meanwhile.
    pub uncounted: u64,
}

impl StreamLedger {
    /// Returns every count with its name in recordings and reports.
    pub const fn counts(&self) -> [(&'static str, u64); 9] {
        [
            ("published", self.published),
            ("before", self.before),
            ("received", self.received),
            ("other", self.other),
            ("aged_out", self.aged_out),
            ("dropped", self.dropped),
            ("missing", self.missing),
            ("refilled", self.refilled),
            ("uncounted", self.uncounted),
        ]
    }

    /// Returns the ledger whose counts are what `count` returns for their names.
    pub fn from_counts(count: impl Fn(&str) -> u64) -> Self {
        Self {
            published: count("published"),
            before: count("before"),
            received: count("received"),
            other: count("other"),
            aged_out: count("aged_out"),
            dropped: count("dropped"),
            missing: count("missing"),
            refilled: count("refilled"),
            uncounted: count("uncounted"),
        }
    }
}

/// What became of a rank's messages, by the numbers that its publisher gave them. Only what came after the first
/// message that kvtop saw is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankLedger {
    /// Came, each counted once.
    pub received: u64,
    /// Did not come, as far as later ones tell.
    pub missing: u64,
    /// Came after later ones.
    pub reordered: u64,
}

impl RankLedger {
    /// Returns how many messages the publisher numbered.
    pub fn published(&self) -> u64 {
        self.received.saturating_add(self.missing)
    }
}

impl StreamLedger {
    /// Returns how many messages never reached kvtop, or did not yet.
    pub fn lost(&self) -> u64 {
        self.aged_out.saturating_add(self.dropped).saturating_add(self.missing)
    }

    /// Returns true when nothing that was published since kvtop looked is known to be lost.
    pub fn is_even(&self) -> bool {
        self.lost() == 0 && self.uncounted == 0
    }
}

impl HistoryNote {
    /// Returns how many messages there are to be read.
    pub fn total(&self) -> u64 {
        (self.last_seq + 1).saturating_sub(self.first_seq)
    }
}
