//! KVT018: load outweighs cache affinity. The limit of 30 % lies above the 22 % of healthy simulations.

use crate::diagnose::Origin;
use crate::diagnose::evidence::Regret;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Decimal, Phrase, phrase};
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity};
use crate::dynamo::variable;

pub(super) struct Affinity;

impl Rule for Affinity {
    fn id(&self) -> &'static str {
        "KVT018"
    }

    fn name(&self) -> &'static str {
        "affinity-loses-to-load"
    }

    fn about(&self) -> &'static str {
        "The router often does not choose the worker with the most cached blocks: load outweighs the overlap. \
         Reasons are the overlap weight, the temperature, or requests that ended long ago but still count as \
         load. Prefixes are then recomputed and cached on every worker.\nDetected over at least 100 decisions \
         that log every worker's cost (Dynamo 0.9; later versions at DEBUG). Either more than 5 % of all prompt \
         blocks would have been hits at the default weight, or more than 30 % were cached on another worker and \
         ignored for any reason. (A healthy router under load ignores 8 % with two workers and 22 % with \
         eight.)\nIncrease the overlap weight and set temperature 0."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn needs_kv_router(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        let Some(regret) = evidence.router.regret else {
            return Verdict::unknown(
                "needs log lines with every worker's cost (0.9 prints them; later only at DEBUG)",
            );
        };
        if regret.decisions < limits.min_decisions {
            return Verdict::unknown(phrase!(
                "needs at least {} decisions with every worker's cost ({} so far)",
                limits.min_decisions,
                regret.decisions
            ));
        }
        let percent = |blocks: f64| blocks / regret.prompt_blocks.max(1.0) * 100.0;
        let lost = (regret.best_blocks - regret.chosen_blocks).max(0.0);
        let forgone = regret.forgone_blocks;
        if percent(forgone) > limits.forgone * 100.0 {
            let summary = phrase!(
                "The router ignores cached blocks: at the default weight, {} % more of all prompt blocks \
                 would be cache hits.",
                Decimal(percent(forgone), 0)
            );
            return found(evidence, &regret, summary, lost);
        }
        // The share varies with the prompts of each half minute, and what was raised must not resolve by chance.
        if percent(forgone) > limits.forgone * 50.0 {
            return Verdict::unknown(phrase!(
                "cannot tell: at the default weight, {} % more of all prompt blocks would be cache hits (at least {} \
                 % needed)",
                Decimal(percent(forgone), 1),
                Decimal(limits.forgone * 100.0, 0)
            ));
        }
        if percent(lost) <= limits.regret * 100.0 {
            return Verdict::clear(phrase!(
                "{} % of prompt blocks were cached on a worker that was not chosen",
                Decimal(percent(lost), 1)
            ));
        }
        let summary = phrase!(
            "Load outweighs cache affinity: {} of {} decisions ignored cached blocks ({} % of all prompt \
             blocks).",
            Count(regret.passed_up),
            Count(regret.decisions),
            Decimal(percent(lost), 0)
        );
        found(evidence, &regret, summary, lost)
    }
}

fn found(evidence: &Evidence, regret: &Regret, summary: Phrase, lost: f64) -> Verdict {
    let source = Origin::RouterCosts;
    let of = |blocks: f64| {
        phrase!("{} of {} prompt blocks", Decimal(blocks, 0), Decimal(regret.prompt_blocks, 0))
    };
    let mut proofs =
        vec![Proof::new(measure::CACHED_BLOCKS_IGNORED, of(lost), source.clone()).at(evidence.at)];
    if regret.forgone_blocks > 0.0 {
        let claim = measure::IGNORED_AT_DEFAULT_WEIGHT;
        proofs.push(Proof::new(claim, of(regret.forgone_blocks), source.clone()));
    }
    let mut weights: Vec<f64> = evidence.router.weights.iter().map(|(_, weight)| *weight).collect();
    weights.sort_by(f64::total_cmp);
    weights.dedup();
    if !weights.is_empty() {
        let value = Phrase::joined(", ", weights.into_iter().map(|weight| phrase!("{}", weight)));
        proofs.push(Proof::new(measure::PREFILL_WEIGHT, value, source.clone()));
    }
    Finding::new(Severity::Warning, Grade::Likely, summary, proofs)
        .means("Prefixes are recomputed on other workers.", "Workers that were full at the time.")
        .mended_by(
            phrase!(
                "Increase the overlap weight: set {} and {}=0 on the frontend.",
                evidence.overlap_text("1.5"),
                variable::ROUTER_TEMPERATURE
            ),
            evidence.frontend_restarts(),
        )
        .through(evidence.set_overlap("1.5"))
        .into()
}
