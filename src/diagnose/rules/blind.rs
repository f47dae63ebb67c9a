//! Decides whether routers find the blocks that workers cache; several rules use the answer.

use crate::diagnose::Origin;
use crate::diagnose::Proof;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, phrase};

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
    /// No source reports cache hits, or there were too few requests.
    Unknown,
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
        return match evidence.router.told.hit_rate() {
            Some(rate) if rate > 0.0 => Sight::Metric { rate },
            _ => Sight::Unknown,
        };
    }
    let warm = tally.warm.best();
    if warm.known < limits.min_blind || evidence.tree.held < limits.min_held {
        return Sight::Unknown;
    }
    let total = evidence.total();
    // A prompt with a cached prefix stores no root block; prompts that share a prefix fork from it.
    let headless = total.requests.storing().saturating_sub(total.kv.roots);
    let reused = total.kv.forks.min(headless);
    if reused < limits.min_reuse {
        return Sight::NothingToSee;
    }
    // A router that logs missing parents lacks blocks, which is another fault.
    if !evidence.router.read || tally.parent_full + tally.parent_unsaid >= warm.known.div_ceil(4) {
        return Sight::Unknown;
    }
    Sight::Blind(vec![
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
        Proof::new(
            measure::PARENT_WARNINGS,
            phrase!("{}", Count(tally.parent_full + tally.parent_unsaid)),
            Origin::RouterLogs,
        ),
    ])
}
