//! KVT006: the router guesses what is cached.

use crate::diagnose::evidence::Setting;
use crate::diagnose::fix::{Change, Part};
use crate::diagnose::knobs;
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity};

/// Flags that switch the following of events off (0.9; from 1.0).
const OFF: &[&str] = &["--no-kv-events", "--no-router-kv-events"];

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
            Some(events) if !events.value => {
                let silent = evidence.settings.publishes.iter().any(|of| !of.set.value);
                let publish = if silent {
                    format!(" and let the workers publish ({})", evidence.publish_flags())
                } else {
                    " and let the workers publish".to_owned()
                };
                Finding::new(
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
                    "{} on the router ({} says no now){publish}, or give {} the time that blocks really stay.",
                    match events.flag() {
                        Some(flag) => format!("Remove {flag}"),
                        None => format!("Set {}", evidence.knob_text(knobs::KV_EVENTS, "=true")),
                    },
                    events.source,
                    evidence.knob_text(knobs::TTL, ""),
                ),
                evidence.frontend_restarts(),
            )
            .through(follow_events(evidence))
            .into()
            }
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

/// Lets the router follow events, and the workers publish that do not: a router that follows events which
/// nobody publishes knows of no cached block.
fn follow_events(evidence: &Evidence) -> Vec<Change> {
    let events = evidence.settings.kv_events.as_ref();
    let set = evidence.set_on_frontend(knobs::KV_EVENTS, &[], "true");
    let follow: Vec<Change> = if events.and_then(Setting::flag).is_some() {
        let switch = Change::Switch { on: Part::Frontend, flags: OFF, present: false };
        // Without the flag a variable of the same meaning decides.
        let name = evidence.knob(knobs::KV_EVENTS).unwrap_or_default();
        let set = set.filter(|_| evidence.objects.declares(name));
        [switch].into_iter().chain(set).collect()
    } else {
        set.into_iter().collect()
    };
    let silent = evidence.settings.publishes.iter().any(|of| !of.set.value);
    let publish = if silent { evidence.publish(Part::Workers) } else { None };
    match (silent, publish) {
        (false, _) => follow,
        // Workers first, so that there is something to follow.
        (true, Some(publish)) if !follow.is_empty() => {
            [publish].into_iter().chain(follow).collect()
        }
        (true, _) => Vec::new(),
    }
}
