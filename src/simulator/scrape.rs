//! Metrics: what frontend and workers count, in the Prometheus text format.

use std::fmt::Write as _;
use std::time::Duration;

use super::names::component;
use super::site::Site;
use super::worker::Worker;
use crate::domain::Timestamp;
use crate::wire::encode::Family;

/// Upper bounds of the buckets of the time to the first token, in seconds (recorded from 0.9.0).
const TTFT_BOUNDS: &[&str] = &[
    "0", "0.0022", "0.0047", "0.01", "0.022", "0.047", "0.1", "0.22", "0.47", "1", "2.2", "4.7",
    "10", "22", "48", "100", "220", "480",
];
/// The same of the time between tokens.
const ITL_BOUNDS: &[&str] = &[
    "0", "0.0019", "0.0035", "0.0067", "0.013", "0.024", "0.045", "0.084", "0.16", "0.3", "0.56",
    "1.1", "2",
];

/// A histogram that counts.
#[derive(Clone, Debug, Default)]
struct Buckets {
    /// The number of values at or below each bound; empty before the first value.
    counts: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Buckets {
    /// Counts `times` that took `seconds` each.
    fn add(&mut self, bounds: &[&str], seconds: f64, times: u64) {
        self.counts.resize(bounds.len(), 0);
        for (count, bound) in self.counts.iter_mut().zip(bounds) {
            *count += times * u64::from(bound.parse().is_ok_and(|bound: f64| seconds <= bound));
        }
        self.count += times;
        self.sum += seconds * times as f64;
    }
}

/// The counters of a frontend.
#[derive(Clone, Debug, Default)]
pub(super) struct FrontendCounts {
    pub(super) requests: u64,
    pub(super) inflight: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) seconds: f64,
    ttft: Buckets,
    itl: Buckets,
    /// Stores that the router's index took in.
    pub(super) stores: u64,
    /// Stores that it refused for want of a parent.
    pub(super) orphans: u64,
    /// Removals.
    pub(super) removals: u64,
}

impl FrontendCounts {
    /// Counts a first token that came after `took`.
    pub(super) fn first_token(&mut self, took: Duration) {
        self.ttft.add(TTFT_BOUNDS, took.as_secs_f64(), 1);
    }

    /// Counts `tokens` further tokens that took `took` in all.
    pub(super) fn tokens(&mut self, tokens: u64, took: Duration) {
        let each = took.as_secs_f64() / tokens.max(1) as f64;
        self.itl.add(ITL_BOUNDS, each, tokens);
    }
}

/// A page of metrics being written.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) -> &mut Self {
        self.put(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        self
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) -> &mut Self {
        if labels.is_empty() {
            self.put(format_args!("{name} {value}\n"));
        } else {
            self.put(format_args!("{name}{{{labels}}} {value}\n"));
        }
        self
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        self.0.write_fmt(text).unwrap_or_default();
    }

    /// Writes a histogram.
    fn histogram(&mut self, name: &str, help: &str, labels: &str, bounds: &[&str], of: &Buckets) {
        self.family(name, "histogram", help);
        let counts = of.counts.iter().copied().chain(std::iter::repeat(0));
        for (bound, count) in bounds.iter().zip(counts) {
            self.sample(&format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), count);
        }
        self.sample(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), of.count);
        self.sample(&format!("{name}_sum"), labels, of.sum);
        self.sample(&format!("{name}_count"), labels, of.count);
    }

    /// Writes a histogram of which only sum and count are known.
    fn summed(&mut self, name: &str, help: &str, labels: &str, sum: f64, count: u64) {
        self.family(name, "histogram", help);
        self.sample(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), count);
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, count);
    }
}

/// Returns the metrics of a frontend whose workers' model card says `card` tokens per block.
pub(super) fn frontend(
    site: &Site,
    family: Family,
    counts: &FrontendCounts,
    card: u32,
    total_blocks: usize,
) -> String {
    let mut page = Page(String::with_capacity(4096));
    let model = format!("model=\"{}\"", site.model);
    let gauges: [(&str, u64, &str); 5] = [
        ("inflight_requests", counts.inflight, "Number of inflight requests"),
        ("queued_requests", 0, "Number of requests in HTTP processing queue"),
        (
            "model_kv_cache_block_size",
            u64::from(card),
            "KV cache block size in tokens for a worker serving the model",
        ),
        (
            "model_total_kv_blocks",
            total_blocks as u64,
            "Total KV cache blocks available for a worker serving the model",
        ),
        (
            "model_context_length",
            40_960,
            "Maximum context length in tokens for a worker serving the model",
        ),
    ];
    for (name, value, help) in gauges {
        let name = format!("dynamo_frontend_{name}");
        page.family(&name, "gauge", help).sample(&name, &model, value);
    }
    let name = "dynamo_frontend_requests_total";
    let labels =
        format!("endpoint=\"chat_completions\",{model},request_type=\"stream\",status=\"success\"");
    page.family(name, "counter", "Total number of LLM requests processed");
    page.sample(name, &labels, counts.requests);
    let name = "dynamo_frontend_output_tokens_total";
    page.family(name, "counter", "Total number of output tokens generated (updates in real-time)");
    page.sample(name, &model, counts.output_tokens);
    histograms(&mut page, counts, &model);
    if family >= Family::V1_1 {
        applied(&mut page, site, counts);
    }
    page.0
}

/// Counters of KV events in the router's index, as in the recordings of 1.1.1 and later; those of 0.9 and 1.0
/// have none.
fn applied(page: &mut Page, site: &Site, counts: &FrontendCounts) {
    let namespace = site.namespace;
    let name = "dynamo_component_kv_cache_events_applied";
    page.family(name, "counter", "Total number of KV cache events applied to index");
    for (event, status, count) in [
        ("removed", "ok", counts.removals),
        ("stored", "ok", counts.stores),
        ("stored", "parent_block_not_found", counts.orphans),
    ] {
        let labels = format!(
            "dynamo_component=\"backend\",dynamo_namespace=\"{namespace}\",event_type=\"{event}\",\
             status=\"{status}\""
        );
        page.sample(name, &labels, count);
    }
}

fn histograms(page: &mut Page, counts: &FrontendCounts, model: &str) {
    let tokens = [
        ("input_sequence_tokens", "Input sequence length in tokens", counts.input_tokens),
        ("output_sequence_tokens", "Output sequence length in tokens", counts.output_tokens),
        (
            "cached_tokens",
            "Number of cached tokens (prefix cache hits) per request",
            counts.cached_tokens,
        ),
    ];
    for (name, help, sum) in tokens {
        let name = format!("dynamo_frontend_{name}");
        page.summed(&name, help, model, sum as f64, counts.requests);
    }
    let name = "dynamo_frontend_request_duration_seconds";
    page.summed(name, "Duration of LLM requests", model, counts.seconds, counts.requests);
    let name = "dynamo_frontend_inter_token_latency_seconds";
    page.histogram(name, "Inter-token latency in seconds", model, ITL_BOUNDS, &counts.itl);
    let name = "dynamo_frontend_time_to_first_token_seconds";
    page.histogram(name, "Time to first token in seconds", model, TTFT_BOUNDS, &counts.ttft);
}

/// Returns the metrics of a worker. Those of the engine are only there when it publishes them.
pub(super) fn worker(site: &Site, worker: &Worker, family: Family, now: Timestamp) -> String {
    let namespace = site.namespace;
    let mut page = Page(String::with_capacity(2048));
    let labels = format!(
        "dynamo_component=\"{}\",dynamo_endpoint=\"generate\",dynamo_namespace=\"{namespace}\"",
        component(family)
    );
    let inflight: usize = worker.ranks.iter().map(|rank| rank.running + rank.waiting.len()).sum();
    let name = "dynamo_component_inflight_requests";
    page.family(name, "gauge", "Number of requests currently being processed by work handler");
    page.sample(name, &labels, inflight);
    let name = "dynamo_component_requests_total";
    page.family(name, "counter", "Total number of requests processed by work handler");
    page.sample(name, &labels, worker.requests);
    let name = "dynamo_component_request_duration_seconds";
    let help = "Time spent processing requests by work handler";
    page.summed(name, help, &labels, worker.seconds, worker.requests);
    let name = "dynamo_component_uptime_seconds";
    page.family(name, "gauge", "Total uptime of the DistributedRuntime in seconds");
    page.sample(name, "", now.since(worker.started).as_secs_f64());
    if worker.config.publishes {
        engine(&mut page, site, worker);
    }
    page.0
}

fn engine(page: &mut Page, site: &Site, worker: &Worker) {
    let labels = format!("engine_type=\"trtllm\",model_name=\"{}\"", site.model);
    let used: usize = worker.ranks.iter().map(|rank| rank.pool.used()).sum();
    let room = worker.config.capacity * worker.ranks.len();
    let (reused, asked) = worker
        .ranks
        .iter()
        .fold((0, 0), |sum, rank| (sum.0 + rank.reused.0, sum.1 + rank.reused.1));
    let name = "trtllm_kv_cache_utilization";
    page.family(name, "gauge", "KV cache utilization");
    page.sample(name, &labels, used as f64 / room.max(1) as f64);
    let name = "trtllm_kv_cache_hit_rate";
    page.family(name, "gauge", "KV cache hit rate");
    page.sample(name, &labels, reused as f64 / asked.max(1) as f64);
}
