//! Requests, as routers tell of them: choices of workers, lengths of prompts, blocks found cached.

use std::time::Duration;

use super::Learner;
use crate::domain::{
    ClaimOf, ClaimWhat, Decision, HitRate, KvKind, Overlap, Provenance, RequestEvent, RequestPhase,
    SourceName, Subject, Timestamp, WorkerRank,
};
use crate::engine::journal::Head;
use crate::engine::known::Index;
use crate::model::{LengthBy, Measured, OverlapBy, Prompts};
use crate::snapshot::{EventKind, Gravity};

/// Blocks that a worker must hold before a request without overlap says anything.
const WARM_ON_RANK: u64 = 10;

/// Events that wait to be applied which are looked at for that, the newest.
const WAITING: usize = 512;

/// Tokens of a large block: a shorter prompt may have no whole one while no source tells the size.
const LARGE_BLOCK: u64 = 128;

/// Chains are not followed for this long after a cache hit. A router that stops finding prefixes must be named
/// within the half minute that resolves and raises findings, and forks can be counted only after this.
const IDLE_AFTER_HIT: Duration = Duration::from_secs(5);

impl Learner<'_> {
    pub(super) fn hit_rate(&mut self, hit: &HitRate, at: Timestamp) {
        self.known.routing.decisions.length(hit, at);
        // The router of decode workers publishes its choices too, which find nothing.
        if self.only_decodes(hit.rank.worker, at) {
            return;
        }
        self.note_overlap(OverlapBy::Event, hit.rank, hit.overlap_blocks as f64, at);
        let (blocks, cached) = (hit.isl_blocks, hit.overlap_blocks.min(hit.isl_blocks));
        if blocks > 0 {
            let prompt = Prompts { count: 1.0, blocks: blocks as f64, cached: cached as f64 };
            self.note_prompt(hit.rank, LengthBy::HitRate, &prompt, at);
        }
        let (what, worker) = (ClaimWhat::BlockSize, [Subject::Worker(hit.rank.worker)]);
        let model = self.known.fleet.model(&worker);
        let size = self.known.fleet.claims.count_for(what, ClaimOf::Router, model.as_deref());
        let size = size.or_else(|| self.known.fleet.claims.count(what, ClaimOf::Card, &worker));
        let size = size.or_else(|| self.known.fleet.claims.any_count(what, ClaimOf::Card));
        let Some((size, _)) = size.filter(|_| hit.isl_blocks > 0) else { return };
        // The router rounds up to whole blocks.
        let most = hit.isl_blocks.saturating_mul(size);
        let least = most.saturating_sub(size).saturating_add(1);
        let Some(index) = self.known.fleet.workers.index_of(hit.rank) else { return };
        self.known
            .routing
            .prefixes
            .reuse
            .prompt(u32::try_from(index).unwrap_or(u32::MAX), least..=most);
    }

    /// Notes the length of a prompt that went to `rank`.
    fn note_prompt(&mut self, rank: WorkerRank, by: LengthBy, prompt: &Prompts, at: Timestamp) {
        let Some(index) = self.known.fleet.workers.index_of(rank) else { return };
        let Ok(number) = u32::try_from(index) else { return };
        self.known.routing.prefixes.curve.prompt(number, by, prompt, at);
    }

    pub(super) fn request(&mut self, request: &RequestEvent, at: Timestamp) {
        let is_answer = request.phase == RequestPhase::PrefillCompleted;
        self.router_counts(at).answered += u64::from(is_answer);
        let RequestPhase::Added { overlap, chain, full_blocks, .. } = &request.phase else {
            return;
        };
        if let Some(blocks) = overlap {
            self.note_overlap(OverlapBy::Request, request.rank, *blocks as f64, at);
        }
        let weight = self.known.index.explorer.follows(chain, at);
        if weight > 0 {
            // Blocks stored before the request were there for it, and later ones were not.
            self.apply_kv();
            let Index { explorer, mirror, .. } = &mut self.known.index;
            let own = explorer.asked(chain, request.rank, mirror, weight, at);
            let Some(blocks) = full_blocks.filter(|blocks| *blocks > 0) else { return };
            let cached = overlap.unwrap_or(own as u64).min(blocks);
            let weight = f64::from(weight);
            let prompt = Prompts {
                count: weight,
                blocks: blocks as f64 * weight,
                cached: cached as f64 * weight,
            };
            self.note_prompt(request.rank, LengthBy::Request, &prompt, at);
        }
    }

    pub(super) fn decision(&mut self, decision: &Decision, at: Timestamp, source: &SourceName) {
        if self.known.routing.decisions.repeats(decision, at) {
            return;
        }
        self.known.routing.router.pod(&decision.router).decide(decision.forwarded, at);
        self.known.routing.router.decisions += 1;
        self.known.fleet.workers.note_choice(decision);
        if decision.forwarded {
            return;
        }
        let weight = self.known.routing.router.weight_of(&decision.router);
        if let Some(cost) = decision.logit.filter(|_| weight.is_none()) {
            let others = &mut self.known.routing.router.pod(&decision.router).costs;
            self.known.fleet.workers.note_cost(decision.worker, cost, others);
        }
        // With disaggregation one request takes two choices, and only that of the prefill weighs what is cached.
        let second = self.known.routing.decisions.has_picked(decision)
            || self.only_decodes(decision.worker, at);
        let live = self.known.times.is_live(at);
        if !second {
            self.count_routed(live, at);
            let last_tree_size = &mut self.known.routing.router.last_tree_size;
            *last_tree_size = decision.tree_size.or(*last_tree_size);
        }
        let dp_rank = decision.dp_rank.unwrap_or_default();
        let rank = WorkerRank { worker: decision.worker, dp_rank };
        self.known.index.explorer.decided(decision, rank, &self.known.index.mirror, at);
        let cold = decision.logit.filter(|_| decision.cached_blocks == Some(0.0));
        let logit = cold.filter(|_| weight.is_none_or(is_one));
        let short = is_below_a_block(cold, weight);
        if let Some(index) = self.known.fleet.workers.index_of(rank) {
            self.known.record.meters.routed_to(index).add(at, 1);
            if let Some(counts) = self.counts_of(index, at) {
                counts.routed += 1;
                counts.short += u64::from(short);
            }
            if let Some(request) = &decision.request {
                let number = u32::try_from(index).unwrap_or(u32::MAX);
                self.known.routing.prefixes.reuse.request(number, request, at);
            }
            if let Some(record) = self.known.fleet.workers.ranks_mut().get_mut(index) {
                record.note_begun(at);
                record.routed += 1;
                record.live_routed += u64::from(live);
                // Other weights than 1 change the fractions, and an earlier incarnation may have had another size.
                if let Some(cost) = logit.filter(|_| at >= record.born) {
                    self.known.routing.router.fractions.note(rank.worker, cost);
                }
                record.first_routed.get_or_insert(at);
                record.last_routed = record.last_routed.max(Some(at));
                if let Some(value) = decision.total_blocks {
                    let source = Provenance::told(format!("log of {}", decision.router));
                    record.capacity = Some(Measured { value, source, at });
                }
            }
        }
        if let Some(blocks) = decision.cached_blocks.filter(|_| !second) {
            self.note_found(decision, rank, blocks, short, at);
        }
        self.describe_decision(decision, rank, at, source);
        let stores = self.known.routing.decisions.decided(decision.clone(), short, at);
        // Up to 1.2 no line names its request, and the choice of a decode worker looks as if it found nothing.
        self.note_owed(rank, live, stores && !second, at);
    }

    fn note_found(
        &mut self,
        decision: &Decision,
        rank: WorkerRank,
        blocks: f64,
        short: bool,
        at: Timestamp,
    ) {
        self.known.routing.router.decisions_zero += u64::from(blocks <= 0.0);
        self.note_overlap(OverlapBy::Decision, rank, blocks, at);
        // Nothing is found of a prompt shorter than a block.
        let router = self.known.routing.router.pod(&decision.router);
        router.found.note_unless(short, OverlapBy::Decision, rank.worker, blocks);
    }

    fn note_owed(&mut self, rank: WorkerRank, live: bool, stores: bool, at: Timestamp) {
        let index = self.known.fleet.workers.index_of(rank).filter(|_| live);
        let ranks = self.known.fleet.workers.ranks_mut();
        if let Some(record) = index.and_then(|index| ranks.get_mut(index)) {
            record.owes(stores, at);
        }
    }

    fn count_routed(&mut self, live: bool, at: Timestamp) {
        self.known.routing.router.routed += 1;
        self.known.routing.router.live_routed += u64::from(live);
        self.known.record.meters.routed.add(at, 1);
    }

    /// Notes a prompt of `tokens` tokens, if that is less than a block of its worker.
    pub(super) fn short_prompt(&mut self, request: &str, tokens: u64, at: Timestamp) {
        let what = ClaimWhat::BlockSize;
        let claims = &self.known.fleet.claims;
        let is_short = |worker| {
            let own = claims.count(what, ClaimOf::Card, &[Subject::Worker(worker)]);
            let said = own.or_else(|| {
                let of = [ClaimOf::Card, ClaimOf::Router, ClaimOf::Publisher, ClaimOf::Engine];
                of.into_iter().find_map(|of| claims.any_count(what, of))
            });
            tokens < said.map_or(LARGE_BLOCK, |(size, _)| size)
        };
        let Some(decision) = self.known.routing.decisions.shorten(request, is_short) else {
            return;
        };
        let dp_rank = decision.dp_rank.unwrap_or_default();
        let rank = WorkerRank { worker: decision.worker, dp_rank };
        if let Some(index) = self.known.fleet.workers.index_of(rank)
            && let Some(counts) = self.counts_of(index, at)
        {
            counts.short += 1;
        }
    }

    fn describe_decision(
        &mut self,
        decision: &Decision,
        rank: WorkerRank,
        at: Timestamp,
        source: &SourceName,
    ) {
        let (kind, gravity) = (EventKind::Route, Gravity::Normal);
        let head = Head {
            at,
            who: "router",
            kind,
            gravity,
            source,
            orphan: false,
            worker: Some(rank.worker),
            class: "route",
        };
        let alias = self.known.fleet.alias(rank);
        self.known.record.journal.add(head, self.frame, || {
            let logit = decision.logit.map_or(String::new(), |logit| match logit {
                // Thousandths of a large cost tell nothing.
                1_000.0.. => format!("  logit {logit:.0}"),
                _ => format!("  logit {logit:.3}"),
            });
            let cached = decision.cached_blocks;
            let cached = cached.map_or(String::new(), |blocks| format!("  cached {blocks}"));
            format!("to {alias}{cached}{logit}")
        });
    }

    pub(super) fn overlap(&mut self, overlap: &Overlap, at: Timestamp) {
        if self.only_decodes(overlap.rank.worker, at) {
            return;
        }
        let blocks = overlap.overlap_blocks as f64;
        self.note_overlap(OverlapBy::Completion, overlap.rank, blocks, at);
        let found = &mut self.known.routing.router.pod(&overlap.router).found;
        found.note_unless(false, OverlapBy::Completion, overlap.rank.worker, blocks);
        let Some(request) = &overlap.request else { return };
        if let Some(logit) = self.known.routing.decisions.overlap(request, blocks)
            && blocks <= 0.0
            && self.known.routing.router.weight_of(&overlap.router).is_none_or(is_one)
            && self
                .known
                .fleet
                .workers
                .rank_mut(overlap.rank)
                .is_some_and(|record| at >= record.born)
        {
            self.known.routing.router.fractions.note(overlap.rank.worker, logit);
        }
    }

    fn note_overlap(&mut self, by: OverlapBy, rank: WorkerRank, blocks: f64, at: Timestamp) {
        self.known.routing.router.overlaps.note(by, blocks);
        if self.known.times.is_live(at) {
            self.known.routing.router.live_overlaps.note(by, blocks);
        }
        if blocks > 0.0 {
            self.known.routing.prefixes.idle_until = at.after(IDLE_AFTER_HIT);
        }
        self.known.record.meters.overlap_known[by as usize].add(at, 1);
        self.known.record.meters.overlap_hit[by as usize].add(at, u32::from(blocks > 0.0));
        let warm = self.is_warm(rank);
        let Some(index) = self.known.fleet.workers.index_of(rank) else { return };
        if let Some(counts) = self.counts_of(index, at) {
            counts.overlaps.note(by, blocks);
            if warm {
                counts.warm.note(by, blocks);
            }
        }
        if let Some(record) = self.known.fleet.workers.ranks_mut().get_mut(index) {
            record.overlaps.note(by, blocks);
            record.since_hit.note_since_hit(by, blocks);
            if blocks > 0.0 {
                record.idle_until = at.after(IDLE_AFTER_HIT);
            }
        }
    }

    /// Returns true once a rank holds blocks, or will when what waits is applied.
    fn is_warm(&self, rank: WorkerRank) -> bool {
        let held = self.known.index.mirror.counts(rank).held[0];
        let waiting = || -> u64 {
            let events = self.pending.facts.kv.events().iter().rev().take(WAITING);
            let stored = events.filter(|event| event.rank == rank).map(|event| match &event.kind {
                KvKind::Stored { blocks, .. } => {
                    self.pending.facts.kv.blocks_of(blocks).len() as u64
                }
                KvKind::Removed { .. } | KvKind::Cleared { .. } => 0,
            });
            stored.sum()
        };
        held >= WARM_ON_RANK || held + waiting() >= WARM_ON_RANK
    }
}

/// Returns true where the cost of a choice that found nothing cached shows a prompt shorter than a block: a cost is
/// the prompt's blocks, weighed, and the worker's load.
fn is_below_a_block(cost: Option<f64>, weight: Option<f64>) -> bool {
    let weight = weight.unwrap_or(1.0);
    weight > 0.0 && cost.is_some_and(|cost| cost < weight)
}

fn is_one(weight: f64) -> bool {
    (weight - 1.0).abs() < 1e-9
}
