//! KVT004: kvtop sees no KV events, or not those of everybody.

use crate::diagnose::{AdvertisedPlane, Evidence, Finding, Proof, Rule, Unheard, Verdict};
use crate::domain::{EVENTS_BY_ZMQ, Grade, Peers, Release, Severity, Stake, thousands};

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
         registered, or it does not reach every publisher that discovery names. Either no worker \
         publishes, or kvtop listens in the wrong place: from Dynamo 1.3 on events go by ZMQ \
         unless DYN_EVENT_PLANE=nats is set, each publisher at an address of its own that must be \
         reachable or forwarded to, a NATS account may lack the right to subscribe, or the \
         Dynamo namespace is another one. This is no statement about the deployment, so that \
         kvtop check ends with 3 (unknown). Judged by at least 10 requests routed and 10 s of listening, a \
         source that is down, or an advertised plane that nobody listens to, without any event; \
         or by a publisher, or every source of events, that is out of reach for 10 s. Refuted by the first event, and by a \
         connection to every publisher."
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
                Verdict::unknown(format!("KV events of now; {why}"))
            };
        }
        if tally.events > 0 {
            if let Some(unheard) = unheard {
                return some(evidence, unheard).into();
            }
            let name = plane.name.as_deref().unwrap_or("the event plane");
            return Verdict::clear(format!("{} KV events came by {name}", thousands(tally.events)));
        }
        if plane.logs_only {
            return Verdict::unknown("KV events: there are logs only");
        }
        let elsewhere = elsewhere(evidence);
        let served = is_settled(evidence) && served(evidence) >= limits.min_silent_routed;
        if !served && plane.down.is_empty() && elsewhere.is_none() && unheard.is_none() {
            let missing = "KV events: none came yet, and few requests did";
            return Verdict::unknown(if may_be_elsewhere(evidence) {
                format!("{missing}; {EVENTS_BY_ZMQ}")
            } else {
                missing.to_owned()
            });
        }
        if evidence.ranks.iter().any(|rank| rank.last_event.is_some()) && plane.down.is_empty() {
            return Verdict::unknown("KV events: none came in this window");
        }
        if evidence.mute().is_some() {
            return Verdict::unknown("KV events: workers are set to publish none (KVT003)");
        }
        if let Some(why) = evidence.expected_silence() {
            return Verdict::unknown(format!("KV events: {}", why.name()));
        }
        none(evidence, elsewhere, unheard).into()
    }
}

/// Returns for how many seconds no KV event came.
fn silent_for(evidence: &Evidence) -> u64 {
    let last = evidence.ranks.iter().filter_map(|rank| rank.last_event).max();
    last.map_or(0, |last| evidence.at.since(last).as_secs())
}

/// Returns how many requests were served, as far as anybody tells. Those from before kvtop listened prove nothing,
/// unless it could not listen at all.
fn served(evidence: &Evidence) -> u64 {
    let router = &evidence.router;
    let told = if evidence.listens.is_none() { router.told.routed } else { 0 };
    router.tally.routed.max(router.answered).max(told)
}

/// Returns true once kvtop has listened long enough to expect something.
fn is_settled(evidence: &Evidence) -> bool {
    let since = evidence.listens.unwrap_or_default().max(evidence.attached);
    evidence.at.since(since).as_secs() >= evidence.thresholds.unreached_seconds
}

/// Returns true when only NATS was listened to for a while, and nothing says that events go by it.
fn may_be_elsewhere(evidence: &Evidence) -> bool {
    let plane = &evidence.plane;
    let by_nats = evidence.releases.most.is_some_and(|most| most < Release::new(1, 3));
    let only_nats = plane.open.iter().all(|open| open.as_ref() == "nats") && !plane.open.is_empty();
    is_settled(evidence) && only_nats && plane.advertised.is_empty() && !by_nats
}

/// Returns a plane that discovery names and nobody here listens to.
fn elsewhere(evidence: &Evidence) -> Option<&AdvertisedPlane> {
    let plane = &evidence.plane;
    // Sources are opened right after records are read.
    let settled = is_settled(evidence);
    let open = |source: &str| plane.open.iter().any(|open| open.as_ref() == source);
    plane.advertised.iter().find(|it| settled && !open(it.source))
}

/// Some publishers are not heard.
fn some(evidence: &Evidence, unheard: &Unheard) -> Finding {
    let (reached, wanted) = (unheard.peers.reached, unheard.peers.wanted);
    Finding::new(
        Severity::Warning,
        Grade::Confirmed,
        format!(
            "kvtop hears {reached} of {wanted} publishers of KV events: {}.",
            uncounted(&unheard.why)
        ),
        vec![
            Proof::new(
                "publishers heard",
                format!("{reached} of {wanted}"),
                unheard.why.to_string(),
            )
            .at(evidence.at),
        ],
    )
    .means(
        "None for requests. Of the workers that are not heard nothing can be said.",
        "A connection to every publisher.",
    )
    .rather_than("KVT003: a worker that kvtop does not reach cannot be called silent.")
    .mended_by(reach(&unheard.why), "nothing")
}

/// No event came at all.
fn none(
    evidence: &Evidence,
    elsewhere: Option<&AdvertisedPlane>,
    unheard: Option<&Unheard>,
) -> Finding {
    let plane = &evidence.plane;
    let routed = evidence.router.tally.routed;
    let came = evidence.router.tally.events > 0;
    let events = if came { format!("none for {} s", silent_for(evidence)) } else { "0".to_owned() };
    let mut proofs =
        vec![Proof::new("KV events", events, "every event plane that kvtop listens to")];
    let requests = Proof::new("requests routed", thousands(routed), "routers' logs");
    let requests = requests.heard(evidence.router.heard.routed);
    proofs.extend(evidence.router.read.then_some(requests));
    proofs.extend(plane.down.iter().map(|why| Proof::new("source", "down", why.clone())));
    proofs.extend(plane.advertised.iter().map(|it| {
        let value = format!("{} publishers at {}, first {}", it.publishers, it.name, it.first);
        Proof::new("advertised", value, it.record.to_string())
    }));
    let open: Vec<&str> = plane.open.iter().map(AsRef::as_ref).collect();
    let listens = if open.is_empty() { "nothing".to_owned() } else { open.join(", ") };
    proofs.push(Proof::new("kvtop listens to", listens, "kvtop"));
    let (summary, fix) = said(evidence, elsewhere, unheard);
    Finding::new(Severity::Warning, Grade::Likely, summary, proofs)
        .means(
            "Nothing can be said of what workers cache; routing may be well.",
            "One KV event from any worker.",
        )
        .rather_than("KVT003: with no event from anybody, a silent worker cannot be told apart.")
        .mended_by(fix, "nothing")
}

/// Returns what is missing, and how to get it.
fn said(
    evidence: &Evidence,
    elsewhere: Option<&AdvertisedPlane>,
    unheard: Option<&Unheard>,
) -> (String, String) {
    let plane = &evidence.plane;
    // The one that discovery names matters more than another that is down as well.
    let named = |why: &&String| plane.advertised.iter().any(|it| why.starts_with(it.source));
    if let Some(why) = plane.down.iter().find(named).or_else(|| plane.down.first()) {
        return (format!("kvtop receives no KV events: {}.", reasons(why)), reach(why));
    }
    if let Some(it) = unheard {
        let Peers { reached, wanted } = it.peers;
        let summary = format!(
            "kvtop receives no KV events: it hears {reached} of {wanted} publishers of them; {}.",
            uncounted(&it.why)
        );
        return (summary, reach(&it.why));
    }
    if let Some(it) = elsewhere {
        let summary = format!(
            "{} publishers advertise KV events over {}, and kvtop does not listen there (first \
             {}).",
            it.publishers, it.name, it.first
        );
        let fix = match it.source {
            "nats" => "Name the server with --nats-url, and a login where it wants one.",
            _ => "Leave out --zmq, so that kvtop follows what discovery records name.",
        };
        return (summary, fix.to_owned());
    }
    let routed = thousands(served(evidence));
    if plane.reached > 0 {
        let summary = format!(
            "kvtop is connected to all {} publishers of KV events, but none published an event while {routed} \
             requests were served.",
            plane.reached
        );
        return (summary, UNPUBLISHED.to_owned());
    }
    let over_zmq = evidence.releases.least.is_some_and(|least| least >= Release::new(1, 3));
    let only_nats = plane.open.iter().all(|open| open.as_ref() == "nats");
    if plane.advertised.is_empty() && over_zmq && only_nats {
        return (
            format!(
                "kvtop sees no KV events, while {routed} requests were routed: from Dynamo 1.3 on \
                 workers publish over ZMQ, and no discovery record names a publisher."
            ),
            "Let kvtop read discovery records: the right to list DynamoWorkerMetadata (kvtop \
             rbac prints the role), --etcd-url or --discovery-dir; or name publishers with --zmq. \
             DYN_EVENT_PLANE=nats on frontend and workers moves events to NATS."
                .to_owned(),
        );
    }
    (
        format!("kvtop sees no KV events, while {routed} requests were routed."),
        "Look where events go: DYN_EVENT_PLANE (ZMQ from Dynamo 1.3 on), the NATS address and \
         account, --dynamo-namespace; and whether workers publish at all."
            .to_owned(),
    )
}

/// How to make engines publish whose publishers are connected.
const UNPUBLISHED: &str = "On vLLM workers, check the endpoint in --kv-events-config: the engine binds tcp://*:PORT, \
                           but connects to an address without *, and then no event ever leaves it. Also check that \
                           prefix caching is on.";

/// Returns what a source says of itself: how many publishers it reaches, and why not the others. Their
/// records are left to the evidence: a line of a screen has room for an address and a reason.
fn reasons(why: &str) -> String {
    let counted = why.split_once(": ").filter(|(source, rest)| {
        !source.contains(' ') && rest.starts_with(|first: char| first.is_ascii_digit())
    });
    let mut rest = counted.map_or(why, |(_, rest)| rest);
    let mut said = String::new();
    while let Some((before, after)) = rest.split_once(" (") {
        let Some((inside, after)) = after.split_once(')') else { break };
        said.push_str(before);
        if !inside.contains(", by ") {
            said = said + " (" + inside + ")";
        }
        rest = after;
    }
    said + rest
}

/// Returns that without how many, where the sentence has said so.
fn uncounted(why: &str) -> String {
    let why = why.split_once(" publishers connected; ").map_or(why, |(_, reasons)| reasons);
    reasons(why)
}

/// Rights without which a pod is not reached from outside, as sources name them.
const PORT_FORWARD: &str = "pods/portforward";
const ENDPOINTS: &str = "`list endpointslices`";

/// Returns the namespace that a source says it needs a right in.
fn namespace_of(why: &str) -> Option<&str> {
    why.split_once("in namespace `")?.1.split('`').next()
}

/// Returns how to reach what a source says that it does not.
fn reach(why: &str) -> String {
    if why.starts_with("nats:") && (why.contains(PORT_FORWARD) || why.contains(ENDPOINTS)) {
        let place = namespace_of(why).unwrap_or("NAMESPACE");
        return format!(
            "Grant what `kvtop rbac --port-forward --nats-namespace {place}` prints, or run kvtop \
             inside the cluster; --nats-url names another address of the server."
        );
    }
    let fix = if let Some(why) = why.strip_prefix("kubernetes: ") {
        cluster(why)
    } else if why.contains(PORT_FORWARD) {
        "Grant `get` and `create` on pods/portforward (kvtop rbac --port-forward prints the role), \
         or run kvtop where the addresses of pods can be reached, as inside the cluster."
    } else if why.contains("right to read") {
        "Give kvtop a user of etcd that may read `v1/`: --etcd-user and --etcd-password-file."
    } else if why.contains("needs to subscribe") {
        "Let the account that kvtop logs in with subscribe to these subjects and to `_INBOX.>`, or \
         give it another one (--nats-user, --nats-creds)."
    } else if why.starts_with("nats:") {
        "See that the address is the server's and that it can be reached from here; --nats-url \
         names another one."
    } else if why.contains("no address of a ZMQ socket") {
        "Mend the records, or what they are made of: a publisher advertises tcp://host:port, from \
         1.6 on with the host that DYN_EVENT_PLANE_HOST names."
    } else if why.contains("publishers") {
        "Run kvtop where these addresses can be reached, as inside the cluster, or let it open \
         port-forwards; a record of a worker that is gone disappears by itself."
    } else {
        "Look where events go: DYN_EVENT_PLANE (ZMQ from Dynamo 1.3 on), the NATS address and \
         account, --dynamo-namespace; and whether workers publish at all."
    };
    fix.to_owned()
}

/// Returns how to reach what Kubernetes says that it does not.
fn cluster(why: &str) -> &'static str {
    if why.contains("log in again") {
        "Log in again, as `kubectl get pods` asks for; kvtop goes on by itself."
    } else if why.contains("no permission") {
        "Grant what `kvtop rbac` prints, or name a server of events with --nats-url or --zmq."
    } else if why.contains("certificate") {
        "Set the cluster's certificate-authority in the kubeconfig to the one that the API server has."
    } else {
        "Make `kubectl get pods` work from here (address in the kubeconfig, VPN, proxy); kvtop goes on \
         by itself. Or name a server of events with --nats-url or --zmq."
    }
}
