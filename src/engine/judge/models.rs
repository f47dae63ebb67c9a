//! Evidence for each model, where workers serve several.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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

    /// Returns the publisher's block size of each model, as the lengths of chains prove it, where there are
    /// several.
    pub(super) fn chains_by_model(&self) -> Vec<(Arc<str>, SizeByStores)> {
        if !self.fleet.serves_several() {
            return Vec::new();
        }
        let mut of_worker: BTreeMap<WorkerId, Vec<u32>> = BTreeMap::new();
        for (index, record) in self.fleet.workers.ranks().iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            of_worker.entry(record.rank.worker).or_default().push(index);
        }
        let mut ranks: BTreeMap<Arc<str>, Vec<u32>> = BTreeMap::new();
        for (worker, model) in self.models() {
            ranks.entry(model).or_default().extend(of_worker.get(&worker).into_iter().flatten());
        }
        let proven = |(model, ranks): (Arc<str>, Vec<u32>)| {
            Some((model, self.routing.prefixes.reuse.publisher_size_among(&ranks)?))
        };
        ranks.into_iter().filter_map(proven).collect()
    }
}
