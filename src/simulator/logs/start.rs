//! Log lines of starting processes, and complaints of publishers.

use super::line;
use crate::domain::Timestamp;
use crate::simulator::config::{RouterMode, SimConfig, WorkerConfig};
use crate::simulator::names::component;
use crate::simulator::site::Site;
use crate::wire::encode::Family;

/// Returns what a frontend logs when it starts.
pub(in crate::simulator) fn frontend_start(
    site: &Site,
    family: Family,
    mode: RouterMode,
    at: Timestamp,
    workers: usize,
) -> Vec<String> {
    let mut lines = vec![
        "dynamo_runtime::distributed: Initializing KV store discovery backend".to_owned(),
        "dynamo_llm::http::service::service_v2: Starting HTTP(S) service protocol=\"HTTP\" \
         address=\"0.0.0.0:8000\""
            .to_owned(),
    ];
    if family == Family::V0_9 && mode == RouterMode::Kv {
        lines.push(format!(
            "dynamo_llm::kv_router: Found {workers} worker(s), starting KV event subscriber"
        ));
        lines.push(
            "dynamo_llm::kv_router: Not all workers have local_indexer enabled, using JetStream \
             subscription"
                .to_owned(),
        );
        lines.push("dynamo_llm::kv_router: KV Routing initialized".to_owned());
    }
    lines.push(format!(
        "dynamo_llm::discovery::watcher: added model model_name=\"{}\" \
         namespace=\"{}\"",
        site.model, site.namespace
    ));
    lines.iter().map(|rest| line(at, "INFO", rest)).collect()
}

/// Returns what a worker and its engine log when they start.
pub(in crate::simulator) fn worker_start(
    sim: &SimConfig,
    at: Timestamp,
    worker: u64,
    config: &WorkerConfig,
) -> Vec<String> {
    let info = |rest: String| line(at, "INFO", &rest);
    let (site, family) = (sim.site, sim.family);
    let batch = sim.service.batch_limit;
    let (namespace, model, component) = (site.namespace, site.model, component(family));
    let publishes = if config.publishes { "True" } else { "False" };
    let (engine, capacity) = (config.engine, config.capacity);
    let tokens = capacity as u64 * u64::from(engine);
    let mut lines = vec![
        info(format!(
            "main.worker: Initializing the worker with config: Config(namespace={namespace}, \
             component={component}, endpoint=generate, model_path={model}, \
             served_model_name={model}, tensor_parallel_size=1, max_batch_size={batch}, \
             kv_block_size={}, publish_events_and_metrics={publishes})",
            config.publisher
        )),
        info(format!(
            "main.init: TensorRT-LLM engine args: {{'model': '{model}', 'backend': 'pytorch', \
             'max_batch_size': {batch}, 'kv_cache_config': {{'enable_block_reuse': True, \
             'tokens_per_block': {engine}, 'event_buffer_max_size': 1024}}}}"
        )),
        format!(
            "[TensorRT-LLM][INFO] Max KV cache blocks per sequence: {} [window size=40960], tokens \
             per block={engine}, primary blocks={capacity}, secondary blocks=0, max sequence \
             length=40960",
            40_960 / engine.max(1)
        ),
        format!("[TensorRT-LLM][INFO] Number of tokens per block: {engine}."),
        format!(
            "[TensorRT-LLM][INFO] [MemUsageChange] Allocated {:.2} GiB for max tokens in paged KV \
             cache ({tokens}).",
            tokens as f64 * 114_688.0 / f64::from(1 << 30)
        ),
        info(format!("_core: Registered base model '{model}' MDC")),
    ];
    if config.publishes {
        lines.push(info(format!(
            "dynamo_llm::kv_router::publisher: Initializing KvEventPublisher for worker {worker} \
             in component {component}"
        )));
    }
    lines
}

/// Returns the line of a publisher that could not publish a block.
pub(in crate::simulator) fn complaint(at: Timestamp, text: &str) -> String {
    if text.starts_with("Block not published") {
        line(at, "WARN", &format!("dynamo_llm::kv_router::publisher: {text}"))
    } else {
        line(at, "ERROR", &format!("publisher._handle_kv_event: {text}"))
    }
}
