//! Block sizes as several rules compare them.

mod sides;
mod standing;
mod workers;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::evidence::{Evidence, Ground, SizeClaim};
use super::proof::Proof;
use crate::diagnose::Kind;
use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::domain::{ClaimOf, WorkerId};
pub(super) use sides::Side;
use standing::{About, Publishing, Standing};
pub(super) use workers::SizesByWorker;

impl Evidence {
    /// Returns the claims about `of` that hold, of workers that are present, of pods and of the deployment.
    pub fn sizes_of(&self, of: ClaimOf) -> impl Iterator<Item = &SizeClaim> {
        let standing = Standing::of(self);
        let of_kind = self.sizes.iter().filter(move |claim| claim.of == of);
        of_kind.filter(move |claim| standing.is_present(claim) && standing.holds(claim))
    }

    /// Returns all such claims, including those refuted by better evidence.
    pub fn all_sizes_of(&self, of: ClaimOf) -> impl Iterator<Item = &SizeClaim> {
        let gone = self.gone();
        self.sizes.iter().filter(move |claim| {
            claim.of == of && !claim.worker.is_some_and(|worker| gone.contains(&worker))
        })
    }

    /// Returns of each worker, pod or component the best claim about `of`, for each model that it names.
    pub fn best_by_subject(&self, of: ClaimOf) -> Vec<&SizeClaim> {
        let mut best: Vec<&SizeClaim> = Vec::new();
        let mut of_subject: HashMap<About<'_>, Vec<usize>> = HashMap::new();
        for claim in self.sizes_of(of) {
            let places = of_subject.entry(claim.about()).or_default();
            let same = |known: &SizeClaim| {
                known.model == claim.model || known.model.is_none() || claim.model.is_none()
            };
            if let Some(place) = places.iter().copied().find(|place| same(best[*place])) {
                let known = best[place];
                if (known.ground, known.last) < (claim.ground, claim.last) {
                    best[place] = claim;
                }
            } else {
                places.push(best.len());
                best.push(claim);
            }
        }
        best
    }

    /// Returns the one size that all claims about `of` agree on, the best claim first.
    pub fn agreed(&self, of: ClaimOf) -> Option<&SizeClaim> {
        let claims: Vec<&SizeClaim> = self.sizes_of(of).collect();
        let best = *claims.iter().max_by_key(|claim| (claim.ground, claim.last))?;
        let same = |claim: &SizeClaim| claim.tokens == best.tokens || claim.ground < best.ground;
        claims.into_iter().all(same).then_some(best)
    }

    /// Returns the size that workers hash and publish with. Observed sizes come before settings; of each kind
    /// the publisher's comes first, then the engine's, then the card's.
    pub fn worker_size(&self) -> Option<&SizeClaim> {
        let order = [ClaimOf::Publisher, ClaimOf::Engine, ClaimOf::Card];
        let seen = order
            .into_iter()
            .find_map(|of| self.agreed(of).filter(|claim| claim.ground == Ground::Observed));
        seen.or_else(|| order.into_iter().find_map(|of| self.agreed(of)))
    }

    /// Describes the missing single size if workers report several sizes.
    pub fn several_sizes(&self) -> Option<Phrase> {
        let differ = |of: ClaimOf| {
            let sizes: BTreeSet<u32> = self.sizes_of(of).map(|claim| claim.tokens).collect();
            (sizes.len() > 1 && self.agreed(of).is_none()).then_some(sizes)
        };
        let of = [ClaimOf::Publisher, ClaimOf::Engine, ClaimOf::Card];
        let sizes = of.into_iter().find_map(differ)?;
        let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        Some(phrase!("needs one block size for all workers (they use {})", sizes.join(" and ")))
    }

    /// Returns the evidence for a router's block size that its costs give.
    pub fn cost_proof(&self, tokens: u32) -> Proof {
        let (samples, error) =
            self.router.inferred.map_or((0, 0.0), |inferred| (inferred.samples, inferred.error));
        let value = phrase!("{} ({} costs are multiples of 1/{})", tokens, Count(samples), tokens);
        let odds = if error < 1e-9 { "less than 1e-9".to_owned() } else { format!("{error:.1e}") };
        Proof::new(
            measure::ROUTER_BLOCK_SIZE,
            value,
            phrase!("routers' logs; chance of error {}", odds),
        )
        .heard(self.router.heard.routed)
    }

    /// Returns pairs of claims about one worker whose engine and publisher differ.
    pub fn split_workers(&self) -> Vec<(&SizeClaim, &SizeClaim)> {
        let engines = best_of_subject(self.sizes_of(ClaimOf::Engine));
        let placed = self.knows_all_pods();
        let mut publishing = None;
        let mut pairs = Vec::new();
        for publisher in self.sizes_of(ClaimOf::Publisher) {
            let Some(engine) = engines.get(&publisher.about()) else { continue };
            if engine.tokens != publisher.tokens
                && engine.ground.max(publisher.ground) > Ground::Default
                && (engine.worker.is_some() || engine.pod.is_none() || !placed)
                && !publishing.get_or_insert_with(|| Publishing::of(self)).agree(publisher, engine)
                && !self.is_context_parallel(publisher, engine)
            {
                pairs.push((publisher, *engine));
            }
        }
        pairs
    }

    /// Returns the publisher's size and the largest block of each worker whose engine sends larger blocks than
    /// its publisher accepts.
    pub fn outgrown(&self) -> Vec<(&SizeClaim, &SizeClaim)> {
        let gone = self.gone();
        let publishers = best_of_subject(self.sizes_of(ClaimOf::Publisher));
        let there = self.largest.iter();
        let there = there.filter(|block| !block.worker.is_some_and(|it| gone.contains(&it)));
        let pairs = there.filter_map(|block| {
            let publisher = *publishers.get(&block.about())?;
            (publisher.tokens < block.tokens).then_some((publisher, block))
        });
        pairs.collect()
    }

    /// Returns the Dynamo namespace of each worker whose block size is known, where that is known.
    pub fn namespaces_by_worker(&self) -> HashMap<WorkerId, &str> {
        let claims = self.sizes.iter();
        claims.filter_map(|it| Some((it.worker?, it.dynamo_namespace.as_deref()?))).collect()
    }

    /// Returns the models that are served; one nameless one when there are not several.
    pub fn models_served(&self) -> Vec<Option<&str>> {
        let models: BTreeSet<&str> = self.models.iter().map(|(_, model)| model.as_ref()).collect();
        if models.len() > 1 { models.into_iter().map(Some).collect() } else { vec![None] }
    }

    /// Returns the number of models for which routers report a block size.
    pub fn models_of_routers(&self) -> usize {
        let models = self.sizes_of(ClaimOf::Router).filter_map(|claim| claim.model.as_deref());
        models.collect::<BTreeSet<&str>>().len()
    }
}

/// Returns the best claim of each subject; of equals, the last.
fn best_of_subject<'a>(
    claims: impl Iterator<Item = &'a SizeClaim>,
) -> HashMap<About<'a>, &'a SizeClaim> {
    let mut best: HashMap<About<'_>, &SizeClaim> = HashMap::new();
    for claim in claims {
        let known = best.entry(claim.about()).or_insert(claim);
        if (known.ground, known.last) <= (claim.ground, claim.last) {
            *known = claim;
        }
    }
    best
}

impl SizeClaim {
    /// Returns the worker, pod or component of the claim.
    pub(super) fn about(&self) -> About<'_> {
        (self.worker, self.pod.as_deref(), self.component.as_deref())
    }

    /// Returns the claim as evidence of the quantity `kind`.
    pub fn proof(&self, kind: impl Into<Kind>) -> Proof {
        let value = phrase!("{} tokens ({})", self.tokens, self.said());
        Proof::new(
            kind,
            value,
            Origin::Read { medium: self.medium, place: Arc::clone(&self.source) },
        )
        .at(self.at)
        .of_worker(self.worker)
    }

    /// Shortens a long text to the part around the size.
    fn said(&self) -> Cow<'_, str> {
        const SHORT: usize = 48;
        const BEFORE: usize = 32;
        if self.raw.len() <= SHORT {
            return Cow::Borrowed(&self.raw);
        }
        let size = self.tokens.to_string();
        let digit = |at: Option<char>| at.is_some_and(|letter| letter.is_ascii_digit());
        let places = self.raw.match_indices(&size).map(|(at, _)| at).filter(|at| {
            let (before, after) = (&self.raw[..*at], &self.raw[at + size.len()..]);
            !digit(before.chars().next_back()) && !digit(after.chars().next())
        });
        // The last one: times and places of source lines stand before what a line says.
        let Some(place) = places.last() else { return Cow::Borrowed(&self.raw) };
        let from = self.raw[..place].char_indices().rev().take(BEFORE).last().map_or(0, |it| it.0);
        let head = &self.raw[from..place];
        // From a whole word on, where there is one.
        let head = head.split_once([' ', ',', '(']).map_or(head, |(_, rest)| rest);
        let dots = if from > 0 { "... " } else { "" };
        Cow::Owned(format!("{dots}{}{size}", head.trim_start()))
    }

    /// Returns the name of the worker, pod or component.
    pub fn who(&self, evidence: &Evidence) -> Arc<str> {
        match (&self.worker, self.pod.as_ref().or(self.component.as_ref())) {
            (Some(worker), _) => evidence.worker_name(*worker),
            (None, Some(name)) => Arc::clone(name),
            (None, None) => Arc::from("the deployment"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Medium;
    use crate::domain::Timestamp;

    #[test]
    fn of_a_long_line_the_evidence_shows_where_the_size_stands() {
        let told = |raw: &str, tokens: u32| {
            let (at, last) = (Timestamp(1), Timestamp(1));
            let claim = SizeClaim {
                of: ClaimOf::Engine,
                worker: None,
                pod: None,
                component: None,
                role: None,
                model: None,
                dynamo_namespace: None,
                tokens,
                ground: Ground::Observed,
                source: "log".into(),
                raw: raw.into(),
                at,
                last,
                set_by: None,
                medium: Medium::Settings,
            };
            claim.proof(measure::ENGINE_BLOCK_SIZE).value
        };
        let line = "2026-11-21T09:16:43.935153Z  INFO main: [TensorRT-LLM][INFO] Number of tokens per \
                    block: 16.";
        let config =
            "Config(model=Qwen/Qwen3-0.6B, tensor_parallel_size=4, kv_block_size=32, x=132)";

        assert_eq!(told("--kv-block-size 32", 32).to_string(), "32 tokens (--kv-block-size 32)");
        assert_eq!(told(line, 16).to_string(), "16 tokens (... Number of tokens per block: 16)");
        assert_eq!(told(config, 32).to_string(), "32 tokens (... kv_block_size=32)");
        let without = "é".repeat(60);
        assert_eq!(told(&without, 32).to_string(), format!("32 tokens ({without})"));
    }
}
