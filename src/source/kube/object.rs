//! The fields of Kubernetes objects that single requests ask for.
//!
//! The types of k8s-openapi read every field of an object, of which a pod has a thousand; code for that made a
//! twentieth of the program.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The objects of a list.
#[derive(Debug, Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
pub(in crate::source) struct List<T> {
    pub(in crate::source) items: Vec<T>,
}

/// The name of an object, and its namespace.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct Metadata {
    pub(in crate::source) name: Option<String>,
    pub(in crate::source) namespace: Option<String>,
}

/// A port by number, or by the name that a container gives it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(in crate::source) enum PortRef {
    Number(i32),
    Name(String),
}

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct Pod {
    pub(in crate::source) metadata: Option<Metadata>,
    pub(in crate::source) spec: Option<PodSpec>,
    pub(in crate::source) status: Option<PodStatus>,
}

/// What a pod is made of.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::source) struct PodSpec {
    /// True where it shares the network, and so the address, of its node.
    pub(in crate::source) host_network: Option<bool>,
    pub(in crate::source) containers: Option<Vec<Container>>,
}

/// A container.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct Container {
    pub(in crate::source) ports: Option<Vec<ContainerPort>>,
}

/// A port of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::source) struct ContainerPort {
    pub(in crate::source) name: Option<String>,
    pub(in crate::source) container_port: Option<i32>,
}

/// How a pod is doing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::source) struct PodStatus {
    pub(in crate::source) phase: Option<String>,
    pub(in crate::source) conditions: Option<Vec<Condition>>,
    pub(in crate::source) container_statuses: Option<Vec<ContainerStatus>>,
}

/// A condition of a pod, such as `Ready`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct Condition {
    #[serde(rename = "type")]
    pub(in crate::source) kind: Option<String>,
    pub(in crate::source) status: Option<String>,
}

/// How a container is doing, and how the instance before it ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::source) struct ContainerStatus {
    pub(in crate::source) name: Option<String>,
    pub(in crate::source) state: Option<ContainerState>,
    pub(in crate::source) last_state: Option<ContainerState>,
}

/// The state of a container; neither where it runs.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct ContainerState {
    pub(in crate::source) waiting: Option<Waiting>,
    pub(in crate::source) terminated: Option<Terminated>,
}

/// Why a container waits.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct Waiting {
    pub(in crate::source) reason: Option<String>,
}

/// How a container ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::source) struct Terminated {
    #[serde(rename = "containerID")]
    pub(in crate::source) container_id: Option<String>,
    pub(in crate::source) exit_code: Option<i32>,
    /// As RFC 3339.
    pub(in crate::source) finished_at: Option<String>,
    pub(in crate::source) reason: Option<String>,
}

/// A service.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct Service {
    pub(in crate::source) spec: Option<ServiceSpec>,
}

/// The pods and ports of a service.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct ServiceSpec {
    pub(in crate::source) selector: Option<BTreeMap<String, String>>,
    pub(in crate::source) ports: Option<Vec<ServicePort>>,
}

/// A port of a service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::source) struct ServicePort {
    pub(in crate::source) name: Option<String>,
    pub(in crate::source) port: Option<i32>,
    pub(in crate::source) target_port: Option<PortRef>,
}

/// Some of the endpoints behind a service.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct EndpointSlice {
    pub(in crate::source) endpoints: Option<Vec<Endpoint>>,
    pub(in crate::source) ports: Option<Vec<EndpointPort>>,
}

/// One endpoint: mostly a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::source) struct Endpoint {
    pub(in crate::source) conditions: Option<EndpointConditions>,
    pub(in crate::source) target_ref: Option<TargetRef>,
}

/// Whether an endpoint may be sent anything.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct EndpointConditions {
    pub(in crate::source) ready: Option<bool>,
}

/// The object behind an endpoint.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct TargetRef {
    pub(in crate::source) kind: Option<String>,
    pub(in crate::source) name: Option<String>,
}

/// A port of every endpoint of a slice.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::source) struct EndpointPort {
    pub(in crate::source) name: Option<String>,
    pub(in crate::source) port: Option<i32>,
}
