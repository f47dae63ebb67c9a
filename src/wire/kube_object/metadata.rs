//! `DynamoWorkerMetadata`: the discovery records of one process, under the name of its pod.

use std::sync::Arc;

use serde_json::Value;

use super::{Object, list, shared, string};
use crate::domain::{Advertised, Fact, Placement, WorkerId};
use crate::frame::Frame;
use crate::wire::{Facts, Reject, discovery};

/// Most channels that are kept of one process: a few topics for each rank.
const CHANNEL_LIMIT: usize = 4096;

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let object = Object::read(frame)?;
    let data = &object.value["spec"]["data"];
    if object.gone {
        for record in records(&data["endpoints"]) {
            facts.other.extend(discovery::membership(record, false));
        }
        let record = source_of(&object);
        facts.other.push(Fact::Advertised(Advertised { record, pod: None, channels: Vec::new() }));
        return Ok(());
    }
    let source = source_of(&object);
    let pod = pod_of(&object);
    for record in records(&data["endpoints"]) {
        discovery::record(record, &source, facts);
    }
    let channels = records(&data["event_channels"]).filter_map(discovery::channel);
    facts.other.push(Fact::Advertised(Advertised {
        record: Arc::clone(&source),
        pod: Some(Arc::clone(&pod)),
        channels: channels.take(CHANNEL_LIMIT).collect(),
    }));
    for card in records(&data["model_cards"]) {
        if let Some(id) = card["instance_id"].as_u64() {
            facts.other.push(Fact::Placed(Placement {
                worker: WorkerId(id),
                pod: Some(Arc::clone(&pod)),
                ranks: discovery::ranks(card),
            }));
        }
        discovery::record(card, &source, facts);
    }
    for record in records(&data["event_sources"]) {
        discovery::record(record, &source, facts);
    }
    Ok(())
}

fn source_of(object: &Object) -> Arc<str> {
    format!("DynamoWorkerMetadata {}", object.name).into()
}

/// With one record for each container the object's name is not the pod's; its owner is the pod.
fn pod_of(object: &Object) -> Arc<str> {
    let owners = list(&object.value["metadata"]["ownerReferences"]);
    let owner = owners.into_iter().find(|owner| owner["kind"] == "Pod");
    owner.and_then(|owner| string(owner, "name")).map_or_else(|| Arc::clone(&object.name), shared)
}

/// Returns the records of a map, which may be null.
fn records(map: &Value) -> impl Iterator<Item = &Value> {
    map.as_object().into_iter().flat_map(|map| map.values())
}
