//! Names of workers in findings: pods, which mean the same to everybody, before numbers of this session.

use std::sync::Arc;

use crate::domain::{FastMap, WorkerId, short_pod_names};
use crate::model::Workers;

/// The name of each worker: the shortest unambiguous form of its pod's name, else its alias such as `w0`.
pub(in crate::engine) struct WorkerNames(FastMap<WorkerId, Arc<str>>);

impl WorkerNames {
    pub(in crate::engine) fn new(workers: &Workers) -> Self {
        let records = workers.workers();
        let pods = records.iter().filter_map(|worker| worker.pod.as_deref());
        let short = short_pod_names(pods);
        let name = |pod: Option<&str>| pod.and_then(|pod| short.get(pod).copied()).map(Arc::from);
        Self(
            records
                .iter()
                .map(|worker| {
                    let name = name(worker.pod.as_deref());
                    (worker.id, name.unwrap_or_else(|| workers.alias(worker.id).into()))
                })
                .collect(),
        )
    }

    pub(in crate::engine) fn get(&self, worker: WorkerId) -> Arc<str> {
        self.0.get(&worker).map_or_else(|| Arc::from("?"), Arc::clone)
    }
}
