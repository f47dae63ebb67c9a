//! Words of shells, launchers, Dynamo and its engines: they say nothing about anybody.

use super::read::{is_switch, takes_value};
use crate::dynamo::plane;

/// Commands and keywords of shells, and programs that start others.
const SHELL: &str = "alias ash bash break builtin case cat cd chmod command continue coproc cp dash declare dirname \
    do done dumb-init echo elif else enable env errexit esac eval exec exit export false fi for function getopts grep \
    hostname if in kill ldconfig let ln local ls mkdir mapfile mv nice nohup nounset nproc nsys numactl pgrep \
    pipefail pkill popd printf pushd pwd python python3 read readarray readonly return rm sed select set sh shift \
    shopt sleep sort source stdbuf sudo sync tail tee test then time timeout tini touch tr trap true typeset \
    ulimit umask unset until uv uvx wait which while xtrace SIGTERM SIGINT TERM INT EXIT EOF run bin";

/// Parts of deployments, keys of configurations, and values of settings.
const DYNAMO: &str = "agg aggregated decode disagg disaggregated dynamo encode frontend generate kv least-loaded \
    main mocker planner prefill random round-robin router sglang trtllm vllm worker backend pytorch tensorrt \
    _autodeploy zmq nats etcd file mem kubernetes tcp http https ipc inproc null none None True False auto dtype \
    fp8 fp8_e4m3 fp8_e5m2 nvfp4 fp4 fp16 bf16 bfloat16 float16 float32 int8 half \
    kv_cache_config tokens_per_block free_gpu_memory_fraction enable_block_reuse event_buffer_max_size max_tokens \
    enable_partial_reuse enable_kv_cache_events publisher topic endpoint enable_chunked_prefill \
    tensor_parallel_size pipeline_parallel_size moe_expert_parallel_size max_batch_size max_num_tokens max_seq_len \
    cuda_graph_config cache_transceiver_config disable_overlap_scheduler print_iter_log enable_attention_dp \
    trust_remote_code max_input_len beam_width speculative_config build_config localhost \
    CUTLASS TRTLLM VANILLA DEEPGEMM CUTEDSL WIDEEP TRITON FLASHINFER flashinfer UCX NIXL MPI DEFAULT default MTP Eagle \
    Eagle3 EAGLE EAGLE3 NGram lru MAX_UTILIZATION GUARANTEED_NO_EVICT STATIC_BATCH";

/// Words of licence notes.
const COMMENTS: &str = "SPDX-FileCopyrightText SPDX-License-Identifier Apache-2.0 Copyright c NVIDIA CORPORATION \
    AFFILIATES & All rights reserved";

/// Returns true for a word that is the same in many deployments.
pub(super) fn is_known_word(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    word.len() <= 1
        || letters == 0
        || word.parse::<f64>().is_ok()
        || is_short_flag(word)
        || is_path(word)
        || word
            .strip_prefix("dynamo.")
            .is_some_and(|rest| rest.bytes().all(|it| it == b'.' || it.is_ascii_lowercase()))
        || word.strip_prefix("python3.").is_some_and(|rest| rest.parse::<u8>().is_ok())
        || [SHELL, DYNAMO].iter().any(|list| list.split_ascii_whitespace().any(|it| it == word))
        || word == plane::KV_EVENTS
        || is_flag_in_file(word)
}

/// Returns true for a word of a comment that many files share.
pub(super) fn is_word_of_comments(word: &str) -> bool {
    COMMENTS.split_ascii_whitespace().any(|it| it == word)
}

/// `-m`, `-euo`.
fn is_short_flag(word: &str) -> bool {
    word.strip_prefix(['-', '+'])
        .is_some_and(|rest| rest.len() <= 4 && rest.bytes().all(|it| it.is_ascii_alphabetic()))
}

/// A path from the root on, or from the working directory.
fn is_path(word: &str) -> bool {
    word.len() <= super::LONGEST_NAME
        && !word.starts_with("//")
        && ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start))
}

/// Files of vLLM and `SGLang` hold flags without their dashes.
fn is_flag_in_file(word: &str) -> bool {
    let flag = format!("--{}", word.replace('_', "-"));
    !word.starts_with('-') && (takes_value(&flag) || is_switch(&flag))
}
