//! Scrapes of `/metrics`: the few families that kvtop uses, by their names in each version and engine
//! (PROTOCOL 8).

use std::collections::BTreeMap;
use std::sync::Arc;

use prometheus_parse::{Sample, Scrape, Value};

use super::text::printable;
use super::{Facts, Reject, utf8, version_sign};
use crate::domain::{
    Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, DpRank, Fact, Gauge, GaugeName, Subject, WorkerId,
};
use crate::frame::{Frame, Origin};

/// Largest scrape that is parsed; real ones are some 100 KB.
const SCRAPE_LIMIT: usize = 16 << 20;

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let Origin::Metrics { pod, .. } = &frame.origin else { return Ok(()) };
    let text = utf8(frame)?;
    if text.len() > SCRAPE_LIMIT {
        return Err(Reject::new("a scrape of more than 16 MiB"));
    }
    let wanted = text.lines().filter(|line| is_wanted(line)).map(|line| Ok(plain_name(line)));
    let scrape = Scrape::parse(wanted).map_err(|_| Reject::new("a scrape that cannot be read"))?;
    // One family of counters has many labels; its parts are told once each.
    let mut counted: BTreeMap<GaugeName, f64> = BTreeMap::new();
    for sample in &scrape.samples {
        let value = match &sample.value {
            Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => *value,
            Value::Histogram(_) | Value::Summary(_) => continue,
        };
        if !value.is_finite() {
            continue;
        }
        if sample.metric == "dynamo_frontend_model_kv_cache_block_size" {
            facts.other.extend(adopted_block_size(pod, sample, value));
        } else if let Some(name) = applied(sample) {
            *counted.entry(name).or_default() += value;
        } else if let Some((name, value)) = gauge_of(&sample.metric, value) {
            facts.other.push(Fact::Gauge(Gauge {
                pod: Arc::clone(pod),
                worker: labelled_worker(sample),
                dp_rank: sample
                    .labels
                    .get("dp_rank")
                    .and_then(|rank| rank.parse().ok())
                    .map(DpRank),
                name,
                value,
            }));
        }
    }
    facts.other.extend(counted.into_iter().map(|(name, value)| {
        let (worker, dp_rank) = (None, None);
        Fact::Gauge(Gauge { pod: Arc::clone(pod), worker, dp_rank, name, value })
    }));
    let release = text.lines().filter_map(version_sign::of_metric).max();
    facts.other.extend(version_sign::of_metrics(release, Subject::Pod(Arc::clone(pod))));
    Ok(())
}

/// Everything else is passed over before it is parsed: scrapes of 1.6 have thousands of samples.
fn is_wanted(line: &str) -> bool {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    name == "dynamo_frontend_model_kv_cache_block_size"
        || name.ends_with(APPLIED)
        || gauge_of(&name.replace(':', "_"), 0.0).is_some()
}

/// Returns the line with `vllm:name` as `vllm_name`: the parser knows no colons in names.
fn plain_name(line: &str) -> String {
    let end = line.find(['{', ' ']).unwrap_or(line.len());
    format!("{}{}", line[..end].replace(':', "_"), &line[end..])
}

/// What the router's counters of events end with: in the frontend from 1.0, in processes of its own
/// (dynamo-kv-router 1.6.1, `indexer/metrics.rs:184`).
const APPLIED: &str = "kv_cache_events_applied";

fn applied(sample: &Sample) -> Option<GaugeName> {
    if !sample.metric.ends_with(APPLIED) {
        return None;
    }
    Some(match (sample.labels.get("event_type")?, sample.labels.get("status")?) {
        ("stored", "ok") => GaugeName::StoresApplied,
        ("stored", "parent_block_not_found") => GaugeName::StoresOrphaned,
        // `invalid_block`, and from 1.6 on what an index has no room for.
        ("stored", _) => GaugeName::StoresInvalid,
        ("removed", "ok") => GaugeName::RemovalsApplied,
        ("removed", "block_not_found") => GaugeName::RemovalsMissing,
        _ => return None,
    })
}

fn gauge_of(metric: &str, value: f64) -> Option<(GaugeName, f64)> {
    Some(match metric {
        "vllm_kv_cache_usage_perc"
        | "vllm_gpu_cache_usage_perc"
        | "sglang_token_usage"
        | "trtllm_kv_cache_utilization"
        // A share in spite of its name: "GPU cache usage as a percentage (0.0-1.0)" (dynamo-runtime
        // 1.6.1, `metrics/prometheus_names.rs`, module `kvstats`).
        | "dynamo_component_gpu_cache_usage_percent" => (GaugeName::KvUtilization, value),
        "sglang_cache_hit_rate" | "trtllm_kv_cache_hit_rate" => (GaugeName::PrefixHitRate, value),
        "dynamo_frontend_time_to_first_token_seconds_sum" => (GaugeName::TtftSum, value),
        "dynamo_frontend_time_to_first_token_seconds_count" => (GaugeName::TtftCount, value),
        "dynamo_component_router_kv_hit_rate_sum" => (GaugeName::RouterHitSum, value),
        "dynamo_component_router_kv_hit_rate_count" => (GaugeName::RouterHitCount, value),
        "dynamo_frontend_input_sequence_tokens_sum" => (GaugeName::InputTokenSum, value),
        "dynamo_frontend_input_sequence_tokens_count" => (GaugeName::InputTokenCount, value),
        "dynamo_frontend_output_sequence_tokens_sum" => (GaugeName::OutputTokenSum, value),
        "dynamo_frontend_output_sequence_tokens_count" => (GaugeName::OutputTokenCount, value),
        "dynamo_frontend_queued_requests" => (GaugeName::Queued, value),
        _ => return None,
    })
}

/// The block size of the card that the frontend adopted is the one its router hashes with
/// (dynamo-llm 0.9.0, `http/service/metrics.rs:670`).
fn adopted_block_size(pod: &Arc<str>, sample: &Sample, value: f64) -> Option<Fact> {
    // Sizes are small whole numbers; anything else is no size.
    let size = (1.0..=1e9).contains(&value).then(|| value.round())?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1e9")]
    let size = size as u64;
    let model = printable(sample.labels.get("model").unwrap_or_default(), 200);
    Some(Fact::Claim(Claim {
        what: ClaimWhat::BlockSize,
        of: ClaimOf::Router,
        subject: Subject::Pod(Arc::clone(pod)),
        value: ClaimValue::Count(size),
        basis: Basis::Observed,
        source: format!("metrics of {pod}").into(),
        raw: format!("{}{{model=\"{model}\"}} {size}", sample.metric).into(),
    }))
}

/// From 1.6 worker metrics carry the instance id in hexadecimal; the frontend's gauges about workers
/// carry it in decimal.
fn labelled_worker(sample: &Sample) -> Option<WorkerId> {
    let id = sample.labels.get("worker_id")?;
    let decimal = sample.metric.starts_with("dynamo_frontend_worker_");
    u64::from_str_radix(id, if decimal { 10 } else { 16 }).ok().map(WorkerId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    /// Returns the gauges of a scrape with the text, as name, rank and value.
    fn gauges(text: &'static str) -> Vec<(GaugeName, Option<u32>, f64)> {
        let origin = Origin::Metrics { pod: "worker".into(), url: "/metrics".into() };
        let frame = Frame::new(Timestamp::default(), origin, text);
        let mut facts = Facts::default();
        decode(&frame, &mut facts).unwrap();
        let gauge = |fact: Fact| match fact {
            Fact::Gauge(gauge) => Some((gauge.name, gauge.dp_rank.map(|rank| rank.0), gauge.value)),
            _ => None,
        };
        facts.other.into_iter().filter_map(gauge).collect()
    }

    #[test]
    fn dynamos_own_gauge_of_the_cache_is_a_share_as_the_engines_is() {
        let text = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.97\n\
                    dynamo_component_gpu_cache_usage_percent{dp_rank=\"0\"} 0.97\n";

        let shares: Vec<_> = gauges(text).into_iter().map(|(_, _, value)| value).collect();

        assert_eq!(shares, [0.97, 0.97]);
    }
}
