//! KVT004: kvtop sees no KV events from anyone.

use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity};

pub(super) struct EventPlane;

impl Rule for EventPlane {
    fn id(&self) -> &'static str {
        "KVT004"
    }

    fn name(&self) -> &'static str {
        "event-plane-not-visible"
    }

    fn about(&self) -> &'static str {
        "kvtop sees no KV events at all, although requests are served or workers are \
         registered. Either no worker publishes, or kvtop listens in the wrong place: from \
         Dynamo 1.3 on events go by ZMQ unless DYN_EVENT_PLANE=nats is set, a NATS account may \
         lack the right to subscribe, or the Dynamo namespace is another one. This is no \
         statement about the deployment, so that kvtop check ends with 3 (unknown). Judged by \
         at least 10 requests routed, or a source that is down, without any event. Refuted by \
         the first event."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT003", "KVT009", "KVT017"]
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let tally = &evidence.router.tally;
        let plane = &evidence.plane;
        if tally.events > 0 {
            let name = plane.name.as_deref().unwrap_or("the event plane");
            return Verdict::clear(format!("{} KV events came by {name}", tally.events));
        }
        let served = tally.routed >= evidence.thresholds.min_silent_routed;
        if !served && plane.down.is_empty() {
            return Verdict::unknown("KV events: none came yet, and few requests did");
        }
        if evidence.ranks.iter().any(|rank| rank.last_event.is_some()) && plane.down.is_empty() {
            return Verdict::unknown("KV events: none came in this window");
        }
        if evidence.mute().is_some() {
            return Verdict::unknown("KV events: workers are set to publish none (KVT003)");
        }
        let mut proofs =
            vec![Proof::new("KV events", "0", "every event plane that kvtop listens to")];
        proofs.push(Proof::new("requests routed", tally.routed.to_string(), "routers' logs"));
        proofs.extend(plane.down.iter().map(|why| Proof::new("source", "down", why.clone())));
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            match plane.down.first() {
                Some(why) => format!("kvtop receives no KV events: {why}."),
                None => {
                    format!("kvtop sees no KV events, while {} requests were routed.", tally.routed)
                }
            },
            proofs,
        )
        .means(
            "Nothing can be said of what workers cache; routing may be well.",
            "One KV event from any worker.",
        )
        .rather_than("KVT003: with no event from anybody, a silent worker cannot be told apart.")
        .mended_by(
            "Look where events go: DYN_EVENT_PLANE (ZMQ from Dynamo 1.3 on), the NATS address and \
             account, --dynamo-namespace; and whether workers publish at all.",
            "nothing",
        )
        .into()
    }
}
