//! The ways by which KV events travel.

use std::fmt;

use super::SourceName;

/// A way by which KV events travel from publishers to routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Plane {
    /// Plain subjects of NATS.
    NatsCore,
    /// Streams that NATS stores.
    JetStream,
    /// ZMQ, straight from each publisher.
    Zmq,
    /// ZMQ, through brokers.
    ZmqBrokers,
}

impl Plane {
    /// Returns the name in reports and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NatsCore => "NATS core",
            Self::JetStream => "JetStream",
            Self::Zmq => "ZMQ",
            Self::ZmqBrokers => "ZMQ brokers",
        }
    }

    /// Returns the word that chooses it in Dynamo's settings.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NatsCore | Self::JetStream => "nats",
            Self::Zmq | Self::ZmqBrokers => "zmq",
        }
    }

    /// Returns the source that connects to it.
    pub const fn source(self) -> SourceName {
        match self {
            Self::NatsCore | Self::JetStream => SourceName::Nats,
            Self::Zmq | Self::ZmqBrokers => SourceName::Zmq,
        }
    }
}

impl fmt::Display for Plane {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
