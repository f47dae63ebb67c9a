//! KVT012: discovery and traffic disagree about who is there.

use std::time::Duration;

use crate::diagnose::{
    Belongs, Evidence, Finding, Ground, Proof, RankEvidence, Rule, SizeClaim, Verdict,
};
use crate::domain::{ClaimOf, Grade, Severity, Timestamp, thousands};

/// How long a worker may take to register, and its last events and requests to end.
const GRACE: Duration = Duration::from_secs(30);

/// How long ago the last sign of a worker may be: what ended is no fault any more.
const LATELY: Duration = Duration::from_secs(300);

/// How long a pod may be ready before it registers. Without a probe it is ready while it loads its model.
const LOADING: Duration = Duration::from_secs(600);

/// Discovery that is listed this soon after kvtop attached shows everybody.
const LISTED_WITHIN: Duration = Duration::from_secs(10);

pub(super) struct Registration;

impl Rule for Registration {
    fn id(&self) -> &'static str {
        "KVT012"
    }

    fn name(&self) -> &'static str {
        "registration"
    }

    fn about(&self) -> &'static str {
        "Discovery and traffic disagree about who is there. A worker that left discovery and still \
         publishes, or is still routed to, is a stale owner of blocks: its record was withdrawn too \
         early, or its process outlived it. One that publishes or is routed to and was never in \
         discovery is named too, unless it may be a neighbour on the same event plane, and so is a ready pod \
         without a worker in discovery (discovery by Kubernetes only, of a worker of several pods its \
         leader, ten minutes after it started). Judged by events and by routers' logs, 30 seconds and more after a worker left or was first seen, as long as it goes \
         on, where kvtop watched discovery from the start. Look why the record is missing, then roll that worker."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let seen = evidence.plane.members;
        if seen == 0 && !evidence.ranks.iter().any(|rank| rank.left.is_some()) {
            return Verdict::unknown("discovery: no record of a worker was seen");
        }
        let stale: Vec<_> = evidence.ranks.iter().filter(|rank| is_stale(evidence, rank)).collect();
        let (sure, unsure): (Vec<_>, Vec<_>) = evidence
            .present()
            .filter(|rank| is_stranger(evidence, rank))
            .partition(|rank| is_proven(evidence, rank));
        let (missing, young): (Vec<_>, Vec<_>) = evidence
            .unregistered
            .iter()
            .partition(|it| evidence.at.since(it.since) >= LOADING && sees_all(evidence));
        if stale.is_empty() && sure.is_empty() && missing.is_empty() {
            let names = unsure.iter().map(|rank| Evidence::name_of(rank));
            let names: Vec<String> =
                names.chain(young.iter().map(|it| it.pod.to_string())).collect();
            if !names.is_empty() {
                return Verdict::unknown(format!(
                    "whether {} will register, or belongs here: discovery does not name it",
                    names.join(", ")
                ));
            }
            let noun = if seen == 1 { "worker is" } else { "workers are" };
            return Verdict::clear(format!("{} {noun} registered", thousands(seen)));
        }
        let (mut said, mut proofs) = (Vec::new(), Vec::new());
        for (ranks, what) in
            [(&stale, "left discovery and still"), (&sure, "is not in discovery and yet")]
        {
            for rank in ranks {
                let from = rank.left.unwrap_or(evidence.attached).after(GRACE);
                said.push(format!("{} {what} {}", Evidence::name_of(rank), does(rank, from)));
                proofs.extend(acts(rank));
            }
        }
        for it in &missing {
            said.push(format!("pod {} is ready and has no worker in discovery", it.pod));
            proofs.push(Proof::new("ready pod", it.pod.to_string(), "Kubernetes").at(evidence.at));
        }
        proofs
            .push(Proof::new("workers in discovery", thousands(seen), "discovery").at(evidence.at));
        Finding::new(Severity::Warning, Grade::Likely, format!("{}.", said.join("; ")), proofs)
            .means(
                "Its blocks cannot be found, or requests go to a worker that is gone.",
                "A new registration, or a worker of another deployment on the same event plane.",
            )
            .mended_by(
                "Look why the worker's record is missing: lost lease, failing readiness, or a process that \
                 outlived its pod; then roll that worker.",
                "that worker",
            )
            .into()
    }
}

/// Returns true for a worker that left, and acts long after. Times ahead of kvtop's are of another clock.
fn is_stale(evidence: &Evidence, rank: &RankEvidence) -> bool {
    let late = rank.left.filter(|_| rank.gone && rank.was_named).map(|left| left.after(GRACE));
    let acts = |late| last_act(rank).is_some_and(|last| last > late && last <= evidence.at);
    late.is_some_and(acts) && is_recent(evidence, rank)
}

fn is_recent(evidence: &Evidence, rank: &RankEvidence) -> bool {
    last_act(rank).is_some_and(|last| evidence.at.since(last) <= LATELY)
}

/// Returns true for a worker that acts and is not in discovery. What only history tells of is of the past.
fn is_stranger(evidence: &Evidence, rank: &RankEvidence) -> bool {
    let worker = rank.rank.worker;
    let card = |claim: &SizeClaim| claim.worker == Some(worker) && claim.ground == Ground::Observed;
    let carded = evidence.models.iter().any(|(known, _)| *known == worker)
        || evidence.sizes_of(ClaimOf::Card).any(card);
    let acts = last_act(rank).is_some_and(|last| last > evidence.attached);
    acts && !rank.registered && !carded
}

/// Returns true when it had the time to register, and discovery would have shown it.
fn is_proven(evidence: &Evidence, rank: &RankEvidence) -> bool {
    let first = [rank.first_event, rank.first_routed].into_iter().flatten().min();
    let from = first.map_or(evidence.attached, |first| first.max(evidence.attached));
    let acted = last_act(rank).is_some_and(|last| last > from.after(GRACE));
    let goes_on = acted && is_recent(evidence, rank);
    goes_on && rank.belongs == Belongs::Here && sees_all(evidence)
}

/// Returns true when discovery was listed when kvtop attached, and is watched since then.
fn sees_all(evidence: &Evidence) -> bool {
    let plane = &evidence.plane;
    let soon = evidence.attached.after(LISTED_WITHIN);
    let listed = plane.listed.is_some_and(|listed| listed <= soon);
    listed && plane.followed && plane.down.is_empty()
}

fn last_act(rank: &RankEvidence) -> Option<Timestamp> {
    rank.last_event.max(rank.last_routed)
}

/// Returns what a worker did after `from`.
fn does(rank: &RankEvidence, from: Timestamp) -> &'static str {
    let later = |last: Option<Timestamp>| last.is_some_and(|last| last > from);
    match (later(rank.last_event), later(rank.last_routed)) {
        (true, true) => "publishes and is routed to",
        (false, true) => "is routed to",
        (true | false, false) => "publishes",
    }
}

/// Returns what shows that a worker acts, and that it left.
fn acts(rank: &RankEvidence) -> impl Iterator<Item = Proof> {
    let name = Evidence::name_of(rank);
    let seen = [
        (format!("last event of {name}"), "seen", "KV events", rank.last_event),
        (format!("last request to {name}"), "seen", "routers' logs", rank.last_routed),
        (format!("{name} in discovery"), "left", "discovery", rank.left),
    ];
    let proof = |(claim, value, source, at): (String, &str, &str, Option<Timestamp>)| {
        at.map(|at| Proof::new(claim, value, source).at(at).of_worker(rank.rank.worker))
    };
    seen.into_iter().filter_map(proof)
}
