//! KVT002: workers of one model use blocks of different sizes.

use std::sync::Arc;

use crate::diagnose::evidence::{Evidence, SizeClaim};
use crate::diagnose::fix::{Fix, Part};
use crate::diagnose::rules::block_size_mismatch::{mended_size, worker_size_flag};
use crate::diagnose::sizes::SizesByWorker;
use crate::diagnose::{Finding, Proof, Rule, Verdict};
use crate::domain::{Backend, Grade, Release, Severity};

pub(super) struct WorkersDisagree;

impl Rule for WorkersDisagree {
    fn id(&self) -> &'static str {
        "KVT002"
    }

    fn name(&self) -> &'static str {
        "workers-disagree"
    }

    fn about(&self) -> &'static str {
        "All workers of a model must use blocks of the same size: the router hashes each request once, \
         with one size. Routers refuse workers whose model card differs from the first one's (the \
         checksum of the card covers the size), with an error that does not name the size. Judged by one \
         size of each worker that is present: what its live model card says, or else what it was started \
         with; the two are not compared with each other, and nothing is said within a minute after a worker \
         started or left: until a rollout is through, old and new workers stand beside each other. From Dynamo 1.5 workers that compute prompts only \
         may have another size than the others: a router of their own takes their card's. Roll the odd ones \
         out with the size of the others, or, while KVT001 is found, with the size that mends it."
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let mut models = evidence.sizes_by_worker();
        let note = agreement(&models);
        // What is open weighs more than what agrees, and less than what differs.
        models.sort_by_key(|model| {
            (
                model.open.is_none() && model.sizes.len() > 1,
                model.open.is_some(),
                model.untold.is_some(),
                model.sizes.len(),
            )
        });
        let SizesByWorker { sizes, claims, untold, open, .. } = models.pop().unwrap_or_default();
        if let Some(open) = open {
            return Verdict::unknown(format!("{open}; sizes are {}", listed(&sizes)));
        }
        // Old and new workers stand beside each other until a rollout is through.
        if let (true, Some(change)) = (sizes.len() > 1, evidence.in_rollout()) {
            let sizes = listed(&sizes);
            return Verdict::unknown(format!(
                "the end of a rollout: {change}; block sizes are {sizes}"
            ));
        }
        match sizes.as_slice() {
            [] => Verdict::unknown("workers' block sizes: no model card, pod or log names one"),
            [(size, _)] => match untold {
                Some(claim) => Verdict::unknown(format!(
                    "the model card of {}: it was started with {} tokens, the cards of others say {size}",
                    claim.who(evidence),
                    claim.tokens
                )),
                None => Verdict::clear(note.unwrap_or_else(|| {
                    format!("Auto-configured KV block size: {size} (from worker reports)")
                })),
            },
            [(most, _), ..] => differ(evidence, &sizes, &claims, *most).into(),
        }
    }
}

/// Returns that workers differ, most of which use blocks of `most` tokens.
fn differ(
    evidence: &Evidence,
    sizes: &[(u32, Vec<Arc<str>>)],
    claims: &[&SizeClaim],
    most: u32,
) -> Finding {
    // Where a mismatch is to be mended first, its size counts, not that of most.
    let one = evidence.models_served().len() == 1;
    let aim = if one { mended_size(evidence) } else { None };
    let aim = aim.filter(|aim| *aim != most);
    let to = aim.unwrap_or(most);
    let odd = sizes.iter().filter(|(size, _)| *size != to);
    let odd: Vec<String> = odd.flat_map(|(_, who)| who.iter().map(ToString::to_string)).collect();
    let proof = |claim: &&SizeClaim| {
        let who = claim.who(evidence);
        claim.proof(format!("{} block size, {who}", claim.of.name()))
    };
    let proofs: Vec<Proof> = claims.iter().take(16).map(proof).collect();
    Finding {
        severity: Severity::Critical,
        grade: Grade::ConfigOnly,
        summary: format!("Workers use blocks of different sizes: {}.", listed(sizes)),
        effect: "The router hashes with one size: it refuses the other workers, or never \
                 finds their blocks."
            .into(),
        proofs,
        refuted_by: "Cards that agree, or workers of different models.".into(),
        competing: vec!["A roll-out that changes the size disagrees until it is through.".into()],
        fix: Some(fix(evidence, to, &odd, aim.is_some())),
        subjects: Vec::new(),
    }
}

/// Returns sizes with the workers that have them.
fn listed(sizes: &[(u32, Vec<Arc<str>>)]) -> String {
    let named = |(size, who): &(u32, Vec<Arc<str>>)| format!("{size} ({})", who.join(", "));
    sizes.iter().map(named).collect::<Vec<_>>().join("; ")
}

/// Returns what to say of parts that agree each with itself, and not with one another.
fn agreement(models: &[SizesByWorker<'_>]) -> Option<String> {
    let parts: Vec<(u32, &str)> =
        models.iter().filter_map(|model| Some((model.sizes.first()?.0, model.part?))).collect();
    let named = |(size, part): &(u32, &str)| format!("{size} ({part})");
    let named: Vec<String> = parts.iter().map(named).collect();
    let text =
        format!("Auto-configured KV block sizes: {} (from worker reports)", named.join(", "));
    (parts.len() > 1).then_some(text)
}

/// The size of most workers, or the one that mends KVT001, by the flag of the engine in use.
fn fix(evidence: &Evidence, most: u32, odd: &[String], mends: bool) -> Fix {
    let follows = evidence.releases.least.is_some_and(|it| it >= Release::new(1, 4));
    let set = match evidence.backend() {
        // From 1.4 on publisher and card follow the engine.
        Some(Backend::TrtLlm) if follows => {
            format!("tokens_per_block: {most} in the engine's configuration")
        }
        Some(Backend::TrtLlm) => {
            format!(
                "--kv-block-size {most}, and tokens_per_block: {most} in the engine's configuration"
            )
        }
        Some(Backend::Vllm | Backend::Mocker) => format!("--block-size {most}"),
        Some(Backend::SgLang) => format!("--page-size {most}"),
        None => format!(
            "--block-size {most} (TensorRT-LLM: --kv-block-size {most} and tokens_per_block: {most}; \
             SGLang: --page-size {most})"
        ),
    };
    // One flag does not set both sizes of TensorRT-LLM: alone it would split publisher and engine.
    let change = match evidence.backend() {
        Some(Backend::Vllm | Backend::SgLang) => worker_size_flag(evidence, most, Part::OddWorkers),
        Some(Backend::TrtLlm | Backend::Mocker) | None => None,
    };
    let odd = odd.join(", ");
    let sentence = if mends {
        format!(
            "Stop {odd} and start with {set}, the size that KVT001 asks for. Routers refuse the others' cards \
             while those run."
        )
    } else {
        format!("Roll {odd} with {set}, as the others have.")
    };
    Fix {
        sentence,
        changes: change.into_iter().collect(),
        restarts: "those workers; their caches start empty".into(),
        ..Fix::default()
    }
}
