//! What routers' logs alone tell, where no KV event reaches kvtop.

use super::fixes::worker_fix;
use super::{INDEX_EMPTY, Mismatch};
use crate::diagnose::evidence::Evidence;
use crate::diagnose::{Finding, Proof};
use crate::domain::{Grade, Severity, thousands};

/// Engine and publisher differ, as a router's warnings show: a store that it refuses with `num_blocks=0`
/// arrived without blocks.
pub(super) fn heard(evidence: &Evidence) -> Option<Mismatch> {
    let limits = &evidence.thresholds;
    let tally = &evidence.router.tally;
    let (empty, all) = (tally.parent_empty, tally.parent_empty + tally.parent_full);
    let overlap = tally.overlaps.best();
    // A router without history refuses full stores, and now and then the empty end of one.
    let empties = empty >= limits.min_stores && empty as f64 >= limits.all_share * all as f64;
    if tally.events > 0 || !empties || overlap.known > overlap.zero {
        return None;
    }
    let mut proofs = vec![
        Proof::new(
            "\"Failed to find parent block\"",
            format!("{} of {} with num_blocks=0", thousands(empty), thousands(all)),
            "routers' logs",
        )
        .heard(evidence.router.heard.parent),
    ];
    if overlap.known > 0 {
        let value = format!("{} of {}", thousands(overlap.zero), thousands(overlap.known));
        let proof = Proof::new("requests without overlap", value, "routers' logs");
        proofs.push(proof.heard(evidence.router.heard.routed));
    }
    if tally.remove > 0 {
        let claim = "\"Failed to find block to remove\"";
        let proof = Proof::new(claim, thousands(tally.remove), "routers' logs");
        proofs.push(proof.heard(evidence.router.heard.remove));
    }
    if let Some(inferred) = evidence.router.inferred {
        proofs.push(evidence.cost_proof(inferred.tokens));
    }
    let (fix, target) = worker_fix(evidence, None, &[]);
    let finding = Finding {
        severity: Severity::Critical,
        grade: Grade::Likely,
        summary: format!(
            "Publishers and engines of workers differ in block size: the router refused {} stores \
             without blocks.", thousands(empty)
        ),
        effect: INDEX_EMPTY.into(),
        proofs,
        refuted_by: "Stores that hold blocks, in the KV events of the same workers.".into(),
        competing: vec![
            "KVT016: the size declared on the frontend cannot empty a store; workers publish without it."
                .into(),
            "KVT007: a router without history misses the parents of stores that do hold blocks.".into(),
        ],
        fix: Some(fix),
        subjects: Vec::new(),
    };
    Some(Mismatch { finding, target })
}

/// Returns what logs told, and what else would be needed to know more.
pub(super) fn missing(evidence: &Evidence) -> String {
    let tally = &evidence.router.tally;
    let overlap = tally.overlaps.best();
    let mut told = Vec::new();
    if let Some(inferred) = evidence.router.inferred {
        let (tokens, samples) = (inferred.tokens, inferred.samples);
        told.push(format!(
            "the router hashes blocks of {tokens} tokens (by {} costs)",
            thousands(samples)
        ));
    }
    if overlap.known > 0 {
        told.push(format!(
            "{} of {} requests found nothing",
            thousands(overlap.zero),
            thousands(overlap.known)
        ));
    }
    let (full, unsaid) = (tally.parent_full, tally.parent_unsaid);
    if full + unsaid > 0 {
        told.push(format!("stores refused for want of a parent: {}", thousands(full + unsaid)));
    }
    if tally.parent_empty > 0 {
        told.push(format!(
            "{} refused stores held no blocks, {} are needed to judge",
            thousands(tally.parent_empty),
            evidence.thresholds.min_parent_warnings
        ));
    } else if tally.remove > 0 && full + unsaid == 0 {
        told.push(format!(
            "{} removed blocks were unknown, and no store was refused",
            thousands(tally.remove)
        ));
    }
    if told.is_empty() {
        return nothing_of_sizes(evidence);
    }
    let told = told.join(", ");
    format!(
        "{told}; why cannot be told without \"Failed to find parent block\" lines that name num_blocks, \
         workers' logs from their start, or KV events"
    )
}

/// Returns what lines lack that tell nothing of sizes.
fn nothing_of_sizes(evidence: &Evidence) -> String {
    let routed = evidence.router.tally.routed;
    if routed == 0 {
        return "lines of a router or of workers: none was found".to_owned();
    }
    // From 1.1 on lines of decode routers end with the cost (dynamo-kv-router 1.1, `scheduling/selector.rs`).
    format!(
        "what requests found cached: {} \"Selected worker\" lines were read, and none names cached blocks \
         (those for decode workers do not from Dynamo 1.1 on); lines of level DEBUG do (DYN_LOG=debug on the \
         frontend), else workers' logs from their start, or KV events",
        thousands(routed)
    )
}
