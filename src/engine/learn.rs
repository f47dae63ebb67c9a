//! Facts other than KV events, each to where it belongs.

mod cluster;
mod engines;
mod gauges;
mod missing_parents;
mod sizes;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub(super) use engines::UnlinkedEngines;

use super::Knowledge;
use super::gathered::Gathered;
use super::journal::Head;
use super::known::Index;
use super::lanes::Lanes;
use crate::domain::{
    ActiveLoad, ClaimOf, ClaimValue, ClaimWhat, Decision, Envelope, Fact, GaugeName, HistoryNote,
    HitRate, KvKind, LogWarning, Membership, Overlap, Provenance, RequestEvent, RequestPhase,
    SourceName, SourceNote, SourceState, Subject, Timestamp, WarningKind, WorkerId, WorkerRank,
};
use crate::dynamo::plane;
use crate::frame::Frame;
use crate::mirror::Outcome;
use crate::model::{
    LengthBy, Measured, OverlapBy, Prompts, Refusals, RouterLoad, Step, Summed as _,
};
use crate::snapshot::{EventKind, Gravity};
use crate::wire::Facts;

/// Blocks that a worker must hold before a request without overlap says anything.
const WARM_ON_RANK: u64 = 10;

/// Events that wait to be applied which are looked at for that, the newest.
const WAITING: usize = 512;

/// Chains are not followed for this long after a cache hit. A router that stops finding prefixes must be named
/// within the half minute that resolves and raises findings, and forks can be counted only after this.
const IDLE_AFTER_HIT: Duration = Duration::from_secs(5);

/// Components whose `generate` endpoint chooses workers: the router inside the frontend of 0.9, and
/// `dynamo.router`.
const ROUTERS: [&str; 2] = ["kv-router", "router"];

/// Takes facts in: writes what is known.
pub(super) struct Learner<'a> {
    pub(super) known: &'a mut Knowledge,
    pub(super) pending: &'a mut Pending,
    /// The frames that are taken in together.
    pub(super) burst: &'a [Frame],
    /// The one of them that facts are from now; none for events that waited.
    pub(super) frame: Option<&'a Frame>,
}

/// Changes that wait to be applied.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) facts: Facts,
    /// The position of the present frame's first KV event.
    pub(super) frame_from: usize,
    /// The frames whose KV events wait, by position in the burst, each with where these begin.
    pub(super) burst: Vec<(usize, usize)>,
    /// The position of the present frame in the burst.
    pub(super) present: usize,
    /// The positions of the ranks of the events that are applied, beyond all where there are too many.
    pub(super) ranks: Vec<usize>,
    pub(super) lanes: Lanes,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) gathered: Gathered,
}

impl Learner<'_> {
    pub(super) fn learn(&mut self, fact: &Fact, at: Timestamp, source: &SourceName) {
        match fact {
            Fact::Envelope { topic, envelope, .. } => self.envelope(topic, *envelope, at, source),
            Fact::Load(load) => self.load(load, at, source),
            Fact::HitRate(hit) => self.hit_rate(hit, at),
            Fact::Decision(decision) => self.decision(decision, at, source),
            Fact::Formula(term) => {
                self.known.routing.router.weight = Some(term.weight);
                self.known.index.explorer.term(term, at);
                self.known.routing.decisions.term(term.clone());
            }
            Fact::Overlap(overlap) => self.overlap(overlap, at),
            Fact::Prompt(prompt) => {
                // A router of another model may be the one that finds prefixes.
                if at >= self.known.routing.prefixes.idle_until || self.known.fleet.serves_several()
                {
                    // Its stores may still be waiting.
                    self.apply_kv();
                }
                self.known.routing.prefixes.reuse.length(&prompt.request, prompt.tokens);
                self.known.routing.decisions.tokens(&prompt.request, prompt.tokens);
                self.short_prompt(&prompt.request, prompt.tokens, at);
            }
            Fact::Warning(warning) => self.warning(warning, at, source),
            Fact::RouterStart(start) => self.router_start(start, at),
            Fact::RegistrationRefused(refused) => self.known.fleet.refused.note(refused, at),
            Fact::CardRefused(refused) => self.known.fleet.refused.note_card(refused, at),
            Fact::Departed { worker } => self.departed(*worker, at, source),
            Fact::BlockSizes(notice) => self.block_sizes(notice, at, source),
            Fact::EngineSocket(seen) => self.engine_socket(seen, at),
            Fact::Claim(claim) => {
                // What is only asked for may be on its way while the old pods still run.
                if let (ClaimWhat::DynamoVersion, ClaimValue::Text(tag), Subject::Pod(_)) =
                    (claim.what, &claim.value, &claim.subject)
                {
                    self.known.fleet.versions.tag(&claim.subject, tag);
                }
                self.engine_size_said(claim);
                self.served(claim);
                self.known.fleet.claims.note(claim, at);
            }
            Fact::Sign(sign) => self.known.fleet.versions.sign(sign),
            Fact::Membership(membership) => self.membership(membership, at, source),
            Fact::Placed(placement) => self.placed(placement, at, source),
            Fact::Pod(pod) => self.pod(pod, at, source),
            Fact::PodGone { name } => self.pod_gone(name, at, source),
            Fact::Graph(graph) => self.graph(graph, at),
            Fact::GraphGone { name } => self.graph_gone(name),
            Fact::Endpoints(endpoints) => self.endpoints(endpoints),
            Fact::ConfigFile(file) => self.config_file(file, at),
            Fact::ConfigMap(map) => self.config_map(map, at, source),
            Fact::Gauge(gauge) => self.gauge(gauge, at),
            Fact::Histogram(histogram) => self.known.routing.latencies.take(histogram, at),
            Fact::Source(note) => self.source(note),
            Fact::Request(request) => self.request(request, at),
            Fact::Advertised(advertised) => self.known.shown.channels.set(advertised),
        }
    }

    fn envelope(
        &mut self,
        topic: &'static str,
        envelope: Envelope,
        at: Timestamp,
        source: &SourceName,
    ) {
        let events = topic == plane::KV_EVENTS;
        let first = self.pending.facts.kv.events().get(self.pending.frame_from).filter(|_| events);
        let rank = first.map(|event| event.rank);
        let away = self.known.streams.sources.was_away(topic, envelope.publisher, source, at);
        let step =
            self.known.streams.sources.follow(topic, envelope, rank.map(|rank| rank.dp_rank));
        if let Some(rank) = rank {
            self.numbered(rank, step, source, at);
        }
        let Step::Hole(missing) = step else { return };
        if events {
            // Up to 1.2 a worker publishes under its own id.
            let publisher = WorkerId(envelope.publisher);
            let known = self.known.fleet.workers.worker(publisher).map(|worker| worker.id);
            self.doubt_before_frame(rank.map(|rank| rank.worker).or(known));
            let missed = if away { missing } else { 0 };
            self.known.streams.history.lose(missing, missed, at);
            let counts = self.router_counts(at);
            counts.missed += missed;
            counts.lost += missing - missed;
        }
        if let Some(record) = self.known.streams.sources.record(source) {
            record.gaps = record.gaps.saturating_add(missing);
        }
        let head = Head {
            at,
            who: source.as_str(),
            kind: EventKind::Source,
            gravity: Gravity::Bad,
            source,
            orphan: false,
            worker: None,
            class: "gap",
        };
        self.known
            .record
            .journal
            .add(head, self.frame, || format!("{missing} messages of {topic} are missing"));
    }

    fn load(&mut self, load: &ActiveLoad, at: Timestamp, source: &SourceName) {
        // Workers and routers share the subject. A worker publishes under its own id up to 1.2, and
        // names its used blocks from 1.1.
        let own = load.publisher == load.rank.worker.0 && load.active_prefill_tokens.is_none();
        let used = load.kv_used_blocks.or(if own { load.active_decode_blocks } else { None });
        let told = load.active_decode_blocks.is_some() && load.active_prefill_tokens.is_some();
        // A router's estimate makes no worker.
        let known =
            used.is_some() || (told && self.known.fleet.workers.worker(load.rank.worker).is_some());
        let record = if known { self.known.fleet.workers.rank_mut(load.rank) } else { None };
        let Some(record) = record else { return };
        if let (Some(decode_blocks), Some(prefill_tokens)) =
            (load.active_decode_blocks, load.active_prefill_tokens)
        {
            let scraped = *source == SourceName::Metrics;
            let value = RouterLoad { decode_blocks, prefill_tokens, scraped };
            let source = if scraped {
                Provenance::FrontendMetrics
            } else {
                Provenance::told(format!("{} of a router", plane::LOAD))
            };
            record.load = Some(Measured { value, source, at });
        }
        let Some(value) = used else { return };
        record.used_blocks = Some(Measured { value, source: Provenance::told(plane::LOAD), at });
    }

    fn hit_rate(&mut self, hit: &HitRate, at: Timestamp) {
        self.known.routing.decisions.length(hit, at);
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

    fn request(&mut self, request: &RequestEvent, at: Timestamp) {
        self.known.routing.router.answered +=
            u64::from(request.phase == RequestPhase::PrefillCompleted);
        let RequestPhase::Added { overlap, chain, full_blocks, .. } = &request.phase else {
            return;
        };
        if let Some(blocks) = overlap {
            self.note_overlap(OverlapBy::Request, request.rank, *blocks as f64, at);
        }
        let weight = self.known.index.explorer.follows(chain, at);
        if weight > 0 {
            // What came before the request was there for it, what comes later was not.
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

    fn decision(&mut self, decision: &Decision, at: Timestamp, source: &SourceName) {
        if let Some(pod) = self.known.routing.router.pod(&decision.router) {
            pod.routes = true;
            pod.routed += u64::from(!decision.forwarded);
            pod.first_routed = Some(pod.first_routed.map_or(at, |first| first.min(at)));
            pod.last_routed = Some(at);
        }
        self.known.routing.router.decisions += 1;
        if decision.forwarded {
            return;
        }
        // With disaggregation one request takes two choices, and only that of the prefill weighs what is cached.
        let second =
            self.known.routing.decisions.has_picked(decision) || self.only_decodes(decision.worker);
        let live = self.known.times.is_live(at);
        if !second {
            self.known.routing.router.routed += 1;
            self.known.routing.router.live_routed += u64::from(live);
            self.known.record.meters.routed.add(at, 1);
        }
        self.known.routing.router.last_tree_size =
            decision.tree_size.or(self.known.routing.router.last_tree_size);
        let dp_rank = decision.dp_rank.unwrap_or_default();
        let rank = WorkerRank { worker: decision.worker, dp_rank };
        self.known.index.explorer.decided(decision, rank, &self.known.index.mirror, at);
        let plain = self.known.routing.router.weight.is_none_or(is_one);
        let cold = decision.logit.filter(|_| decision.cached_blocks == Some(0.0));
        let (logit, short) = (cold.filter(|_| plain), self.is_below_a_block(cold));
        if let Some(index) = self.known.fleet.workers.index_of(rank) {
            self.known.record.meters.routed_to(index).add(at, 1);
            if let Some(counts) = self.counts_of(index, at) {
                counts.routed += 1;
                counts.short += u64::from(short);
            }
            if let Some(request) = &decision.request {
                self.known.routing.prefixes.reuse.request(
                    u32::try_from(index).unwrap_or(u32::MAX),
                    request,
                    at,
                );
            }
            if let Some(record) = self.known.fleet.workers.ranks_mut().get_mut(index) {
                record.note_begun(at);
                record.routed += 1;
                record.live_routed += u64::from(live);
                // Other weights than 1 change the fractions, and an earlier incarnation may have had another size.
                if let Some(cost) = logit.filter(|_| at >= record.born) {
                    self.known.routing.router.fractions.note(cost);
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
            self.known.routing.router.decisions_zero += u64::from(blocks <= 0.0);
            self.note_overlap(OverlapBy::Decision, rank, blocks, at);
        }
        self.describe_decision(decision, rank, at, source);
        self.known.routing.decisions.decided(decision.clone(), short, at);
    }

    /// Returns true where the cost of a choice that found nothing cached shows a prompt shorter than a block: a cost is
    /// the prompt's blocks, weighed, and the worker's load.
    fn is_below_a_block(&self, cost: Option<f64>) -> bool {
        let weight = self.known.routing.router.weight.unwrap_or(1.0);
        weight > 0.0 && cost.is_some_and(|cost| cost < weight)
    }

    /// Notes a prompt of `tokens` tokens, if that is less than a block of its worker.
    fn short_prompt(&mut self, request: &str, tokens: u64, at: Timestamp) {
        let what = ClaimWhat::BlockSize;
        let claims = &self.known.fleet.claims;
        let is_short = |worker| {
            let own = claims.count(what, ClaimOf::Card, &[Subject::Worker(worker)]);
            let size = own.or_else(|| claims.any_count(what, ClaimOf::Card));
            size.is_some_and(|(size, _)| tokens < size)
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

    /// Returns true for a worker that decodes what others prefill.
    fn only_decodes(&self, worker: WorkerId) -> bool {
        let is = |worker: WorkerId, part: &str| {
            let said = self.known.setup().part_of(Some(worker), &Subject::Worker(worker));
            said.is_some_and(|said| said.to_ascii_lowercase().contains(part))
        };
        is(worker, "decode")
            && self.known.fleet.workers.workers().iter().any(|it| !it.gone && is(it.id, "prefill"))
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
            format!("to {alias}{logit}{cached}")
        });
    }

    fn overlap(&mut self, overlap: &Overlap, at: Timestamp) {
        if self.only_decodes(overlap.rank.worker) {
            return;
        }
        let blocks = overlap.overlap_blocks as f64;
        self.note_overlap(OverlapBy::Completion, overlap.rank, blocks, at);
        let Some(request) = &overlap.request else { return };
        if let Some(logit) = self.known.routing.decisions.overlap(request, blocks)
            && blocks <= 0.0
            && self.known.routing.router.weight.is_none_or(is_one)
            && self
                .known
                .fleet
                .workers
                .rank_mut(overlap.rank)
                .is_some_and(|record| at >= record.born)
        {
            self.known.routing.router.fractions.note(logit);
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

    fn warning(&mut self, warning: &LogWarning, at: Timestamp, source: &SourceName) {
        let lack = self.missing_parent(warning, at);
        let missed = lack.is_some();
        let refusals = self.known.routing.router.warn(warning, lack, at);
        let counts = self.router_counts(at);
        match warning.kind {
            WarningKind::EventGap => counts.gaps += 1,
            WarningKind::DecodeFailed => counts.decode_failed += 1,
            _ => self.refused(warning.rank, &refusals, at),
        }
        let live = self.known.times.is_live(at);
        let pod = self.known.routing.router.pod(&warning.pod);
        let router = pod.is_some_and(|pod| {
            pod.note_live(warning.kind, live);
            pod.is_router(&warning.pod)
        });
        if router && matches!(warning.kind, WarningKind::ParentMissing { .. }) {
            self.refused_by_router(warning, missed, at);
        }
        let meters = &mut self.known.record.meters;
        let text = match warning.kind {
            WarningKind::ParentMissing { blocks, .. } => {
                meters.parent_warnings.add(at, u32::from(router));
                match blocks {
                    // What differs comes first, as lists cut the end.
                    Some(0) => "parent of an empty store not found",
                    _ => "parent block not found",
                }
            }
            WarningKind::RemoveMissing { .. } => {
                meters.remove_warnings.add(at, u32::from(router));
                "block to remove not found"
            }
            WarningKind::StaleParent => "parent block is stale",
            // Printed right after the warning that says which event and why.
            WarningKind::ApplyFailed => return,
            WarningKind::HashMismatch => "block_hash mismatch",
            WarningKind::EventGap => "gap in event ids",
            WarningKind::DecodeFailed => "engine's KV events not decoded",
        };
        let orphan = matches!(
            warning.kind,
            WarningKind::ParentMissing { .. }
                | WarningKind::RemoveMissing { .. }
                | WarningKind::StaleParent
        );
        let about = warning.rank.map(|rank| format!(" for {}", self.known.fleet.alias(rank)));
        let (kind, gravity) = (EventKind::Warning, Gravity::Bad);
        let worker = warning.rank.map(|rank| rank.worker);
        let head =
            Head { at, who: &warning.pod, kind, gravity, source, orphan, worker, class: text };
        self.known
            .record
            .journal
            .add(head, self.frame, || format!("{text}{}", about.unwrap_or_default()));
    }

    /// Counts what a router refused of a rank.
    fn refused(&mut self, rank: Option<WorkerRank>, refusals: &Refusals, at: Timestamp) {
        if *refusals == Refusals::default() {
            return;
        }
        match rank.and_then(|rank| self.known.fleet.workers.index_of(rank)) {
            Some(index) => {
                if let Some(counts) = self.refusals_of(index, at) {
                    counts.add(refusals);
                }
            }
            None => self.router_counts(at).add_refusals(refusals),
        }
    }

    fn membership(&mut self, membership: &Membership, at: Timestamp, source: &SourceName) {
        if self.known.streams.deployment.namespace.is_none() && !membership.namespace.is_empty() {
            self.known.streams.deployment.namespace = Some(Arc::clone(&membership.namespace));
        }
        // A worker is an instance of its serving endpoint; query endpoints and routers are not.
        let router = ROUTERS.contains(&membership.component.as_ref());
        if membership.endpoint.as_ref() != "generate" || router {
            return;
        }
        let worker = WorkerId(membership.instance.0);
        self.known.fleet.workers.note_membership(worker, membership, at);
        self.presence(worker, membership.present, at, source);
    }

    /// Doubts what was claimed for the models of a process that says anew which it serves.
    pub(super) fn doubt_models(&mut self, facts: &[Fact]) {
        let told = facts.iter().find_map(|fact| match fact {
            Fact::Claim(claim) if claim.model.is_some() => Some(claim),
            _ => None,
        });
        let Some(told) = told else { return };
        self.known.fleet.claims.doubt(|claim| {
            claim.model.is_some()
                && (&claim.subject, &claim.source) == (&told.subject, &told.source)
        });
    }

    /// Takes in the metrics of routers in one scrape. A family with a sample for each model counts
    /// with its sum.
    pub(super) fn scraped(&mut self, facts: &[Fact], at: Timestamp) {
        let mut sums: Vec<(&Arc<str>, GaugeName, f64)> = Vec::new();
        for fact in facts {
            let Fact::Gauge(gauge) = fact else { continue };
            let same =
                sums.iter_mut().find(|(pod, name, _)| (*pod, *name) == (&gauge.pod, gauge.name));
            match same {
                Some((_, _, sum)) => *sum += gauge.value,
                None => sums.push((&gauge.pod, gauge.name, gauge.value)),
            }
        }
        let of = |pod: &Arc<str>, wanted: GaugeName| {
            let found = sums.iter().find(|(known, name, _)| (*known, *name) == (pod, wanted));
            found.map(|(_, _, value)| *value)
        };
        for (pod, name, _) in &sums {
            if *name == GaugeName::InputTokenSum {
                let cached = of(pod, GaugeName::CachedTokenSum);
                let prompts = of(pod, GaugeName::InputTokenSum);
                self.known.routing.cached_tokens.take(pod, at, [cached, prompts]);
            }
        }
        let pods: BTreeSet<&Arc<str>> = sums.iter().map(|(pod, ..)| *pod).collect();
        for pod in pods {
            self.known.routing.mix.take(pod, at, |name| of(pod, name));
        }
        for (pod, name, value) in sums {
            self.known.routing.traffic.take(pod, name, value, at);
            let grown = self.known.routing.router.gauge(pod, name, value);
            if grown.prompts + grown.failed > 0 {
                self.known.times.active = self.known.times.active.max(at);
            }
            self.router_counts(at).sum(&grown);
        }
    }

    fn source(&mut self, note: &SourceNote) {
        // Whoever gets the newest part alone has not read the rest when others have.
        let partial = self.known.streams.history.is_partial();
        let history = note.history.clone().filter(|history| partial && history.complete);
        let unread = history.map(|history| HistoryNote { complete: false, ..history });
        let shown = unread.map(|history| SourceNote { history: Some(history), ..note.clone() });
        let note = shown.as_ref().unwrap_or(note);
        self.await_dump(note);
        if let Some(history) = &note.history {
            let gone = history.ledger.is_some_and(|ledger| ledger.before > 0);
            self.known.streams.history.note(&history.stream, history.first_seq <= 1 && !gone);
            self.known.streams.history.keep(&history.stream, history.keeps);
        }
        self.account(note);
        let name = note.source.clone();
        let Some(record) = self.known.streams.sources.record(&name) else { return };
        let news = record.say(note);
        let short = note.peers.is_some_and(|peers| peers.reached < peers.wanted);
        record.short_since = short.then(|| record.short_since.unwrap_or(note.at));
        if !news {
            return;
        }
        let gravity = match note.state {
            SourceState::Live | SourceState::Connecting | SourceState::Ended => Gravity::Normal,
            SourceState::Suspended => Gravity::Notice,
            SourceState::Lossy | SourceState::Down => Gravity::Bad,
        };
        let kind = EventKind::Source;
        let head = Head {
            at: note.at,
            who: name.as_str(),
            kind,
            gravity,
            source: &name,
            orphan: false,
            worker: None,
            class: "",
        };
        self.known.record.journal.add(head, self.frame, || match note.why.as_ref() {
            "" => note.state.name().to_owned(),
            why => format!("{}: {why}", note.state.name()),
        });
    }
}

fn is_one(weight: f64) -> bool {
    (weight - 1.0).abs() < 1e-9
}
