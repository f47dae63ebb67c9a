//! Settings of each worker for rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::names::WorkerNames;
use super::settings::{flag, with};
use crate::diagnose::{Ground, OfWorker, Setting};
use crate::domain::{Basis, ClaimOf, ClaimValue, ClaimWhat, Subject, WorkerId};
use crate::engine::{Setup, picture};
use crate::model::StoredClaim;

/// The parts of a deployment that tell something about a worker's engine.
const ENGINE: [ClaimOf; 3] = [ClaimOf::Engine, ClaimOf::Publisher, ClaimOf::Card];

impl Setup<'_> {
    /// Returns whether workers publish KV events, as they or their routers say.
    pub(super) fn publishes(&self, names: &WorkerNames) -> Vec<OfWorker<bool>> {
        let [engine, publisher, card] = ENGINE;
        let of = [engine, publisher, card, ClaimOf::Router];
        self.of_workers(names, ClaimWhat::PublishesEvents, &of, flag).into_values().collect()
    }

    /// Returns whether engines reuse prefixes, of workers that compute prompts: those that only decode have no use
    /// for it.
    pub(super) fn prefix_reuse(&self, names: &WorkerNames) -> Vec<OfWorker<bool>> {
        let found = self.of_workers(names, ClaimWhat::PrefixReuse, &ENGINE, flag);
        let computes = |(subject, of): &(Subject, OfWorker<bool>)| {
            let part = self.part_of(of.worker, subject);
            !part.is_some_and(|part| part.to_ascii_lowercase().contains("decode"))
        };
        let all = found.into_iter().filter(computes);
        all.map(|(subject, of)| self.with_cause(&subject, of)).collect()
    }

    /// Returns where engines publish events of their own.
    pub(super) fn event_endpoints(&self, names: &WorkerNames) -> Vec<OfWorker<Arc<str>>> {
        let text = |stored: &StoredClaim| match &stored.claim.value {
            ClaimValue::Text(value) => Some(with(stored, Arc::clone(value))),
            _ => None,
        };
        self.of_workers(names, ClaimWhat::EventEndpoint, &ENGINE, text).into_values().collect()
    }

    /// Returns the event planes on which workers publish.
    pub(super) fn publishing_planes(&self, names: &WorkerNames) -> Vec<OfWorker<Arc<str>>> {
        let text = |stored: &StoredClaim| match &stored.claim.value {
            ClaimValue::Text(value) => Some(with(stored, Arc::clone(value))),
            _ => None,
        };
        let of = [ClaimOf::Publisher];
        self.of_workers(names, ClaimWhat::EventPlane, &of, text).into_values().collect()
    }

    /// Returns over how many processes each engine splits the context that it decodes.
    pub(super) fn context_parallel(&self, names: &WorkerNames) -> Vec<OfWorker<u64>> {
        let count = |stored: &StoredClaim| match stored.claim.value {
            ClaimValue::Count(value) => Some(with(stored, value)),
            _ => None,
        };
        self.of_workers(names, ClaimWhat::ContextParallel, &ENGINE, count).into_values().collect()
    }

    /// Returns the router modes in model cards, and true when every worker that has a card names one.
    pub(super) fn card_modes(&self, names: &WorkerNames) -> (Vec<OfWorker<Arc<str>>>, bool) {
        const CARD: [ClaimOf; 1] = [ClaimOf::Card];
        // Settings alone do not tell: workers before 1.6 do not read them.
        let text = |stored: &StoredClaim| match &stored.claim.value {
            ClaimValue::Text(value) if stored.claim.basis == Basis::Observed => {
                Some(with(stored, Arc::clone(value)))
            }
            _ => None,
        };
        let modes = self.of_workers(names, ClaimWhat::RouterMode, &CARD, text);
        if modes.is_empty() {
            return (Vec::new(), false);
        }
        let cards = self.of_workers(names, ClaimWhat::Model, &CARD, text);
        let all = cards.keys().all(|worker| modes.contains_key(worker));
        (modes.into_values().collect(), all)
    }

    /// Names the setting behind what an engine says of itself, where there is one: it is what can be changed.
    fn with_cause(&self, subject: &Subject, mut of: OfWorker<bool>) -> OfWorker<bool> {
        let pod =
            of.worker.and_then(|id| self.fleet.workers.worker(id)?.pod.clone()).map(Subject::Pod);
        let subjects = [Some(subject), pod.as_ref()];
        let claims = ClaimOf::ALL.into_iter().flat_map(|of| {
            let about = move |it| self.fleet.claims.about(ClaimWhat::PrefixReuse, of, it);
            subjects.into_iter().flatten().flat_map(about)
        });
        let mut causes = claims.filter(|stored| {
            let claim = &stored.claim;
            claim.value == ClaimValue::Flag(of.set.value)
                && matches!(claim.basis, Basis::Setting | Basis::File)
        });
        let cause = causes.next();
        if let (Ground::Observed, Some(cause)) = (of.set.ground, cause) {
            of.set.source = Arc::clone(&cause.claim.source);
            of.set.raw = Arc::clone(&cause.claim.raw);
            of.set.set_by.clone_from(&cause.claim.set_by);
            of.set.medium = cause.claim.medium;
        }
        of
    }

    /// Returns a setting of each worker: of those that registered, of pods, and of components without.
    fn of_workers<T>(
        &self,
        names: &WorkerNames,
        what: ClaimWhat,
        of: &[ClaimOf],
        read: impl Fn(&StoredClaim) -> Option<Setting<T>>,
    ) -> BTreeMap<Subject, OfWorker<T>> {
        let mut found: BTreeMap<Subject, OfWorker<T>> = BTreeMap::new();
        let mut add = |worker: Option<WorkerId>, who: Arc<str>, subjects: &[Subject]| {
            let key = worker.map(Subject::Worker).or_else(|| subjects.first().cloned());
            let best = self.fleet.claims.best(what, of, subjects);
            if let (Some(key), Some(set)) = (key, best.and_then(&read)) {
                found.entry(key).or_insert(OfWorker { worker, who, set });
            }
        };
        for record in self.fleet.workers.ranks() {
            let id = record.rank.worker;
            let known = self.fleet.workers.worker(id);
            if known.is_some_and(|worker| worker.gone) || !self.speaks(&Subject::Worker(id)) {
                continue;
            }
            let pod = known.and_then(|worker| worker.pod.as_deref());
            let subjects = picture::subjects(record, pod);
            add(Some(id), names.get(id), &subjects);
        }
        for (_, subject) in self.processes().filter(|(role, _)| role.is_worker()) {
            let (worker, who) = match &subject {
                Subject::Pod(pod) => (self.fleet.workers.in_pod(pod), Arc::clone(pod)),
                Subject::Component { component, .. } => (None, Arc::clone(component)),
                Subject::Worker(_) | Subject::Deployment => continue,
            };
            let gone = |id: WorkerId| self.fleet.workers.worker(id).is_some_and(|known| known.gone);
            if !worker.is_some_and(gone) {
                add(worker, who, std::slice::from_ref(&subject));
            }
        }
        found
    }
}
