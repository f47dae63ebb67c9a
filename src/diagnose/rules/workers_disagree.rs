//! KVT002: workers of one model use blocks of different sizes.

use crate::diagnose::measure;
use crate::diagnose::phrase::{Phrase, phrase};
use std::sync::Arc;

use crate::diagnose::evidence::{Evidence, Ground, MODELS, SizeClaim};
use crate::diagnose::fix::{Fix, Part};
use crate::diagnose::rules::block_size_mismatch::{mended_size, worker_size_flag};
use crate::diagnose::sizes::SizesByWorker;
use crate::diagnose::{Finding, Origin, Proof, RankEvidence, Rule, Verdict, workers_of};
use crate::domain::{Backend, CardRefused, ClaimOf, Grade, Severity, Topic, WorkerId};
use crate::dynamo::{flag, release};

pub(super) struct WorkersDisagree;

impl Rule for WorkersDisagree {
    fn id(&self) -> &'static str {
        "KVT002"
    }

    fn name(&self) -> &'static str {
        "workers-disagree"
    }

    fn about(&self) -> &'static str {
        "All workers of a model in one Dynamo namespace must use the same block size, because the router hashes each request once, with \
         one size. Routers reject workers whose model card differs from the first one (the card's checksum \
         covers the size), and their error does not name the size.\nDetected by comparing one size of each \
         present worker: the size in its live model card, or else the size that it was started with. Cards are \
         only compared with cards, and start settings with start settings. Not judged within a minute after a \
         worker started or left, as pods, discovery or routers' logs tell, because old and new workers coexist during a \
         rollout; where their sizes differ, the deployment's state is unknown until then. From Dynamo 1.5 \
         prefill-only workers may use another size, because a separate router reads their cards.\nRestart the \
         workers that differ with the size of the others, or, while KVT001 is active, with the size of its fix."
    }

    /// Routers refuse the workers that differ, which then get no request.
    fn explains(&self) -> &'static [&'static str] {
        &["KVT011"]
    }

    /// The workers that the router does find blocks of get the requests of the others.
    fn explains_other_workers(&self) -> bool {
        true
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn topic(&self) -> Topic {
        Topic::BlockSizes
    }

    fn versions(&self) -> &'static str {
        "Every version rejects, or never matches, workers with another size. Up to 1.4 a prefill router \
         uses the decode workers' size; from 1.5 it uses the prefill workers', which may differ."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let mut models = evidence.sizes_by_worker();
        let note = agreement(&models);
        // A difference outranks an open question, which outranks agreement.
        models.sort_by_key(|model| {
            (
                model.open.is_none() && model.sizes.len() > 1,
                model.open.is_some(),
                model.untold.is_some() || model.unlisted.is_some(),
                model.sizes.len(),
            )
        });
        let compared = models.pop().unwrap_or_default();
        let SizesByWorker { sizes, open, .. } = &compared;
        if let Some(open) = open {
            return Verdict::unknown(phrase!("needs {}; block sizes are {}", open, listed(sizes)));
        }
        let refused = refused_card(evidence).filter(|_| sizes.len() < 2);
        let differ_or_refused = sizes.len() > 1 || refused.is_some();
        // Old and new workers coexist during a rollout.
        if let (true, Some(change)) = (differ_or_refused, evidence.in_rollout()) {
            let change = phrase!("waiting for a rollout to end: {}", change);
            return Verdict::suspected(if sizes.is_empty() {
                change
            } else {
                phrase!("block sizes are {}; {}", listed(sizes), change)
            });
        }
        if sizes.len() < 2 && evidence.has_too_many_models() {
            return Verdict::unknown(phrase!(
                "needs fewer models: block sizes are compared for {} of them",
                MODELS
            ));
        }
        if let Some(finding) = refused {
            return finding.into();
        }
        match sizes.as_slice() {
            [] => no_size(evidence),
            [(size, _)] => one_size(evidence, &compared, *size, note),
            [(most, _), ..] => {
                let aim = aim(evidence, sizes, *most, compared.namespaced);
                differ(evidence, sizes, &compared.claims, aim).into()
            }
        }
    }
}

/// Returns the verdict where no worker's size is known.
fn no_size(evidence: &Evidence) -> Verdict {
    if evidence.refusals_ended {
        return Verdict::clear(
            "no router refuses a worker that is there because of its model card",
        );
    }
    Verdict::unknown("needs the workers' block sizes (no model card, pod or log reports one)")
}

/// Returns the verdict where all that are compared have `size`.
fn one_size(
    evidence: &Evidence,
    compared: &SizesByWorker<'_>,
    size: u32,
    note: Option<Phrase>,
) -> Verdict {
    if let Some(claim) = compared.unlisted {
        return Verdict::unknown(phrase!(
            "needs the instance of {} in discovery: its model card says {} tokens, but those of serving workers say {}",
            claim.who(evidence),
            claim.tokens,
            size
        ));
    }
    if let Some(claim) = compared.untold {
        return Verdict::unknown(phrase!(
            "needs the model card of {}: that worker was started with {} tokens, but other cards say {}",
            claim.who(evidence),
            claim.tokens,
            size
        ));
    }
    Verdict::clear(note.unwrap_or_else(|| {
        phrase!("Auto-configured KV block size: {} (from worker reports)", size)
    }))
}

/// The size that all workers should have, and why.
#[derive(Clone, Copy)]
enum Aim {
    /// KVT001's fix sets it.
    Mended(u32),
    /// The router hashes with it.
    Adopted(u32),
    /// Most workers have it.
    Most(u32),
}

impl Aim {
    fn tokens(self) -> u32 {
        match self {
            Self::Mended(tokens) | Self::Adopted(tokens) | Self::Most(tokens) => tokens,
        }
    }
}

/// Returns the finding for workers that a router refuses although no two sizes are known to differ: other parts of their
/// model cards may.
fn refused_card(evidence: &Evidence) -> Option<Finding> {
    // Where sizes are known and agree, a router that does not name the worker may speak of one that left.
    let known = evidence.sizes_of(ClaimOf::Card).next().is_some();
    let refused = || evidence.cards_refused.iter().filter(|it| it.said.worker.is_some() || !known);
    let first = refused().next()?;
    let who = |said: &CardRefused| match said.worker {
        Some(worker) => evidence.worker_name(worker),
        None => Arc::from("a worker"),
    };
    let proofs = refused().take(16).map(|it| {
        let value = phrase!("refused {} of {}", who(&it.said), it.said.model);
        Proof::new(measure::LOG_LINE.of(&it.said.router), value, Origin::RouterLogs).at(it.at)
    });
    let summary = phrase!(
        "{} refuses {} of {}: its model card differs from that of the workers before it.",
        first.said.router,
        who(&first.said),
        first.said.model
    );
    let workers = refused().filter_map(|it| it.said.worker).collect();
    // 0.9 does not name the worker (dynamo-llm 0.9.0, `discovery/watcher.rs:174`).
    let effect = match first.said.worker {
        Some(_) => "The router sends no request to a worker that it refuses.",
        None => {
            "The router ignores this card: it hashes all requests with the block size of the first one."
        }
    };
    Some(Finding {
        subjects: workers,
        ..Finding::new(Severity::Warning, Grade::Confirmed, summary, proofs.collect())
            .means(effect, "A request that the router sends to this worker.")
            .rather_than("A rollout that changes model cards: it ends once the workers of before are gone.")
            .mended_by(
                "Start all workers of this model with the same block size, chat template and other settings. A 0.9 \
                 frontend keeps the first card until it is restarted.",
                "restart of the workers that differ; each one loses its KV cache",
            )
    })
}

/// Returns the size that all workers should have; most of them have `most`.
fn aim(evidence: &Evidence, sizes: &[(u32, Vec<Arc<str>>)], most: u32, namespaced: bool) -> Aim {
    if namespaced {
        return Aim::Most(most);
    }
    // If KVT001 must be fixed first, the size of its fix counts, not the most common one.
    let one = evidence.models_served().len() == 1;
    let mended = if one { mended_size(evidence) } else { None };
    if let Some(size) = mended.filter(|size| *size != most) {
        return Aim::Mended(size);
    }
    // A router that adopted a card refuses workers of another size, however many they are.
    let adopted = evidence.router_size().map(|(tokens, _)| tokens);
    let adopted = adopted.filter(|size| sizes.iter().any(|(of, _)| of == size));
    adopted.map_or(Aim::Most(most), Aim::Adopted)
}

/// Returns the finding for workers with different block sizes.
fn differ(
    evidence: &Evidence,
    sizes: &[(u32, Vec<Arc<str>>)],
    claims: &[&SizeClaim],
    aim: Aim,
) -> Finding {
    let to = aim.tokens();
    let odd = sizes.iter().filter(|(size, _)| *size != to);
    let odd: Vec<String> = odd.flat_map(|(_, who)| who.iter().map(ToString::to_string)).collect();
    let proof = |claim: &&SizeClaim| {
        let who = claim.who(evidence);
        claim.proof(measure::block_size(claim.of).of(&who))
    };
    let refused = evidence.cards_refused.iter().take(4).map(|it| {
        let value = phrase!("refused a worker of {}", it.said.model);
        Proof::new(measure::LOG_LINE.of(&it.said.router), value, Origin::RouterLogs).at(it.at)
    });
    let proofs: Vec<Proof> = claims.iter().take(16).map(proof).chain(refused).collect();
    let observed = claims.iter().all(|claim| claim.ground == Ground::Observed);
    Finding {
        severity: Severity::Critical,
        grade: if observed { Grade::Confirmed } else { Grade::ConfigOnly },
        summary: phrase!("Workers use different block sizes: {}.", listed(sizes)),
        effect: "The router hashes with one size: it rejects the other workers, or never finds their blocks."
            .into(),
        proofs,
        refuted_by: "Model cards that agree, or workers that serve different models.".into(),
        competing: vec!["A rollout that changes the block size: sizes differ until it ends.".into()],
        fix: Some(fix(evidence, aim, &odd)),
        subjects: odd_workers(evidence, sizes, claims, aim),
        by_itself: false,
        of_routers: false,
    }
}

/// Returns the workers whose size is not that of `aim`; none where as many have another size, and nothing tells which of
/// them are wrong.
fn odd_workers(
    evidence: &Evidence,
    sizes: &[(u32, Vec<Arc<str>>)],
    claims: &[&SizeClaim],
    aim: Aim,
) -> Vec<WorkerId> {
    if let (Aim::Most(_), [(_, most), (_, next), ..]) = (aim, sizes)
        && most.len() == next.len()
    {
        return Vec::new();
    }
    let odd = || claims.iter().filter(|claim| claim.tokens != aim.tokens());
    let is_odd = |rank: &RankEvidence| {
        odd().any(|claim| match claim.worker {
            Some(worker) => worker == rank.rank.worker,
            None => claim.pod.is_some() && claim.pod == rank.pod,
        })
    };
    workers_of(evidence.present().filter(|rank| is_odd(rank)))
}

/// Formats sizes with the workers that have them.
fn listed(sizes: &[(u32, Vec<Arc<str>>)]) -> Phrase {
    let named = |(size, who): &(u32, Vec<Arc<str>>)| phrase!("{} ({})", size, who.join(", "));
    Phrase::joined("; ", sizes.iter().map(named))
}

/// Returns the note for parts of the deployment that each agree internally, but not with one another.
fn agreement(models: &[SizesByWorker<'_>]) -> Option<Phrase> {
    let parts: Vec<(u32, &str)> = models
        .iter()
        .filter_map(|model| Some((model.sizes.first()?.0, model.part.as_deref()?)))
        .collect();
    let named = |(size, part): &(u32, &str)| phrase!("{} ({})", size, part);
    let named = Phrase::joined(", ", parts.iter().map(named));
    let text = phrase!("Auto-configured KV block sizes: {} (from worker reports)", named);
    (parts.len() > 1).then_some(text)
}

/// Returns the fix that gives the odd workers the size of `aim`.
fn fix(evidence: &Evidence, aim: Aim, odd: &[String]) -> Fix {
    let most = aim.tokens();
    let follows = evidence.releases.least.is_some_and(|it| it >= release::TRTLLM_SIZE_FROM_ENGINE);
    let set = match evidence.backend() {
        Some(Backend::TrtLlm) if follows => {
            phrase!("tokens_per_block: {} in the engine's configuration", most)
        }
        Some(Backend::TrtLlm) => {
            phrase!(
                "{} {}, and tokens_per_block: {} in the engine's configuration",
                flag::KV_BLOCK_SIZE,
                most,
                most
            )
        }
        Some(Backend::Vllm | Backend::Mocker) => {
            phrase!("{} {}", flag::BLOCK_SIZE, most)
        }
        Some(Backend::SgLang) => {
            phrase!("{} {}", flag::PAGE_SIZE, most)
        }
        None => phrase!(
            "{} {} (TensorRT-LLM: {} {} and tokens_per_block: {}; \
             SGLang: {} {})",
            flag::BLOCK_SIZE,
            most,
            flag::KV_BLOCK_SIZE,
            most,
            most,
            flag::PAGE_SIZE,
            most
        ),
    };
    // One flag does not set both sizes of TensorRT-LLM: alone it would split publisher and engine.
    let change = match evidence.backend() {
        Some(Backend::Vllm | Backend::SgLang) => worker_size_flag(evidence, most, Part::OddWorkers),
        Some(Backend::TrtLlm | Backend::Mocker) | None => None,
    };
    let odd = odd.join(", ");
    let sentence = match aim {
        Aim::Mended(_) => phrase!(
            "Stop {}, then start with {}, the size that the fix of KVT001 sets. Routers reject cards of \
             another size while the old workers run.",
            odd,
            set
        ),
        Aim::Adopted(_) => {
            phrase!("Restart {} with {}, the size that the router hashes with.", odd, set)
        }
        Aim::Most(_) => phrase!("Restart {} with {}, as the other workers have.", odd, set),
    };
    Fix {
        sentence,
        changes: change.into_iter().collect(),
        restarts: "restart of those workers; each one loses its KV cache".into(),
        ..Fix::default()
    }
}
