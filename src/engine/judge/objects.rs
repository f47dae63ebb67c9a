//! The objects that fixes change, as rules and rows see them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnose::{FileState, Objects, PodState, SizesInUse};
use crate::domain::{ClaimOf, ClaimWhat, ConfigSource, Graph};
use crate::engine::Setup;
use crate::model::PodRecord;

/// The objects as they were when something changed last.
#[derive(Debug, Default)]
pub(in crate::engine) struct KnownObjects {
    /// Their inputs: a count of changes, and the deployment that is looked at.
    version: Option<(u64, Option<String>)>,
    objects: Arc<Objects>,
}

impl KnownObjects {
    /// Makes the objects anew when Kubernetes showed something else since.
    pub(super) fn refresh(&mut self, setup: &Setup<'_>) {
        let version = Some((setup.shown.cluster.changes(), setup.looked_at()));
        if self.version != version {
            *self = Self { version, objects: Arc::new(setup.collect_objects()) };
        }
    }

    pub(super) fn get(&self) -> Arc<Objects> {
        Arc::clone(&self.objects)
    }
}

impl Setup<'_> {
    /// Returns what a fix would be applied to: the graph deployment that is looked at, when it is one.
    fn collect_objects(&self) -> Objects {
        let name = self.looked_at();
        let graph = self.shown.cluster.graphs().find(|graph| name.as_deref() == Some(&*graph.name));
        let mut namespaces = self.shown.cluster.pods().map(|record| &record.pod.namespace);
        let first = graph.map(|graph| &graph.namespace).or_else(|| namespaces.next());
        Objects {
            cluster: self.options.cluster.clone(),
            namespace: first.filter(|name| !name.is_empty()).cloned(),
            graph: graph.cloned(),
            chosen: self.options.dgd.as_deref().map(Arc::from),
            files: graph.map(|graph| self.files_of(graph)).unwrap_or_default(),
            pods: graph.map(|graph| self.pods_of(graph)).unwrap_or_default(),
        }
    }

    fn files_of(&self, graph: &Graph) -> Vec<FileState> {
        let files = graph.components.iter().filter_map(|known| known.engine_file.as_ref());
        let sources: BTreeSet<&ConfigSource> = files.map(|file| &file.source).collect();
        let state = |source: &ConfigSource| {
            let ConfigSource::ConfigMap { name, key } = source else { return None };
            let now = self.shown.cluster.file(name, key)?.now()?;
            Some(FileState {
                config_map: Arc::clone(name),
                key: Arc::clone(key),
                text: now.text.clone(),
                changed: now.since,
            })
        };
        sources.into_iter().filter_map(state).collect()
    }

    /// Returns the pods of a graph deployment that are there to stay, the oldest first.
    fn pods_of(&self, graph: &Graph) -> Vec<PodState> {
        let stays = |record: &&PodRecord| {
            let pod = &record.pod;
            let over = ["Succeeded", "Failed"].contains(&pod.phase.as_ref());
            pod.graph.as_ref() == Some(&graph.name) && !pod.terminating && !over
        };
        let mut records: Vec<&PodRecord> = self.shown.cluster.pods().filter(stays).collect();
        records.sort_by_key(|record| record.pod.started.unwrap_or(record.first));
        let state = |record: &PodRecord| PodState {
            name: Arc::clone(&record.pod.name),
            component: record.pod.component.clone(),
            role: record.pod.role,
            started: record.pod.started,
            manifest: record.pod.manifest.clone(),
        };
        records.into_iter().map(state).collect()
    }

    /// Returns the block sizes that engines use, by pod, as the processes show or say.
    pub(super) fn sizes_in_use(&self) -> SizesInUse {
        let claims = self.size_claims(ClaimWhat::BlockSize);
        let engines = claims.iter().filter(|claim| claim.of == ClaimOf::Engine);
        let pod_of = |worker| self.fleet.workers.worker(worker)?.pod.clone();
        SizesInUse::from_claims(engines, pod_of)
    }
}
