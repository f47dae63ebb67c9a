//! KVT014: KV events are lost between workers and routers.

use crate::diagnose::Measure;
use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity};

pub(super) struct EventLoss;

impl Rule for EventLoss {
    fn id(&self) -> &'static str {
        "KVT014"
    }

    fn name(&self) -> &'static str {
        "event-loss"
    }

    fn about(&self) -> &'static str {
        "Some KV events never reach the router: stores that build on a lost block are rejected, and fewer \
         prefixes are found. TensorRT-LLM drops events when its buffer overflows (1024 events up to Dynamo \
         1.2); NATS core and ZMQ drop events for slow readers.\nDetected by any of these: gaps in the \
         publishers' event ids (0.1 % of messages); logged warnings about gaps; parents that a router lacks \
         although kvtop saw them stored while the router ran; with complete history, 5 % to 90 % of stores \
         rejected; the same share in the routers' own counters, or 5 % rejected as invalid or because the index \
         was full (kv_cache_events_applied, from 1.0 on). Not judged for messages that kvtop itself lost, could \
         not decode, or missed while it was disconnected. Not judged either if the routers' logs show no \
         rejected store, because then only kvtop may have missed the events.\nRaise event_buffer_max_size and \
         queue sizes, or upgrade to 1.3."
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let tally = &evidence.router.tally;
        if tally.gaps > 0 {
            let proof =
                Proof::new(measure::GAP_WARNINGS, phrase!("{}", Count(tally.gaps)), Origin::Logs);
            return lost(
                evidence,
                match tally.gaps {
                    1 => Phrase::from("Logs report a gap in KV events that was not filled."),
                    gaps => {
                        phrase!(
                            "Logs report {} gaps in KV events that were not filled.",
                            Count(gaps)
                        )
                    }
                },
                Grade::Confirmed,
                proof,
                [],
            )
            .into();
        }
        if let Some(told) = at_router(evidence).filter(|_| evidence.other_mode().is_none()) {
            return told;
        }
        // What routers count needs no event that kvtop sees.
        if let Some(told) = counters(evidence) {
            return told;
        }
        if tally.events == 0 {
            return Verdict::unknown("needs KV events (none in this window)");
        }
        if tally.dropped > 0 {
            return Verdict::unknown(phrase!(
                "cannot tell: kvtop itself lost {} messages",
                Count(tally.dropped)
            ));
        }
        if let Some(told) = holes(evidence) {
            return told;
        }
        refused(evidence)
    }
}

/// Judges the stores that kvtop's index copy rejects, of workers with complete history: any receiver of the
/// same events rejects them too.
fn refused(evidence: &Evidence) -> Verdict {
    let (limits, tally) = (&evidence.thresholds, &evidence.router.tally);
    let known = evidence.present().filter(|rank| rank.past_known);
    let (own, known): (Vec<_>, Vec<_>) = known.partition(|rank| evidence.may_be_own_loss(rank));
    // Mostly empty stores are a different fault of that worker.
    let counts = |rank: &RankEvidence| rank.tally.kv.counters;
    let judged = |rank: &RankEvidence| (rank.tally.kv.known_refused, rank.tally.kv.known_stores);
    let (hollow, known): (Vec<_>, Vec<_>) = known
        .into_iter()
        .partition(|rank| counts(rank).empty_stores * 2 >= counts(rank).stores.max(1));
    let stores: u64 = known.iter().map(|rank| judged(rank).1).sum();
    let refused: u64 = known.iter().map(|rank| judged(rank).0).sum();
    if stores < limits.min_stores {
        if let Some(rank) = own.first() {
            return Verdict::unknown(phrase!(
                "cannot tell: {} KV events of {} did not reach kvtop",
                Count(rank.id_holes),
                Evidence::name_of(rank)
            ));
        }
        if hollow.iter().any(|rank| counts(rank).stores > 0) {
            return Verdict::unknown("needs store events with blocks (most are empty)");
        }
        if known.is_empty() {
            return Verdict::unknown(
                "needs the complete history of more ranks: without it, a rejected store proves nothing",
            );
        }
        return Verdict::unknown(phrase!(
            "needs at least {} store events of ranks with complete history ({} so far)",
            Count(limits.min_stores),
            Count(stores)
        ));
    }
    let share = refused as f64 / stores as f64;
    if share >= limits.loss_share {
        let value = phrase!("{} of {}", Count(refused), Count(stores));
        let proof =
            Proof::new(measure::STORES_REJECTED, value.clone(), Origin::IndexCopy).at(evidence.at);
        let summary = phrase!(
            "KV events are being lost: {} stores refer to parent blocks that never arrived.",
            value
        );
        let by = known.into_iter().filter(|rank| {
            let (refused, stores) = judged(rank);
            refused > 0 && refused as f64 >= limits.loss_share * stores as f64
        });
        return lost(evidence, summary, Grade::Likely, proof, by).into();
    }
    Verdict::clear(phrase!(
        "kvtop's copy rejected {} of {} stores, and {} messages are missing",
        Count(refused),
        Count(stores),
        Count(tally.lost)
    ))
}

/// Judges gaps in the publishers' message numbers: did kvtop lose these messages, or the router too?
fn holes(evidence: &Evidence) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    // An undecodable message leaves a gap in the numbers as well.
    let gone = tally.lost.saturating_sub(tally.unreadable);
    let all = gone + tally.messages;
    let share = gone as f64 / all as f64;
    let value = phrase!("{} of {}", Count(gone), Count(all));
    if share >= limits.gap_share && gone >= 2 {
        if evidence.hears_router() && tally.refused() == 0 {
            return Some(Verdict::unknown(phrase!(
                "cannot tell who lost events: {} messages did not reach kvtop, but routers lack no parent",
                value
            )));
        }
        let proof = Proof::new(measure::MESSAGES_MISSING, value.clone(), Origin::MessageNumbers);
        let summary = phrase!("KV events are being lost: {} messages are missing.", value);
        return Some(lost(evidence, summary, Grade::Likely, proof.at(evidence.at), []).into());
    }
    if tally.missed > 0 {
        return Some(Verdict::unknown(phrase!(
            "cannot tell: kvtop missed {} messages while it was disconnected",
            Count(tally.missed)
        )));
    }
    (tally.lost > 0 && tally.unreadable > 0).then(|| {
        Verdict::unknown(phrase!(
            "cannot tell: {} messages could not be decoded",
            Count(tally.unreadable)
        ))
    })
}

/// Judges blocks that routers lack although kvtop saw them stored while the routers ran: routers lost these events.
fn at_router(evidence: &Evidence) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let (tally, total) = (&evidence.router.tally, evidence.total());
    // Every receiver rejects a store whose parent had just been removed.
    let count = tally.parent_after.saturating_sub(total.kv.counters.refused_stores);
    let share = count as f64 >= limits.loss_share * total.kv.full_stores() as f64;
    if count < 2 || (count < limits.min_parent_warnings && !share) {
        return None;
    }
    let claim = measure::REJECTED_ON_KNOWN_BLOCKS;
    let source = Origin::Several(&[Origin::RouterLogs, Origin::KvEvents]);
    let proof =
        Proof::new(claim, phrase!("{}", Count(count)), source).heard(evidence.router.heard.parent);
    let finding = Finding::new(
        Severity::Warning,
        Grade::Confirmed,
        phrase!("Routers lose KV events: they rejected {} stores that build on blocks published while they ran.", Count(count)),
        vec![proof],
    )
    .means(
        "The router does not find some of the cached blocks.",
        "A router that started after those blocks were stored (KVT007).",
    )
    .rather_than("KVT007: a router without history lacks blocks stored before it started.")
    .mended_by(
        "Give the frontend more CPU, so that it reads events in time, and check NATS for slow consumers.",
        "restart of the frontend when its resources change",
    )
    .of_routers();
    Some(finding.into())
}

/// Judges the routers' own counters. Events are missing if some stores were rejected because of unknown
/// parents, but not so many that the index is empty for another reason. Stores rejected as invalid count as
/// lost.
fn counters(evidence: &Evidence) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let (orphaned, invalid) = (tally.own.stores_orphaned, tally.own.stores_invalid);
    // Stores without blocks are rejected for their parents too, and no event was lost for that.
    let sent = evidence.total().kv.counters;
    let hollow = sent.empty_stores as f64 >= limits.loss_share * sent.stores.max(1) as f64;
    let all = tally.own.stores_applied + orphaned + invalid;
    let share = |refused: u64| refused as f64 / all.max(1) as f64;
    // Shortly after a worker or a router starts, rejected stores are normal.
    if all < limits.min_stores || evidence.uncounted().is_some() {
        return None;
    }
    let proof = |measure: Measure, count: u64| {
        Proof::new(measure, phrase!("{} of {}", Count(count), Count(all)), Origin::RouterCounters)
            .at(evidence.at)
    };
    let (refused, proof) =
        if !hollow && (limits.loss_share..limits.all_share).contains(&share(orphaned)) {
            (orphaned, proof(measure::STORES_REJECTED_FOR_PARENT, orphaned))
        } else if share(invalid) >= limits.loss_share {
            (invalid, proof(measure::STORES_REJECTED_INVALID, invalid))
        } else {
            return None;
        };
    let summary = phrase!(
        "KV events are being lost: routers rejected {} of {} stores.",
        Count(refused),
        Count(all)
    );
    Some(lost(evidence, summary, Grade::Likely, proof, []).of_routers().into())
}

fn lost<'a>(
    evidence: &Evidence,
    summary: Phrase,
    grade: Grade,
    proof: Proof,
    by: impl IntoIterator<Item = &'a RankEvidence>,
) -> Finding {
    Finding::new(Severity::Warning, grade, summary, vec![proof])
        .means("The router does not find some of the cached blocks.", "A publisher that restarted.")
        .rather_than("KVT007: a router without history lacks blocks stored before it started.")
        .mended_by(
            phrase!("{}. Also check NATS for slow consumers.", evidence.buffer_advice()),
            "rolling restart of every worker whose settings change",
        )
        .about(by)
}
