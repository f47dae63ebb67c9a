//! Stores facts from Kubernetes where they belong.

use std::sync::Arc;

use crate::domain::{
    Basis, ConfigFile, ConfigSource, DpRank, Endpoints, Graph, Placement, Pod, SourceName, Subject,
    Timestamp, WorkerId, WorkerRank,
};
use crate::engine::Learner;
use crate::engine::journal::Head;
use crate::model::{PodRecord, file_source};
use crate::snapshot::{EventKind, Gravity};

impl Learner<'_> {
    pub(super) fn pod(&mut self, pod: &Pod, at: Timestamp, source: &SourceName) {
        let before = self.known.shown.cluster.pod(&pod.name).map(|record| record.pod.clone());
        if pod.role.is_router() && before.as_ref().and_then(|before| before.started) != pod.started
        {
            // A new process may hash with another size.
            self.known.routing.router.fractions.clear();
            if let Some(started) = pod.started {
                self.known.routing.router.replaced(&pod.name, started);
            }
        }
        for news in before.iter().flat_map(|before| changes(before, pod)) {
            self.pod_event(&pod.name, &news, at, source);
        }
        if self.known.shown.cluster.set_pod(pod, at) {
            // Another pod of the same name: whatever was said of the old one is void.
            self.known
                .fleet
                .claims
                .doubt(|claim| claim.subject == Subject::Pod(Arc::clone(&pod.name)));
            self.known.fleet.versions.forget_pod(&pod.name);
            self.pod_event(&pod.name, "was replaced", at, source);
        }
        self.known.fleet.workers.note_pod(&pod.name);
        self.pod_began(pod);
        let foreign = |other: &PodRecord| pod.graph.is_some() && other.pod.graph != pod.graph;
        let apart = self.known.record.journal.apart;
        self.known.record.journal.apart = apart || self.known.shown.cluster.pods().any(foreign);
        if self.known.streams.deployment.namespace.is_none() && pod.role.is_router() {
            self.known.streams.deployment.namespace.clone_from(&pod.dynamo_namespace);
        }
        let subject = Subject::Pod(Arc::clone(&pod.name));
        self.known
            .fleet
            .claims
            .doubt(|claim| claim.subject == subject && claim.basis != Basis::Observed);
        for claim in self.known.shown.cluster.file_claims(|reader, _| *reader == subject) {
            self.known.fleet.claims.note(&claim, at);
        }
    }

    pub(super) fn pod_gone(&mut self, name: &Arc<str>, at: Timestamp, source: &SourceName) {
        let shown = self.known.shown.cluster.pod(name);
        if shown.is_some_and(|record| record.pod.role.is_router()) {
            self.known.routing.router.fractions.clear();
        }
        let known = self.known.shown.cluster.remove_pod(name);
        self.known.fleet.versions.forget_pod(name);
        let worker = self.known.fleet.workers.in_pod(name);
        let subjects = [Some(Subject::Pod(Arc::clone(name))), worker.map(Subject::Worker)];
        self.known.fleet.claims.doubt(|claim| subjects.contains(&Some(claim.subject.clone())));
        match worker {
            Some(worker) => self.presence(worker, false, at, source),
            None if known => self.pod_event(name, "was deleted", at, source),
            None => {}
        }
    }

    fn pod_event(&mut self, pod: &str, text: &str, at: Timestamp, source: &SourceName) {
        let (kind, gravity) = (EventKind::Worker, Gravity::Notice);
        let (orphan, worker) = (false, None);
        let head = Head { at, who: pod, kind, gravity, source, orphan, worker, class: "" };
        self.known.record.journal.add(head, self.frame, || text.to_owned());
    }

    pub(super) fn graph(&mut self, graph: &Graph, at: Timestamp) {
        self.known.shown.cluster.set_graph(graph, at);
        let ours = |subject: &Subject| is_of_graph(subject, &graph.name);
        self.known.fleet.claims.doubt(|claim| ours(&claim.subject));
        for claim in self.known.shown.cluster.file_claims(|reader, _| ours(reader)) {
            self.known.fleet.claims.note(&claim, at);
        }
    }

    pub(super) fn graph_gone(&mut self, name: &str) {
        self.known.shown.cluster.remove_graph(name);
        self.known.fleet.claims.doubt(|claim| is_of_graph(&claim.subject, name));
    }

    pub(super) fn endpoints(&mut self, endpoints: &Endpoints) {
        self.known.shown.cluster.set_endpoints(endpoints);
    }

    pub(super) fn config_file(&mut self, file: &ConfigFile, at: Timestamp) {
        self.known.shown.cluster.set_file(file, at);
        let source = file_source(&file.config_map, &file.key);
        let here = ConfigSource::ConfigMap {
            name: Arc::clone(&file.config_map),
            key: Arc::clone(&file.key),
        };
        let cluster = &self.known.shown.cluster;
        self.known
            .fleet
            .claims
            .doubt(|claim| claim.source == source || cluster.yields_to(claim, &here));
        for claim in self.known.shown.cluster.file_claims(|_, reader| reader.source == here) {
            self.known.fleet.claims.note(&claim, at);
        }
    }

    pub(super) fn placed(&mut self, placement: &Placement, at: Timestamp, source: &SourceName) {
        let worker = placement.worker;
        if let Some(pod) = &placement.pod {
            // A publisher names its worker when it starts: what the one before logged is of another process.
            let workers = &self.known.fleet.workers;
            let before: Vec<WorkerId> = workers.ever_in(pod).filter(|id| *id != worker).collect();
            let again = workers.ever_in(pod).any(|id| id == worker);
            // Only logs place a worker without its ranks; several may run in one pod of Kubernetes.
            let starts = placement.ranks.is_empty() && !again;
            if !before.is_empty() && starts {
                self.known.fleet.claims.forget_notices(at, |subject| match subject {
                    Subject::Pod(name) => name == pod,
                    Subject::Worker(id) => *id == worker || before.contains(id),
                    Subject::Component { .. } | Subject::Deployment => false,
                });
            }
            self.known.fleet.workers.set_pod(worker, pod);
            self.known.fleet.foreign.note_pod(pod, worker);
            if let Some(began) = self.known.shown.cluster.pod(pod).and_then(|record| record.began) {
                self.container_began(worker, began);
            }
        }
        if placement.ranks.is_empty() {
            return;
        }
        // A card that comes after its process was withdrawn does not bring it back.
        let left = self.known.fleet.workers.worker(worker).is_some_and(|worker| worker.gone);
        if left && placement.pod.is_none() {
            return;
        }
        // It serves a model, so it is a worker, even before its first event.
        self.known.fleet.workers.announce(worker, at);
        for rank in placement.ranks.clone() {
            self.known.fleet.workers.index_of(WorkerRank { worker, dp_rank: DpRank(rank) });
        }
        self.presence(worker, true, at, source);
    }

    /// Notes that discovery knows a worker, or no longer does. With a worker that left go its blocks.
    pub(in crate::engine) fn presence(
        &mut self,
        worker: WorkerId,
        present: bool,
        at: Timestamp,
        source: &SourceName,
    ) {
        if self.note_presence(worker, present, at, source) && !present {
            self.let_go(worker, at);
        }
    }

    /// Notes that a worker is there, or is not. Returns true when that is news.
    pub(in crate::engine) fn note_presence(
        &mut self,
        worker: WorkerId,
        present: bool,
        at: Timestamp,
        source: &SourceName,
    ) -> bool {
        if !self.known.fleet.workers.set_present(worker, present, at) {
            return false;
        }
        if present {
            // Whatever is there now began after the one before it had left.
            let left =
                self.known.fleet.workers.worker(worker).and_then(|record| record.left_before);
            if let Some(left) = left {
                self.begins(worker, left, false);
            }
        } else {
            self.known.fleet.versions.forget(&Subject::Worker(worker));
            let ranks = self.known.fleet.workers.ranks().iter().enumerate();
            for (index, _) in ranks.filter(|(_, record)| record.rank.worker == worker) {
                self.known.record.meters.free(index);
                self.known.routing.missing_parents.forget(u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
        let who = self.known.fleet.workers.alias(worker);
        let (kind, gravity) = (EventKind::Worker, Gravity::Notice);
        let (orphan, worker) = (false, Some(worker));
        let head = Head { at, who: &who, kind, gravity, source, orphan, worker, class: "" };
        let text = if present { "is back in discovery" } else { "left discovery" };
        self.known.record.journal.add(head, self.frame, || text.to_owned());
        true
    }
}

/// Returns what changed of a pod that is worth telling.
fn changes(before: &Pod, now: &Pod) -> Vec<String> {
    let mut news = Vec::new();
    if before.uid != now.uid && before.uid.is_some() && now.uid.is_some() {
        return news;
    }
    if now.restarts > before.restarts {
        news.push(format!("restarted, {} times by now", now.restarts));
    }
    if now.trouble != before.trouble
        && let Some(trouble) = &now.trouble
    {
        news.push(trouble.to_string());
    }
    if now.terminating && !before.terminating {
        news.push("is terminating".to_owned());
    }
    match (before.ready, now.ready) {
        (false, true) => news.push("is ready".to_owned()),
        (true, false) => news.push("is not ready any more".to_owned()),
        (true, true) | (false, false) => {}
    }
    news
}

fn is_of_graph(subject: &Subject, name: &str) -> bool {
    match subject {
        Subject::Component { graph, .. } => graph.as_ref() == name,
        Subject::Worker(_) | Subject::Pod(_) | Subject::Deployment => false,
    }
}
