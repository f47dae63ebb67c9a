//! The two sides of a mismatch: the router's block size and the workers'.

use crate::diagnose::Proof;
use crate::diagnose::evidence::{Evidence, Ground, RouterKind, SizeClaim};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, phrase};
use crate::diagnose::{Kind, Origin};
use crate::domain::ClaimOf;

/// A block size with its evidence.
#[derive(Clone, Debug)]
pub struct Side {
    /// Tokens per block.
    pub tokens: u32,
    /// The evidence for this size.
    pub proof: Proof,
    /// True for sizes that behaviour shows or a running process reports; false for settings.
    pub observed: bool,
    /// True for sizes that behaviour shows.
    pub by_behaviour: bool,
}

impl Side {
    fn of_claim(claim: &SizeClaim, kind: impl Into<Kind>) -> Self {
        Self {
            tokens: claim.tokens,
            proof: claim.proof(kind),
            observed: claim.ground == Ground::Observed,
            by_behaviour: false,
        }
    }
}

impl Evidence {
    /// Returns the size that the router hashes requests with: from its costs, from its own report, or else from
    /// the model card, which the router inside the frontend uses (dynamo-llm 0.9.0,
    /// `discovery/watcher.rs:388`).
    pub fn router_side(&self) -> Option<Side> {
        if let Some(inferred) = self.router.inferred {
            let (tokens, proof) = (inferred.tokens, self.cost_proof(inferred.tokens));
            return Some(Side { tokens, proof, observed: true, by_behaviour: true });
        }
        if let Some(claim) = self.agreed(ClaimOf::Router) {
            return Some(Side::of_claim(claim, measure::ROUTER_BLOCK_SIZE));
        }
        if self.settings.router_kind == RouterKind::OwnSize {
            return None;
        }
        let card = self.agreed(ClaimOf::Card)?;
        Some(Side::of_claim(card, measure::ROUTER_BLOCK_SIZE.of("from the model card")))
    }

    /// Returns the size that the router hashes requests with, and its evidence.
    pub fn router_size(&self) -> Option<(u32, Proof)> {
        self.router_side().map(|side| (side.tokens, side.proof))
    }

    /// Returns the size that workers publish with, if the best evidence differs from `router`. Behaviour comes
    /// first, then the workers' own reports on engine and publisher, then the card, then settings. A card that
    /// agrees with the router is ignored: routers read their size from it.
    pub fn workers_side(&self, router: u32) -> Option<Side> {
        if let Some(chains) = self.router.chains {
            let value = phrase!(
                "{} ({} of {} prompt lengths match {}-token blocks)",
                chains.tokens,
                Count(chains.agreeing.into()),
                Count(chains.prompts.into()),
                chains.tokens
            );
            let proof = Proof::new(measure::PUBLISHER_BLOCK_SIZE, value, Origin::PromptLengths);
            let side = Side { tokens: chains.tokens, proof, observed: true, by_behaviour: true };
            return Some(side).filter(|side| side.tokens != router);
        }
        let own = [ClaimOf::Engine, ClaimOf::Publisher];
        let named = |of: ClaimOf| measure::WORKERS_BLOCK_SIZE.of(phrase!("from the {}", of.name()));
        for of in own {
            let claim = self.agreed(of).filter(|claim| claim.ground == Ground::Observed);
            if let Some(claim) = claim {
                return Some(Side::of_claim(claim, named(of))).filter(|side| side.tokens != router);
            }
        }
        let other = |of: ClaimOf| self.agreed(of).filter(|claim| claim.tokens != router);
        if let Some(card) = other(ClaimOf::Card).filter(|card| card.ground == Ground::Observed) {
            return Some(Side::of_claim(card, named(ClaimOf::Card)));
        }
        let set = own.into_iter().filter_map(other);
        let best = set.max_by_key(|claim| (claim.ground, claim.of == ClaimOf::Publisher))?;
        Some(Side::of_claim(best, named(best.of)))
    }
}
