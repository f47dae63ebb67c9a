//! Objects of a deployment in Kubernetes: pods, graph deployments and configuration files.
//!
//! Secrets are named, never held.

use std::ops::Range;
use std::sync::Arc;

use super::manifest::{GraphApi, ManifestPart};
use super::variables::ConfigMapUse;
use super::{Claim, ClaimOf, ClaimValue, ClaimWhat, Timestamp, WorkerId};

/// The role of a process in a deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Takes requests in, and routes them with the router inside it.
    Frontend,
    /// Computes whole requests.
    Worker,
    /// Computes prompts only.
    Prefill,
    /// Generates tokens only.
    Decode,
    /// Encodes images and videos for the workers that compute prompts.
    Encode,
    /// Embeds or classifies texts.
    Embedding,
    /// Generates images or videos.
    Diffusion,
    /// Scales the deployment.
    Planner,
    /// A router in a process of its own, `dynamo.router`.
    StandaloneRouter,
    /// A router that an inference gateway asks (endpoint picker).
    GatewayPlugin,
    /// Anything else.
    #[default]
    Other,
}

impl Role {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frontend => "frontend",
            Self::Worker => "worker",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Encode => "encode",
            Self::Embedding => "embedding",
            Self::Diffusion => "diffusion",
            Self::Planner => "planner",
            Self::StandaloneRouter => "router",
            Self::GatewayPlugin => "gateway-plugin",
            Self::Other => "other",
        }
    }

    /// Returns true for processes with an engine.
    pub const fn is_worker(self) -> bool {
        self.has_kv_blocks() || self.is_beside_kv_blocks()
    }

    /// Returns true for workers with KV blocks of prompts, which routers may look for.
    pub const fn has_kv_blocks(self) -> bool {
        matches!(self, Self::Worker | Self::Prefill | Self::Decode)
    }

    /// Returns true for workers without KV blocks that a router looks for.
    const fn is_beside_kv_blocks(self) -> bool {
        matches!(self, Self::Encode | Self::Embedding | Self::Diffusion)
    }

    /// Returns true for the name of a part without KV blocks: that of a role or of a model card (`encode`), or that of
    /// a component (`encoder`).
    pub fn names_no_kv_blocks(part: &str) -> bool {
        let part = part.to_ascii_lowercase();
        let beside = [Self::Encode, Self::Embedding, Self::Diffusion];
        beside.iter().any(|role| part.starts_with(role.name()))
    }

    /// Returns true for processes that may route.
    pub const fn is_router(self) -> bool {
        matches!(self, Self::Frontend | Self::StandaloneRouter | Self::GatewayPlugin)
    }
}

/// The engine of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// TensorRT-LLM.
    TrtLlm,
    /// vLLM.
    Vllm,
    /// `SGLang`.
    SgLang,
    /// Dynamo's mock engine.
    Mocker,
}

impl Backend {
    /// Returns the name in Dynamo's modules and manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TrtLlm => "trtllm",
            Self::Vllm => "vllm",
            Self::SgLang => "sglang",
            Self::Mocker => "mocker",
        }
    }

    /// Returns the engine's own name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::TrtLlm => "TensorRT-LLM",
            Self::Vllm => "vLLM",
            Self::SgLang => "SGLang",
            Self::Mocker => "the mock engine",
        }
    }
}

/// A key of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretRef {
    /// The Secret.
    pub name: Arc<str>,
    /// The key in it.
    pub key: Arc<str>,
}

/// The NATS connection of a process, without the values of credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NatsAccess {
    /// `NATS_SERVER`, without credentials.
    pub servers: Option<Arc<str>>,
    /// True when the address itself held credentials, which were taken out.
    pub login_in_address: bool,
    /// `NATS_AUTH_USERNAME`, by reference.
    pub user: Option<SecretRef>,
    /// `NATS_AUTH_USERNAME` as a plain value, which is no secret.
    pub user_name: Option<Arc<str>>,
    /// `NATS_AUTH_PASSWORD`.
    pub password: Option<SecretRef>,
    /// `NATS_AUTH_TOKEN`.
    pub token: Option<SecretRef>,
    /// `NATS_AUTH_NKEY`.
    pub nkey: Option<SecretRef>,
    /// `NATS_AUTH_CREDENTIALS_FILE`, when it is a file of a mounted Secret.
    pub creds: Option<SecretRef>,
    /// Names of credential settings that are not references: kvtop does not keep plain values, and
    /// cannot read files that are in no Secret.
    pub inline: Vec<Arc<str>>,
}

/// A port of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name, empty when it has none.
    pub name: Arc<str>,
    /// Its number.
    pub number: u16,
}

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: Arc<str>,
    /// Its role in the deployment.
    pub role: Role,
    /// Its image.
    pub image: Arc<str>,
    /// The ports it declares.
    pub ports: Vec<Port>,
    /// The port of requests and of a frontend's metrics (`DYN_HTTP_PORT`, `--http-port`).
    pub http_port: Option<u16>,
    /// The port of a worker's metrics (`DYN_SYSTEM_PORT`).
    pub system_port: Option<u16>,
    /// True when it serves requests over TLS.
    pub tls: bool,
}

/// The place of an engine's configuration file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigSource {
    /// A key of a `ConfigMap`.
    ConfigMap {
        /// The `ConfigMap`.
        name: Arc<str>,
        /// The key.
        key: Arc<str>,
    },
    /// In the image or on a volume, where Kubernetes does not show it.
    Image,
}

/// A configuration file that an engine was told to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFile {
    /// The path, as the engine was given it.
    pub path: Arc<str>,
    /// Its place.
    pub source: ConfigSource,
    /// The engine that reads it, which tells its format.
    pub engine: Backend,
    /// Settings that the file does not decide: stronger ones were given, or may have been.
    pub overridden: Vec<(ClaimWhat, ClaimOf)>,
    /// Claims that hold where the file does not set the same.
    pub otherwise: Vec<Claim>,
    /// True in versions whose publisher and card take the engine's block size.
    pub followed: bool,
}

/// A setting that a process may have, although nothing that kvtop reads says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenSetting {
    /// The setting.
    pub what: ClaimWhat,
    /// Whose.
    pub of: ClaimOf,
    /// The reason why it is hidden, for people: a variable without a visible value, a script, a file.
    pub by: Arc<str>,
}

/// A pod's place in a worker of several pods. One of them is in discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seat {
    /// Nothing says so.
    #[default]
    Unsaid,
    /// It speaks for the worker.
    Leader,
    /// It computes, and nobody hears of it.
    Follower,
}

/// A pod, as Kubernetes shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace in Kubernetes.
    pub namespace: Arc<str>,
    /// Its uid, which a pod of the same name that follows does not share.
    pub uid: Option<Arc<str>>,
    /// Its address.
    pub ip: Option<Arc<str>>,
    /// Its node.
    pub node: Option<Arc<str>>,
    /// The graph deployment it belongs to.
    pub graph: Option<Arc<str>>,
    /// Its component in the graph deployment.
    pub component: Option<Arc<str>>,
    /// Its role in the deployment.
    pub role: Role,
    /// Its engine.
    pub backend: Option<Backend>,
    /// Dynamo's version by its image's tag.
    pub version: Option<Arc<str>>,
    /// `Pending`, `Running`, `Succeeded`, `Failed`.
    pub phase: Arc<str>,
    /// True when it is ready to serve.
    pub ready: bool,
    /// The reason why its main container waits or ended, such as `CrashLoopBackOff`.
    pub trouble: Option<Arc<str>>,
    /// True once it was told to end.
    pub terminating: bool,
    /// Settings that it may have been given where kvtop cannot read.
    pub hidden: Vec<HiddenSetting>,
    /// Its place in a worker of several pods.
    pub seat: Seat,
    /// Start of its main container, or else of the pod.
    pub started: Option<Timestamp>,
    /// Restarts of its containers.
    pub restarts: u64,
    /// Its containers, the main one first.
    pub containers: Vec<Container>,
    /// Dynamo's namespace of its processes.
    pub dynamo_namespace: Option<Arc<str>>,
    /// Its NATS connection.
    pub nats: NatsAccess,
    /// Its event plane, when a setting names one.
    pub event_plane: Option<Arc<str>>,
    /// The address at which its engine publishes events of its own.
    pub engine_events: Option<EngineSocket>,
    /// The etcd server with its discovery records (`ETCD_ENDPOINTS`); none with discovery by Kubernetes.
    pub etcd: Option<Arc<str>>,
    /// The address at which ZMQ brokers pass events on (`DYN_ZMQ_BROKER_URL`).
    pub zmq_brokers: Vec<Arc<str>>,
    /// The configuration file of its engine.
    pub engine_file: Option<EngineFile>,
    /// The `ConfigMap`s that its processes take variables from.
    pub variables_from: Vec<ConfigMapUse>,
    /// Those of them that are not known, so that what they may set is not.
    pub unread: Vec<Arc<str>>,
    /// Variables and command of its main container, to be compared with those of its component.
    pub manifest: ManifestPart,
}

/// The socket at which an engine publishes events of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineSocket {
    /// Its port.
    pub port: u16,
    /// The source, for people.
    pub by: &'static str,
}

/// A component of a graph deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name.
    pub name: Arc<str>,
    /// The role of its pods.
    pub role: Role,
    /// Their engine.
    pub backend: Option<Backend>,
    /// Number wanted.
    pub replicas: Option<u64>,
    /// Pods that form one worker (`multinode.nodeCount`), when it is set.
    pub nodes: Option<u64>,
    /// Number ready.
    pub ready: Option<u64>,
    /// The configuration file of their engine.
    pub engine_file: Option<EngineFile>,
    /// Settings that they may be given where kvtop cannot read.
    pub hidden: Vec<HiddenSetting>,
    /// The `ConfigMap`s that their processes take variables from.
    pub variables_from: Vec<ConfigMapUse>,
    /// The places in its manifest that fixes change.
    pub manifest: ManifestPart,
}

/// A `DynamoGraphDeployment`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace in Kubernetes.
    pub namespace: Arc<str>,
    /// The form in which it was read.
    pub api: Option<GraphApi>,
    /// Its number, which grows with every change of its specification.
    pub generation: Option<u64>,
    /// The last change of its specification, by the API server.
    pub changed: Option<Timestamp>,
    /// The engine it names for all components.
    pub backend: Option<Backend>,
    /// Dynamo's namespace, when its manifest fixes one.
    pub dynamo_namespace: Option<Arc<str>>,
    /// Its components, by name.
    pub components: Vec<Component>,
}

/// A worker that serves a model, and the pod it runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The worker.
    pub worker: WorkerId,
    /// Its pod; none where discovery does not tell.
    pub pod: Option<Arc<str>>,
    /// Its data-parallel ranks; empty when the statement does not name them.
    pub ranks: Range<u32>,
}

/// A pod behind a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRef {
    /// Its name.
    pub pod: Arc<str>,
    /// True when the service sends it traffic.
    pub ready: bool,
}

/// An `EndpointSlice`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Its name.
    pub slice: Arc<str>,
    /// True when Dynamo's discovery reads it.
    pub discovery: bool,
    /// Its pods; none when it is gone.
    pub pods: Vec<PodRef>,
}

/// A setting in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The engine whose format it is written in.
    pub engine: Backend,
    /// The setting.
    pub what: ClaimWhat,
    /// Whose.
    pub of: ClaimOf,
    /// Its value.
    pub value: ClaimValue,
    /// As it stands in the file.
    pub raw: Arc<str>,
}

/// An engine's configuration file in a `ConfigMap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// The `ConfigMap`.
    pub config_map: Arc<str>,
    /// Its key.
    pub key: Arc<str>,
    /// Its settings; none when the file is gone or cannot be read.
    pub settings: Option<Vec<Setting>>,
    /// Its text, when it is whole and short enough to be kept.
    pub text: Option<Arc<str>>,
    /// The last change of its `ConfigMap`, by the API server.
    pub changed: Option<Timestamp>,
}
