//! The parts of an object that enter a frame: its identity, its processes, its state.
//!
//! managedFields alone are 41 to 47 % of every body, of which only the time of the last change is needed: a
//! process that started before it runs with what was set until then. Probes and hooks may carry secrets.

use serde_json::{Map, Value, json};

use super::resource::Resource;
use super::{allow, config_map, redact};
use crate::wire::{kept_of_processes, kept_of_record};

const METADATA: &[&str] = &[
    "name",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "ownerReferences",
];

const POD_SPEC: &[&str] = &[
    "nodeName",
    "hostname",
    "subdomain",
    "hostNetwork",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "serviceAccountName",
    "containers",
    "initContainers",
    "volumes",
];

const CONTAINER: &[&str] = &[
    "name",
    "image",
    "command",
    "args",
    "workingDir",
    "env",
    "envFrom",
    "ports",
    "resources",
    "volumeMounts",
    "restartPolicy",
];

const POD_STATUS: &[&str] = &[
    "phase",
    "reason",
    "podIP",
    "hostIP",
    "startTime",
    "conditions",
    "containerStatuses",
    "initContainerStatuses",
];

const CONTAINER_STATUS: &[&str] =
    &["name", "state", "lastState", "ready", "restartCount", "image", "imageID"];

/// Messages are left out: they may quote what a process wrote last.
const CONDITION: &[&str] = &["type", "status", "reason", "lastTransitionTime"];

/// Conditions of a pod that are read.
const CONDITIONS: [&str; 2] = ["Ready", "PodScheduled"];

/// Of the state of a container; its message may be the end of a log.
const STATE: &[&str] = &["reason", "exitCode", "signal", "startedAt", "finishedAt"];

const GRAPH_SPEC: &[&str] = &["backendFramework", "envs", "env", "services", "components"];

/// Of a service of v1alpha1 and a component of v1beta1.
const COMPONENT: &[&str] = &[
    "name",
    "type",
    "subType",
    "componentType",
    "subComponentType",
    "dynamoNamespace",
    "globalDynamoNamespace",
    "replicas",
    "multinode",
    "env",
    "envs",
    "envFromSecret",
    "extraPodSpec",
    "podTemplate",
    "resources",
];

const VOLUME: &[&str] =
    &["name", "configMap", "secret", "projected", "emptyDir", "persistentVolumeClaim"];

/// Returns an object of `resource` without what is not needed and without secrets. Lists leave `kind` and
/// `apiVersion` out of their items, so both are given.
pub(super) fn trim(resource: &Resource, api_version: &str, mut object: Value) -> Value {
    let kind = resource.kind;
    let mut trimmed = Map::new();
    let given = object["apiVersion"].as_str().unwrap_or(api_version).to_owned();
    trimmed.insert("apiVersion".to_owned(), given.into());
    trimmed.insert("kind".to_owned(), kind.into());
    let changed = if ["ConfigMap", "DynamoGraphDeployment"].contains(&kind) {
        last_change(&object["metadata"]["managedFields"])
    } else {
        None
    };
    let mut metadata = metadata(object["metadata"].take());
    if let (Some(changed), Some(metadata)) = (changed, metadata.as_object_mut()) {
        metadata.insert("managedFields".to_owned(), json!([{ "time": changed }]));
    }
    trimmed.insert("metadata".to_owned(), metadata);
    let keys: &[&str] = match kind {
        "ConfigMap" => &["data"],
        "EndpointSlice" => &["addressType", "endpoints", "ports"],
        _ => &["spec", "status"],
    };
    for key in keys {
        let part = object[*key].take();
        let part = match (kind, *key) {
            ("Pod", "spec") => pod_spec(part),
            ("Pod", "status") => pod_status(part),
            ("DynamoGraphDeployment", "spec") => graph_spec(part),
            ("ConfigMap", _) => config_map::trim(part, &resource.variables),
            ("DynamoWorkerMetadata", "spec") => kept_of_record(&part),
            (_, "status") => {
                let mut status = keep(part, &["state", "conditions", "services", "components"]);
                at(&mut status, "conditions", |it| {
                    each(it, |condition| keep(condition, CONDITION))
                });
                status
            }
            _ => part,
        };
        if !part.is_null() {
            trimmed.insert((*key).to_owned(), part);
        }
    }
    let mut trimmed = Value::Object(trimmed);
    if ["Pod", "DynamoGraphDeployment"].contains(&kind) {
        kept_of_processes(&mut trimmed);
    }
    redact::redact(&mut trimmed);
    trimmed
}

/// Returns when somebody last changed more than the status. Times of one form are ordered like their texts.
fn last_change(managers: &Value) -> Option<String> {
    let managers = managers.as_array()?.iter().filter(|it| it["subresource"].is_null());
    managers.filter_map(|manager| manager["time"].as_str()).max().map(str::to_owned)
}

/// Returns the value with only `keys` left of it.
fn keep(value: Value, keys: &[&str]) -> Value {
    match value {
        Value::Object(map) => {
            map.into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect()
        }
        other => other,
    }
}

/// Applies `change` to what is at `key`.
fn at(value: &mut Value, key: &str, change: impl FnOnce(Value) -> Value) {
    if let Some(part) = value.get_mut(key) {
        *part = change(part.take());
    }
}

fn each(value: Value, change: impl FnMut(Value) -> Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(change).collect(),
        other => other,
    }
}

fn metadata(value: Value) -> Value {
    let mut metadata = keep(value, METADATA);
    // Among them is the whole object once more, as it was applied, with its secrets.
    at(&mut metadata, "annotations", allow::annotations);
    at(&mut metadata, "labels", allow::labels);
    metadata
}

fn pod_spec(value: Value) -> Value {
    let mut spec = keep(value, POD_SPEC);
    for containers in ["containers", "initContainers"] {
        at(&mut spec, containers, |it| each(it, |container| keep(container, CONTAINER)));
    }
    at(&mut spec, "volumes", volumes);
    spec
}

fn volumes(value: Value) -> Value {
    each(value, |volume| keep(volume, VOLUME))
}

fn graph_spec(value: Value) -> Value {
    let mut spec = keep(value, GRAPH_SPEC);
    at(&mut spec, "services", |services| match services {
        Value::Object(map) => map.into_iter().map(|(name, it)| (name, component(it))).collect(),
        other => other,
    });
    at(&mut spec, "components", |it| each(it, component));
    spec
}

fn component(value: Value) -> Value {
    let mut component = keep(value, COMPONENT);
    at(&mut component, "extraPodSpec", |pod| {
        let mut pod = keep(pod, &["mainContainer", "volumes"]);
        at(&mut pod, "mainContainer", |container| keep(container, CONTAINER));
        at(&mut pod, "volumes", volumes);
        pod
    });
    at(&mut component, "podTemplate", |template| {
        let mut template = keep(template, &["spec"]);
        at(&mut template, "spec", pod_spec);
        template
    });
    component
}

fn pod_status(value: Value) -> Value {
    let mut status = keep(value, POD_STATUS);
    at(&mut status, "conditions", |conditions| match conditions {
        Value::Array(items) => items
            .into_iter()
            .filter(|condition| CONDITIONS.iter().any(|kind| condition["type"] == *kind))
            .map(|condition| keep(condition, CONDITION))
            .collect(),
        other => other,
    });
    for statuses in ["containerStatuses", "initContainerStatuses"] {
        at(&mut status, statuses, |it| each(it, container_status));
    }
    status
}

fn container_status(value: Value) -> Value {
    let mut status = keep(value, CONTAINER_STATUS);
    for key in ["state", "lastState"] {
        at(&mut status, key, |states| match states {
            Value::Object(map) => {
                map.into_iter().map(|(name, state)| (name, keep(state, STATE))).collect()
            }
            other => other,
        });
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_config_map_only_configurations_are_passed_on() {
        let text = "kv_cache_config:\n  tokens_per_block: 32\n";
        let data = json!({
            "agg.yaml": text,
            "secret.txt": "PLANTED: PLANTED",
            "hf-token.json": "{\"x\": \"PLANTED\"}",
            "api_key": "PLANTED: x",
            "notes": "PLANTED",
            "empty.yaml": "# none\n{}\n",
            "tokenizer.json": "{\"version\": 1}",
            "NATS_SERVER": "nats://u:PLANTED@nats:4222",
        });
        let mut resource = Resource::config_map(&"config".into());
        resource.variables = crate::domain::VariableKeys::Named(["NATS_SERVER".into()].into());

        let trimmed = trim(&resource, "v1", json!({ "data": data }));

        assert_eq!(trimmed["data"]["agg.yaml"], text);
        assert_eq!(trimmed["data"]["tokenizer.json"], "{\"version\": 1}");
        assert_eq!(trimmed["data"]["empty.yaml"], "# none\n{}\n");
        assert_eq!(trimmed["data"]["secret.txt"], redact::REDACTED);
        assert_eq!(trimmed["data"]["notes"], "(7 bytes left out)");
        assert_eq!(trimmed["data"]["NATS_SERVER"], "nats://(redacted)@nats:4222");
        assert!(!trimmed.to_string().contains("PLANTED"), "{trimmed}");
    }
}
