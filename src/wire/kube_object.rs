//! Kubernetes objects in their own JSON, as trimmed by whoever watched them (PROTOCOL 5.2 and 7).
//!
//! Objects are read leniently: a field that is missing or of another type is not known. Values of
//! credentials are never read, only what they refer to.

mod command;
mod config_map;
mod dotted;
mod engine_config;
mod engine_file;
mod env;
mod graph;
mod image;
mod kept;
mod manifest;
mod metadata;
mod pod;
mod settings;
mod shell;
mod volume;

use std::sync::Arc;

use serde_json::Value;

pub use image::{backend as backend_of_image, services_win};
pub use kept::{kept_of_engine_file, kept_of_processes, kept_of_record, kept_of_variable};
pub use pod::runs_module;

use super::text::printable;
use super::{Decoder, Facts, Reject, whole};
use crate::domain::{ConfigMaps, Endpoints, Fact, PodRef, Timestamp};
use crate::dynamo::label;
use crate::frame::{Frame, KubeChange, Origin};

/// Longest name that is kept: the longest that Kubernetes allows.
const NAME_LIMIT: usize = 253;

/// Longest text that is kept as evidence.
const RAW_LIMIT: usize = 300;

/// Largest object that is read; etcd holds none of more than 1.5 MiB.
const OBJECT_LIMIT: usize = 4 << 20;

/// One decoder for each kind of object.
pub(super) const DECODERS: [Decoder; 5] = [
    Decoder { id: "kube-pod", accepts: |frame| is(frame, "Pod"), decode: pod::decode },
    Decoder {
        id: "kube-graph",
        accepts: |frame| is(frame, "DynamoGraphDeployment"),
        decode: graph::decode,
    },
    Decoder {
        id: "kube-metadata",
        accepts: |frame| is(frame, "DynamoWorkerMetadata"),
        decode: metadata::decode,
    },
    Decoder {
        id: "kube-endpoints",
        accepts: |frame| is(frame, "EndpointSlice"),
        decode: decode_endpoints,
    },
    Decoder {
        id: "kube-config",
        accepts: |frame| is(frame, "ConfigMap"),
        decode: config_map::decode,
    },
];

fn is(frame: &Frame, wanted: &str) -> bool {
    matches!(&frame.origin, Origin::Kube { kind, .. } if kind.as_ref() == wanted)
}

/// Reads a frame like its decoder, with variables that its object takes from `maps`.
pub(super) fn decode_with(
    frame: &Frame,
    maps: &ConfigMaps,
    facts: &mut Facts,
) -> Option<Result<(), Reject>> {
    if is(frame, "Pod") {
        return Some(pod::decode_with(frame, maps, facts));
    }
    is(frame, "DynamoGraphDeployment").then(|| graph::decode_with(frame, maps, facts))
}

/// An object with its name, and whether it is gone.
struct Object {
    value: Value,
    name: Arc<str>,
    gone: bool,
}

impl Object {
    fn read(frame: &Frame) -> Result<Self, Reject> {
        let body = whole(frame)?;
        if body.len() > OBJECT_LIMIT {
            return Err(Reject::new("Kubernetes object of more than 4 MiB"));
        }
        let value: Value = serde_json::from_slice(body)
            .map_err(|_| Reject::new("Kubernetes object: invalid JSON"))?;
        let name = string(&value["metadata"], "name")
            .filter(|name| !name.is_empty())
            .ok_or_else(|| Reject::new("Kubernetes object without a name"))?;
        let name = shared(name);
        let gone = matches!(&frame.origin, Origin::Kube { change: KubeChange::Deleted, .. });
        Ok(Self { value, name, gone })
    }

    fn label(&self, name: &str) -> Option<&str> {
        string(&self.value["metadata"]["labels"], name)
    }

    /// Returns when it was last changed, as the API server notes for whoever manages its fields; a status
    /// is no such change.
    fn changed(&self) -> Option<Timestamp> {
        let managers = list(&self.value["metadata"]["managedFields"]);
        let own = managers.filter(|manager| manager["subresource"].is_null());
        own.filter_map(|manager| time(string(manager, "time")?)).max()
    }

    fn namespace(&self) -> &str {
        string(&self.value["metadata"], "namespace").unwrap_or_default()
    }
}

fn decode_endpoints(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let object = Object::read(frame)?;
    let pod_of = |endpoint: &Value| {
        let target = &endpoint["targetRef"];
        let pod = shared(string(target, "name").filter(|_| target["kind"] == "Pod")?);
        // Not known counts as ready (discovery.k8s.io/v1, `EndpointConditions`).
        let ready = endpoint["conditions"]["ready"].as_bool().unwrap_or(true);
        Some(PodRef { pod, ready })
    };
    let pods = if object.gone { &Value::Null } else { &object.value["endpoints"] };
    facts.other.push(Fact::Endpoints(Endpoints {
        discovery: object.label(label::DISCOVERY_ENABLED) == Some("true"),
        pods: list(pods).filter_map(pod_of).collect(),
        slice: object.name,
    }));
    Ok(())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn string<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn shared(text: &str) -> Arc<str> {
    printable(text, NAME_LIMIT).into()
}

/// Reads a time as the API server writes it.
fn time(text: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_microsecond()).ok().map(Timestamp)
}

fn raw(text: &str) -> Arc<str> {
    printable(text, RAW_LIMIT).into()
}
