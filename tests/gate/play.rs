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
use crate::support::zmq_plane;

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
pub(crate) enum Plane {
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
    /// Attached just before it breaks, and still there.
    Watching,
    /// Attached while it is broken, and still there after the cure.
    Cured,
}

impl Moment {
    pub(super) const ALL: [Self; 7] = [
        Self::Before,
        Self::During,
        Self::Late,
        Self::After,
        Self::FiveMinutes,
        Self::Watching,
        Self::Cured,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::During => "during",
            Self::Late => "a minute late",
            Self::After => "just after the cure",
            Self::FiveMinutes => "five minutes after",
            Self::Watching => "before, watches it break",
            Self::Cured => "during, watches the cure",
        }
    }

    /// Returns the seconds of attaching and of judging.
    const fn span(self, is_slow: bool) -> (u64, u64) {
        match self {
            Self::During if is_slow => (65, 110),
            Self::Late if is_slow => (121, 163),
            Self::Before => (20, 45),
            Self::During => (85, 110),
            Self::Late => (138, 163),
            Self::After => (186, 204),
            Self::FiveMinutes => (486, 506),
            Self::Watching => (50, 110),
            Self::Cured => (150, 204),
        }
    }

    pub(super) const fn is_wrong(self) -> bool {
        matches!(self, Self::During | Self::Late | Self::Watching)
    }
}

/// A played deployment: everything that somebody saw who was there from the start.
pub(super) struct Played {
    pub(super) plane: Plane,
    is_slow: bool,
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
    pub(super) fn of(fault: &Fault, plane: Plane, seed: u64) -> Self {
        let mut simulation = Simulation::with((fault.config)(deployment(plane)), seed, START);
        let mut frames = notes(plane, START);
        frames.extend(simulation.advance(second(BREAKS)));
        (fault.breaks)(&mut simulation);
        frames.extend(simulation.advance(second(CURED)));
        (fault.cure)(&mut simulation);
        frames.extend(simulation.advance(second(Moment::After.span(false).1 + 1)));
        simulation.set_concurrency(FEW);
        frames.extend(simulation.advance(second(Moment::FiveMinutes.span(false).0 - 20)));
        simulation.set_concurrency(USERS);
        frames.extend(simulation.advance(second(END)));
        let span = second(BREAKS)..second(CURED);
        frames = (fault.alter)(frames, &span);
        if plane == Plane::Zmq {
            frames = frames.into_iter().map(over_zmq).collect();
        }
        Self { plane, is_slow: fault.is_slow, frames }
    }

    /// Returns what somebody gets who attaches at `moment`.
    pub(super) fn attached(&self, moment: Moment) -> Vec<Frame> {
        let (from, until) = moment.span(self.is_slow);
        attached(&self.frames, from, until)
    }
}

/// Returns what the sources of a live attach say once they are connected.
pub(crate) fn notes(plane: Plane, at: Timestamp) -> Vec<Frame> {
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
        Frame::new(at, Origin::Health { source: source.into() }, note.to_string())
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

/// Returns a frame as it would be where events travel over ZMQ.
fn over_zmq(frame: Frame) -> Frame {
    if let Some((publisher, parts)) = zmq_plane::message(&frame) {
        let origin = Origin::Zmq { endpoint: address(publisher).into() };
        let parts: Vec<Bytes> = parts.into_iter().map(Bytes::from).collect();
        return Frame { origin, body: Body::Parts(parts), ..frame };
    }
    zmq_plane::record(frame, &mut address)
}

/// Returns the frame with its JSON changed.
pub(super) fn edited(frame: Frame, edit: impl FnOnce(&mut Value)) -> Frame {
    let Body::Whole(body) = &frame.body else { return frame };
    let mut object: Value = serde_json::from_slice(body).unwrap();
    edit(&mut object);
    Frame { body: Body::Whole(object.to_string().into()), ..frame }
}

/// Returns the name of the object in a frame of Kubernetes.
pub(super) fn named(frame: &Frame) -> Option<(Arc<str>, String, Value)> {
    let Origin::Kube { kind, .. } = &frame.origin else { return None };
    let Body::Whole(body) = &frame.body else { return None };
    let object: Value = serde_json::from_slice(body).unwrap();
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Some((Arc::clone(kind), name, object))
}
