//! Block size mismatches that routers' logs alone show, while no KV event reaches kvtop.

use super::fixes::worker_fix;
use super::{INDEX_EMPTY, Mismatch};
use crate::diagnose::Origin;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Finding, Proof};
use crate::domain::{Grade, Severity};
use crate::dynamo::variable;

/// Finds a difference between engine and publisher in a router's warnings: a store that is rejected with
/// `num_blocks=0` arrived empty.
pub(super) fn heard(evidence: &Evidence) -> Option<Mismatch> {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let (empty, all) = (tally.parent_empty, tally.parent_empty + tally.parent_full);
    let overlap = tally.overlaps.best();
    // A router without history rejects full stores, and now and then the empty end of one.
    let empties = empty >= limits.min_stores && empty as f64 >= limits.all_share * all as f64;
    if tally.events > 0 || !empties || overlap.known > overlap.zero {
        return None;
    }
    let mut proofs = vec![
        Proof::new(
            measure::PARENT_WARNINGS,
            phrase!("{} of {} with num_blocks=0", Count(empty), Count(all)),
            Origin::RouterLogs,
        )
        .heard(evidence.router.heard.parent),
    ];
    if overlap.known > 0 {
        // Any request with a cache hit has ended this function above.
        let value = phrase!("0 of {} requests", Count(overlap.known));
        let proof = Proof::new(measure::CACHE_HITS, value, Origin::RouterLogs);
        proofs.push(proof.heard(evidence.router.heard.routed));
    }
    if tally.remove > 0 {
        let claim = measure::REMOVE_WARNINGS;
        let proof = Proof::new(claim, phrase!("{}", Count(tally.remove)), Origin::RouterLogs);
        proofs.push(proof.heard(evidence.router.heard.remove));
    }
    if let Some(inferred) = evidence.router.inferred {
        proofs.push(evidence.cost_proof(inferred.tokens));
    }
    let (fix, target) = worker_fix(evidence, None, &[], &[]);
    let finding = Finding {
        severity: Severity::Critical,
        grade: Grade::Likely,
        summary: phrase!(
            "Block sizes differ between the workers' publishers and engines: the router rejected {} empty store \
             events.",
            Count(empty)
        ),
        effect: INDEX_EMPTY.into(),
        proofs,
        refuted_by: "Store events with blocks from the same workers.".into(),
        competing: vec![
            "KVT016: the size declared on the frontend cannot empty store events; workers do not \
                         read it."
                .into(),
            "KVT007: a router without history rejects store events that do contain blocks.".into(),
        ],
        fix: Some(fix),
        subjects: Vec::new(),
        by_itself: false,
        of_routers: false,
    };
    Some(Mismatch { finding, target })
}

/// Returns the facts in the logs, and the input that is needed to judge.
pub(super) fn missing(evidence: &Evidence) -> Phrase {
    let tally = &evidence.router.tally;
    let overlap = tally.overlaps.best();
    let mut told = Vec::new();
    if let Some(inferred) = evidence.router.inferred {
        let (tokens, samples) = (inferred.tokens, inferred.samples);
        told.push(phrase!(
            "the router hashes {}-token blocks (from {} costs)",
            tokens,
            Count(samples)
        ));
    }
    if overlap.known > 0 {
        told.push(phrase!(
            "{} of {} requests had no cache hit",
            Count(overlap.zero),
            Count(overlap.known)
        ));
    }
    let (full, unsaid) = (tally.parent_full, tally.parent_unsaid);
    if full + unsaid > 0 {
        told.push(phrase!(
            "{} stores were rejected because the parent block is unknown",
            Count(full + unsaid)
        ));
    }
    if tally.parent_empty > 0 {
        told.push(phrase!(
            "{} rejected stores were empty (at least {} needed)",
            Count(tally.parent_empty),
            evidence.thresholds.min_parent_warnings
        ));
    } else if tally.remove > 0 && full + unsaid == 0 {
        told.push(phrase!(
            "{} removals were of unknown blocks, and no store was rejected",
            Count(tally.remove)
        ));
    }
    if told.is_empty() {
        return nothing_of_sizes(evidence);
    }
    let told = Phrase::joined(", ", told);
    phrase!(
        "{}; the cause needs \"Failed to find parent block\" lines that name num_blocks, workers' logs from \
         their start, or KV events",
        told
    )
}

/// Returns the input that is needed if the logs say nothing about block sizes.
fn nothing_of_sizes(evidence: &Evidence) -> Phrase {
    let routed = evidence.router.tally.routed;
    if routed == 0 {
        return match evidence.router.told.routed {
            0 if evidence.router.heard.routed.is_some() => {
                Phrase::from("needs requests (none since the router started, or none lately)")
            }
            0 => Phrase::from("needs log lines of a router or a worker (none found)"),
            earlier => phrase!(
                "needs requests to workers that are there (the {} in the log went to workers that left)",
                Count(earlier)
            ),
        };
    }
    // From 1.1 on lines of decode routers end with the cost (dynamo-kv-router 1.1, `scheduling/selector.rs`).
    phrase!(
        "no data on cache hits: none of {} \"Selected worker\" lines names cached blocks (from Dynamo 1.1 on, \
         lines for decode workers do not); needs DEBUG lines ({}=debug on the frontend), workers' logs \
         from their start, or KV events",
        Count(routed),
        variable::LOG
    )
}
