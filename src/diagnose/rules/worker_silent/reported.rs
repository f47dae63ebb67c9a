//! Silent workers whose cause is known: an address that no engine binds, or a router's own metric.

use crate::diagnose::Origin;
use crate::diagnose::evidence::{Evidence, RankEvidence};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Finding, Proof};
use crate::domain::{Grade, Severity};
use crate::dynamo::{engine, flag};

const EFFECT: &str = "The router knows no cached blocks of these workers, so no request is routed there for its \
                      cached prefix.";

/// Finds engines that connect to the address that they should bind: no event ever leaves them.
pub(super) fn unbound(evidence: &Evidence, judged: &[&RankEvidence]) -> Option<Finding> {
    let served = served(evidence);
    if served < evidence.thresholds.min_silent_routed {
        return None;
    }
    let silent = |worker| {
        // A worker that need not publish is not judged.
        let mut ranks = judged.iter().filter(|rank| rank.rank.worker == worker).peekable();
        ranks.peek().is_some()
            && ranks.all(|rank| !super::speaks(rank) && rank.held == 0)
            && evidence.caching_off(worker).is_none()
    };
    let heard = evidence.present().any(super::speaks);
    let found: Vec<_> = evidence.unbound().filter(|of| of.worker.map_or(!heard, silent)).collect();
    let first = found.first()?;
    let mut proofs: Vec<Proof> = found
        .iter()
        .take(16)
        .map(|of| {
            let claim = measure::EVENTS_ENDPOINT.of(&of.who);
            Proof::new(claim, of.set.value.to_string(), of.set.origin())
                .at(of.set.at)
                .of_worker(of.worker)
        })
        .collect();
    let value = phrase!("0, while {} requests were served", Count(served));
    proofs
        .push(Proof::new(measure::KV_EVENTS_OF_THESE, value, Origin::EventPlanes).at(evidence.at));
    proofs.extend(proof(evidence));
    let names: Vec<&str> = found.iter().take(4).map(|of| of.who.as_ref()).collect();
    let others = if found.len() > 4 { " and others" } else { "" };
    let names = phrase!("{}{}", names.join(", "), others);
    let address = &first.set.value;
    let bound = engine::bound(address);
    Some(
        Finding::new(
            Severity::Critical,
            Grade::Confirmed,
            phrase!("KV events of {} never leave the engine: vLLM connects to {} instead of binding \
                 it, because the address has no *.", names, address),
            proofs,
        )
        .means(EFFECT, "One KV event from these workers.")
        .rather_than("KVT004: kvtop may listen in the wrong place, but the address alone explains the silence.")
        .mended_by(
            phrase!("In {}, change the endpoint from {} to {}, then do a rolling restart of {}.", flag::KV_EVENTS_CONFIG, address, bound, names),
            phrase!("rolling restart of {}; each one loses its KV cache", names),
        )
        .by_itself(),
    )
}

/// Finds workers that the routers' own metric reports as having no event source, if no event arrives at all.
pub(super) fn sourceless(evidence: &Evidence) -> Option<Finding> {
    let heard = served(evidence);
    let served = heard.max(evidence.blind_before());
    let count = evidence.router.sourceless;
    // One that published earlier has a source.
    let published = evidence.present().any(|rank| rank.last_event.is_some());
    if count == 0 || published || served < evidence.thresholds.min_silent_routed {
        return None;
    }
    let workers = if count == 1 { Phrase::from("1 worker") } else { phrase!("{} workers", count) };
    let (first, seen) = if heard >= evidence.thresholds.min_silent_routed {
        let value = phrase!("0, while {} requests were served", Count(served));
        let proof = Proof::new(measure::KV_EVENTS, value, Origin::EventPlanes);
        (proof.at(evidence.at), Phrase::from("no event was seen"))
    } else {
        // They came before kvtop listened.
        let value = phrase!("0 of {} requests", Count(served));
        let proof = Proof::new(measure::CACHE_HITS, value, Origin::RouterLogs);
        let proof = proof.heard(evidence.router.heard.routed);
        (proof, phrase!("none of {} requests had a cache hit", Count(served)))
    };
    let proofs = std::iter::once(first).chain(proof(evidence)).collect();
    Some(
        Finding::new(
            Severity::Critical,
            Grade::Confirmed,
            phrase!("The router's metric reports {} without a source of KV events, and {}.", workers, seen),
            proofs,
        )
        .means(EFFECT, "One KV event from any worker.")
        .mended_by(
            phrase!("Start the workers with {}, then do a rolling restart. The frontend's log names them \
                 (KV EVENT ROUTING MISCONFIGURATION).", evidence.publish_flags()),
            "rolling restart of these workers; each one loses its KV cache",
        ),
    )
}

/// Returns the routers' own metric about workers without a source of KV events.
pub(super) fn proof(evidence: &Evidence) -> Option<Proof> {
    let count = evidence.router.sourceless;
    let value = phrase!("{} (dynamo_component_router_kv_event_source_mismatch_workers)", count);
    let proof = Proof::new(measure::WORKERS_WITHOUT_EVENTS, value, Origin::RouterMetrics);
    (count > 0).then(|| proof.at(evidence.at))
}

/// Returns how many requests were served, as far as any source reports.
fn served(evidence: &Evidence) -> u64 {
    evidence.router.tally.routed.max(evidence.router.tally.answered)
}
