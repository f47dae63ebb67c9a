//! KVT018: load outweighs cached blocks.

use crate::diagnose::knobs;
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity};

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
         more than 15 % of all prompts' blocks were cached on another worker and passed up. Raise \
         the credit of the overlap, set temperature 0."
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
        let lost = (regret.best_blocks - regret.chosen_blocks).max(0.0);
        let share = lost / regret.prompt_blocks.max(1.0);
        if share <= limits.regret {
            return Verdict::clear(format!(
                "{:.1} % of prompts' blocks were cached elsewhere and passed up for load",
                share * 100.0
            ));
        }
        let value = format!("{lost:.0} of {:.0} blocks of prompts", regret.prompt_blocks);
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            format!(
                "Load outweighs what is cached: {} of {} decisions passed up cached blocks, {:.0} % of all prompts.",
                regret.passed_up,
                regret.decisions,
                share * 100.0
            ),
            vec![Proof::new("cached blocks passed up", value, "costs in routers' logs").at(evidence.at)],
        )
        .means("Prefixes are computed again on other workers.", "Workers that were full at the time.")
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
}
