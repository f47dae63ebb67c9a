//! The vocabulary: identifiers, units and facts, free of versions and of behaviour.
//!
//! Everything a source says ends up as a [`Fact`] or a [`KvEvent`]; every other layer is written in
//! these words. docs/GLOSSARY.md has one meaning for each.

mod claim;
mod cluster;
mod count;
mod fact;
mod fast_map;
mod finding;
mod gauge;
mod id;
mod kv;
mod manifest;
mod plane;
mod pod_name;
mod provenance;
mod rollout;
mod secret;
mod source;
mod source_name;
mod steering;
mod tree;
mod unit;
mod variables;
mod version;

pub use claim::{Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, Medium, SetBy, Subject};
pub use cluster::{
    Backend, Component, ConfigFile, ConfigSource, Container, Endpoints, EngineFile, EngineSocket,
    Graph, HiddenSetting, NatsAccess, Placement, Pod, PodRef, Port, Role, Seat, SecretRef, Setting,
};
pub use count::Counters;
pub use fact::{
    ActiveLoad, Advertised, BlockSizeNotice, CardRefused, Channel, Decision, EngineSocketSeen,
    Fact, FormulaCredit, FormulaTerm, Gauge, Histogram, HitRate, LEAVING, LatencyName, LogWarning,
    Membership, Overlap, Prompt, RegistrationBar, RegistrationRefused, RequestEvent, RequestPhase,
    RouterStart, SetMade, Transport, WarningKind,
};
pub use fast_map::{FastMap, FastSet, NumberHasher, NumberHashing};
pub use finding::{Grade, RESOLVED_AFTER, Severity, Stake, Topic};
pub use gauge::GaugeName;
pub use id::{DpRank, InstanceId, SequenceHash, TokensHash, WorkerId, WorkerRank};
pub use kv::{Block, ClearScope, Envelope, KvBatch, KvEvent, KvHead, KvKind, Tier};
pub use manifest::{GraphApi, ManifestList, ManifestPart};
pub use plane::Plane;
pub use pod_name::short_pod_names;
pub use provenance::Provenance;
pub use rollout::RolloutStage;
pub use secret::{SECRET_PARTS, SECRET_WORDS, TOKEN_PREFIXES};
pub use source::{
    HistoryNote, Peers, RankLedger, Reason, SourceNote, SourceState, StreamLedger, Trouble,
    UNREACHED_LISTED, Unreached,
};
pub use source_name::SourceName;
pub use steering::steers;
pub use tree::{
    BlockRef, Hint, Presence, TreeAnchor, TreeDepths, TreeMatch, TreeNode, TreePlace, TreeRow,
    TreeRowKind, TreeSearch, TreeSharing, TreeSort,
};
pub use unit::{BlockSize, Timestamp, thousands};
pub use variables::{ConfigMap, ConfigMapUse, ConfigMaps, VariableKeys, Variables};
pub use version::{Release, Releases, VersionSign};
