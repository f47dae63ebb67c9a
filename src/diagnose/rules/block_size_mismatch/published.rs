//! Between engine and publisher: what stores show.

use super::fixes::worker_fix;
use super::{INDEX_EMPTY, Mismatch};
use crate::diagnose::evidence::{Evidence, Ground, RankEvidence, SizeClaim};
use crate::diagnose::fix::Fix;
use crate::diagnose::{Finding, Proof, workers_of};
use crate::domain::{ClaimOf, Grade, Severity, WorkerId, thousands};
use crate::model::Tally;

/// Engine and publisher differ, as stores show.
pub(super) fn published(evidence: &Evidence) -> Option<Mismatch> {
    let fault = Fault::look(evidence)?;
    let some = !fault.some.is_empty();
    let mut proofs = published_proofs(evidence, &fault);
    let behaviours = proofs.len();
    let concerns = |claim: &SizeClaim| !some || fault.concerns(claim.worker);
    let split: Vec<_> =
        evidence.split_workers().into_iter().filter(|(_, engine)| concerns(engine)).collect();
    let said = split.iter().find(|(_, engine)| engine.ground == Ground::Observed);
    split_proofs(evidence, &split, &mut proofs);
    let outgrown: Vec<_> =
        evidence.outgrown().into_iter().filter(|(_, block)| concerns(block)).collect();
    if said.is_none() {
        for (publisher, block) in outgrown.iter().take(4) {
            let who = block.who(evidence);
            proofs.push(publisher.proof(format!("publisher block size, {who}")));
            proofs.push(block.proof(format!("largest block of the engine, {who}")));
        }
    }
    let garbage = evidence.absurd_sizes().filter(|claim| concerns(claim));
    proofs.extend(garbage.take(4).map(|claim| {
        let who = claim.who(evidence);
        claim.proof(format!("no block size, {} of {who}", claim.of.name()))
    }));
    let tally = &evidence.router.tally;
    // Whose removals a router misses its log does not always say.
    let heard = tally.parent_empty > 0 || (!some && tally.remove > 0);
    let both = behaviours > 0 && (said.is_some() || !outgrown.is_empty() || heard);
    let sizes = Sizes {
        named: said.or(split.first()).copied(),
        more_than: outgrown.first().map(|(publisher, _)| publisher.tokens),
    };
    let corrupt = evidence
        .absurd_sizes()
        .find(|claim| claim.of == ClaimOf::Publisher && claim.tokens > LARGEST && concerns(claim));
    let (fix, target) = match corrupt {
        Some(claim) => (upgrade(claim.tokens, &claim.who(evidence)), None),
        None => worker_fix(evidence, sizes.named, &fault.some),
    };
    let finding = Finding {
        severity: Severity::Critical,
        grade: if both { Grade::Confirmed } else { Grade::Likely },
        summary: corrupt.map_or_else(
            || published_summary(evidence, &sizes, &fault),
            |claim| corrupt_summary(evidence, claim, &fault),
        ),
        effect: published_effect(&fault),
        proofs,
        refuted_by: "Stores that hold blocks, from the same workers.".into(),
        competing: vec![
            "KVT016: the size declared on the frontend cannot empty a store; workers publish without it."
                .into(),
            "KVT007: a router without history misses the parents of stores that do hold blocks.".into(),
        ],
        fix: Some(fix),
        subjects: workers_of(fault.some.iter().copied()),
    };
    Some(Mismatch { finding, target })
}

/// Adds who names the sizes of workers whose publisher and engine differ.
fn split_proofs(evidence: &Evidence, split: &[(&SizeClaim, &SizeClaim)], proofs: &mut Vec<Proof>) {
    for (publisher, engine) in split.iter().take(4) {
        let who = engine.who(evidence);
        proofs.push(publisher.proof(format!("publisher block size, {who}")));
        // Whoever names the engine's size, once each: the setting that is to change among them.
        let alike =
            |claim: &&SizeClaim| claim.about() == engine.about() && claim.tokens == engine.tokens;
        let others = evidence.sizes_of(ClaimOf::Engine).filter(alike);
        for claim in std::iter::once(*engine).chain(others) {
            let proof = claim.proof(format!("engine block size, {who}"));
            if !proofs.contains(&proof) {
                proofs.push(proof);
            }
        }
    }
}

fn published_effect(fault: &Fault<'_>) -> String {
    match fault.names().as_slice() {
        [] => INDEX_EMPTY.into(),
        names => format!(
            "The router's index holds nothing of {}: no request is routed there for a prefix that is \
             cached there. What hits, hits by chance.",
            names.join(", ")
        ),
    }
}

fn corrupt_summary(evidence: &Evidence, claim: &SizeClaim, fault: &Fault<'_>) -> String {
    format!(
        "The publisher of {} compares with {} tokens per block, which is no block size but corrupted memory: {}.",
        claim.who(evidence),
        thousands(claim.tokens.into()),
        fault.seen()
    )
}

/// No engine has larger blocks; more was read from memory that is not the setting's.
const LARGEST: u32 = 65_536;

/// Bindings of Dynamo 0.7 passed the size on wrongly (ai-dynamo/dynamo, issue 5015).
fn upgrade(tokens: u32, who: &str) -> Fix {
    Fix {
        sentence: format!(
            "Upgrade Dynamo on {who}: its bindings corrupt the block size ({tokens}), as those of 0.7 did. No \
             setting fixes it."
        ),
        restarts: format!("Rolling restart of {who}; each worker loses its KV cache."),
        ..Fix::default()
    }
}

/// What is known of the engine's size where it is not the publisher's.
struct Sizes<'a> {
    /// The publisher's size and the engine's.
    named: Option<(&'a SizeClaim, &'a SizeClaim)>,
    /// The publisher's size, where the engine sends larger blocks.
    more_than: Option<u32>,
}

/// Whose stores show that engine and publisher differ.
pub(super) struct Fault<'a> {
    /// The ranks, where others publish well; none when it is everybody's.
    some: Vec<&'a RankEvidence>,
    /// Their counts.
    counted: Tally,
    /// Stores arrive without blocks.
    empties: bool,
    /// Removals arrive, and no stores with blocks.
    removals: bool,
}

impl<'a> Fault<'a> {
    fn look(evidence: &'a Evidence) -> Option<Self> {
        let publishes = |rank: &RankEvidence| evidence.is_publishing(&rank.tally);
        if evidence.present().any(publishes)
            && let Some(fault) = Self::of_some(evidence)
        {
            return Some(fault);
        }
        Self::of_all(evidence)
    }

    /// Looks at each rank by itself: what others publish says nothing of it.
    fn of_some(evidence: &'a Evidence) -> Option<Self> {
        let empties = |rank: &RankEvidence| are_empty(evidence, &rank.tally);
        let well = |worker: WorkerId| {
            let mut ranks = evidence.present().filter(|rank| rank.rank.worker == worker);
            ranks.any(|rank| evidence.is_publishing(&rank.tally))
        };
        let said = |rank: &RankEvidence| {
            let worker = rank.rank.worker;
            log_says(evidence, worker, rank.tally.routed) && !well(worker)
        };
        let removals = |rank: &RankEvidence| {
            // Who only decodes may well store nothing; no router looks for what it has cached.
            let (routed, overlap) = (rank.tally.routed, rank.tally.overlap());
            let asked = routed >= evidence.thresholds.min_routed_removals
                && overlap.known > 0
                && overlap.known == overlap.zero;
            removes_only(evidence, &rank.tally) && (asked || said(rank))
        };
        let some: Vec<&RankEvidence> = evidence
            .present()
            .filter(|rank| empties(rank) || removals(rank) || said(rank))
            .collect();
        let mut counted = Tally::default();
        for rank in &some {
            counted.add(&rank.tally);
        }
        let empties = some.iter().any(|rank| empties(rank));
        let removals = !empties && some.iter().any(|rank| removals(rank));
        (!some.is_empty()).then_some(Self { some, counted, empties, removals })
    }

    fn of_all(evidence: &'a Evidence) -> Option<Self> {
        let total = evidence.total();
        let worst = evidence
            .present()
            .filter(|rank| are_empty(evidence, &rank.tally))
            .max_by_key(|rank| rank.tally.counters.empty_stores);
        let empties = worst.is_some() || are_empty(evidence, &total);
        let overlap = evidence.router.tally.overlaps.best();
        let removals = removes_only(evidence, &total)
            && evidence.router.tally.routed >= evidence.thresholds.min_routed_removals
            && overlap.known == overlap.zero;
        let mut split = evidence.split_workers().into_iter();
        let said = split.any(|(_, engine)| engine.ground == Ground::Observed)
            || !evidence.outgrown().is_empty();
        if !(empties || removals || (said && !evidence.is_publishing(&total))) {
            return None;
        }
        let counted = match worst {
            Some(rank) if !are_empty(evidence, &total) => rank.tally,
            _ => total,
        };
        Some(Self { some: Vec::new(), counted, empties, removals })
    }

    /// Returns true when it is of `worker`.
    fn concerns(&self, worker: Option<WorkerId>) -> bool {
        self.some.iter().any(|rank| Some(rank.rank.worker) == worker)
    }

    /// Returns what arrives in place of stores with blocks.
    fn seen(&self) -> String {
        let counters = &self.counted.counters;
        if self.empties {
            let (empty, stores) = (thousands(counters.empty_stores), thousands(counters.stores));
            format!("{empty} of {stores} stores arrived without blocks")
        } else if self.removals {
            let removed = thousands(counters.removed_blocks);
            format!("{removed} removals arrived and no store with blocks")
        } else {
            "no store with blocks arrived".to_owned()
        }
    }

    /// Returns the names of the ranks, where it is not everybody's.
    fn names(&self) -> Vec<String> {
        self.some.iter().map(|rank| Evidence::name_of(rank)).collect()
    }
}

/// Stores arrive, and at least half of them hold no blocks.
fn are_empty(evidence: &Evidence, tally: &Tally) -> bool {
    let limits = &evidence.thresholds;
    let (stores, empty) = (tally.counters.stores, tally.counters.empty_stores);
    stores >= limits.min_stores && empty as f64 >= limits.empty_share * stores as f64
}

/// Returns true when the log of `worker` says that engine and publisher differ: in a line about a block that
/// was not published, or in what it printed at its start, once requests came.
fn log_says(evidence: &Evidence, worker: WorkerId, routed: u64) -> bool {
    let served = routed >= evidence.thresholds.min_routed_removals;
    let split = evidence.split_workers().into_iter().any(|(publisher, engine)| {
        let one_line = publisher.raw == engine.raw;
        engine.worker == Some(worker) && engine.ground == Ground::Observed && (one_line || served)
    });
    split || evidence.outgrown().iter().any(|(_, block)| block.worker == Some(worker))
}

/// Removals of blocks that nobody stored arrive, and no stores.
fn removes_only(evidence: &Evidence, tally: &Tally) -> bool {
    let counters = &tally.counters;
    tally.full_stores() == 0
        && counters.unknown_removals >= evidence.thresholds.min_removals
        && counters.unknown_removals == counters.removed_blocks
}

fn published_proofs(evidence: &Evidence, fault: &Fault<'_>) -> Vec<Proof> {
    let Fault { some, counted, empties, removals } = fault;
    let plane = evidence.plane.name.as_deref().unwrap_or("events").to_owned();
    let counters = &counted.counters;
    let mut proofs = Vec::new();
    if *empties {
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
    if *removals {
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
    if some.is_empty() && heard.remove > 0 {
        let claim = "\"Failed to find block to remove\"";
        let proof = Proof::new(claim, thousands(heard.remove), "routers' logs");
        proofs.push(proof.heard(evidence.router.heard.remove));
    }
    let source = "routers' counters (kv_cache_events_applied)";
    for (claim, refused, applied) in [
        ("stores refused for want of a parent", heard.stores_orphaned, heard.stores_applied),
        ("removals of unknown blocks", heard.removals_missing, heard.removals_applied),
    ] {
        if some.is_empty() && refused > 0 {
            let value = format!("{} of {}", thousands(refused), thousands(refused + applied));
            proofs.push(Proof::new(claim, value, source).at(evidence.at));
        }
    }
    if let Some(inferred) = evidence.router.inferred {
        proofs.push(evidence.cost_proof(inferred.tokens));
    }
    proofs
}

fn published_summary(evidence: &Evidence, sizes: &Sizes<'_>, fault: &Fault<'_>) -> String {
    let seen = fault.seen();
    let names = fault.names();
    let (publishers, engines) = match names.as_slice() {
        [] => ("Workers publish".to_owned(), "engines cut"),
        [name] => (format!("{name} publishes"), "its engine cuts"),
        names => (format!("{} publish", names.join(", ")), "their engines cut"),
    };
    let told = evidence.worker_size().map(|claim| claim.tokens);
    match (sizes.named, sizes.more_than, told) {
        (Some((publisher, engine)), ..) => format!(
            "{publishers} blocks of {} tokens, {engines} {}: {seen}.",
            publisher.tokens, engine.tokens
        ),
        (None, Some(size), _) => format!(
            "{publishers} blocks of {size} tokens, {engines} another size, more than {size}: {seen}."
        ),
        (None, None, Some(size)) => {
            format!("{publishers} blocks of {size} tokens, {engines} another size: {seen}.")
        }
        (None, None, None) => match names.as_slice() {
            [] => format!("Publishers and engines of workers differ in block size: {seen}."),
            names => {
                format!("Publisher and engine differ in block size, {}: {seen}.", names.join(", "))
            }
        },
    }
}
