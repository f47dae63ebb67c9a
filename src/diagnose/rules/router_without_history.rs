//! KVT007: the router restarted without history while the workers kept their caches.

use std::sync::Arc;
use std::time::Duration;

use crate::diagnose::Origin;
use crate::diagnose::evidence::{Evidence, RankEvidence};
use crate::diagnose::fix::{Change, Fix};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Finding, Proof, Rule, Verdict, workers_of};
use crate::domain::{Grade, Plane, Severity, Stake, Timestamp};
use crate::model::RouterTally;

/// The share of rejected stores that lost events do not explain, if no event is missing.
const MOST: f64 = 0.5;

/// The time in which a few rejected stores are few, where kvtop lacks the earlier history too: those of a moment may be
/// many in a minute.
const FEW_IN: Duration = Duration::from_secs(30);

/// A router that lacks history rejects its first store within this time after its first request.
const AT_ONCE: Duration = Duration::from_secs(60);

pub(super) struct RouterWithoutHistory;

impl Rule for RouterWithoutHistory {
    fn id(&self) -> &'static str {
        "KVT007"
    }

    fn name(&self) -> &'static str {
        "router-without-history"
    }

    fn about(&self) -> &'static str {
        "A router that restarted, or was switched to KV mode, while the workers kept their caches does not know \
         the blocks stored before. It rejects all stores that build on those blocks: \"Failed to find parent \
         block\" with num_blocks above 0. Hot prefixes are never evicted and therefore never stored again, so \
         the router does not recover by itself (Dynamo 0.9 keeps one hour of events).\nDetected by at least 20 \
         such warnings about parents that kvtop itself holds and that were stored before the router started, or \
         that build on such blocks. If the router's start or the history is unknown, warnings for nine stores \
         in ten with almost no cache hits make it likely. So do warnings for half of the stores, if the router \
         started after the workers and no event is missing since kvtop attached; or for one store in twenty, if the \
         router rejects them from its first minute on and its stream no longer kept the workers' first events. So do 20 such stores in the routers' own counters \
         (kv_cache_events_applied, from 1.0 on), if a router is known to have started after the workers. \
         Parents that were stored while the router ran are lost events (KVT014).\nRestart the workers one at a \
         time, so that caches and index are rebuilt together. On 0.9 set {variable::LOCAL_INDEXER}=true on the workers, \
         so that a router recovers by itself after its next restart. Restarting the frontend makes it worse."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT014", "KVT018", "KVT017"]
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn stake(&self) -> Stake {
        Stake::History
    }

    fn needs_kv_router(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let tally = &evidence.router.tally;
        if counted(evidence) {
            return found(evidence).into();
        }
        if !evidence.router.read {
            return Verdict::unknown(
                "needs a router's log, whose warnings name the missing blocks",
            );
        }
        let full = tally.parent_full;
        let stores = evidence.total().kv.full_stores();
        if refused(evidence, stores) {
            return found(evidence).into();
        }
        let lacking = full + tally.parent_unsaid;
        // A saved log may be an excerpt: lines may have been left out.
        if evidence.plane.logs_only {
            return Verdict::unknown(match lacking {
                0 => Phrase::from(
                    "needs KV events or a complete log: the saved lines name no rejected store, but an excerpt \
                      proves nothing",
                ),
                some => phrase!(
                    "needs KV events to tell lost history (KVT007) from lost events (KVT014): routers rejected \
                     {} stores because the parent block is unknown",
                    Count(some)
                ),
            });
        }
        if tally.parent_before == 0 && tally.parent_after > lacking / 2 {
            return Verdict::clear(phrase!(
                "of {} stores rejected because the parent block is unknown, {} build on blocks stored while the \
                 router ran: lost events (KVT014), not lost history",
                Count(lacking),
                Count(tally.parent_after)
            ));
        }
        if let Some(unknown) = undecided(evidence, lacking, stores) {
            return unknown;
        }
        let (routed, began) = (evidence.router.heard.routed, evidence.router.began);
        if let Some(began) = began.filter(|began| routed.is_some_and(|last| last < *began)) {
            return Verdict::unknown(phrase!(
                "needs requests (none routed since the router started {} s ago)",
                evidence.at.since(began).as_secs()
            ));
        }
        finds(tally, lacking, stores)
    }
}

/// Returns the verdict when routers lack so few parents that they have the history.
fn finds(tally: &RouterTally, lacking: u64, stores: u64) -> Verdict {
    let all = tally.overlaps.best();
    let (hits, known) = (all.known.saturating_sub(all.zero), all.known);
    match (lacking, stores) {
        (0, 0) if hits == 0 => Verdict::unknown("needs store events with blocks (none so far)"),
        (0, 0) => {
            Verdict::clear(phrase!("{} of {} requests had a cache hit", Count(hits), Count(known)))
        }
        (0, _) => Verdict::clear(phrase!(
            "routers found the parents of all stores with blocks; {} requests routed",
            Count(tally.routed)
        )),
        (few, _) => Verdict::clear(phrase!(
            "only {} stores rejected because the parent block is unknown; {} requests routed",
            few,
            Count(tally.routed)
        )),
    }
}

/// Returns what is missing to call `lacking` rejected stores among `stores` lost history, or a few lost events; none
/// where they are that few.
fn undecided(evidence: &Evidence, lacking: u64, stores: u64) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    // A few among many are lost events. A notable share of a few may be lost history.
    let share = lacking as f64 >= limits.loss_share * stores as f64;
    let counted = evidence.at.since(evidence.since.max(evidence.attached));
    let missing = if tally.parent_before > 0 {
        // Those of a router that saw every event would be found.
        phrase!("needs at least {} rejected stores", limits.min_parent_warnings)
    } else if lacking >= limits.min_parent_warnings || (lacking > 0 && share) {
        Phrase::from("needs earlier history")
    } else if tally.routed == 0 {
        // Earlier ones, or those to workers that left, are told of elsewhere.
        return Some(Verdict::unknown(if evidence.router.heard.routed.is_none() {
            "needs requests (none routed so far)"
        } else {
            "needs requests to the workers that are there (none lately)"
        }));
    } else if lacking > 0 && counted < FEW_IN && !past_known(evidence) {
        phrase!("needs {} s more of events", FEW_IN.saturating_sub(counted).as_secs() + 1)
    } else {
        return None;
    };
    Some(Verdict::unknown(phrase!(
        "{}: routers lack the parents of {} of {} stores with blocks (kvtop holds {} of those parents)",
        missing,
        Count(lacking),
        Count(stores),
        Count(tally.parent_held)
    )))
}

/// Returns true when routers' logs show that they lack the parents of stores from before they started.
fn refused(evidence: &Evidence, stores: u64) -> bool {
    evidence.router.tally.parent_before >= evidence.thresholds.min_parent_warnings
        || nearly_all(evidence, stores)
        || outlived(evidence, stores)
        || forgotten(evidence, stores)
}

/// Returns true when the routers' own counters show that they reject stores with unknown parents that kvtop's
/// index copy accepts; or nearly all stores, if kvtop lacks the earlier history.
fn counted(evidence: &Evidence) -> bool {
    let limits = &evidence.thresholds;
    let (tally, total) = (&evidence.router.tally, evidence.total());
    let counters = &total.kv.counters;
    let (orphaned, stores) = (tally.own.stores_orphaned, counters.stores as f64);
    let share = orphaned as f64 / (tally.own.stores_applied + orphaned).max(1) as f64;
    let full = total.kv.full_stores() >= limits.min_stores
        && (counters.empty_stores as f64) < limits.empty_share_well * stores;
    // A history that is complete since a moment ago says nothing of the stores before.
    let known = past_known(evidence) && total.kv.known_stores * 2 >= counters.stores;
    let (refused, judged) = (total.kv.known_refused as f64, total.kv.known_stores as f64);
    let placed = !known || refused < limits.loss_share * judged;
    // If the router started first, a small share of rejected stores means lost events.
    let least = if known && began_later(evidence) { limits.loss_share } else { limits.all_share };
    let refused = placed && share >= least;
    let enough = orphaned >= limits.min_parent_warnings;
    enough && full && refused && evidence.uncounted().is_none()
}

/// Returns true when routers reject nearly every store, for parents not known to be stored later, and almost no
/// request has a cache hit.
fn nearly_all(evidence: &Evidence, stores: u64) -> bool {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let most = |part: u64, whole: u64| part as f64 >= limits.all_share * whole as f64;
    let warm = tally.warm.best();
    // With complete history, a parent that kvtop lacks too is a lost event.
    let history = !past_known(evidence) || most(tally.parent_held, tally.parent_full);
    tally.parent_full >= limits.min_parent_warnings
        && tally.parent_after < limits.min_parent_warnings
        && history
        && most(tally.parent_full, stores)
        && most(warm.zero, warm.known)
}

/// Returns true when a router that started after the workers rejects most stores, for parents from before kvtop
/// attached, and no event of these workers is missing since then.
fn outlived(evidence: &Evidence, stores: u64) -> bool {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let publishing = || evidence.present().filter(|rank| rank.tally.kv.counters.stores > 0);
    let later = |began: Timestamp| publishing().all(|rank| outlives(rank, Duration::ZERO, began));
    tally.parent_full >= limits.min_parent_warnings
        && tally.parent_full as f64 >= MOST * stores as f64
        && tally.parent_held < limits.min_parent_warnings
        && !past_known(evidence)
        && evidence.router.began.is_some_and(later)
}

/// Returns true when routers reject stores from their first requests on, and the stream had deleted the first events
/// of those workers before the routers started. Lost events would begin at any time, and a router reads all that its
/// stream still has (`max_age`, an hour by default: dynamo-runtime 0.9.0, `transports/nats.rs:517`; the durable
/// consumer of each router: dynamo-llm 0.9.0, `kv_router.rs:463`).
fn forgotten(evidence: &Evidence, stores: u64) -> bool {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let (Some(rejecting), Some(keeps)) = (evidence.router.rejecting, evidence.plane.keeps) else {
        return false;
    };
    // If kvtop knows the whole history of a rank and lacks the parent too, the parent was never published.
    let of = || {
        let unsure = evidence.present().filter(|rank| !rank.past_known);
        unsure.filter(|rank| rank.tally.refusals.parent_full > 0)
    };
    let rejected: u64 = of().map(|rank| rank.tally.refusals.parent_full).sum();
    let each = rejected / rejecting.routers.max(1);
    evidence.plane.name == Some(Plane::JetStream)
        && rejecting.after <= AT_ONCE
        && each >= limits.min_parent_warnings
        && each as f64 >= limits.loss_share * stores as f64
        && tally.parent_held < limits.min_parent_warnings
        && tally.gaps == 0
        && of().all(|rank| outlives(rank, keeps, rejecting.began))
}

/// Returns true when `rank` started more than `by` before a router began, and no event of it is missing.
fn outlives(rank: &RankEvidence, by: Duration, began: Timestamp) -> bool {
    let older = rank.started.is_some_and(|at| at.after(by) < began);
    older && rank.missing == 0 && rank.id_holes == 0 && rank.unpublished == 0
}

/// Returns true when a router is known to have started after workers began to store.
fn began_later(evidence: &Evidence) -> bool {
    let Some(began) = evidence.router.began else { return false };
    evidence.present().filter_map(|rank| rank.first_event).any(|first| first < began)
}

/// Returns true when `rank` is known to have started after the router did, which has all its events then.
fn began_since(evidence: &Evidence, rank: &RankEvidence) -> bool {
    rank.started.zip(evidence.router.began).is_some_and(|(started, began)| started > began)
}

/// Returns the pods of present workers, of those ranks that `wanted` returns true for.
fn pods_of(evidence: &Evidence, wanted: impl Fn(&RankEvidence) -> bool) -> Vec<Arc<str>> {
    let ranks = evidence.present().filter(|rank| wanted(rank));
    let mut pods: Vec<_> = ranks.filter_map(|rank| rank.pod.clone()).collect();
    pods.dedup();
    pods
}

/// Returns true when kvtop knows the complete history, so any receiver would reject the same stores.
fn past_known(evidence: &Evidence) -> bool {
    evidence.present().all(|rank| rank.past_known || rank.tally.kv.counters.stores == 0)
}

#[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
fn found(evidence: &Evidence) -> Finding {
    let tally = &evidence.router.tally;
    let proven = tally.parent_before >= evidence.thresholds.min_parent_warnings;
    let warm = tally.warm.best();
    let known = || evidence.present().filter(|rank| rank.tally.kv.counters.stores > 0);
    let seen = known().count();
    let mut proofs = Vec::new();
    if tally.parent_full > 0 {
        let claim = measure::FULL_PARENT_WARNINGS;
        let proof = Proof::new(claim, phrase!("{}", Count(tally.parent_full)), Origin::RouterLogs);
        proofs.push(proof.heard(evidence.router.heard.parent));
    }
    // Of parents from before kvtop attached nothing is known, which is not 0.
    if tally.parent_full > 0 && (tally.parent_held > 0 || past_known(evidence)) {
        let claim = measure::PARENTS_HELD;
        let source = phrase!("kvtop's index copy ({} ranks)", seen);
        proofs.push(
            Proof::new(claim, phrase!("{}", Count(tally.parent_held)), source).at(evidence.at),
        );
        let claim = measure::PARENTS_BEFORE_RESTART;
        let source = Origin::Several(&[Origin::KvEvents, Origin::RouterLogs, Origin::Pods]);
        proofs.push(
            Proof::new(claim, phrase!("{}", Count(tally.parent_before)), source).at(evidence.at),
        );
    }
    if tally.own.stores_orphaned > 0 {
        let all = tally.own.stores_applied + tally.own.stores_orphaned;
        let value = phrase!("{} of {}", Count(tally.own.stores_orphaned), Count(all));
        let source = Origin::RouterCounters;
        let claim = measure::STORES_REJECTED_FOR_PARENT;
        proofs.push(Proof::new(claim, value, source).at(evidence.at));
    }
    if let (Some(keeps), Some(rejecting), false) =
        (evidence.plane.keeps, evidence.router.rejecting, past_known(evidence))
    {
        let first = known().filter_map(|rank| rank.started).min();
        if let Some(first) = first.filter(|first| *first < rejecting.began) {
            let before = rejecting.began.since(first).as_secs();
            let value = phrase!("{} s after the first worker", before);
            let source = Origin::Several(&[Origin::Pods, Origin::RouterLogs]);
            proofs.push(Proof::new(measure::ROUTER_START, value, source));
        }
        let value = phrase!("{} s after the first request", rejecting.after.as_secs());
        proofs.push(Proof::new(measure::FIRST_REJECTED, value, Origin::RouterLogs));
        let value = match keeps.as_secs() {
            seconds @ 0..120 => phrase!("{} s", seconds),
            seconds => phrase!("{} min", seconds / 60),
        };
        proofs.push(Proof::new(measure::STREAM_KEEPS, value, Origin::Jetstream).at(evidence.at));
    }
    if warm.known > 0 {
        let hits = warm.known - warm.zero;
        let value = phrase!("{} of {} requests", Count(hits), Count(warm.known));
        proofs.push(Proof::new(
            measure::CACHE_HITS,
            value,
            Origin::Several(&[Origin::RouterLogs, Origin::KvEvents]),
        ));
    }
    if tally.parent_full > 0 && tally.parent_empty == 0 {
        let claim = measure::EMPTY_PARENT_WARNINGS;
        proofs.push(Proof::new(claim, "0", Origin::RouterLogs));
    }
    let mut pods = pods_of(evidence, |rank| !began_since(evidence, rank));
    if pods.is_empty() {
        pods = pods_of(evidence, |_| true);
    }
    Finding {
        severity: Severity::Critical,
        grade: if proven { Grade::Confirmed } else { Grade::Likely },
        summary: summary(tally, proven),
        effect:
            "The router does not find those cached blocks until they are evicted and stored again."
                .into(),
        proofs,
        refuted_by:
            "Parents that were stored while the router ran, or that no worker holds (KVT014)."
                .into(),
        competing: vec![
            "KVT001: store events contain blocks, so publisher and engine agree.".into(),
            "KVT014: with lost events, the parents would have been stored while the router ran."
                .into(),
        ],
        fix: Some(fix(evidence, pods)),
        subjects: workers_of(evidence.present().filter(|rank| !began_since(evidence, rank))),
        by_itself: false,
        of_routers: true,
    }
}

fn summary(tally: &RouterTally, proven: bool) -> Phrase {
    let refused = Count(tally.parent_full.max(tally.own.stores_orphaned));
    let rest = if proven {
        let before = Count(tally.parent_before);
        phrase!(
            "{} of {} rejected stores build on blocks stored before the restart",
            before,
            refused
        )
    } else {
        phrase!("it rejected {} stores because their parent blocks are unknown", refused)
    };
    phrase!("The router restarted without history while workers kept their caches: {}.", rest)
}

fn fix(evidence: &Evidence, pods: Vec<Arc<str>>) -> Fix {
    let mut sentence = Phrase::from(
        "Restart the workers one at a time, not the frontend, so that caches and router index are rebuilt together.",
    );
    if evidence.forgets() {
        sentence.push(
            " Setting {variable::LOCAL_INDEXER}=true on the workers lets a 0.9 router recover by itself after \
             its next restart.",
        );
    }
    Fix {
        sentence,
        changes: vec![Change::Roll { pods }],
        restarts: "rolling restart of every worker; each one loses its KV cache".into(),
        ..Fix::default()
    }
}
