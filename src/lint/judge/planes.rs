//! Event planes: KVT019.

use super::Scene;
use crate::diagnose;
use crate::domain::{ClaimOf, ClaimValue, ClaimWhat, Severity};
use crate::dynamo::{flag, variable};
use crate::lint::manifest::Part;
use crate::lint::plan::{Plan, publishes};
use crate::lint::{Edit, Flaw, Verdicts};

/// From dynamo-runtime 0.9.0 to 1.6.1 (`transports/event_plane/mod.rs`) and dynamo-llm 0.9.0 (`kv_router.rs`).
const VERSIONS: &str = "On Kubernetes the default is NATS up to 1.2 and ZMQ from 1.3 on. Version 0.9 sends KV events \
                        through JetStream instead.";

const WHAT: ClaimWhat = ClaimWhat::EventPlane;

/// The first release without KV events through `JetStream` (dynamo-llm 1.4.0 has no code for them).
const NO_JETSTREAM: (u32, u32) = (1, 4);

/// How events of a part travel, and whether it sends or takes them.
struct Plane<'p, 'a> {
    part: &'p Part<'a>,
    of: ClaimOf,
    word: &'p str,
}

impl Scene<'_, '_> {
    /// KVT019: routers that listen for KV events on another event plane than the one to which workers publish them.
    pub(super) fn planes(&self, plan: &Plan, found: &mut Verdicts) {
        let takes = |part: &&Part<'_>| {
            (plan.needs_mode(part) || Plan::routes(part))
                && self.follows(part)
                && self.by_plane(part)
        };
        let sends = |part: &&Part<'_>| {
            self.computes_prompts(part) && publishes(part) != Some(false) && self.by_plane(part)
        };
        let routers = self.routers().filter(takes);
        let routers: Vec<_> = routers.filter_map(|part| plane(part, ClaimOf::Router)).collect();
        let workers = self.workers().map(|(_, part)| part).filter(sends);
        let workers: Vec<_> = workers.filter_map(|part| plane(part, ClaimOf::Publisher)).collect();
        let (Some(router), Some(worker)) = (routers.first(), workers.first()) else { return };
        // Where the workers agree, the routers follow them, as on a live deployment; otherwise workers follow.
        let agreed = workers.iter().all(|it| it.word == worker.word);
        let (wanted, odd): (&str, Vec<&Plane<'_, '_>>) = if agreed {
            (worker.word, routers.iter().filter(|it| it.word != worker.word).collect())
        } else {
            (
                router.word,
                workers.iter().chain(&routers).filter(|it| it.word != router.word).collect(),
            )
        };
        if odd.is_empty() {
            return;
        }
        let publisher = workers.iter().find(|it| it.word != router.word).unwrap_or(worker);
        let listener = routers.iter().find(|it| it.word != publisher.word).unwrap_or(router);
        let mut flaw = Flaw {
            name: diagnose::rule("KVT019").map_or("", |rule| rule.name()),
            severity: Severity::Critical,
            summary: format!(
                "{} listens for KV events over {}, but {} publishes them over {}.",
                listener.part.name,
                listener.word.to_uppercase(),
                publisher.part.name,
                publisher.word.to_uppercase()
            ),
            effect: "The router receives none of these events. It never finds these workers' blocks, and it logs no \
                     warning."
                .to_owned(),
            fix: format!(
                "Set {}={wanted} on {}.",
                variable::EVENT_PLANE,
                odd.iter().map(|it| it.part.name.as_ref()).collect::<Vec<_>>().join(" and ")
            ),
            versions: VERSIONS.to_owned(),
            ..self.blank("KVT019")
        };
        for it in &odd {
            self.spot(&mut flaw, it.part, WHAT, it.of);
            flaw.edits.extend(self.to_plane(it, wanted));
        }
        found.flaws.push(flaw);
    }

    /// Returns true for a release that sends KV events over the event plane. Version 0.9 sends them through `JetStream`
    /// unless every worker has a local indexer (dynamo-llm 0.9.0, `kv_router.rs` and `kv_router/publisher.rs`).
    fn by_plane(&self, part: &Part<'_>) -> bool {
        self.version_of(part).is_some_and(|version| version >= (1, 0))
    }

    /// Returns false for a router that takes no KV events from the event plane. Up to 1.3 a router with durable events
    /// reads them from `JetStream` (dynamo-llm 1.0.0, `kv_router/subscriber.rs`).
    fn follows(&self, part: &Part<'_>) -> bool {
        let is = |what, value| {
            let claim = part.claims.get(&(what, ClaimOf::Router));
            claim.is_some_and(|claim| claim.value == ClaimValue::Flag(value))
        };
        let durable = self.version_of(part).is_some_and(|version| version < NO_JETSTREAM)
            && is(ClaimWhat::DurableEvents, true);
        !durable && !is(ClaimWhat::KvEvents, false)
    }

    /// Changes the event plane where it was set, or sets it.
    fn to_plane(&self, it: &Plane<'_, '_>, wanted: &str) -> Option<Edit> {
        let claim = it.part.claims.get(&(WHAT, it.of))?;
        let set = claim.set_by.is_some().then(|| self.change(it.part, claim, wanted));
        set.unwrap_or_else(|| self.set(it.part, flag::EVENT_PLANE, variable::EVENT_PLANE, wanted))
    }
}

/// Words for an event plane.
pub(in crate::lint) const PLANES: [&str; 2] = ["nats", "zmq"];

/// Returns the plane of a part; none where it is set to a word that Dynamo does not know.
fn plane<'p, 'a>(part: &'p Part<'a>, of: ClaimOf) -> Option<Plane<'p, 'a>> {
    let ClaimValue::Text(word) = &part.claims.get(&(WHAT, of))?.value else { return None };
    let known = PLANES.contains(&word.as_ref());
    known.then_some(Plane { part, of, word })
}
