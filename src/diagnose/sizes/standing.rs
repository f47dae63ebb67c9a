//! Decides which claims about block sizes hold: behaviour beats configuration.

use crate::diagnose::Proof;
use crate::diagnose::evidence::{Evidence, Ground, RankEvidence, SizeClaim};
use crate::diagnose::measure;
use crate::diagnose::phrase::phrase;
use crate::domain::{Backend, BlockSize, ClaimOf};
use crate::model::Tally;

/// The number of full stores, or of held blocks, that prove that a publisher accepts its engine's blocks.
const FULL: u64 = 5;

impl Evidence {
    /// Returns false for claims that better evidence refutes: settings that the process itself contradicts, and
    /// implausible numbers.
    pub(super) fn holds(&self, claim: &SizeClaim) -> bool {
        if claim.ground == Ground::Observed {
            return claim.is_plausible();
        }
        let contradicts = |of: ClaimOf| {
            self.sizes.iter().any(|other| {
                other.of == of
                    && other.ground == Ground::Observed
                    && other.is_plausible()
                    && other.about() == claim.about()
                    && other.tokens != claim.tokens
            })
        };
        match claim.of {
            ClaimOf::Publisher | ClaimOf::Card => {
                !contradicts(ClaimOf::Card) && !contradicts(ClaimOf::Publisher)
            }
            // TensorRT-LLM's card holds the publisher's setting, not the engine's block size.
            ClaimOf::Engine => {
                let follows = !matches!(self.backend_of(claim), Some(Backend::TrtLlm) | None);
                let by_card = follows && contradicts(ClaimOf::Card);
                !contradicts(ClaimOf::Engine) && !by_card
            }
            ClaimOf::Router | ClaimOf::Declared => true,
        }
    }

    /// Returns worker settings that better evidence refutes, as evidence against the finding.
    pub fn refuted(&self) -> impl Iterator<Item = Proof> {
        let of = [ClaimOf::Publisher, ClaimOf::Engine];
        let all = of.into_iter().flat_map(|of| self.all_sizes_of(of));
        let set = all.filter(|claim| claim.ground > Ground::Default && !self.holds(claim));
        set.map(|claim| {
            let subject = phrase!("{}, refuted", claim.who(self));
            claim.proof(measure::block_size(claim.of).of(&subject)).against()
        })
    }

    /// Returns observed numbers that are not plausible block sizes.
    pub fn absurd_sizes(&self) -> impl Iterator<Item = &SizeClaim> {
        let of = [ClaimOf::Publisher, ClaimOf::Engine, ClaimOf::Card, ClaimOf::Router];
        let all = of.into_iter().flat_map(|of| self.all_sizes_of(of));
        all.filter(|claim| claim.ground == Ground::Observed && !claim.is_plausible())
    }

    /// Returns true when decode context parallelism explains the engine's larger blocks: block sizes in such
    /// events count the tokens on all processes (`--decode-context-parallel-size`).
    pub fn is_context_parallel(&self, publisher: &SizeClaim, engine: &SizeClaim) -> bool {
        self.settings.context_parallel.iter().any(|of| {
            let its = of.worker.is_some() && of.worker == engine.worker
                || Some(&of.who) == engine.pod.as_ref().or(engine.component.as_ref());
            its && of.set.value > 1
                && u64::from(engine.tokens) == u64::from(publisher.tokens) * of.set.value
        })
    }

    /// Returns in words why engines whose blocks are larger than their publishers' are right, where decode context
    /// parallelism explains it.
    pub fn context_parallel_note(&self) -> Option<String> {
        let mut all = self.sizes_of(ClaimOf::Publisher).filter_map(|publisher| {
            let mut engines = self.sizes_of(ClaimOf::Engine);
            let engine = engines.find(|engine| self.is_context_parallel(publisher, engine))?;
            let (small, large) = (publisher.tokens, engine.tokens);
            let processes = large / small.max(1);
            Some(format!(
                "engine events of {large} tokens are {small}-token blocks on {processes} processes (decode context \
                 parallelism), which is no mismatch"
            ))
        });
        all.next()
    }

    /// Returns the engine that a claim is about.
    fn backend_of(&self, claim: &SizeClaim) -> Option<Backend> {
        let mut ranks = self.present();
        let own = ranks.find(|rank| claim.worker == Some(rank.rank.worker));
        own.and_then(|rank| rank.backend).or_else(|| self.backend())
    }

    /// Returns false for claims about a pod without a worker, while the pods of all workers are known: it has
    /// not registered yet, or ended before it could, so that nothing is routed to it.
    pub fn may_serve(&self, claim: &SizeClaim) -> bool {
        let mut there = self.present().peekable();
        let linked = there.peek().is_some() && there.all(|rank| rank.pod.is_some());
        claim.worker.is_some() || claim.pod.is_none() || !linked
    }

    /// Returns true when store events arrive with blocks.
    pub fn is_publishing(&self, tally: &Tally) -> bool {
        let empty = tally.kv.counters.empty_stores as f64;
        let stores = tally.kv.counters.stores as f64;
        tally.kv.full_stores() >= FULL && empty < self.thresholds.empty_share_well * stores
    }

    /// Returns true when the worker of these claims does publish its engine's blocks: both then use one size,
    /// whatever the settings say.
    pub fn agree_in_effect(&self, publisher: &SizeClaim, engine: &SizeClaim) -> bool {
        // Sizes in its log may be newer than the blocks that it holds.
        let said = publisher.ground.min(engine.ground) == Ground::Observed;
        let takes = |rank: &RankEvidence| {
            let holds = rank.held >= FULL && rank.tally.kv.counters.empty_stores == 0;
            self.is_publishing(&rank.tally) || (holds && !said)
        };
        if let Some(worker) = engine.worker {
            return self.present().any(|rank| rank.rank.worker == worker && takes(rank));
        }
        // A pod or component whose worker is not known: all workers speak for it, by more than a block or two.
        let mut there = self.present().peekable();
        there.peek().is_some() && there.all(|rank| self.is_publishing(&rank.tally))
    }
}

impl SizeClaim {
    /// Returns true for a size that an engine can have.
    pub fn is_plausible(&self) -> bool {
        BlockSize::new(self.tokens).is_some_and(BlockSize::is_plausible)
    }
}
