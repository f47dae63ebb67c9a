//! Block sizes as several rules compare them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::evidence::{Evidence, Ground, SizeClaim};
use super::verdict::Proof;
use crate::domain::{ClaimOf, WorkerId, thousands};

impl Evidence {
    /// Returns the claims about `of` of workers that are present, of pods and of the deployment.
    pub fn sizes_of(&self, of: ClaimOf) -> impl Iterator<Item = &SizeClaim> {
        self.sizes.iter().filter(move |claim| {
            let left = |worker: WorkerId| {
                self.ranks.iter().any(|rank| rank.rank.worker == worker && rank.gone)
            };
            claim.of == of && !claim.worker.is_some_and(left)
        })
    }

    /// Returns of each worker, pod or component the best claim about `of`.
    pub fn best_by_subject(&self, of: ClaimOf) -> Vec<&SizeClaim> {
        let mut best: Vec<&SizeClaim> = Vec::new();
        for claim in self.sizes_of(of) {
            let about =
                |claim: &SizeClaim| (claim.worker, claim.pod.clone(), claim.component.clone());
            match best.iter_mut().find(|known| about(known) == about(claim)) {
                Some(known) if (known.ground, known.last) < (claim.ground, claim.last) => {
                    *known = claim;
                }
                Some(_) => {}
                None => best.push(claim),
            }
        }
        best
    }

    /// Returns the one size that all claims about `of` agree on, the best claim first.
    pub fn agreed(&self, of: ClaimOf) -> Option<&SizeClaim> {
        let best = self.sizes_of(of).max_by_key(|claim| (claim.ground, claim.last))?;
        let same = |claim: &SizeClaim| claim.tokens == best.tokens || claim.ground < best.ground;
        self.sizes_of(of).all(same).then_some(best)
    }

    /// Returns the size that workers hash and publish with: what they say of their publisher, of their
    /// engine, and of their card, in this order.
    pub fn worker_size(&self) -> Option<&SizeClaim> {
        [ClaimOf::Publisher, ClaimOf::Engine, ClaimOf::Card]
            .into_iter()
            .find_map(|of| self.agreed(of))
    }

    /// Returns the size that the router hashes requests with, and where that is from.
    pub fn router_size(&self) -> Option<(u32, Proof)> {
        if let Some(claim) = self.agreed(ClaimOf::Router) {
            return Some((claim.tokens, claim.proof("router block size")));
        }
        if let Some(inferred) = self.router.inferred {
            return Some((inferred.tokens, self.cost_proof(inferred.tokens)));
        }
        // Inside the frontend the router takes the card's size (dynamo-llm 0.9.0,
        // `discovery/watcher.rs:388`).
        let card = self.agreed(ClaimOf::Card)?;
        Some((card.tokens, card.proof("router block size, from the model card")))
    }

    /// Returns the evidence that costs give for a block size.
    pub fn cost_proof(&self, tokens: u32) -> Proof {
        let (samples, error) =
            self.router.inferred.map_or((0, 0.0), |inferred| (inferred.samples, inferred.error));
        let value = format!("{tokens}: {} costs are multiples of 1/{tokens}", thousands(samples));
        let odds = if error < 1e-9 { "less than 1e-9".to_owned() } else { format!("{error:.1e}") };
        Proof::new("router block size", value, format!("routers' logs; chance of error {odds}"))
    }

    /// Returns pairs of claims about one worker whose engine and publisher differ.
    pub fn split_workers(&self) -> Vec<(&SizeClaim, &SizeClaim)> {
        let mut pairs = Vec::new();
        for publisher in self.sizes_of(ClaimOf::Publisher) {
            let engine = self
                .sizes_of(ClaimOf::Engine)
                .filter(|engine| {
                    (engine.worker, &engine.pod, &engine.component)
                        == (publisher.worker, &publisher.pod, &publisher.component)
                })
                .max_by_key(|engine| (engine.ground, engine.last));
            if let Some(engine) = engine
                && engine.tokens != publisher.tokens
                && engine.ground.max(publisher.ground) > Ground::Default
            {
                pairs.push((publisher, engine));
            }
        }
        pairs
    }

    /// Returns the models that are served; one nameless one when there are not several.
    pub fn models_served(&self) -> Vec<Option<&str>> {
        let models: BTreeSet<&str> = self.models.iter().map(|(_, model)| model.as_ref()).collect();
        if models.len() > 1 { models.into_iter().map(Some).collect() } else { vec![None] }
    }

    /// Returns the sizes that workers of `model` which are present claim for themselves, with who
    /// claims them; of all models when it is none.
    pub fn sizes_by_worker(&self, model: Option<&str>) -> Vec<(u32, Vec<Arc<str>>)> {
        let serves = |claim: &SizeClaim| {
            let mut models = self.models.iter().filter(|(worker, _)| claim.worker == Some(*worker));
            model.is_none_or(|model| models.any(|(_, served)| served.as_ref() == model))
        };
        let mut sizes: Vec<(u32, BTreeSet<Arc<str>>)> = Vec::new();
        // A worker's card is what it agreed to be routed by; its publisher what it does.
        for of in [ClaimOf::Card, ClaimOf::Publisher] {
            let set = |claim: &&SizeClaim| claim.ground > Ground::Default && serves(claim);
            for claim in self.sizes_of(of).filter(set) {
                let name = claim.who(self);
                match sizes.iter_mut().find(|(tokens, _)| *tokens == claim.tokens) {
                    Some((_, names)) => drop(names.insert(name)),
                    None => sizes.push((claim.tokens, BTreeSet::from([name]))),
                }
            }
            if !sizes.is_empty() {
                break;
            }
        }
        sizes.sort_by_key(|(tokens, names)| (std::cmp::Reverse(names.len()), *tokens));
        sizes.into_iter().map(|(tokens, names)| (tokens, names.into_iter().collect())).collect()
    }
}

impl SizeClaim {
    /// Returns the claim as evidence called `claim`.
    pub fn proof(&self, claim: impl Into<String>) -> Proof {
        Proof::new(claim, format!("{} tokens ({})", self.tokens, self.raw), self.source.to_string())
            .at(self.at)
    }

    /// Returns whom it is about.
    pub fn who(&self, evidence: &Evidence) -> Arc<str> {
        match (&self.worker, self.pod.as_ref().or(self.component.as_ref())) {
            (Some(worker), _) => evidence.alias(*worker),
            (None, Some(name)) => Arc::clone(name),
            (None, None) => Arc::from("the deployment"),
        }
    }
}
