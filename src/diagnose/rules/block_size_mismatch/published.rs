//! Between engine and publisher: what stores show.

use super::INDEX_EMPTY;
use super::fixes::worker_fix;
use crate::diagnose::evidence::{Evidence, Ground, SizeClaim};
use crate::diagnose::{Finding, Proof};
use crate::domain::{Grade, Severity, thousands};
use crate::model::Tally;

/// Returns true when stores arrive with blocks in them.
pub(super) fn is_publishing(evidence: &Evidence, total: &Tally) -> bool {
    let empty = total.counters.empty_stores as f64;
    let stores = total.counters.stores as f64;
    total.full_stores() >= 5 && empty < evidence.thresholds.empty_share_well * stores
}

/// Engine and publisher differ, as stores show.
pub(super) fn published(evidence: &Evidence) -> Option<Finding> {
    let limits = &evidence.thresholds;
    let bad = |tally: &Tally| {
        let (stores, empty) = (tally.counters.stores, tally.counters.empty_stores);
        stores >= limits.min_stores && empty as f64 >= limits.empty_share * stores as f64
    };
    let total = evidence.total();
    let worst = evidence
        .present()
        .filter(|rank| bad(&rank.tally))
        .max_by_key(|rank| rank.tally.counters.empty_stores);
    let empties = worst.is_some() || bad(&total);
    let removals = only_removals(evidence, &total);
    let split = evidence.split_workers();
    let said = split.iter().find(|(_, engine)| engine.ground == Ground::Observed);
    let healthy = is_publishing(evidence, &total);
    if !(empties || removals || (said.is_some() && !healthy)) {
        return None;
    }
    let counted = match worst {
        Some(rank) if !bad(&total) => &rank.tally,
        _ => &total,
    };
    let mut proofs = published_proofs(evidence, counted, empties, removals);
    let behaviours = proofs.len();
    for (publisher, engine) in split.iter().take(4) {
        let who = engine.who(evidence);
        proofs.push(publisher.proof(format!("publisher block size, {who}")));
        proofs.push(engine.proof(format!("engine block size, {who}")));
    }
    let heard = evidence.router.tally.parent_empty + evidence.router.tally.remove > 0;
    let both = behaviours > 0 && (said.is_some() || heard);
    let sizes = said.or(split.first()).copied();
    Some(Finding {
        severity: Severity::Critical,
        grade: if both { Grade::Confirmed } else { Grade::Likely },
        summary: published_summary(evidence, sizes, counted, empties, removals),
        effect: INDEX_EMPTY.into(),
        proofs,
        refuted_by: "Stores that hold blocks, from the same workers.".into(),
        competing: vec![
            "KVT016: the size declared on the frontend cannot empty a store; workers publish without it."
                .into(),
            "KVT007: a router without history misses the parents of stores that do hold blocks.".into(),
        ],
        fix: Some(worker_fix(evidence, sizes)),
    })
}

/// Removals of blocks that nobody stored, and no stores, while requests are served.
fn only_removals(evidence: &Evidence, total: &Tally) -> bool {
    let limits = &evidence.thresholds;
    let counters = &total.counters;
    let overlap = evidence.router.tally.overlaps.best();
    let served = evidence.router.tally.routed >= limits.min_routed_removals;
    total.full_stores() == 0
        && counters.unknown_removals >= limits.min_removals
        && counters.unknown_removals == counters.removed_blocks
        && served
        && overlap.known == overlap.zero
}

fn published_proofs(
    evidence: &Evidence,
    counted: &Tally,
    empties: bool,
    removals: bool,
) -> Vec<Proof> {
    let plane = evidence.plane.name.as_deref().unwrap_or("events").to_owned();
    let counters = &counted.counters;
    let mut proofs = Vec::new();
    if empties {
        let value =
            format!("{} of {}", thousands(counters.empty_stores), thousands(counters.stores));
        proofs.push(Proof::new("stores without blocks", value, plane.clone()).at(evidence.at));
        // Else the two shares, of empty stores and of refused ones, seem to contradict each other.
        let (empty, refused) = (counters.empty_stores, counters.refused_stores);
        if refused > 0 && refused < empty && empty == counters.stores {
            let value = format!(
                "{} of {}; the other {} begin a prompt and name no parent",
                thousands(refused),
                thousands(empty),
                thousands(empty - refused)
            );
            let claim = "of those, refused for want of a parent";
            proofs.push(Proof::new(claim, value, "mirror").at(evidence.at));
        }
    }
    if removals {
        let value = format!(
            "{} removed blocks, all unknown; {} stores with blocks",
            thousands(counters.removed_blocks),
            thousands(counted.full_stores())
        );
        proofs.push(Proof::new("removals without stores", value, plane).at(evidence.at));
    }
    let heard = &evidence.router.tally;
    if heard.parent_empty > 0 {
        let value = format!("{} with num_blocks=0", thousands(heard.parent_empty));
        let proof = Proof::new("\"Failed to find parent block\"", value, "routers' logs");
        proofs.push(proof.heard(evidence.router.heard.parent));
    }
    if heard.remove > 0 {
        let claim = "\"Failed to find block to remove\"";
        let proof = Proof::new(claim, thousands(heard.remove), "routers' logs");
        proofs.push(proof.heard(evidence.router.heard.remove));
    }
    let source = "routers' counters (kv_cache_events_applied)";
    for (claim, refused, applied) in [
        ("stores refused for want of a parent", heard.stores_orphaned, heard.stores_applied),
        ("removals of unknown blocks", heard.removals_missing, heard.removals_applied),
    ] {
        if refused > 0 {
            let value = format!("{} of {}", thousands(refused), thousands(refused + applied));
            proofs.push(Proof::new(claim, value, source).at(evidence.at));
        }
    }
    if let Some(inferred) = evidence.router.inferred {
        proofs.push(evidence.cost_proof(inferred.tokens));
    }
    proofs
}

fn published_summary(
    evidence: &Evidence,
    sizes: Option<(&SizeClaim, &SizeClaim)>,
    counted: &Tally,
    empties: bool,
    removals: bool,
) -> String {
    let counters = &counted.counters;
    let seen = if empties {
        format!(
            "{} of {} stores arrived without blocks",
            thousands(counters.empty_stores),
            thousands(counters.stores)
        )
    } else if removals {
        format!("{} removals arrived and no store with blocks", thousands(counters.removed_blocks))
    } else {
        "no store with blocks arrived".to_owned()
    };
    match sizes {
        Some((publisher, engine)) => format!(
            "Workers publish blocks of {} tokens, engines cut {}: {seen}.",
            publisher.tokens, engine.tokens
        ),
        None => match evidence.worker_size() {
            Some(claim) => format!(
                "Workers publish blocks of {} tokens, engines cut another size: {seen}.",
                claim.tokens
            ),
            None => {
                format!("Publishers and engines of workers differ in block size: {seen}.")
            }
        },
    }
}
