//! Lines that engines and workers print when they start: block sizes, capacity, settings.
//!
//! TensorRT-LLM and Dynamo's worker as in ai-dynamo 0.9.0 `trtllm/main.py`; vLLM
//! `kv_cache_utils.py`, `config.py`; `SGLang` `scheduler.py`.

use std::sync::Arc;

use super::RAW_LIMIT;
use super::fields::Line;
use crate::domain::{
    Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, Fact, Medium, Placement, Subject, WorkerId,
};

use crate::wire::text::printable;

type What = ClaimWhat;

/// A number that follows a mark in a line.
struct Number {
    mark: &'static str,
    what: ClaimWhat,
    of: ClaimOf,
}

const fn engine(mark: &'static str, what: ClaimWhat) -> Number {
    Number { mark, what, of: ClaimOf::Engine }
}

/// Words that identify such a line, and the numbers in it.
const LINES: &[(&str, &[Number])] = &[
    ("Number of tokens per block: ", &[engine("Number of tokens per block: ", What::BlockSize)]),
    (
        "tokens per block=",
        &[
            engine("tokens per block=", What::BlockSize),
            engine("primary blocks=", What::TotalKvBlocks),
        ],
    ),
    (
        "max tokens in paged KV cache (",
        &[engine("max tokens in paged KV cache (", What::KvCacheTokens)],
    ),
    (
        "TensorRT-LLM engine args: ",
        &[
            engine("'tokens_per_block': ", What::BlockSize),
            engine("'event_buffer_max_size': ", What::EventBuffer),
            engine("'max_batch_size': ", What::MaxNumSeqs),
            engine("'tensor_parallel_size': ", What::TensorParallel),
        ],
    ),
    (
        "Initializing the worker with config: Config(",
        &[
            Number { mark: "kv_block_size=", what: What::BlockSize, of: ClaimOf::Publisher },
            engine("max_batch_size=", What::MaxNumSeqs),
            engine("tensor_parallel_size=", What::TensorParallel),
        ],
    ),
    ("Change tokens_per_block to: ", &[engine("Change tokens_per_block to: ", What::BlockSize)]),
    (
        "kv size is ",
        &[Number { mark: "kv size is ", what: What::KvTokenBytes, of: ClaimOf::Engine }],
    ),
    // vLLM names the kind of device first: GPU, or CPU in its CPU builds (0.31, `kv_cache_utils.py:2464`).
    ("PU KV cache size: ", &[engine("PU KV cache size: ", What::KvCacheTokens)]),
    // Backends that override the flag: `cuda.py`, `interface.py` of vLLM 0.8 to 0.31.
    ("kv cache block size to ", &[engine("kv cache block size to ", What::BlockSize)]),
    ("KV cache block size to ", &[engine("KV cache block size to ", What::BlockSize)]),
    // vLLM 0.31, `platforms/cpu.py`.
    (" requires block_size=", &[engine(" requires block_size=", What::BlockSize)]),
    // DeepSeek's sparse attention (SGLang `server_args.py`, DSA, before NSA).
    ("Setting page size to ", &[engine("Setting page size to ", What::BlockSize)]),
    (
        "Setting attention block size to ",
        &[engine("Setting attention block size to ", What::BlockSize)],
    ),
    ("# cuda blocks: ", &[engine("# cuda blocks: ", What::TotalKvBlocks)]),
    ("# GPU blocks: ", &[engine("# GPU blocks: ", What::TotalKvBlocks)]),
    (
        // Scheduler, SGLang 0.5.8 (Dynamo 0.9) to 0.5.18 (Dynamo 1.5), `managers/scheduler.py`.
        "max_total_num_tokens=",
        &[
            engine("max_total_num_tokens=", What::KvCacheTokens),
            engine("max_running_requests=", What::MaxNumSeqs),
        ],
    ),
];

/// Truths in a line: the mark of the line, of the value, and what it says.
const FLAGS: &[(&str, &str, ClaimWhat, ClaimOf)] = &[
    // vLLM's engine prints its whole configuration (`core.py`, "Initializing a V1 LLM engine (v0.31.0)").
    (" LLM engine (v", "enable_prefix_caching=", ClaimWhat::PrefixReuse, ClaimOf::Engine),
    ("TensorRT-LLM engine args: ", "'enable_block_reuse': ", What::PrefixReuse, ClaimOf::Engine),
    (
        "Initializing the worker with config: Config(",
        "publish_events_and_metrics=",
        What::PublishesEvents,
        ClaimOf::Publisher,
    ),
];

/// Lines that say that an engine does not reuse prefixes: vLLM 0.31 (`vllm.py:2015`, `platforms/cpu.py:504`), and
/// Dynamo's worker, which then publishes nothing (ai-dynamo 1.6.1, `vllm/args.py`, `create_kv_events_config`).
const UNCACHED: [&str; 3] = [
    "KV cache events are on, but prefix caching is not enabled",
    "No kv_events_config required: prefix caching is disabled",
    "forcing chunked prefill and prefix caching to be disabled",
];

/// Dynamo's worker names the address at which vLLM publishes (ai-dynamo 1.6.1, `vllm/args.py`,
/// `update_engine_config_with_dynamo`): the mark of the line, and of the address.
const ENDPOINT: (&str, &str) = ("for publishing vLLM kv events", "endpoint='");

/// Amounts of memory on one GPU, which engines print as a decimal number of GiB: the mark of the line, of
/// the number, and what it says (vLLM `gpu_model_runner.py`, `gpu_worker.py`, 0.14 in Dynamo 0.9 to 0.28 in
/// 1.5; TensorRT-LLM `_util.py`, `kvCacheManager.cpp`; `SGLang` `model_runner.py`, whose GB are GiB).
///
/// `SGLang`'s "KV Cache is allocated" is left alone: it comes once more for the draft model of speculative
/// decoding, and once for each pool of a hybrid model, and no line says which it is.
const AMOUNTS: &[(&str, &str, ClaimWhat)] = &[
    ("Model loading took ", "Model loading took ", What::WeightBytes),
    ("Memory used after loading model weights (inside torch)", "profiling: ", What::WeightBytes),
    ("Load weight end", "mem usage=", What::WeightBytes),
    ("Available KV cache memory: ", "Available KV cache memory: ", What::KvCacheBytes),
    // With --kv-cache-memory-bytes nothing is measured, and the line above does not come.
    ("as specified by kv_cache_memory_bytes", "reserved ", What::KvCacheBytes),
    ("for max tokens in paged KV cache (", "Allocated ", What::KvCacheBytes),
];

/// Every such line has one of these; most other lines have none, and cost these searches only.
const COMMON: [&str; 18] = [
    "publishing vLLM kv events",
    " LLM engine (v",
    "prefix caching is",
    "prefix caching to be",
    "cache block size to ",
    " requires block_size=",
    "page size to ",
    "tokens",
    "engine args: ",
    "with config: Config(",
    "blocks: ",
    "KvEventPublisher for worker ",
    "KV cache size",
    "KV cache memory",
    "kv_cache_memory_bytes",
    "Model loading took ",
    "loading model weights",
    "Load weight end",
];

/// Adds what a line of a starting worker says.
pub(super) fn read(line: &Line<'_>, pod: &Arc<str>, facts: &mut Vec<Fact>) {
    if !COMMON.iter().any(|mark| line.has(mark)) {
        return;
    }
    let mut claim = |what, of, value| {
        facts.push(Fact::Claim(Claim {
            what,
            of,
            subject: Subject::Pod(Arc::clone(pod)),
            model: None,
            value,
            basis: Basis::Observed,
            source: format!("log of {pod}").into(),
            raw: "".into(),
            set_by: None,
            medium: Medium::Logs,
        }));
    };
    for (_, numbers) in LINES.iter().filter(|(mark, _)| line.has(mark)) {
        for number in *numbers {
            if let Some(value) = line.grouped(number.mark).filter(|value| *value > 0) {
                claim(number.what, number.of, ClaimValue::Count(value));
            }
        }
    }
    for (_, mark, what, of) in FLAGS.iter().filter(|(line_mark, ..)| line.has(line_mark)) {
        if let Some(value) = line.flag(mark) {
            claim(*what, *of, ClaimValue::Flag(value));
        }
    }
    if UNCACHED.into_iter().any(|mark| line.has(mark)) {
        claim(ClaimWhat::PrefixReuse, ClaimOf::Engine, ClaimValue::Flag(false));
    }
    for (_, mark, what) in AMOUNTS.iter().filter(|(line_mark, ..)| line.has(line_mark)) {
        if let Some(bytes) = line.number(mark).and_then(gibibytes) {
            claim(*what, ClaimOf::Engine, ClaimValue::Count(bytes));
        }
    }
    if line.has(ENDPOINT.0)
        && let Some(endpoint) = line.quoted(ENDPOINT.1)
    {
        let endpoint = ClaimValue::Text(printable(endpoint, RAW_LIMIT).into());
        claim(ClaimWhat::EventEndpoint, ClaimOf::Engine, endpoint);
    }
    if let Some(worker) = line.integer("KvEventPublisher for worker ") {
        let worker = WorkerId(worker);
        facts.push(Fact::Placed(Placement { worker, pod: Some(Arc::clone(pod)), ranks: 0..0 }));
    }
}

/// Returns an amount in GiB as bytes, unless it is absurd.
fn gibibytes(amount: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1 PiB")]
    let bytes = (amount * 1_073_741_824.0).round() as u64;
    (amount > 0.0 && amount < 1_048_576.0).then_some(bytes)
}
