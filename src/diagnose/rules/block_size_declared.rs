//! KVT016: the size declared on the frontend differs from what the workers use.

use super::unseen;
use crate::diagnose::evidence::{Evidence, Ground, RouterKind, SizeClaim};
use crate::diagnose::fix::{Change, Fix, Part};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Phrase, phrase};
use crate::diagnose::rules::blind::{self, Sight};
use crate::diagnose::rules::block_size_mismatch::{BlockSizeMismatch, mended_size};
use crate::diagnose::{Finding, Rule, Verdict};
use crate::domain::{Backend, ClaimOf, ClaimWhat, Grade, Severity, Topic};
use crate::dynamo::{flag, release, variable};

/// The default when no size is declared (ai-dynamo 0.9.0 to 1.6.1, `frontend/`).
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
        "{variable::KV_CACHE_BLOCK_SIZE} ({flag::KV_CACHE_BLOCK_SIZE}, default 16) on the frontend should match the workers' \
         block size. In {release::span} the router inside dynamo.frontend does not read this setting: it uses the \
         size in the workers' model card. A wrong value here therefore does not explain missing cache hits by \
         itself. There are two exceptions, and in both a difference is KVT001. From 1.0 to 1.2 a frontend with \
         {flag::CHAT_PROCESSOR} ({variable::CHAT_PROCESSOR}) does hash with this size. Standalone routers, and gateway \
         plugins in 0.9, hash with a size of their own setting.\nDetected by comparing the setting on the frontend's pod \
         with the sizes that workers report, or, while KVT001 is active, with the size that its fix gives them. \
         The built-in default is a note, and is ignored once requests have cache hits. A value written in the \
         configuration is a warning. If the router does not read that value, the warning never changes the exit \
         code of kvtop check. A written value that only repeats the default is a note once requests have cache \
         hits.\nSet {variable::KV_CACHE_BLOCK_SIZE} on the frontend to the workers' block size."
    }

    fn is_advisory(&self, finding: &Finding) -> bool {
        finding.grade == Grade::ConfigOnly
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn topic(&self) -> Topic {
        Topic::DeclaredSize
    }

    fn versions(&self) -> &'static str {
        "{release::span}: the router inside dynamo.frontend hashes with the size in the workers' model card, not \
         with this one. Exception: 1.0 to 1.2 with {flag::CHAT_PROCESSOR}. dynamo.router \
         ({flag::ROUTER_BLOCK_SIZE}, default 128) uses its own size, and so do gateway plugins in 0.9."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let Some(worker) = evidence.worker_size() else {
            let none = || {
                Phrase::from(
                    "needs the workers' block size (no model card, pod or log reports one)",
                )
            };
            return Verdict::unknown(evidence.several_sizes().unwrap_or_else(none));
        };
        let declared: Vec<&SizeClaim> = evidence.sizes_of(ClaimOf::Declared).collect();
        if declared.is_empty() {
            return Verdict::unknown(unseen(
                &evidence.settings,
                variable::KV_CACHE_BLOCK_SIZE,
                (ClaimWhat::BlockSize, ClaimOf::Declared),
            ));
        }
        // While KVT001 is active, compare with the size that workers will use after its fix.
        let aim = mended_size(evidence).filter(|aim| *aim != worker.tokens);
        if let Some(several) = several(evidence, worker, aim) {
            return Verdict::unknown(several);
        }
        let size = aim.unwrap_or(worker.tokens);
        let odd = declared.iter().filter(|claim| claim.tokens != size);
        match odd.max_by_key(|claim| (claim.ground, claim.last)) {
            None if aim.is_some() => Verdict::clear(phrase!(
                "the frontend declares {}, which workers will use once KVT001 is fixed",
                size
            )),
            None => Verdict::clear(phrase!("the frontend declares {}, which workers use", size)),
            Some(claim) if claim.ground == Ground::Default && is_idle(evidence, claim) => {
                Verdict::clear(phrase!(
                    "the frontend declares no size; its router does not read the default of {}, and requests \
                     have cache hits",
                    claim.tokens
                ))
            }
            Some(claim) => found(evidence, claim, worker, size).into(),
        }
    }
}

/// Returns what is missing where no single size can be declared: settings give workers several sizes, or the fix of
/// KVT001 changes some workers and leaves the others at the size of `worker`.
fn several(evidence: &Evidence, worker: &SizeClaim, aim: Option<u32>) -> Option<Phrase> {
    let Some(aim) = aim else {
        return evidence.several_sizes().filter(|_| worker.ground < Ground::Observed);
    };
    let split = evidence.split_workers();
    let changes = split.iter().any(|(publisher, _)| publisher.tokens == worker.tokens);
    (!split.is_empty() && !changes).then(|| {
        phrase!(
            "needs one block size for all workers ({}, and {} after the fix of KVT001)",
            worker.tokens,
            aim
        )
    })
}

fn differs(declared: u32, worker: u32) -> Phrase {
    phrase!(
        "Frontend KV block size ({}) does not match worker block size ({}). Set \
         {variable::KV_CACHE_BLOCK_SIZE}={} on the frontend",
        declared,
        worker,
        worker
    )
}

/// Returns the summary if the fix of another finding changes the workers' block size.
pub(in crate::diagnose) fn frontend_only(declared: u32, worker: u32, cause: &str) -> Phrase {
    let differs = differs(declared, worker);
    phrase!("{}; change the workers only as the fix of {} says.", differs, cause)
}

/// Returns the summary in the wording of the users' documents, which are about TensorRT-LLM; other engines have
/// other settings. While KVT001 is found, the second option is left out, because it would undo that fix.
fn summary(evidence: &Evidence, declared: u32, worker: u32, size: u32) -> Phrase {
    if size != worker {
        return phrase!(
            "Frontend KV block size ({}) does not match the worker block size after the fix of KVT001 \
             ({}). Set {}={} on the frontend.",
            declared,
            size,
            variable::KV_CACHE_BLOCK_SIZE,
            size
        );
    }
    match BlockSizeMismatch.judge(evidence) {
        Verdict::Found(_) => frontend_only(declared, worker, "KVT001"),
        Verdict::Clear { .. } | Verdict::Unknown { .. } => {
            let setting = match evidence.backend() {
                Some(Backend::Vllm) => {
                    phrase!("{}={}", flag::BLOCK_SIZE, declared)
                }
                Some(Backend::SgLang) => {
                    phrase!("{}={}", flag::PAGE_SIZE, declared)
                }
                // While the publisher has a size of its own, changing only one causes KVT001.
                Some(Backend::TrtLlm)
                    if evidence
                        .releases
                        .least
                        .is_none_or(|it| it < release::TRTLLM_SIZE_FROM_ENGINE) =>
                {
                    phrase!(
                        "tokens_per_block={} and {} {}",
                        declared,
                        flag::KV_BLOCK_SIZE,
                        declared
                    )
                }
                Some(Backend::Mocker) => phrase!("{} {}", flag::BLOCK_SIZE, declared),
                Some(Backend::TrtLlm) | None => {
                    phrase!("tokens_per_block={}", declared)
                }
            };
            phrase!("{} or configure {} on workers.", differs(declared, worker), setting)
        }
    }
}

/// Returns true when a declared size has no effect: the router does not read it, and requests have cache hits.
fn is_idle(evidence: &Evidence, declared: &SizeClaim) -> bool {
    let sees = matches!(blind::look(evidence), Sight::Sees { .. } | Sight::Metric { .. });
    sees && !decides(evidence, declared)
}

/// Returns true when the router hashes requests with the declared size: its kind does so, or its costs show
/// that size although the cards name another.
fn decides(evidence: &Evidence, declared: &SizeClaim) -> bool {
    let cards = || evidence.sizes_of(ClaimOf::Card).all(|card| card.tokens != declared.tokens);
    let shown = evidence.router.inferred.is_some_and(|it| it.tokens == declared.tokens);
    evidence.settings.router_kind == RouterKind::OwnSize || (shown && cards())
}

fn found(evidence: &Evidence, declared: &SizeClaim, worker: &SizeClaim, size: u32) -> Finding {
    let decides = decides(evidence, declared);
    let unread = !decides && evidence.settings.router_kind == RouterKind::Frontend;
    let set = declared.ground > Ground::Default;
    // A written default may not be intentional.
    let repeats = declared.tokens == DEFAULT && is_idle(evidence, declared);
    let severity = if set && (decides || !repeats) { Severity::Warning } else { Severity::Info };
    let effect = if decides {
        "This router hashes requests with the declared size, so it finds no cached blocks."
    } else if unread {
        "No effect on routing: the router inside this frontend does not read this setting; it uses the model \
         card's block size. Missing cache hits have another cause."
    } else {
        "The router inside dynamo.frontend does not read this setting. A standalone router does, and then finds \
         no cached blocks."
    };
    Finding {
        severity,
        grade: if decides { Grade::Likely } else { Grade::ConfigOnly },
        summary: summary(evidence, declared.tokens, worker.tokens, size),
        effect: effect.into(),
        proofs: vec![
            declared.proof(measure::DECLARED_BLOCK_SIZE),
            worker.proof(measure::block_size(worker.of)),
        ],
        refuted_by: "A frontend that declares the workers' block size.".into(),
        competing: vec!["KVT001: a mismatch that affects requests is reported there.".into()],
        fix: Some(fix(evidence, unread, size)),
        subjects: Vec::new(),
        by_itself: false,
        of_routers: false,
    }
}

fn fix(evidence: &Evidence, unread: bool, size: u32) -> Fix {
    let change = Change::Set {
        on: Part::Frontend,
        variable: Some(variable::KV_CACHE_BLOCK_SIZE.to_owned()),
        flags: &[flag::KV_CACHE_BLOCK_SIZE],
        value: size.to_string(),
    };
    let sentence = if unread {
        // Small screens show only the beginning, so it says first that routing needs no change.
        phrase!(
            "Routing needs no change: the frontend's router does not read this setting. For consistency, set \
             {}={} on the frontend at its next restart.",
            variable::KV_CACHE_BLOCK_SIZE,
            size
        )
    } else {
        phrase!("Set {}={} on the frontend.", variable::KV_CACHE_BLOCK_SIZE, size)
    };
    let (changes, restarts) = (vec![change], evidence.frontend_restarts().into());
    Fix { sentence, changes, restarts, ..Fix::default() }
}
