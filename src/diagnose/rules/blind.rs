//! Whether routers see what workers cache: the question that several rules share.

use crate::diagnose::evidence::Evidence;
use crate::diagnose::verdict::Proof;
use crate::domain::thousands;

/// What is known of routers' sight.
#[derive(Clone, Debug)]
pub(super) enum Sight {
    /// Requests found cached blocks.
    Sees {
        /// Requests that did.
        hits: u64,
        /// Requests whose overlap is known.
        known: u64,
    },
    /// The router's own metric says that it finds some, and nobody says more.
    Metric {
        /// Mean share of prompts found.
        rate: f64,
    },
    /// No request finds anything, although workers hold blocks and reuse them, and no warning says why.
    Blind(Vec<Proof>),
    /// Nothing was found, and nothing was there to be found.
    NothingToSee,
    /// Nobody says what routers find, or too few requests came.
    Unknown,
}

/// What it does to requests when routers find nothing. Engines still find what they have cached.
pub(super) const EFFECT: &str = "The router finds no cached block: no request is routed to where its prefix \
                                 is cached. What hits, hits by chance.";

/// Looks at what routers find.
pub(super) fn look(evidence: &Evidence) -> Sight {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let all = tally.overlaps.best();
    if all.known > all.zero {
        return Sight::Sees { hits: all.known - all.zero, known: all.known };
    }
    if all.known == 0 {
        return match evidence.router.hit_rate {
            Some(rate) if rate > 0.0 => Sight::Metric { rate },
            _ => Sight::Unknown,
        };
    }
    let warm = tally.warm.best();
    if warm.known < limits.min_blind || evidence.tree.held < limits.min_held {
        return Sight::Unknown;
    }
    let total = evidence.total();
    // A prompt whose head is cached stores nothing at the root; prompts that share one fork from it.
    let headless = total.routed.saturating_sub(total.roots);
    let reused = total.forks.min(headless);
    if reused < limits.min_reuse {
        return Sight::NothingToSee;
    }
    // A router that warns of missing parents lacks blocks, which is another fault.
    if !evidence.router.read || tally.parent_full + tally.parent_unsaid >= warm.known.div_ceil(4) {
        return Sight::Unknown;
    }
    Sight::Blind(vec![
        Proof::new(
            "requests without overlap",
            format!("{} of {}", thousands(warm.zero), thousands(warm.known)),
            "routers' logs and events",
        )
        .at(evidence.at),
        Proof::new(
            "prefixes reused by engines",
            format!(
                "{} stores fork from a cached prefix; {} of {} requests began with one",
                thousands(total.forks),
                thousands(headless),
                thousands(total.routed)
            ),
            "KV events",
        )
        .at(evidence.at),
        Proof::new("blocks cached", thousands(evidence.tree.held), "mirror").at(evidence.at),
        Proof::new(
            "\"Failed to find parent block\"",
            thousands(tally.parent_full + tally.parent_unsaid),
            "routers' logs",
        ),
    ])
}
