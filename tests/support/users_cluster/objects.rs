//! Objects of the played cluster, as the Kubernetes API has them.

use std::net::SocketAddr;

use kvtop::domain::Timestamp;
use serde_json::{Value, json};

use crate::support::kube_api::FakeKube;

/// Adds what is there besides the deployments: namespaces and the platform's NATS.
pub(super) fn surroundings(kube: &FakeKube, nats: SocketAddr) {
    for name in ["dynamo-workload", "dynamo-system", "monitoring", "research"] {
        kube.object(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
            "status": { "phase": "Active" },
        }));
    }
    for recorded in ["services/get_nats", "endpointslices/list_nats", "pods/list_dynamo-system"] {
        kube.load(recorded);
    }
    kube.forward(crate::support::deployment::NATS_POD, 4222, nats);
}

/// Adds or changes an object of a simulation. What the simulated addresses lead to on this machine is not known; at
/// that of its pods nobody listens.
pub(crate) fn put(kube: &FakeKube, kind: &str, object: Value, at: Timestamp) {
    put_at(kube, kind, object, at, "127.9.9.9");
}

/// Adds or changes an object of a simulation whose pods have the address `ip`.
pub(crate) fn put_at(kube: &FakeKube, kind: &str, mut object: Value, at: Timestamp, ip: &str) {
    let metadata = &mut object["metadata"];
    if kind == "ConfigMap" {
        metadata["managedFields"] = json!([{
            "manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1",
            "time": rfc3339(at), "fieldsType": "FieldsV1", "fieldsV1": { "f:data": {} },
        }]);
    }
    if metadata["creationTimestamp"].is_null() {
        let name = metadata["name"].as_str().unwrap();
        let before = kube.found(kind, name);
        let created = before.map(|it| it["metadata"]["creationTimestamp"].clone());
        metadata["creationTimestamp"] = created.unwrap_or_else(|| rfc3339(at).into());
    }
    if kind == "Pod" {
        object["status"]["podIP"] = ip.into();
    }
    let is_pod = kind == "Pod";
    let deployment = deployment_of(&object);
    kube.object(object);
    if is_pod && let Some(deployment) = deployment {
        slice(kube, &deployment);
    }
}

/// Deletes an object of a simulation.
pub(super) fn remove(kube: &FakeKube, kind: &str, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    if kube.found(kind, name).is_none() {
        return;
    }
    kube.delete(kind, name);
    if let Some(deployment) = deployment_of(object).filter(|_| kind == "Pod") {
        slice(kube, &deployment);
    }
}

/// Returns namespace and name of the graph deployment of a pod.
fn deployment_of(pod: &Value) -> Option<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = &pod["metadata"]["labels"]["nvidia.com/dynamo-graph-deployment-name"];
    Some((text(&pod["metadata"]["namespace"])?, text(name)?))
}

/// Writes the slice of the pods of a deployment that are ready, by which its processes find each other.
fn slice(kube: &FakeKube, (namespace, deployment): &(String, String)) {
    let endpoints: Vec<Value> = kube
        .all_in("Pod", namespace)
        .into_iter()
        .filter(|pod| deployment_of(pod).as_ref() == Some(&(namespace.clone(), deployment.clone())))
        .map(|pod| {
            json!({
                "addresses": [pod["status"]["podIP"]],
                "conditions": { "ready": true, "serving": true, "terminating": false },
                "nodeName": pod["spec"]["nodeName"],
                "targetRef": {
                    "kind": "Pod", "namespace": namespace,
                    "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"],
                },
            })
        })
        .collect();
    kube.object(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {
            "name": format!("{deployment}-0-lmlwm"), "namespace": namespace,
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "kubernetes.io/service-name": format!("{deployment}-0"),
                "nvidia.com/dynamo-discovery-backend": "kubernetes",
                "nvidia.com/dynamo-discovery-enabled": "true",
            },
        },
        "endpoints": endpoints,
        "ports": [{ "name": "system", "port": 9090, "protocol": "TCP" }],
    }));
}

fn rfc3339(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_second(i64::try_from(at.seconds()).unwrap()).unwrap();
    time.to_string()
}
