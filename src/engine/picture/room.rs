//! Blocks that a rank has room for, and blocks in use.

use std::sync::Arc;

use super::router::whole;
use super::sourced;
use crate::domain::{Basis, ClaimOf, ClaimWhat, Provenance, Subject};
use crate::model::{Claims, RankRecord};
use crate::snapshot::Sourced;

/// Returns the blocks that a rank has room for, as rules may judge by: the card wins, then a router's
/// log, then the engine's own log or arguments, then its metrics.
pub(in crate::engine) fn capacity(
    claims: &Claims,
    record: &RankRecord,
    subjects: &[Subject],
) -> Option<Sourced<u64>> {
    let claimed = |of| {
        let (value, stored) = claims.count(ClaimWhat::TotalKvBlocks, of, subjects)?;
        let source = Provenance::told(Arc::clone(&stored.claim.source));
        Some(Sourced { value, source, at: stored.last })
    };
    claimed(ClaimOf::Card)
        .or_else(|| record.capacity.as_ref().map(sourced))
        .or_else(|| claimed(ClaimOf::Engine))
        .or_else(|| record.scraped.blocks.as_ref().map(sourced))
}

/// Returns the blocks that a rank has room for, as they are shown. Hybrid models keep several caches for each
/// token, so that fewer tokens fit than all blocks would hold: then the engine's own count of tokens is meant.
pub(super) fn shown(
    claims: &Claims,
    record: &RankRecord,
    subjects: &[Subject],
    capacity: Option<Sourced<u64>>,
) -> Option<Sourced<u64>> {
    let told = || told(claims, record, subjects);
    let Some(capacity) = capacity else { return told() };
    let fits = tokens(claims, record, subjects)
        .and_then(|tokens| in_blocks(claims, record, subjects, &tokens))
        // Rounding is no other cache.
        .filter(|fits| {
            fits.value > 0 && fits.value.saturating_mul(10) < capacity.value.saturating_mul(9)
        });
    Some(fits.unwrap_or(capacity))
}

/// Returns the same of what is good enough to be shown, and too little to judge by: tokens, which
/// hybrid models share among several caches; what vLLM is configured with; and what a frontend read of
/// its model, whichever worker that came from.
fn told(claims: &Claims, record: &RankRecord, subjects: &[Subject]) -> Option<Sourced<u64>> {
    let adopted = || {
        let (value, stored) = claims.any_count(ClaimWhat::TotalKvBlocks, ClaimOf::Router)?;
        let source = Provenance::told(Arc::clone(&stored.claim.source));
        Some(Sourced { value, source, at: stored.last })
    };
    tokens(claims, record, subjects)
        .and_then(|tokens| in_blocks(claims, record, subjects, &tokens))
        .filter(|blocks| blocks.value > 0)
        .or_else(|| record.scraped.configured.as_ref().map(sourced))
        .or_else(adopted)
}

/// Returns the blocks in use: counted, or the share in use of the room.
pub(super) fn used(
    claims: &Claims,
    record: &RankRecord,
    subjects: &[Subject],
    capacity: Option<&Sourced<u64>>,
) -> Option<Sourced<u64>> {
    let counted = || record.used_blocks.as_ref().map(sourced);
    let of_tokens = || {
        let tokens = record.scraped.used_tokens.as_ref().map(sourced)?;
        in_blocks(claims, record, subjects, &tokens)
    };
    let of_share = || {
        let (share, room) = (record.utilization.as_ref()?, capacity?);
        Some(Sourced {
            value: whole(share.value * room.value as f64),
            source: Provenance::derived(format!("{} x {}", share.source, room.source)),
            at: share.at,
        })
    };
    counted().or_else(of_tokens).or_else(of_share)
}

/// The engine's own figure wins; otherwise it is used blocks by capacity.
pub(in crate::engine) fn utilization(
    record: &RankRecord,
    capacity: Option<&Sourced<u64>>,
) -> Option<Sourced<f64>> {
    if let Some(measured) = &record.utilization {
        return Some(sourced(measured));
    }
    let used = record.used_blocks.as_ref()?;
    let capacity = capacity.filter(|capacity| capacity.value > 0)?;
    Some(Sourced {
        value: (used.value as f64 / capacity.value as f64).clamp(0.0, 1.0),
        source: Provenance::derived(format!("{} / {}", used.source, capacity.source)),
        at: used.at,
    })
}

/// Returns the tokens that a rank has room for. What it was only told to have is a bound.
fn tokens(claims: &Claims, record: &RankRecord, subjects: &[Subject]) -> Option<Sourced<u64>> {
    let claim = claims.count(ClaimWhat::KvCacheTokens, ClaimOf::Engine, subjects);
    let observed = claim.filter(|(_, stored)| stored.claim.basis == Basis::Observed);
    observed
        .map(|(value, stored)| Sourced {
            value,
            source: Provenance::told(Arc::clone(&stored.claim.source)),
            at: stored.last,
        })
        .or_else(|| record.scraped.tokens.as_ref().map(sourced))
}

/// Returns whose word on the block size holds for the engine: only stores with blocks in them prove
/// that it cuts what publisher and card say.
pub(super) fn sizes(record: &RankRecord) -> &'static [ClaimOf] {
    let counters = &record.counters;
    if counters.stores > 0 && counters.empty_stores * 2 < counters.stores {
        &[ClaimOf::Engine, ClaimOf::Publisher, ClaimOf::Card]
    } else {
        &[ClaimOf::Engine]
    }
}

fn in_blocks(
    claims: &Claims,
    record: &RankRecord,
    subjects: &[Subject],
    tokens: &Sourced<u64>,
) -> Option<Sourced<u64>> {
    let size = |of: &ClaimOf| claims.count(ClaimWhat::BlockSize, *of, subjects);
    let (size, stored) = sizes(record).iter().find_map(size).filter(|(size, _)| *size > 0)?;
    let calculation = format!("{} / {size} tokens by {}", tokens.source, stored.claim.source);
    let source = Provenance::derived(calculation);
    Some(Sourced { value: tokens.value / size, source, at: tokens.at })
}

#[cfg(test)]
mod tests {
    use crate::domain::{Timestamp, WorkerRank};
    use crate::engine::{Engine, EngineOptions};
    use crate::frame::{Frame, Origin};
    use crate::snapshot::{ViewQuery, WorkerRow};

    const AT: Timestamp = Timestamp(1_771_252_733_000_000);

    /// Returns the row of a worker whose pod says these metrics and log lines.
    fn row(metrics: &'static str, lines: &[&'static str]) -> WorkerRow {
        let mut engine = Engine::new(EngineOptions::default());
        engine.known.fleet.workers.set_pod(WorkerRank::new(7, 0).worker, &"worker".into());
        engine.known.fleet.workers.rank_mut(WorkerRank::new(7, 0)).unwrap();
        let scrape = Origin::Metrics { pod: "worker".into(), url: "/metrics".into() };
        let log = || Origin::Log {
            namespace: "demo".into(),
            pod: "worker".into(),
            container: "main".into(),
        };
        let mut frames = vec![Frame::new(AT, scrape, metrics)];
        frames.extend(lines.iter().map(|line| Frame::new(AT, log(), *line)));
        engine.ingest(&frames);
        engine.settle();
        engine.snapshot(&ViewQuery::default(), AT).workers[0].clone()
    }

    /// Returns blocks of room and in use, and the share of tokens found in the cache.
    fn figures(row: &WorkerRow) -> (Option<u64>, Option<u64>, Option<f64>) {
        (
            row.capacity_blocks.as_ref().map(|known| known.value),
            row.used_blocks.as_ref().map(|known| known.value),
            row.hit_rate.as_ref().map(|known| known.value),
        )
    }

    #[test]
    fn a_worker_of_dynamo_tells_room_use_and_hits() {
        let row = row(
            "vllm:kv_cache_usage_perc{engine=\"0\"} 0.1\n\
             dynamo_component_total_blocks{dp_rank=\"0\"} 5000\n\
             dynamo_component_kv_cache_hit_rate{dp_rank=\"0\"} 0.64\n",
            &[],
        );

        assert_eq!(figures(&row), (Some(5000), Some(500), Some(0.64)));
        assert_eq!(
            row.used_blocks.unwrap().source.to_string(),
            "metrics of worker x metrics of worker"
        );
    }

    #[test]
    fn tokens_are_blocks_by_the_size_that_the_engine_names() {
        let size = "Setting attention block size to 32 tokens";
        let sglang = "sglang:num_used_tokens 640\nsglang:max_total_num_tokens 160000\n";

        assert_eq!(figures(&row(sglang, &[size])), (Some(5000), Some(20), None));
        assert_eq!(figures(&row(sglang, &[])), (None, None, None), "no size, no blocks");
        let vllm = "GPU KV cache size: 160,000 tokens";
        assert_eq!(figures(&row("", &[size, vllm])), (Some(5000), None, None));
    }

    #[test]
    fn what_is_not_scraped_any_more_is_not_known_after_a_minute() {
        let text = "trtllm_kv_cache_utilization 0.42\ntrtllm_kv_cache_hit_rate 0.5\n\
                    dynamo_component_total_blocks 5000\n";
        let mut engine = Engine::new(EngineOptions::default());
        engine.known.fleet.workers.set_pod(WorkerRank::new(7, 0).worker, &"worker".into());
        engine.known.fleet.workers.rank_mut(WorkerRank::new(7, 0)).unwrap();
        let scrape = Origin::Metrics { pod: "worker".into(), url: "/metrics".into() };
        engine.ingest(&[Frame::new(AT, scrape, text)]);
        let mut after = |seconds| {
            let at = AT.after(std::time::Duration::from_secs(seconds));
            engine.snapshot(&ViewQuery::default(), at).workers[0].clone()
        };

        let row = after(60);
        assert_eq!(figures(&row), (Some(5000), Some(2100), Some(0.5)));
        let row = after(61);
        assert_eq!(row.kv_utilization, None);
        assert_eq!(figures(&row), (Some(5000), None, None), "room stays what it was");
    }

    #[test]
    fn the_load_that_a_frontend_told_is_not_known_after_a_minute() {
        let text = "dynamo_frontend_worker_active_decode_blocks{worker_id=\"7\"} 5\n\
                    dynamo_frontend_worker_active_prefill_tokens{worker_id=\"7\"} 640\n";
        let mut engine = Engine::new(EngineOptions::default());
        engine.known.fleet.workers.rank_mut(WorkerRank::new(7, 0)).unwrap();
        let scrape = Origin::Metrics { pod: "frontend".into(), url: "/metrics".into() };
        engine.ingest(&[Frame::new(AT, scrape, text)]);
        let mut load = |seconds| {
            let at = AT.after(std::time::Duration::from_secs(seconds));
            let row = engine.snapshot(&ViewQuery::default(), at).workers[0].clone();
            row.load.map(|load| load.value.decode_blocks)
        };

        assert_eq!((load(60), load(61)), (Some(5), None));
    }

    #[test]
    fn vllms_configuration_is_shown_where_nothing_better_is_known() {
        let text = "vllm:cache_config_info{engine=\"0\",num_gpu_blocks=\"573\"} 1\n\
                    vllm:prefix_cache_queries_total{engine=\"0\"} 400\n\
                    vllm:prefix_cache_hits_total{engine=\"0\"} 100\n";

        assert_eq!(figures(&row(text, &[])), (Some(573), None, None), "one scrape shows no change");
    }

    #[test]
    fn the_hit_rate_of_vllm_is_that_of_the_last_minute() {
        let mut engine = Engine::new(EngineOptions::default());
        engine.known.fleet.workers.rank_mut(WorkerRank::new(7, 0)).unwrap();
        let mut rate = |seconds, [found, asked]: [u32; 2]| {
            let text = format!(
                "vllm:prefix_cache_hits_total{{engine=\"0\",worker_id=\"7\"}} {found}\n\
                 vllm:prefix_cache_queries_total{{engine=\"0\",worker_id=\"7\"}} {asked}\n"
            );
            let at = AT.after(std::time::Duration::from_secs(seconds));
            let scrape = Origin::Metrics { pod: "worker".into(), url: "/metrics".into() };
            engine.ingest(&[Frame::new(at, scrape, text)]);
            let row = engine.snapshot(&ViewQuery::default(), at).workers[0].clone();
            row.hit_rate.map(|rate| rate.value)
        };

        assert_eq!(rate(0, [900, 1_000]), None);
        assert_eq!(rate(30, [910, 1_100]), Some(0.1), "90 % of all, 10 % of the last ones");
        assert_eq!(rate(60, [910, 1_100]), Some(0.1));
        assert_eq!(rate(120, [910, 1_100]), None, "nothing was looked up in the last minute");
        assert_eq!(rate(150, [0, 0]), None, "the engine started anew");
        assert_eq!(rate(155, [3, 4]), Some(0.75));
    }
}
