//! KVT001: engine, publisher and router split prompts into blocks of different sizes.
//! There are two cases. If engine and publisher differ, store events arrive empty or not at all, and the router's
//! index stays empty. If workers and router differ, the index fills, no warning is logged, and no request ever
//! finds a block (PROTOCOL 10.2 has the table).

mod fixes;
mod heard;
mod published;

use crate::diagnose::Origin;
use crate::diagnose::evidence::{Evidence, Ground, MODELS, RouterKind, SizeClaim};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Decimal, Phrase, phrase};
use crate::diagnose::rules::blind::{self, Sight};
use crate::diagnose::sizes::Side;
use crate::diagnose::{Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{ClaimOf, Grade, Medium, Severity, Stake, Topic};
use crate::dynamo::plane;
pub(super) use fixes::worker_size_flag;
use fixes::{router_fix, worker_fix};

/// The effect of an empty index on requests. Engines still reuse their own cached blocks.
const INDEX_EMPTY: &str = "The router's index stays empty, so no request is routed to its cached prefix. Any \
                           cache hit is luck, not routing.";

pub(super) struct BlockSizeMismatch;

impl Rule for BlockSizeMismatch {
    fn id(&self) -> &'static str {
        "KVT001"
    }

    fn name(&self) -> &'static str {
        "block-size-mismatch"
    }

    fn about(&self) -> &'static str {
        "Engine, publisher and router must split prompts into blocks of the same number of tokens. If engine \
         and publisher differ, store events arrive empty (engine blocks smaller, or any difference with vLLM \
         and SGLang), or only removals arrive (engine blocks larger, TensorRT-LLM). The router's index then \
         stays empty, and its log fills with \"Failed to find parent block\" (num_blocks=0) and \"Failed to \
         find block to remove\". If the router differs from the workers, its index fills and no warning is \
         logged, but no request finds a cached block.\nThe router inside dynamo.frontend takes its block size \
         from the workers' model card, so the fix is on the workers: set {flag::KV_BLOCK_SIZE} and the engine's \
         tokens_per_block (vLLM: {flag::BLOCK_SIZE}) to the same value.\nDetected by any of these: half of at least 20 \
         store events are empty; at least 20 removals and no store events; at least 20 rejected stores with \
         num_blocks=0 in a router's log, when kvtop sees no events; log lines that name both sizes; 12 requests \
         without a cache hit although engines reuse prefixes; settings that differ. When some workers publish \
         correctly, each of the others is judged separately. The last block of a TensorRT-LLM prompt may be \
         partial. The largest block seen is therefore the engine's block size only if it is a power of two; \
         otherwise it only shows that the sizes differ.\nDisproved by store events with blocks, and by one \
         request with a cache hit."
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

    fn topic(&self) -> Topic {
        Topic::BlockSizes
    }

    fn versions(&self) -> &'static str {
        "TensorRT-LLM: up to 1.3 nothing compares the two sizes; from 1.4 the publisher uses the engine's. \
         dynamo.router hashes with its own size in every version, gateway plugins in 0.9, frontends with \
         {flag::CHAT_PROCESSOR} from 1.0 to 1.2."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        if let Some(mismatch) = mismatch(evidence) {
            return mismatch.finding.into();
        }
        let publishes = evidence.is_publishing(&evidence.total());
        match (rest(evidence, &blind::look(evidence), publishes), evidence.context_parallel_note())
        {
            (Verdict::Clear { note }, Some(why)) => Verdict::clear(phrase!("{}; {}", note, why)),
            (verdict, _) => verdict,
        }
    }
}

/// A block size mismatch that was found.
struct Mismatch {
    finding: Finding,
    /// Tokens per block of all parts once the fix is applied; none if the fix names no size.
    target: Option<u32>,
}

/// Returns the block size of all parts once the fix of a mismatch is applied; none if there is no mismatch, or
/// its fix names no size.
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
        found.finding.summary = phrase!("Model {}: {}", model, found.finding.summary);
        Some(found)
    }) {
        return Some(found);
    }
    let sees = matches!(sight, Sight::Sees { .. });
    let publishes = evidence.is_publishing(&evidence.total());
    if sees && publishes { None } else { configured(evidence) }
}

/// Returns the models, of several, whose requests never hit the cache, each with its part of the evidence.
/// Standalone routers are left out: one may serve any of the models with its own block size.
fn blind_models(evidence: &Evidence) -> impl Iterator<Item = (String, Evidence, Sight)> {
    let own = evidence.settings.router_kind == RouterKind::OwnSize;
    let models = (!own).then(|| evidence.by_model());
    models.into_iter().flatten().filter_map(|(model, part)| match blind::look(&part) {
        sight @ Sight::Blind(_) => Some((model, part, sight)),
        _ => None,
    })
}

/// Returns what is needed to judge each of several models.
fn open_models(evidence: &Evidence) -> Option<Phrase> {
    if let Some((model, ..)) = blind_models(evidence).next() {
        return Some(phrase!(
            "needs the block size that workers of {} publish with: no request for {} hits the cache, \
             and no source reports that size",
            model,
            model
        ));
    }
    evidence
        .has_too_many_models()
        .then(|| phrase!("needs fewer models: requests are looked at for {} of them", MODELS))
}

/// Returns the verdict when no mismatch was found.
fn rest(evidence: &Evidence, sight: &Sight, publishes: bool) -> Verdict {
    if let Some(open) = open_models(evidence) {
        return Verdict::unknown(open);
    }
    // Without a KV router nothing compares blocks; KVT005 reports that.
    if let Some(mode) = evidence.other_mode() {
        return Verdict::clear(phrase!(
            "requests are routed by {}, which ignores block sizes",
            mode.value
        ));
    }
    if let Some(few) = published::too_few(evidence).filter(|_| publishes) {
        return Verdict::suspected(few);
    }
    seen(evidence, sight, publishes).unwrap_or_else(|| missing(evidence, sight, publishes))
}

/// Describes the workers' block size, where one is known.
fn sized(evidence: &Evidence) -> Phrase {
    let size = evidence.worker_size();
    size.map_or(Phrase::default(), |claim| phrase!(" of {} tokens", claim.tokens))
}

/// Returns the verdict where routers find cached blocks.
fn seen(evidence: &Evidence, sight: &Sight, publishes: bool) -> Option<Verdict> {
    let total = evidence.total();
    let stores = match total.kv.counters.stores {
        0 => phrase!("no store event was seen"),
        stores if publishes => phrase!(
            "{} of {} store events contain blocks{}",
            Count(total.kv.full_stores()),
            Count(stores),
            sized(evidence)
        ),
        _ => return None,
    };
    let found = match sight {
        Sight::Sees { hits, known } => {
            phrase!("{} of {} requests had a cache hit", Count(*hits), Count(*known))
        }
        Sight::Metric { rate } => {
            phrase!("routers find {} % of prompts cached", Decimal(rate * 100.0, 0))
        }
        Sight::Blind(_) | Sight::NothingToSee | Sight::Unknown(_) => return None,
    };
    let both = if publishes { [stores, found] } else { [found, stores] };
    Some(Verdict::clear(Phrase::joined("; ", both)))
}

/// Returns what is missing to judge.
fn missing(evidence: &Evidence, sight: &Sight, publishes: bool) -> Verdict {
    let total = evidence.total();
    let size = evidence.worker_size().map(|claim| claim.tokens);
    let router = evidence.router_size().map(|(tokens, _)| tokens);
    let agree = size.is_some() && size == router;
    let known = evidence.router.tally.overlaps.best().known;
    let told = &evidence.router.told;
    let found_nothing = told.own.hit_rate().is_some_and(|rate| rate <= 0.0);
    match sight {
        Sight::Blind(_) => Verdict::unknown(
            "needs the block size that workers publish with: no request hits the cache, and no \
                         source reports that size",
        ),
        _ if evidence.plane.logs_only => Verdict::unknown(heard::missing(evidence)),
        _ if !publishes && told.own.failed > 0 && told.own.prompts + known == 0 => {
            Verdict::unknown(phrase!(
                "needs requests that succeed: all {} failed at the frontends",
                Count(told.own.failed)
            ))
        }
        _ if !publishes && found_nothing => Verdict::unknown(phrase!(
            "needs store events or routers' logs: by their metrics routers found nothing cached for {} requests",
            Count(told.own.shares)
        )),
        _ if !publishes && total.kv.counters.stores >= evidence.thresholds.min_stores => {
            Verdict::unknown(phrase!(
                "needs more store events with blocks: {} of {} are empty",
                Count(total.kv.counters.empty_stores),
                Count(total.kv.counters.stores)
            ))
        }
        _ if !publishes => Verdict::unknown(phrase!(
            "needs at least {} store events ({} so far)",
            evidence.thresholds.min_stores,
            total.kv.counters.stores
        )),
        Sight::NothingToSee if total.kv.returned > 0 => Verdict::unknown(phrase!(
            "needs requests whose prefix is still cached: {} of {} sampled blocks were evicted before they were used \
             again (KVT009)",
            Count(total.kv.returned),
            Count(total.kv.sampled)
        )),
        Sight::NothingToSee if agree => Verdict::unknown(phrase!(
            "needs requests with a repeated prefix: workers and router report blocks{}, but no \
                         request had a cache hit",
            sized(evidence)
        )),
        _ if known >= evidence.thresholds.min_blind => Verdict::unknown(phrase!(
            "needs more cached blocks, or longer prompts, to tell why none of {} requests had a cache hit",
            Count(known)
        )),
        _ => Verdict::unknown(phrase!(
            "needs to know of more requests whether they had a cache hit, from router logs, events or metrics ({} so far)",
            Count(known)
        )),
    }
}

/// Finds a router that hashes with another block size than the workers: its index is full, but no request hits.
fn routed(evidence: &Evidence, sight: &Sight) -> Option<Mismatch> {
    let router = evidence.router_side()?;
    let workers = evidence.workers_side(router.tokens)?;
    let seen = router.observed && workers.observed;
    let warm = evidence.router.tally.warm.best();
    let blind = match sight {
        Sight::Blind(proofs) => proofs.clone(),
        // If both sizes were observed, requests without a cache hit are proof enough.
        Sight::NothingToSee | Sight::Unknown(_)
            if seen && is_proven(evidence, &router, &workers) =>
        {
            let hits = warm.known - warm.zero;
            let value = phrase!("{} of {} requests", Count(hits), Count(warm.known));
            let source = Origin::Several(&[Origin::RouterLogs, Origin::KvEvents]);
            vec![Proof::new(measure::CACHE_HITS, value, source).at(evidence.at)]
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
        summary: phrase!(
            "Block sizes differ: the router hashes {}-token blocks, but workers publish {}-token blocks. \
             It found no cached block for {} of {} requests, although {} are cached.",
            router.tokens,
            workers.tokens,
            Count(warm.zero),
            Count(warm.known),
            Count(evidence.tree.held)
        ),
        effect: blind::EFFECT.into(),
        proofs,
        refuted_by: "One request with a cache hit.".into(),
        competing: vec![
            "KVT015: hashes can differ for other reasons; here the block sizes themselves differ."
                .into(),
            "KVT007: a router without history logs missing parents; this router does not.".into(),
        ],
        fix: Some(router_fix(evidence, router.tokens, workers.tokens)),
        subjects: Vec::new(),
        by_itself: false,
        of_routers: true,
    };
    Some(Mismatch { finding, target: Some(workers.tokens) })
}

/// Returns true when two observed sizes differ, and enough requests had no cache hit. One size must come from
/// behaviour (costs or chains), since two records may be from different moments.
fn is_proven(evidence: &Evidence, router: &Side, workers: &Side) -> bool {
    let all = evidence.router.tally.overlaps.best();
    let several = evidence.models_served().len() > 1 || evidence.models_of_routers() > 1;
    (router.by_behaviour || workers.by_behaviour)
        && !several
        && all.zero == all.known
        && evidence.router.tally.warm.best().known >= evidence.thresholds.min_blind
}

/// Returns the other sources that report a size, once each, except those in `known`.
fn named(evidence: &Evidence, tokens: u32, of: &[ClaimOf], known: &[Proof]) -> Vec<Proof> {
    let claims = of.iter().filter_map(|of| {
        let mut claims = evidence.sizes_of(*of);
        claims.find(|claim| claim.tokens == tokens && claim.ground > Ground::Default)
    });
    let proofs = claims.map(|claim| claim.proof(measure::block_size(claim.of)));
    let new = proofs.filter(|proof| {
        !known.iter().any(|it| (&it.value, &it.source) == (&proof.value, &proof.source))
    });
    new.collect()
}

/// Returns false for a scraped size that is older than the workers' present one: a frontend reports the size of
/// the last card that it adopted, and the next scrape may report another.
fn is_as_new(evidence: &Evidence, router: &SizeClaim, worker: &SizeClaim) -> bool {
    let changes = evidence.ranks.iter().filter_map(|rank| rank.started.max(rank.left));
    let last = changes.chain([worker.at]).max();
    router.medium != Medium::Metrics || last.is_none_or(|last| router.last > last)
}

/// Returns a router's size that differs from that of `worker`. Each router hashes with its own setting; the settings
/// of other processes do not apply to it.
fn other_router<'a>(evidence: &'a Evidence, worker: &SizeClaim) -> Option<&'a SizeClaim> {
    let own = evidence.settings.router_kind == RouterKind::OwnSize;
    // The workers seen may serve only one of several models; another model may use another size.
    let several = evidence.models_of_routers() > 1;
    // Workers may append a suffix to the namespace of their deployment.
    let elsewhere = |claim: &SizeClaim| match (&claim.dynamo_namespace, &worker.dynamo_namespace) {
        (Some(of), Some(own)) => own != of && plane::without_suffix(own) != Some(&**of),
        _ => false,
    };
    evidence.best_by_subject(ClaimOf::Router).into_iter().find(|claim| {
        !elsewhere(claim)
            && (own || claim.ground > Ground::Default)
            && (!several || claim.model.is_none())
            && claim.tokens != worker.tokens
            && is_as_new(evidence, claim, worker)
    })
}

/// Returns true when routers found cached blocks on the workers that `claim` is about, which proves that block sizes
/// agree there, whatever the settings are.
fn has_hits(evidence: &Evidence, claim: &SizeClaim) -> bool {
    let named = claim.worker.is_some() || claim.pod.is_some();
    let about = |rank: &&RankEvidence| {
        !named
            || claim.worker == Some(rank.rank.worker)
            || claim.pod.is_some() && claim.pod == rank.pod
    };
    let told = evidence.present().filter(about).map(|rank| rank.told.overlap());
    let mut told = told.filter(|overlap| overlap.known > 0).peekable();
    told.peek().is_some() && told.all(|overlap| overlap.known > overlap.zero)
}

/// Finds settings that differ, before any traffic was seen.
fn configured(evidence: &Evidence) -> Option<Mismatch> {
    let split = evidence.split_workers();
    let sizes = split.first().copied();
    let worker = [ClaimOf::Publisher, ClaimOf::Engine]
        .into_iter()
        .find_map(|of| evidence.agreed(of))
        .filter(|claim| claim.ground > Ground::Default);
    let router = worker.and_then(|worker| other_router(evidence, worker));
    // Routers' logs may tell of hits from before kvtop attached.
    let hits = |claim: Option<&SizeClaim>| claim.is_some_and(|claim| has_hits(evidence, claim));
    let sizes = sizes.filter(|(publisher, engine)| !hits(Some(publisher)) && !hits(Some(engine)));
    let router = router.filter(|_| !hits(worker));
    let (summary, proofs, (fix, target)) = if let Some((publisher, engine)) = sizes {
        let who = engine.who(evidence);
        (
            phrase!(
                "Workers are configured to publish {}-token blocks, but their engines are \
                                 configured for {}-token blocks.",
                publisher.tokens,
                engine.tokens
            ),
            vec![
                publisher.proof(measure::PUBLISHER_BLOCK_SIZE.of(&who)),
                engine.proof(measure::ENGINE_BLOCK_SIZE.of(&who)),
            ],
            worker_fix(evidence, sizes, &[], &[]),
        )
    } else if let (Some(router), Some(worker)) = (router, worker) {
        (
            phrase!(
                "The router is configured to hash {}-token blocks, but workers are configured \
                                 to publish {}-token blocks.",
                router.tokens,
                worker.tokens
            ),
            vec![
                router.proof(measure::ROUTER_BLOCK_SIZE),
                worker.proof(measure::WORKERS_BLOCK_SIZE),
            ],
            (router_fix(evidence, router.tokens, worker.tokens), Some(worker.tokens)),
        )
    } else {
        return None;
    };
    let finding = Finding {
        severity: Severity::Critical,
        grade: Grade::ConfigOnly,
        summary,
        effect: "Once requests arrive, the router will not find their cached blocks.".into(),
        proofs,
        refuted_by: "Store events with blocks, and requests with a cache hit.".into(),
        competing: Vec::new(),
        fix: Some(fix),
        subjects: Vec::new(),
        by_itself: false,
        of_routers: false,
    };
    Some(Mismatch { finding, target })
}
