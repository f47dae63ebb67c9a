//! Restricts the evidence to one of several models, because other models are no evidence for it.

use std::collections::BTreeSet;

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

    /// Returns true where more models are served than are looked at one by one.
    pub fn has_too_many_models(&self) -> bool {
        self.models_served().len() > MODELS
    }

    /// Keeps what is of `model`. What nobody says whose it is goes: costs, metrics, routers without a model.
    /// Warnings stay, since they only ever speak against a finding here.
    fn of_model(&self, model: &str) -> Self {
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
        (part.router.tally.shares, part.router.told.shares) = (0, 0);
        let chains = self.router.chains_by_model.iter().find(|(of, _)| **of == *model);
        part.router.chains = chains.map(|(_, size)| *size);
        part
    }
}
