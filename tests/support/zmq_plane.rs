//! What the simulator publishes on NATS, as it is where events travel over ZMQ.

use kvtop::frame::{Body, Frame, Origin};
use serde_json::{Map, Value, json};

use super::libzmq::Parts;

/// Returns the publisher of a message, and the message as it is on ZMQ: in four parts, with a head before the
/// envelope. None for frames that are no messages.
pub(crate) fn message(frame: &Frame) -> Option<(u64, Parts)> {
    let (Origin::Nats { subject, .. }, Body::Whole(body)) = (&frame.origin, &frame.body) else {
        return None;
    };
    let topic = subject.rsplit_once('.').unwrap().1;
    let (publisher, sequence) = numbers(body);
    let size = u32::try_from(body.len()).unwrap().to_be_bytes();
    let framed = [&[1][..], &size, body].concat();
    let parts = [
        topic.as_bytes().to_vec(),
        publisher.to_be_bytes().to_vec(),
        sequence.to_be_bytes().to_vec(),
        framed,
    ];
    Some((publisher, parts.into()))
}

/// Returns a discovery record with the addresses of its publishers; other frames as they are.
pub(crate) fn record(frame: Frame, address: &mut dyn FnMut(u64) -> String) -> Frame {
    let (Origin::Kube { kind, .. }, Body::Whole(body)) = (&frame.origin, &frame.body) else {
        return frame;
    };
    if &**kind != "DynamoWorkerMetadata" {
        return frame;
    }
    let mut object: Value = serde_json::from_slice(body).unwrap();
    let channels = object["spec"]["data"]["event_channels"].as_object_mut();
    for channel in channels.into_iter().flat_map(Map::values_mut) {
        let Some(publisher) = channel["instance_id"].as_u64() else { continue };
        if channel["transport"].is_object() {
            let config = json!({ "endpoint": address(publisher) });
            channel["transport"] = json!({ "kind": "Zmq", "config": config });
        }
    }
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

/// Reads an unsigned number of `MessagePack`.
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
