//! KVT009: blocks are evicted before they are asked for again.

use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
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
        "Workers store blocks again that they evicted shortly before: the cache is too small \
         for what comes back, and prompts are computed again. A full cache that evicts as much \
         as it stores is normal; only blocks that return are not. Judged by the share of stored \
         blocks that the same rank had removed within ten minutes, over a sample of one block \
         in sixteen: 20 % of at least 50. Give the cache more room: fp8 KV cache, a larger \
         share of GPU memory, fewer sequences at once, a host tier, or more workers."
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
                "stored blocks: {} were sampled, {} are needed",
                total.sampled, limits.min_sampled
            ));
        }
        let share = total.returned as f64 / total.sampled as f64;
        let said =
            format!("{} of {} sampled blocks", thousands(total.returned), thousands(total.sampled));
        if share < limits.return_share {
            return Verdict::clear(format!("{said} were stored again after an eviction"));
        }
        let removed = Proof::new(
            "blocks stored and removed",
            format!(
                "{} and {}",
                thousands(total.counters.stored_blocks),
                thousands(total.counters.removed_blocks)
            ),
            "KV events",
        );
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            format!(
                "{:.0} % of stored blocks had been evicted shortly before: {said}.",
                share * 100.0
            ),
            vec![Proof::new("blocks that return", said, "KV events").at(evidence.at), removed],
        )
        .means(
            "Prompts are computed again that were cached a while ago.",
            "Evicted blocks that stay away.",
        )
        .rather_than("KVT010: a cache may churn without being full of running requests.")
        .mended_by(
            format!(
                "Give the KV cache more room: fp8 KV cache, a larger share of GPU memory, a smaller {}, a \
                 host tier, or more workers.",
                evidence.sequences_flag()
            ),
            "every worker whose settings change",
        )
        .into()
    }
}
