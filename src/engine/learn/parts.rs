//! Which workers compute only the second part of requests, generating tokens.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Learner;
use crate::domain::{Role, Subject, Timestamp, WorkerId};

/// How often prefill workers are looked for.
const EVERY: Duration = Duration::from_secs(1);

/// Prefill workers that are there.
#[derive(Debug, Default)]
pub(in crate::engine) struct Prefilled {
    /// When this was read.
    read: Option<Timestamp>,
    /// True where there are any.
    any: bool,
    /// The models that they serve.
    models: BTreeSet<Arc<str>>,
}

impl Learner<'_> {
    /// Returns true for a worker that decodes what others prefill. Where a model has prefill workers, their router chooses
    /// first, and every other worker of the model gets what they computed (dynamo-llm 0.9,
    /// `kv_router/prefill_router.rs`), whatever its component is called.
    pub(super) fn only_decodes(&mut self, worker: WorkerId, at: Timestamp) -> bool {
        let part = self.part(worker);
        let is = |what: &str| part.as_deref().is_some_and(|part| part.contains(what));
        let known = self.known.fleet.workers.worker(worker);
        let by_choices = known.and_then(|it| it.part().or(it.part_by_costs()));
        if is(Role::Prefill.name()) {
            return false;
        }
        if is(Role::Decode.name()) && by_choices == Some(Role::Decode) {
            return true;
        }
        self.look_for_prefill(at);
        let prefilled = &self.known.routing.prefilled;
        if is(Role::Decode.name()) || !prefilled.any {
            return prefilled.any;
        }
        let model = self.known.fleet.model(&[Subject::Worker(worker)]);
        model.is_some_and(|model| prefilled.models.contains(&model))
    }

    fn part(&self, worker: WorkerId) -> Option<String> {
        let said = self.known.setup().part_of(Some(worker), &Subject::Worker(worker));
        said.map(|said| said.to_ascii_lowercase())
    }

    fn look_for_prefill(&mut self, at: Timestamp) {
        let read = self.known.routing.prefilled.read;
        if read.is_some_and(|read| at.since(read).max(read.since(at)) < EVERY) {
            return;
        }
        let present = self.known.fleet.workers.workers().iter().filter(|worker| !worker.gone);
        let prefill =
            |id: &WorkerId| self.part(*id).is_some_and(|part| part.contains(Role::Prefill.name()));
        let ids: Vec<WorkerId> = present.map(|worker| worker.id).filter(prefill).collect();
        let models = ids.iter().filter_map(|id| self.known.fleet.model(&[Subject::Worker(*id)]));
        let models = models.collect();
        self.known.routing.prefilled = Prefilled { read: Some(at), any: !ids.is_empty(), models };
    }
}
