//! Restricts the evidence to one of several models, because other models are no evidence for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Evidence;
use crate::domain::{ClaimOf, WorkerId};
use crate::model::{Lookups, Overlaps};

/// Most models that are looked at one by one. A deployment serves a few.
pub(in crate::diagnose) const MODELS: usize = 64;

impl Evidence {
    /// Returns the models that are served, each with what is known of its workers and their requests alone,
    /// where there are several. The parts are made one at a time: together they are as large as models times workers.
    pub fn by_model(&self) -> impl Iterator<Item = (String, Self)> {
        let models = self.models_served().into_iter().flatten().take(MODELS);
        models.map(|model| (model.to_owned(), self.of_model(model)))
    }

    /// Returns the models, of several, none of whose requests hit the cache, each with the number of those of which that
    /// is known.
    pub fn models_without_hits(&self) -> Vec<(&str, u64)> {
        let mut of_worker: HashMap<WorkerId, Overlaps> = HashMap::new();
        for rank in self.present() {
            of_worker.entry(rank.rank.worker).or_default().add(&rank.tally.requests.overlaps);
        }
        let mut of_model: BTreeMap<&str, Overlaps> = BTreeMap::new();
        for (worker, model) in &self.models {
            let Some(overlaps) = of_worker.get(worker) else { continue };
            of_model.entry(model).or_default().add(overlaps);
        }
        if of_model.len() < 2 {
            return Vec::new();
        }
        let lookups = of_model.into_iter().map(|(model, overlaps)| (model, overlaps.best()));
        let without = lookups.filter(|(_, all)| all.known == all.zero).take(MODELS);
        without.map(|(model, all)| (model, all.known)).collect()
    }

    /// Returns true where more models are served than are looked at one by one.
    pub fn has_too_many_models(&self) -> bool {
        self.models_served().len() > MODELS
    }

    /// Keeps what is of `model`. What nobody says whose it is goes: costs, metrics, routers without a model.
    /// Warnings stay, since they only ever speak against a finding here.
    pub(in crate::diagnose) fn of_model(&self, model: &str) -> Self {
        let theirs = self.models.iter().filter(|(_, served)| &**served == model);
        let theirs: BTreeSet<WorkerId> = theirs.map(|(worker, _)| *worker).collect();
        let serves = |worker: WorkerId| theirs.contains(&worker);
        let mut part = self.clone();
        part.ranks.retain(|rank| serves(rank.rank.worker));
        for claims in [&mut part.sizes, &mut part.largest] {
            claims.retain(|claim| match claim.worker {
                Some(worker) => serves(worker),
                None => claim.of == ClaimOf::Router && claim.model.as_deref() == Some(model),
            });
        }
        part.models.retain(|(_, served)| &**served == model);
        let (mut overlaps, mut warm) = (Overlaps::default(), Lookups::default());
        let mut routed = 0;
        for rank in part.present() {
            overlaps.add(&rank.tally.requests.overlaps);
            warm.add(&rank.tally.requests.warm);
            routed += rank.tally.requests.routed;
        }
        part.tree.held = part.present().map(|rank| rank.held).sum();
        part.tree.accepted = part.present().map(|rank| rank.accepted).sum();
        let tally = &mut part.router.tally;
        (tally.overlaps, tally.warm, tally.routed) = (overlaps, warm, routed);
        part.router.inferred = None;
        (part.router.tally.own.shares, part.router.told.own.shares) = (0, 0);
        let chains = self.router.chains_by_model.iter().find(|(of, _)| **of == *model);
        part.router.chains = chains.map(|(_, size)| *size);
        part
    }
}
