//! KVT009: blocks are evicted shortly before they are needed again.

use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

pub(super) struct CacheChurn;

impl Rule for CacheChurn {
    fn id(&self) -> &'static str {
        "KVT009"
    }

    fn name(&self) -> &'static str {
        "cache-churn"
    }

    fn about(&self) -> &'static str {
        "Workers store blocks again shortly after they evicted them: the cache is too small for the prefixes in \
         use, and prompts are recomputed. A full cache that evicts as much as it stores is normal; blocks that \
         return soon after an eviction are not.\nDetected when at least 20 % of newly stored blocks had been \
         evicted by the same rank within the previous ten minutes (kvtop samples one block in sixteen, and \
         needs at least 50 samples).\nIncrease the KV cache capacity: fp8 KV cache, a larger share of GPU \
         memory, fewer concurrent sequences, a host tier, or more workers."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT010"]
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        let total = evidence.total();
        if total.sampled < limits.min_sampled {
            return Verdict::unknown(format!(
                "needs at least {} sampled blocks ({} so far)",
                limits.min_sampled, total.sampled
            ));
        }
        let share = total.returned as f64 / total.sampled as f64;
        let counts =
            format!("{} of {} sampled blocks", thousands(total.returned), thousands(total.sampled));
        if share < limits.return_share {
            return Verdict::clear(format!(
                "{counts} had been evicted within the previous 10 minutes"
            ));
        }
        let churns = |rank: &&RankEvidence| {
            let tally = &rank.tally;
            tally.sampled > 0 && tally.returned as f64 / tally.sampled as f64 >= limits.return_share
        };
        let removed = Proof::new(
            "blocks stored and evicted",
            format!(
                "{} stored, {} evicted",
                thousands(total.counters.stored_blocks),
                thousands(total.counters.removed_blocks)
            ),
            "KV events",
        );
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            format!(
                "{:.0} % of newly stored blocks had been evicted within the previous 10 minutes ({counts}).",
                share * 100.0
            ),
            vec![
                Proof::new("blocks stored again after eviction", counts, "KV events")
                    .at(evidence.at),
                removed,
            ],
        )
        .about(evidence.present().filter(churns))
        .means(
            "Prompts that were cached until recently are being recomputed.",
            "Evicted blocks that are not stored again.",
        )
        .rather_than("KVT010: a cache can churn without being full of running requests.")
        .mended_by(
            format!(
                "Increase the KV cache capacity: fp8 KV cache, a larger share of GPU memory, a smaller {}, a \
                 host tier, or more workers.",
                evidence.sequences_flag()
            ),
            "rolling restart of every worker whose settings change",
        )
        .into()
    }
}
