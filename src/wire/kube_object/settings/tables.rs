//! Flags and variables by process (ai-dynamo 0.9.0 to 1.6.1: `frontend/`, `router/`, `trtllm/`,
//! `vllm/`, `sglang/`, `mocker/`, their modules of arguments).

use super::shared;
use crate::domain::{Backend, ClaimOf, ClaimValue, ClaimWhat, Role};
use crate::wire::kube_object::image::Version;

/// How a value is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Count,
    Decimal,
    Text,
    Switch,
    /// JSON that switches events on by itself when it names a publisher.
    EventsConfig,
    /// JSON that must switch them on (vLLM, `KVEventsConfig`: off unless it says so).
    EventsSwitch,
    /// The address in that JSON.
    EventsEndpoint,
}

/// A variable, with the versions that read it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Variable {
    Always(&'static str),
    Before1(&'static str),
    From1(&'static str),
}

impl Variable {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Always(name) | Self::Before1(name) | Self::From1(name) => name,
        }
    }
}

/// What holds when nobody sets it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unset {
    /// Not known, or nothing.
    None,
    Count(u64),
    Flag(bool),
    Text(&'static str),
    /// A whole number in a setting that takes fractions, before and from a version: 1.0 up to 1.1.
    Weight,
    /// The credit that took its place.
    Credit,
    /// Zero, in a setting that takes fractions.
    Zero,
    /// NATS up to 1.2, ZMQ from 1.3.
    EventPlane,
    /// Off in 0.9, on from 1.0.
    FromOne,
    /// On up to 1.0, off from 1.1 (vLLM's events, `create_kv_events_config`).
    UntilOneOne,
    /// 64 before 1.6, by engine from then on.
    MockBlock,
}

impl Unset {
    pub(super) fn value(self, version: Option<Version>) -> Option<ClaimValue> {
        let before = |major, minor| Some(version? < Version::new(major, minor));
        let one = ClaimValue::Millionths(1_000_000);
        match self {
            Self::None => None,
            Self::Count(count) => Some(ClaimValue::Count(count)),
            Self::Flag(flag) => Some(ClaimValue::Flag(flag)),
            Self::Text(text) => Some(ClaimValue::Text(shared(text))),
            Self::Weight => before(1, 2)?.then_some(one),
            Self::Credit => (!before(1, 6)?).then_some(one),
            Self::Zero => Some(ClaimValue::Millionths(0)),
            Self::EventPlane => {
                let plane = if before(1, 3)? { "nats" } else { "zmq" };
                Some(ClaimValue::Text(plane.into()))
            }
            Self::FromOne => before(1, 0).map(|old| ClaimValue::Flag(!old)),
            Self::UntilOneOne => before(1, 1).map(ClaimValue::Flag),
            Self::MockBlock => before(1, 6)?.then_some(ClaimValue::Count(64)),
        }
    }
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) what: ClaimWhat,
    pub(super) of: &'static [ClaimOf],
    pub(super) kind: Kind,
    pub(super) flags: &'static [&'static str],
    /// Flags that deny it.
    pub(super) off: &'static [&'static str],
    pub(super) env: &'static [Variable],
    pub(super) default: Unset,
    /// The first version that does not go by it.
    pub(super) until: Option<Version>,
}

const fn row(
    what: ClaimWhat,
    of: &'static [ClaimOf],
    kind: Kind,
    flags: &'static [&'static str],
) -> Row {
    Row { what, of, kind, flags, off: &[], env: &[], default: Unset::None, until: None }
}

impl Row {
    const fn off(self, off: &'static [&'static str]) -> Self {
        Self { off, ..self }
    }

    const fn env(self, env: &'static [Variable]) -> Self {
        Self { env, ..self }
    }

    const fn or(self, default: Unset) -> Self {
        Self { default, ..self }
    }

    const fn until(self, major: u32, minor: u32) -> Self {
        Self { until: Some(Version::new(major, minor)), ..self }
    }
}

/// Returns what is set on whoever routes, and is not read by workers: the frontend's own table and the
/// router's.
pub(super) fn routing() -> impl Iterator<Item = &'static Row> {
    FRONTEND.iter().chain(ROUTER)
}

use ClaimOf::{Card, Declared, Engine, Publisher, Router};
use ClaimWhat as What;
use Variable::{Always, Before1, From1};

/// Returns the tables of settings of a process.
pub(super) fn rows(role: Role, backend: Option<Backend>) -> Vec<&'static [Row]> {
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

const FRONTEND: &[Row] = &[
    row(What::RouterMode, &[Router], Kind::Text, &["--router-mode"])
        .env(&[Always("DYN_ROUTER_MODE")])
        .or(Unset::Text("round-robin")),
    row(What::BlockSize, &[Declared], Kind::Count, &["--kv-cache-block-size"])
        .env(&[Always("DYN_KV_CACHE_BLOCK_SIZE")])
        .or(Unset::Count(16)),
];

const STANDALONE: &[Row] =
    &[row(What::BlockSize, &[Router], Kind::Count, &["--router-block-size", "--block-size"])
        .env(&[From1("DYN_ROUTER_BLOCK_SIZE")])
        .or(Unset::Count(128))];

/// The plugin's variables were renamed once; it refuses to start without a block size
/// (ai-dynamo/dynamo, `deploy/inference-gateway`).
const GATEWAY: &[Row] = &[
    row(What::BlockSize, &[Router], Kind::Count, &[]).env(&[
        Always("DYN_KV_BLOCK_SIZE"),
        Always("DYNAMO_KV_BLOCK_SIZE"),
        Always("DYN_KV_CACHE_BLOCK_SIZE"),
    ]),
    row(What::OverlapWeight, &[Router], Kind::Decimal, &[])
        .env(&[Always("DYN_OVERLAP_SCORE_WEIGHT"), Always("DYNAMO_OVERLAP_SCORE_WEIGHT")]),
    row(What::RouterTemperature, &[Router], Kind::Decimal, &[])
        .env(&[Always("DYN_ROUTER_TEMPERATURE"), Always("DYNAMO_ROUTER_TEMPERATURE")]),
];

const ROUTER: &[Row] = &[
    row(
        What::OverlapWeight,
        &[Router],
        Kind::Decimal,
        &["--kv-overlap-score-weight", "--router-kv-overlap-score-weight"],
    )
    .env(&[
        Before1("DYN_KV_OVERLAP_SCORE_WEIGHT"),
        From1("DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT"),
        From1("DYN_OVERLAP_SCORE_WEIGHT"),
    ])
    .or(Unset::Weight),
    row(What::OverlapCredit, &[Router], Kind::Decimal, &["--router-kv-overlap-score-credit"])
        .env(&[From1("DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT")])
        .or(Unset::Credit),
    row(What::RouterTemperature, &[Router], Kind::Decimal, &["--router-temperature"])
        .env(&[Always("DYN_ROUTER_TEMPERATURE")])
        .or(Unset::Zero),
    row(What::KvEvents, &[Router], Kind::Switch, &["--kv-events", "--router-kv-events"])
        .off(&["--no-kv-events", "--no-router-kv-events"])
        .env(&[Before1("DYN_KV_EVENTS"), From1("DYN_ROUTER_USE_KV_EVENTS")])
        .or(Unset::Flag(true)),
    row(What::ReplicaSync, &[Router], Kind::Switch, &["--router-replica-sync"])
        .off(&["--no-router-replica-sync"])
        .env(&[From1("DYN_ROUTER_REPLICA_SYNC")])
        .or(Unset::Flag(false)),
    row(
        What::DurableEvents,
        &[Router],
        Kind::Switch,
        &["--router-durable-kv-events", "--durable-kv-events"],
    )
    .env(&[From1("DYN_ROUTER_DURABLE_KV_EVENTS")]),
];

const EVERYBODY_ROUTER: &[Row] = &[
    row(What::EventPlane, &[Router], Kind::Text, &["--event-plane"])
        .env(&[Always("DYN_EVENT_PLANE")])
        .or(Unset::EventPlane),
    row(What::DiscoveryBackend, &[Router], Kind::Text, &["--discovery-backend"])
        .env(&[Always("DYN_DISCOVERY_BACKEND")]),
];

const WORKER: &[Row] = &[
    row(What::EventPlane, &[Publisher], Kind::Text, &["--event-plane"])
        .env(&[Always("DYN_EVENT_PLANE")])
        .or(Unset::EventPlane),
    row(What::DiscoveryBackend, &[Publisher], Kind::Text, &["--discovery-backend"])
        .env(&[Always("DYN_DISCOVERY_BACKEND")]),
    row(What::LocalIndexer, &[Publisher], Kind::Switch, &["--enable-local-indexer"])
        .env(&[Always("DYN_LOCAL_INDEXER")])
        .or(Unset::FromOne),
    row(What::DurableEvents, &[Publisher], Kind::Switch, &["--durable-kv-events"]),
];

/// The engine's own size is not here: it is in the engine's configuration.
const TRTLLM: &[Row] = &[
    row(What::BlockSize, &[Publisher, Card], Kind::Count, &["--kv-block-size"])
        .env(&[From1("DYN_TRTLLM_KV_BLOCK_SIZE")])
        .or(Unset::Count(32))
        .until(1, 4),
    row(
        What::PublishesEvents,
        &[Publisher],
        Kind::Switch,
        &["--publish-events-and-metrics", "--publish-kv-events"],
    )
    .off(&["--no-publish-events-and-metrics", "--no-publish-kv-events"])
    .env(&[From1("DYN_TRTLLM_PUBLISH_KV_EVENTS"), From1("DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS")])
    .or(Unset::Flag(false)),
    row(What::Model, &[Card], Kind::Text, &["--served-model-name", "--model-path"]),
    row(What::TensorParallel, &[Engine], Kind::Count, &["--tensor-parallel-size"]),
    row(What::MaxNumSeqs, &[Engine], Kind::Count, &["--max-batch-size"]),
    row(What::GpuMemoryFraction, &[Engine], Kind::Decimal, &["--free-gpu-memory-fraction"]),
];

const VLLM: &[Row] = &[
    row(What::BlockSize, &[Engine, Publisher, Card], Kind::Count, &["--block-size"])
        .or(Unset::Count(16)),
    row(What::PublishesEvents, &[Publisher], Kind::EventsSwitch, &["--kv-events-config"])
        .or(Unset::UntilOneOne),
    row(What::EventEndpoint, &[Engine], Kind::EventsEndpoint, &["--kv-events-config"]),
    row(What::PrefixReuse, &[Engine], Kind::Switch, &["--enable-prefix-caching"])
        .off(&["--no-enable-prefix-caching"]),
    row(What::Model, &[Card], Kind::Text, &["--served-model-name", "--model"]),
    row(What::TensorParallel, &[Engine], Kind::Count, &["--tensor-parallel-size", "-tp"]),
    row(What::DataParallel, &[Engine], Kind::Count, &["--data-parallel-size", "-dp"]),
    row(What::ContextParallel, &[Engine], Kind::Count, &["--decode-context-parallel-size", "-dcp"]),
    row(What::MaxNumSeqs, &[Engine], Kind::Count, &["--max-num-seqs"]),
    row(What::TotalKvBlocks, &[Engine], Kind::Count, &["--num-gpu-blocks-override"]),
    row(What::GpuMemoryFraction, &[Engine], Kind::Decimal, &["--gpu-memory-utilization"]),
    row(What::KvCacheDtype, &[Engine], Kind::Text, &["--kv-cache-dtype"]),
];

const SGLANG: &[Row] = &[
    row(What::BlockSize, &[Engine, Publisher, Card], Kind::Count, &["--page-size"])
        .or(Unset::Count(1)),
    row(What::PublishesEvents, &[Publisher], Kind::EventsConfig, &["--kv-events-config"])
        .or(Unset::Flag(false)),
    // It takes the flag for the cache's absence.
    row(What::PrefixReuse, &[Engine], Kind::Switch, &[]).off(&["--disable-radix-cache"]),
    row(What::Model, &[Card], Kind::Text, &["--served-model-name", "--model-path"]),
    row(
        What::TensorParallel,
        &[Engine],
        Kind::Count,
        &["--tensor-parallel-size", "--tp-size", "--tp"],
    ),
    row(What::DataParallel, &[Engine], Kind::Count, &["--data-parallel-size", "--dp-size", "--dp"]),
    row(
        What::ContextParallel,
        &[Engine],
        Kind::Count,
        &["--decode-context-parallel-size", "--dcp-size"],
    ),
    row(What::MaxNumSeqs, &[Engine], Kind::Count, &["--max-running-requests"]),
    row(What::KvCacheTokens, &[Engine], Kind::Count, &["--max-total-tokens"]),
    row(What::GpuMemoryFraction, &[Engine], Kind::Decimal, &["--mem-fraction-static"]),
    row(What::KvCacheDtype, &[Engine], Kind::Text, &["--kv-cache-dtype"]),
];

const MOCKER: &[Row] = &[
    row(What::BlockSize, &[Engine, Publisher, Card], Kind::Count, &["--block-size"])
        .or(Unset::MockBlock),
    row(
        What::TotalKvBlocks,
        &[Engine],
        Kind::Count,
        &["--num-gpu-blocks-override", "--num-gpu-blocks"],
    ),
    row(What::PrefixReuse, &[Engine], Kind::Switch, &["--enable-prefix-caching"])
        .off(&["--no-enable-prefix-caching"]),
    row(What::Model, &[Card], Kind::Text, &["--model-name", "--model-path"]),
    row(What::DataParallel, &[Engine], Kind::Count, &["--data-parallel-size"]),
    row(What::MaxNumSeqs, &[Engine], Kind::Count, &["--max-num-seqs"]),
];
