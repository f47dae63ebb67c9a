//! KVT010: running requests fill the KV cache.

use super::larger_cache;
use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Decimal, phrase};
use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity, Topic};

pub(super) struct KvPressure;

impl Rule for KvPressure {
    fn id(&self) -> &'static str {
        "KVT010"
    }

    fn name(&self) -> &'static str {
        "kv-pressure"
    }

    fn about(&self) -> &'static str {
        "Running requests use nearly all KV blocks of a worker, so prefixes cannot stay cached, and requests \
         wait or are preempted.\nDetected when at least 95 % of blocks are in use (the engine's own gauge, or \
         used blocks against capacity) while KV events show less than half of them as cached. Not judged if \
         kvtop connected late or store events are empty, because cached blocks are then uncounted. Not judged \
         either for one minute after a worker joined or left, because the other workers carry its load.\nLower \
         max_num_seqs (max_batch_size) or the context length, or give the KV cache more memory."
    }

    fn topic(&self) -> Topic {
        Topic::Pressure
    }

    #[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        let known: Vec<_> =
            evidence.present().filter_map(|rank| Some((rank, rank.utilization?))).collect();
        let Some((_, most)) = known.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Verdict::unknown("no data on KV use (needs worker metrics or load reports)");
        };
        let full: Vec<_> = known
            .iter()
            .filter(|(rank, share)| {
                *share >= limits.pressure && cached(rank).is_some_and(|cached| cached < 0.5)
            })
            .collect();
        if full.is_empty() {
            let mut unclear = known.iter().filter(|(rank, _)| cached(rank).is_none());
            if let Some((rank, share)) = unclear.find(|it| it.1 >= limits.pressure) {
                let used = (share * 100.0).round();
                return Verdict::unknown(phrase!(
                    "needs the capacity and cached blocks of {}: its {} % in use may be requests or \
                     cached prefixes",
                    Evidence::name_of(rank),
                    used
                ));
            }
            let used = Decimal(most * 100.0, 0);
            return Verdict::clear(if *most >= limits.pressure {
                phrase!(
                    "not this fault: up to {} % of KV blocks in use, of which cached prefixes take at least half",
                    used
                )
            } else {
                phrase!("at most {} % of KV blocks in use", used)
            });
        }
        if let Some(why) = evidence.in_change() {
            return Verdict::unknown(phrase!(
                "waiting until the set of workers is stable: {}",
                why
            ));
        }
        let proofs = full.iter().map(|(rank, share)| {
            Proof::new(
                measure::KV_UTILIZATION.of(Evidence::name_of(rank)),
                phrase!("{} %", Decimal(share * 100.0, 1)),
                Origin::Metrics,
            )
            .at(evidence.at)
            .of_worker(rank.rank.worker)
        });
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            phrase!("{} of {} ranks have nearly all KV blocks in use.", full.len(), known.len()),
            proofs.chain(larger_cache::proof(evidence)).collect(),
        )
        .about(full.iter().map(|(rank, _)| *rank))
        .means(
            "Almost no capacity is left to keep prefixes cached; requests may wait.",
            "A utilization gauge that also counts cached blocks.",
        )
        .mended_by(
            phrase!(
                "Lower {} or the context length, or give the KV cache more memory.",
                evidence.sequences_flag()
            )
            .and(larger_cache::effect(evidence)),
            "rolling restart of every worker whose settings change",
        )
        .into()
    }
}

/// Returns the cached share of a rank's capacity; none if kvtop does not count all cached blocks. A cache full
/// of prefixes is no pressure, and gauges may count cached blocks too. Blocks from before kvtop connected, and
/// those of empty store events, are not counted.
fn cached(rank: &RankEvidence) -> Option<f64> {
    let counters = &rank.tally.kv.counters;
    let counted = rank.held > 0 && counters.empty_stores * 2 <= counters.stores;
    let room = rank.capacity.filter(|room| *room > 0 && counted && rank.past_known)?;
    Some(rank.held as f64 / room as f64)
}
