//! Wire formats: frames in, facts out. Pure; no memory between frames, no clock, no I/O.
//!
//! One decoder for each format, in [`DECODERS`]. A frame that no decoder accepts is ignored on
//! purpose (a subject or a log line that kvtop has no use for); one that its decoder cannot read is a
//! [`Reject`].

pub mod chain;
mod discovery;
pub mod encode;
pub mod engine_events;
mod event_plane;
pub use event_plane::is_read;
pub mod health;
mod indexer_dump;
mod kube_object;
mod kv_json;
mod kv_msgpack;
mod load;
mod msgpack;
mod prometheus_text;
mod readable;
mod router_log;
mod text;
mod version_sign;

use crate::domain::{ConfigMaps, Fact, KvBatch, Releases};
use crate::dynamo::{plane, release};
use crate::frame::{Body, Frame, Origin};

pub use kube_object::{
    backend_of_image, kept_of_engine_file, kept_of_processes, kept_of_record, kept_of_variable,
    runs_module, services_win,
};
pub use prometheus_text::kept_of_scrape;
pub use readable::readable;
pub use router_log::{begins_log_entry, described_log_line, kept_of_log_line};
pub use text::printable;

/// The content of frames. KV events are apart, because there are many and they are applied in bursts.
#[derive(Debug, Default)]
pub struct Facts {
    /// KV events, in order.
    pub kv: KvBatch,
    /// Everything else, in order.
    pub other: Vec<Fact>,
    /// The newest shape of KV event that was seen.
    pub shape: Option<Shape>,
}

impl Facts {
    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.kv.clear();
        self.other.clear();
        self.shape = None;
    }

    pub(crate) fn note_shape(&mut self, shape: Shape) {
        self.shape = self.shape.max(Some(shape));
    }
}

/// The form of a KV event, which differs by Dynamo release.
///
/// Up to 1.3 a message holds one event, later ones an array (dynamo-llm 1.4.0
/// `kv_router/publisher/sinks.rs:24`); from 1.5 on a publisher always names the domain
/// (dynamo-kv-router 1.6.1 `protocols.rs:1525`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// No `storage_tier`: 0.9 or 1.0.
    Plain,
    /// `storage_tier`, one event in a message: 1.1 to 1.3.
    Tiered,
    /// `start_position`, one event in a message: 1.2 or 1.3.
    Positioned,
    /// An array of events, without `residency_domain`: 1.4.
    Batched,
    /// `residency_domain`: 1.5 and later.
    Domained,
}

impl Shape {
    /// Returns the releases that send it.
    pub const fn releases(self) -> Releases {
        match self {
            Self::Plain => Releases::before(release::EVENTS_NAME_TIERS),
            Self::Tiered => {
                Releases::since(release::EVENTS_NAME_TIERS).until(release::EVENTS_IN_BATCHES)
            }
            Self::Positioned => {
                Releases::since(release::EVENTS_NAME_POSITIONS).until(release::EVENTS_IN_BATCHES)
            }
            Self::Batched => {
                Releases::since(release::EVENTS_IN_BATCHES).until(release::EVENTS_NAME_DOMAINS)
            }
            Self::Domained => Releases::since(release::EVENTS_NAME_DOMAINS),
        }
    }
}

/// The reason why a frame could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Reject {
    /// Why, for people; a bounded number of different texts.
    pub why: String,
}

impl Reject {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

/// A decoder of one wire format.
#[derive(Clone, Copy)]
pub struct Decoder {
    /// Its name; `tests/fixtures/wire` has a folder of that name.
    pub id: &'static str,
    /// Returns true for a frame of this format, judged by its origin alone.
    pub accepts: fn(&Frame) -> bool,
    /// Reads a frame. What it added to the facts before it failed is kept only if it is whole.
    pub decode: fn(&Frame, &mut Facts) -> Result<(), Reject>,
}

const KUBE: [Decoder; 5] = kube_object::DECODERS;

/// Every decoder. The first that accepts a frame reads it.
pub const DECODERS: &[Decoder] = &[
    Decoder { id: "event-plane-zmq", accepts: is_zmq, decode: event_plane::decode_zmq },
    Decoder { id: "kv-json", accepts: is_kv_json, decode: kv_json::decode },
    Decoder { id: "event-plane-nats", accepts: is_event_plane, decode: event_plane::decode_nats },
    Decoder { id: "router-log", accepts: is_log, decode: router_log::decode },
    Decoder { id: "prometheus", accepts: is_metrics, decode: prometheus_text::decode },
    Decoder { id: "discovery-etcd", accepts: is_record, decode: discovery::decode },
    Decoder { id: "indexer-dump", accepts: is_dump, decode: indexer_dump::decode },
    KUBE[0],
    KUBE[1],
    KUBE[2],
    KUBE[3],
    KUBE[4],
    Decoder { id: "health", accepts: is_health, decode: decode_health },
];

/// Returns the longest body that is read, in bytes. JSON that becomes a tree of values takes some thirty
/// times its length; a store of etcd, Kubernetes' own included, takes no object above 1.5 MiB.
const fn longest(origin: &Origin) -> usize {
    match origin {
        Origin::Health { .. } => 64 << 10,
        Origin::Kube { .. } | Origin::Etcd { .. } | Origin::File { .. } => 4 << 20,
        Origin::Indexer { .. } => 48 << 20,
        _ => 16 << 20,
    }
}

fn not_too_long(frame: &Frame) -> Result<(), Reject> {
    if frame.len() > longest(&frame.origin) {
        return Err(Reject::new("the message is too long to be read"));
    }
    Ok(())
}

/// Adds to `facts` what `frame` says.
pub fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    not_too_long(frame)?;
    match DECODERS.iter().find(|decoder| (decoder.accepts)(frame)) {
        Some(decoder) => (decoder.decode)(frame, facts),
        None => Ok(()),
    }
}

/// Adds to `facts` what `frame` says, with the variables that its processes take from `maps`. A
/// `ConfigMap` that is not among them may set anything: what it may set is unknown.
pub fn decode_with(frame: &Frame, maps: &ConfigMaps, facts: &mut Facts) -> Result<(), Reject> {
    not_too_long(frame)?;
    kube_object::decode_with(frame, maps, facts).unwrap_or_else(|| decode(frame, facts))
}

fn is_zmq(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Zmq { .. })
}

fn is_log(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Log { .. })
}

fn is_metrics(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Metrics { .. })
}

fn is_record(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Etcd { .. } | Origin::File { .. })
}

fn is_dump(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Indexer { .. })
}

fn is_health(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Health { .. })
}

/// KV events in JSON are bodies of a `JetStream` stream `…-kv-events`, seen live or read back.
fn is_kv_json(frame: &Frame) -> bool {
    match &frame.origin {
        Origin::Jetstream { subject, .. } => subject.ends_with(plane::KV_EVENTS),
        Origin::Nats { subject, .. } => {
            subject.ends_with(plane::KV_EVENTS_SUBJECT_END)
                && whole(frame).is_ok_and(|body| body.trim_ascii_start().first() == Some(&b'{'))
        }
        _ => false,
    }
}

fn is_event_plane(frame: &Frame) -> bool {
    match &frame.origin {
        Origin::Nats { subject, .. } => event_plane::topic_of(subject).is_some(),
        _ => false,
    }
}

fn whole(frame: &Frame) -> Result<&[u8], Reject> {
    match &frame.body {
        Body::Whole(bytes) => Ok(bytes),
        Body::Parts(_) => Err(Reject::new("a multipart body where one piece was expected")),
    }
}

fn utf8(frame: &Frame) -> Result<&str, Reject> {
    std::str::from_utf8(whole(frame)?).map_err(|_| Reject::new("the text is not UTF-8"))
}

fn decode_health(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let Origin::Health { source } = &frame.origin else { return Ok(()) };
    let note = health::decode(source, frame.at, whole(frame)?)
        .map_err(|why| Reject::new(format!("bad health note: {why}")))?;
    facts.other.push(Fact::Source(note));
    Ok(())
}
