//! The Kubernetes source: the objects of one namespace, and their changes.
//!
//! Watches graph deployments, pods, endpoint slices, worker metadata and named config maps. Sends GET
//! requests and nothing else: no access reviews, no Secrets. Objects are trimmed, and secrets taken
//! out, before they become frames.

mod account;
mod allow;
mod certificate;
mod client;
mod condition;
mod config_map;
mod error;
mod find;
mod known;
mod lines;
mod object;
mod options;
mod pace;
mod places;
mod redact;
mod refusal;
mod resource;
mod rights;
mod run;
mod shared;
mod status;
mod trim;
mod watch;

pub mod rbac;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use tokio::sync::watch as channel;

use crate::domain::{ConfigMapUse, SourceName, SourceState};
use crate::source::{Desired, Emitter, SourceHandle};

pub use client::{KubeClient, connect};
pub use condition::MissingRight;
pub use error::KubeConfigError;
pub use find::Within;
pub(super) use object::{EndpointSlice, List, Pod, PortRef, Service, ServicePort};
pub use options::KubeOptions;
pub use pace::Pace;
pub use places::{ContextPlace, NAMESPACE_LIMIT};
pub(super) use redact::redacted_line;
pub use refusal::Refusal;
pub(super) use refusal::deepest;
pub use rights::{Right, Standing, log_right, rights};

use run::{Outside, Source};

/// Returns an object as it enters a frame; none when objects of that kind are not watched.
pub(super) fn kept_of_object(kind: &str, object: serde_json::Value) -> Option<serde_json::Value> {
    let resource = resource::resources().into_iter().find(|resource| resource.kind == kind)?;
    Some(trim::trim(&resource, "v1", object))
}

/// A Kubernetes source to start.
#[derive(Clone)]
pub struct KubeSpec {
    /// Its name in notes.
    pub name: SourceName,
    /// The client, with its namespace.
    pub client: KubeClient,
    /// The waiting time.
    pub pace: Pace,
}

impl KubeSpec {
    /// Returns the source `kubernetes` of `client`.
    pub fn new(client: KubeClient) -> Self {
        Self { name: SourceName::Kubernetes, client, pace: Pace::default() }
    }
}

/// A running Kubernetes source.
#[derive(Debug)]
pub struct KubeHandle {
    /// The source.
    pub source: SourceHandle,
    /// The config maps of the namespace to watch; none at the start.
    pub config_maps: channel::Sender<BTreeSet<ConfigMapUse>>,
    /// The rights that are missing, as far as is known.
    pub missing: channel::Receiver<Arc<[MissingRight]>>,
}

impl fmt::Debug for KubeSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("KubeSpec").field(&self.name).field(&self.client).finish()
    }
}

/// Starts a source. Must be called within a runtime.
pub fn spawn(spec: KubeSpec, emitter: Emitter) -> KubeHandle {
    let name = spec.name.clone();
    let emitter = emitter.counting_apart();
    let (desired, wanted) = channel::channel(Desired::Running);
    let (shown, state) = channel::channel(SourceState::Connecting);
    let (config_maps, config_maps_wanted) = channel::channel(BTreeSet::new());
    let (missing_shown, missing) = channel::channel(Arc::from([]));
    let outside = Outside { wanted, config_maps: config_maps_wanted, missing: missing_shown };
    let task = tokio::spawn(Source::new(spec, emitter, outside, shown).run());
    KubeHandle { source: SourceHandle { name, desired, state, task }, config_maps, missing }
}
