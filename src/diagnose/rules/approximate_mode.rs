//! KVT006: the router predicts cache contents instead of following KV events.

use super::unseen;
use crate::diagnose::evidence::Setting;
use crate::diagnose::fix::{Change, Part};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Phrase, phrase};
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{ClaimOf, ClaimWhat, Grade, Severity};
use crate::dynamo::{flag, settings, variable};

/// Flags that switch the following of events off (0.9; from 1.0).
const OFF: &[&str] = &[flag::NO_KV_EVENTS, flag::NO_ROUTER_KV_EVENTS];

pub(super) struct ApproximateMode;

impl Rule for ApproximateMode {
    fn id(&self) -> &'static str {
        "KVT006"
    }

    fn name(&self) -> &'static str {
        "approximate-mode"
    }

    fn about(&self) -> &'static str {
        "With {variable::ROUTER_USE_KV_EVENTS}=false (0.9: {variable::KV_EVENTS}=false, {flag::NO_KV_EVENTS}) the router ignores KV \
         events and predicts from its own decisions what workers have cached. Such a router does not notice \
         evictions, forgets everything at a restart, and replicas disagree.\nDetected by the setting alone, \
         because predictions look like real data. A router that logs missing parents does follow events.\nEnable \
         KV events, or set {variable::ROUTER_TTL_SECS} (0.9: {variable::ROUTER_TTL}) close to the time that blocks really stay \
         cached."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn versions(&self) -> &'static str {
        "0.9: {variable::KV_EVENTS}, {flag::NO_KV_EVENTS}. From 1.0: {variable::ROUTER_USE_KV_EVENTS}, \
         {flag::NO_ROUTER_KV_EVENTS}."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let tally = &evidence.router.tally;
        match &evidence.settings.kv_events {
            Some(events) if !events.value => {
                let silent = evidence.settings.publishes.iter().any(|of| !of.set.value);
                let publish = if silent {
                    phrase!(" and start the workers with {}", evidence.publish_flags())
                } else {
                    Phrase::from(" and make sure that the workers publish")
                };
                Finding::new(
                Severity::Warning,
                Grade::ConfigOnly,
                "The router only predicts what workers have cached: it does not follow KV events.",
                vec![Proof::new(measure::FOLLOWS_EVENTS, "no", events.origin()).at(events.at)],
            )
            .means(
                "Overlap is overstated once blocks are evicted, and understated after a restart.",
                "A router that logs warnings about KV events.",
            )
            .mended_by(
                phrase!("{} on the router (now off: {}){}. Alternative: set {} to the time that blocks \
                     really stay cached.", match events.flag() {
                        Some(flag) => phrase!("Remove {}", flag),
                        None => phrase!("Set {}", evidence.knob_text(settings::KV_EVENTS, "=true")),
                    }, events.source, publish, evidence.knob_text(settings::TTL, "")),
                evidence.frontend_restarts(),
            )
            .through(follow_events(evidence))
            .into()
            }
            Some(_) => Verdict::clear("the router is configured to follow KV events"),
            None if tally.parent_full + tally.parent_empty + tally.remove > 0 => {
                Verdict::clear("the router logs warnings about KV events, so it follows them")
            }
            None => Verdict::unknown(unseen(
                &evidence.settings,
                variable::ROUTER_USE_KV_EVENTS,
                (ClaimWhat::KvEvents, ClaimOf::Router),
            )),
        }
    }
}

/// Returns the changes that make the router follow events, and silent workers publish them: without published
/// events the router would know no cached blocks.
fn follow_events(evidence: &Evidence) -> Vec<Change> {
    let events = evidence.settings.kv_events.as_ref();
    let set = evidence.set_on_frontend(settings::KV_EVENTS, &[], "true");
    let follow: Vec<Change> = if events.and_then(Setting::flag).is_some() {
        let switch = Change::Switch { on: Part::Frontend, flags: OFF, present: false };
        // Without the flag a variable of the same meaning decides.
        let name = evidence.knob(settings::KV_EVENTS).unwrap_or_default();
        let set = set.filter(|_| evidence.objects.declares(name));
        [switch].into_iter().chain(set).collect()
    } else {
        set.into_iter().collect()
    };
    let silent = evidence.settings.publishes.iter().any(|of| !of.set.value);
    let publish = if silent { evidence.publish(Part::Workers) } else { None };
    match (silent, publish) {
        (false, _) => follow,
        // Workers first, so that events exist before the router follows them.
        (true, Some(publish)) if !follow.is_empty() => {
            [publish].into_iter().chain(follow).collect()
        }
        (true, _) => Vec::new(),
    }
}
