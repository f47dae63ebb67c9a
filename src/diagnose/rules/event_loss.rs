//! KVT014: KV events are lost on their way.

use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

pub(super) struct EventLoss;

impl Rule for EventLoss {
    fn id(&self) -> &'static str {
        "KVT014"
    }

    fn name(&self) -> &'static str {
        "event-loss"
    }

    fn about(&self) -> &'static str {
        "Some KV events never reach the router: what hangs under a lost store is refused, and \
         prefixes are found less often. TensorRT-LLM drops events when its buffer overflows \
         (1024 up to Dynamo 1.2), NATS core and ZMQ drop them for slow readers. Judged by holes \
         in the publishers' numbers (0.1 % of messages), by warnings about gaps, by parents that a router \
         lacks though kvtop saw them stored while it ran, and where the \
         past is known by 5 % to 90 % of stores refused, or by the routers' own counters of them, \
         or 5 % refused as invalid or for want of room (kv_cache_events_applied, from 1.0 on). \
         Nothing is said of messages that kvtop itself lost, that it could not read, or that passed \
         by while its connection was away, nor where routers that are heard refuse no store: then \
         whatever is missing may be missing to kvtop alone. Raise event_buffer_max_size and queue sizes, or upgrade to 1.3."
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let tally = &evidence.router.tally;
        if tally.gaps > 0 {
            let proof = Proof::new("warnings about gaps", thousands(tally.gaps), "logs");
            return lost(
                evidence,
                format!("Logs tell of {} gaps in KV events.", thousands(tally.gaps)),
                Grade::Confirmed,
                proof,
                [],
            );
        }
        if let Some(told) = at_router(evidence) {
            return told;
        }
        // What routers count needs no event that kvtop sees.
        if let Some(told) = counters(evidence) {
            return told;
        }
        if tally.events == 0 {
            return Verdict::unknown("KV events: none came in this window");
        }
        if evidence.plane.dropped > 0 {
            return Verdict::unknown(format!(
                "what kvtop itself lost: {} frames",
                thousands(evidence.plane.dropped)
            ));
        }
        if let Some(told) = holes(evidence) {
            return told;
        }
        refused(evidence)
    }
}

/// Judges what the mirror refuses of workers whose past is known: who saw the same events refuses it too.
fn refused(evidence: &Evidence) -> Verdict {
    let (limits, tally) = (&evidence.thresholds, &evidence.router.tally);
    let known = evidence.present().filter(|rank| rank.past_known);
    let (own, known): (Vec<_>, Vec<_>) = known.partition(|rank| evidence.may_be_own_loss(rank));
    // Mostly empty stores are another fault, of that worker alone.
    let counts = |rank: &RankEvidence| rank.tally.counters;
    let (hollow, known): (Vec<_>, Vec<_>) = known
        .into_iter()
        .partition(|rank| counts(rank).empty_stores * 2 >= counts(rank).stores.max(1));
    let stores: u64 = known.iter().map(|rank| counts(rank).stores).sum();
    let refused: u64 = known.iter().map(|rank| counts(rank).refused_stores).sum();
    if stores < limits.min_stores {
        if let Some(rank) = own.first() {
            return Verdict::unknown(format!(
                "what {} KV events of {} said that did not reach kvtop",
                thousands(rank.id_holes),
                Evidence::name_of(rank)
            ));
        }
        if hollow.iter().any(|rank| counts(rank).stores > 0) {
            return Verdict::unknown("stores with blocks: most stores hold none");
        }
        return Verdict::unknown(
            "the past of enough ranks: without it a refused store proves nothing",
        );
    }
    let share = refused as f64 / stores as f64;
    if share >= limits.loss_share {
        let value = format!("{} of {}", thousands(refused), thousands(stores));
        let proof = Proof::new("stores refused", value.clone(), "mirror").at(evidence.at);
        let summary =
            format!("KV events are lost: {value} stores hang under blocks that never came.");
        let by = known.into_iter().filter(|rank| {
            counts(rank).refused_stores as f64 >= limits.loss_share * counts(rank).stores as f64
        });
        return lost(evidence, summary, Grade::Likely, proof, by);
    }
    Verdict::clear(format!(
        "{} of {} stores refused, {} messages missing",
        thousands(refused),
        thousands(stores),
        thousands(tally.lost)
    ))
}

/// Judges holes in the publishers' numbers: who lost what is missing there?
fn holes(evidence: &Evidence) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    // A message that could not be read leaves a hole in the numbers as well.
    let gone = tally.lost.saturating_sub(tally.unreadable);
    let share = gone as f64 / (gone + tally.events) as f64;
    let value = format!("{} of {}", thousands(gone), thousands(gone + tally.events));
    if share >= limits.gap_share && gone >= 2 {
        if evidence.hears_router() && tally.refused() == 0 {
            return Some(Verdict::unknown(format!(
                "who lost them: {value} messages did not reach kvtop, but routers miss no parent"
            )));
        }
        let proof = Proof::new("messages missing", value.clone(), "publishers' numbers");
        let summary = format!("KV events are lost: {value} messages are missing.");
        return Some(lost(evidence, summary, Grade::Likely, proof.at(evidence.at), []));
    }
    if tally.missed > 0 {
        return Some(Verdict::unknown(format!(
            "what passed by while kvtop's own connection was away: {} messages",
            thousands(tally.missed)
        )));
    }
    (tally.lost > 0 && tally.unreadable > 0).then(|| {
        Verdict::unknown(format!(
            "what {} messages say that could not be read",
            thousands(tally.unreadable)
        ))
    })
}

/// Judges what routers lack of what went out while they ran: kvtop has it, so that it was lost on the way
/// to them, or by them.
fn at_router(evidence: &Evidence) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let (tally, total) = (&evidence.router.tally, evidence.total());
    // A parent that was removed for a moment is refused by everybody.
    let count = tally.parent_after.saturating_sub(total.counters.refused_stores);
    let share = count as f64 >= limits.loss_share * total.full_stores() as f64;
    if count < 2 || (count < limits.min_parent_warnings && !share) {
        return None;
    }
    let claim = "stores refused under blocks that were stored while the router ran, or below such";
    let source = "routers' logs, KV events that kvtop saw";
    let proof = Proof::new(claim, thousands(count), source).heard(evidence.router.heard.parent);
    let finding = Finding::new(
        Severity::Warning,
        Grade::Confirmed,
        format!(
            "Routers lose KV events: they refused {} stores under blocks whose events went out while they \
             ran.",
            thousands(count)
        ),
        vec![proof],
    )
    .means(
        "The router does not find part of what is cached.",
        "A router that started after those blocks were stored (KVT007).",
    )
    .rather_than("KVT007: a router without history lacks blocks stored before it started.")
    .mended_by(
        "Give the frontend more CPU, so that it takes its events in time, and look at slow consumers \
         on NATS.",
        "the frontend, when its resources change",
    );
    Some(finding.into())
}

/// Judges routers' own counters: events are missing when a part of all stores was refused for want of a
/// parent, but not so many that the index is empty for another reason; what is refused otherwise is as
/// good as lost.
fn counters(evidence: &Evidence) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let (orphaned, invalid) = (tally.stores_orphaned, tally.stores_invalid);
    let all = tally.stores_applied + orphaned + invalid;
    let share = |refused: u64| refused as f64 / all.max(1) as f64;
    // A worker that starts, or a router, refuses stores for a moment.
    if all < limits.min_stores || evidence.unsettled().is_some() {
        return None;
    }
    let source = "routers' counters (kv_cache_events_applied)";
    let proof = |claim: &str, count: u64| {
        Proof::new(claim, format!("{} of {}", thousands(count), thousands(all)), source)
            .at(evidence.at)
    };
    let (refused, proof) = if (limits.loss_share..limits.all_share).contains(&share(orphaned)) {
        (orphaned, proof("stores refused for want of a parent", orphaned))
    } else if share(invalid) >= limits.loss_share {
        (invalid, proof("stores refused as invalid, or for want of room", invalid))
    } else {
        return None;
    };
    let summary = format!(
        "KV events are lost: routers refused {} of {} stores.",
        thousands(refused),
        thousands(all)
    );
    Some(lost(evidence, summary, Grade::Likely, proof, []))
}

fn lost<'a>(
    evidence: &Evidence,
    summary: String,
    grade: Grade,
    proof: Proof,
    by: impl IntoIterator<Item = &'a RankEvidence>,
) -> Verdict {
    Finding::new(Severity::Warning, grade, summary, vec![proof])
        .means(
            "The router does not find part of what is cached.",
            "A publisher that was restarted.",
        )
        .rather_than("KVT007: a router without history lacks blocks stored before it started.")
        .mended_by(
            format!("{}; look at slow consumers on NATS.", evidence.buffer_advice()),
            "every worker whose settings change",
        )
        .about(by)
        .into()
}
