//! KV events in JSON: the body of a `JetStream` message, one `RouterEvent` without an envelope
//! (default of Dynamo 0.9, on request up to 1.3; dynamo-runtime 0.9.0, `transports/nats.rs:843`).
//!
//! A hand-written reader takes the form that Dynamo writes; anything else, however valid, goes to
//! `serde_json`. A test holds the two together.

mod digits;
mod fast;
mod tolerant;

pub(super) use tolerant::{RouterEvent, push};

use super::{Facts, Reject, Shape, whole};
use crate::frame::Frame;

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let body = whole(frame)?;
    let at = frame.happened();
    let mark = facts.kv.mark();
    let shape = if let Some(shape) = fast::decode(body, at, &mut facts.kv) {
        shape
    } else {
        facts.kv.roll_back(mark);
        tolerant::decode(body, at, &mut facts.kv)?
    };
    facts.note_shape(shape);
    Ok(())
}

/// Returns the shape for the keys that were present.
fn shape_of(tier: bool, position: bool, domain: bool) -> Shape {
    match (tier, position, domain) {
        (_, _, true) => Shape::Domained,
        (_, true, false) => Shape::Positioned,
        (true, false, false) => Shape::Tiered,
        (false, false, false) => Shape::Plain,
    }
}
