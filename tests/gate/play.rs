//! The deployment of the matrix: it starts well, something breaks it, something cures it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kvtop::domain::Timestamp;
use kvtop::frame::{Body, Frame, Origin};
use kvtop::simulator::{RouterMode, Service, SimConfig, Simulation, Site};
use kvtop::wire::encode::Family;
use serde_json::{Value, json};

use super::faults::Fault;
use crate::diagnosis::START;
use crate::support::late::attached;
use crate::support::users_cluster::healthy;

/// Seconds from the start until something breaks, and until it is cured.
pub(super) const BREAKS: u64 = 60;
pub(super) const CURED: u64 = 165;
/// Seconds that are simulated.
const END: u64 = 507;
/// Conversations while somebody looks, and while nobody does.
const USERS: usize = 20;
const FEW: usize = 2;

/// A release and how its KV events travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plane {
    Jetstream,
    Core,
    Zmq,
}

impl Plane {
    pub(super) const ALL: [Self; 3] = [Self::Jetstream, Self::Core, Self::Zmq];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Jetstream => "0.9 JetStream",
            Self::Core => "1.0 NATS",
            Self::Zmq => "1.6 ZMQ",
        }
    }

    const fn family(self) -> Family {
        match self {
            Self::Jetstream => Family::V0_9,
            Self::Core => Family::V1_0,
            Self::Zmq => Family::V1_6,
        }
    }
}

/// When somebody attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    Before,
    During,
    Late,
    After,
    FiveMinutes,
}

impl Moment {
    pub(super) const ALL: [Self; 5] =
        [Self::Before, Self::During, Self::Late, Self::After, Self::FiveMinutes];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::During => "during",
            Self::Late => "a minute late",
            Self::After => "just after the cure",
            Self::FiveMinutes => "five minutes after",
        }
    }

    /// Returns the seconds of attaching and of judging.
    const fn span(self) -> (u64, u64) {
        match self {
            Self::Before => (20, 45),
            Self::During => (85, 110),
            Self::Late => (138, 163),
            Self::After => (186, 204),
            Self::FiveMinutes => (486, 506),
        }
    }

    pub(super) const fn is_wrong(self) -> bool {
        matches!(self, Self::During | Self::Late)
    }
}

/// A played deployment: everything that somebody saw who was there from the start.
pub(super) struct Played {
    pub(super) plane: Plane,
    frames: Vec<Frame>,
}

fn second(number: u64) -> Timestamp {
    START.after(Duration::from_secs(number))
}

/// Returns the deployment before anything happens to it.
pub(super) fn deployment(plane: Plane) -> SimConfig {
    SimConfig {
        family: plane.family(),
        service: Service { concurrency: USERS, ..healthy().service },
        declared: None,
        mode: RouterMode::Kv,
        site: &Site::GTC_DEMO,
        ..healthy()
    }
}

impl Played {
    pub(super) fn of(fault: &Fault, plane: Plane) -> Self {
        let mut simulation = Simulation::with((fault.config)(deployment(plane)), 7, START);
        let mut frames = notes(plane);
        frames.extend(simulation.advance(second(BREAKS)));
        (fault.breaks)(&mut simulation);
        frames.extend(simulation.advance(second(CURED)));
        (fault.cure)(&mut simulation);
        frames.extend(simulation.advance(second(Moment::After.span().1 + 1)));
        simulation.set_concurrency(FEW);
        frames.extend(simulation.advance(second(Moment::FiveMinutes.span().0 - 20)));
        simulation.set_concurrency(USERS);
        frames.extend(simulation.advance(second(END)));
        let span = second(BREAKS)..second(CURED);
        frames = (fault.alter)(frames, &span);
        if plane == Plane::Zmq {
            frames = frames.into_iter().map(over_zmq).collect();
        }
        Self { plane, frames }
    }

    /// Returns what somebody gets who attaches at `moment`.
    pub(super) fn attached(&self, moment: Moment) -> Vec<Frame> {
        let (from, until) = moment.span();
        attached(&self.frames, from, until)
    }
}

/// Returns what the sources of a live attach say once they are connected.
fn notes(plane: Plane) -> Vec<Frame> {
    let count = healthy().workers.len();
    let events = match plane {
        Plane::Zmq => {
            let peers = json!({ "wanted": count, "reached": count });
            ("zmq", json!({ "state": "live", "why": "all publishers connected", "peers": peers }))
        }
        Plane::Jetstream | Plane::Core => ("nats", json!({ "state": "live" })),
    };
    let others =
        [("kubernetes", ""), ("metrics", "all endpoints answer"), ("logs", "all logs followed")];
    let others = others.map(|(name, why)| (name, json!({ "state": "live", "why": why })));
    let notes = others.into_iter().chain([events]).map(|(source, mut note)| {
        for count in ["dropped", "drops_uncounted", "interruptions"] {
            note[count] = json!(0);
        }
        Frame::new(START, Origin::Health { source: source.into() }, note.to_string())
    });
    notes.collect()
}

/// Returns the address of a publisher.
fn address(publisher: u64) -> String {
    format!(
        "tcp://10.244.{}.{}:{}",
        publisher % 200,
        publisher / 200 % 200,
        20_000 + publisher % 9_999
    )
}

/// Returns a frame as it would be where events travel over ZMQ: messages between two parts of a frame header,
/// records with the publishers' addresses.
fn over_zmq(frame: Frame) -> Frame {
    match &frame.origin {
        Origin::Nats { subject, .. } => {
            let Body::Whole(body) = &frame.body else { return frame };
            let topic = subject.rsplit_once('.').unwrap().1.to_owned();
            let (publisher, sequence) = numbers(body);
            let size = u32::try_from(body.len()).unwrap().to_be_bytes();
            let framed: Vec<u8> = [&[1][..], &size, body].concat();
            let parts: [Bytes; 4] = [
                topic.into_bytes().into(),
                publisher.to_be_bytes().to_vec().into(),
                sequence.to_be_bytes().to_vec().into(),
                framed.into(),
            ];
            let origin = Origin::Zmq { endpoint: address(publisher).into() };
            Frame { origin, body: Body::Parts(parts.into()), ..frame }
        }
        Origin::Kube { kind, .. } if &**kind == "DynamoWorkerMetadata" => edited(frame, |object| {
            let channels = object["spec"]["data"]["event_channels"].as_object_mut();
            for channel in channels.into_iter().flat_map(serde_json::Map::values_mut) {
                let Some(publisher) = channel["instance_id"].as_u64() else { continue };
                if channel["transport"].is_object() {
                    let config = json!({ "endpoint": address(publisher) });
                    channel["transport"] = json!({ "kind": "Zmq", "config": config });
                }
            }
        }),
        _ => frame,
    }
}

/// Returns the frame with its JSON changed.
pub(super) fn edited(frame: Frame, edit: impl FnOnce(&mut Value)) -> Frame {
    let Body::Whole(body) = &frame.body else { return frame };
    let mut object: Value = serde_json::from_slice(body).unwrap();
    edit(&mut object);
    Frame { body: Body::Whole(object.to_string().into()), ..frame }
}

/// Reads publisher and sequence of an envelope, the first two fields that the simulator writes.
fn numbers(envelope: &[u8]) -> (u64, u64) {
    let after = |key: &[u8]| {
        let at = envelope.windows(key.len()).position(|part| part == key).unwrap() + key.len();
        uint(&envelope[at..])
    };
    (after(b"publisher_id"), after(b"sequence"))
}

/// Reads an unsigned number of MessagePack.
fn uint(bytes: &[u8]) -> u64 {
    let size = match bytes[0] {
        small @ 0..=0x7f => return u64::from(small),
        0xcc => 1,
        0xcd => 2,
        0xce => 4,
        0xcf => 8,
        other => panic!("{other:#x} begins no number"),
    };
    bytes[1..=size].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Returns the name of the object in a frame of Kubernetes.
pub(super) fn named(frame: &Frame) -> Option<(Arc<str>, String, Value)> {
    let Origin::Kube { kind, .. } = &frame.origin else { return None };
    let Body::Whole(body) = &frame.body else { return None };
    let object: Value = serde_json::from_slice(body).unwrap();
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Some((Arc::clone(kind), name, object))
}
