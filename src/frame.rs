//! A frame: what a source received, as it came, with where and when.
//!
//! The only thing a source emits and the only thing a recording holds. Knows nothing of what the
//! bytes mean; `wire` does. docs/RECORDING.md has the format on disk.

use std::sync::Arc;

use bytes::Bytes;

use crate::domain::{SourceName, Timestamp};

/// Raw input with its origin and the time of its arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its arrival at kvtop, or at the recorder.
    pub at: Timestamp,
    /// The time it happened, if the origin says so: stream, kubelet or log time.
    pub time: Option<Timestamp>,
    /// Its origin.
    pub origin: Origin,
    /// The body.
    pub body: Body,
}

impl Frame {
    /// Returns a frame that arrived at `at`, of one piece.
    pub fn new(at: Timestamp, origin: Origin, body: impl Into<Bytes>) -> Self {
        Self { at, time: None, origin, body: Body::Whole(body.into()) }
    }

    /// Returns when it happened, as well as is known.
    pub fn happened(&self) -> Timestamp {
        self.time.unwrap_or(self.at)
    }

    /// Returns the memory its payload takes, in bytes.
    pub fn len(&self) -> usize {
        match &self.body {
            Body::Whole(bytes) => bytes.len(),
            Body::Parts(parts) => parts.iter().map(Bytes::len).sum(),
        }
    }

    /// Returns true when its payload is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Frames that are taken in at once, bounded in number and in bytes: a recording may hold frames of many
/// megabytes.
#[derive(Debug, Default)]
pub struct Burst {
    frames: Vec<Frame>,
    bytes: usize,
}

impl Burst {
    /// Most frames of a burst.
    const FRAMES: usize = 1024;
    /// Bytes of payload after which a burst is full.
    const BYTES: usize = 4 << 20;

    /// Adds `frame`. Returns true when the burst is full.
    pub fn push(&mut self, frame: Frame) -> bool {
        self.bytes += frame.len();
        self.frames.push(frame);
        self.frames.len() >= Self::FRAMES || self.bytes >= Self::BYTES
    }

    /// Returns the frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Forgets the frames, keeps the memory of the list.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }
}

/// The payload of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// One piece.
    Whole(Bytes),
    /// The parts of a multipart message, as received.
    Parts(Vec<Bytes>),
}

/// The origin of a frame. One variant for each row of the table in docs/RECORDING.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A message of a NATS core subscription.
    Nats {
        /// Its subject.
        subject: Arc<str>,
        /// Its reply subject; kvtop never answers.
        reply: Option<Arc<str>>,
        /// Its headers, in order.
        headers: Vec<(String, String)>,
    },
    /// A message read back from a `JetStream` stream.
    Jetstream {
        /// The stream.
        stream: Arc<str>,
        /// Its number in the stream.
        seq: u64,
        /// The subject it was published on.
        subject: Arc<str>,
    },
    /// A ZMQ message.
    Zmq {
        /// The publisher's address.
        endpoint: Arc<str>,
    },
    /// One line of a log, without its newline.
    Log {
        /// Kubernetes namespace, empty outside Kubernetes.
        namespace: Arc<str>,
        /// Pod, or name of the process.
        pod: Arc<str>,
        /// Container.
        container: Arc<str>,
    },
    /// One whole scrape of a metrics endpoint.
    Metrics {
        /// Pod, or name of the process.
        pod: Arc<str>,
        /// The path scraped.
        url: Arc<str>,
    },
    /// A trimmed, redacted Kubernetes object.
    Kube {
        /// Its kind.
        kind: Arc<str>,
        /// The change.
        change: KubeChange,
    },
    /// A key of etcd.
    Etcd {
        /// The key.
        key: Arc<str>,
        /// True when it was written, false when it was deleted.
        put: bool,
    },
    /// A discovery record in a folder.
    File {
        /// The key that its name stands for.
        key: Arc<str>,
        /// True when it was written, false when it is gone.
        put: bool,
    },
    /// All that a standalone indexer holds.
    Indexer {
        /// Its address.
        url: Arc<str>,
    },
    /// A source's report of its state.
    Health {
        /// The source.
        source: SourceName,
    },
}

impl Origin {
    /// Returns the name of its row in the recording format.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Nats { .. } => "nats",
            Self::Jetstream { .. } => "jetstream",
            Self::Zmq { .. } => "zmq",
            Self::Log { .. } => "log",
            Self::Metrics { .. } => "metrics",
            Self::Kube { .. } => "kube",
            Self::Etcd { .. } => "etcd",
            Self::File { .. } => "file",
            Self::Indexer { .. } => "indexer",
            Self::Health { .. } => "health",
        }
    }

    /// Returns the origin of a NATS message on `subject`, without reply or headers.
    pub fn nats(subject: &str) -> Self {
        Self::Nats { subject: subject.into(), reply: None, headers: Vec::new() }
    }

    /// Returns the origin of a log line of container `main` of `pod`.
    pub fn log(namespace: &str, pod: &str) -> Self {
        Self::Log { namespace: namespace.into(), pod: pod.into(), container: "main".into() }
    }
}

/// The change of a Kubernetes object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubeChange {
    /// It was there.
    Listed,
    /// It appeared.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
}

impl KubeChange {
    /// Every change.
    pub const ALL: [Self; 4] = [Self::Listed, Self::Added, Self::Modified, Self::Deleted];

    /// Returns the name in the recording format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Listed => "listed",
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}
