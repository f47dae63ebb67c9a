//! KVT020: the index holds more than a worker has room for.

use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

pub(super) struct PhantomBlocks;

impl Rule for PhantomBlocks {
    fn id(&self) -> &'static str {
        "KVT020"
    }

    fn name(&self) -> &'static str {
        "phantom-blocks"
    }

    fn about(&self) -> &'static str {
        "By the events a worker holds more blocks than its engine has room for: removals were \
         lost, or a cache was emptied without a word (sleep, weight update, reset). The router \
         then prefers that worker for prefixes it no longer has. Judged by blocks of a rank \
         against its capacity, with 5 % to spare. Where events did not reach kvtop, and routers do \
         not say that they lack them too, its own count proves nothing. Roll that worker."
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
            return Verdict::unknown("capacity: no model card or log names the blocks of a worker");
        }
        let over = |(rank, capacity): &&(&crate::diagnose::RankEvidence, u64)| {
            rank.accepted as f64 > limits.phantom * *capacity as f64
        };
        let found: Vec<_> = known.iter().filter(over).collect();
        if found.is_empty() {
            return Verdict::clear(format!("no more blocks than room on {} ranks", known.len()));
        }
        if let Some(missing) = found.iter().find_map(|(rank, _)| own_loss(evidence, rank)) {
            return Verdict::unknown(missing);
        }
        let names: Vec<String> = found.iter().map(|(rank, _)| Evidence::name_of(rank)).collect();
        let proofs = found.iter().map(|(rank, capacity)| {
            let claim = format!("blocks of {}", Evidence::name_of(rank));
            Proof::new(
                claim,
                format!("{} in room for {}", thousands(rank.accepted), thousands(*capacity)),
                "mirror, model card",
            )
            .at(evidence.at)
        });
        let (fix, restarts) = match names.as_slice() {
            [one] => (format!("Roll {one}"), "that worker"),
            several => (
                format!("Roll {}, one after the other", several.join(", ")),
                "those workers, one after the other",
            ),
        };
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            format!("The index holds more blocks than there is room for on {}.", names.join(", ")),
            proofs.collect(),
        )
        .means("Requests may be sent there for prefixes that are gone.", "A capacity that grew.")
        .mended_by(format!("{fix}, so that cache and index start again together."), restarts)
        .about(found.iter().map(|(rank, _)| *rank))
        .into()
    }
}

/// Returns why the mirror's count of `rank` is no count of the router's index, when it may be none: events
/// are missing, and no router says that it lacks them too.
fn own_loss(evidence: &Evidence, rank: &RankEvidence) -> Option<String> {
    let (tally, counters) = (&evidence.router.tally, &rank.tally.counters);
    if evidence.plane.dropped > 0 {
        let dropped = thousands(evidence.plane.dropped);
        return Some(format!("what kvtop itself lost: {dropped} frames"));
    }
    // Refused here, and not there: the router had what kvtop lacks.
    let here = counters.refused_stores + counters.unknown_removals;
    let there = tally.refused() + tally.remove.max(tally.removals_missing);
    if there > 0 && there * 2 >= here {
        return None;
    }
    let name = Evidence::name_of(rank);
    if evidence.may_be_own_loss(rank) {
        let missing = thousands(rank.id_holes);
        return Some(format!("{missing} KV events of {name} that did not reach kvtop"));
    }
    if rank.missing > 0 {
        let missing = thousands(rank.missing);
        return Some(format!("{missing} messages of {name} that did not reach kvtop"));
    }
    (rank.unmatched > 0).then(|| {
        format!(
            "what the mirror of {name} lacks: {} stores and removals did not fit it, and no router says \
             the same of its index",
            thousands(rank.unmatched)
        )
    })
}
