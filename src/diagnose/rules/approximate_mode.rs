//! KVT006: the router predicts cache contents instead of following KV events.

use std::sync::Arc;

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
                summary(&evidence.settings.predicting),
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

/// Names the routers that predict, where others follow KV events.
fn summary(pods: &[Arc<str>]) -> Phrase {
    const PREDICTS: &str = "what workers have cached";
    match pods {
        [] => phrase!("The router only predicts {}: it does not follow KV events.", PREDICTS),
        [pod] => phrase!(
            "{} only predicts {}: it does not follow KV events, unlike other routers.",
            pod,
            PREDICTS
        ),
        pods => phrase!(
            "{} only predict {}: they do not follow KV events, unlike other routers.",
            pods.join(", "),
            PREDICTS
        ),
    }
}

/// Returns the changes that make the router follow events, and silent workers publish them: without published
/// events the router would know no cached blocks.
fn follow_events(evidence: &Evidence) -> Vec<Change> {
    let events = evidence.settings.kv_events.as_ref();
    let name = evidence.knob(settings::KV_EVENTS);
    // Where others follow events, only those that do not are changed.
    let pods = evidence.settings.predicting.iter();
    let on = evidence.components(pods.map(Some)).unwrap_or(Part::Frontend);
    let set = name.map(|name| Change::Set {
        on: on.clone(),
        variable: Some(name.to_owned()),
        flags: &[],
        value: "true".to_owned(),
    });
    let follow: Vec<Change> = if let Some(given) = events.and_then(Setting::flag) {
        // A form of the flag that no release takes is for people to correct.
        if !OFF.contains(&given) {
            return Vec::new();
        }
        let switch = Change::Switch { on, flags: OFF, present: false };
        // Without the flag a variable of the same meaning decides.
        let set = set.filter(|_| name.is_some_and(|name| evidence.objects.declares(name)));
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
