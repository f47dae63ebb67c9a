//! Pictures routers: their logs, and their last decisions.

use std::sync::Arc;
use std::time::Duration;

use super::span;
use crate::diagnose::Objectives;
use crate::domain::{
    LatencyName, SourceName, SourceState, Subject, Timestamp, WorkerId, WorkerRank,
};
use crate::engine::known::Routing;
use crate::engine::meters::Meters;
use crate::engine::{Knowledge, MINUTE};
use crate::model::{DecisionRecord, Decisions, Latencies, Mix, OverlapBy, PodWarnings, RankRecord};
use crate::snapshot::{
    Counted, DecisionRow, Felt, Flow, Latency, LiveRequests, RequestMix, RouterSummary,
    RoutingDetail, Series, ShareRow, TermRow, ViewQuery,
};

/// The time in which a router that starts logs its first decision under load.
const STARTS: Duration = Duration::from_secs(10);

pub(super) fn summary(known: &Knowledge, at: Timestamp) -> RouterSummary {
    let router = &known.routing.router;
    let since = known.times.since_logs();
    let (routers, others): (Vec<_>, Vec<_>) = router
        .pods()
        .filter(|(_, warnings)| warnings.read)
        .partition(|(pod, warnings)| warnings.is_router(pod));
    let sum = |count: fn(&PodWarnings) -> u64| {
        let read = !routers.is_empty();
        read.then(|| routers.iter().map(|(_, warnings)| count(warnings)).sum())
    };
    let overlap = router.overlaps.best();
    let (recent_parent_warnings, recent) =
        known.record.meters.parent_warnings.recent(at, since, MINUTE);
    let objectives = &known.options.objectives;
    let latency = |name| latency(&known.routing.latencies, objectives, name, at);
    RouterSummary {
        routers: routers
            .iter()
            .filter(|(pod, _)| !known.shown.is_deleted(pod))
            .map(|(pod, _)| pod.to_string())
            .collect(),
        decisions: router.decisions,
        decisions_zero_overlap: router.decisions_zero,
        routed: router.routed,
        routed_per_second: known.record.meters.routed.rate(at, since, MINUTE),
        overlap_known: overlap.known,
        overlap_zero: overlap.zero,
        live: LiveRequests {
            routed: router.live_routed,
            overlap_known: router.live_overlaps.best().known,
            overlap_zero: router.live_overlaps.best().zero,
            parent_warnings: sum(|warnings| warnings.live_parent),
            remove_warnings: sum(|warnings| warnings.live_remove),
        },
        counted: counted(known),
        flow: flow(known, at),
        mean_logit: mean_logit(&known.routing.decisions, at),
        last_tree_size: router.last_tree_size,
        unlogged: is_unlogged(known, at),
        overlap_weight: weight(known, &routers),
        quiet: routers.is_empty() && all_followed(known),
        log_parent_warnings: sum(|warnings| warnings.parent),
        log_remove_warnings: sum(|warnings| warnings.remove),
        recent_parent_warnings,
        recent_remove_warnings: known.record.meters.remove_warnings.recent(at, since, MINUTE).0,
        recent,
        worker_log_warnings: (!others.is_empty())
            .then(|| others.iter().map(|(_, w)| w.parent + w.remove).sum()),
        block_size_inferred: known.fractions().block_size(),
        ttft_mean: router.scrapes.ttft_mean(|pod| known.setup().is_here(pod), at),
        queued: router.scrapes.queued(|pod| known.setup().is_here(pod)).map(whole),
        ttft: latency(LatencyName::FirstToken),
        itl: latency(LatencyName::InterToken),
        duration: latency(LatencyName::Request),
        queue_time: latency(LatencyName::Queue),
        mix: known.routing.mix.figures(at).map(mix),
        in_flight: in_flight(known, at),
    }
}

/// Returns the weight of the prefill term that the routers that are there print; none where they differ.
fn weight(known: &Knowledge, routers: &[(&Arc<str>, &PodWarnings)]) -> Option<f64> {
    let there = routers.iter().filter(|(pod, _)| !known.shown.is_deleted(pod));
    let mut weights = there.filter_map(|(_, warnings)| warnings.weight);
    let first = weights.next()?;
    weights.all(|weight| (weight - first).abs() < 1e-9).then_some(first)
}

fn mix(found: Mix) -> RequestMix {
    RequestMix {
        window: found.window,
        requests: found.requests,
        prompt_tokens: found.prompt_tokens,
        answer_tokens: found.answer_tokens,
        cached: found.cached,
        first_token: found.first_token,
    }
}

/// Returns the mean requests in flight at all workers that are there; none where one does not report them.
fn in_flight(known: &Knowledge, at: Timestamp) -> Option<f64> {
    let ranks = known.fleet.workers.ranks().iter();
    let present = ranks.filter(|it| it.rank.dp_rank.0 == 0 && known.fleet.is_there(it.rank.worker));
    let means: Option<Vec<f64>> =
        present.map(|it| known.fleet.loads.in_flight(it.rank, at).map(|load| load.mean)).collect();
    means.filter(|means| !means.is_empty()).map(|means| means.iter().sum())
}

/// Returns what pods counted.
fn counted(known: &Knowledge) -> Counted {
    let traffic = &known.routing.traffic;
    let there = |pod: &str| known.setup().is_here(pod);
    Counted {
        prompt_tokens: traffic.prompt_tokens().map(whole),
        output_tokens: traffic.output_tokens().map(whole),
        moved: traffic.moved().map(|(from, to, count)| (from, to, whole(count))).collect(),
        registered: known.routing.router.scrapes.registered(there).map(whole),
        routed_to: known.routing.router.scrapes.routed_to(there).map(whole),
    }
}

/// Returns how much passes through pods.
fn flow(known: &Knowledge, at: Timestamp) -> Flow {
    let traffic = &known.routing.traffic;
    let [offloaded, onboarded] = traffic.tier_rates(at);
    let (prompt_tokens, output_tokens) = (traffic.prompt_rate(at), traffic.output_rate(at));
    Flow { prompt_tokens, output_tokens, offloaded, onboarded }
}

/// Returns true while requests are served and no router that is there logged a decision. One that starts gets a moment
/// for its first.
fn is_unlogged(known: &Knowledge, at: Timestamp) -> bool {
    let router = &known.routing.router;
    let some = |figure: Option<f64>| figure.is_some_and(|figure| figure > 0.0);
    let served = || some(known.routing.traffic.prompt_rate(at)) || some(in_flight(known, at));
    if router.decisions == 0 && router.routed == 0 {
        return served();
    }
    let Some(began) = known.setup().router_began() else { return false };
    let decided = router.heard().routed.is_none_or(|last| last >= began);
    !decided && at.since(began) >= STARTS && served()
}

/// Returns what users felt in the minute before `at`.
pub(in crate::engine) fn felt_now(
    routing: &Routing,
    meters: &Meters,
    objectives: &Objectives,
    at: Timestamp,
) -> Felt {
    let pair = |name| {
        latency(&routing.latencies, objectives, name, at).map(|found| [found.p50, found.p95])
    };
    let overlaps = &routing.router.overlaps;
    let by =
        OverlapBy::ALL.into_iter().find(|by| overlaps.is_best(*by)).unwrap_or(OverlapBy::Decision)
            as usize;
    let last = at.seconds();
    let first = (last + 1).saturating_sub(MINUTE.as_secs());
    let known = meters.overlap_known[by].sum(first, last);
    let hit = meters.overlap_hit[by].sum(first, last);
    let found = (known > 0).then(|| hit as f64 / known as f64);
    // Frontends count 0 where engines do not report cached tokens (mocker of ai-dynamo 1.6.1).
    let unreported = |share: f64| share <= 0.0 && found.is_some_and(|found| found > 0.0);
    Felt {
        cached: routing.cached_tokens.share(at).filter(|share| !unreported(*share)),
        found,
        first_token: pair(LatencyName::FirstToken),
        inter_token: pair(LatencyName::InterToken),
    }
}

fn latency(
    latencies: &Latencies,
    objectives: &Objectives,
    name: LatencyName,
    at: Timestamp,
) -> Option<Latency> {
    let found = latencies.percentiles(name, at)?;
    let objective = match name {
        LatencyName::FirstToken => objectives.ttft_p95,
        LatencyName::InterToken => objectives.itl_p95,
        LatencyName::Request | LatencyName::Queue => None,
    };
    Some(Latency {
        p50: found.p50,
        p95: found.p95,
        beyond: found.beyond,
        p99: found.p99,
        p99_beyond: found.p99_beyond,
        count: whole(found.count),
        window: found.window,
        objective: objective.map(|objective| objective.as_secs_f64()),
    })
}

/// Returns true while the logs of all pods are followed, and some of these are routers.
fn all_followed(known: &Knowledge) -> bool {
    let notes = known.streams.sources.all().filter(|(name, _)| **name == SourceName::Logs);
    let whole = notes.filter_map(|(_, record)| record.note.as_ref()).any(|note| {
        let all = note.peers.is_some_and(|logs| logs.wanted > 0 && logs.reached >= logs.wanted);
        note.state == SourceState::Live && all
    });
    whole && known.shown.cluster.pods().any(|record| record.pod.role.is_router())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
pub(in crate::engine) fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, 1e15) as u64
}

fn mean_logit(decisions: &Decisions, at: Timestamp) -> Option<f64> {
    let recent = decisions.last().iter().rev().take_while(|r| at.since(r.at) <= MINUTE);
    let logits = recent.filter_map(|record| record.decision.logit);
    let (count, sum) = logits.fold((0_u32, 0.0), |(n, sum), logit| (n + 1, sum + logit));
    (count > 0).then(|| sum / f64::from(count))
}

pub(super) fn decisions(known: &Knowledge, count: usize) -> Vec<DecisionRow> {
    let ours = |record: &&DecisionRecord| is_ours(known, record.decision.worker);
    let last = known.routing.decisions.last().iter().rev().filter(ours).take(count);
    let mut rows: Vec<_> = last.map(|record| row(known, record)).collect();
    rows.reverse();
    rows
}

/// Returns false for a worker of another graph deployment than the chosen one.
fn is_ours(known: &Knowledge, worker: WorkerId) -> bool {
    known.options.dgd.is_none() || known.setup().is_chosen(&Subject::Worker(worker))
}

/// Most ranks whose share is told.
const SHARES: usize = 64;

/// Returns what the view of routing asks.
pub(super) fn detail(
    known: &Knowledge,
    number: Option<u64>,
    query: &ViewQuery,
    at: Timestamp,
) -> RoutingDetail {
    let last = known.routing.decisions.last();
    let wanted = number.and_then(|number| last.iter().rfind(|record| record.number == number));
    let ranks = known.fleet.workers.ranks().iter().enumerate();
    let mut ranks: Vec<_> = ranks
        .filter(|(_, record)| record.routed > 0 && is_ours(known, record.rank.worker))
        .collect();
    ranks.sort_by_key(|(_, record)| std::cmp::Reverse(record.routed));
    let share = |(index, record): &(usize, &RankRecord)| {
        let series = known.record.meters.routed_by_rank.get(*index);
        let window = span::of_rank(known, record, query, at);
        ShareRow {
            rank: record.rank,
            alias: known.fleet.alias(record.rank),
            routed: record.routed,
            per_second: series.map_or(0.0, |it| it.rate(at, known.times.since_logs(), MINUTE)),
            series: Series { points: series.map_or_else(Vec::new, |it| it.points(&window)) },
        }
    };
    let ttft = known.record.meters.ttft.points(&span::window(known, query, at));
    RoutingDetail {
        decision: wanted.map(|record| row(known, record)),
        shares: ranks.iter().take(SHARES).map(share).collect(),
        more: ranks.len().saturating_sub(SHARES),
        window: span::length_of_rank(query),
        ttft: Series { points: ttft },
    }
}

fn row(known: &Knowledge, record: &DecisionRecord) -> DecisionRow {
    let decision = &record.decision;
    let rank =
        WorkerRank { worker: decision.worker, dp_rank: decision.dp_rank.unwrap_or_default() };
    DecisionRow {
        number: record.number,
        at: record.at,
        router: decision.router.clone(),
        request: decision.request.clone(),
        worker: decision.worker,
        dp_rank: decision.dp_rank,
        alias: known.fleet.alias(rank),
        logit: decision.logit,
        cached_blocks: decision.cached_blocks.or(record.overlap),
        tree_size: decision.tree_size,
        prompt_blocks: record.prompt_blocks,
        prompt_tokens: record.prompt_tokens,
        terms: record
            .terms
            .iter()
            .map(|term| TermRow {
                rank: term.rank,
                alias: known.fleet.alias(term.rank),
                logit: term.logit,
                weight: term.weight,
                prefill_blocks: term.prefill_blocks,
                decode_blocks: term.decode_blocks,
                cached_blocks: term.cached_blocks,
                credit: term.credit,
            })
            .collect(),
    }
}
