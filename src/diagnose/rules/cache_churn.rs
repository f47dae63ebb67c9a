//! KVT009: blocks are evicted shortly before they are needed again.

use super::larger_cache;
use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Decimal, phrase};
use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity};

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
         memory, fewer concurrent sequences, a host tier, or more workers. The fix says how many stored blocks \
         two and three times the capacity would avoid, by the order of evictions."
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
        if total.kv.sampled < limits.min_sampled {
            return Verdict::unknown(phrase!(
                "needs at least {} sampled blocks ({} so far)",
                limits.min_sampled,
                total.kv.sampled
            ));
        }
        let share = total.kv.returned as f64 / total.kv.sampled as f64;
        let counts =
            phrase!("{} of {} sampled blocks", Count(total.kv.returned), Count(total.kv.sampled));
        if share < limits.return_share {
            return Verdict::clear(phrase!(
                "{} had been evicted within the previous 10 minutes",
                counts
            ));
        }
        // A worker's own sample is small: equal workers must not change sides with every look.
        let churns = |rank: &&RankEvidence| {
            let tally = &rank.tally;
            tally.kv.sampled > 0
                && tally.kv.returned as f64 / tally.kv.sampled as f64 >= limits.return_share / 2.0
        };
        let removed = Proof::new(
            measure::BLOCKS_EVICTED,
            phrase!(
                "{} stored, {} evicted",
                Count(total.kv.counters.stored_blocks),
                Count(total.kv.counters.removed_blocks)
            ),
            Origin::KvEvents,
        );
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            phrase!("{} % of newly stored blocks had been evicted within the previous 10 minutes ({}).", Decimal(share * 100.0, 0), counts),
            [
                Proof::new(measure::BLOCKS_STORED_AGAIN, counts, Origin::KvEvents)
                    .at(evidence.at),
                removed,
            ]
            .into_iter()
            .chain(larger_cache::proof(evidence))
            .collect(),
        )
        .about(evidence.present().filter(churns))
        .means(
            "Prompts that were cached until recently are being recomputed.",
            "Evicted blocks that are not stored again.",
        )
        .rather_than("KVT010: a cache can churn without being full of running requests.")
        .mended_by(
            phrase!("Increase the KV cache capacity: fp8 KV cache, a larger share of GPU memory, a smaller {}, a \
                 host tier, or more workers.", evidence.sequences_flag())
            .and(larger_cache::effect(evidence)),
            "rolling restart of every worker whose settings change",
        )
        .into()
    }
}
