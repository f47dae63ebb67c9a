//! Settings of workers and their engines, one table each. A flag that only one engine reads has its name here.

use super::{TRTLLM_PUBLISHES, What};
use crate::domain::ClaimOf::{Card, Engine, Publisher};
use crate::domain::Release;
use crate::dynamo::{Default, Kind, Name, Setting, flag, release, variable};

pub(super) const WORKER: &[Setting] = &[
    // The router of these workers alone (1.5.1, `common/configuration/groups/router_args.py`).
    Setting::new(What::RouterMode, &[Card], Kind::Text, &[Name::since(flag::ROUTER_MODE, 1, 5)])
        .env(&[Name::since(variable::ROUTER_MODE, 1, 5)]),
    Setting::new(What::EventPlane, &[Publisher], Kind::Text, &[Name::always(flag::EVENT_PLANE)])
        .env(&[Name::always(variable::EVENT_PLANE)])
        .or(Default::Text("nats"))
        .then(&[(release::EVENTS_BY_ZMQ, Default::Text("zmq"))]),
    Setting::new(
        What::DiscoveryBackend,
        &[Publisher],
        Kind::Text,
        &[Name::always(flag::DISCOVERY_BACKEND)],
    )
    .env(&[Name::always(variable::DISCOVERY_BACKEND)]),
    Setting::new(
        What::LocalIndexer,
        &[Publisher],
        Kind::Switch,
        &[Name::always("--enable-local-indexer")],
    )
    .env(&[Name::always(variable::LOCAL_INDEXER)])
    .or(Default::Flag(false))
    .then(&[(Release::new(1, 0), Default::Flag(true))]),
    Setting::new(
        What::DurableEvents,
        &[Publisher],
        Kind::Switch,
        &[Name::always(flag::DURABLE_KV_EVENTS)],
    ),
];

/// The engine's own size is not here: it is in the engine's configuration.
pub(super) const TRTLLM: &[Setting] = &[
    Setting::new(
        What::BlockSize,
        &[Publisher, Card],
        Kind::Count,
        &[Name::always(flag::KV_BLOCK_SIZE)],
    )
    .env(&[Name::since(variable::TRTLLM_KV_BLOCK_SIZE, 1, 0)])
    .or(Default::Count(32))
    .until(1, 4),
    Setting::new(What::PublishesEvents, &[Publisher], Kind::Switch, TRTLLM_PUBLISHES)
        .off(&["--no-publish-events-and-metrics", "--no-publish-kv-events"])
        .env(&[
            Name::since(variable::TRTLLM_PUBLISH_KV_EVENTS, 1, 3),
            Name::since(variable::TRTLLM_PUBLISH_EVENTS_AND_METRICS, 1, 0),
        ])
        .or(Default::Flag(false)),
    Setting::new(
        What::Model,
        &[Card],
        Kind::Text,
        &[
            Name::always(flag::SERVED_MODEL_NAME),
            Name::always(flag::MODEL),
            Name::always(flag::MODEL_PATH),
        ],
    )
    .env(&[
        Name::since(variable::TRTLLM_SERVED_MODEL_NAME, 1, 0),
        Name::since(variable::TRTLLM_MODEL, 1, 0),
    ]),
    Setting::new(
        What::TensorParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::TENSOR_PARALLEL_SIZE)],
    ),
    Setting::new(What::MaxNumSeqs, &[Engine], Kind::Count, &[Name::always(flag::MAX_BATCH_SIZE)]),
    Setting::new(
        What::GpuMemoryFraction,
        &[Engine],
        Kind::Decimal,
        &[Name::always("--free-gpu-memory-fraction")],
    ),
];

pub(super) const VLLM: &[Setting] = &[
    Setting::new(
        What::BlockSize,
        &[Engine, Publisher, Card],
        Kind::Count,
        &[Name::always(flag::BLOCK_SIZE)],
    )
    .or(Default::Count(16))
    .then(&[(release::VLLM_CHOOSES_SIZE, Default::Unknown)]),
    Setting::new(
        What::PublishesEvents,
        &[Publisher],
        Kind::EventsSwitch,
        &[Name::always(flag::KV_EVENTS_CONFIG)],
    )
    .or(Default::Flag(true))
    .then(&[(Release::new(1, 1), Default::Flag(false))]),
    Setting::new(
        What::EventEndpoint,
        &[Engine],
        Kind::EventsEndpoint,
        &[Name::always(flag::KV_EVENTS_CONFIG)],
    ),
    Setting::new(
        What::PrefixReuse,
        &[Engine],
        Kind::Switch,
        &[Name::always(flag::ENABLE_PREFIX_CACHING)],
    )
    .off(&[flag::NO_ENABLE_PREFIX_CACHING]),
    Setting::new(
        What::Model,
        &[Card],
        Kind::Text,
        &[Name::always(flag::SERVED_MODEL_NAME), Name::always(flag::MODEL)],
    ),
    Setting::new(
        What::TensorParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::TENSOR_PARALLEL_SIZE), Name::always("-tp")],
    ),
    Setting::new(
        What::DataParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DATA_PARALLEL_SIZE), Name::always("-dp")],
    ),
    Setting::new(
        What::ContextParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DECODE_CONTEXT_PARALLEL_SIZE), Name::always("-dcp")],
    ),
    Setting::new(What::MaxNumSeqs, &[Engine], Kind::Count, &[Name::always(flag::MAX_NUM_SEQS)]),
    Setting::new(
        What::TotalKvBlocks,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::NUM_GPU_BLOCKS_OVERRIDE)],
    ),
    Setting::new(
        What::GpuMemoryFraction,
        &[Engine],
        Kind::Decimal,
        &[Name::always("--gpu-memory-utilization")],
    ),
    Setting::new(What::KvCacheDtype, &[Engine], Kind::Text, &[Name::always(flag::KV_CACHE_DTYPE)]),
];

pub(super) const SGLANG: &[Setting] = &[
    // SGLang chooses the size for the model and the attention backend; Dynamo takes what it chose (ai-dynamo 0.9.0 to
    // 1.4.2, `sglang/register.py`).
    Setting::new(
        What::BlockSize,
        &[Engine, Publisher, Card],
        Kind::Count,
        &[Name::always(flag::PAGE_SIZE)],
    ),
    Setting::new(
        What::PublishesEvents,
        &[Publisher],
        Kind::EventsConfig,
        &[Name::always(flag::KV_EVENTS_CONFIG)],
    )
    .or(Default::Flag(false)),
    Setting::new(
        What::EventEndpoint,
        &[Engine],
        Kind::EventsEndpoint,
        &[Name::always(flag::KV_EVENTS_CONFIG)],
    ),
    // It takes the flag for the cache's absence.
    Setting::new(What::PrefixReuse, &[Engine], Kind::Switch, &[]).off(&[flag::DISABLE_RADIX_CACHE]),
    Setting::new(
        What::Model,
        &[Card],
        Kind::Text,
        &[
            Name::always(flag::SERVED_MODEL_NAME),
            Name::always(flag::MODEL_PATH),
            Name::always(flag::MODEL),
        ],
    ),
    Setting::new(
        What::TensorParallel,
        &[Engine],
        Kind::Count,
        &[
            Name::always(flag::TENSOR_PARALLEL_SIZE),
            Name::always("--tp-size"),
            Name::always("--tp"),
        ],
    ),
    Setting::new(
        What::DataParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DATA_PARALLEL_SIZE), Name::always("--dp-size"), Name::always("--dp")],
    ),
    Setting::new(
        What::ContextParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DECODE_CONTEXT_PARALLEL_SIZE), Name::always("--dcp-size")],
    ),
    Setting::new(
        What::MaxNumSeqs,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::MAX_RUNNING_REQUESTS)],
    ),
    Setting::new(
        What::KvCacheTokens,
        &[Engine],
        Kind::Count,
        &[Name::always("--max-total-tokens")],
    ),
    Setting::new(
        What::GpuMemoryFraction,
        &[Engine],
        Kind::Decimal,
        &[Name::always("--mem-fraction-static")],
    ),
    Setting::new(What::KvCacheDtype, &[Engine], Kind::Text, &[Name::always(flag::KV_CACHE_DTYPE)]),
];

pub(super) const MOCKER: &[Setting] = &[
    Setting::new(
        What::BlockSize,
        &[Engine, Publisher, Card],
        Kind::Count,
        &[Name::always(flag::BLOCK_SIZE)],
    )
    // From 1.3 on it depends on the engine that is simulated (ai-dynamo 1.3.1, `mocker/args.py:208`).
    .or(Default::Count(64))
    .then(&[(Release::new(1, 3), Default::Unknown)]),
    Setting::new(
        What::TotalKvBlocks,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::NUM_GPU_BLOCKS_OVERRIDE), Name::always("--num-gpu-blocks")],
    ),
    Setting::new(
        What::PrefixReuse,
        &[Engine],
        Kind::Switch,
        &[Name::always(flag::ENABLE_PREFIX_CACHING)],
    )
    .off(&[flag::NO_ENABLE_PREFIX_CACHING]),
    Setting::new(
        What::Model,
        &[Card],
        Kind::Text,
        &[Name::always("--model-name"), Name::always(flag::MODEL_PATH)],
    ),
    Setting::new(
        What::DataParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DATA_PARALLEL_SIZE)],
    ),
    Setting::new(What::MaxNumSeqs, &[Engine], Kind::Count, &[Name::always(flag::MAX_NUM_SEQS)]),
];
