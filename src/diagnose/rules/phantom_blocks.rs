//! KVT020: the index holds more blocks than a worker's capacity.

use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity};

pub(super) struct PhantomBlocks;

impl Rule for PhantomBlocks {
    fn id(&self) -> &'static str {
        "KVT020"
    }

    fn name(&self) -> &'static str {
        "phantom-blocks"
    }

    fn about(&self) -> &'static str {
        "According to KV events a worker holds more blocks than its engine's capacity: removals were lost, or \
         the cache was emptied without an event (sleep, weight update, reset). The router then prefers that \
         worker for prefixes that it no longer has.\nDetected when a rank's blocks exceed its capacity by more \
         than 5 %. Not judged if events did not reach kvtop and routers do not report the same loss, because \
         the count then proves nothing.\nRestart that worker."
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        let known: Vec<_> = evidence
            .present()
            .filter_map(|rank| Some((rank, rank.capacity.filter(|capacity| *capacity > 0)?)))
            .collect();
        if known.is_empty() {
            return Verdict::unknown(
                "needs a worker's capacity (no model card or log reports one)",
            );
        }
        let over = |(rank, capacity): &&(&crate::diagnose::RankEvidence, u64)| {
            rank.accepted as f64 > limits.phantom * *capacity as f64
        };
        let found: Vec<_> = known.iter().filter(over).collect();
        if found.is_empty() {
            return Verdict::clear(phrase!(
                "{} ranks hold no more blocks than capacity",
                known.len()
            ));
        }
        if let Some(missing) = found.iter().find_map(|(rank, _)| own_loss(evidence, rank)) {
            return Verdict::unknown(missing);
        }
        let names: Vec<String> = found.iter().map(|(rank, _)| Evidence::name_of(rank)).collect();
        let proofs = found.iter().map(|(rank, capacity)| {
            let claim = measure::BLOCKS_OF.of(Evidence::name_of(rank));
            Proof::new(
                claim,
                phrase!("{} with a capacity of {}", Count(rank.accepted), Count(*capacity)),
                Origin::Several(&[Origin::IndexCopy, Origin::ModelCards]),
            )
            .at(evidence.at)
        });
        let (fix, restarts) = match names.as_slice() {
            [one] => {
                (phrase!("Restart {}", one), "restart of that worker, which loses its KV cache")
            }
            several => (
                phrase!("Restart {} one at a time", several.join(", ")),
                "rolling restart of those workers; each one loses its KV cache",
            ),
        };
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            phrase!("The index holds more blocks than the capacity of {}.", names.join(", ")),
            proofs.collect(),
        )
        .means(
            "Requests may be routed there for prefixes that are no longer cached.",
            "A capacity that grew.",
        )
        .mended_by(phrase!("{}, so that cache and index are rebuilt together.", fix), restarts)
        .about(found.iter().map(|(rank, _)| *rank))
        .into()
    }
}

/// Returns why kvtop's count of `rank` may differ from the router's index: events are missing, and no router
/// reports the same loss.
fn own_loss(evidence: &Evidence, rank: &RankEvidence) -> Option<Phrase> {
    let (tally, counters) = (&evidence.router.tally, &rank.tally.kv.counters);
    if evidence.plane.dropped > 0 {
        let dropped = Count(evidence.plane.dropped);
        return Some(phrase!("cannot tell: kvtop itself lost {} frames", dropped));
    }
    // Rejected by kvtop but not by the router: the router received the events that kvtop lacks.
    let here = counters.refused_stores + counters.unknown_removals;
    let there = tally.refused() + tally.remove.max(tally.own.removals_missing);
    if there > 0 && there * 2 >= here {
        return None;
    }
    let name = Evidence::name_of(rank);
    if evidence.may_be_own_loss(rank) {
        let missing = Count(rank.id_holes);
        return Some(phrase!("cannot tell: {} KV events of {} did not reach kvtop", missing, name));
    }
    if rank.missing > 0 {
        let missing = Count(rank.missing);
        return Some(phrase!("cannot tell: {} messages of {} did not reach kvtop", missing, name));
    }
    (rank.unmatched > 0).then(|| {
        phrase!("cannot tell: kvtop's index copy lacks blocks of {} ({} stores and removals did not match it, \
             and no router reports the same)", name, Count(rank.unmatched))
    })
}
