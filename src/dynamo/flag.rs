//! Command-line flags of Dynamo's processes and of their engines.

/// First words of flags without a value, after their dashes.
pub const SWITCH_STARTS: [&str; 10] =
    ["enable", "disable", "no", "is", "use", "trust", "publish", "skip", "enforce", "kv-events"];

/// Flags with a value whose names begin so all the same.
pub const VALUED_DESPITE_THEIR_NAMES: [&str; 2] = ["kv-events-config", "use-case"];

names! {
    BLOCK_SIZE = "--block-size", "Block size of vLLM and the mocker; of the standalone router in 0.9.";
    CLASSIFY_WORKER = "--classify-worker", "A vLLM worker that classifies texts.";
    CONFIG = "--config", "Configuration file of vLLM and SGLang, which holds flags.";
    DATA_PARALLEL_SIZE = "--data-parallel-size", "Data parallel ranks.";
    DECODE_CONTEXT_PARALLEL_SIZE = "--decode-context-parallel-size", "Decode context parallelism.";
    DISABLE_RADIX_CACHE = "--disable-radix-cache", "SGLang without a prefix cache.";
    DISAGGREGATION_MODE = "--disaggregation-mode", "The part of a request that a worker serves.";
    DISAGG_CONFIG = "--disagg-config", "A file of which one section configures an SGLang worker, from 1.0.";
    DISCOVERY_BACKEND = "--discovery-backend", "Where processes find each other.";
    DURABLE_KV_EVENTS = "--durable-kv-events", "KV events through a JetStream stream.";
    CHAT_PROCESSOR = "--dyn-chat-processor", "Whose code of a frontend turns chats into tokens.";
    EMBEDDING_WORKER = "--embedding-worker", "A vLLM or SGLang worker that embeds texts.";
    ENABLE_PREFIX_CACHING = "--enable-prefix-caching", "Prefix cache of vLLM and the mocker.";
    EVENT_PLANE = "--event-plane", "How events travel.";
    EXTRA_ENGINE_ARGS = "--extra-engine-args", "Configuration file of TensorRT-LLM and the mocker.";
    HEADLESS = "--headless", "A vLLM process of a worker whose first node serves, from 1.0.";
    HTTP_PORT = "--http-port", "The port of a frontend.";
    IMAGE_DIFFUSION_WORKER = "--image-diffusion-worker", "An SGLang worker that generates images.";
    IS_DECODE_WORKER = "--is-decode-worker", "A worker that only decodes.";
    IS_PREFILL_WORKER = "--is-prefill-worker", "A worker that only prefills.";
    KV_BLOCK_SIZE = "--kv-block-size", "Block size that a TensorRT-LLM worker publishes with.";
    KV_CACHE_BLOCK_SIZE = "--kv-cache-block-size", "Block size that a frontend declares.";
    KV_CACHE_DTYPE = "--kv-cache-dtype", "Type of the numbers in a KV cache.";
    KV_EVENTS = "--kv-events", "The router follows KV events, in 0.9.";
    KV_EVENTS_CONFIG = "--kv-events-config", "KV events of vLLM and SGLang, as JSON.";
    KV_OVERLAP_SCORE_WEIGHT = "--kv-overlap-score-weight", "Weight of the overlap, in 0.9.";
    MAX_BATCH_SIZE = "--max-batch-size", "Concurrent sequences of TensorRT-LLM.";
    MAX_NUM_SEQS = "--max-num-seqs", "Concurrent sequences of vLLM and the mocker.";
    MAX_RUNNING_REQUESTS = "--max-running-requests", "Concurrent sequences of SGLang.";
    MODALITY = "--modality", "The kind of model that a TensorRT-LLM worker serves.";
    MODEL = "--model", "Model of vLLM, of SGLang, and of TensorRT-LLM from 1.0.";
    MODEL_PATH = "--model-path", "Model of TensorRT-LLM, SGLang and the mocker.";
    MULTIMODAL_DECODE_WORKER = "--multimodal-decode-worker", "A vLLM worker that only decodes, up to 1.3.";
    MULTIMODAL_ENCODE_WORKER = "--multimodal-encode-worker", "A vLLM or SGLang worker that encodes images, up to 1.2.";
    MULTIMODAL_PROCESSOR = "--multimodal-processor", "A process that prepares images for workers, up to 1.0.";
    NO_ENABLE_PREFIX_CACHING = "--no-enable-prefix-caching", "vLLM or the mocker without a prefix cache.";
    NO_KV_EVENTS = "--no-kv-events", "The router does not follow KV events, in 0.9.";
    NO_ROUTER_KV_EVENTS = "--no-router-kv-events", "The router does not follow KV events, from 1.0 on.";
    NO_ROUTER_REPLICA_SYNC = "--no-router-replica-sync", "Routers do not tell each other of their load.";
    NUM_GPU_BLOCKS_OVERRIDE = "--num-gpu-blocks-override", "KV blocks of vLLM and the mocker.";
    OVERRIDE_ENGINE_ARGS = "--override-engine-args", "JSON that wins over TensorRT-LLM's configuration file.";
    PAGE_SIZE = "--page-size", "Block size of SGLang.";
    PUBLISH_EVENTS_AND_METRICS = "--publish-events-and-metrics", "A TensorRT-LLM worker publishes KV events and metrics.";
    PUBLISH_KV_EVENTS = "--publish-kv-events", "A TensorRT-LLM worker publishes KV events, from 1.3 on.";
    RERANK_WORKER = "--rerank-worker", "An SGLang worker that ranks texts, from 1.6.";
    ROUTER_BLOCK_SIZE = "--router-block-size", "Block size of the standalone router, from 1.0 on.";
    ROUTER_DURABLE_KV_EVENTS = "--router-durable-kv-events", "The router reads KV events from a JetStream stream.";
    ROUTER_KV_EVENTS = "--router-kv-events", "The router follows KV events, from 1.0 on.";
    ROUTER_KV_OVERLAP_SCORE_CREDIT = "--router-kv-overlap-score-credit", "Credit of the overlap, from 1.2 on.";
    ROUTER_KV_OVERLAP_SCORE_WEIGHT = "--router-kv-overlap-score-weight", "Weight of the overlap, from 1.0 on.";
    ROUTER_MODE = "--router-mode", "How a frontend chooses workers.";
    ROUTER_REPLICA_SYNC = "--router-replica-sync", "Routers tell each other of their load.";
    ROUTER_TEMPERATURE = "--router-temperature", "How randomly the router chooses.";
    SERVED_MODEL_NAME = "--served-model-name", "The name that clients use for the model.";
    TENSOR_PARALLEL_SIZE = "--tensor-parallel-size", "Tensor parallelism.";
    TLS_CERT_PATH = "--tls-cert-path", "The certificate of a frontend that speaks TLS.";
    TLS_KEY_PATH = "--tls-key-path", "The key of that certificate.";
    VIDEO_GENERATION_WORKER = "--video-generation-worker", "An SGLang worker that generates videos.";
    VLLM_NATIVE_ENCODER_WORKER = "--vllm-native-encoder-worker", "A vLLM worker that encodes images, in 0.9.";
}
