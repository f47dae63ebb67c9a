//! KVT018: load outweighs cached blocks.

use crate::diagnose::evidence::Regret;
use crate::diagnose::knobs;
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

pub(super) struct Affinity;

impl Rule for Affinity {
    fn id(&self) -> &'static str {
        "KVT018"
    }

    fn name(&self) -> &'static str {
        "affinity-loses-to-load"
    }

    fn about(&self) -> &'static str {
        "The worker with the most cached blocks is often not chosen: load outweighs the \
         overlap, by its weight, by temperature, or because the router believes in requests \
         that ended long ago. Prefixes are then computed and kept on every worker. Judged over \
         at least 100 decisions that spell out every worker's cost (Dynamo 0.9; DEBUG later): \
         more than 5 % of all prompts' blocks would have been found at the default weight and were \
         not, or more than 30 % were cached on another worker and passed up, whatever for (a router \
         that is well passes up 8 % with two workers and 22 % with eight under load). Raise \
         the credit of the overlap, set temperature 0."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        let Some(regret) = evidence.router.regret else {
            return Verdict::unknown(
                "every worker's cost: routers print it in 0.9, later only with DEBUG",
            );
        };
        if regret.decisions < limits.min_decisions {
            return Verdict::unknown(format!(
                "decisions with every worker's cost: {}, {} are needed",
                regret.decisions, limits.min_decisions
            ));
        }
        let percent = |blocks: f64| blocks / regret.prompt_blocks.max(1.0) * 100.0;
        let lost = (regret.best_blocks - regret.chosen_blocks).max(0.0);
        let forgone = regret.forgone_blocks;
        if percent(forgone) > limits.forgone * 100.0 {
            let summary = format!(
                "The router passes up what is cached: at the default weight it would find {:.0} % more of \
                 all prompts.",
                percent(forgone)
            );
            return found(evidence, &regret, summary, lost);
        }
        if percent(lost) <= limits.regret * 100.0 {
            return Verdict::clear(format!(
                "{:.1} % of prompts' blocks were cached elsewhere and passed up for load",
                percent(lost)
            ));
        }
        let summary = format!(
            "Load outweighs what is cached: {} of {} decisions passed up cached blocks, {:.0} % of all prompts.",
            thousands(regret.passed_up),
            thousands(regret.decisions),
            percent(lost)
        );
        found(evidence, &regret, summary, lost)
    }
}

fn found(evidence: &Evidence, regret: &Regret, summary: String, lost: f64) -> Verdict {
    let source = "costs in routers' logs";
    let of = |blocks: f64| format!("{blocks:.0} of {:.0} blocks of prompts", regret.prompt_blocks);
    let mut proofs = vec![Proof::new("cached blocks passed up", of(lost), source).at(evidence.at)];
    if regret.forgone_blocks > 0.0 {
        let claim = "of those, found at the default weight";
        proofs.push(Proof::new(claim, of(regret.forgone_blocks), source));
    }
    if let Some(weight) = evidence.router.weight {
        let claim = "weight of what is not cached; 1 by default";
        proofs.push(Proof::new(claim, weight.to_string(), source));
    }
    Finding::new(Severity::Warning, Grade::Likely, summary, proofs)
        .means(
            "Prefixes are computed again on other workers.",
            "Workers that were full at the time.",
        )
        .mended_by(
            format!(
                "Raise what an overlap counts: {} on the frontend, and DYN_ROUTER_TEMPERATURE=0.",
                evidence.knob_text(knobs::OVERLAP, "=1.5")
            ),
            evidence.frontend_restarts(),
        )
        .through(evidence.set_on_frontend(knobs::OVERLAP, knobs::OVERLAP_FLAGS, "1.5"))
        .into()
}
