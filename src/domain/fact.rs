//! Facts: what one frame says, in words that carry no version.

use std::sync::Arc;
use std::time::Duration;

use super::gauge::GaugeName;
use super::{
    BlockSize, Claim, ConfigFile, ConfigMap, DpRank, Endpoints, Envelope, Graph, InstanceId,
    Placement, Pod, SequenceHash, SourceNote, VersionSign, WorkerId, WorkerRank,
};

/// One thing that a frame says, besides KV events.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A message of the event plane came with this number.
    Envelope {
        /// The topic it was published on, such as `kv-events`.
        topic: &'static str,
        /// Publisher and number.
        envelope: Envelope,
        /// The worker whose events it carries, when it carries any.
        worker: Option<WorkerId>,
    },
    /// A load report of a worker or of a router.
    Load(ActiveLoad),
    /// The router's own account of the overlap of one request (Dynamo 0.9).
    HitRate(HitRate),
    /// A step in the life of a request, as routers tell each other.
    Request(RequestEvent),
    /// A router chose a worker.
    Decision(Decision),
    /// The cost a router computed for one worker.
    Formula(FormulaTerm),
    /// The overlap of a request that was routed (Dynamo 1.3 and later, at the end of the request).
    Overlap(Overlap),
    /// The length of a request's prompt (Dynamo 1.5 and later, at the end of the request).
    Prompt(Prompt),
    /// A warning about the index.
    Warning(LogWarning),
    /// A router starts.
    RouterStart(RouterStart),
    /// A router says that it added a worker, because discovery names it.
    Arrived {
        /// The router's pod.
        router: Arc<str>,
        /// The worker.
        worker: WorkerId,
    },
    /// A router says that it removed a worker, because discovery no longer names it.
    Departed {
        /// The worker.
        worker: WorkerId,
    },
    /// The API server refused what a process of Dynamo needs to register.
    RegistrationRefused(RegistrationRefused),
    /// A router refused a worker because of its model card.
    CardRefused(CardRefused),
    /// A router sends requests to workers of a Dynamo namespace.
    Home {
        /// The router's pod.
        pod: Arc<str>,
        /// The namespace.
        namespace: Arc<str>,
    },
    /// A router made a set of workers.
    SetMade(SetMade),
    /// A log line that names the block sizes of publisher and engine.
    BlockSizes(BlockSizeNotice),
    /// An engine's own report of stored blocks, from an address that the user named.
    EngineSocket(EngineSocketSeen),
    /// Somebody claims a setting.
    Claim(Claim),
    /// Evidence of a process's Dynamo release.
    Sign(VersionSign),
    /// A process joined or left discovery.
    Membership(Membership),
    /// A worker runs in a pod.
    Placed(Placement),
    /// A pod is there, in this state. Claims about it follow; earlier ones of its settings are void.
    Pod(Box<Pod>),
    /// A pod is gone.
    PodGone {
        /// Its name.
        name: Arc<str>,
    },
    /// A graph deployment is there. Claims about its components follow; earlier ones are void.
    Graph(Box<Graph>),
    /// A graph deployment is gone.
    GraphGone {
        /// Its name.
        name: Arc<str>,
    },
    /// The pods that a service sends traffic to. Discovery by Kubernetes knows only ready ones.
    Endpoints(Endpoints),
    /// An engine's configuration file in a `ConfigMap`; it is gone when it has no settings.
    ConfigFile(ConfigFile),
    /// The content of a `ConfigMap`, for processes that take variables from it.
    ConfigMap(ConfigMap),
    /// A discovery record says where something is published.
    Advertised(Advertised),
    /// A sample of a metric.
    Gauge(Gauge),
    /// A histogram of latencies.
    Histogram(Histogram),
    /// A source's report of its state.
    Source(SourceNote),
}

/// Load of one rank (`kv_metrics`).
///
/// Workers and routers share the subject. Before Dynamo 1.1 a worker reports its used blocks in
/// `active_decode_blocks`; from 1.1 in `kv_used_blocks` (dynamo-llm 0.9.0 `kv_router/publisher.rs`,
/// dynamo-kv-router 1.1.0 `protocols.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveLoad {
    /// The rank it is about.
    pub rank: WorkerRank,
    /// Its publisher.
    pub publisher: u64,
    /// Blocks in use for decoding; a router's estimate, or a worker's used blocks.
    pub active_decode_blocks: Option<u64>,
    /// Tokens waiting for prefill, a router's estimate.
    pub active_prefill_tokens: Option<u64>,
    /// Blocks in use, as the engine says.
    pub kv_used_blocks: Option<u64>,
}

/// Overlap of one request in blocks of the router (`kv-hit-rate`, Dynamo 0.9 only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitRate {
    /// The rank chosen.
    pub rank: WorkerRank,
    /// Prompt length in the router's blocks, rounded up.
    pub isl_blocks: u64,
    /// Blocks found cached on the chosen rank.
    pub overlap_blocks: u64,
}

/// A step of a request (`active_sequences_events`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestEvent {
    /// The request.
    pub request: Arc<str>,
    /// The rank it runs on.
    pub rank: WorkerRank,
    /// The router that says so.
    pub router: u64,
    /// Events for the journal.
    pub phase: RequestPhase,
}

/// An event of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestPhase {
    /// It was assigned to a rank.
    Added {
        /// Prompt tokens (up to Dynamo 1.1).
        isl: Option<u64>,
        /// Overlapping blocks (up to Dynamo 1.1).
        overlap: Option<u64>,
        /// Full blocks of the prompt, at the router's block size.
        full_blocks: Option<u64>,
        /// The first of their hashes, chained from the start of the prompt; not those of KV events.
        chain: Arc<[u64]>,
    },
    /// Its prompt has been computed.
    PrefillCompleted,
    /// It ended.
    Freed,
}

/// A router's choice, from its log.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The pod whose log says so.
    pub router: Arc<str>,
    /// The request, when the line names it (Dynamo 1.4 and later).
    pub request: Option<Arc<str>>,
    /// The worker chosen.
    pub worker: WorkerId,
    /// Its rank, when the line names it.
    pub dp_rank: Option<DpRank>,
    /// The cost of the chosen worker; the lowest wins.
    pub logit: Option<f64>,
    /// Cached blocks the router found on it. None where the version prints none.
    pub cached_blocks: Option<f64>,
    /// Blocks of the worker in the router's index, 0 whenever `cached_blocks` is 0 (dynamo-llm
    /// 0.9.0, `kv_router/scheduler.rs:583`); says nothing about an empty index.
    pub tree_size: Option<u64>,
    /// Capacity of the worker in blocks, from its model card.
    pub total_blocks: Option<u64>,
    /// True where a router of prefill workers chose it (`worker_type="prefill"`; dynamo-kv-router
    /// 1.6.1, `scheduling::selector`).
    pub prefill: bool,
    /// True for the line that merely forwards a choice made before (Dynamo 1.3 and 1.4,
    /// `router_mode="direct"`).
    pub forwarded: bool,
}

/// The cost of one worker for one request (`Formula for worker_id=…`).
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaTerm {
    /// The pod whose log says so.
    pub router: Arc<str>,
    /// The request, when the line names it (Dynamo 1.6 and later).
    pub request: Option<Arc<str>>,
    /// The rank weighed.
    pub rank: WorkerRank,
    /// The cost.
    pub logit: f64,
    /// Cached blocks found.
    pub cached_blocks: f64,
    /// Weight of the prefill term.
    pub weight: f64,
    /// Blocks to prefill, possibly a fraction.
    pub prefill_blocks: f64,
    /// Blocks decoding on the rank.
    pub decode_blocks: f64,
    /// The terms that later versions add.
    pub credit: Option<FormulaCredit>,
}

/// Terms of the cost that Dynamo 1.6 prints besides (dynamo-kv-router 1.6.1,
/// `scheduling/selector/reference.rs:407`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormulaCredit {
    /// Blocks to prefill before the credit.
    pub raw_prefill_blocks: f64,
    /// Blocks that the overlap takes off.
    pub credit_blocks: f64,
    /// The rest of the credit as the worker fills, 0 to 1.
    pub decay: f64,
    /// Blocks that running requests cost.
    pub request_blocks: f64,
}

/// The overlap of a routed request, from the frontend's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The pod whose log says so.
    pub router: Arc<str>,
    /// The request.
    pub request: Option<Arc<str>>,
    /// The rank it ran on.
    pub rank: WorkerRank,
    /// Blocks that overlapped.
    pub overlap_blocks: u64,
}

/// The length of a request's prompt, from the frontend's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The request, as its router called it.
    pub request: Arc<str>,
    /// Tokens of its prompt.
    pub tokens: u64,
}

/// A warning in a log, about the index of a router or of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogWarning {
    /// The pod whose log says so.
    pub pod: Arc<str>,
    /// The rank it names.
    pub rank: Option<WorkerRank>,
    /// The kind of warning.
    pub kind: WarningKind,
}

/// A router's process says that it starts, or that it is ready to follow KV events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterStart {
    /// The pod whose log says so.
    pub pod: Arc<str>,
    /// True once it follows events; false at the start of its process.
    pub follows: bool,
}

/// The kind of a warning, whose text differs by version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// `Failed to find parent block; skipping store operation`.
    ParentMissing {
        /// The parent that is missing.
        parent: Option<SequenceHash>,
        /// Blocks of the store that was refused; 0 is a sighting of an empty store.
        blocks: Option<u64>,
    },
    /// `Failed to find block to remove; skipping remove operation`.
    RemoveMissing {
        /// The block that is missing.
        block: Option<SequenceHash>,
    },
    /// `Stale parent: worker no longer covers parent_hash` (1.1 and later).
    StaleParent,
    /// `Failed to apply event` (1.0 and later).
    ApplyFailed,
    /// `block_hash mismatch: sequence hashes should be uniform across workers`.
    HashMismatch,
    /// `Event ID gap detected`, or events dropped before batching.
    EventGap,
    /// `Recovered N events from worker W`: the router has the events of a gap after all, or those from before it started
    /// (dynamo-llm 0.9.0 `kv_router/subscriber.rs`, 1.0.2 `kv_router/worker_query.rs`).
    EventsRecovered,
    /// `Failed to decode KVEventBatch`: a publisher cannot read its engine's events, and drops them.
    DecodeFailed,
}

/// A worker's log line about a block of its engine that is not of its publisher's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSizeNotice {
    /// The pod whose log says so.
    pub pod: Arc<str>,
    /// Tokens per block of the publisher.
    pub publisher: BlockSize,
    /// Tokens in the engine's block.
    pub engine: BlockSize,
    /// True when every block of the engine has as many; false when this one may be the end of a prompt,
    /// so that the engine's size may be larger.
    pub whole: bool,
    /// The line.
    pub raw: Arc<str>,
}

/// A process joined or left discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The process.
    pub instance: InstanceId,
    /// Its Dynamo namespace.
    pub namespace: Arc<str>,
    /// Its component, such as `backend`.
    pub component: Arc<str>,
    /// The endpoint, such as `generate`.
    pub endpoint: Arc<str>,
    /// False when it left.
    pub present: bool,
}

/// Time after a worker left discovery in which its last events and requests may still arrive.
pub const LEAVING: Duration = Duration::from_secs(30);

/// The transport of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// NATS core.
    Nats {
        /// The prefix of the subject.
        prefix: Arc<str>,
    },
    /// ZMQ, straight from the publisher.
    Zmq {
        /// Its address.
        endpoint: Arc<str>,
    },
    /// ZMQ, through brokers.
    ZmqBroker {
        /// The brokers' addresses for subscribers.
        endpoints: Vec<Arc<str>>,
    },
}

/// The address at which a process publishes a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The Dynamo namespace, empty when the record names none.
    pub namespace: Arc<str>,
    /// The topic, such as `kv-events`.
    pub topic: Arc<str>,
    /// The publisher.
    pub publisher: u64,
    /// The transport.
    pub transport: Transport,
}

/// Everything that one discovery record says of where things are published. Replaces what the same
/// record said before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// The record, for people: a key of etcd, or an object of Kubernetes.
    pub record: Arc<str>,
    /// The pod whose record it is, where that is known.
    pub pod: Option<Arc<str>>,
    /// Its channels; none when it was withdrawn.
    pub channels: Vec<Channel>,
}

/// A latency that frontends measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LatencyName {
    /// From a request to its first token.
    FirstToken,
    /// From one token to the next.
    InterToken,
    /// From a request to its last token.
    Request,
    /// In the queue of an engine.
    Queue,
}

/// A histogram of one scrape, summed over its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The pod scraped.
    pub pod: Arc<str>,
    /// The measured latency.
    pub name: LatencyName,
    /// Upper bounds in seconds, in ascending order, and how many were at most that long.
    pub buckets: Vec<(f64, f64)>,
}

/// One sample of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// The pod scraped.
    pub pod: Arc<str>,
    /// The worker, when a label names it.
    pub worker: Option<WorkerId>,
    /// The rank, when a label names it.
    pub dp_rank: Option<DpRank>,
    /// The metric.
    pub name: GaugeName,
    /// Its value.
    pub value: f64,
}

/// A router refused a worker whose model card differs from that of the workers before it, as the router's log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardRefused {
    /// The router's pod.
    pub router: Arc<str>,
    /// The model.
    pub model: Arc<str>,
    /// The worker, which 1.6 names.
    pub worker: Option<WorkerId>,
    /// The set of workers that the worker would have joined, which 1.6 names.
    pub set: Option<Arc<str>>,
}

/// A router made a set of workers, whose settings are those of its first worker, as the router's log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMade {
    /// The router's pod.
    pub router: Arc<str>,
    /// The model.
    pub model: Arc<str>,
    /// The set: Dynamo namespace, component, endpoint, and what its workers do, separated by commas.
    pub set: Arc<str>,
}

/// A worker could not register, as its own log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationRefused {
    /// The worker's pod.
    pub pod: Arc<str>,
    /// The reason.
    pub by: RegistrationBar,
}

/// A reason for which a worker cannot register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationBar {
    /// The API server does not let its service account write its discovery record (`DynamoWorkerMetadata`).
    Rights {
        /// Namespace and name of the service account.
        account: (Arc<str>, Arc<str>),
        /// The verb that the account lacks, such as `patch`.
        verb: Arc<str>,
    },
    /// Workers at its endpoint serve another model.
    OtherModel {
        /// Its own model.
        model: Arc<str>,
        /// The endpoint, such as `dynamo/backend/generate`.
        endpoint: Arc<str>,
        /// The model that is registered there.
        registered: Arc<str>,
    },
}

/// An engine's own report of stored blocks, from an address that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSocketSeen {
    /// The address.
    pub address: Arc<str>,
    /// Tokens in a block.
    pub block_size: u64,
    /// The rank of the engine.
    pub dp_rank: u32,
    /// Some of the blocks that it stored; empty if it names blocks by bytes, which routers never see.
    pub blocks: Vec<SequenceHash>,
}
