//! The engines: what their configuration is called, and what holds when nobody sets it.

use super::{flag, variable};
use crate::domain::{Backend, ClaimWhat};

/// Tokens in a block of TensorRT-LLM, as a path into its configuration.
pub const TRTLLM_BLOCK_SIZE: &str = "kv_cache_config.tokens_per_block";

/// Events that TensorRT-LLM keeps for its publisher.
pub const TRTLLM_EVENT_BUFFER: &str = "kv_cache_config.event_buffer_max_size";

/// Tokens in a block of TensorRT-LLM when nothing sets them (`LlmArgs`).
pub const TRTLLM_DEFAULT_BLOCK_SIZE: u64 = 32;

/// Parts of names of models with latent attention, for which TensorRT-LLM takes blocks of [`LATENT_BLOCK_SIZE`] tokens on
/// Hopper GPUs, whatever its configuration says (TensorRT-LLM at 000429d5,
/// `_torch/pyexecutor/py_executor_creator.py`, `enable_flash_mla`). Models distilled from them have other attention.
const LATENT_ATTENTION: [&str; 5] =
    ["deepseek-v2", "deepseek-v3", "deepseek-r1", "deepseek-coder-v2", "kimi-k2"];

/// The block size of such a model on a Hopper GPU.
pub const LATENT_BLOCK_SIZE: u64 = 64;

/// Returns true for the name or path of a model with latent attention.
pub fn has_latent_attention(model: &str) -> bool {
    let model = model.to_ascii_lowercase().replace('_', "-");
    !model.contains("distill") && LATENT_ATTENTION.iter().any(|part| model.contains(part))
}

/// The beginning of every flag that sets a key of TensorRT-LLM's configuration (from 1.0 on,
/// `trtllm/dynamic_flags.py`). Such flags and [`flag::OVERRIDE_ENGINE_ARGS`] exclude each other.
pub const TRTLLM_KEY_FLAGS: &str = "--trtllm.";

/// The flag that sets TensorRT-LLM's block size.
pub const TRTLLM_SIZE_FLAG: &str = "--trtllm.kv_cache_config.tokens_per_block";

/// The flag that sets TensorRT-LLM's prefix caching.
pub const TRTLLM_REUSE_FLAG: &str = "--trtllm.kv_cache_config.enable_block_reuse";

/// A key of TensorRT-LLM's configuration (`LlmArgs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineKey {
    /// The path in the configuration.
    pub path: &'static str,
    /// The flag that sets it; its underscores are no dashes.
    pub flag: &'static str,
    /// The setting.
    pub what: ClaimWhat,
}

/// The keys that are read.
pub const TRTLLM_KEYS: &[EngineKey] = &[
    EngineKey { path: TRTLLM_BLOCK_SIZE, flag: TRTLLM_SIZE_FLAG, what: ClaimWhat::BlockSize },
    EngineKey {
        path: "kv_cache_config.free_gpu_memory_fraction",
        flag: "--trtllm.kv_cache_config.free_gpu_memory_fraction",
        what: ClaimWhat::GpuMemoryFraction,
    },
    EngineKey {
        path: "kv_cache_config.enable_block_reuse",
        flag: TRTLLM_REUSE_FLAG,
        what: ClaimWhat::PrefixReuse,
    },
    EngineKey {
        path: TRTLLM_EVENT_BUFFER,
        flag: "--trtllm.kv_cache_config.event_buffer_max_size",
        what: ClaimWhat::EventBuffer,
    },
    EngineKey {
        path: "kv_cache_config.max_tokens",
        flag: "--trtllm.kv_cache_config.max_tokens",
        what: ClaimWhat::KvCacheTokens,
    },
    EngineKey {
        path: "kv_cache_config.dtype",
        flag: "--trtllm.kv_cache_config.dtype",
        what: ClaimWhat::KvCacheDtype,
    },
    EngineKey {
        path: "tensor_parallel_size",
        flag: "--trtllm.tensor_parallel_size",
        what: ClaimWhat::TensorParallel,
    },
    EngineKey {
        path: "max_batch_size",
        flag: "--trtllm.max_batch_size",
        what: ClaimWhat::MaxNumSeqs,
    },
];

/// Returns the flag that sets a key of TensorRT-LLM's configuration.
pub fn flag_of_key(path: &str) -> Option<&'static str> {
    TRTLLM_KEYS.iter().find(|key| key.path == path).map(|key| key.flag)
}

/// The key that lets vLLM publish events in the JSON of [`flag::KV_EVENTS_CONFIG`].
pub const ENABLE_EVENTS: &str = "enable_kv_cache_events";

/// The publisher that sends nothing, in that JSON and in `SGLang`'s (vLLM, `distributed/kv_events.py`,
/// `NullEventPublisher`).
pub const NO_PUBLISHER: &str = "null";

/// The port of vLLM's own KV events when nothing sets it, up to 1.0 (ai-dynamo 0.9.0, `vllm/args.py`); fixes
/// propose it in later releases too.
pub const VLLM_EVENT_PORT: u16 = 20080;

/// Returns true for an address of KV events that the engine binds. It connects to any other one, where nothing listens
/// (vLLM 0.8 to 0.31, `distributed/kv_events.py`; SGLang 0.5.9, `srt/disaggregation/kv_events.py:242`).
pub fn is_bound(endpoint: &str) -> bool {
    let schemes = ["ipc://", "inproc://"];
    endpoint.contains('*')
        || endpoint.contains("::")
        || schemes.iter().any(|scheme| endpoint.starts_with(scheme))
}

/// Returns the address that the engine binds at the port of `endpoint`.
pub fn bound(endpoint: &str) -> String {
    let port = endpoint.rsplit(':').next().and_then(|port| port.parse().ok());
    format!("tcp://*:{}", port.unwrap_or(VLLM_EVENT_PORT))
}

/// Returns the flags and variables that name an engine's configuration file.
pub const fn config_file(backend: Backend) -> (&'static [&'static str], &'static [&'static str]) {
    match backend {
        Backend::TrtLlm => (&[flag::EXTRA_ENGINE_ARGS], &[variable::TRTLLM_EXTRA_ENGINE_ARGS]),
        Backend::Vllm => (&[flag::CONFIG], &[]),
        Backend::SgLang => (&[flag::DISAGG_CONFIG, flag::CONFIG], &[]),
        Backend::Mocker => (&[flag::EXTRA_ENGINE_ARGS], &[]),
    }
}

/// Returns the flag that sets the engine's block size; none for TensorRT-LLM, which has it in its
/// configuration ([`TRTLLM_BLOCK_SIZE`]).
pub const fn block_size_flag(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::TrtLlm => None,
        Backend::Vllm | Backend::Mocker => Some(flag::BLOCK_SIZE),
        Backend::SgLang => Some(flag::PAGE_SIZE),
    }
}

/// Returns the engine's name for the limit of concurrent sequences.
pub const fn sequences(backend: Backend) -> &'static str {
    match backend {
        Backend::TrtLlm => "max_batch_size",
        Backend::Vllm | Backend::Mocker => flag::MAX_NUM_SEQS,
        Backend::SgLang => flag::MAX_RUNNING_REQUESTS,
    }
}

/// Returns the JSON of [`flag::KV_EVENTS_CONFIG`] that lets an engine publish its events at `port`; none for
/// engines without that flag.
pub fn events_config(backend: Backend, port: u16) -> Option<String> {
    let enable = match backend {
        Backend::Vllm => format!("\"{ENABLE_EVENTS}\":true,"),
        Backend::SgLang => String::new(),
        Backend::TrtLlm | Backend::Mocker => return None,
    };
    let topic = super::plane::KV_EVENTS;
    Some(format!(
        "{{{enable}\"publisher\":\"zmq\",\"topic\":\"{topic}\",\"endpoint\":\"tcp://*:{port}\"}}"
    ))
}
