//! KVT002: workers of one model use blocks of different sizes.

use crate::dynamo::flag;
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
        "All workers of a model must use the same block size, because the router hashes each request once, with \
         one size. Routers reject workers whose model card differs from the first one (the card's checksum \
         covers the size), and their error does not name the size.\nDetected by comparing one size of each \
         present worker: the size in its live model card, or else the size that it was started with. Cards are \
         only compared with cards, and start settings with start settings. Not judged within a minute after a \
         worker started or left, because old and new workers coexist during a rollout. From Dynamo 1.5 \
         prefill-only workers may use another size, because a separate router reads their cards.\nRestart the \
         workers that differ with the size of the others, or, while KVT001 is active, with the size of its fix."
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let mut models = evidence.sizes_by_worker();
        let note = agreement(&models);
        // A difference outranks an open question, which outranks agreement.
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
            return Verdict::unknown(format!("needs {open}; block sizes are {}", listed(&sizes)));
        }
        // Old and new workers coexist during a rollout.
        if let (true, Some(change)) = (sizes.len() > 1, evidence.in_rollout()) {
            let sizes = listed(&sizes);
            return Verdict::unknown(format!(
                "waiting for a rollout to end: {change}; block sizes are {sizes}"
            ));
        }
        match sizes.as_slice() {
            [] => Verdict::unknown(
                "needs the workers' block sizes (no model card, pod or log reports one)",
            ),
            [(size, _)] => match untold {
                Some(claim) => Verdict::unknown(format!(
                    "needs the model card of {}: that worker was started with {} tokens, but other cards say {size}",
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

/// Returns the finding for workers with different block sizes; most of them use `most` tokens.
fn differ(
    evidence: &Evidence,
    sizes: &[(u32, Vec<Arc<str>>)],
    claims: &[&SizeClaim],
    most: u32,
) -> Finding {
    // If KVT001 must be fixed first, the size of its fix counts, not the most common one.
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
        summary: format!("Workers use different block sizes: {}.", listed(sizes)),
        effect: "The router hashes with one size: it rejects the other workers, or never finds their blocks."
            .into(),
        proofs,
        refuted_by: "Model cards that agree, or workers that serve different models.".into(),
        competing: vec!["A rollout that changes the block size: sizes differ until it ends.".into()],
        fix: Some(fix(evidence, to, &odd, aim.is_some())),
        subjects: Vec::new(),
        by_itself: false,
    }
}

/// Formats sizes with the workers that have them.
fn listed(sizes: &[(u32, Vec<Arc<str>>)]) -> String {
    let named = |(size, who): &(u32, Vec<Arc<str>>)| format!("{size} ({})", who.join(", "));
    sizes.iter().map(named).collect::<Vec<_>>().join("; ")
}

/// Returns the note for parts of the deployment that each agree internally, but not with one another.
fn agreement(models: &[SizesByWorker<'_>]) -> Option<String> {
    let parts: Vec<(u32, &str)> =
        models.iter().filter_map(|model| Some((model.sizes.first()?.0, model.part?))).collect();
    let named = |(size, part): &(u32, &str)| format!("{size} ({part})");
    let named: Vec<String> = parts.iter().map(named).collect();
    let text =
        format!("Auto-configured KV block sizes: {} (from worker reports)", named.join(", "));
    (parts.len() > 1).then_some(text)
}

/// Returns the fix that gives the odd workers the most common size, or the size that fixes KVT001.
fn fix(evidence: &Evidence, most: u32, odd: &[String], mends: bool) -> Fix {
    let follows = evidence.releases.least.is_some_and(|it| it >= Release::new(1, 4));
    let set = match evidence.backend() {
        // From 1.4 on publisher and model card follow the engine.
        Some(Backend::TrtLlm) if follows => {
            format!("tokens_per_block: {most} in the engine's configuration")
        }
        Some(Backend::TrtLlm) => {
            format!(
                "{kv_block_size_flag} {most}, and tokens_per_block: {most} in the engine's configuration",
                kv_block_size_flag = flag::KV_BLOCK_SIZE
            )
        }
        Some(Backend::Vllm | Backend::Mocker) => {
            format!("{} {most}", flag::BLOCK_SIZE)
        }
        Some(Backend::SgLang) => {
            format!("{} {most}", flag::PAGE_SIZE)
        }
        None => format!(
            "{block_size_flag} {most} (TensorRT-LLM: {kv_block_size_flag} {most} and tokens_per_block: {most}; \
             SGLang: {page_size_flag} {most})",
            block_size_flag = flag::BLOCK_SIZE,
            kv_block_size_flag = flag::KV_BLOCK_SIZE,
            page_size_flag = flag::PAGE_SIZE
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
            "Stop {odd}, then start with {set}, the size that the fix of KVT001 sets. Routers reject cards of \
             another size while the old workers run."
        )
    } else {
        format!("Restart {odd} with {set}, as the other workers have.")
    };
    Fix {
        sentence,
        changes: change.into_iter().collect(),
        restarts: "restart of those workers; each one loses its KV cache".into(),
        ..Fix::default()
    }
}
