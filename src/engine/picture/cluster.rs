//! Rows of what Kubernetes shows.

use crate::domain::{Graph, Pod, Role, Subject};
use crate::engine::Setup;
use crate::model::{Cluster, PodRecord, Workers};
use crate::snapshot::{ComponentRow, GraphRow, PodRow};

/// Most pods that are shown.
const POD_LIMIT: usize = 4096;

pub(super) fn pods(setup: &Setup<'_>) -> Vec<PodRow> {
    let ours = |record: &&PodRecord| {
        let pod = &record.pod;
        (pod.role != Role::Other || pod.graph.is_some()) && !setup.is_elsewhere(pod)
    };
    let in_service = setup.shown.cluster.in_service();
    let row = |record: &PodRecord| {
        pod(&setup.fleet.workers, record, in_service.get(record.pod.name.as_ref()).copied())
    };
    setup.shown.cluster.pods().filter(ours).take(POD_LIMIT).map(row).collect()
}

fn pod(workers: &Workers, record: &PodRecord, in_service: Option<bool>) -> PodRow {
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
        started: record.began,
        version: text(&pod.version),
        backend: pod.backend.map(crate::domain::Backend::name),
        image: pod.containers.first().map(|container| container.image.to_string()),
        worker: workers.in_pod(&pod.name),
    }
}

pub(super) fn graphs(cluster: &Cluster) -> Vec<GraphRow> {
    cluster.graphs().map(graph).collect()
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

impl Setup<'_> {
    /// Returns true when a pod is of another graph deployment than the one that was chosen.
    fn is_elsewhere(&self, pod: &Pod) -> bool {
        match (&self.options.dgd, &pod.graph) {
            (Some(chosen), Some(graph)) => **chosen != **graph,
            _ => false,
        }
    }

    /// Returns true when a claim is about what was chosen, as far as is known.
    pub(in crate::engine) fn is_chosen(&self, subject: &Subject) -> bool {
        let in_pod = |name: &str| {
            let pod = self.shown.cluster.pod(name);
            pod.is_none_or(|record| !self.is_elsewhere(&record.pod))
        };
        if self.fleet.is_foreign_subject(subject) {
            return false;
        }
        match (subject, &self.options.dgd) {
            (_, None) | (Subject::Deployment, _) => true,
            (Subject::Component { graph, .. }, Some(chosen)) => **chosen == **graph,
            (Subject::Pod(name), _) => in_pod(name),
            (Subject::Worker(worker), _) => {
                let worker = self.fleet.workers.worker(*worker);
                worker.and_then(|worker| worker.pod.as_deref()).is_none_or(in_pod)
            }
        }
    }

    /// Returns the graph deployment that was chosen, that all of Dynamo's pods belong to, or else the only one
    /// there is.
    pub(in crate::engine) fn looked_at(&self) -> Option<String> {
        if self.options.dgd.is_some() {
            return self.options.dgd.clone();
        }
        let cluster = &self.shown.cluster;
        let mut names: Vec<_> =
            cluster.pods().filter_map(|record| record.pod.graph.clone()).collect();
        if names.is_empty() {
            names.extend(cluster.graphs().map(|graph| graph.name.clone()));
        }
        names.dedup();
        match names.as_slice() {
            [first, rest @ ..] if rest.iter().all(|name| name == first) => Some(first.to_string()),
            _ => None,
        }
    }
}
