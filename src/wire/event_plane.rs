//! The event plane: `MessagePack` envelopes, on NATS core and on ZMQ.
//!
//! An envelope is `{publisher_id, sequence, published_at, topic, payload}` with the payload as binary
//! data (dynamo-runtime 0.9.0, `transports/event_plane/traits.rs:13`). On ZMQ it comes as the last of
//! four parts: topic, publisher, sequence, and one byte of version with the length before the
//! envelope (`transports/event_plane/frame.rs:15`).

use super::msgpack::{Cursor, Malformed};
use super::{Facts, Reject, engine_events, kv_msgpack, load, whole};
use crate::domain::{Envelope, Fact};
use crate::dynamo::plane;
use crate::frame::{Body, Frame, Origin};

/// Version of the frame around an envelope on ZMQ.
const ZMQ_FRAME_VERSION: u8 = 1;

/// Returns true for a subject of the event plane whose messages kvtop reads.
pub fn is_read(subject: &str) -> bool {
    topic_of(subject).is_some()
}

/// Returns the topic of an event-plane subject, its last part, if kvtop reads it.
pub(super) fn topic_of(subject: &str) -> Option<&'static str> {
    let rest = subject.strip_prefix(plane::SUBJECT_START)?;
    // The topic that comes most needs no search.
    if rest.ends_with(plane::KV_EVENTS_SUBJECT_END) {
        return Some(plane::TOPICS[0]);
    }
    rest.rsplit('.').next().and_then(known)
}

fn known(topic: &str) -> Option<&'static str> {
    plane::TOPICS.into_iter().find(|known| *known == topic)
}

pub(super) fn decode_nats(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let Origin::Nats { subject, .. } = &frame.origin else { return Ok(()) };
    let Some(topic) = topic_of(subject) else { return Ok(()) };
    envelope(whole(frame)?, topic, frame, facts)
}

pub(super) fn decode_zmq(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let Body::Parts(parts) = &frame.body else {
        return Err(Reject::new("a ZMQ message of one part; expected four"));
    };
    if let [first, pod, kept] = parts.as_slice()
        && first == engine_events::TOPIC
    {
        return engine_events::decode(pod, kept, facts);
    }
    let [topic, publisher, sequence, framed] = parts.as_slice() else {
        return Err(Reject::new("a ZMQ message without its four parts"));
    };
    let topic = std::str::from_utf8(topic).map_err(|_| Reject::new("ZMQ topic is not UTF-8"))?;
    // Brokers of 1.4 and later put the whole subject where others put the topic.
    let topic = topic.rsplit('.').next().unwrap_or(topic);
    let Some(topic) = known(topic) else { return Ok(()) };
    if publisher.len() != 8 || sequence.len() != 8 {
        return Err(Reject::new("ZMQ publisher and sequence are not 8 bytes long"));
    }
    let (head, body) = framed
        .split_first_chunk::<5>()
        .ok_or_else(|| Reject::new("a ZMQ event frame shorter than its head"))?;
    if head[0] != ZMQ_FRAME_VERSION {
        return Err(Reject::new(format!("ZMQ event frame of version {}", head[0])));
    }
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    if u32::try_from(body.len()) != Ok(length) {
        return Err(Reject::new("a ZMQ event frame whose length is not what it says"));
    }
    envelope(body, topic, frame, facts)
}

/// The fields of an envelope that kvtop uses.
#[derive(Default)]
struct Fields<'a> {
    publisher: Option<u64>,
    sequence: Option<u64>,
    payload: Option<&'a [u8]>,
}

fn envelope(
    body: &[u8],
    topic: &'static str,
    frame: &Frame,
    facts: &mut Facts,
) -> Result<(), Reject> {
    let fields =
        fields(body).map_err(|error| Reject::new(format!("event envelope: {}", error.why())))?;
    let missing = |key| Reject::new(format!("event envelope: no `{key}`"));
    let publisher = fields.publisher.ok_or_else(|| missing("publisher_id"))?;
    let sequence = fields.sequence.ok_or_else(|| missing("sequence"))?;
    let payload = fields.payload.ok_or_else(|| missing("payload"))?;
    let at = frame.happened();
    // A payload that cannot be read still counts for the publisher's sequence.
    let decoded = match topic {
        plane::KV_EVENTS => kv_msgpack::decode(payload, at, facts),
        plane::LOAD => load::active_load(payload, publisher, facts).map(|()| None),
        plane::HIT_RATE => load::hit_rate(payload, facts).map(|()| None),
        plane::ACTIVE_SEQUENCES => load::active_sequences(payload, facts).map(|()| None),
        _ => Ok(None),
    };
    facts.other.push(Fact::Envelope {
        topic,
        envelope: Envelope { publisher, sequence },
        worker: decoded.as_ref().ok().copied().flatten(),
    });
    decoded.map(|_| ())
}

/// Reads the envelope that Dynamo writes; none when it is of another form.
fn plain_fields(body: &[u8]) -> Option<Fields<'_>> {
    let mut cursor = Cursor::new(body);
    cursor.expect(b"\x85\xACpublisher_id")?;
    let publisher = Some(cursor.unsigned().ok()?);
    cursor.expect(b"\xA8sequence")?;
    let sequence = Some(cursor.unsigned().ok()?);
    cursor.expect(b"\xACpublished_at")?;
    cursor.unsigned().ok()?;
    if cursor.expect(plane::KV_EVENTS_FIELD).is_none() {
        cursor.expect(b"\xA5topic")?;
        cursor.text().ok()?;
        cursor.expect(b"\xA7payload")?;
    }
    let payload = Some(cursor.binary().ok()?);
    Some(Fields { publisher, sequence, payload })
}

fn fields(body: &[u8]) -> Result<Fields<'_>, Malformed> {
    if let Some(fields) = plain_fields(body) {
        return Ok(fields);
    }
    any_fields(body)
}

fn any_fields(body: &[u8]) -> Result<Fields<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let mut fields = Fields::default();
    for _ in 0..cursor.map()? {
        match cursor.text()? {
            b"publisher_id" => fields.publisher = Some(cursor.unsigned()?),
            b"sequence" => fields.sequence = Some(cursor.unsigned()?),
            b"payload" => fields.payload = Some(cursor.binary()?),
            _ => cursor.skip()?,
        }
    }
    Ok(fields)
}
