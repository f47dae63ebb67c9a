//! Rows of what Kubernetes shows.

use crate::domain::{Graph, Pod, Role, Subject};
use crate::engine::Engine;
use crate::model::PodRecord;
use crate::snapshot::{ComponentRow, GraphRow, PodRow};

/// Most pods that are shown.
const POD_LIMIT: usize = 4096;

pub(super) fn pods(engine: &Engine) -> Vec<PodRow> {
    let ours = |record: &&PodRecord| {
        let pod = &record.pod;
        (pod.role != Role::Other || pod.graph.is_some()) && !is_foreign(engine, pod)
    };
    let in_service = engine.cluster.in_service();
    let row =
        |record: &PodRecord| pod(engine, record, in_service.get(record.pod.name.as_ref()).copied());
    engine.cluster.pods().filter(ours).take(POD_LIMIT).map(row).collect()
}

fn pod(engine: &Engine, record: &PodRecord, in_service: Option<bool>) -> PodRow {
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
        in_service,
        trouble: text(&pod.trouble),
        terminating: pod.terminating,
        restarts: pod.restarts,
        started: pod.started,
        version: text(&pod.version),
        backend: pod.backend.map(crate::domain::Backend::name),
        image: pod.containers.first().map(|container| container.image.to_string()),
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

/// Returns true when a pod is of another graph deployment than the one that was chosen.
fn is_foreign(engine: &Engine, pod: &Pod) -> bool {
    match (&engine.options.dgd, &pod.graph) {
        (Some(chosen), Some(graph)) => **chosen != **graph,
        _ => false,
    }
}

/// Returns true when a claim is about what was chosen, as far as is known.
pub(in crate::engine) fn is_chosen(engine: &Engine, subject: &Subject) -> bool {
    let in_pod =
        |name: &str| engine.cluster.pod(name).is_none_or(|record| !is_foreign(engine, &record.pod));
    if engine.is_foreign_subject(subject) {
        return false;
    }
    match (subject, &engine.options.dgd) {
        (_, None) | (Subject::Deployment, _) => true,
        (Subject::Component { graph, .. }, Some(chosen)) => **chosen == **graph,
        (Subject::Pod(name), _) => in_pod(name),
        (Subject::Worker(worker), _) => {
            let pod = engine.workers.worker(*worker).and_then(|worker| worker.pod.as_deref());
            pod.is_none_or(in_pod)
        }
    }
}

/// Returns the graph deployment that was chosen, that all of Dynamo's pods belong to, or else the only one there is.
pub(in crate::engine) fn looked_at(engine: &Engine) -> Option<String> {
    if engine.options.dgd.is_some() {
        return engine.options.dgd.clone();
    }
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
