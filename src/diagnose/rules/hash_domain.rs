//! KVT015: router and workers hash the same prompts differently.

use crate::diagnose::evidence::Evidence;
use crate::diagnose::fix::Fix;
use crate::diagnose::rules::blind::{self, Sight};
use crate::diagnose::{Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

pub(super) struct HashDomain;

impl Rule for HashDomain {
    fn id(&self) -> &'static str {
        "KVT015"
    }

    fn name(&self) -> &'static str {
        "hash-domain-mismatch"
    }

    fn about(&self) -> &'static str {
        "The index is full, nothing warns, engines reuse prefixes, and yet no request finds a cached \
         block: router and workers hash the same prompts differently. When their block sizes differ this \
         is KVT001. Otherwise it is what goes into the hash: the name of a LoRA adapter, the pairs of \
         tokens of EAGLE speculation, hashes of images, a cache salt, or another tokenizer or chat \
         template. Judged by at least 12 requests without overlap while workers hold 30 blocks or more \
         and stores fork from cached prefixes. Use the same Dynamo version on frontend and workers; look \
         at adapters, speculation and templates one by one."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT017"]
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        match blind::look(evidence) {
            Sight::Sees { hits, known } => Verdict::clear(format!(
                "{} of {} requests found cached blocks",
                thousands(hits),
                thousands(known)
            )),
            Sight::Metric { rate } => {
                Verdict::clear(format!("routers find {:.0} % of prompts cached", rate * 100.0))
            }
            Sight::NothingToSee => Verdict::unknown("prompts that share a prefix: none came again"),
            Sight::Unknown => Verdict::unknown("enough requests whose overlap is known"),
            Sight::Blind(proofs) => judge_blind(evidence, proofs),
        }
    }
}

fn judge_blind(evidence: &Evidence, mut proofs: Vec<Proof>) -> Verdict {
    let router = evidence.router_size();
    match (evidence.router.chains, router) {
        (Some(chains), Some((router, proof))) if chains.tokens == router => {
            proofs.push(proof);
            proofs.push(Proof::new(
                "publisher block size",
                format!(
                    "{} of {} prompts fit {router}",
                    thousands(chains.agreeing.into()),
                    thousands(chains.prompts.into())
                ),
                "stores, and lengths of prompts",
            ));
        }
        (Some(_), Some(_)) => return Verdict::unknown("sizes that agree: KVT001 is the cause"),
        // Where prompts tell their lengths, they tell the size soon.
        _ if (1..evidence.thresholds.min_lengths).contains(&evidence.router.lengths_told) => {
            return Verdict::unknown(
                "more prompts, to tell the block size by the length of their chains",
            );
        }
        _ => {}
    }
    let blind = evidence.router.tally.warm.best();
    Finding {
        severity: Severity::Critical,
        grade: Grade::Likely,
        summary: format!(
            "Router and workers hash prompts differently: {} of {} requests found nothing although {} \
             blocks are cached and engines reuse them.",
            thousands(blind.zero),
            thousands(blind.known),
            thousands(evidence.tree.held)
        ),
        effect: blind::EFFECT.into(),
        proofs,
        refuted_by: "One request with overlap.".into(),
        competing: vec![
            "KVT001: nobody names two block sizes that differ.".into(),
            "Causes in question: LoRA names, EAGLE speculation, images, cache salt, tokenizer, chat \
             template."
                .into(),
        ],
        fix: Some(Fix {
            sentence: "Run frontend and workers from the same Dynamo version, and compare block size, LoRA \
                       adapters, speculative decoding, tokenizer and chat template on both sides."
                .into(),
            restarts: "whatever differs".into(),
            ..Fix::default()
        }),
        subjects: Vec::new(),
    }
    .into()
}
