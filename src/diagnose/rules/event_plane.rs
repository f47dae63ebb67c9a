//! KVT004: kvtop receives no KV events, or not those of all publishers.

use std::sync::Arc;
use std::time::Duration;

use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{
    AdvertisedPlane, DownSource, Evidence, Finding, Proof, RankEvidence, Rule, Unheard, Verdict,
};
use crate::domain::{Grade, Peers, Plane, Severity, SourceName, Stake, Timestamp, Trouble};
use crate::dynamo::plane::EVENTS_BY_ZMQ;
use crate::dynamo::{release, variable};
use crate::model::RouterTally;

/// The time after which the events of a request have arrived.
const UNDER_WAY: Duration = Duration::from_secs(2);

pub(super) struct EventPlane;

impl Rule for EventPlane {
    fn id(&self) -> &'static str {
        "KVT004"
    }

    fn name(&self) -> &'static str {
        "event-plane-not-visible"
    }

    fn about(&self) -> &'static str {
        "kvtop receives no KV events although requests are served or workers are registered, or it cannot reach \
         every publisher in discovery. Either no worker publishes, or kvtop listens in the wrong place. From \
         Dynamo 1.3 on events use ZMQ unless {variable::EVENT_PLANE}=nats is set, and each publisher has its own \
         address, which must be reachable or port-forwarded. A NATS account may lack the permission to \
         subscribe, or the Dynamo namespace may be another one. This finding is about kvtop, not about the \
         deployment, so kvtop check exits with 3 (unknown).\nDetected without any event after 10 s and at least \
         10 routed requests, or with a source that is down, or with an advertised event plane that kvtop does \
         not listen to. Also detected if a publisher, or every event source, is unreachable for 10 s.\nDisproved \
         by the first event, and by a connection to every publisher.\nRun kvtop doctor, then correct the address or \
         grant the right that it names."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT003", "KVT009"]
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn stake(&self) -> Stake {
        Stake::Sight
    }

    /// One event shows that events arrive.
    fn is_refuted_at_once(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let tally = &evidence.router.tally;
        let plane = &evidence.plane;
        let limits = &evidence.thresholds;
        let away =
            |it: &&Unheard| evidence.at.since(it.since).as_secs() >= limits.unreached_seconds;
        let unheard = plane.unheard.iter().find(away);
        if let Some(why) = plane.deaf.as_ref().filter(|_| tally.events > 0) {
            return if silent_for(evidence) >= limits.unreached_seconds {
                none(evidence, None, unheard).into()
            } else {
                Verdict::unknown(phrase!("needs current KV events; {}", why))
            };
        }
        if tally.events > 0 {
            if let Some(unheard) = unheard {
                return some(evidence, unheard).into();
            }
            let name = plane.name.map_or("the event plane", Plane::name);
            return Verdict::clear(phrase!(
                "{} KV events received over {}",
                Count(tally.events),
                name
            ));
        }
        if plane.logs_only {
            return Verdict::unknown("needs KV events (the input is logs only)");
        }
        let elsewhere = elsewhere(evidence);
        let served = is_settled(evidence) && served(evidence) >= limits.min_silent_routed;
        let down = !silencing(evidence).is_empty();
        if !served && !down && elsewhere.is_none() && unheard.is_none() {
            let missing =
                Phrase::from("needs more requests (no KV events and few requests so far)");
            return Verdict::unknown(if may_be_elsewhere(evidence) {
                phrase!("{}; {}", missing, EVENTS_BY_ZMQ)
            } else {
                missing
            });
        }
        if evidence.ranks.iter().any(|rank| rank.last_event.is_some()) && !down {
            return Verdict::unknown("needs KV events (none in this window)");
        }
        if evidence.mute().is_some() {
            return Verdict::unknown(
                "no KV events expected: publishing is off on the workers (KVT003)",
            );
        }
        if let Some(why) = evidence.expected_silence() {
            return Verdict::unknown(phrase!("no KV events expected: {}", why.name()));
        }
        none(evidence, elsewhere, unheard).into()
    }
}

/// Returns the sources whose outage may explain missing KV events. An outage of discovery does not explain them while kvtop
/// is connected to NATS and events come over it.
fn silencing(evidence: &Evidence) -> Vec<&DownSource> {
    let plane = &evidence.plane;
    let over_nats = plane.name.is_some_and(|name| name.source() == SourceName::Nats);
    let connected = over_nats && plane.deaf.is_none() && evidence.listens.is_some();
    plane.down.iter().filter(|down| down.source.brings_events() || !connected).collect()
}

/// Returns the seconds since the last KV event.
fn silent_for(evidence: &Evidence) -> u64 {
    let last = evidence.ranks.iter().filter_map(|rank| rank.last_event).max();
    last.map_or(0, |last| evidence.at.since(last).as_secs())
}

/// Returns how many requests were served, as far as any source reports. Requests from before kvtop listened
/// count only if kvtop could not listen at all.
fn served(evidence: &Evidence) -> u64 {
    let router = &evidence.router;
    let most = |tally: &RouterTally| tally.storing().max(tally.answered);
    let told = if evidence.listens.is_none() { most(&router.told) } else { 0 };
    most(&router.tally).max(told)
}

/// Returns true once kvtop has listened long enough to expect something.
fn is_settled(evidence: &Evidence) -> bool {
    let since = evidence.listens.unwrap_or_default().max(evidence.attached);
    evidence.at.since(since).as_secs() >= evidence.thresholds.unreached_seconds
}

/// Returns true when kvtop listened only to NATS for a while, and nothing shows that events use NATS.
fn may_be_elsewhere(evidence: &Evidence) -> bool {
    let plane = &evidence.plane;
    let by_nats = evidence.releases.most.is_some_and(|most| most < release::EVENTS_BY_ZMQ);
    let only_nats =
        plane.open.iter().all(|open| *open == SourceName::Nats) && !plane.open.is_empty();
    is_settled(evidence) && only_nats && plane.advertised.is_empty() && !by_nats
}

/// Returns an event plane that discovery names and kvtop does not listen to.
fn elsewhere(evidence: &Evidence) -> Option<&AdvertisedPlane> {
    let plane = &evidence.plane;
    // Sources are opened right after records are read.
    let settled = is_settled(evidence);
    let open = |advertised: Plane| plane.open.contains(&advertised.source());
    plane.advertised.iter().find(|it| settled && !open(it.plane))
}

/// Returns true when every request went to a worker whose events arrive: the publishers that kvtop does not reach
/// belong to workers that serve nothing, such as one that crashed and left its record behind. One that was heard before
/// `since` and is asked still is no such worker.
fn unheard_are_idle(evidence: &Evidence, since: Timestamp) -> bool {
    let told = evidence.router.told.routed >= evidence.thresholds.min_silent_routed;
    // Routers' logs name the worker of every request, those before kvtop listened too.
    let mut asked = evidence.present().filter(|rank| rank.last_routed.is_some()).peekable();
    // A request shows in events a little later.
    let lately = since.after(UNDER_WAY);
    let heard = |rank: &RankEvidence| {
        let asked_since = rank.last_routed.is_some_and(|last| last > lately);
        rank.last_event.is_some_and(|last| last >= since || !asked_since)
    };
    told && asked.peek().is_some() && asked.all(heard)
}

/// Returns the finding if kvtop cannot reach some publishers.
fn some(evidence: &Evidence, unheard: &Unheard) -> Finding {
    let (reached, wanted) = (unheard.peers.reached, unheard.peers.wanted);
    let idle = unheard_are_idle(evidence, unheard.since);
    let meanwhile = if idle { " Every request went to workers whose events arrive." } else { "" };
    Finding::new(
        if idle { Severity::Info } else { Severity::Warning },
        Grade::Confirmed,
        phrase!(
            "kvtop is connected to {} of {} publishers of KV events: {}.{}",
            reached,
            wanted,
            causes(&unheard.source),
            meanwhile
        ),
        vec![
            Proof::new(
                measure::PUBLISHERS_CONNECTED,
                phrase!("{} of {}", reached, wanted),
                unheard.source.why.to_string(),
            )
            .at(evidence.at),
        ],
    )
    .means(
        "Requests are unaffected. kvtop cannot judge the workers that it cannot hear.",
        "A connection to every publisher.",
    )
    .rather_than("KVT003: a worker that kvtop does not reach cannot be called silent.")
    .mended_by(reach(evidence, &unheard.source), "none")
}

/// Returns the finding if no event arrived at all.
fn none(
    evidence: &Evidence,
    elsewhere: Option<&AdvertisedPlane>,
    unheard: Option<&Unheard>,
) -> Finding {
    let plane = &evidence.plane;
    let routed = evidence.router.tally.routed;
    let came = evidence.router.tally.events > 0;
    let events =
        if came { phrase!("none for {} s", silent_for(evidence)) } else { Phrase::from("0") };
    let mut proofs = vec![Proof::new(measure::KV_EVENTS, events, Origin::EventPlanes)];
    let requests =
        Proof::new(measure::REQUESTS_ROUTED, phrase!("{}", Count(routed)), Origin::RouterLogs);
    let requests = requests.heard(evidence.router.heard.routed);
    proofs.extend(evidence.router.read.then_some(requests));
    proofs.extend(silencing(evidence).into_iter().map(|down| {
        // A source that connects to each publisher names the records in its own words.
        let named = match (down.unreached.first(), down.peers) {
            (Some(first), None) => phrase!("{} ({})", down, first.from),
            _ => Phrase::quoted(down),
        };
        Proof::new(measure::SOURCE, "down", named)
    }));
    proofs.extend(plane.advertised.iter().map(|it| {
        let value =
            phrase!("{} publishers at {}, first {}", it.publishers, it.plane.name(), it.first);
        Proof::new(measure::PLANE_ADVERTISED, value, it.record.to_string())
    }));
    let open: Vec<&str> = plane.open.iter().map(SourceName::as_str).collect();
    let listens = if open.is_empty() { Phrase::from("nothing") } else { open.join(", ").into() };
    proofs.push(Proof::new(measure::LISTENS_TO, listens, Origin::Kvtop));
    let (summary, fix) = summary_and_fix(evidence, elsewhere, unheard);
    Finding::new(Severity::Warning, Grade::Likely, summary, proofs)
        .means("Cache contents are unknown; routing may be fine.", "One KV event from any worker.")
        .rather_than("KVT003: with no event from any worker, a silent worker cannot be identified.")
        .mended_by(fix, "none")
}

/// Returns the summary and the fix.
#[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
fn summary_and_fix(
    evidence: &Evidence,
    elsewhere: Option<&AdvertisedPlane>,
    unheard: Option<&Unheard>,
) -> (Phrase, Phrase) {
    let plane = &evidence.plane;
    // The one that discovery names matters more than another that is down as well.
    let named =
        |down: &&DownSource| plane.advertised.iter().any(|it| it.plane.source() == down.source);
    let away = silencing(evidence);
    let first = away.first().copied();
    if let Some(down) = away.into_iter().find(named).or(first) {
        let why = match (down.unreached.as_slice(), down.peers) {
            ([_, ..], Some(Peers { reached, wanted })) => {
                phrase!("{} of {} publishers connected; {}", reached, wanted, causes(down))
            }
            ([_, ..], None) => Phrase::quoted(&down.why),
            _ => down.to_string().into(),
        };
        return (phrase!("kvtop receives no KV events: {}.", why), reach(evidence, down));
    }
    if let Some(it) = unheard {
        let Peers { reached, wanted } = it.peers;
        let summary = phrase!(
            "kvtop receives no KV events: it is connected to {} of {} publishers; {}.",
            reached,
            wanted,
            causes(&it.source)
        );
        return (summary, reach(evidence, &it.source));
    }
    if let Some(it) = elsewhere {
        let summary = phrase!(
            "{} publishers advertise KV events over {}, but kvtop does not listen there (first: {}).",
            it.publishers,
            it.plane.name(),
            it.first
        );
        let fix = match it.plane {
            Plane::NatsCore | Plane::JetStream => {
                "Pass the NATS server with --nats-url, and credentials if it needs them."
            }
            Plane::Zmq | Plane::ZmqBrokers => {
                "Omit --zmq, so that kvtop uses the addresses in discovery records."
            }
        };
        return (summary, fix.into());
    }
    let routed = Count(served(evidence));
    if plane.reached > 0 {
        let summary = phrase!(
            "kvtop is connected to all {} publishers of KV events, but none published an event while {} \
             requests were served.",
            plane.reached,
            routed
        );
        return (summary, UNPUBLISHED.into());
    }
    let over_zmq = evidence.releases.least.is_some_and(|least| least >= release::EVENTS_BY_ZMQ);
    let only_nats = plane.open.iter().all(|open| *open == SourceName::Nats);
    if plane.advertised.is_empty() && over_zmq && only_nats {
        return (
            phrase!(
                "kvtop sees no KV events although {} requests were routed: from Dynamo 1.3 on workers \
                 publish over ZMQ, and no discovery record names a publisher.",
                routed
            ),
            phrase!(
                "Let kvtop read discovery records: permission to list DynamoWorkerMetadata (`kvtop rbac -n {}` \
                 prints the role), --etcd-url or --discovery-dir; or pass publishers with --zmq. Alternative: \
                 {}=nats on frontend and workers moves events to NATS.",
                home(evidence),
                variable::EVENT_PLANE
            ),
        );
    }
    (phrase!("kvtop sees no KV events although {} requests were routed.", routed), WHERE_TO.into())
}

/// The fix if nothing tells where events are.
const WHERE_TO: &str = "Check where events are sent: {variable::EVENT_PLANE} (ZMQ from Dynamo 1.3 on), the NATS \
                        address and account, --dynamo-namespace. Also check that workers publish at all.";

/// The fix if kvtop is connected to every publisher, but engines send no event.
const UNPUBLISHED: &str = "On vLLM workers, check the endpoint in {flag::KV_EVENTS_CONFIG}: the engine binds tcp://*:PORT, \
                           but connects to an address without *, and then no event ever leaves it. Also check that \
                           prefix caching is on.";

/// Returns addresses and reasons of the publishers that a source does not reach, or else its own words. The records
/// that name the addresses are left to the evidence: a line on screen holds just an address and a reason.
fn causes(down: &DownSource) -> Phrase {
    if down.unreached.is_empty() {
        return Arc::clone(&down.why).into();
    }
    let each = down.unreached.iter().map(|it| phrase!("{}: {}", it.address, it.why));
    Phrase::joined("; ", each)
}

/// Returns the fix for a source that reports an unreachable server or publisher.
fn reach(evidence: &Evidence, down: &DownSource) -> Phrase {
    let source = &down.source;
    let remedy = down.troubles.iter().find_map(|trouble| remedy(evidence, source, trouble));
    remedy.unwrap_or_else(|| {
        let fix = match source {
            SourceName::Kubernetes => CLUSTER,
            SourceName::Nats => SERVER,
            SourceName::Zmq => PUBLISHERS,
            _ => WHERE_TO,
        };
        fix.into()
    })
}

/// Returns the namespace of the deployment; a placeholder where it is not known.
fn home(evidence: &Evidence) -> &str {
    evidence.objects.namespace.as_deref().unwrap_or("NAMESPACE")
}

/// Returns the fix for one kind of trouble with a source; none for a kind that needs none.
fn remedy(evidence: &Evidence, source: &SourceName, trouble: &Trouble) -> Option<Phrase> {
    let fix = match trouble {
        Trouble::MayNotForward { namespace } | Trouble::MayNotFindPods { namespace }
            if *source == SourceName::Nats =>
        {
            let place = namespace.as_deref().unwrap_or("NAMESPACE");
            return Some(phrase!(
                "Grant the role that `kvtop rbac -n {} --port-forward --nats-namespace {}` prints, or run kvtop \
                 inside the cluster, or pass another address of the server with --nats-url.",
                home(evidence),
                place
            ));
        }
        Trouble::MayNotForward { .. } | Trouble::MayNotFindPods { .. } => {
            return Some(phrase!(
                "Grant `get` and `create` on pods/portforward (`kvtop rbac -n {} --port-forward` prints the \
                 role), or run kvtop where pod addresses are reachable, such as inside the cluster.",
                home(evidence)
            ));
        }
        Trouble::MayNotRead => {
            "Pass an etcd user with permission to read `v1/`: --etcd-user and --etcd-password-file."
        }
        Trouble::MayNotSubscribe => {
            "Allow kvtop's NATS account to subscribe to these subjects and to `_INBOX.>`, or pass another account \
             (--nats-user, --nats-creds)."
        }
        Trouble::NoAddress => {
            "Correct the discovery records: a publisher advertises tcp://host:port (from 1.6 on with the host in \
             {variable::EVENT_PLANE_HOST})."
        }
        Trouble::LoggedOut => {
            "Log in again, as `kubectl get pods` requests; kvtop then continues by itself."
        }
        Trouble::NoPermission { namespace } => {
            let namespace = namespace.as_deref().unwrap_or_else(|| home(evidence));
            return Some(phrase!(
                "Grant the role that `kvtop rbac -n {}` prints, or pass an event server with --nats-url or --zmq.",
                namespace
            ));
        }
        Trouble::PodsHidden => {
            return Some(phrase!(
                "Grant the role that `kvtop rbac -n {}` prints, or pass an event server with --nats-url or --zmq.",
                home(evidence)
            ));
        }
        Trouble::Certificate => {
            "Set certificate-authority in the kubeconfig to the CA of the API server."
        }
        Trouble::NotInstalled
        | Trouble::PartlyUnanswered
        | Trouble::NoDeployment
        | Trouble::Unspecified => return None,
    };
    Some(fix.into())
}

/// The fix if an event server cannot be reached.
const SERVER: &str = "Check that this is the right server and that it is reachable from here, or pass another with --nats-url.";

/// The fix if publishers cannot be reached.
const PUBLISHERS: &str = "Run kvtop where these addresses are reachable, such as inside the cluster, or let it open \
                          port-forwards. The record of a worker that has left disappears by itself.";

/// The fix if the Kubernetes API server cannot be reached.
const CLUSTER: &str = "Make `kubectl get pods` work from here (kubeconfig address, VPN, proxy); kvtop then continues by \
                       itself. Or pass an event server with --nats-url or --zmq.";
