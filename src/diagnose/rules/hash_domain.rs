//! KVT015: router and workers hash the same prompts differently.

use std::collections::BTreeSet;

use crate::diagnose::Origin;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::fix::Fix;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Decimal, Phrase, phrase};
use crate::diagnose::rules::blind::{self, Sight};
use crate::diagnose::{Finding, Proof, Rule, Verdict};
use crate::domain::{ClaimOf, Grade, Severity, Topic};

pub(super) struct HashDomain;

impl Rule for HashDomain {
    fn id(&self) -> &'static str {
        "KVT015"
    }

    fn name(&self) -> &'static str {
        "hash-domain-mismatch"
    }

    fn about(&self) -> &'static str {
        "Router and workers hash the same prompts differently: the index is full, no warning is logged, engines \
         reuse prefixes, and yet no request finds a cached block. If their block sizes differ, this is KVT001. \
         Otherwise the hash input differs: the name of a LoRA adapter, the token pairs of EAGLE speculation, \
         image hashes, a cache salt, or another tokenizer or chat template.\nDetected by at least 12 requests \
         without a cache hit, while workers hold at least 30 blocks and store events continue cached prefixes.\n\
         Use the same Dynamo version on frontend and workers. Then check adapters, speculation and templates \
         one at a time."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT017"]
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn topic(&self) -> Topic {
        Topic::BlockSizes
    }

    fn needs_kv_router(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        blind::of_each_pool(evidence, judge_one)
    }
}

/// Judges the requests of one pool of workers, or of all where they are one.
fn judge_one(evidence: &Evidence) -> Verdict {
    match blind::look(evidence) {
        Sight::Sees { hits, known } => {
            Verdict::clear(phrase!("{} of {} requests had a cache hit", Count(hits), Count(known)))
        }
        Sight::Metric { rate } => {
            Verdict::clear(phrase!("routers find {} % of prompts cached", Decimal(rate * 100.0, 0)))
        }
        Sight::NothingToSee => Verdict::unknown("needs prompts that share a prefix (none so far)"),
        Sight::Unknown(missing) => Verdict::unknown(missing),
        Sight::Blind(proofs) => judge_blind(evidence, proofs),
    }
}

/// Returns what speaks for block sizes that differ, or against it.
fn other_sizes(evidence: &Evidence) -> Phrase {
    let of = [ClaimOf::Publisher, ClaimOf::Engine, ClaimOf::Card, ClaimOf::Router];
    let claims = of.into_iter().flat_map(|of| evidence.sizes_of(of));
    let sizes: BTreeSet<u32> = claims.map(|claim| claim.tokens).collect();
    match (sizes.first(), sizes.last()) {
        (Some(least), Some(most)) if least != most => phrase!(
            "KVT001: sources report block sizes from {} to {} tokens; the router's block size is not reported.",
            *least,
            *most
        ),
        _ => "KVT001: no source reports two different block sizes.".into(),
    }
}

fn judge_blind(evidence: &Evidence, mut proofs: Vec<Proof>) -> Verdict {
    // A router cannot find blocks whose events it did not take in. KVT019 reports such a router once workers have
    // published enough between two readings of its counters.
    if let Some((router, _)) = evidence.router.unfed.first() {
        return Verdict::unknown(phrase!(
            "needs a router that takes in KV events: the counters of {} show none (KVT019)",
            router
        ));
    }
    let router = evidence.router_size();
    match (evidence.router.chains, router) {
        (Some(chains), Some((router, proof))) if chains.tokens == router => {
            proofs.push(proof);
            proofs.push(Proof::new(
                measure::PUBLISHER_BLOCK_SIZE,
                phrase!(
                    "{} of {} prompt lengths match {}-token blocks",
                    Count(chains.agreeing.into()),
                    Count(chains.prompts.into()),
                    router
                ),
                Origin::PromptLengths,
            ));
        }
        (Some(_), Some(_)) => {
            return Verdict::unknown("block sizes differ (KVT001); judged once they agree");
        }
        // Known prompt lengths will soon show the block size.
        _ if (1..evidence.thresholds.min_lengths).contains(&evidence.router.lengths_told) => {
            return Verdict::unknown("needs more prompts of known length to derive the block size");
        }
        _ => {}
    }
    let blind = evidence.router.tally.warm.best();
    Finding {
        severity: Severity::Critical,
        grade: Grade::Likely,
        summary: phrase!("Router and workers hash prompts differently: for {} of {} requests the router found no cached block, \
             although engines reuse their {} blocks.", Count(blind.zero), Count(blind.known), Count(evidence.tree.held)),
        effect: blind::EFFECT.into(),
        proofs,
        refuted_by: "One request with a cache hit.".into(),
        competing: vec![
            other_sizes(evidence),
            "Possible causes: LoRA names, EAGLE speculation, images, cache salt, tokenizer, chat template."
                .into(),
        ],
        fix: Some(Fix {
            sentence: "Run frontend and workers from the same Dynamo version. Compare block size, LoRA \
                       adapters, speculative decoding, tokenizer and chat template on both sides."
                .into(),
            restarts: "restart of whichever side changes".into(),
            ..Fix::default()
        }),
        subjects: Vec::new(),
        by_itself: false,
        of_routers: true,
    }
    .into()
}
