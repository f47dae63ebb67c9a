//! Metrics that kvtop reads, by their names in each release and engine. A `:` in a name is written as `_`.

use crate::domain::{GaugeName, LatencyName};

/// Metrics that stand for themselves: another name of a known quantity is one line here.
pub const GAUGES: &[(&str, GaugeName)] = &[
    ("vllm_kv_cache_usage_perc", GaugeName::KvUtilization),
    ("vllm_gpu_cache_usage_perc", GaugeName::KvUtilization),
    ("sglang_token_usage", GaugeName::KvUtilization),
    ("trtllm_kv_cache_utilization", GaugeName::KvUtilization),
    // A share in spite of its name: "GPU cache usage as a percentage (0.0-1.0)" (dynamo-runtime
    // 1.6.1, `metrics/prometheus_names.rs`, module `kvstats`).
    ("dynamo_component_gpu_cache_usage_percent", GaugeName::KvUtilization),
    ("sglang_cache_hit_rate", GaugeName::PrefixHitRate),
    ("trtllm_kv_cache_hit_rate", GaugeName::PrefixHitRate),
    ("dynamo_component_kv_cache_hit_rate", GaugeName::PrefixHitRate),
    ("dynamo_component_total_blocks", GaugeName::TotalBlocks),
    ("vllm_cache_config_info", GaugeName::ConfiguredBlocks),
    ("sglang_max_total_num_tokens", GaugeName::TotalTokens),
    ("sglang_num_used_tokens", GaugeName::UsedTokens),
    ("dynamo_frontend_time_to_first_token_seconds_sum", GaugeName::TtftSum),
    ("dynamo_frontend_time_to_first_token_seconds_count", GaugeName::TtftCount),
    ("dynamo_component_router_kv_hit_rate_sum", GaugeName::RouterHitSum),
    ("dynamo_component_router_kv_hit_rate_count", GaugeName::RouterHitCount),
    ("dynamo_frontend_cached_tokens_sum", GaugeName::CachedTokenSum),
    ("dynamo_frontend_input_sequence_tokens_sum", GaugeName::InputTokenSum),
    ("dynamo_frontend_input_sequence_tokens_count", GaugeName::InputTokenCount),
    ("dynamo_frontend_output_sequence_tokens_sum", GaugeName::OutputTokenSum),
    ("dynamo_frontend_output_sequence_tokens_count", GaugeName::OutputTokenCount),
    ("dynamo_frontend_queued_requests", GaugeName::Queued),
    // From Dynamo 1.4 on (pull request 11194).
    ("dynamo_component_router_kv_event_source_mismatch_workers", GaugeName::SourcelessWorkers),
    ("dynamo_frontend_router_kv_event_source_mismatch_workers", GaugeName::SourcelessWorkers),
    ("dynamo_component_inflight_requests", GaugeName::InFlight),
    ("dynamo_frontend_output_tokens_total", GaugeName::OutputTokens),
    // A standalone indexer's (dynamo-runtime 1.1.1, `metrics/prometheus_names.rs`, module `kvindexer`).
    ("dynamo_kvindexer_workers", GaugeName::Registered),
    ("vllm_num_requests_running", GaugeName::Running),
    ("vllm_num_requests_waiting", GaugeName::Waiting),
    ("sglang_num_running_reqs", GaugeName::Running),
    ("sglang_num_queue_reqs", GaugeName::Waiting),
    // Counters of KVBM, each behind a port of its own, 6880 unless told otherwise (dynamo-llm 1.1.1,
    // `block_manager/metrics_kvbm.rs`); `d` is the GPU before the 2, and behind it the GPU or a disk.
    ("kvbm_offload_blocks_d2h", GaugeName::DeviceToHost),
    ("kvbm_offload_blocks_h2d", GaugeName::HostToDisk),
    ("kvbm_offload_blocks_d2d", GaugeName::DeviceToDisk),
    ("kvbm_offload_blocks_d2o", GaugeName::DeviceToObject),
    ("kvbm_onboard_blocks_h2d", GaugeName::HostToDevice),
    ("kvbm_onboard_blocks_d2d", GaugeName::DiskToDevice),
    ("kvbm_onboard_blocks_o2d", GaugeName::ObjectToDevice),
];

/// A metric that means something only together with another one of the same scrape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Tokens found in an engine's cache.
    Hits,
    /// Tokens looked up in it.
    Queries,
    /// Blocks that a router believes to be decoding on a worker.
    DecodeBlocks,
    /// Tokens that a router believes to be prefilling on a worker.
    PrefillTokens,
    /// KV blocks of a model's workers.
    ModelBlocks,
}

/// Metrics that are read together with others.
pub const PARTS: &[(&str, Part)] = &[
    // Counters of tokens since the engine started; vLLM before 0.9.2 names the GPU.
    ("vllm_prefix_cache_hits_total", Part::Hits),
    ("vllm_prefix_cache_hits", Part::Hits),
    ("vllm_gpu_prefix_cache_hits_total", Part::Hits),
    ("vllm_gpu_prefix_cache_hits", Part::Hits),
    ("vllm_prefix_cache_queries_total", Part::Queries),
    ("vllm_prefix_cache_queries", Part::Queries),
    ("vllm_gpu_prefix_cache_queries_total", Part::Queries),
    ("vllm_gpu_prefix_cache_queries", Part::Queries),
    ("dynamo_frontend_worker_active_decode_blocks", Part::DecodeBlocks),
    ("dynamo_frontend_worker_active_prefill_tokens", Part::PrefillTokens),
    ("dynamo_frontend_model_total_kv_blocks", Part::ModelBlocks),
];

/// Buckets of histograms.
pub const LATENCIES: &[(&str, LatencyName)] = &[
    ("dynamo_frontend_time_to_first_token_seconds_bucket", LatencyName::FirstToken),
    ("dynamo_frontend_inter_token_latency_seconds_bucket", LatencyName::InterToken),
    ("dynamo_frontend_request_duration_seconds_bucket", LatencyName::Request),
    ("vllm_request_queue_time_seconds_bucket", LatencyName::Queue),
    ("trtllm_request_queue_time_seconds_bucket", LatencyName::Queue),
    ("sglang_queue_time_seconds_bucket", LatencyName::Queue),
];

/// One series with the value 1 for each rank of each worker that a router has registered. Some releases keep the
/// series of workers that left (dynamo-runtime 1.6.1, `metrics/prometheus_names.rs`, module `router`).
pub const ROUTER_WORKER: &str = "dynamo_component_router_worker_registered";

/// The label of that metric with the worker's instance id, in decimal.
pub const ROUTER_WORKER_ID: &str = "router_worker_id";

/// The block size of the card that a frontend adopted.
pub const ADOPTED_SIZE: &str = "dynamo_frontend_model_kv_cache_block_size";

/// Requests that a frontend answered, by their outcome (dynamo-llm 0.9.0 to 1.6.1, `http/service/metrics.rs`).
pub const REQUESTS: &str = "dynamo_frontend_requests_total";

/// The value of that metric's label `status` for requests that were answered with an error.
pub const REQUEST_FAILED: &str = "error";

/// Prefix of the metrics of a router, which carry the Dynamo namespace of its workers as the label `dynamo_namespace`
/// (seen in 1.6.1; frontends of 0.9.0 have none).
pub const ROUTER: &str = "dynamo_component_router_";

/// Prefix of the metrics of a frontend.
pub const FRONTEND: &str = "dynamo_frontend_";

/// The end of the names of the router's counters of events: in the frontend from 1.0, in processes of its own
/// (dynamo-kv-router 1.6.1, `indexer/metrics.rs:184`).
pub const EVENTS_APPLIED: &str = "kv_cache_events_applied";

/// Returns the quantity that such a counter counts, by its labels `event_type` and `status`.
pub fn events_applied(event: &str, status: &str) -> Option<GaugeName> {
    Some(match (event, status) {
        ("stored", "ok") => GaugeName::StoresApplied,
        ("stored", "parent_block_not_found") => GaugeName::StoresOrphaned,
        // `invalid_block`, and from 1.6 on what an index has no room for.
        ("stored", _) => GaugeName::StoresInvalid,
        ("removed", "ok") => GaugeName::RemovalsApplied,
        ("removed", "block_not_found") => GaugeName::RemovalsMissing,
        _ => return None,
    })
}
