//! Evidence of how events reach kvtop.

use std::sync::Arc;

use crate::diagnose::{AdvertisedPlane, PlaneEvidence, Unheard};
use crate::domain::{SourceState, Transport};
use crate::engine::Engine;

/// Sources of events, and then those that tell where events are.
const SOURCES: [&str; 5] = ["nats", "zmq", "kubernetes", "etcd", "discovery"];

impl Engine {
    pub(super) fn plane_evidence(&self) -> PlaneEvidence {
        let mut plane = PlaneEvidence {
            name: self.deployment.plane.map(Arc::from),
            members: self.workers.members(),
            advertised: self.advertised(),
            logs_only: self.options.logs_only,
            ..PlaneEvidence::default()
        };
        for (_, record) in self.sources.all() {
            let Some(note) = &record.note else { continue };
            plane.dropped += note.dropped.max(note.drops_uncounted);
        }
        for name in SOURCES {
            let found = self.sources.all().find(|(known, _)| known.as_ref() == name);
            let Some((name, record)) = found else { continue };
            let Some(note) = &record.note else { continue };
            if note.state == SourceState::Down {
                plane.down.push(format!("{name}: {}", note.why));
            }
            if SOURCES[..2].contains(&name.as_ref()) && note.state != SourceState::Ended {
                plane.open.push(Arc::clone(name));
            }
            if let (Some(peers), Some(since)) = (note.peers, record.short_since) {
                let (source, why) = (Arc::clone(name), Arc::clone(&note.why));
                plane.unheard.push(Unheard { source, peers, why, since });
            }
        }
        for (origin, why, record) in self.rejects.reasons() {
            if ["nats", "jetstream", "zmq"].contains(&origin) {
                plane.unreadable.push(format!("{} times: {why}", record.count));
            }
        }
        plane
    }

    /// Returns where discovery records say that KV events are published.
    fn advertised(&self) -> Vec<AdvertisedPlane> {
        let mut found: Vec<AdvertisedPlane> = Vec::new();
        for (record, channel) in self.channels.all() {
            let (name, source, first) = match &channel.transport {
                Transport::Nats { prefix } => ("NATS core", "nats", prefix),
                Transport::Zmq { endpoint } => ("ZMQ", "zmq", endpoint),
                Transport::ZmqBroker { endpoints } => match endpoints.first() {
                    Some(first) => ("ZMQ brokers", "zmq", first),
                    None => continue,
                },
            };
            if name != "ZMQ brokers" && channel.topic.as_ref() != "kv-events" {
                continue;
            }
            match found.iter_mut().find(|known| known.name == name) {
                Some(known) => known.publishers += 1,
                None => found.push(AdvertisedPlane {
                    name,
                    source,
                    publishers: 1,
                    first: Arc::clone(first),
                    record: Arc::clone(&record.record),
                }),
            }
        }
        found
    }
}
