//! Decides whether routers find the blocks that workers cache; several rules use the answer.

use crate::diagnose::Origin;
use crate::diagnose::evidence::{Evidence, RouterKind};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Proof, Verdict};

/// Evidence about cache hits of routers.
#[derive(Clone, Debug)]
pub(super) enum Sight {
    /// Some requests had a cache hit.
    Sees {
        /// Requests with a cache hit.
        hits: u64,
        /// Requests whose overlap is known.
        known: u64,
    },
    /// Only the router's own metric reports cache hits.
    Metric {
        /// Mean cached share of prompts.
        rate: f64,
    },
    /// No request has a cache hit although workers hold and reuse blocks, and no warning explains it.
    Blind(Vec<Proof>),
    /// No request has a cache hit, because no prefix was repeated.
    NothingToSee,
    /// Too little is known to judge; the phrase names the missing input.
    Unknown(Phrase),
}

/// The effect on requests when routers find no cached block. Engines still reuse their own blocks.
pub(super) const EFFECT: &str = "The router finds no cached blocks, so no request is routed to its cached \
                                 prefix. Any cache hit is luck, not routing.";

/// Judges whether routers find cached blocks.
pub(super) fn look(evidence: &Evidence) -> Sight {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let all = tally.overlaps.best();
    if all.known > all.zero {
        return Sight::Sees { hits: all.known - all.zero, known: all.known };
    }
    if all.known == 0 {
        return match evidence.router.told.own.hit_rate() {
            Some(rate) if rate > 0.0 => Sight::Metric { rate },
            _ => Sight::Unknown("needs requests with known cache hits (none so far)".into()),
        };
    }
    let warm = tally.warm.best();
    if evidence.tree.held < limits.min_held {
        return Sight::Unknown(phrase!(
            "needs at least {} cached blocks ({} so far)",
            Count(limits.min_held),
            Count(evidence.tree.held)
        ));
    }
    if warm.known < limits.min_blind {
        return Sight::Unknown(phrase!(
            "needs at least {} requests with known cache hits while blocks are cached ({} so far)",
            Count(limits.min_blind),
            Count(warm.known)
        ));
    }
    let total = evidence.total();
    // A prompt with a cached prefix stores no root block; prompts that share a prefix fork from it.
    let headless = total.requests.storing().saturating_sub(total.kv.roots);
    let reused = total.kv.forks.min(headless);
    if reused < limits.min_reuse {
        return Sight::NothingToSee;
    }
    // A router that logs missing parents lacks blocks, which is another fault.
    if !evidence.router.read {
        return Sight::Unknown("needs a router's log".into());
    }
    let lacking = tally.parent_full + tally.parent_unsaid;
    if lacking >= warm.known.div_ceil(4) {
        return Sight::Unknown(phrase!(
            "cannot tell: routers rejected {} stores because the parent block is unknown",
            Count(lacking)
        ));
    }
    Sight::Blind(proofs(evidence, headless, lacking))
}

/// Returns the evidence that routers find nothing although engines reuse blocks: `headless` requests stored no root
/// block, and routers warned of `lacking` parents.
fn proofs(evidence: &Evidence, headless: u64, lacking: u64) -> Vec<Proof> {
    let (warm, total) = (evidence.router.tally.warm.best(), evidence.total());
    vec![
        Proof::new(
            measure::CACHE_HITS,
            phrase!("{} of {} requests", Count(warm.known - warm.zero), Count(warm.known)),
            Origin::Several(&[Origin::RouterLogs, Origin::KvEvents]),
        )
        .at(evidence.at),
        Proof::new(
            measure::PREFIXES_REUSED,
            phrase!(
                "{} store events continue a cached prefix; {} of {} requests began with one",
                Count(total.kv.forks),
                Count(headless),
                Count(total.requests.routed)
            ),
            Origin::KvEvents,
        )
        .at(evidence.at),
        Proof::new(
            measure::BLOCKS_CACHED,
            phrase!("{}", Count(evidence.tree.held)),
            Origin::IndexCopy,
        )
        .at(evidence.at),
        Proof::new(measure::PARENT_WARNINGS, phrase!("{}", Count(lacking)), Origin::RouterLogs),
    ]
}

/// Judges all requests together, and where that shows nothing wrong, those of each of several models and Dynamo
/// namespaces: the cache hits of one say nothing of another, and one without requests is not cleared by them. Standalone
/// routers may serve any of the models.
pub(super) fn of_each_pool(evidence: &Evidence, judge: fn(&Evidence) -> Verdict) -> Verdict {
    let all = judge(evidence);
    let own = evidence.settings.router_kind == RouterKind::OwnSize;
    if own || !matches!(all, Verdict::Clear { .. }) {
        return all;
    }
    let mut open = None;
    for (pool, known) in evidence.pools_without_hits() {
        let verdict = if known == 0 {
            Verdict::unknown("no request with known cache hits")
        } else {
            judge(&evidence.of_pool(&pool))
        };
        match verdict {
            Verdict::Found(mut finding) => {
                finding.summary = phrase!("{}: {}", pool.title(), finding.summary);
                return Verdict::Found(finding);
            }
            Verdict::Unknown { missing, .. } => {
                open = open.or(Some(Verdict::unknown(phrase!("{}: {}", pool.name(), missing))));
            }
            Verdict::Clear { .. } => {}
        }
    }
    open.unwrap_or(all)
}
