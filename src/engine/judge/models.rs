//! Evidence for each model and Dynamo namespace, where there are several.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diagnose::{Pool, pools};
use crate::domain::{Basis, ClaimOf, ClaimValue, ClaimWhat, Subject, WorkerId};
use crate::engine::{Fleet, Setup};
use crate::model::SizeByStores;

impl Fleet {
    /// Returns the workers with a model card whose instance is not in discovery, where those of others are.
    pub(super) fn unlisted(&self) -> BTreeSet<WorkerId> {
        let (mut unlisted, mut listed) = (BTreeSet::new(), false);
        for stored in self.claims.of_kind(ClaimWhat::BlockSize) {
            let (ClaimOf::Card, Basis::Observed, Subject::Worker(worker)) =
                (stored.claim.of, stored.claim.basis, &stored.claim.subject)
            else {
                continue;
            };
            if self.workers.is_listed(*worker) {
                listed = true;
            } else {
                unlisted.insert(*worker);
            }
        }
        if listed { unlisted } else { BTreeSet::new() }
    }
}

impl Setup<'_> {
    /// Returns the models that workers serve.
    pub(super) fn models(&self) -> Vec<(WorkerId, Arc<str>)> {
        let named = self.fleet.claims.of_kind(ClaimWhat::Model);
        let named = named.filter_map(|stored| match (&stored.claim.subject, &stored.claim.value) {
            (Subject::Worker(worker), ClaimValue::Text(model)) => {
                Some((*worker, Arc::clone(model)))
            }
            _ => None,
        });
        named.collect()
    }

    /// Returns how many different models the settings of worker pods and components name.
    pub(super) fn models_set(&self) -> usize {
        let named = self.fleet.claims.of_kind(ClaimWhat::Model);
        let set = named.filter_map(|stored| match (&stored.claim.subject, &stored.claim.value) {
            (Subject::Worker(_) | Subject::Deployment, _) => None,
            (subject, ClaimValue::Text(model)) if self.speaks(subject) => Some(model),
            _ => None,
        });
        set.collect::<BTreeSet<_>>().len()
    }

    /// Returns the Dynamo namespaces of workers: as discovery, pods or graph deployments name them, or else as their events
    /// do.
    pub(super) fn namespaces(&self) -> Vec<(WorkerId, Arc<str>)> {
        let ids: BTreeSet<WorkerId> =
            self.fleet.workers.ranks().iter().map(|record| record.rank.worker).collect();
        let told = ids
            .into_iter()
            .map(|worker| (worker, self.dynamo_namespace(Some(worker), &Subject::Worker(worker))));
        let told: Vec<_> = told.collect();
        let known: BTreeSet<Arc<str>> = told.iter().filter_map(|(_, name)| name.clone()).collect();
        let named = told.into_iter().filter_map(|(worker, name)| {
            Some((worker, name.or_else(|| self.fleet.namespace_of_events(worker, &known))?))
        });
        named.collect()
    }

    /// Returns the publisher's block size of each model and of each pool of workers, as the lengths of chains prove it,
    /// where there are several.
    pub(super) fn chains_of(&self) -> Vec<(Pool, SizeByStores)> {
        let models = self.models();
        let mut of = pools(&models, &self.namespaces());
        if of.is_empty() {
            return Vec::new();
        }
        of.extend(pools(&models, &[]));
        let mut of_worker: BTreeMap<WorkerId, Vec<u32>> = BTreeMap::new();
        for (index, record) in self.fleet.workers.ranks().iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            of_worker.entry(record.rank.worker).or_default().push(index);
        }
        let proven = |(pool, workers): (Pool, BTreeSet<WorkerId>)| {
            let ranks = workers.iter().filter_map(|worker| of_worker.get(worker)).flatten();
            let ranks: Vec<u32> = ranks.copied().collect();
            Some((pool, self.routing.prefixes.reuse.publisher_size_among(&ranks)?))
        };
        of.into_iter().filter_map(proven).collect()
    }
}
