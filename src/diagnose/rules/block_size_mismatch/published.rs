//! Block size mismatches between engine and publisher that KV events show.

use std::collections::BTreeSet;

use super::fixes::worker_fix;
use super::{INDEX_EMPTY, Mismatch};
use crate::diagnose::Origin;
use crate::diagnose::evidence::{Evidence, Ground, RankEvidence, SizeClaim};
use crate::diagnose::fix::Fix;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Finding, Proof, workers_of};
use crate::domain::{ClaimOf, Grade, Plane, Severity, WorkerId};
use crate::model::Tally;

/// Finds workers whose KV events show that engine and publisher use different block sizes.
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
            proofs.push(publisher.proof(measure::PUBLISHER_BLOCK_SIZE.of(&who)));
            proofs.push(block.proof(measure::LARGEST_BLOCK.of(&who)));
        }
    }
    let garbage = evidence.absurd_sizes().filter(|claim| concerns(claim));
    proofs.extend(garbage.take(4).map(|claim| {
        let who = claim.who(evidence);
        claim.proof(measure::IMPLAUSIBLE_BLOCK_SIZE.of(phrase!("{} of {}", claim.of.name(), who)))
    }));
    let tally = &evidence.router.tally;
    // A router's log does not always name the worker of an unknown removal.
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
        None => worker_fix(evidence, sizes.named, &fault.some, &fault.names()),
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
        refuted_by: "Store events with blocks from the same workers.".into(),
        competing: vec![
            "KVT016: the size declared on the frontend cannot empty store events; workers do not \
                         read it."
                .into(),
            "KVT007: a router without history rejects store events that do contain blocks.".into(),
        ],
        fix: Some(fix),
        subjects: workers_of(fault.some.iter().copied()),
        by_itself: false,
        of_routers: false,
    };
    Some(Mismatch { finding, target })
}

/// Adds the sources that report the block sizes of workers whose publisher and engine differ.
fn split_proofs(evidence: &Evidence, split: &[(&SizeClaim, &SizeClaim)], proofs: &mut Vec<Proof>) {
    for (publisher, engine) in split.iter().take(4) {
        let who = engine.who(evidence);
        proofs.push(publisher.proof(measure::PUBLISHER_BLOCK_SIZE.of(&who)));
        // Every source of the engine's size, once each: the setting to change is among them.
        let alike =
            |claim: &&SizeClaim| claim.about() == engine.about() && claim.tokens == engine.tokens;
        let others = evidence.sizes_of(ClaimOf::Engine).filter(alike);
        for claim in std::iter::once(*engine).chain(others) {
            let proof = claim.proof(measure::ENGINE_BLOCK_SIZE.of(&who));
            if !proofs.contains(&proof) {
                proofs.push(proof);
            }
        }
    }
}

fn published_effect(fault: &Fault<'_>) -> Phrase {
    match fault.names().as_slice() {
        [] => INDEX_EMPTY.into(),
        names => phrase!(
            "The router's index holds no blocks of {}, so no request is routed there for a cached prefix.",
            names.join(", ")
        ),
    }
}

fn corrupt_summary(evidence: &Evidence, claim: &SizeClaim, fault: &Fault<'_>) -> Phrase {
    phrase!(
        "The publisher of {} uses a block size of {} tokens, which must be corrupted memory. {}.",
        claim.who(evidence),
        Count(claim.tokens.into()),
        fault.seen()
    )
}

/// The number of store events, all of them empty, that casts doubt on a rank. A single empty one may be the partial
/// block of a short prompt.
const HINTS: u64 = 5;

/// No engine has larger blocks; a larger value was read from the wrong memory.
const LARGEST: u32 = 65_536;

/// Returns the fix for bindings that pass on a wrong size, as those of Dynamo 0.7 did (ai-dynamo/dynamo, issue 5015).
fn upgrade(tokens: u32, who: &str) -> Fix {
    Fix {
        sentence: phrase!(
            "Upgrade Dynamo on {}: its bindings corrupt the block size ({}), as Dynamo 0.7 did. No \
             setting fixes this.",
            who,
            tokens
        ),
        restarts: phrase!("rolling restart of {}; each worker loses its KV cache", who),
        ..Fix::default()
    }
}

/// The block sizes of publisher and engine, as far as they are known.
struct Sizes<'a> {
    /// The publisher's size and the engine's.
    named: Option<(&'a SizeClaim, &'a SizeClaim)>,
    /// The publisher's size, where the engine sends larger blocks.
    more_than: Option<u32>,
}

/// The ranks whose KV events show that engine and publisher differ.
pub(super) struct Fault<'a> {
    /// The affected ranks if other ranks publish correctly; empty if all are affected.
    some: Vec<&'a RankEvidence>,
    /// The pods of affected workers, where requests to others hit the cache and logs alone say which they are.
    pods: Vec<String>,
    /// Their workers.
    workers: BTreeSet<WorkerId>,
    /// Their counts.
    counted: Tally,
    /// Store events arrive empty.
    empties: bool,
    /// Removals arrive, but no store events with blocks.
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

    /// Judges each rank separately, since other ranks may publish correctly.
    fn of_some(evidence: &'a Evidence) -> Option<Self> {
        let empties = |rank: &RankEvidence| are_empty(evidence, &rank.tally);
        let well = evidence.present().filter(|rank| evidence.is_publishing(&rank.tally));
        let well: BTreeSet<WorkerId> = well.map(|rank| rank.rank.worker).collect();
        let logs = Logs::read(evidence);
        let said = |rank: &RankEvidence| {
            let served = rank.tally.requests.routed >= evidence.thresholds.min_routed_removals;
            logs.say(rank.rank.worker, served) && !well.contains(&rank.rank.worker) && is_bare(rank)
        };
        let removals = |rank: &RankEvidence| {
            // A decode-only worker may store nothing; no router looks up its cache.
            let (routed, overlap) = (rank.tally.requests.routed, rank.tally.requests.overlap());
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
        let workers = some.iter().map(|rank| rank.rank.worker).collect();
        let empties = some.iter().any(|rank| empties(rank));
        let removals = !empties && some.iter().any(|rank| removals(rank));
        let pods = Vec::new();
        (!some.is_empty()).then_some(Self { some, pods, workers, counted, empties, removals })
    }

    fn of_all(evidence: &'a Evidence) -> Option<Self> {
        let total = evidence.total();
        let worst = evidence
            .present()
            .filter(|rank| are_empty(evidence, &rank.tally))
            .max_by_key(|rank| rank.tally.kv.counters.empty_stores);
        let empties = worst.is_some() || are_empty(evidence, &total);
        let overlap = evidence.router.tally.overlaps.best();
        let removals = removes_only(evidence, &total)
            && evidence.router.tally.routed >= evidence.thresholds.min_routed_removals
            && overlap.known == overlap.zero;
        let mut split = evidence.split_workers().into_iter();
        let said = split.any(|(_, engine)| engine.ground == Ground::Observed)
            || !evidence.outgrown().is_empty();
        let bare = evidence.present().all(is_bare);
        if !(empties || removals || (said && bare && !evidence.is_publishing(&total))) {
            return None;
        }
        let counted = match worst {
            Some(rank) if !are_empty(evidence, &total) => rank.tally,
            _ => total,
        };
        let by_logs_alone = !empties && !removals;
        let some = if by_logs_alone { said_of_some(evidence) } else { Vec::new() };
        let workers = some.iter().map(|rank| rank.rank.worker).collect();
        let hits = overlap.known > overlap.zero;
        let pods =
            if by_logs_alone && hits && some.is_empty() { said_by(evidence) } else { Vec::new() };
        Some(Self { some, pods, workers, counted, empties, removals })
    }

    /// Returns true when the fault affects `worker`.
    fn concerns(&self, worker: Option<WorkerId>) -> bool {
        worker.is_some_and(|worker| self.workers.contains(&worker))
    }

    /// Describes the events that arrive in place of stores with blocks.
    fn seen(&self) -> Phrase {
        let counters = &self.counted.kv.counters;
        if self.empties {
            let (empty, stores) = (Count(counters.empty_stores), Count(counters.stores));
            let all = counters.empty_stores == counters.stores;
            let share =
                if all { phrase!("All {}", stores) } else { phrase!("{} of {}", empty, stores) };
            phrase!("{} store events arrived empty", share)
        } else if self.removals {
            let removed = Count(counters.removed_blocks);
            phrase!("{} removals arrived, but no store event with blocks", removed)
        } else {
            Phrase::from("No store event with blocks arrived")
        }
    }

    /// Returns the names of the affected ranks; empty if all are affected.
    fn names(&self) -> Vec<String> {
        let ranks = self.some.iter().map(|rank| Evidence::name_of(rank));
        ranks.chain(self.pods.iter().cloned()).collect()
    }
}

/// Returns the ranks of workers that are there and whose logs say that engine and publisher differ; none where all of
/// them say so, or none is known.
fn said_of_some(evidence: &Evidence) -> Vec<&RankEvidence> {
    let logs = Logs::read(evidence);
    let (said, others): (Vec<_>, Vec<_>) =
        evidence.present().partition(|rank| logs.say(rank.rank.worker, true));
    if others.is_empty() { Vec::new() } else { said }
}

/// Returns the names of the workers and pods whose logs say that engine and publisher differ.
fn said_by(evidence: &Evidence) -> Vec<String> {
    let observed = evidence.split_workers().into_iter();
    let observed = observed.filter(|(_, engine)| engine.ground == Ground::Observed);
    let names: BTreeSet<String> = observed
        .chain(evidence.outgrown())
        .map(|(_, claim)| claim.who(evidence).to_string())
        .collect();
    names.into_iter().collect()
}

/// Returns what is needed of a rank whose store events are all empty, while they are too few to judge it.
pub(super) fn too_few(evidence: &Evidence) -> Option<Phrase> {
    let all_empty = |rank: &&RankEvidence| {
        let stores = rank.tally.kv.counters.stores;
        stores >= HINTS && rank.tally.kv.full_stores() == 0 && rank.held == 0
    };
    let rank = evidence.present().find(all_empty)?;
    Some(phrase!(
        "needs at least {} store events of {}: all {} so far are empty",
        evidence.thresholds.min_stores,
        Evidence::name_of(rank),
        Count(rank.tally.kv.counters.stores)
    ))
}

/// Returns true for a rank of which no block is known. What a log says of sizes may be of an earlier process, and blocks
/// that were stored since say more.
fn is_bare(rank: &RankEvidence) -> bool {
    rank.held == 0 && rank.tally.kv.full_stores() == 0
}

/// Returns true when store events arrive and at least half of them are empty.
fn are_empty(evidence: &Evidence, tally: &Tally) -> bool {
    let limits = &evidence.thresholds;
    let (stores, empty) = (tally.kv.counters.stores, tally.kv.counters.empty_stores);
    stores >= limits.min_stores && empty as f64 >= limits.empty_share * stores as f64
}

/// The workers whose logs show that engine and publisher differ.
struct Logs {
    /// By a line about a dropped block.
    dropped: BTreeSet<WorkerId>,
    /// By the settings printed at start.
    set: BTreeSet<WorkerId>,
}

impl Logs {
    fn read(evidence: &Evidence) -> Self {
        let observed = evidence.split_workers().into_iter();
        let observed = observed.filter(|(_, engine)| engine.ground == Ground::Observed);
        let (lines, set): (Vec<_>, Vec<_>) =
            observed.partition(|(publisher, engine)| publisher.raw == engine.raw);
        let lines = lines.into_iter().chain(evidence.outgrown());
        let worker = |(_, claim): (&SizeClaim, &SizeClaim)| claim.worker;
        Self {
            dropped: lines.filter_map(worker).collect(),
            set: set.into_iter().filter_map(worker).collect(),
        }
    }

    /// Returns true when the log of `worker` says so. Settings count once it `served` requests.
    fn say(&self, worker: WorkerId, served: bool) -> bool {
        self.dropped.contains(&worker) || (served && self.set.contains(&worker))
    }
}

/// Returns true when only removals of unknown blocks arrive, and no store events.
fn removes_only(evidence: &Evidence, tally: &Tally) -> bool {
    let counters = &tally.kv.counters;
    tally.kv.full_stores() == 0
        && counters.unknown_removals >= evidence.thresholds.min_removals
        && counters.unknown_removals == counters.removed_blocks
}

fn published_proofs(evidence: &Evidence, fault: &Fault<'_>) -> Vec<Proof> {
    let Fault { some, counted, empties, removals, .. } = fault;
    let plane = evidence.plane.name.map_or("events", Plane::name);
    let counters = &counted.kv.counters;
    let mut proofs = Vec::new();
    if *empties {
        let value = phrase!("{} of {}", Count(counters.empty_stores), Count(counters.stores));
        proofs.push(Proof::new(measure::EMPTY_STORES, value, plane).at(evidence.at));
        // Without this row, the shares of empty and of rejected stores seem to contradict each other.
        let (empty, refused) = (counters.empty_stores, counters.refused_stores);
        if refused > 0 && refused < empty && empty == counters.stores {
            let others = match empty - refused {
                1 => Phrase::from("the other one starts a prompt, so it has no parent"),
                more => phrase!("the other {} start a prompt, so they have no parent", Count(more)),
            };
            let value = phrase!("{} of {}; {}", Count(refused), Count(empty), others);
            let claim = measure::EMPTY_STORES_REJECTED;
            proofs.push(Proof::new(claim, value, Origin::IndexCopy).at(evidence.at));
        }
    }
    if *removals {
        let value = phrase!(
            "{} removed blocks, all unknown; {} store events with blocks",
            Count(counters.removed_blocks),
            Count(counted.kv.full_stores())
        );
        proofs.push(Proof::new(measure::REMOVALS_WITHOUT_STORES, value, plane).at(evidence.at));
    }
    let heard = &evidence.router.tally;
    if heard.parent_empty > 0 {
        let value = phrase!("{} with num_blocks=0", Count(heard.parent_empty));
        let proof = Proof::new(measure::PARENT_WARNINGS, value, Origin::RouterLogs);
        proofs.push(proof.heard(evidence.router.heard.parent));
    }
    if some.is_empty() && heard.remove > 0 {
        let claim = measure::REMOVE_WARNINGS;
        let proof = Proof::new(claim, phrase!("{}", Count(heard.remove)), Origin::RouterLogs);
        proofs.push(proof.heard(evidence.router.heard.remove));
    }
    let source = Origin::RouterCounters;
    for (claim, refused, applied) in [
        (measure::STORES_REJECTED_FOR_PARENT, heard.own.stores_orphaned, heard.own.stores_applied),
        (
            measure::REMOVALS_OF_UNKNOWN_BLOCKS,
            heard.own.removals_missing,
            heard.own.removals_applied,
        ),
    ] {
        if some.is_empty() && refused > 0 {
            let value = phrase!("{} of {}", Count(refused), Count(refused + applied));
            proofs.push(Proof::new(claim, value, source.clone()).at(evidence.at));
        }
    }
    if let Some(inferred) = evidence.router.inferred {
        proofs.push(evidence.cost_proof(inferred.tokens));
    }
    proofs
}

fn published_summary(evidence: &Evidence, sizes: &Sizes<'_>, fault: &Fault<'_>) -> Phrase {
    let seen = fault.seen();
    let names = fault.names();
    let (publishers, engines, verb) = match names.as_slice() {
        [] => (Phrase::from("workers publish"), "engines", "use"),
        [name] => (phrase!("{} publishes", name), "its engine", "uses"),
        names => (phrase!("{} publish", names.join(", ")), "their engines", "use"),
    };
    let told = evidence.worker_size().map(|claim| claim.tokens);
    match (sizes.named, sizes.more_than, told) {
        (Some((publisher, engine)), ..) => phrase!(
            "Block sizes differ: {} {}-token blocks but {} {} {}. {}.",
            publishers,
            publisher.tokens,
            engines,
            verb,
            engine.tokens,
            seen
        ),
        (None, Some(size), _) => phrase!(
            "Block sizes differ: {} {}-token blocks but {} {} larger ones. {}.",
            publishers,
            size,
            engines,
            verb,
            seen
        ),
        (None, None, Some(size)) => {
            phrase!(
                "Block sizes differ: {} {}-token blocks, {} another size. {}.",
                publishers,
                size,
                engines,
                seen
            )
        }
        (None, None, None) => match names.as_slice() {
            [] => {
                phrase!("Block sizes differ between the workers' publishers and engines. {}.", seen)
            }
            names => phrase!(
                "Block sizes differ between publisher and engine on {}. {}.",
                names.join(", "),
                seen
            ),
        },
    }
}
