//! Evidence of how events reach kvtop.

use std::sync::Arc;
use std::time::Duration;

use super::Judge;
use crate::diagnose::{
    AdvertisedPlane, DownSource, PlaneEvidence, Refusal, RefusedCard, Unheard, Unregistered,
};
use crate::domain::{
    CardRefused, Plane, Pod, Seat, SourceName, SourceNote, SourceState, Subject, Timestamp,
    Transport,
};
use crate::dynamo::plane as topic;
use crate::engine::Setup;
use crate::model::{PodRecord, pod_worker_id};

/// Sources of events, and then those that tell where events are.
const SOURCES: [SourceName; 5] = [
    SourceName::Nats,
    SourceName::Zmq,
    SourceName::Kubernetes,
    SourceName::Etcd,
    SourceName::Discovery,
];

/// The time for which the refusal of a worker counts that its router does not name, or beside which nobody was chosen.
const REFUSED_LATELY: Duration = Duration::from_secs(300);

/// Returns a source that does not deliver, or not all, with what its last note says.
fn down(name: &SourceName, note: &SourceNote) -> DownSource {
    DownSource {
        source: name.clone(),
        why: Arc::clone(&note.why),
        troubles: note.troubles.clone(),
        peers: note.peers,
        unreached: note.unreached.clone(),
    }
}

impl Judge<'_> {
    /// Returns the workers that routers refuse because of their model cards. One that is gone, that was chosen since, or
    /// whose set its router made anew is refused no more; where its router does not name it, the refusal counts for a
    /// while.
    pub(super) fn cards_refused(&self, at: Timestamp) -> Vec<RefusedCard> {
        let workers = &self.known.fleet.workers;
        let ranks = || workers.ranks().iter();
        let holds = |(refused, then): &&(CardRefused, Timestamp)| {
            let began = self.known.setup().router_watch(&refused.router).began;
            if self.known.shown.is_deleted(&refused.router)
                || began.is_some_and(|began| began > *then)
                || self.known.fleet.refused.made(refused).is_some_and(|made| made > *then)
            {
                return false;
            }
            let Some(worker) = refused.worker else { return at.since(*then) <= REFUSED_LATELY };
            let removed = self.known.fleet.arrivals.removed(worker);
            let gone = self.known.fleet.is_gone(worker) || removed.is_some_and(|at| at > *then);
            let there = workers.is_listed(worker) || (self.known.fleet.members() == 0 && !gone);
            let chosen = |own: bool| {
                ranks().any(|it| {
                    (it.rank.worker == worker) == own
                        && it.last_routed.is_some_and(|last| last > *then)
                })
            };
            there && !chosen(true) && (chosen(false) || at.since(*then) <= REFUSED_LATELY)
        };
        let refused = self.known.fleet.refused.cards().filter(holds);
        refused.map(|(said, at)| RefusedCard { said: said.clone(), at: *at }).collect()
    }

    pub(super) fn plane_evidence(&self) -> PlaneEvidence {
        let mut plane = PlaneEvidence {
            name: self.known.streams.deployment.plane,
            members: self.known.fleet.members(),
            listed: self.known.fleet.workers.first_joined(),
            advertised: self.advertised(),
            keeps: self.known.streams.history.keeps(),
            logs_only: self.known.options.logs_only,
            ..PlaneEvidence::default()
        };
        for (_, record) in self.known.streams.sources.all() {
            let Some(note) = record.note.as_ref().filter(|note| note.source.brings_events()) else {
                continue;
            };
            let dropped = note.dropped.max(note.drops_uncounted);
            plane.dropped = plane.dropped.saturating_add(dropped);
        }
        plane.deaf = self.deaf();
        for name in SOURCES {
            let found = self.known.streams.sources.all().find(|(known, _)| **known == name);
            let Some((name, record)) = found else { continue };
            let Some(note) = &record.note else { continue };
            if note.state == SourceState::Down {
                plane.down.push(down(name, note));
            }
            let discovers = matches!(name, SourceName::Kubernetes | SourceName::Etcd);
            plane.followed |= discovers && note.state == SourceState::Live;
            if name.brings_events() && note.state != SourceState::Ended {
                plane.open.push(name.clone());
            }
            if let Some(peers) = note.peers.filter(|peers| peers.reached >= peers.wanted) {
                plane.reached += peers.reached;
            }
            if let (Some(peers), Some(since)) = (note.peers, record.short_since) {
                plane.unheard.push(Unheard { source: down(name, note), peers, since });
            }
        }
        for (origin, why, record) in self.known.streams.rejects.reasons() {
            if ["nats", "jetstream", "zmq"].contains(&origin) {
                plane.unreadable.push(format!("{} times: {why}", record.count));
            }
        }
        plane
    }

    /// Returns the first source of events that is down, if no source of events delivers.
    fn deaf(&self) -> Option<DownSource> {
        let note = |wanted: &SourceName| {
            let (name, record) =
                self.known.streams.sources.all().find(|(known, _)| *known == wanted)?;
            Some((name, record.note.as_ref()?))
        };
        let notes = || SourceName::OF_EVENTS.iter().filter_map(note);
        if notes().any(|(_, note)| matches!(note.state, SourceState::Live | SourceState::Lossy)) {
            return None;
        }
        let (name, note) = notes().find(|(_, note)| note.state == SourceState::Down)?;
        Some(down(name, note))
    }

    /// Returns where discovery records say that KV events are published.
    fn advertised(&self) -> Vec<AdvertisedPlane> {
        let mut found: Vec<AdvertisedPlane> = Vec::new();
        for (record, channel) in self.known.shown.channels.all() {
            let (plane, first) = match &channel.transport {
                Transport::Nats { prefix } => (Plane::NatsCore, prefix),
                Transport::Zmq { endpoint } => (Plane::Zmq, endpoint),
                Transport::ZmqBroker { endpoints } => match endpoints.first() {
                    Some(first) => (Plane::ZmqBrokers, first),
                    None => continue,
                },
            };
            if plane != Plane::ZmqBrokers && channel.topic.as_ref() != topic::KV_EVENTS {
                continue;
            }
            match found.iter_mut().find(|known| known.plane == plane) {
                Some(known) => known.publishers += 1,
                None => found.push(AdvertisedPlane {
                    plane,
                    publishers: 1,
                    first: Arc::clone(first),
                    record: Arc::clone(&record.record),
                }),
            }
        }
        found
    }
}

impl Setup<'_> {
    /// Returns pods that were refused to register, and have not registered since.
    pub(super) fn registrations_refused(&self) -> Vec<Refusal> {
        let refused = self.fleet.refused.all().filter(|(refused, at)| {
            let worker = self.fleet.workers.worker(pod_worker_id(&refused.pod));
            let registered = worker.is_some_and(|worker| {
                !worker.gone && worker.joined.is_some_and(|joined| joined > *at)
            });
            !registered && !self.shown.is_deleted(&refused.pod)
        });
        refused.map(|(said, at)| Refusal { said: said.clone(), at: *at }).collect()
    }

    /// Returns ready pods of workers without a worker in discovery. Known of discovery by Kubernetes only,
    /// where a pod's name gives its id, and of a worker of several pods only of the one that speaks for it,
    /// where that is told.
    pub(super) fn unregistered(&self) -> Vec<Unregistered> {
        let registered = |pod: &str| {
            let known = self.fleet.workers.worker(pod_worker_id(pod));
            known.is_some_and(|worker| worker.joined.is_some() && !worker.gone)
                || self.fleet.workers.is_announced(pod_worker_id(pod))
        };
        let workers = self.shown.cluster.pods().filter(|record| record.pod.role.is_worker());
        let workers: Vec<&PodRecord> = workers.collect();
        if !workers.iter().any(|record| registered(&record.pod.name)) {
            return Vec::new();
        }
        let single = |pod: &Pod| {
            let graph = self.shown.cluster.graphs().find(|it| Some(&it.name) == pod.graph.as_ref());
            let mut components = graph.into_iter().flat_map(|graph| &graph.components);
            let known = components.find(|it| Some(&it.name) == pod.component.as_ref());
            let beside = |it: &&&PodRecord| {
                (&it.pod.graph, &it.pod.component) == (&pod.graph, &pod.component)
            };
            let count = workers.iter().filter(beside).count() as u64;
            let Some(component) = known else { return false };
            let alone = component.nodes.is_none_or(|nodes| nodes <= 1);
            match pod.seat {
                Seat::Leader => true,
                Seat::Follower => false,
                Seat::Unsaid => alone && component.replicas.is_some_and(|wanted| count <= wanted),
            }
        };
        let missing = workers.iter().filter(|record| {
            let pod = &record.pod;
            let there = pod.ready && !pod.terminating && pod.etcd.is_none();
            let chosen = self.is_chosen(&Subject::Pod(Arc::clone(&pod.name)));
            there && chosen && !registered(&pod.name) && single(pod)
        });
        let missing = missing.map(|record| Unregistered {
            pod: Arc::clone(&record.pod.name),
            since: record.first.max(record.began.unwrap_or_default()),
        });
        missing.take(16).collect()
    }
}
