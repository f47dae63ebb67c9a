//! KVT020: the index holds more than a worker has room for.

use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
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
         against its capacity, with 5 % to spare. Roll that worker."
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
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            format!("The index holds more blocks than there is room for on {}.", names.join(", ")),
            proofs.collect(),
        )
        .means("Requests may be sent there for prefixes that are gone.", "A capacity that grew.")
        .mended_by(
            "Roll that worker, so that its cache and the index start again together.",
            "that worker",
        )
        .into()
    }
}
