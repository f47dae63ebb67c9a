//! The part of serving that a worker does, as its flags and variables say.

use super::{flag, variable};
use crate::domain::{Backend, Role};

/// A switch that gives a worker another part than whole requests.
#[derive(Clone, Copy, Debug)]
pub struct PartSwitch {
    /// The engine whose workers have it.
    pub backend: Backend,
    /// The flag.
    pub flag: &'static str,
    /// The variable; none where there is only the flag.
    pub variable: Option<&'static str>,
    /// The role of such a worker.
    pub role: Role,
}

const fn switch(
    backend: Backend,
    role: Role,
    flag: &'static str,
    variable: Option<&'static str>,
) -> PartSwitch {
    PartSwitch { backend, flag, variable, role }
}

/// The switches of vLLM's and SGLang's workers (ai-dynamo 0.9.0 `vllm/args.py`, `sglang/args.py`; 1.0.2 to 1.4.2
/// `vllm/backend_args.py`, `sglang/backend_args.py`).
///
/// Encoders register no KV events and an empty model type (1.4.2 `vllm/worker_factory.py:626`), and embedding workers of
/// vLLM have no KV cache (`vllm/main.py:503`). Requests for embeddings pass no KV router (dynamo-llm 1.5.0,
/// `discovery/watcher.rs:948`). Decode workers publish nothing (1.1.1 `vllm/args.py:325`), a worker with
/// `--multimodal-decode-worker` is one (1.2.1 `vllm/backend_args.py:365`), and headless ones have no endpoint of Dynamo
/// (1.6.1 `vllm/backend_args.py:275`).
pub const PART_SWITCHES: &[PartSwitch] = &[
    switch(
        Backend::Vllm,
        Role::Prefill,
        flag::IS_PREFILL_WORKER,
        Some(variable::VLLM_IS_PREFILL_WORKER),
    ),
    switch(
        Backend::Vllm,
        Role::Decode,
        flag::IS_DECODE_WORKER,
        Some(variable::VLLM_IS_DECODE_WORKER),
    ),
    switch(
        Backend::Vllm,
        Role::Decode,
        flag::MULTIMODAL_DECODE_WORKER,
        Some(variable::VLLM_MULTIMODAL_DECODE_WORKER),
    ),
    switch(Backend::Vllm, Role::Other, flag::HEADLESS, Some(variable::VLLM_HEADLESS)),
    switch(Backend::Vllm, Role::Encode, flag::MULTIMODAL_PROCESSOR, None),
    switch(
        Backend::SgLang,
        Role::Encode,
        flag::MULTIMODAL_PROCESSOR,
        Some(variable::SGLANG_MULTIMODAL_PROCESSOR),
    ),
    switch(
        Backend::SgLang,
        Role::Embedding,
        flag::RERANK_WORKER,
        Some(variable::SGLANG_RERANK_WORKER),
    ),
    switch(
        Backend::Vllm,
        Role::Encode,
        flag::MULTIMODAL_ENCODE_WORKER,
        Some(variable::VLLM_MULTIMODAL_ENCODE_WORKER),
    ),
    switch(Backend::Vllm, Role::Encode, flag::VLLM_NATIVE_ENCODER_WORKER, None),
    switch(
        Backend::Vllm,
        Role::Embedding,
        flag::EMBEDDING_WORKER,
        Some(variable::VLLM_EMBEDDING_WORKER),
    ),
    switch(
        Backend::Vllm,
        Role::Embedding,
        flag::CLASSIFY_WORKER,
        Some(variable::VLLM_CLASSIFY_WORKER),
    ),
    switch(
        Backend::SgLang,
        Role::Encode,
        flag::MULTIMODAL_ENCODE_WORKER,
        Some(variable::SGLANG_MULTIMODAL_ENCODE_WORKER),
    ),
    switch(
        Backend::SgLang,
        Role::Embedding,
        flag::EMBEDDING_WORKER,
        Some(variable::SGLANG_EMBEDDING_WORKER),
    ),
    switch(
        Backend::SgLang,
        Role::Diffusion,
        flag::IMAGE_DIFFUSION_WORKER,
        Some(variable::SGLANG_IMAGE_DIFFUSION_WORKER),
    ),
    switch(
        Backend::SgLang,
        Role::Diffusion,
        flag::VIDEO_GENERATION_WORKER,
        Some(variable::SGLANG_VIDEO_GENERATION_WORKER),
    ),
];

/// The value of [`flag::DISAGGREGATION_MODE`] of a worker that encodes images for others (ai-dynamo 0.9.0
/// `trtllm/constants.py`; 1.4.2 `common/constants.py`, `vllm/worker_factory.py:626`).
pub const ENCODE: &str = "encode";

/// The end of a [`flag::MODALITY`] that generates images or videos (ai-dynamo 1.0.2 and 1.4.2,
/// `trtllm/constants.py`).
pub const DIFFUSION: &str = "_diffusion";
