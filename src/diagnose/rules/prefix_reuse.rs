//! KVT017: prompts share no prefix, or engines do not reuse prefixes.

use super::names;
use crate::diagnose::Origin;
use crate::diagnose::fix::Change;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::rules::blind;
use crate::diagnose::{Evidence, Finding, Ground, OfWorker, Proof, Rule, Verdict};
use crate::domain::{Backend, Grade, Severity};
use crate::dynamo::flag;

pub(super) struct PrefixReuse;

impl Rule for PrefixReuse {
    fn id(&self) -> &'static str {
        "KVT017"
    }

    fn name(&self) -> &'static str {
        "prefix-reuse-off-or-absent"
    }

    fn about(&self) -> &'static str {
        "There are no cache hits because there is nothing to reuse. Either engines do not reuse prefixes \
         ({flag::NO_ENABLE_PREFIX_CACHING}, enable_block_reuse: false, {flag::DISABLE_RADIX_CACHE}), or no two prompts \
         start alike: a date, a request id or a tool list near the start makes every prompt unique. An engine \
         without prefix caching publishes no KV events either; its publisher is not at fault. Decode-only \
         workers are not judged.\nDetected by the engines' settings, logs and hit rates, or by at least 50 \
         requests without a cache hit whose store events never continue a cached prefix.\nEnable prefix caching, \
         or move the changing parts to the end of the prompt."
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn versions(&self) -> &'static str {
        "Every version; vLLM without prefix caching publishes no events either."
    }

    /// One request with a cache hit proves that prompts start alike.
    fn is_refuted_at_once(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let off: Vec<_> = evidence.uncached().collect();
        if !off.is_empty() {
            return switched_off(evidence, &off);
        }
        blind::of_each_pool(evidence, judge_one)
    }
}

/// Judges the requests of one pool of workers, or of all where they are one.
fn judge_one(evidence: &Evidence) -> Verdict {
    let all = evidence.router.tally.overlaps.best();
    let total = evidence.total();
    if all.known > all.zero {
        return Verdict::clear(phrase!(
            "{} of {} requests had a cache hit",
            all.known - all.zero,
            all.known
        ));
    }
    let limits = &evidence.thresholds;
    if all.known < limits.min_decisions / 2 {
        return Verdict::unknown(phrase!(
            "needs at least {} requests with known cache hits ({} so far)",
            Count(limits.min_decisions / 2),
            Count(all.known)
        ));
    }
    if total.kv.full_stores() < limits.min_stores {
        return Verdict::unknown(phrase!(
            "needs at least {} store events with blocks ({} so far)",
            Count(limits.min_stores),
            Count(total.kv.full_stores())
        ));
    }
    // A prompt with a unique start is stored from its first block on.
    if total.kv.roots * 10 < all.known * 9 {
        return Verdict::unknown(phrase!(
            "cannot tell: only {} store events start a prompt, but {} requests had no cache hit",
            Count(total.kv.roots),
            Count(all.known)
        ));
    }
    if total.kv.returned > 0 {
        return Verdict::unknown(phrase!(
            "prompts do start alike: {} of {} sampled blocks were stored again after they had been evicted (see KVT009)",
            Count(total.kv.returned),
            Count(total.kv.sampled)
        ));
    }
    let hit = evidence.present().filter_map(|rank| rank.hit_rate).fold(0.0, f64::max);
    if total.kv.forks > 0 || hit > 0.0 {
        return Verdict::unknown(
            "engines do reuse prefixes; missing cache hits have another cause (see KVT001, KVT015)",
        );
    }
    let proofs = vec![
        Proof::new(
            measure::CACHE_HITS,
            phrase!("0 of {} requests", Count(all.known)),
            Origin::RouterLogs,
        ),
        Proof::new(measure::STORES_ON_CACHED_PREFIX, "0", Origin::KvEvents).at(evidence.at),
    ];
    absent(phrase!("No two of {} prompts start alike.", Count(all.known)), Grade::Likely, proofs)
}

fn switched_off(evidence: &Evidence, off: &[&OfWorker<bool>]) -> Verdict {
    let proofs = off.iter().take(16).map(|of| {
        let value = phrase!("off ({})", of.set.raw);
        Proof::new(measure::PREFIX_CACHING.of(&of.who), value, of.set.origin())
            .at(of.set.at)
            .of_worker(of.worker)
    });
    let names = names(off);
    let all = evidence.present().filter(|rank| rank.registered).count();
    let of_all = if all > off.len() {
        phrase!(" ({} of {} workers)", off.len(), all)
    } else {
        Phrase::default()
    };
    let grade = if off.iter().any(|of| of.set.ground == Ground::Observed) {
        Grade::Confirmed
    } else {
        Grade::ConfigOnly
    };
    let summary = phrase!("Prefix caching is off on {}{}.", names, of_all);
    let mut fixes: Vec<Phrase> = Vec::new();
    for of in off.iter().take(4) {
        let fix = fix(evidence, of);
        if !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    Finding::new(Severity::Warning, grade, summary, proofs.collect())
        .means(EFFECT, "One KV event, or one request with a cache hit, from these workers.")
        .rather_than("KVT003, KVT004: without prefix caching an engine has no KV event to publish.")
        .mended_by(
            phrase!("On {}: {}.", names, Phrase::joined("; ", fixes)),
            "rolling restart of the workers whose settings change; each one loses its KV cache",
        )
        .through(changes(evidence, off))
        .by_itself()
        .into()
}

/// Returns the changes that enable prefix caching again; empty if one of them is unknown.
fn changes(evidence: &Evidence, off: &[&OfWorker<bool>]) -> Vec<Change> {
    let mut changes = Vec::new();
    for of in off {
        let Some(change) = change(evidence, of) else { return Vec::new() };
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    changes
}

fn change(evidence: &Evidence, off: &OfWorker<bool>) -> Option<Change> {
    let on = evidence.part_of(&[off])?;
    let without = |on, flags| Some(Change::Switch { on, flags, present: false });
    match off.set.flag() {
        Some(flag::NO_ENABLE_PREFIX_CACHING) => without(on, &[flag::NO_ENABLE_PREFIX_CACHING]),
        Some(flag::DISABLE_RADIX_CACHE) => without(on, &[flag::DISABLE_RADIX_CACHE]),
        _ if backend(evidence, off) == Some(Backend::TrtLlm) => Some(Change::engine_reuse(on)),
        _ => None,
    }
}

fn backend(evidence: &Evidence, of: &OfWorker<bool>) -> Option<Backend> {
    let own = evidence.present().find(|rank| Some(rank.rank.worker) == of.worker);
    own.and_then(|rank| rank.backend).or_else(|| evidence.backend())
}

/// Returns the instruction that enables prefix caching again, for the setting that disabled it.
fn fix(evidence: &Evidence, off: &OfWorker<bool>) -> Phrase {
    match off.set.flag() {
        Some(flag @ (flag::NO_ENABLE_PREFIX_CACHING | flag::DISABLE_RADIX_CACHE)) => {
            phrase!("remove {}", flag)
        }
        Some(flag) => phrase!("set kv_cache_config.enable_block_reuse: true in {}", flag),
        None if backend(evidence, off) == Some(Backend::TrtLlm) => {
            phrase!("set kv_cache_config.enable_block_reuse: true ({})", off.set.source)
        }
        // Some vLLM backends disable prefix caching by themselves.
        None => Phrase::from(
            "find in the engine's log why prefix caching is off (a model or backend without prefix caching \
                 cannot benefit from KV routing)",
        ),
    }
}

const EFFECT: &str = "Every prompt is computed in full; KV-aware routing cannot help.";

fn absent(summary: Phrase, grade: Grade, proofs: Vec<Proof>) -> Verdict {
    Finding::new(Severity::Warning, grade, summary, proofs)
        .means(EFFECT, "One request with a cache hit.")
        .mended_by(
            "Enable prefix caching (TensorRT-LLM: enable_block_reuse: true), or move the parts that differ \
             between prompts, such as dates and ids, to the end.",
            "rolling restart of every worker whose settings change",
        )
        .into()
}
