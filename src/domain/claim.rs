//! Claims: statements about settings, each with whom it is about and how it is known.

use std::fmt;
use std::sync::Arc;

use super::WorkerId;

/// The property that a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimWhat {
    /// Tokens per block.
    BlockSize,
    /// Tokens in the largest block that an engine was seen to send: its blocks have as many or more.
    LargestBlock,
    /// KV blocks an engine has room for, per rank.
    TotalKvBlocks,
    /// Tokens whose KV an engine has room for, per rank.
    KvCacheTokens,
    /// The model served.
    Model,
    /// Dynamo's version.
    DynamoVersion,
    /// The router mode.
    RouterMode,
    /// Weight of the overlap in the cost.
    OverlapWeight,
    /// Credit of the overlap in the cost, in versions that have it in place of the weight.
    OverlapCredit,
    /// Randomness of the choice.
    RouterTemperature,
    /// True when the router follows KV events, false when it predicts from its own decisions.
    KvEvents,
    /// Sharing of decisions between routers.
    ReplicaSync,
    /// KV events through `JetStream`, in versions where that is optional.
    DurableEvents,
    /// The event plane: NATS or ZMQ.
    EventPlane,
    /// The backend by which processes find each other.
    DiscoveryBackend,
    /// Publishing of KV events by a worker.
    PublishesEvents,
    /// The ZMQ address to which an engine publishes its own KV events.
    EventEndpoint,
    /// A worker's index of its own events.
    LocalIndexer,
    /// Events that an engine buffers for its publisher.
    EventBuffer,
    /// Reuse of cached prefixes by the engine.
    PrefixReuse,
    /// Sequences an engine runs at once, at most.
    MaxNumSeqs,
    /// GPUs that share a model's layers.
    TensorParallel,
    /// Data-parallel ranks of a worker.
    DataParallel,
    /// Processes over which an engine splits the context that it decodes.
    ContextParallel,
    /// Share of GPU memory, free or whole by engine, that the KV cache may take.
    GpuMemoryFraction,
    /// Number format of cached keys and values.
    KvCacheDtype,
    /// Memory of a model's weights on one GPU, in bytes.
    WeightBytes,
    /// Memory of an engine's KV cache on one GPU, in bytes.
    KvCacheBytes,
    /// Memory that one token's keys and values take on one GPU, in bytes.
    KvTokenBytes,
    /// The part of serving that a worker does: `aggregated`, `prefill`, `decode`.
    WorkerType,
}

impl ClaimWhat {
    /// Returns true for what only concerns KV blocks and their events.
    pub const fn is_of_kv_blocks(self) -> bool {
        matches!(
            self,
            Self::BlockSize
                | Self::LargestBlock
                | Self::TotalKvBlocks
                | Self::KvCacheTokens
                | Self::EventPlane
                | Self::PublishesEvents
                | Self::EventEndpoint
                | Self::LocalIndexer
                | Self::DurableEvents
                | Self::EventBuffer
                | Self::PrefixReuse
                | Self::ContextParallel
                | Self::KvCacheDtype
                | Self::KvCacheBytes
                | Self::KvTokenBytes
        )
    }

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockSize => "block_size",
            Self::LargestBlock => "largest_block",
            Self::TotalKvBlocks => "total_kv_blocks",
            Self::KvCacheTokens => "kv_cache_tokens",
            Self::Model => "model",
            Self::DynamoVersion => "dynamo_version",
            Self::RouterMode => "router_mode",
            Self::OverlapWeight => "overlap_weight",
            Self::OverlapCredit => "overlap_credit",
            Self::RouterTemperature => "router_temperature",
            Self::KvEvents => "kv_events",
            Self::ReplicaSync => "replica_sync",
            Self::DurableEvents => "durable_events",
            Self::EventPlane => "event_plane",
            Self::DiscoveryBackend => "discovery_backend",
            Self::PublishesEvents => "publishes_events",
            Self::EventEndpoint => "event_endpoint",
            Self::LocalIndexer => "local_indexer",
            Self::EventBuffer => "event_buffer",
            Self::PrefixReuse => "prefix_reuse",
            Self::MaxNumSeqs => "max_num_seqs",
            Self::TensorParallel => "tensor_parallel",
            Self::DataParallel => "data_parallel",
            Self::ContextParallel => "context_parallel",
            Self::GpuMemoryFraction => "gpu_memory_fraction",
            Self::KvCacheDtype => "kv_cache_dtype",
            Self::WeightBytes => "weight_bytes",
            Self::KvCacheBytes => "kv_cache_bytes",
            Self::KvTokenBytes => "kv_token_bytes",
            Self::WorkerType => "worker_type",
        }
    }
}

/// The part of the deployment that a claim is about. Routing works when engine, publisher and router
/// agree on the block size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimOf {
    /// The engine's physical blocks.
    Engine,
    /// The worker's event publisher.
    Publisher,
    /// The model card in discovery.
    Card,
    /// The router.
    Router,
    /// The setting on the frontend, whether it is read or not.
    Declared,
}

impl ClaimOf {
    /// All parts, in order.
    pub const ALL: [Self; 5] =
        [Self::Engine, Self::Publisher, Self::Card, Self::Router, Self::Declared];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Publisher => "publisher",
            Self::Card => "card",
            Self::Router => "router",
            Self::Declared => "declared",
        }
    }
}

/// The subject of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A worker.
    Worker(WorkerId),
    /// A pod.
    Pod(Arc<str>),
    /// Whatever pods a component of a graph deployment has or will have.
    Component {
        /// The graph deployment.
        graph: Arc<str>,
        /// The component.
        component: Arc<str>,
    },
    /// The deployment as a whole.
    Deployment,
}

/// The claimed value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimValue {
    /// A count.
    Count(u64),
    /// A text.
    Text(Arc<str>),
    /// Yes or no.
    Flag(bool),
    /// A number with a fraction, in millionths.
    Millionths(i64),
}

/// The basis of a claim, weakest first: where two disagree about the same thing, the later kind is
/// nearer to what the process really does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// Nobody set it, so the version's default holds.
    Default,
    /// A deployment's manifest asks for it.
    Manifest,
    /// A configuration file that the process was told to read sets it.
    File,
    /// The process was started with it: environment or arguments.
    Setting,
    /// The running process says so: its log, metrics, events or discovery record.
    #[default]
    Observed,
}

impl Basis {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Manifest => "manifest",
            Self::File => "file",
            Self::Setting => "setting",
            Self::Observed => "observed",
        }
    }
}

/// Somebody's statement about a setting, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The setting.
    pub what: ClaimWhat,
    /// The process whose setting it is.
    pub of: ClaimOf,
    /// About whom.
    pub subject: Subject,
    /// For which of the models that it serves, where it may serve several.
    pub model: Option<Arc<str>>,
    /// The value.
    pub value: ClaimValue,
    /// The ground.
    pub basis: Basis,
    /// The place it was read from, for people.
    pub source: Arc<str>,
    /// The text it was read from, shortened.
    pub raw: Arc<str>,
    /// The flag or variable that set the value; none for a value from elsewhere.
    pub set_by: Option<SetBy>,
    /// The kind of place that it was read from.
    pub medium: Medium,
}

/// A kind of place that evidence comes from. Two kinds make a finding sure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Medium {
    /// Settings of processes: arguments, variables, files, model cards.
    #[default]
    Settings,
    /// KV events.
    Events,
    /// Logs.
    Logs,
    /// Metrics.
    Metrics,
    /// Costs in routers' decisions.
    Decisions,
}

impl Medium {
    /// Returns the name in grades, such as `CONFIRMED: config + events`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Settings => "config",
            Self::Events => "events",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
            Self::Decisions => "decisions",
        }
    }
}

/// The flag or variable that sets a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SetBy {
    /// A command-line flag, with its dashes.
    Flag(Arc<str>),
    /// An environment variable.
    Variable {
        /// Its name.
        name: Arc<str>,
        /// The `ConfigMap` that it takes its value from, and the key there.
        from: Option<(Arc<str>, Arc<str>)>,
    },
}

impl SetBy {
    /// Returns the name of the flag or variable.
    pub fn name(&self) -> &str {
        match self {
            Self::Flag(name) | Self::Variable { name, .. } => name,
        }
    }

    /// Returns the flag, if it is one.
    pub fn flag(&self) -> Option<&str> {
        match self {
            Self::Flag(name) => Some(name),
            Self::Variable { .. } => None,
        }
    }

    /// Returns the variable, if it is one.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Variable { name, .. } => Some(name),
            Self::Flag(_) => None,
        }
    }
}

impl fmt::Display for SetBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => formatter.write_str(name),
            Self::Variable { name, from: None } => write!(formatter, "env {name}"),
            Self::Variable { name, from: Some((map, key)) } if key == name => {
                write!(formatter, "env {name} (ConfigMap {map})")
            }
            Self::Variable { name, from: Some((map, key)) } => {
                write!(formatter, "env {name} (ConfigMap {map}: {key})")
            }
        }
    }
}
