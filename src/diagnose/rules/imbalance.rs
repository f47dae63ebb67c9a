//! KVT011: one worker gets most requests.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Decimal, Phrase, phrase};
use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Role, Severity};
use crate::dynamo::variable;
use crate::model::Percentiles;

/// Time without a request after which no worker has a queue.
const IDLE: Duration = Duration::from_secs(30);

pub(super) struct Imbalance;

impl Rule for Imbalance {
    fn id(&self) -> &'static str {
        "KVT011"
    }

    fn name(&self) -> &'static str {
        "imbalance"
    }

    fn about(&self) -> &'static str {
        "One worker gets far more than its share of requests while others are idle: a popular prefix attracts \
         requests to the worker that has it cached, despite its load.\nDetected over at least 100 requests if \
         the largest share is more than twice the mean (with two workers: more than nine in ten) and the Gini \
         coefficient is above 0.35; a note while the 95th percentile of the time to first token keeps its objective. \
         Not judged while a worker is away or starting, nor until every counted request came at least one minute \
         after the last worker started or left, because requests avoid an empty cache.\nDecrease the overlap weight \
         (0.9: {variable::KV_OVERLAP_SCORE_WEIGHT}, 1.0 and 1.1: {variable::ROUTER_KV_OVERLAP_SCORE_WEIGHT}, from 1.2 \
         on {variable::ROUTER_KV_OVERLAP_SCORE_CREDIT}) to 0.5, or set a small temperature."
    }

    #[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        // Workers of different models, or roles, do not share their requests.
        let groups = groups(evidence);
        let judged: Vec<&Shares<'_>> = groups
            .iter()
            .filter(|it| it.sum >= limits.min_decisions && it.counts.len() > 1)
            .collect();
        if judged.is_empty() {
            return Verdict::unknown(too_few(&groups, limits.min_decisions));
        }
        if let Some(why) = evidence.unsettled() {
            return Verdict::unknown(phrase!(
                "needs {} s without a change of workers before the counted requests: {}",
                limits.settle_seconds,
                why
            ));
        }
        let uneven = |it: &&&Shares<'_>| it.most() > it.line() && it.gini() > limits.gini;
        let Some(worst) = judged.iter().filter(uneven).max_by_key(|it| it.sum) else {
            let busiest = judged.iter().copied().max_by(|a, b| a.most().total_cmp(&b.most()));
            let (most, sum) = busiest.map_or((0.0, 0), |it| (it.most(), it.sum));
            return Verdict::clear(phrase!(
                "the busiest rank got {} % of {} requests",
                Decimal(most * 100.0, 0),
                Count(sum)
            ));
        };
        // A rank whose blocks no router knows is chosen for no cached prefix, which is KVT003.
        let silent = |rank: &&&RankEvidence| {
            rank.first_routed.is_some() && rank.last_event.is_none() && rank.held == 0
        };
        let heard = worst.ranks.iter().any(|rank| rank.last_event.is_some());
        if let Some(rank) = worst.ranks.iter().find(silent).filter(|_| heard) {
            return Verdict::unknown(phrase!(
                "needs KV events of {}: no cached prefix is known there (KVT003)",
                Evidence::name_of(rank)
            ));
        }
        let (most, sum) = (worst.most(), worst.sum);
        let busiest = worst.ranks.iter().zip(&worst.counts).max_by_key(|(_, count)| **count);
        let busiest = busiest.map(|(rank, _)| *rank);
        let routed = worst.ranks.iter().map(|rank| Evidence::name_of(rank)).zip(&worst.counts);
        let counts = &worst.counts;
        let proofs = routed.take(16).map(|(name, count)| {
            Proof::new(
                measure::REQUESTS_TO.of(&name),
                phrase!("{}", Count(*count)),
                Origin::RouterLogs,
            )
            .heard(evidence.router.heard.routed)
        });
        // Where the first token comes in time, no request waits for the busiest worker.
        let timed = |it: &Percentiles| it.count >= limits.min_silent_routed as f64;
        let in_time = |it: &Percentiles| it.p95 <= evidence.load.objectives.ttft_seconds();
        let timely = evidence.load.first_token.filter(timed).filter(in_time);
        // There is no queue either while no request comes.
        let last = evidence.router.heard.routed.map(|last| evidence.active.max(Some(last)));
        let still = last.flatten().map(|last| evidence.at.since(last));
        let still = still.filter(|still| *still >= IDLE);
        let harmless = timely.is_some() || still.is_some();
        let severity = if harmless { Severity::Info } else { Severity::Warning };
        let no_queue = match (timely, still) {
            (Some(it), _) => phrase!(" No queue: p95 TTFT is {} s.", Decimal(it.p95, 2)),
            (None, Some(still)) => phrase!(" No queue: no request for {} s.", still.as_secs()),
            (None, None) => Phrase::default(),
        };
        Finding::new(
            severity,
            Grade::Likely,
            phrase!(
                "{} received {} % of {} requests to {} ranks.{}",
                busiest.map_or_else(String::new, Evidence::name_of),
                Decimal(most * 100.0, 0),
                Count(sum),
                counts.len(),
                no_queue
            ),
            proofs.collect(),
        )
        .means(
            "Requests may queue at one worker while others have free capacity.",
            "Shares that even out.",
        )
        .mended_by(
            phrase!(
                "Decrease the overlap weight: set {} on the frontend, or {}=0.1.",
                evidence.overlap_text("0.5"),
                variable::ROUTER_TEMPERATURE
            ),
            evidence.frontend_restarts(),
        )
        .through(evidence.set_overlap("0.5"))
        .about(busiest)
        .into()
    }
}

/// Describes how many requests are still needed to judge.
fn too_few(groups: &[Shares<'_>], least: u64) -> Phrase {
    let counts = groups.iter().map(|it| (it.sum, it.counts.len()));
    let (sum, ranks) = counts.max_by_key(|(sum, ranks)| (*ranks > 1, *sum)).unwrap_or_default();
    phrase!("needs at least {} requests ({} to {} ranks so far)", least, sum, ranks)
}

/// The requests of workers that share them.
struct Shares<'a> {
    ranks: Vec<&'a RankEvidence>,
    counts: Vec<u64>,
    sum: u64,
}

impl<'a> Shares<'a> {
    fn new(ranks: Vec<&'a RankEvidence>) -> Self {
        let counts: Vec<u64> = ranks.iter().map(|rank| rank.tally.requests.routed).collect();
        let sum = counts.iter().sum();
        Self { ranks, counts, sum }
    }

    /// Returns the largest share.
    fn most(&self) -> f64 {
        self.counts.iter().copied().max().unwrap_or(0) as f64 / self.sum.max(1) as f64
    }

    /// Returns the share above which the largest one is too large.
    fn line(&self) -> f64 {
        if self.counts.len() == 2 { 0.9 } else { 2.0 / self.counts.len() as f64 }
    }

    fn gini(&self) -> f64 {
        gini(&self.counts)
    }
}

/// Returns the workers that are there by what they serve: their models, their Dynamo namespace, and prefill or decode
/// alone.
fn groups(evidence: &Evidence) -> Vec<Shares<'_>> {
    let mut groups: BTreeMap<_, Vec<&RankEvidence>> = BTreeMap::new();
    let namespaces = evidence.namespaces_by_worker();
    // Requests to encoders, and for embeddings and images, are not routed by cached blocks.
    let routed = |rank: &&RankEvidence| !rank.role.as_deref().is_some_and(Role::names_no_kv_blocks);
    for rank in evidence.present().filter(routed) {
        let served = evidence.models.iter().filter(|(worker, _)| *worker == rank.rank.worker);
        let mut models: Vec<&str> = served.map(|(_, model)| model.as_ref()).collect();
        models.sort_unstable();
        let role = rank.role.as_deref().unwrap_or_default().to_ascii_lowercase();
        let namespace = namespaces.get(&rank.rank.worker).copied();
        let key = (models, namespace, role.contains("prefill"), role.contains("decode"));
        groups.entry(key).or_default().push(rank);
    }
    groups.into_values().map(Shares::new).collect()
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
