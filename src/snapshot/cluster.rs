//! The inspected deployment, and its objects in Kubernetes.

use crate::domain::{Role, Timestamp, WorkerId};

/// The inspected deployment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deployment {
    /// A name for the status bar: namespace, file or scenario.
    pub label: String,
    /// The name that the user gave, where it is another one than the namespace that it led to.
    pub asked: Option<String>,
    /// Dynamo's version, as far as it is known, such as `0.9`.
    pub version: Option<String>,
    /// The source of the version.
    pub version_source: Option<String>,
    /// Dynamo's namespace, as in subjects and discovery.
    pub namespace: Option<String>,
    /// The model served.
    pub model: Option<String>,
    /// The event plane, such as `JetStream`, `NATS core` or `ZMQ`.
    pub event_plane: Option<String>,
    /// The router whose index semantics the mirror follows.
    pub semantics: String,
    /// The graph deployment looked at; none when there are several, or none is known.
    pub dgd: Option<String>,
    /// The graph deployment that the user chose; none while all are shown.
    pub chosen: Option<String>,
    /// Every graph deployment of the namespace, by name.
    pub graphs: Vec<GraphRow>,
    /// Dynamo namespaces on the same event plane or discovery store that no selected deployment uses, each
    /// with how many of its messages were ignored.
    pub foreign: Vec<(String, u64)>,
}

impl Deployment {
    /// Returns what it is called: `gtc-demo → dynamo-workload` where the name that was given led to another.
    pub fn title(&self, arrow: &str) -> String {
        match &self.asked {
            Some(asked) => format!("{asked} {arrow} {}", self.label),
            None => self.label.clone(),
        }
    }
}

/// A graph deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphRow {
    /// Its name.
    pub name: String,
    /// Its namespace in Kubernetes.
    pub namespace: String,
    /// Dynamo's namespace of its processes.
    pub dynamo_namespace: Option<String>,
    /// Its components, by name.
    pub components: Vec<ComponentRow>,
}

/// A component of a graph deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentRow {
    /// Its name.
    pub name: String,
    /// The role of its pods.
    pub role: Role,
    /// Their engine, as Dynamo names it.
    pub backend: Option<&'static str>,
    /// Number wanted.
    pub replicas: Option<u64>,
    /// Number ready.
    pub ready: Option<u64>,
}

/// A pod of Dynamo's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRow {
    /// Its name.
    pub name: String,
    /// Its role in the deployment.
    pub role: Role,
    /// The graph deployment it belongs to.
    pub dgd: Option<String>,
    /// Its component in the graph deployment.
    pub component: Option<String>,
    /// Its node.
    pub node: Option<String>,
    /// Its address.
    pub ip: Option<String>,
    /// `Pending`, `Running`, `Succeeded`, `Failed`.
    pub phase: String,
    /// True when it is ready to serve.
    pub ready: bool,
    /// True when Dynamo's discovery sees it behind its service; none when that is unknown.
    pub in_service: Option<bool>,
    /// The reason why it waits or ended, such as `CrashLoopBackOff`.
    pub trouble: Option<String>,
    /// True once it was told to end.
    pub terminating: bool,
    /// Restarts of its containers.
    pub restarts: u64,
    /// Its start.
    pub started: Option<Timestamp>,
    /// Dynamo's version by its image's tag.
    pub version: Option<String>,
    /// Its engine, as Dynamo names it.
    pub backend: Option<&'static str>,
    /// The image of its main container.
    pub image: Option<String>,
    /// The worker in it; none when it has none, or it has not registered.
    pub worker: Option<WorkerId>,
}
