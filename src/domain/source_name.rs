//! Names of sources.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A source of frames.
///
/// Sources are ordered by their names' letters, as every list shows them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SourceName {
    /// The connection to NATS: messages as they are published.
    Nats,
    /// Messages that a stream of JetStream stored. They come over the connection to NATS.
    JetStream,
    /// The ZMQ publishers of workers.
    Zmq,
    /// The event sockets of engines, which show block sizes and bring no KV events of workers.
    Engines,
    /// The logs of containers and files.
    Logs,
    /// The metrics that pods serve.
    Metrics,
    /// The Kubernetes API.
    Kubernetes,
    /// Discovery records in etcd.
    Etcd,
    /// Discovery records in a folder.
    Discovery,
    /// A standalone KV indexer.
    Indexer,
    /// Port-forwards, through which other sources read.
    PortForward,
    /// kvtop's own simulation of a deployment.
    Simulator,
    /// A source of a recording that another version of kvtop made.
    Other(Arc<str>),
}

impl SourceName {
    /// The sources of KV events that connect to publishers or their broker.
    pub const OF_EVENTS: [Self; 2] = [Self::Nats, Self::Zmq];
    /// Every source that this version has.
    pub const ALL: [Self; 12] = [
        Self::Nats,
        Self::JetStream,
        Self::Zmq,
        Self::Engines,
        Self::Logs,
        Self::Metrics,
        Self::Kubernetes,
        Self::Etcd,
        Self::Discovery,
        Self::Indexer,
        Self::PortForward,
        Self::Simulator,
    ];

    /// Returns the name in recordings, reports and on the screen.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Nats => "nats",
            Self::JetStream => "jetstream",
            Self::Zmq => "zmq",
            Self::Engines => "engines",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd",
            Self::Discovery => "discovery",
            Self::Indexer => "indexer",
            Self::PortForward => "port-forward",
            Self::Simulator => "simulator",
            Self::Other(name) => name,
        }
    }

    /// Returns true for a source of KV events as they are published.
    pub fn brings_events(&self) -> bool {
        Self::OF_EVENTS.contains(self)
    }

    /// Returns true for a source that lists the workers there are, and follows the list.
    pub fn lists_workers(&self) -> bool {
        matches!(self, Self::Kubernetes | Self::Etcd | Self::Discovery)
    }
}

impl From<&str> for SourceName {
    fn from(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == name);
        known.unwrap_or_else(|| Self::Other(name.into()))
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl PartialOrd for SourceName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SourceName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_read_back_and_an_unknown_one_is_kept() {
        for name in SourceName::ALL {
            assert_eq!(SourceName::from(name.as_str()), name);
        }
        assert_eq!(SourceName::from("kafka").as_str(), "kafka");
    }
}
