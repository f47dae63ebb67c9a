//! KVT016: the size declared on the frontend differs from what the workers use.

use crate::diagnose::evidence::{Evidence, Ground, RouterKind, SizeClaim};
use crate::diagnose::fix::{Change, Fix, Part};
use crate::diagnose::rules::blind::{self, Sight};
use crate::diagnose::rules::block_size_mismatch::{BlockSizeMismatch, mended_size};
use crate::diagnose::{Finding, Rule, Verdict};
use crate::domain::{Backend, ClaimOf, Grade, Release, Severity};

/// What holds when nobody declares a size (ai-dynamo 0.9.0 to 1.6.1, `frontend/`).
const DEFAULT: u32 = 16;

pub(super) struct BlockSizeDeclared;

impl Rule for BlockSizeDeclared {
    fn id(&self) -> &'static str {
        "KVT016"
    }

    fn name(&self) -> &'static str {
        "block-size-declared"
    }

    fn about(&self) -> &'static str {
        "DYN_KV_CACHE_BLOCK_SIZE (--kv-cache-block-size, 16 when nobody sets it) on the frontend should say \
         what the workers use. The router inside dynamo.frontend does not read it, from 0.9 to 1.6: it takes \
         the size of the workers' model card, so that a wrong value there does not by itself explain a cold \
         router. From 1.0 to 1.2 a frontend with --dyn-chat-processor (DYN_CHAT_PROCESSOR) does hash with it, \
         and a router of its own and gateway plugins hash with a size that is set on them; there a \
         difference is KVT001. Judged by the setting on the frontend's pod against the sizes that workers \
         claim, or while KVT001 is found against the size that they get by its fix. A default that nobody \
         wrote is a note, and nothing once requests find blocks. A value that somebody wrote is a warning; \
         where the router does not read it, it never changes the exit code of kvtop check, and one that only \
         repeats the default is a note once requests find blocks."
    }

    fn is_advisory(&self, finding: &Finding) -> bool {
        finding.grade == Grade::ConfigOnly
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let Some(worker) = evidence.worker_size() else {
            let none = || "the workers' block size: no model card, pod or log names one".to_owned();
            return Verdict::unknown(evidence.several_sizes().unwrap_or_else(none));
        };
        let declared: Vec<&SizeClaim> = evidence.sizes_of(ClaimOf::Declared).collect();
        if declared.is_empty() {
            return Verdict::unknown(
                "what the frontend declares: its pod or manifest (DYN_KV_CACHE_BLOCK_SIZE) was not seen",
            );
        }
        // What mends a mismatch is what workers will use.
        let aim = mended_size(evidence).filter(|aim| *aim != worker.tokens);
        let size = aim.unwrap_or(worker.tokens);
        let odd = declared.iter().filter(|claim| claim.tokens != size);
        match odd.max_by_key(|claim| (claim.ground, claim.last)) {
            None if aim.is_some() => Verdict::clear(format!(
                "the frontend declares {size}, as workers will use once KVT001 is mended"
            )),
            None => Verdict::clear(format!("the frontend declares {size}, as workers use")),
            Some(claim) if claim.ground == Ground::Default && is_idle(evidence, claim) => {
                Verdict::clear(format!(
                    "nothing is declared on the frontend; its default of {} is not read, and requests find \
                     cached blocks",
                    claim.tokens
                ))
            }
            Some(claim) => found(evidence, claim, worker, size).into(),
        }
    }
}

/// Says it in the users' own words, which are of TensorRT-LLM; other engines have another setting. Their second way out would undo what mends KVT001, where that is found.
fn summary(evidence: &Evidence, declared: u32, worker: u32, size: u32) -> String {
    if size != worker {
        return format!(
            "Frontend KV block size ({declared}) does not match the block size that workers get by the fix \
             of KVT001 ({size}). Set DYN_KV_CACHE_BLOCK_SIZE={size} on the frontend."
        );
    }
    let differs = format!(
        "Frontend KV block size ({declared}) does not match worker block size ({worker}). Set \
         DYN_KV_CACHE_BLOCK_SIZE={worker} on the frontend"
    );
    match BlockSizeMismatch.judge(evidence) {
        Verdict::Found(_) => format!("{differs}; leave the workers' size to the fix of KVT001."),
        Verdict::Clear { .. } | Verdict::Unknown { .. } => {
            let setting = match evidence.backend() {
                Some(Backend::Vllm) => format!("--block-size={declared}"),
                Some(Backend::SgLang) => format!("--page-size={declared}"),
                // The publisher follows the engine from 1.4 on. Before, one alone would part them (KVT001).
                Some(Backend::TrtLlm)
                    if evidence.releases.least.is_none_or(|it| it < Release::new(1, 4)) =>
                {
                    format!("tokens_per_block={declared} and --kv-block-size {declared}")
                }
                Some(Backend::TrtLlm | Backend::Mocker) | None => {
                    format!("tokens_per_block={declared}")
                }
            };
            format!("{differs} or configure {setting} on workers.")
        }
    }
}

/// Returns true when a declared size is seen to change nothing: the router does not read it, and requests find
/// cached blocks.
fn is_idle(evidence: &Evidence, declared: &SizeClaim) -> bool {
    let sees = matches!(blind::look(evidence), Sight::Sees { .. } | Sight::Metric { .. });
    sees && !decides(evidence, declared)
}

/// Returns true when the router hashes requests with the declared size: it is of a kind that does, or its costs
/// show that it does although the cards name another.
fn decides(evidence: &Evidence, declared: &SizeClaim) -> bool {
    let cards = || evidence.sizes_of(ClaimOf::Card).all(|card| card.tokens != declared.tokens);
    let shown = evidence.router.inferred.is_some_and(|it| it.tokens == declared.tokens);
    evidence.settings.router_kind == RouterKind::OwnSize || (shown && cards())
}

fn found(evidence: &Evidence, declared: &SizeClaim, worker: &SizeClaim, size: u32) -> Finding {
    let decides = decides(evidence, declared);
    let unread = !decides && evidence.settings.router_kind == RouterKind::Frontend;
    let set = declared.ground > Ground::Default;
    // Whoever wrote the default may not have meant anything by it.
    let repeats = declared.tokens == DEFAULT && is_idle(evidence, declared);
    let severity = if decides || (set && !repeats) { Severity::Warning } else { Severity::Info };
    let effect = if decides {
        "This router hashes requests with the declared size, so that it finds no cached block."
    } else if unread {
        "No effect on routing: the router inside this frontend does not read it, but takes the block size of \
         the model card. By itself it does not explain a cold router."
    } else {
        "The router inside dynamo.frontend does not read it; a router of its own does, and then it finds no \
         cached block."
    };
    Finding {
        severity,
        grade: if decides { Grade::Likely } else { Grade::ConfigOnly },
        summary: summary(evidence, declared.tokens, worker.tokens, size),
        effect: effect.into(),
        proofs: vec![
            declared.proof("declared on the frontend"),
            worker.proof(format!("{} block size", worker.of.name())),
        ],
        refuted_by: "A frontend that declares what the workers use.".into(),
        competing: vec!["KVT001 names what is in effect, where something is.".into()],
        fix: Some(fix(evidence, unread, size)),
        subjects: Vec::new(),
    }
}

fn fix(evidence: &Evidence, unread: bool, size: u32) -> Fix {
    let change = Change::Set {
        on: Part::Frontend,
        variable: Some("DYN_KV_CACHE_BLOCK_SIZE".to_owned()),
        flags: &["--kv-cache-block-size"],
        value: size.to_string(),
    };
    let sentence = if unread {
        // What it does not do belongs to it: it is all that small screens show.
        format!(
            "Nothing to do for routing: the frontend does not read it. To have it agree, set \
             DYN_KV_CACHE_BLOCK_SIZE={size} on the frontend with its next restart."
        )
    } else {
        format!("Set DYN_KV_CACHE_BLOCK_SIZE={size} on the frontend.")
    };
    let (changes, restarts) = (vec![change], evidence.frontend_restarts());
    Fix { sentence, changes, restarts, ..Fix::default() }
}
