//! KVT001: engine, publisher and router cut prompts into blocks of different sizes.
//!
//! Two places can be wrong. Between engine and publisher, stores arrive empty or not at all, and the
//! router's index stays empty. Between workers and router, the index fills, nothing warns, and no
//! request ever finds a block (PROTOCOL 10.2 has the table).

mod fixes;
mod heard;
mod published;

use crate::diagnose::evidence::{Evidence, Ground, RouterKind, SizeClaim};
use crate::diagnose::rules::blind::{self, Sight};
use crate::diagnose::sizes::Side;
use crate::diagnose::{Finding, Proof, Rule, Verdict};
use crate::domain::{ClaimOf, Grade, Severity, Stake, thousands};
pub(super) use fixes::worker_size_flag;
use fixes::{router_fix, worker_fix};

/// What an empty index does to requests. Engines still find what they have cached.
const INDEX_EMPTY: &str = "The router's index stays empty: no request is routed to where its prefix is \
                           cached. What hits, hits by chance.";

pub(super) struct BlockSizeMismatch;

impl Rule for BlockSizeMismatch {
    fn id(&self) -> &'static str {
        "KVT001"
    }

    fn name(&self) -> &'static str {
        "block-size-mismatch"
    }

    fn about(&self) -> &'static str {
        "Engine, publisher and router must cut prompts into blocks of the same number of tokens. Where \
         engine and publisher differ, stores arrive without blocks (engine smaller, or any difference \
         with vLLM and SGLang), or only removals arrive (engine larger, TensorRT-LLM): the router's \
         index stays empty, and its log fills with \"Failed to find parent block\" (num_blocks=0) and \
         \"Failed to find block to remove\". Where the router differs from the workers, its index fills \
         and nothing warns, but no request finds a block. The router inside dynamo.frontend takes its \
         size from the workers' model card, so the cure is on the workers: make --kv-block-size and the \
         engine's tokens_per_block (vLLM: --block-size) the same. Judged by the share of empty stores, \
         by removals without stores, where no event is seen by 20 refused stores with num_blocks=0 in a \
         router's log, by log lines that name both sizes, by requests without overlap \
         although engines reuse prefixes, and by claims that differ; half of 20 stores, 20 removals or \
         12 requests are enough. Where some workers publish well, each of the others is judged by itself. A \
         block of TensorRT-LLM may be the end of a prompt: the largest seen is the engine's size when it is \
         a power of two, as all its sizes are, and else shows only that the size is another. Refuted by stores with blocks and by one request with overlap."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT015", "KVT007", "KVT009", "KVT010", "KVT014", "KVT017", "KVT018", "KVT020", "KVT003"]
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn stake(&self) -> Stake {
        Stake::Core
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        if let Some(mismatch) = mismatch(evidence) {
            return mismatch.finding.into();
        }
        let publishes = evidence.is_publishing(&evidence.total());
        rest(evidence, &blind::look(evidence), publishes)
    }
}

/// A difference that was found.
struct Mismatch {
    finding: Finding,
    /// Tokens per block that everybody has once it is mended as the finding says, where that is told.
    target: Option<u32>,
}

/// Returns the block size that everybody has once a mismatch is mended as its finding says; none when there
/// is no mismatch, or its fix names no size.
pub(super) fn mended_size(evidence: &Evidence) -> Option<u32> {
    mismatch(evidence)?.target
}

fn mismatch(evidence: &Evidence) -> Option<Mismatch> {
    if let Some(found) = published::published(evidence).or_else(|| heard::heard(evidence)) {
        return Some(found);
    }
    let sight = blind::look(evidence);
    if let Some(found) = routed(evidence, &sight) {
        return Some(found);
    }
    if let Some(found) = blind_models(evidence).find_map(|(model, part, sight)| {
        let mut found = routed(&part, &sight)?;
        found.finding.summary = format!("Model {model}: {}", found.finding.summary);
        Some(found)
    }) {
        return Some(found);
    }
    let sees = matches!(sight, Sight::Sees { .. });
    let publishes = evidence.is_publishing(&evidence.total());
    if sees && publishes { None } else { configured(evidence) }
}

/// Returns the models among several whose requests find nothing, while those of others may, with what is known
/// of them. A router of its own may serve any of them with a size of its own.
fn blind_models(evidence: &Evidence) -> impl Iterator<Item = (String, Evidence, Sight)> {
    let own = evidence.settings.router_kind == RouterKind::OwnSize;
    let models = if own { Vec::new() } else { evidence.by_model() };
    models.into_iter().filter_map(|(model, part)| match blind::look(&part) {
        sight @ Sight::Blind(_) => Some((model, part, sight)),
        _ => None,
    })
}

/// What is said when nothing was found.
fn rest(evidence: &Evidence, sight: &Sight, publishes: bool) -> Verdict {
    if let Some((model, ..)) = blind_models(evidence).next() {
        return Verdict::unknown(format!(
            "the size that workers of {model} publish with: no request for it finds a block, and nobody \
             names it"
        ));
    }
    // Without a KV router nobody compares blocks; KVT005 says so.
    if let Some(mode) = evidence.other_mode() {
        return Verdict::clear(format!(
            "requests are routed by {}, without block sizes",
            mode.value
        ));
    }
    let total = evidence.total();
    let size = evidence.worker_size().map(|claim| claim.tokens);
    let router = evidence.router_size().map(|(tokens, _)| tokens);
    let agree = size.is_some() && size == router;
    let sized = size.map_or(String::new(), |size| format!(" of {size} tokens"));
    match sight {
        Sight::Sees { hits, known } if publishes => Verdict::clear(format!(
            "{} of {} stores hold blocks{sized}; {} of {} requests found some",
            thousands(total.full_stores()),
            thousands(total.counters.stores),
            thousands(*hits),
            thousands(*known)
        )),
        Sight::Sees { hits, known } if total.counters.stores == 0 => Verdict::clear(format!(
            "{} of {} requests found blocks; no store was seen",
            thousands(*hits),
            thousands(*known)
        )),
        Sight::Metric { rate } if publishes => Verdict::clear(format!(
            "{} of {} stores hold blocks{sized}; routers find {:.0} % of prompts cached",
            thousands(total.full_stores()),
            thousands(total.counters.stores),
            rate * 100.0
        )),
        Sight::Blind(_) => Verdict::unknown(
            "the size that workers publish with: no request finds a block, and nobody names it",
        ),
        _ if evidence.plane.logs_only => Verdict::unknown(heard::missing(evidence)),
        _ if !publishes => Verdict::unknown(format!(
            "stores: {} were seen, {} are needed",
            total.counters.stores, evidence.thresholds.min_stores
        )),
        _ if agree => Verdict::unknown(format!(
            "requests that come again: workers and router claim blocks{sized}, no overlap was seen"
        )),
        _ => Verdict::unknown("what routers find cached: no log, event or metric says so"),
    }
}

/// Router and workers differ: the router is blind although the index is full, and the sizes differ.
fn routed(evidence: &Evidence, sight: &Sight) -> Option<Mismatch> {
    let router = evidence.router_side()?;
    let workers = evidence.workers_side(router.tokens)?;
    let seen = router.observed && workers.observed;
    let warm = evidence.router.tally.warm.best();
    let blind = match sight {
        Sight::Blind(proofs) => proofs.clone(),
        // Two sizes that were both seen need no more than requests that find nothing.
        Sight::NothingToSee | Sight::Unknown if seen && is_proven(evidence, &router, &workers) => {
            let value = format!("{} of {}", thousands(warm.zero), thousands(warm.known));
            let source = "routers' logs and events";
            vec![Proof::new("requests without overlap", value, source).at(evidence.at)]
        }
        _ => return None,
    };
    let mut proofs = vec![router.proof.clone(), workers.proof.clone()];
    proofs.extend(blind);
    proofs.extend(named(evidence, router.tokens, &[ClaimOf::Router], &proofs));
    let of = [ClaimOf::Card, ClaimOf::Publisher, ClaimOf::Engine];
    proofs.extend(named(evidence, workers.tokens, &of, &proofs));
    proofs.extend(evidence.refuted().take(4));
    let finding = Finding {
        severity: Severity::Critical,
        grade: if seen { Grade::Confirmed } else { Grade::Likely },
        summary: format!(
            "Block sizes differ: the router hashes {}-token blocks, but workers publish {}-token blocks. {} \
             of {} requests found nothing, although {} blocks are cached.",
            router.tokens,
            workers.tokens,
            thousands(warm.zero),
            thousands(warm.known),
            thousands(evidence.tree.held)
        ),
        effect: blind::EFFECT.into(),
        proofs,
        refuted_by: "One request with overlap.".into(),
        competing: vec![
            "KVT015: hashes may differ for other reasons; here the sizes themselves do.".into(),
            "KVT007: a router without history warns of missing parents; this one does not.".into(),
        ],
        fix: Some(router_fix(evidence, router.tokens, workers.tokens)),
        subjects: Vec::new(),
    };
    Some(Mismatch { finding, target: Some(workers.tokens) })
}

/// Returns true when two sizes that were seen differ, and enough requests found nothing. What costs or chains
/// show is behaviour; two records may be of different moments.
fn is_proven(evidence: &Evidence, router: &Side, workers: &Side) -> bool {
    let all = evidence.router.tally.overlaps.best();
    let several = evidence.models_served().len() > 1 || evidence.models_of_routers() > 1;
    (router.by_behaviour || workers.by_behaviour)
        && !several
        && all.zero == all.known
        && evidence.router.tally.warm.best().known >= evidence.thresholds.min_blind
}

/// Returns who else names a size, once each, without what is among `known`.
fn named(evidence: &Evidence, tokens: u32, of: &[ClaimOf], known: &[Proof]) -> Vec<Proof> {
    let claims = of.iter().filter_map(|of| {
        let mut claims = evidence.sizes_of(*of);
        claims.find(|claim| claim.tokens == tokens && claim.ground > Ground::Default)
    });
    let proofs = claims.map(|claim| claim.proof(format!("{} block size", claim.of.name())));
    let new = proofs.filter(|proof| {
        !known.iter().any(|it| (&it.value, &it.source) == (&proof.value, &proof.source))
    });
    new.collect()
}

/// Settings differ, and nothing was seen yet.
fn configured(evidence: &Evidence) -> Option<Mismatch> {
    let split = evidence.split_workers();
    let sizes = split.first().copied();
    let own = evidence.settings.router_kind == RouterKind::OwnSize;
    let worker = [ClaimOf::Publisher, ClaimOf::Engine]
        .into_iter()
        .find_map(|of| evidence.agreed(of))
        .filter(|claim| claim.ground > Ground::Default);
    // Each router hashes with what it was told; nobody else's setting says anything of it.
    let router = worker.and_then(|worker| {
        let routers = evidence.best_by_subject(ClaimOf::Router).into_iter();
        let told = |claim: &&SizeClaim| own || claim.ground > Ground::Default;
        // Of several models the workers seen may serve one: another may be of another size.
        let several = evidence.models_of_routers() > 1;
        let theirs = |claim: &&SizeClaim| !several || claim.model.is_none();
        routers.filter(told).filter(theirs).find(|claim| claim.tokens != worker.tokens)
    });
    let (summary, proofs, (fix, target)) = if let Some((publisher, engine)) = sizes {
        let who = engine.who(evidence);
        (
            format!(
                "Workers are set to publish blocks of {} tokens, engines to cut {}.",
                publisher.tokens, engine.tokens
            ),
            vec![
                publisher.proof(format!("publisher block size, {who}")),
                engine.proof(format!("engine block size, {who}")),
            ],
            worker_fix(evidence, sizes, &[]),
        )
    } else if let (Some(router), Some(worker)) = (router, worker) {
        (
            format!(
                "The router is set to hash blocks of {} tokens, workers to publish {}.",
                router.tokens, worker.tokens
            ),
            vec![router.proof("router block size"), worker.proof("workers' block size")],
            (router_fix(evidence, router.tokens, worker.tokens), Some(worker.tokens)),
        )
    } else {
        return None;
    };
    let finding = Finding {
        severity: Severity::Critical,
        grade: Grade::ConfigOnly,
        summary,
        effect: "Once requests come, the router will find none of their cached blocks.".into(),
        proofs,
        refuted_by: "Stores that hold blocks, and requests with overlap.".into(),
        competing: Vec::new(),
        fix: Some(fix),
        subjects: Vec::new(),
    };
    Some(Mismatch { finding, target })
}
