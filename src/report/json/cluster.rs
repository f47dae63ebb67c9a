//! Kubernetes objects in the JSON contract.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::rfc3339;
use crate::snapshot::{ComponentRow, GraphRow, PodRow};

#[derive(Serialize, JsonSchema)]
pub(super) struct Dgd<'a> {
    name: &'a str,
    namespace: &'a str,
    dynamo_namespace: Option<&'a str>,
    components: Vec<Component<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Component<'a> {
    name: &'a str,
    role: &'static str,
    backend: Option<&'static str>,
    replicas: Option<u64>,
    ready: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Pod<'a> {
    name: &'a str,
    role: &'static str,
    dgd: Option<&'a str>,
    component: Option<&'a str>,
    node: Option<&'a str>,
    ip: Option<&'a str>,
    phase: Option<&'a str>,
    ready: bool,
    in_service: Option<bool>,
    trouble: Option<&'a str>,
    terminating: bool,
    restarts: u64,
    started: Option<String>,
    version: Option<&'a str>,
    backend: Option<&'static str>,
    worker: Option<String>,
}

impl<'a> Dgd<'a> {
    pub(super) fn new(row: &'a GraphRow) -> Self {
        Self {
            name: &row.name,
            namespace: &row.namespace,
            dynamo_namespace: row.dynamo_namespace.as_deref(),
            components: row.components.iter().map(Component::new).collect(),
        }
    }
}

impl<'a> Component<'a> {
    fn new(row: &'a ComponentRow) -> Self {
        Self {
            name: &row.name,
            role: row.role.name(),
            backend: row.backend,
            replicas: row.replicas,
            ready: row.ready,
        }
    }
}

impl<'a> Pod<'a> {
    pub(super) fn new(row: &'a PodRow) -> Self {
        Self {
            name: &row.name,
            role: row.role.name(),
            dgd: row.dgd.as_deref(),
            component: row.component.as_deref(),
            node: row.node.as_deref(),
            ip: row.ip.as_deref(),
            phase: (!row.phase.is_empty()).then_some(row.phase.as_str()),
            ready: row.ready,
            in_service: row.in_service,
            trouble: row.trouble.as_deref(),
            terminating: row.terminating,
            restarts: row.restarts,
            started: row.started.map(rfc3339),
            version: row.version.as_deref(),
            backend: row.backend,
            worker: row.worker.map(|worker| worker.to_string()),
        }
    }
}
