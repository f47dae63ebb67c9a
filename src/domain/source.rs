//! Sources' reports of their states.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{SourceName, Timestamp};

/// The state of a source.
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

/// A kind of trouble with a source. Each has a remedy of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trouble {
    /// The API server does not accept the credentials: the user has to log in again.
    LoggedOut,
    /// The API server's certificate is not trusted.
    Certificate,
    /// The login may not read some of the Kubernetes resources that kvtop reads.
    NoPermission {
        /// The namespace of the first of them.
        namespace: Option<Arc<str>>,
    },
    /// The login may not list pods, so what is not seen may be there.
    PodsHidden,
    /// A resource kind is not installed in the cluster. Normal without Dynamo's operator.
    NotInstalled,
    /// The API server answers some requests with an error.
    PartlyUnanswered,
    /// The namespace holds no part of a Dynamo deployment.
    NoDeployment,
    /// The login may not find the pods of a service: it may neither get services nor list endpoint slices.
    MayNotFindPods {
        /// The namespace of the service.
        namespace: Option<Arc<str>>,
    },
    /// The login may not open port-forwards to the pods of a namespace.
    MayNotForward {
        /// The namespace, if the API server's refusal is about one.
        namespace: Option<Arc<str>>,
    },
    /// The NATS account may not subscribe to the subjects of KV events.
    MayNotSubscribe,
    /// The etcd user may not read the discovery records.
    MayNotRead,
    /// A discovery record names no address that can be connected to.
    NoAddress,
    /// The note was recorded by a version of kvtop that did not record kinds of trouble.
    Unspecified,
}

/// A reason for the state of a source: words for people, and the kinds of trouble behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    /// The words; empty when there is nothing to report.
    pub text: Arc<str>,
    /// The kinds of trouble; empty for one that only the words describe.
    pub troubles: Vec<Trouble>,
}

impl Reason {
    /// Returns a reason of one kind.
    pub fn new(trouble: Trouble, text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), troubles: vec![trouble] }
    }

    /// Returns the reason preceded by a place, such as an address, and a colon.
    #[must_use]
    pub fn at(self, place: impl fmt::Display) -> Self {
        let text = format!("{place}: {self}");
        self.worded(text)
    }

    /// Returns the reason with other words.
    #[must_use]
    pub fn worded(self, text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), ..self }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self { text: text.into(), troubles: Vec::new() }
    }
}

impl From<&String> for Reason {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self { text: text.into(), troubles: Vec::new() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// A publisher of KV events that a source is not connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// Its address.
    pub address: Arc<str>,
    /// The reason, without the address.
    pub why: Arc<str>,
    /// The discovery record or option that names the address.
    pub from: Arc<str>,
}

/// A source's report of its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceNote {
    /// The source.
    pub source: SourceName,
    /// Its state.
    pub state: SourceState,
    /// Why, for people; empty when there is nothing to say.
    pub why: Arc<str>,
    /// The kinds of trouble behind `why`.
    pub troubles: Vec<Trouble>,
    /// Time until it tries again, in milliseconds from the note.
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
    /// The progress of reading a stream's history.
    pub history: Option<HistoryNote>,
    /// The connections that it should have, and has: to publishers of KV events, or to the logs of containers.
    pub peers: Option<Peers>,
    /// The first publishers that it does not reach, at most [`UNREACHED_LISTED`].
    pub unreached: Vec<Unreached>,
    /// The time of the note.
    pub at: Timestamp,
}

impl SourceNote {
    /// Returns a note that says no more than how a source is doing, and why.
    pub fn new(
        source: SourceName,
        state: SourceState,
        why: impl Into<Reason>,
        at: Timestamp,
    ) -> Self {
        let Reason { text, troubles } = why.into();
        Self {
            source,
            state,
            why: text,
            troubles,
            retry_ms: None,
            rtt_us: None,
            dropped: 0,
            drops_uncounted: 0,
            interruptions: 0,
            pending: false,
            history: None,
            peers: None,
            unreached: Vec::new(),
            at,
        }
    }
}

/// Publishers that a note lists as not reached, at most.
pub const UNREACHED_LISTED: usize = 3;

/// The connections of a source that connects to several publishers or logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// Connections that the source should have.
    pub wanted: u64,
    /// Connections that the source has.
    pub reached: u64,
}

/// The progress of reading the history of a `JetStream` stream.
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
    /// The time for which the stream keeps messages; none if it keeps them for ever, or does not say.
    pub keeps: Option<Duration>,
    /// The fates of the stream's messages; none in recordings of earlier versions.
    pub ledger: Option<StreamLedger>,
}

/// The fates of a stream's messages, by the stream's own numbers.
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

/// Accounts for a rank's messages by their publisher's numbers. Only what came after the first
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
        self.last_seq.saturating_add(1).saturating_sub(self.first_seq)
    }
}
