//! Environment variables of Dynamo's processes.

/// Prefix of Dynamo's own variables.
pub const PREFIXES: [&str; 2] = ["DYN_", "DYNAMO_"];

/// Prefix of the variables that fixes change; the older family only renames them.
pub const PREFIX: &str = PREFIXES[0];

names! {
    CHAT_PROCESSOR = "DYN_CHAT_PROCESSOR", "Whose code of a frontend turns chats into tokens.";
    COMPONENT = "DYN_COMPONENT", "The kind of component that the operator started.";
    DISCOVERY_BACKEND = "DYN_DISCOVERY_BACKEND", "Where processes find each other: etcd, kubernetes, file.";
    EVENT_PLANE = "DYN_EVENT_PLANE", "How events travel: nats or zmq.";
    EVENT_PLANE_HOST = "DYN_EVENT_PLANE_HOST", "The address that a worker advertises for its ZMQ events.";
    FILE_KV = "DYN_FILE_KV", "The directory of discovery records in files.";
    HTTP_PORT = "DYN_HTTP_PORT", "The port of a frontend.";
    KV_BLOCK_SIZE = "DYN_KV_BLOCK_SIZE", "Block size of a gateway plugin, in 0.9.";
    KV_CACHE_BLOCK_SIZE = "DYN_KV_CACHE_BLOCK_SIZE", "Block size that a frontend declares.";
    KV_EVENTS = "DYN_KV_EVENTS", "Whether the router follows KV events, in 0.9.";
    KV_OVERLAP_SCORE_WEIGHT = "DYN_KV_OVERLAP_SCORE_WEIGHT", "Weight of the overlap, in 0.9.";
    LOG = "DYN_LOG", "The levels of Dynamo's log.";
    LOCAL_INDEXER = "DYN_LOCAL_INDEXER", "Whether a worker keeps an index of its own blocks.";
    NAMESPACE = "DYN_NAMESPACE", "Dynamo namespace.";
    NAMESPACE_WORKER_SUFFIX = "DYN_NAMESPACE_WORKER_SUFFIX", "Appended to a worker's namespace, from 1.0 on.";
    OLD_KV_BLOCK_SIZE = "DYNAMO_KV_BLOCK_SIZE", "Block size of a gateway plugin, before it was renamed.";
    OLD_OVERLAP_SCORE_WEIGHT = "DYNAMO_OVERLAP_SCORE_WEIGHT", "Weight of the overlap in a gateway plugin, before it was renamed.";
    OLD_ROUTER_TEMPERATURE = "DYNAMO_ROUTER_TEMPERATURE", "Temperature of a gateway plugin, before it was renamed.";
    OVERLAP_SCORE_WEIGHT = "DYN_OVERLAP_SCORE_WEIGHT", "Weight of the overlap; an alias.";
    PARENT_GRAPH = "DYN_PARENT_DGD_K8S_NAME", "The graph deployment that a process belongs to.";
    PARENT_GRAPH_NAMESPACE = "DYN_PARENT_DGD_K8S_NAMESPACE", "The Kubernetes namespace of that graph deployment.";
    ROUTER_BLOCK_SIZE = "DYN_ROUTER_BLOCK_SIZE", "Block size of the standalone router.";
    ROUTER_DURABLE_KV_EVENTS = "DYN_ROUTER_DURABLE_KV_EVENTS", "Whether the router reads KV events from a JetStream stream.";
    ROUTER_KV_OVERLAP_SCORE_CREDIT = "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT", "Credit of the overlap, from 1.2 on.";
    ROUTER_KV_OVERLAP_SCORE_WEIGHT = "DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT", "Weight of the overlap, from 1.0 on.";
    ROUTER_MODE = "DYN_ROUTER_MODE", "How a frontend chooses workers.";
    ROUTER_PREFILL_LOAD_SCALE = "DYN_ROUTER_PREFILL_LOAD_SCALE", "Scale of the prefill load.";
    ROUTER_REPLICA_SYNC = "DYN_ROUTER_REPLICA_SYNC", "Whether routers tell each other of their load.";
    ROUTER_TEMPERATURE = "DYN_ROUTER_TEMPERATURE", "How randomly the router chooses.";
    ROUTER_TTL = "DYN_ROUTER_TTL", "Seconds for which a router without KV events takes a block for cached, in 0.9.";
    ROUTER_TTL_SECS = "DYN_ROUTER_TTL_SECS", "The same, from 1.0 on.";
    ROUTER_USE_KV_EVENTS = "DYN_ROUTER_USE_KV_EVENTS", "Whether the router follows KV events, from 1.0 on.";
    SGLANG_EMBEDDING_WORKER = "DYN_SGL_EMBEDDING_WORKER", "Whether an SGLang worker embeds texts.";
    SGLANG_IMAGE_DIFFUSION_WORKER = "DYN_SGL_IMAGE_DIFFUSION_WORKER", "Whether an SGLang worker generates images.";
    SGLANG_MULTIMODAL_ENCODE_WORKER = "DYN_SGL_MULTIMODAL_ENCODE_WORKER", "Whether an SGLang worker encodes images, up to 1.2.";
    SGLANG_MULTIMODAL_PROCESSOR = "DYN_SGL_MULTIMODAL_PROCESSOR", "Whether an SGLang process prepares images, 1.0.";
    SGLANG_RERANK_WORKER = "DYN_SGL_RERANK_WORKER", "Whether an SGLang worker ranks texts, from 1.6.";
    SGLANG_VIDEO_GENERATION_WORKER = "DYN_SGL_VIDEO_GENERATION_WORKER", "Whether an SGLang worker generates videos.";
    STORE_KV = "DYN_STORE_KV", "Where processes find each other, in 0.9.";
    SYSTEM_ENABLED = "DYN_SYSTEM_ENABLED", "Whether a worker serves its metrics.";
    SYSTEM_PORT = "DYN_SYSTEM_PORT", "The port of a worker's metrics.";
    TLS_CERT_PATH = "DYN_TLS_CERT_PATH", "The certificate of a frontend that speaks TLS.";
    VLLM_CLASSIFY_WORKER = "DYN_VLLM_CLASSIFY_WORKER", "Whether a vLLM worker classifies texts.";
    VLLM_DISAGGREGATION_MODE = "DYN_VLLM_DISAGGREGATION_MODE", "The part of a request that a vLLM worker serves.";
    TRTLLM_DISAGGREGATION_MODE = "DYN_TRTLLM_DISAGGREGATION_MODE", "The part of a request that a TensorRT-LLM worker serves.";
    TRTLLM_EXTRA_ENGINE_ARGS = "DYN_TRTLLM_EXTRA_ENGINE_ARGS", "The engine's configuration file.";
    TRTLLM_KV_BLOCK_SIZE = "DYN_TRTLLM_KV_BLOCK_SIZE", "Block size that a TensorRT-LLM worker publishes with.";
    TRTLLM_MODALITY = "DYN_TRTLLM_MODALITY", "The kind of model that a TensorRT-LLM worker serves.";
    TRTLLM_MODEL = "DYN_TRTLLM_MODEL", "Model of a TensorRT-LLM worker, from 1.0.";
    TRTLLM_OVERRIDE_ENGINE_ARGS = "DYN_TRTLLM_OVERRIDE_ENGINE_ARGS", "JSON that wins over the engine's configuration file.";
    TRTLLM_PUBLISH_EVENTS_AND_METRICS = "DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS", "Whether a TensorRT-LLM worker publishes KV events and metrics.";
    TRTLLM_PUBLISH_KV_EVENTS = "DYN_TRTLLM_PUBLISH_KV_EVENTS", "Whether a TensorRT-LLM worker publishes KV events.";
    TRTLLM_SERVED_MODEL_NAME = "DYN_TRTLLM_SERVED_MODEL_NAME", "The name that clients use for a TensorRT-LLM model, from 1.0.";
    VLLM_EMBEDDING_WORKER = "DYN_VLLM_EMBEDDING_WORKER", "Whether a vLLM worker embeds texts.";
    VLLM_HEADLESS = "DYN_VLLM_HEADLESS", "Whether a vLLM process serves a worker's first node, from 1.0.";
    VLLM_IS_DECODE_WORKER = "DYN_VLLM_IS_DECODE_WORKER", "Whether a vLLM worker only decodes, 1.0 to 1.3.";
    VLLM_IS_PREFILL_WORKER = "DYN_VLLM_IS_PREFILL_WORKER", "Whether a vLLM worker only computes prompts, 1.0 to 1.3.";
    VLLM_KV_EVENT_PORT = "DYN_VLLM_KV_EVENT_PORT", "The port of vLLM's own KV events, up to 1.0.";
    VLLM_MULTIMODAL_DECODE_WORKER = "DYN_VLLM_MULTIMODAL_DECODE_WORKER", "Whether a vLLM worker only decodes, 1.0 to 1.3.";
    VLLM_MULTIMODAL_ENCODE_WORKER = "DYN_VLLM_MULTIMODAL_ENCODE_WORKER", "Whether a vLLM worker encodes images, up to 1.2.";
    ZMQ_BROKER_URL = "DYN_ZMQ_BROKER_URL", "Brokers between publishers and subscribers of the event plane.";
}
