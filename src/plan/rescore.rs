//! Decisions re-scored: the choice that the same costs would have given with another weight or temperature.
//!
//! One step deep: the terms of a decision are those that the router had, and later decisions would have had others. So
//! this is no forecast.

use std::collections::BTreeSet;

use crate::domain::WorkerRank;
use crate::snapshot::{DecisionRow, Snapshot, TermRow};

/// Costs that differ by no more are equal: logs print three decimals of each term.
const EQUAL: f64 = 0.002;

/// A reason to leave a decision out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// The log does not print the terms of costs.
    NoTerms,
    /// A worker that is present has no term in it, or one has several.
    NotAll,
    /// The chosen rank is not among the terms, or not known.
    NotChosen,
    /// The cost has a credit for overlap in place of a weight (Dynamo 1.6).
    Credited,
    /// The weight was 0, so the router did not look up overlaps.
    NoOverlaps,
    /// The terms do not add up to the printed cost.
    Inconsistent,
}

impl LeftOut {
    /// Returns it in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoTerms => "no terms logged",
            Self::NotAll => "terms of some worker missing",
            Self::NotChosen => "chosen rank not among the terms",
            Self::Credited => "cost with an overlap credit instead of a weight",
            Self::NoOverlaps => "overlap weight 0: overlaps not looked up",
            Self::Inconsistent => "terms do not add up to the cost",
        }
    }
}

/// The result for one weight and temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rescore {
    /// The overlap weight.
    pub weight: f64,
    /// The temperature.
    pub temperature: f64,
    /// Decisions that would have gone to another rank; their expected number where chance decides.
    pub flips: f64,
    /// Cached blocks that the other choices would have found in addition; negative where they would have found fewer.
    pub overlap_blocks: f64,
}

/// Decisions re-scored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rescored {
    /// Decisions whose candidates' terms are all known.
    pub decisions: u64,
    /// Cached blocks that the chosen ranks had, over these.
    pub overlap_blocks: f64,
    /// Decisions among them in which the chosen rank did not cost least.
    pub not_cheapest: u64,
    /// Decisions that were left out, by reason.
    pub left_out: Vec<(LeftOut, u64)>,
    /// One result for each weight and temperature.
    pub rows: Vec<Rescore>,
}

/// Re-scores the decisions of a snapshot with each of `weights` at temperature 0, and with each of `temperatures` at the
/// weight of the decision, which is given as `weight`.
pub fn rescore(
    snapshot: &Snapshot,
    weights: &[f64],
    temperatures: &[f64],
    weight: f64,
) -> Rescored {
    let present: BTreeSet<WorkerRank> =
        snapshot.workers.iter().filter(|row| !row.gone).map(|row| row.rank).collect();
    let mut found = Rescored::default();
    let mut usable = Vec::new();
    for row in &snapshot.decisions {
        match whole(row, &present) {
            Ok(chosen) => {
                let least = row.terms.iter().map(|term| term.logit).fold(f64::INFINITY, f64::min);
                found.not_cheapest += u64::from(chosen.logit > least + EQUAL);
                found.overlap_blocks += chosen.cached_blocks;
                usable.push((chosen, row.terms.as_slice()));
            }
            Err(why) => match found.left_out.iter_mut().find(|(known, _)| *known == why) {
                Some((_, count)) => *count += 1,
                None => found.left_out.push((why, 1)),
            },
        }
    }
    found.left_out.sort_by_key(|(why, _)| *why);
    found.decisions = usable.len() as u64;
    if usable.is_empty() {
        return found;
    }
    let settings = weights.iter().map(|weight| (*weight, 0.0));
    let settings = settings.chain(temperatures.iter().map(|heat| (weight, *heat)));
    found.rows = settings.map(|(weight, heat)| one(&usable, weight, heat)).collect();
    found
}

/// Returns the term of the chosen rank; the reason where not everything is known.
fn whole<'a>(row: &'a DecisionRow, present: &BTreeSet<WorkerRank>) -> Result<&'a TermRow, LeftOut> {
    if row.terms.is_empty() {
        return Err(LeftOut::NoTerms);
    }
    let ranks: BTreeSet<WorkerRank> = row.terms.iter().map(|term| term.rank).collect();
    if ranks.len() != row.terms.len() || !present.is_subset(&ranks) {
        return Err(LeftOut::NotAll);
    }
    if row.terms.iter().any(|term| term.credit.is_some()) {
        return Err(LeftOut::Credited);
    }
    if row.terms.iter().any(|term| term.weight <= 0.0) {
        return Err(LeftOut::NoOverlaps);
    }
    let adds_up = |term: &TermRow| {
        let sum = term.weight * term.prefill_blocks + term.decode_blocks;
        (sum - term.logit).abs() <= EQUAL * (1.0 + term.weight)
    };
    if !row.terms.iter().all(adds_up) {
        return Err(LeftOut::Inconsistent);
    }
    let fits = |term: &&TermRow| {
        term.rank.worker == row.worker && row.dp_rank.is_none_or(|rank| rank == term.rank.dp_rank)
    };
    let mut chosen = row.terms.iter().filter(fits);
    chosen.next().filter(|_| chosen.next().is_none()).ok_or(LeftOut::NotChosen)
}

fn one(usable: &[(&TermRow, &[TermRow])], weight: f64, temperature: f64) -> Rescore {
    let mut sum = Rescore { weight, temperature, flips: 0.0, overlap_blocks: 0.0 };
    for (chosen, terms) in usable {
        let costs: Vec<f64> =
            terms.iter().map(|term| weight * term.prefill_blocks + term.decode_blocks).collect();
        let shares = shares(&costs, temperature);
        let own = terms.iter().position(|term| term.rank == chosen.rank).unwrap_or(0);
        // Of equal costs any may win: a choice that may stay is no flip.
        if temperature <= 0.0 && shares[own] > 0.0 {
            continue;
        }
        sum.flips += 1.0 - shares[own];
        let overlap: f64 =
            terms.iter().zip(&shares).map(|(term, share)| term.cached_blocks * share).sum();
        sum.overlap_blocks += overlap - chosen.cached_blocks;
    }
    sum
}

/// Returns the probability of each candidate: the cheapest ones share it at temperature 0, otherwise as a router draws
/// (dynamo-kv-router 1.6.1, `scheduling/selector/reference.rs`).
fn shares(costs: &[f64], temperature: f64) -> Vec<f64> {
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let range = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least;
    let weigh = |cost: &f64| {
        if temperature > 0.0 && range > 0.0 {
            ((least - cost) / (range * temperature)).exp()
        } else {
            f64::from(u8::from(*cost <= least + EQUAL))
        }
    };
    let weights: Vec<f64> = costs.iter().map(weigh).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn term(worker: u64, prefill: f64, decode: f64, cached: f64) -> TermRow {
        TermRow {
            rank: WorkerRank::new(worker, 0),
            alias: String::new(),
            logit: prefill + decode,
            weight: 1.0,
            prefill_blocks: prefill,
            decode_blocks: decode,
            cached_blocks: cached,
            credit: None,
        }
    }

    fn decision(worker: u64, terms: Vec<TermRow>) -> DecisionRow {
        DecisionRow {
            number: 0,
            at: Timestamp(0),
            router: "frontend".into(),
            request: None,
            worker: crate::domain::WorkerId(worker),
            dp_rank: None,
            alias: String::new(),
            logit: None,
            cached_blocks: None,
            tree_size: None,
            prompt_blocks: None,
            prompt_tokens: None,
            terms,
        }
    }

    /// Worker 1 has the prefix, worker 2 is idle.
    fn affine() -> DecisionRow {
        decision(1, vec![term(1, 10.0, 50.0, 40.0), term(2, 50.0, 20.0, 0.0)])
    }

    fn rescored(decisions: Vec<DecisionRow>, weights: &[f64], heats: &[f64]) -> Rescored {
        let snapshot = Snapshot { decisions, ..Snapshot::default() };
        rescore(&snapshot, weights, heats, 1.0)
    }

    #[test]
    fn a_smaller_weight_sends_it_to_the_idle_worker_and_loses_the_overlap() {
        let found = rescored(vec![affine(); 3], &[0.0, 0.5, 2.0], &[]);

        assert_eq!((found.decisions, found.not_cheapest), (3, 0));
        assert!((found.overlap_blocks - 120.0).abs() < 1e-9);
        let rows: Vec<_> = found.rows.iter().map(|row| (row.flips, row.overlap_blocks)).collect();
        assert_eq!(rows, [(3.0, -120.0), (3.0, -120.0), (0.0, 0.0)]);
    }

    #[test]
    fn a_temperature_gives_the_chance_of_a_flip() {
        let found = rescored(vec![affine()], &[], &[0.5]);

        // Of two candidates the costlier one is drawn with 1 / (1 + e^2).
        let chance = 1.0 / (1.0 + 2.0_f64.exp());
        assert!((found.rows[0].flips - chance).abs() < 1e-9, "{found:?}");
        assert!((found.rows[0].overlap_blocks + 40.0 * chance).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn decisions_with_partial_terms_are_left_out_and_counted() {
        let mut wrong = affine();
        wrong.terms[0].logit += 1.0;
        let none = decision(1, Vec::new());
        let elsewhere = decision(3, affine().terms);
        let mut off = affine();
        for term in &mut off.terms {
            (term.weight, term.logit) = (0.0, term.decode_blocks);
        }

        let found = rescored(vec![wrong, none, elsewhere, off, affine()], &[2.0], &[]);

        assert_eq!(found.decisions, 1);
        let reasons: Vec<LeftOut> = found.left_out.iter().map(|(why, _)| *why).collect();
        let expected =
            [LeftOut::NoTerms, LeftOut::NotChosen, LeftOut::NoOverlaps, LeftOut::Inconsistent];
        assert_eq!(reasons, expected);
        let nothing = rescored(vec![decision(1, Vec::new())], &[2.0], &[0.5]);
        assert!(nothing.rows.is_empty());
    }
}
