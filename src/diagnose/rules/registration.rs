//! KVT012: discovery and traffic show different workers.

use std::time::Duration;

use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{
    Belongs, Evidence, Finding, Ground, Proof, RankEvidence, Refusal, Rule, SizeClaim, Verdict,
};
use crate::diagnose::{Measure, Origin};
use crate::domain::{ClaimOf, Grade, LEAVING, RegistrationBar, Severity, Timestamp};
use crate::dynamo::label::{self, WORKER_METADATA as RECORDS};

/// Time for a worker to register.
const GRACE: Duration = Duration::from_secs(30);

/// The maximum age of a worker's last activity: an ended fault is not reported.
const LATELY: Duration = Duration::from_secs(300);

/// Longest time from ready to registered. Without a readiness probe a pod is ready while it loads its model.
const LOADING: Duration = Duration::from_secs(600);

/// A discovery listing this soon after kvtop connected shows all workers.
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
        "Discovery and traffic show different workers. A worker that left discovery but still publishes, or \
         still receives requests, holds stale blocks: its record was withdrawn too early, or its process \
         outlived the record. Also reported: a worker that publishes or receives requests but was never in \
         discovery, unless it may belong to another deployment on the same event plane. Also reported: a ready \
         pod without a worker in discovery, ten minutes after it started (Kubernetes discovery only; of a \
         multi-pod worker only the leader), and pods that may not write their discovery record: the operator of \
         0.9.0 leaves dynamoworkermetadatas out of the Role of the discovery service account. Also reported: a \
         worker that ends at its start because other workers at its endpoint serve another model.\nDetected by KV events and routers' logs, at least 30 seconds after \
         a worker left or was first seen, while the activity continues, if kvtop watched discovery from the \
         start; by the refusal in a worker's log. Where all workers have left, the verdict stays open.\nFind out why the record is missing, then restart that worker."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    #[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
    fn judge(&self, evidence: &Evidence) -> Verdict {
        if let Some(finding) = refused(evidence) {
            return finding.into();
        }
        let seen = evidence.plane.members;
        if seen == 0 && !evidence.ranks.iter().any(|rank| rank.left.is_some()) {
            return Verdict::unknown("needs discovery records (no worker's record was seen)");
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
                return Verdict::unknown(phrase!(
                    "cannot tell yet whether {} will register or belongs to this deployment: not in discovery",
                    names.join(", ")
                ));
            }
            if seen == 0 && evidence.present().next().is_none() && sees_all(evidence) {
                return Verdict::suspected("no worker is registered any more: all of them left");
            }
            let noun = if seen == 1 { "worker is" } else { "workers are" };
            return Verdict::clear(phrase!("{} {} registered", Count(seen), noun));
        }
        let (mut faults, mut proofs) = (Vec::new(), Vec::new());
        for (ranks, what) in
            [(&stale, "left discovery but still"), (&sure, "is not in discovery but")]
        {
            for rank in ranks {
                let from = rank.left.unwrap_or(evidence.attached).after(LEAVING);
                faults.push(phrase!("{} {} {}", Evidence::name_of(rank), what, does(rank, from)));
                proofs.extend(acts(rank));
            }
        }
        for it in &missing {
            faults.push(phrase!("pod {} is ready but has no worker in discovery", it.pod));
            proofs.push(
                Proof::new(measure::READY_POD, it.pod.to_string(), Origin::Kubernetes)
                    .at(evidence.at),
            );
        }
        proofs.push(
            Proof::new(
                measure::WORKERS_IN_DISCOVERY,
                phrase!("{}", Count(seen)),
                Origin::Discovery,
            )
            .at(evidence.at),
        );
        Finding::new(Severity::Warning, Grade::Likely, phrase!("{}.", Phrase::joined("; ", faults)), proofs)
            .means(
                "Routers cannot find this worker's blocks, or send requests to a worker that is gone.",
                "A new registration, or a worker of another deployment on the same event plane.",
            )
            .mended_by(
                "Find out why the worker's discovery record is missing (lost lease, failing readiness, or a \
                 process that outlived its pod), then restart that worker.",
                "restart of that worker, which loses its KV cache",
            )
            .into()
    }
}

/// Finds pods that were refused to register lately.
fn refused(evidence: &Evidence) -> Option<Finding> {
    let recent = |it: &&Refusal| evidence.at.since(it.at) <= LATELY;
    let refused: Vec<&Refusal> = evidence.refused.iter().filter(recent).collect();
    without_rights(&refused).or_else(|| with_other_model(&refused))
}

/// Returns the names of the first of these pods.
fn names(pods: &[&Refusal]) -> Phrase {
    let names: Vec<&str> = pods.iter().take(4).map(|it| it.said.pod.as_ref()).collect();
    let others = if pods.len() > 4 { " and others" } else { "" };
    phrase!("{}{}", names.join(", "), others)
}

const NOT_REGISTERED: &str = "Routers do not know these workers, so no request reaches them.";
const REGISTERED: &str = "A discovery record of these pods.";
const SERVE_NOTHING: &str = "restart of these pods, which serve nothing yet";

/// Finds pods whose service account may not write discovery records: the operator of 0.9.0 leaves this right out of
/// the Role of the discovery service account.
fn without_rights(refused: &[&Refusal]) -> Option<Finding> {
    let barred = refused.iter().filter_map(|it| match &it.said.by {
        RegistrationBar::Rights { account, verb } => Some((*it, account, verb)),
        RegistrationBar::OtherModel { .. } => None,
    });
    let barred: Vec<_> = barred.collect();
    let (_, (namespace, account), _) = *barred.first()?;
    let proofs = barred.iter().take(16).map(|(it, account, verb)| {
        let may_not = phrase!("{} may not {} {}", account.1, verb, RECORDS);
        Proof::new(measure::LOG_LINE.of(&it.said.pod), may_not, Origin::ApiServer).at(it.at)
    });
    let pods: Vec<&Refusal> = barred.iter().map(|(it, ..)| *it).collect();
    let name = "dynamo-worker-metadata";
    let resource = phrase!("{}.{}", RECORDS, label::GROUP);
    let fix = phrase!(
        "Grant the right, then restart these pods: kubectl -n {} create role {} \
         --verb=get,list,watch,create,update,patch,delete --resource={} && kubectl -n {} create \
         rolebinding {} --role={} --serviceaccount={}:{}",
        namespace,
        name,
        resource,
        namespace,
        name,
        name,
        namespace,
        account
    );
    let summary = phrase!(
        "{} cannot register: service account {} has no right to write {}, which discovery by Kubernetes needs.",
        names(&pods),
        account,
        RECORDS
    );
    Some(
        Finding::new(Severity::Warning, Grade::Confirmed, summary, proofs.collect())
            .means(NOT_REGISTERED, REGISTERED)
            .mended_by(fix, SERVE_NOTHING)
            .by_itself(),
    )
}

/// Finds pods that end at their start because other workers at their endpoint serve another model.
fn with_other_model(refused: &[&Refusal]) -> Option<Finding> {
    let mut barred = refused.iter().filter_map(|it| match &it.said.by {
        RegistrationBar::OtherModel { model, endpoint, registered } => {
            Some((*it, model, endpoint, registered))
        }
        RegistrationBar::Rights { .. } => None,
    });
    let (first, model, endpoint, registered) = barred.next()?;
    let pods: Vec<&Refusal> = std::iter::once(first).chain(barred.map(|(it, ..)| it)).collect();
    let proofs = pods.iter().take(16).map(|it| {
        let value = phrase!("{} is already registered at {}", registered, endpoint);
        Proof::new(measure::LOG_LINE.of(&it.said.pod), value, Origin::WorkerLogs).at(it.at)
    });
    let summary = phrase!(
        "{} cannot register: the workers at {} serve {}, and this one serves {}. Its process ends at its start.",
        names(&pods),
        endpoint,
        registered,
        model
    );
    let fix = phrase!(
        "Serve {} under a component of its own (another service name in the graph deployment, or --endpoint), or \
         give this worker the model {}.",
        model,
        registered
    );
    Some(
        // A note: requests do not miss a worker that never served one, and Kubernetes shows the crash.
        Finding::new(Severity::Info, Grade::Confirmed, summary, proofs.collect())
            .means(NOT_REGISTERED, REGISTERED)
            .mended_by(fix, SERVE_NOTHING)
            .by_itself(),
    )
}

/// Returns true for a worker that is still active long after it left. Times in kvtop's future come from another clock.
fn is_stale(evidence: &Evidence, rank: &RankEvidence) -> bool {
    let late = rank.left.filter(|_| rank.gone && rank.was_named).map(|left| left.after(LEAVING));
    let acts = |late| last_act(rank).is_some_and(|last| last > late && last <= evidence.at);
    // While a source that lists workers is down, it cannot tell that this one came back.
    late.is_some_and(acts) && is_recent(evidence, rank) && evidence.plane.down.is_empty()
}

fn is_recent(evidence: &Evidence, rank: &RankEvidence) -> bool {
    last_act(rank).is_some_and(|last| evidence.at.since(last) <= LATELY)
}

/// Returns true for a worker that is active but not in discovery. Activity known only from history does not count.
fn is_stranger(evidence: &Evidence, rank: &RankEvidence) -> bool {
    let worker = rank.rank.worker;
    let card = |claim: &SizeClaim| claim.worker == Some(worker) && claim.ground == Ground::Observed;
    let carded = evidence.models.iter().any(|(known, _)| *known == worker)
        || evidence.sizes_of(ClaimOf::Card).any(card);
    let acts = last_act(rank).is_some_and(|last| last > evidence.attached);
    acts && !rank.registered && !carded
}

/// Returns true when the worker had enough time to register, and discovery would have shown it.
fn is_proven(evidence: &Evidence, rank: &RankEvidence) -> bool {
    let first = [rank.first_event, rank.first_routed].into_iter().flatten().min();
    let from = first.map_or(evidence.attached, |first| first.max(evidence.attached));
    let acted = last_act(rank).is_some_and(|last| last > from.after(GRACE));
    let goes_on = acted && is_recent(evidence, rank);
    goes_on && rank.belongs == Belongs::Here && sees_all(evidence)
}

/// Returns true when discovery was listed when kvtop connected, and has been watched since.
fn sees_all(evidence: &Evidence) -> bool {
    let plane = &evidence.plane;
    let soon = evidence.attached.after(LISTED_WITHIN);
    let listed = plane.listed.is_some_and(|listed| listed <= soon);
    listed && plane.followed && plane.down.is_empty()
}

fn last_act(rank: &RankEvidence) -> Option<Timestamp> {
    rank.last_event.max(rank.last_routed)
}

/// Describes the activity of a worker after `from`.
fn does(rank: &RankEvidence, from: Timestamp) -> &'static str {
    let later = |last: Option<Timestamp>| last.is_some_and(|last| last > from);
    match (later(rank.last_event), later(rank.last_routed)) {
        (true, true) => "publishes and receives requests",
        (false, true) => "receives requests",
        (true | false, false) => "publishes",
    }
}

/// Returns the evidence that a worker is active, and that it left.
fn acts(rank: &RankEvidence) -> impl Iterator<Item = Proof> {
    let name = Evidence::name_of(rank);
    let seen = [
        (measure::LAST_EVENT, "seen", Origin::KvEvents, rank.last_event),
        (measure::LAST_REQUEST, "seen", Origin::RouterLogs, rank.last_routed),
        (measure::IN_DISCOVERY, "left", Origin::Discovery, rank.left),
    ];
    let proof = move |(measure, value, source, at): (Measure, &'static str, Origin, _)| {
        let at: Option<Timestamp> = at;
        let kind = measure.of(name.clone());
        at.map(|at| Proof::new(kind, value, source).at(at).of_worker(rank.rank.worker))
    };
    seen.into_iter().filter_map(proof)
}
