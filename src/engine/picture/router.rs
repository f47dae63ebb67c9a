//! What routers say, and their last decisions.

use crate::domain::Timestamp;
use crate::engine::{Engine, MINUTE};
use crate::model::{DecisionRecord, PodWarnings};
use crate::snapshot::{DecisionRow, RouterSummary, TermRow};

pub(super) fn summary(engine: &Engine, at: Timestamp) -> RouterSummary {
    let router = &engine.router;
    let since = engine.since_logs();
    let (routers, others): (Vec<_>, Vec<_>) = router
        .pods()
        .filter(|(_, warnings)| warnings.read)
        .partition(|(pod, warnings)| warnings.is_router(pod));
    let sum = |count: fn(&PodWarnings) -> u64| {
        let read = !routers.is_empty();
        read.then(|| routers.iter().map(|(_, warnings)| count(warnings)).sum())
    };
    let overlap = router.overlaps.best();
    let per_minute = |series: &crate::metrics::CountSeries| series.rate(at, since, MINUTE) * 60.0;
    RouterSummary {
        routers: routers.iter().map(|(pod, _)| pod.to_string()).collect(),
        decisions: router.decisions,
        decisions_zero_overlap: router.decisions_zero,
        routed: router.routed,
        routed_per_second: engine.meters.routed.rate(at, since, MINUTE),
        overlap_known: overlap.known,
        overlap_zero: overlap.zero,
        mean_logit: mean_logit(engine, at),
        last_tree_size: router.last_tree_size,
        overlap_weight: router.weight,
        log_parent_warnings: sum(|warnings| warnings.parent),
        log_remove_warnings: sum(|warnings| warnings.remove),
        parent_warnings_per_minute: per_minute(&engine.meters.parent_warnings),
        remove_warnings_per_minute: per_minute(&engine.meters.remove_warnings),
        worker_log_warnings: others.iter().map(|(_, w)| w.parent + w.remove).sum(),
        block_size_inferred: router.fractions.block_size(),
        ttft_mean: router.ttft_mean(),
        queued: router.queued().map(whole),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, 1e15) as u64
}

fn mean_logit(engine: &Engine, at: Timestamp) -> Option<f64> {
    let recent = engine.decisions.last().iter().rev().take_while(|r| at.since(r.at) <= MINUTE);
    let logits = recent.filter_map(|record| record.decision.logit);
    let (count, sum) = logits.fold((0_u32, 0.0), |(n, sum), logit| (n + 1, sum + logit));
    (count > 0).then(|| sum / f64::from(count))
}

pub(super) fn decisions(engine: &Engine, count: usize) -> Vec<DecisionRow> {
    let last = engine.decisions.last();
    let skip = last.len().saturating_sub(count);
    last.iter().skip(skip).map(|record| row(engine, record)).collect()
}

fn row(engine: &Engine, record: &DecisionRecord) -> DecisionRow {
    let decision = &record.decision;
    DecisionRow {
        at: record.at,
        router: decision.router.clone(),
        request: decision.request.clone(),
        worker: decision.worker,
        dp_rank: decision.dp_rank,
        alias: engine.workers.alias(decision.worker),
        logit: decision.logit,
        cached_blocks: decision.cached_blocks.or(record.overlap),
        tree_size: decision.tree_size,
        terms: record
            .terms
            .iter()
            .map(|term| TermRow {
                rank: term.rank,
                logit: term.logit,
                weight: term.weight,
                prefill_blocks: term.prefill_blocks,
                decode_blocks: term.decode_blocks,
                cached_blocks: term.cached_blocks,
            })
            .collect(),
    }
}
