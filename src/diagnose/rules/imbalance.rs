//! KVT011: one worker gets most requests.

use crate::diagnose::knobs;
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

pub(super) struct Imbalance;

impl Rule for Imbalance {
    fn id(&self) -> &'static str {
        "KVT011"
    }

    fn name(&self) -> &'static str {
        "imbalance"
    }

    fn about(&self) -> &'static str {
        "One worker gets far more requests than its share while others idle: a popular prefix \
         pulls its requests to where it is cached, and load loses. Judged over at least 100 \
         requests: the largest share is more than twice the mean (with two workers, more than \
         nine in ten), and the Gini coefficient is above 0.35. Nothing is said while a worker is \
         away, starts, or started within the last minute: its cache is empty, and requests go \
         where prefixes are. Lower the weight of the overlap (0.9: DYN_KV_OVERLAP_SCORE_WEIGHT, \
         1.0 and 1.1: DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT, from 1.2 on \
         DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT) to 0.5, or add a little temperature."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        let routed: Vec<_> =
            evidence.present().map(|rank| (Evidence::name_of(rank), rank.tally.routed)).collect();
        let sum: u64 = routed.iter().map(|(_, count)| count).sum();
        if sum < limits.min_decisions || routed.len() < 2 {
            return Verdict::unknown(format!(
                "requests: {sum} to {} ranks, {} are needed",
                routed.len(),
                limits.min_decisions
            ));
        }
        if let Some(why) = evidence.unsettled() {
            return Verdict::unknown(format!("workers that are all there for a while: {why}"));
        }
        let counts: Vec<u64> = routed.iter().map(|(_, count)| *count).collect();
        let gini = gini(&counts);
        let most = counts.iter().copied().max().unwrap_or(0) as f64 / sum as f64;
        let line = if counts.len() == 2 { 0.9 } else { 2.0 / counts.len() as f64 };
        if most <= line || gini <= limits.gini {
            return Verdict::clear(format!(
                "the busiest rank got {:.0} % of {}",
                most * 100.0,
                thousands(sum)
            ));
        }
        let proofs = routed.iter().take(16).map(|(name, count)| {
            Proof::new(format!("requests to {name}"), thousands(*count), "routers' logs")
                .heard(evidence.router.heard.routed)
        });
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            format!(
                "One of {} ranks gets {:.0} % of {} requests.",
                counts.len(),
                most * 100.0,
                thousands(sum)
            ),
            proofs.collect(),
        )
        .means("Requests may queue at one worker while others have room.", "Shares that even out.")
        .mended_by(
            format!(
                "Lower what an overlap counts: {} on the frontend, or DYN_ROUTER_TEMPERATURE=0.1.",
                evidence.knob_text(knobs::OVERLAP, "=0.5")
            ),
            evidence.frontend_restarts(),
        )
        .through(evidence.set_on_frontend(knobs::OVERLAP, knobs::OVERLAP_FLAGS, "0.5"))
        .into()
    }
}

/// Returns how unequal `counts` are: 0 when all are the same, near 1 when one has all.
fn gini(counts: &[u64]) -> f64 {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let (count, sum) = (sorted.len() as f64, sorted.iter().sum::<u64>() as f64);
    let weighted: f64 = sorted.iter().zip(1_u32..).map(|(n, i)| f64::from(i) * *n as f64).sum();
    2.0 * weighted / (count * sum.max(1.0)) - (count + 1.0) / count
}

#[cfg(test)]
mod tests {
    use super::gini;

    #[test]
    fn equal_shares_have_no_inequality_and_one_owner_has_most() {
        assert!(gini(&[25, 25, 25, 25]).abs() < 1e-9);
        assert!((gini(&[0, 0, 0, 100]) - 0.75).abs() < 1e-9);
    }
}
