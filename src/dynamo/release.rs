//! Releases of Dynamo: the span that kvtop knows, and those in which behaviour changed.
//!
//! A release that changes a name is a row of [`super::settings`]; a release that changes behaviour is a constant
//! here. Rules, lint and decoders compare with these constants and have no release numbers of their own.

use std::ops::Range;

use crate::domain::Release;

/// The oldest release that kvtop knows.
pub const OLDEST: Release = Release::new(0, 9);

/// The newest release that kvtop was checked against.
pub const NEWEST: Release = Release::new(1, 6);

/// Routers rebuild their index from the workers after a restart, and read block sizes of their own from variables.
pub const ROUTERS_ASK_WORKERS: Release = Release::new(1, 0);

/// The model card's block size may change while a router runs; the router of 0.9 keeps the first one (dynamo-llm
/// 0.9.0, `discovery/model_manager.rs`).
pub const ROUTERS_TAKE_NEW_SIZES: Release = Release::new(1, 0);

/// Variables that are switches are true for 1, yes and on too; before, for true alone (ai-dynamo 0.9.0,
/// `frontend/main.py:158`; 1.0.2, `common/configuration/utils.py:45`).
pub const SWITCHES_HAVE_WORDS: Release = Release::new(1, 0);

/// Standalone routers read their block size from a variable (ai-dynamo 1.0.0, `router/`).
pub const ROUTER_SIZE_VARIABLE: Release = Release::new(1, 0);

/// Releases in which a frontend whose engine code processes chats hashes with the size that the frontend declares
/// (`kv_cache_block_size or 16`, ai-dynamo 1.0.0 to 1.2.1, `frontend/`).
pub const OWN_PROCESSOR_HASHES: Range<Release> = Release::new(1, 0)..Release::new(1, 3);

/// vLLM workers publish KV events only when told to; before, they do so by themselves (ai-dynamo 0.9.0,
/// `vllm/args.py`).
pub const VLLM_ASKS_FOR_EVENTS: Release = Release::new(1, 1);

/// vLLM chooses its block size for the model and the attention backend; before, Dynamo sets 16 (ai-dynamo 1.0.2,
/// `vllm/args.py:233`; 1.1.1, `vllm/args.py:232`; 1.4.2, `vllm/args.py:284`).
pub const VLLM_CHOOSES_SIZE: Release = Release::new(1, 1);

/// KV events name their storage tier.
pub const EVENTS_NAME_TIERS: Release = Release::new(1, 1);

/// Stored blocks come with their position in the prompt.
pub const EVENTS_NAME_POSITIONS: Release = Release::new(1, 2);
/// In graph deployments of v1alpha1, a container's own variables win over those of its service and of the graph; before,
/// these win (operator, `internal/dynamo/graph.go` of 0.9 and 1.1, `GenerateBasePodSpec`: the last merge is that of
/// `component.Envs`).
pub const CONTAINER_VARIABLES_WIN: Release = Release::new(1, 2);

/// vLLM's publisher uses the engine's block size.
pub const VLLM_SIZE_FROM_ENGINE: Release = Release::new(1, 2);

/// The event buffer of TensorRT-LLM can be set; before, it holds 1024 events.
pub const TRTLLM_BUFFER_SETTABLE: Release = Release::new(1, 2);

/// The event buffer of TensorRT-LLM holds 100000 events by default.
pub const TRTLLM_BUFFER_LARGE: Release = Release::new(1, 3);

/// Events travel over ZMQ by default; before, over NATS (dynamo-runtime 1.3.0, `discovery/mod.rs:40`).
pub const EVENTS_BY_ZMQ: Release = Release::new(1, 3);

/// A message holds several KV events; before, one (dynamo-llm 1.4.0, `kv_router/publisher/sinks.rs:24`).
pub const EVENTS_IN_BATCHES: Release = Release::new(1, 4);

/// TensorRT-LLM's publisher and model card use the engine's block size (ai-dynamo 1.4.0,
/// `trtllm/workers/llm_worker.py:171`).
pub const TRTLLM_SIZE_FROM_ENGINE: Release = Release::new(1, 4);

/// Publishers drop store events without blocks, as they arise where the publisher's blocks are larger than the
/// engine's (seen with 1.6.1).
pub const EMPTY_STORES_DROPPED: Release = Release::new(1, 4);

/// SGLang's publisher uses the engine's block size.
pub const SGLANG_SIZE_FROM_ENGINE: Release = Release::new(1, 5);

/// A prefill router uses the block size in the prefill workers' cards; before, that of the decode workers.
pub const PREFILL_HAS_OWN_SIZE: Release = Release::new(1, 5);

/// KV events name the domain in which blocks reside (dynamo-kv-router 1.6.1, `protocols.rs:1525`).
pub const EVENTS_NAME_DOMAINS: Release = Release::new(1, 5);

/// The overlap weight sets the scale of the prefill load, which has a setting of its own (ai-dynamo 1.2.1,
/// `common/configuration/groups/kv_router_args.py:86`).
pub const WEIGHT_IS_DEPRECATED: Release = Release::new(1, 2);

/// A router's cost has credits, decay and requests besides prefill and decoding (dynamo-kv-router 1.6.1,
/// `scheduling/selector.rs`); the overlap weight scales the prefill load.
pub const COST_HAS_CREDITS: Release = Release::new(1, 6);

/// Returns the span of known releases for people, such as `0.9 to 1.6`.
pub fn span() -> String {
    format!("{OLDEST} to {NEWEST}")
}
