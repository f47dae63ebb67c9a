//! KVT007: the router lost its index while the workers kept their caches.

use std::sync::Arc;

use crate::diagnose::evidence::Evidence;
use crate::diagnose::fix::{Change, Fix};
use crate::diagnose::{Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity, Stake, thousands};
use crate::model::RouterTally;

pub(super) struct RouterWithoutHistory;

impl Rule for RouterWithoutHistory {
    fn id(&self) -> &'static str {
        "KVT007"
    }

    fn name(&self) -> &'static str {
        "router-without-history"
    }

    fn about(&self) -> &'static str {
        "A router that was restarted, or switched to KV mode, while the workers kept their caches does \
         not know the blocks that were stored before. Whatever hangs under them it refuses: \"Failed to \
         find parent block\" with num_blocks above 0. Hot prefixes are never evicted, so that they are \
         never stored again, and it does not heal by itself (Dynamo 0.9 keeps one hour of events). Judged \
         by at least 20 such warnings about parents that kvtop itself holds and that were stored before the \
         router started, or that hang under such. Where its start or the past is not known, warnings for \
         nine stores in ten beside hardly any overlap make it likely; so do 20 such stores in the \
         routers' own counters (kv_cache_events_applied, from 1.0 on), where a router is seen to have started after \
         the workers. Parents that were stored while the router ran are lost events (KVT014). Make caches and index start again together: roll \
         the workers one by one. On 0.9 set DYN_LOCAL_INDEXER=true on the workers, so that the next \
         router recovers by itself. Restarting the frontend makes it worse."
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

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let tally = &evidence.router.tally;
        let limits = &evidence.thresholds;
        if counted(evidence) {
            return found(evidence).into();
        }
        if !evidence.router.read {
            return Verdict::unknown("a router's log: its warnings tell what it lacks");
        }
        let full = tally.parent_full;
        let stores = evidence.total().full_stores();
        if tally.parent_before >= limits.min_parent_warnings || nearly_all(evidence, stores) {
            return found(evidence).into();
        }
        let lacking = full + tally.parent_unsaid;
        // A saved log may be an excerpt: what it does not tell may have been left out of it.
        if evidence.plane.logs_only {
            return Verdict::unknown(match lacking {
                0 => "KV events, or a whole log: saved lines name no store that was refused for want of a \
                      parent, and a part of a log proves none"
                    .to_owned(),
                some => format!(
                    "KV events, without which lost history (KVT007) and lost events (KVT014) look alike: \
                     routers refused {} stores for want of a parent",
                    thousands(some)
                ),
            });
        }
        if tally.parent_before == 0 && tally.parent_after > lacking / 2 {
            return Verdict::clear(format!(
                "of {} stores refused for want of a parent, {} hang under blocks stored while the router \
                 ran: lost events (KVT014), no lost history",
                thousands(lacking),
                thousands(tally.parent_after)
            ));
        }
        // A few in many are lost events; a notable share of few is a router whose history is not proven.
        let share = lacking as f64 >= limits.loss_share * stores as f64;
        if lacking >= limits.min_parent_warnings || (lacking > 0 && share) {
            return Verdict::unknown(format!(
                "the past: routers miss parents of {} of {} stores with blocks, {} of which kvtop holds",
                thousands(lacking),
                thousands(stores),
                thousands(tally.parent_held)
            ));
        }
        if tally.routed == 0 {
            return Verdict::unknown("requests: none was routed yet");
        }
        Verdict::clear(match lacking {
            0 => format!(
                "no router misses the parent of a store with blocks; {} requests routed",
                thousands(tally.routed)
            ),
            few => format!(
                "{few} stores refused for want of a parent, {} routed",
                thousands(tally.routed)
            ),
        })
    }
}

/// Returns true when routers' own counters say that they refuse, for want of a parent, stores that hold
/// blocks and that the mirror has a place for; or nearly all of them, where the mirror does not know the
/// past.
fn counted(evidence: &Evidence) -> bool {
    let limits = &evidence.thresholds;
    let (tally, total) = (&evidence.router.tally, evidence.total());
    let counters = &total.counters;
    let (orphaned, stores) = (tally.stores_orphaned, counters.stores as f64);
    let share = orphaned as f64 / (tally.stores_applied + orphaned).max(1) as f64;
    let full = total.full_stores() >= limits.min_stores
        && (counters.empty_stores as f64) < limits.empty_share_well * stores;
    let known = past_known(evidence);
    let placed = !known || (counters.refused_stores as f64) < limits.loss_share * stores;
    // Of a router that was there first, a part of all stores is lost events.
    let least = if known && began_later(evidence) { limits.loss_share } else { limits.all_share };
    let refused = placed && share >= least;
    let enough = orphaned >= limits.min_parent_warnings;
    enough && full && refused && evidence.unsettled().is_none()
}

/// Returns true when routers refuse nearly every store, for parents that kvtop does not know to have come
/// later, and find hardly anything.
fn nearly_all(evidence: &Evidence, stores: u64) -> bool {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let most = |part: u64, whole: u64| part as f64 >= limits.all_share * whole as f64;
    let warm = tally.warm.best();
    // Where the past is known, a parent that is not held either is a lost event.
    let history = !past_known(evidence) || most(tally.parent_held, tally.parent_full);
    tally.parent_full >= limits.min_parent_warnings
        && tally.parent_after < limits.min_parent_warnings
        && history
        && most(tally.parent_full, stores)
        && most(warm.zero, warm.known)
}

/// Returns true when a router is known to have started after workers began to store.
fn began_later(evidence: &Evidence) -> bool {
    let Some(began) = evidence.router.began else { return false };
    evidence.present().filter_map(|rank| rank.first_event).any(|first| first < began)
}

/// Returns true when what kvtop refuses would be refused by anybody.
fn past_known(evidence: &Evidence) -> bool {
    evidence.present().all(|rank| rank.past_known || rank.tally.counters.stores == 0)
}

fn found(evidence: &Evidence) -> Finding {
    let tally = &evidence.router.tally;
    let proven = tally.parent_before >= evidence.thresholds.min_parent_warnings;
    let warm = tally.warm.best();
    let known = evidence.present().filter(|rank| rank.tally.counters.stores > 0);
    let seen = known.count();
    let mut proofs = Vec::new();
    if tally.parent_full > 0 {
        let claim = "\"Failed to find parent block\" with blocks";
        let proof = Proof::new(claim, thousands(tally.parent_full), "routers' logs");
        proofs.push(proof.heard(evidence.router.heard.parent));
        let claim = "of those, parents that the mirror holds";
        let source = format!("mirror of {seen} ranks");
        proofs.push(Proof::new(claim, thousands(tally.parent_held), source).at(evidence.at));
        let claim = "of those, parents stored before the router started, or below such";
        let source = "KV events, routers' logs and pods";
        proofs.push(Proof::new(claim, thousands(tally.parent_before), source).at(evidence.at));
    }
    if tally.stores_orphaned > 0 {
        let all = tally.stores_applied + tally.stores_orphaned;
        let value = format!("{} of {}", thousands(tally.stores_orphaned), thousands(all));
        let source = "routers' counters (kv_cache_events_applied)";
        let claim = "stores refused for want of a parent";
        proofs.push(Proof::new(claim, value, source).at(evidence.at));
    }
    if warm.known > 0 {
        let value = format!("{} of {}", thousands(warm.zero), thousands(warm.known));
        proofs.push(Proof::new("requests without overlap", value, "routers' logs and events"));
    }
    if tally.parent_full > 0 && tally.parent_empty == 0 {
        let claim = "warnings with num_blocks=0, which would mean KVT001";
        proofs.push(Proof::new(claim, "0", "routers' logs"));
    }
    let pods = evidence.present().filter_map(|rank| rank.pod.clone());
    let mut pods: Vec<_> = pods.collect();
    pods.dedup();
    Finding {
        severity: Severity::Critical,
        grade: if proven { Grade::Confirmed } else { Grade::Likely },
        summary: summary(tally, proven),
        effect: "The router misses what workers have cached, until it is evicted and stored again."
            .into(),
        proofs,
        refuted_by:
            "Parents that were stored while the router ran, or that no worker holds (KVT014)."
                .into(),
        competing: vec![
            "KVT001: stores hold blocks, so that publisher and engine agree.".into(),
            "KVT014: of lost events, the parents would be stored while the router ran.".into(),
        ],
        fix: Some(fix(evidence, pods)),
        subjects: Vec::new(),
    }
}

fn summary(tally: &RouterTally, proven: bool) -> String {
    let refused = thousands(tally.parent_full.max(tally.stores_orphaned));
    let rest = if proven {
        let before = thousands(tally.parent_before);
        format!("{before} of {refused} stores it refused hang below older blocks")
    } else {
        format!("it refused {refused} stores for want of parents")
    };
    format!("The router lost its history, workers kept their caches: {rest}.")
}

fn fix(evidence: &Evidence, pods: Vec<Arc<str>>) -> Fix {
    let mut sentence =
        "Roll the workers one by one; do not restart the frontend. Caches and the router's \
                        index then start again together."
            .to_owned();
    if evidence.forgets() {
        sentence.push_str(
            " With DYN_LOCAL_INDEXER=true on the workers the next router of 0.9 recovers by itself.",
        );
    }
    Fix {
        sentence,
        changes: vec![Change::Roll { pods }],
        restarts: "every worker, one after the other; their caches start empty".into(),
        ..Fix::default()
    }
}
