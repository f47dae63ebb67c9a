//! The dump of a standalone indexer: all that its index holds, as KV events that would build it.
//!
//! `GET /dump` answers `{"model:group": {"block_size": n, "events": [RouterEvent…]}}`, or `{"error": …}`
//! for a part (dynamo-kv-router 1.6.1, `services/indexer/server.rs:476`). The events are in the order
//! in which they build the tree; their numbers say nothing (`indexer/radix_tree.rs:776`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::kv_json::{self, RouterEvent};
use super::{Facts, Reject, whole};
use crate::frame::Frame;

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    events: Vec<RouterEvent>,
}

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let bad = |_| Reject::new("indexer dump: not the JSON that was expected");
    let parts: BTreeMap<String, Part> = serde_json::from_slice(whole(frame)?).map_err(bad)?;
    for event in parts.into_values().flat_map(|part| part.events) {
        kv_json::push(event, frame.happened(), &mut facts.kv)?;
    }
    Ok(())
}
