//! The settings of each process, with their names by release and their defaults.
//!
//! ai-dynamo 0.9.0 to 1.6.1: `frontend/`, `router/`, `trtllm/`, `vllm/`, `sglang/`, `mocker/`, their modules of
//! arguments.

use super::router::ROUND_ROBIN;
use super::{Default, Kind, Name, Setting, flag, variable};
use crate::domain::{Backend, ClaimOf, ClaimWhat, Release, Role};
use ClaimOf::{Card, Declared, Engine, Publisher, Router};
use ClaimWhat as What;

const ONE: Default = Default::Millionths(1_000_000);

/// Variables of the overlap's weight.
const OVERLAP_WEIGHT: &[Name] = &[
    Name::before(variable::KV_OVERLAP_SCORE_WEIGHT, 1, 0),
    Name::since(variable::ROUTER_KV_OVERLAP_SCORE_WEIGHT, 1, 0),
    Name::since(variable::OVERLAP_SCORE_WEIGHT, 1, 0).alias(),
];

/// Variables of the overlap's credit.
const OVERLAP_CREDIT: &[Name] = &[Name::since(variable::ROUTER_KV_OVERLAP_SCORE_CREDIT, 1, 2)];

const FOLLOWS_EVENTS: &[Name] =
    &[Name::before(variable::KV_EVENTS, 1, 0), Name::since(variable::ROUTER_USE_KV_EVENTS, 1, 0)];

const TRTLLM_PUBLISHES: &[Name] =
    &[Name::always(flag::PUBLISH_EVENTS_AND_METRICS), Name::since(flag::PUBLISH_KV_EVENTS, 1, 3)];

const STANDALONE_SIZE: &[Name] =
    &[Name::since(flag::ROUTER_BLOCK_SIZE, 1, 0), Name::always(flag::BLOCK_SIZE)];

/// The names of something that fixes set, of all releases.
pub type Knob = [&'static [Name]];

/// The weight of cached blocks against load: from 1.2 on it is the credit.
pub const OVERLAP: &Knob = &[OVERLAP_WEIGHT, OVERLAP_CREDIT];

/// The switch for following KV events in the router.
pub const KV_EVENTS: &Knob = &[FOLLOWS_EVENTS];

/// Seconds for which a router without KV events takes a block for cached.
pub const TTL: &Knob =
    &[&[Name::before(variable::ROUTER_TTL, 1, 0), Name::since(variable::ROUTER_TTL_SECS, 1, 0)]];

/// The switch for sharing load between routers; 0.9 has only a flag.
pub const REPLICA_SYNC: &Knob =
    &[&[Name::always(flag::ROUTER_REPLICA_SYNC), Name::since(variable::ROUTER_REPLICA_SYNC, 1, 0)]];

/// The block size of the standalone router.
pub const ROUTER_SIZE: &Knob = &[STANDALONE_SIZE];

/// The switch for publishing KV events in a TensorRT-LLM worker.
pub const PUBLISHES: &Knob = &[TRTLLM_PUBLISHES];

/// Returns the names of a knob, one a release, oldest first, each with the first release that has it.
pub fn history(knob: &Knob) -> Vec<(Release, &'static str)> {
    let names = knob.iter().flat_map(|names| names.iter()).filter(|name| !name.alias);
    let mut all: Vec<_> = names.map(|name| (name.since.unwrap_or(OLDEST), name.text)).collect();
    all.sort_by_key(|(since, _)| *since);
    all
}

/// The oldest release that kvtop knows.
pub const OLDEST: Release = Release::new(0, 9);

/// Flags that fixes set or take away, and whose values in manifests are therefore compared.
pub const CHANGED_BY_FIXES: &[&str] = &[
    flag::BLOCK_SIZE,
    flag::KV_BLOCK_SIZE,
    flag::KV_CACHE_BLOCK_SIZE,
    flag::KV_EVENTS_CONFIG,
    flag::KV_OVERLAP_SCORE_WEIGHT,
    flag::NO_KV_EVENTS,
    flag::NO_ROUTER_KV_EVENTS,
    flag::OVERRIDE_ENGINE_ARGS,
    flag::PAGE_SIZE,
    flag::PUBLISH_EVENTS_AND_METRICS,
    flag::PUBLISH_KV_EVENTS,
    flag::ROUTER_BLOCK_SIZE,
    flag::ROUTER_KV_OVERLAP_SCORE_CREDIT,
    flag::ROUTER_KV_OVERLAP_SCORE_WEIGHT,
    flag::ROUTER_MODE,
    flag::ROUTER_TEMPERATURE,
];

/// Variables of workers, which frontends do not read.
pub const OF_WORKERS: [&str; 3] = [
    variable::TRTLLM_KV_BLOCK_SIZE,
    variable::TRTLLM_PUBLISH_KV_EVENTS,
    variable::TRTLLM_PUBLISH_EVENTS_AND_METRICS,
];

/// Returns what is set on whoever routes, and is not read by workers: the frontend's own table and the
/// router's.
pub fn routing() -> impl Iterator<Item = &'static Setting> {
    FRONTEND.iter().chain(ROUTER)
}

/// Returns the tables of settings of a process.
pub fn rows(role: Role, backend: Option<Backend>) -> Vec<&'static [Setting]> {
    match role {
        Role::Frontend => vec![FRONTEND, ROUTER, EVERYBODY_ROUTER],
        Role::StandaloneRouter => vec![STANDALONE, ROUTER, EVERYBODY_ROUTER],
        Role::GatewayPlugin => vec![GATEWAY, EVERYBODY_ROUTER],
        Role::Worker | Role::Prefill | Role::Decode => match backend {
            Some(Backend::TrtLlm) => vec![TRTLLM, WORKER],
            Some(Backend::Vllm) => vec![VLLM, WORKER],
            Some(Backend::SgLang) => vec![SGLANG, WORKER],
            Some(Backend::Mocker) => vec![MOCKER, WORKER],
            None => vec![WORKER],
        },
        Role::Planner | Role::Other => Vec::new(),
    }
}

const FRONTEND: &[Setting] = &[
    Setting::new(What::RouterMode, &[Router], Kind::Text, &[Name::always(flag::ROUTER_MODE)])
        .env(&[Name::always(variable::ROUTER_MODE)])
        .or(Default::Text(ROUND_ROBIN)),
    Setting::new(
        What::BlockSize,
        &[Declared],
        Kind::Count,
        &[Name::always(flag::KV_CACHE_BLOCK_SIZE)],
    )
    .env(&[Name::always(variable::KV_CACHE_BLOCK_SIZE)])
    .or(Default::Count(16)),
];

const STANDALONE: &[Setting] =
    &[Setting::new(What::BlockSize, &[Router], Kind::Count, STANDALONE_SIZE)
        .env(&[Name::since(variable::ROUTER_BLOCK_SIZE, 1, 0)])
        .or(Default::Count(128))];

/// The plugin's variables were renamed once; it refuses to start without a block size
/// (ai-dynamo/dynamo, `deploy/inference-gateway`).
const GATEWAY: &[Setting] = &[
    Setting::new(What::BlockSize, &[Router], Kind::Count, &[]).env(&[
        Name::always(variable::KV_BLOCK_SIZE),
        Name::always(variable::OLD_KV_BLOCK_SIZE),
        Name::always(variable::KV_CACHE_BLOCK_SIZE),
    ]),
    Setting::new(What::OverlapWeight, &[Router], Kind::Decimal, &[]).env(&[
        Name::always(variable::OVERLAP_SCORE_WEIGHT),
        Name::always(variable::OLD_OVERLAP_SCORE_WEIGHT),
    ]),
    Setting::new(What::RouterTemperature, &[Router], Kind::Decimal, &[]).env(&[
        Name::always(variable::ROUTER_TEMPERATURE),
        Name::always(variable::OLD_ROUTER_TEMPERATURE),
    ]),
];

const ROUTER: &[Setting] = &[
    Setting::new(
        What::OverlapWeight,
        &[Router],
        Kind::Decimal,
        &[
            Name::always(flag::KV_OVERLAP_SCORE_WEIGHT),
            Name::always(flag::ROUTER_KV_OVERLAP_SCORE_WEIGHT),
        ],
    )
    .env(OVERLAP_WEIGHT)
    .or(ONE)
    .then(&[(Release::new(1, 2), Default::Unknown)]),
    Setting::new(
        What::OverlapCredit,
        &[Router],
        Kind::Decimal,
        &[Name::always(flag::ROUTER_KV_OVERLAP_SCORE_CREDIT)],
    )
    .env(OVERLAP_CREDIT)
    .then(&[(Release::new(1, 6), ONE)]),
    Setting::new(
        What::RouterTemperature,
        &[Router],
        Kind::Decimal,
        &[Name::always(flag::ROUTER_TEMPERATURE)],
    )
    .env(&[Name::always(variable::ROUTER_TEMPERATURE)])
    .or(Default::Millionths(0)),
    Setting::new(
        What::KvEvents,
        &[Router],
        Kind::Switch,
        &[Name::always(flag::KV_EVENTS), Name::always(flag::ROUTER_KV_EVENTS)],
    )
    .off(&[flag::NO_KV_EVENTS, flag::NO_ROUTER_KV_EVENTS])
    .env(FOLLOWS_EVENTS)
    .or(Default::Flag(true)),
    Setting::new(
        What::ReplicaSync,
        &[Router],
        Kind::Switch,
        &[Name::always(flag::ROUTER_REPLICA_SYNC)],
    )
    .off(&[flag::NO_ROUTER_REPLICA_SYNC])
    .env(&[Name::since(variable::ROUTER_REPLICA_SYNC, 1, 0)])
    .or(Default::Flag(false)),
    Setting::new(
        What::DurableEvents,
        &[Router],
        Kind::Switch,
        &[Name::always(flag::ROUTER_DURABLE_KV_EVENTS), Name::always(flag::DURABLE_KV_EVENTS)],
    )
    .env(&[Name::since(variable::ROUTER_DURABLE_KV_EVENTS, 1, 0)]),
];

const EVERYBODY_ROUTER: &[Setting] = &[
    Setting::new(What::EventPlane, &[Router], Kind::Text, &[Name::always(flag::EVENT_PLANE)])
        .env(&[Name::always(variable::EVENT_PLANE)])
        .or(Default::Text("nats"))
        .then(&[(Release::new(1, 3), Default::Text("zmq"))]),
    Setting::new(
        What::DiscoveryBackend,
        &[Router],
        Kind::Text,
        &[Name::always(flag::DISCOVERY_BACKEND)],
    )
    .env(&[Name::always(variable::DISCOVERY_BACKEND)]),
];

const WORKER: &[Setting] = &[
    Setting::new(What::EventPlane, &[Publisher], Kind::Text, &[Name::always(flag::EVENT_PLANE)])
        .env(&[Name::always(variable::EVENT_PLANE)])
        .or(Default::Text("nats"))
        .then(&[(Release::new(1, 3), Default::Text("zmq"))]),
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
        &[Name::always(flag::ENABLE_LOCAL_INDEXER)],
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
const TRTLLM: &[Setting] = &[
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
        .off(&[flag::NO_PUBLISH_EVENTS_AND_METRICS, flag::NO_PUBLISH_KV_EVENTS])
        .env(&[
            Name::since(variable::TRTLLM_PUBLISH_KV_EVENTS, 1, 0),
            Name::since(variable::TRTLLM_PUBLISH_EVENTS_AND_METRICS, 1, 0),
        ])
        .or(Default::Flag(false)),
    Setting::new(
        What::Model,
        &[Card],
        Kind::Text,
        &[Name::always(flag::SERVED_MODEL_NAME), Name::always(flag::MODEL_PATH)],
    ),
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
        &[Name::always(flag::FREE_GPU_MEMORY_FRACTION)],
    ),
];

const VLLM: &[Setting] = &[
    Setting::new(
        What::BlockSize,
        &[Engine, Publisher, Card],
        Kind::Count,
        &[Name::always(flag::BLOCK_SIZE)],
    )
    .or(Default::Count(16)),
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
        &[Name::always(flag::TENSOR_PARALLEL_SIZE), Name::always(flag::TENSOR_PARALLEL_SIZE_SHORT)],
    ),
    Setting::new(
        What::DataParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DATA_PARALLEL_SIZE), Name::always(flag::DATA_PARALLEL_SIZE_SHORT)],
    ),
    Setting::new(
        What::ContextParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DECODE_CONTEXT_PARALLEL_SIZE), Name::always(flag::DCP_SIZE_SHORT)],
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
        &[Name::always(flag::GPU_MEMORY_UTILIZATION)],
    ),
    Setting::new(What::KvCacheDtype, &[Engine], Kind::Text, &[Name::always(flag::KV_CACHE_DTYPE)]),
];

const SGLANG: &[Setting] = &[
    Setting::new(
        What::BlockSize,
        &[Engine, Publisher, Card],
        Kind::Count,
        &[Name::always(flag::PAGE_SIZE)],
    )
    .or(Default::Count(1)),
    Setting::new(
        What::PublishesEvents,
        &[Publisher],
        Kind::EventsConfig,
        &[Name::always(flag::KV_EVENTS_CONFIG)],
    )
    .or(Default::Flag(false)),
    // It takes the flag for the cache's absence.
    Setting::new(What::PrefixReuse, &[Engine], Kind::Switch, &[]).off(&[flag::DISABLE_RADIX_CACHE]),
    Setting::new(
        What::Model,
        &[Card],
        Kind::Text,
        &[Name::always(flag::SERVED_MODEL_NAME), Name::always(flag::MODEL_PATH)],
    ),
    Setting::new(
        What::TensorParallel,
        &[Engine],
        Kind::Count,
        &[
            Name::always(flag::TENSOR_PARALLEL_SIZE),
            Name::always(flag::TENSOR_PARALLEL_SIZE_SGLANG),
            Name::always(flag::TENSOR_PARALLEL_SIZE_SHORTER),
        ],
    ),
    Setting::new(
        What::DataParallel,
        &[Engine],
        Kind::Count,
        &[
            Name::always(flag::DATA_PARALLEL_SIZE),
            Name::always(flag::DATA_PARALLEL_SIZE_SGLANG),
            Name::always(flag::DATA_PARALLEL_SIZE_SHORTER),
        ],
    ),
    Setting::new(
        What::ContextParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DECODE_CONTEXT_PARALLEL_SIZE), Name::always(flag::DCP_SIZE)],
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
        &[Name::always(flag::MAX_TOTAL_TOKENS)],
    ),
    Setting::new(
        What::GpuMemoryFraction,
        &[Engine],
        Kind::Decimal,
        &[Name::always(flag::MEM_FRACTION_STATIC)],
    ),
    Setting::new(What::KvCacheDtype, &[Engine], Kind::Text, &[Name::always(flag::KV_CACHE_DTYPE)]),
];

const MOCKER: &[Setting] = &[
    Setting::new(
        What::BlockSize,
        &[Engine, Publisher, Card],
        Kind::Count,
        &[Name::always(flag::BLOCK_SIZE)],
    )
    .or(Default::Count(64))
    .then(&[(Release::new(1, 6), Default::Unknown)]),
    Setting::new(
        What::TotalKvBlocks,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::NUM_GPU_BLOCKS_OVERRIDE), Name::always(flag::NUM_GPU_BLOCKS)],
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
        &[Name::always(flag::MODEL_NAME), Name::always(flag::MODEL_PATH)],
    ),
    Setting::new(
        What::DataParallel,
        &[Engine],
        Kind::Count,
        &[Name::always(flag::DATA_PARALLEL_SIZE)],
    ),
    Setting::new(What::MaxNumSeqs, &[Engine], Kind::Count, &[Name::always(flag::MAX_NUM_SEQS)]),
];
