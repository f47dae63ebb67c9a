//! Decides which claims about block sizes hold: behaviour beats configuration.

use std::collections::{BTreeSet, HashMap};

use crate::diagnose::Proof;
use crate::diagnose::evidence::{Evidence, Ground, RankEvidence, SizeClaim};
use crate::diagnose::measure;
use crate::diagnose::phrase::phrase;
use crate::domain::{Backend, BlockSize, ClaimOf, FastMap, WorkerId};
use crate::model::Tally;

/// The number of full stores, or of held blocks, that prove that a publisher accepts its engine's blocks.
const FULL: u64 = 5;

/// The subject of a claim: its worker, pod or component.
pub(super) type About<'a> = (Option<WorkerId>, Option<&'a str>, Option<&'a str>);

/// Plausible sizes of one kind that were observed of one subject.
#[derive(Clone, Copy)]
struct Observed {
    tokens: u32,
    /// True where there are several.
    differ: bool,
}

/// Decides which claims hold. It is made once for a list of claims: every worker makes several, and each needs those
/// of its subject.
pub(super) struct Standing<'a> {
    gone: BTreeSet<WorkerId>,
    observed: HashMap<(ClaimOf, About<'a>), Observed>,
    /// The engines of present workers.
    backends: FastMap<WorkerId, Option<Backend>>,
    /// The engine of all others.
    backend: Option<Backend>,
}

impl<'a> Standing<'a> {
    pub(super) fn of(evidence: &'a Evidence) -> Self {
        let mut observed = HashMap::new();
        let seen = |claim: &&SizeClaim| claim.ground == Ground::Observed && claim.is_plausible();
        for claim in evidence.sizes.iter().filter(seen) {
            observed
                .entry((claim.of, claim.about()))
                .and_modify(|it: &mut Observed| it.differ |= it.tokens != claim.tokens)
                .or_insert(Observed { tokens: claim.tokens, differ: false });
        }
        let mut backends = FastMap::default();
        backends.reserve(evidence.ranks.len());
        for rank in evidence.present() {
            backends.entry(rank.rank.worker).or_insert(rank.backend);
        }
        Self { gone: evidence.gone(), observed, backends, backend: evidence.backend() }
    }

    /// Returns false for claims about workers that are gone.
    pub(super) fn is_present(&self, claim: &SizeClaim) -> bool {
        !claim.worker.is_some_and(|worker| self.gone.contains(&worker))
    }

    /// Returns false for claims that better evidence refutes: settings that the process itself contradicts, and
    /// implausible numbers.
    pub(super) fn holds(&self, claim: &SizeClaim) -> bool {
        if claim.ground == Ground::Observed {
            return claim.is_plausible();
        }
        let contradicts = |of: ClaimOf| {
            let observed = self.observed.get(&(of, claim.about()));
            observed.is_some_and(|it| it.differ || it.tokens != claim.tokens)
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

    /// Returns the engine that a claim is about.
    fn backend_of(&self, claim: &SizeClaim) -> Option<Backend> {
        let own = claim.worker.and_then(|worker| self.backends.get(&worker).copied().flatten());
        own.or(self.backend)
    }
}

/// The workers that publish their engines' blocks.
pub(super) struct Publishing {
    /// Those whose store events arrive with blocks.
    stores: BTreeSet<WorkerId>,
    /// Those of which blocks are held, and no store was empty.
    holds: BTreeSet<WorkerId>,
    /// True when there are workers, and blocks of all of them arrive.
    all: bool,
}

impl Publishing {
    pub(super) fn of(evidence: &Evidence) -> Self {
        let stores = |rank: &&RankEvidence| evidence.is_publishing(&rank.tally);
        let holds =
            |rank: &&RankEvidence| rank.held >= FULL && rank.tally.kv.counters.empty_stores == 0;
        let worker = |rank: &RankEvidence| rank.rank.worker;
        let mut there = evidence.present().peekable();
        Self {
            stores: evidence.present().filter(stores).map(worker).collect(),
            holds: evidence.present().filter(holds).map(worker).collect(),
            all: there.peek().is_some() && there.all(|rank| stores(&rank)),
        }
    }

    /// Returns true when the worker of these claims does publish its engine's blocks: both then use one size,
    /// whatever the settings say.
    pub(super) fn agree(&self, publisher: &SizeClaim, engine: &SizeClaim) -> bool {
        // Sizes in its log may be newer than the blocks that it holds.
        let said = publisher.ground.min(engine.ground) == Ground::Observed;
        match engine.worker {
            Some(worker) => {
                self.stores.contains(&worker) || (!said && self.holds.contains(&worker))
            }
            // A pod or component whose worker is not known: all workers speak for it, by more than a block or two.
            None => self.all,
        }
    }
}

impl Evidence {
    /// Returns the workers that left discovery.
    pub(super) fn gone(&self) -> BTreeSet<WorkerId> {
        self.ranks.iter().filter(|rank| rank.gone).map(|rank| rank.rank.worker).collect()
    }

    /// Returns worker settings that better evidence refutes, as evidence against the finding.
    pub fn refuted(&self) -> impl Iterator<Item = Proof> {
        let of = [ClaimOf::Publisher, ClaimOf::Engine];
        let all = of.into_iter().flat_map(|of| self.all_sizes_of(of));
        let standing = Standing::of(self);
        let set = all.filter(move |claim| claim.ground > Ground::Default && !standing.holds(claim));
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
        if self.settings.context_parallel.is_empty() {
            return None;
        }
        let engines: Vec<&SizeClaim> = self.sizes_of(ClaimOf::Engine).collect();
        let mut all = self.sizes_of(ClaimOf::Publisher).filter_map(|publisher| {
            let mut engines = engines.iter();
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

    /// Returns true when the pods of all workers are known. A pod without a worker has not registered then, or ended
    /// before it could, so that nothing is routed to it.
    pub(super) fn knows_all_pods(&self) -> bool {
        let mut there = self.present().peekable();
        there.peek().is_some() && there.all(|rank| rank.pod.is_some())
    }

    /// Returns true when store events arrive with blocks.
    pub fn is_publishing(&self, tally: &Tally) -> bool {
        let empty = tally.kv.counters.empty_stores as f64;
        let stores = tally.kv.counters.stores as f64;
        tally.kv.full_stores() >= FULL && empty < self.thresholds.empty_share_well * stores
    }
}

impl SizeClaim {
    /// Returns true for a size that an engine can have.
    pub fn is_plausible(&self) -> bool {
        BlockSize::new(self.tokens).is_some_and(BlockSize::is_plausible)
    }
}
