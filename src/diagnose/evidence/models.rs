//! Restricts the evidence to one of several models or Dynamo namespaces, because others are no evidence for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use std::sync::Arc;

use super::Evidence;
use crate::diagnose::phrase::{Phrase, phrase};
use crate::domain::{ClaimOf, WorkerId};
use crate::model::{Lookups, Overlaps};

/// Most models that are looked at one by one. A deployment serves a few.
pub(in crate::diagnose) const MODELS: usize = 64;

/// Workers that may answer for each other: those of one model in one Dynamo namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pool {
    /// The Dynamo namespace; none for all of them, or where there is one.
    pub namespace: Option<Arc<str>>,
    /// The model; none for all of them, or where there is one.
    pub model: Option<Arc<str>>,
}

impl Pool {
    /// Returns its name within a sentence.
    pub(in crate::diagnose) fn name(&self) -> Phrase {
        match (&self.model, &self.namespace) {
            (Some(model), Some(namespace)) => {
                phrase!("model {} in Dynamo namespace {}", model, namespace)
            }
            (Some(model), None) => phrase!("model {}", model),
            (None, Some(namespace)) => phrase!("Dynamo namespace {}", namespace),
            (None, None) => "all workers".into(),
        }
    }

    /// Returns its name at the start of a sentence.
    pub(in crate::diagnose) fn title(&self) -> Phrase {
        match (&self.model, &self.namespace) {
            (Some(model), Some(namespace)) => {
                phrase!("Model {} in Dynamo namespace {}", model, namespace)
            }
            (Some(model), None) => phrase!("Model {}", model),
            _ => self.name(),
        }
    }
}

impl Evidence {
    /// Returns the models that are served, each with what is known of its workers and their requests alone,
    /// where there are several. The parts are made one at a time: together they are as large as models times workers.
    pub fn by_model(&self) -> impl Iterator<Item = (String, Self)> {
        let models = self.models_served().into_iter().flatten().take(MODELS);
        models.map(|model| (model.to_owned(), self.of_model(model)))
    }

    /// Returns the workers by model and Dynamo namespace, where there are several of either. A worker of which that is
    /// unknown is in none.
    pub fn pools(&self) -> BTreeMap<Pool, BTreeSet<WorkerId>> {
        pools(&self.models, &self.namespaces)
    }

    /// Returns the pools, of several, none of whose requests hit the cache, each with the number of those of which that
    /// is known.
    pub fn pools_without_hits(&self) -> Vec<(Pool, u64)> {
        let mut of_worker: HashMap<WorkerId, Overlaps> = HashMap::new();
        for rank in self.present() {
            of_worker.entry(rank.rank.worker).or_default().add(&rank.tally.requests.overlaps);
        }
        let mut without = Vec::new();
        for (pool, workers) in self.pools() {
            let mut overlaps = Overlaps::default();
            let mut there = workers.iter().filter_map(|worker| of_worker.get(worker)).peekable();
            if there.peek().is_none() {
                continue;
            }
            there.for_each(|of| overlaps.add(of));
            let all = overlaps.best();
            if all.known == all.zero {
                without.push((pool, all.known));
            }
        }
        without.truncate(MODELS);
        without
    }

    /// Returns true where more models are served than are looked at one by one.
    pub fn has_too_many_models(&self) -> bool {
        self.models_served().len() > MODELS
    }

    /// Keeps what is of `model`, as `of_pool` does.
    pub(in crate::diagnose) fn of_model(&self, model: &str) -> Self {
        let theirs = self.models.iter().filter(|(_, served)| &**served == model);
        let pool = Pool { namespace: None, model: Some(model.into()) };
        self.of_workers(&pool, &theirs.map(|(worker, _)| *worker).collect())
    }

    /// Keeps the evidence about `pool`. Costs, metrics, and routers without a model or namespace are left out, since they
    /// may be about another. Warnings stay: here they can only speak against a finding.
    pub(in crate::diagnose) fn of_pool(&self, pool: &Pool) -> Self {
        self.of_workers(pool, self.pools().get(pool).unwrap_or(&BTreeSet::new()))
    }

    fn of_workers(&self, pool: &Pool, theirs: &BTreeSet<WorkerId>) -> Self {
        let serves = |worker: WorkerId| theirs.contains(&worker);
        let mut part = self.clone();
        part.ranks.retain(|rank| serves(rank.rank.worker));
        for claims in [&mut part.sizes, &mut part.largest] {
            claims.retain(|claim| match claim.worker {
                Some(worker) => serves(worker),
                None => {
                    claim.of == ClaimOf::Router
                        && (pool.model.is_none() || claim.model == pool.model)
                        && (pool.namespace.is_none() || claim.dynamo_namespace == pool.namespace)
                }
            });
        }
        part.models.retain(|(worker, _)| serves(*worker));
        part.namespaces.retain(|(worker, _)| serves(*worker));
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
        let chains = self.router.chains_of.iter().find(|(of, _)| of == pool);
        part.router.chains = chains.map(|(_, size)| *size);
        part
    }
}

/// Returns the workers by model and Dynamo namespace, where there are several of either.
pub fn pools(
    models: &[(WorkerId, Arc<str>)],
    namespaces: &[(WorkerId, Arc<str>)],
) -> BTreeMap<Pool, BTreeSet<WorkerId>> {
    let several = |of: &[(WorkerId, Arc<str>)]| {
        of.first().is_some_and(|(_, first)| of.iter().any(|(_, name)| name != first))
    };
    let mut pools: BTreeMap<Pool, BTreeSet<WorkerId>> = BTreeMap::new();
    match (several(models), several(namespaces)) {
        (false, false) => {}
        (true, false) => {
            for (worker, model) in models {
                let pool = Pool { namespace: None, model: Some(Arc::clone(model)) };
                pools.entry(pool).or_default().insert(*worker);
            }
        }
        (several_models, true) => {
            let mut of: HashMap<WorkerId, Vec<&Arc<str>>> = HashMap::new();
            for (worker, model) in models.iter().filter(|_| several_models) {
                of.entry(*worker).or_default().push(model);
            }
            for (worker, namespace) in namespaces {
                let served = of.get(worker).map(Vec::as_slice).unwrap_or_default();
                let named = served.iter().map(|model| Some(Arc::clone(*model)));
                let unnamed = (!several_models).then_some(None);
                for model in named.chain(unnamed) {
                    let pool = Pool { namespace: Some(Arc::clone(namespace)), model };
                    pools.entry(pool).or_default().insert(*worker);
                }
            }
        }
    }
    pools
}
