//! Names of sources, fit for a terminal.

use std::borrow::Cow;
use std::sync::Arc;

use crate::domain::SourceName;
use crate::dynamo::plane;
use crate::frame::{Frame, Origin};
use crate::wire;

/// Longest sample that is kept of a reject.
const SAMPLE_LIMIT: usize = 120;

/// Longest name of a pod, a stream or a source that is kept.
pub(super) const NAME_LIMIT: usize = 512;

/// Returns true for messages that carry KV events.
pub(super) fn carries_kv(origin: &Origin) -> bool {
    match origin {
        Origin::Nats { subject, .. } | Origin::Jetstream { subject, .. } => {
            subject.ends_with(plane::KV_EVENTS)
        }
        Origin::Zmq { .. } => true,
        Origin::Log { .. }
        | Origin::Metrics { .. }
        | Origin::Kube { .. }
        | Origin::Etcd { .. }
        | Origin::File { .. }
        | Origin::Indexer { .. }
        | Origin::Health { .. } => false,
    }
}

/// Returns what the subject of a KV event begins with: all of it that names the Dynamo namespace
/// (`namespace.NS.component.…`, or `namespace-NS-component-…` in `JetStream`).
pub(super) fn home(origin: &Origin) -> Option<&str> {
    let (Origin::Nats { subject, .. } | Origin::Jetstream { subject, .. }) = origin else {
        return None;
    };
    let end = subject
        .find(plane::SUBJECT_COMPONENT)
        .or_else(|| subject.rfind(plane::STREAM_COMPONENT))?;
    subject.get(..end)
}

/// Returns the source of the frames of `origin`.
pub fn source_name(origin: &Origin) -> SourceName {
    match origin {
        Origin::Nats { .. } => SourceName::Nats,
        Origin::Jetstream { .. } => SourceName::JetStream,
        Origin::Zmq { .. } => SourceName::Zmq,
        Origin::Log { .. } => SourceName::Logs,
        Origin::Metrics { .. } => SourceName::Metrics,
        Origin::Kube { .. } => SourceName::Kubernetes,
        Origin::Etcd { .. } => SourceName::Etcd,
        Origin::File { .. } => SourceName::Discovery,
        Origin::Indexer { .. } => SourceName::Indexer,
        Origin::Health { source } => source.clone(),
    }
}

/// Returns true for a frame with names that are fit for a terminal.
pub(super) fn is_clean(frame: &Frame) -> bool {
    let is_clean = |name: &str| {
        name.len() <= NAME_LIMIT && name.bytes().all(|byte| (0x20..0x7F).contains(&byte))
    };
    match &frame.origin {
        Origin::Nats { subject: one, .. }
        | Origin::Zmq { endpoint: one }
        | Origin::Kube { kind: one, .. }
        | Origin::Etcd { key: one, .. }
        | Origin::File { key: one, .. }
        | Origin::Indexer { url: one } => is_clean(one),
        Origin::Health { source } => is_clean(source.as_str()),
        Origin::Jetstream { stream: one, subject: other, .. }
        | Origin::Log { namespace: one, pod: other, .. }
        | Origin::Metrics { pod: one, url: other } => is_clean(one) && is_clean(other),
    }
}

/// Returns the frame with the names in its origin fit for a terminal. Recordings may hold any.
pub(super) fn clean(frame: &Frame) -> Cow<'_, Frame> {
    if is_clean(frame) {
        return Cow::Borrowed(frame);
    }
    let mut frame = frame.clone();
    let scrub = |name: &mut Arc<str>| *name = wire::printable(name, NAME_LIMIT).into();
    match &mut frame.origin {
        Origin::Nats { subject, .. } => scrub(subject),
        Origin::Jetstream { stream, subject, .. } => [stream, subject].into_iter().for_each(scrub),
        Origin::Zmq { endpoint } => scrub(endpoint),
        Origin::Log { namespace, pod, .. } => [namespace, pod].into_iter().for_each(scrub),
        Origin::Metrics { pod, url } => [pod, url].into_iter().for_each(scrub),
        Origin::Kube { kind, .. } => scrub(kind),
        Origin::Etcd { key, .. } | Origin::File { key, .. } => scrub(key),
        Origin::Indexer { url } => scrub(url),
        Origin::Health { source } => {
            let mut name: Arc<str> = source.as_str().into();
            scrub(&mut name);
            *source = SourceName::from(&*name);
        }
    }
    Cow::Owned(frame)
}

pub(super) fn sample_of(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(SAMPLE_LIMIT * 4)];
    wire::printable(&String::from_utf8_lossy(head), SAMPLE_LIMIT).into_owned()
}
