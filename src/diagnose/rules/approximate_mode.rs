//! KVT006: the router guesses what is cached.

use crate::diagnose::knobs;
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity};

pub(super) struct ApproximateMode;

impl Rule for ApproximateMode {
    fn id(&self) -> &'static str {
        "KVT006"
    }

    fn name(&self) -> &'static str {
        "approximate-mode"
    }

    fn about(&self) -> &'static str {
        "With DYN_ROUTER_USE_KV_EVENTS=false (0.9: DYN_KV_EVENTS=false, --no-kv-events) the \
         router ignores KV events and guesses from its own decisions what workers have cached; \
         it never hears of evictions, forgets all at a restart, and replicas do not agree. \
         Judged by the setting alone, since guesses look like knowledge; a router that warns of \
         missing parents does follow events. Switch events on, or choose DYN_ROUTER_TTL_SECS \
         (0.9: DYN_ROUTER_TTL) near the time that blocks really stay."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let tally = &evidence.router.tally;
        match &evidence.settings.kv_events {
            Some(events) if !events.value => Finding::new(
                Severity::Warning,
                Grade::ConfigOnly,
                "The router guesses what workers have cached: it does not follow KV events.",
                vec![Proof::new("follows KV events", "no", events.source.to_string()).at(events.at)],
            )
            .means(
                "Overlap is overstated once blocks are evicted, and understated after a restart.",
                "A router that warns about KV events.",
            )
            .mended_by(
                format!(
                    "{} on the router ({} says no now) and let the workers publish, or give {} the time \
                     that blocks really stay.",
                    match events.flag() {
                        Some(flag) => format!("Remove {flag}"),
                        None => format!("Set {}", evidence.knob_text(knobs::KV_EVENTS, "=true")),
                    },
                    events.source,
                    evidence.knob_text(knobs::TTL, ""),
                ),
                evidence.frontend_restarts(),
            )
            .through(evidence.set_on_frontend(knobs::KV_EVENTS, &[], "true").filter(|_| events.flag().is_none()))
            .into(),
            Some(_) => Verdict::clear("the router is set to follow KV events"),
            None if tally.parent_full + tally.parent_empty + tally.remove > 0 => {
                Verdict::clear("the router warns about KV events, so it follows them")
            }
            None => Verdict::unknown(
                "the frontend's settings (DYN_ROUTER_USE_KV_EVENTS): its pod or manifest was not seen",
            ),
        }
    }
}
