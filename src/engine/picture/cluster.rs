//! Rows of what Kubernetes shows.

use crate::domain::{Graph, Role};
use crate::engine::Engine;
use crate::model::PodRecord;
use crate::snapshot::{ComponentRow, GraphRow, PodRow};

/// Most pods that are shown.
const POD_LIMIT: usize = 4096;

pub(super) fn pods(engine: &Engine) -> Vec<PodRow> {
    let ours = |record: &&PodRecord| record.pod.role != Role::Other || record.pod.graph.is_some();
    engine.cluster.pods().filter(ours).take(POD_LIMIT).map(|record| pod(engine, record)).collect()
}

fn pod(engine: &Engine, record: &PodRecord) -> PodRow {
    let pod = &record.pod;
    let text = |text: &Option<std::sync::Arc<str>>| text.as_ref().map(ToString::to_string);
    PodRow {
        name: pod.name.to_string(),
        role: pod.role,
        dgd: text(&pod.graph),
        component: text(&pod.component),
        node: text(&pod.node),
        ip: text(&pod.ip),
        phase: pod.phase.to_string(),
        ready: pod.ready,
        in_service: engine.cluster.in_service(&pod.name),
        trouble: text(&pod.trouble),
        terminating: pod.terminating,
        restarts: pod.restarts,
        started: pod.started,
        version: text(&pod.version),
        backend: pod.backend.map(crate::domain::Backend::name),
        worker: engine.workers.in_pod(&pod.name),
    }
}

pub(super) fn graphs(engine: &Engine) -> Vec<GraphRow> {
    engine.cluster.graphs().map(graph).collect()
}

fn graph(graph: &Graph) -> GraphRow {
    let component = |component: &crate::domain::Component| ComponentRow {
        name: component.name.to_string(),
        role: component.role,
        backend: component.backend.map(crate::domain::Backend::name),
        replicas: component.replicas,
        ready: component.ready,
    };
    GraphRow {
        name: graph.name.to_string(),
        namespace: graph.namespace.to_string(),
        dynamo_namespace: graph.dynamo_namespace.as_ref().map(ToString::to_string),
        components: graph.components.iter().map(component).collect(),
    }
}

/// Returns the graph deployment that all of Dynamo's pods belong to, or else the only one there is.
pub(super) fn looked_at(engine: &Engine) -> Option<String> {
    let mut names: Vec<_> =
        engine.cluster.pods().filter_map(|record| record.pod.graph.clone()).collect();
    if names.is_empty() {
        names.extend(engine.cluster.graphs().map(|graph| graph.name.clone()));
    }
    names.dedup();
    match names.as_slice() {
        [first, rest @ ..] if rest.iter().all(|name| name == first) => Some(first.to_string()),
        _ => None,
    }
}
