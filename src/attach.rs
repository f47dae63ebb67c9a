//! Decides which sources to open, from the objects in Kubernetes.
//!
//! A pure function of what was seen and of what was chosen. It opens nothing and remembers nothing;
//! whoever runs sources compares its answers and starts or stops what differs.

mod name;
mod nats;
#[cfg(test)]
mod tests;
mod zmq;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{
    Advertised, Channel, Component, ConfigMapUse, ConfigSource, Container, Graph, Pod, Role,
    VariableKeys,
};
use crate::model::{Channels, Cluster};

pub use name::{Place, deployments, names, places};
pub use nats::{Login, NatsTarget, NatsUser};
pub use zmq::{ZmqTarget, published};

/// The largest number of followed logs, and of scraped endpoints; a note names the rest.
pub const TARGET_LIMIT: usize = 512;

/// Default port of a frontend.
const HTTP_PORT: u16 = 8000;

/// Default port of a worker's system server.
const SYSTEM_PORT: u16 = 9090;

/// The note for `--deep` without an engine to connect to.
const NO_ENGINE: &str = "--deep has no effect: no engine has an event socket (vLLM and SGLang need \
                         {flag::KV_EVENTS_CONFIG}; vLLM up to 1.0 has one by default; TensorRT-LLM has none)";

/// The objects of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Seen<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// Its pods, Dynamo's and others.
    pub pods: Vec<&'a Pod>,
    /// Its graph deployments.
    pub graphs: Vec<&'a Graph>,
    /// Addresses of publishers, with the records that name them.
    pub channels: Vec<(&'a Advertised, &'a Channel)>,
}

impl<'a> Seen<'a> {
    /// Returns the objects of `namespace` in `cluster` and `channels`.
    pub fn new(cluster: &'a Cluster, channels: &'a Channels, namespace: &'a str) -> Self {
        Self {
            namespace,
            pods: cluster.pods().map(|record| &record.pod).collect(),
            graphs: cluster.graphs().collect(),
            channels: channels.all().collect(),
        }
    }
}

/// The user's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The graph deployment to look at; all of the namespace's when none is named.
    pub dgd: Option<String>,
    /// The Dynamo namespace to look at, in place of those of its pods.
    pub dynamo_namespace: Option<String>,
    /// True to read engines' own events as well.
    pub deep: bool,
    /// True to read only objects, and logs and metrics of routers.
    pub light: bool,
}

/// A container whose log is worth following.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTarget {
    /// Kubernetes namespace.
    pub namespace: Arc<str>,
    /// Pod.
    pub pod: Arc<str>,
    /// Container.
    pub container: Arc<str>,
    /// Its role in the deployment.
    pub role: Role,
}

/// A metrics endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrapeTarget {
    /// Kubernetes namespace.
    pub namespace: Arc<str>,
    /// Pod.
    pub pod: Arc<str>,
    /// Its address.
    pub ip: Arc<str>,
    /// Port.
    pub port: u16,
    /// Path.
    pub path: &'static str,
    /// Its role in the deployment.
    pub role: Role,
    /// True when it is served over TLS.
    pub tls: bool,
}

/// An etcd with discovery records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdTarget {
    /// Its addresses, separated by commas, without credentials.
    pub endpoints: Arc<str>,
    /// The place they were read from, for people.
    pub from: String,
}

/// The sources to have open, and what to tell the user of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The graph deployment looked at; none while it is not known, or when it is all of several.
    pub dgd: Option<String>,
    /// Every graph deployment of the namespace, to choose from.
    pub candidates: Vec<String>,
    /// Addresses at which events can be received.
    pub nats: Option<NatsTarget>,
    /// The etcd server with the discovery records, and the source of its address.
    pub etcd: Option<EtcdTarget>,
    /// Publishers of events over ZMQ.
    pub zmq: Vec<ZmqTarget>,
    /// Logs to follow: routers first, then workers.
    pub logs: Vec<LogTarget>,
    /// Metrics to scrape, in the same order.
    pub scrapes: Vec<ScrapeTarget>,
    /// `ConfigMap`s to read, by name, and which of their keys are variables.
    pub config_maps: Vec<ConfigMapUse>,
    /// The note that the namespace has no Dynamo pod. Not known while pods may not be listed.
    pub empty: Option<String>,
    /// Notes on missing or ambiguous parts, as sentences.
    pub notes: Vec<String>,
}

/// Returns the wanted sources.
pub fn wanted(seen: &Seen<'_>, choice: &Choice) -> Wanted {
    let mut wanted = Wanted { candidates: candidates(seen), ..Wanted::default() };
    let pods = chosen(seen, choice, &mut wanted);
    wanted.config_maps = config_maps(seen, &pods, wanted.dgd.as_deref());
    if pods.is_empty() {
        return wanted;
    }
    unread(&pods, &mut wanted.notes);
    if choice.light {
        for pod in pods {
            wanted.logs.extend(logs(pod).filter(|target| target.role.is_router()));
            wanted.scrapes.extend(scrapes(pod).filter(|target| target.role.is_router()));
        }
        return wanted;
    }
    wanted.etcd = etcd(&pods);
    wanted.zmq = published(seen, &pods, choice);
    let alone = !wanted.zmq.iter().any(|target| target.events);
    if choice.deep {
        wanted.zmq.extend(zmq::engines(&pods));
        if !pods.iter().any(|pod| pod.engine_events.is_some()) {
            wanted.notes.push(crate::dynamo::fill(NO_ENGINE));
        }
    }
    wanted.nats = nats::target(&pods, alone, &mut wanted.notes);
    for pod in &pods {
        wanted.logs.extend(logs(pod));
        wanted.scrapes.extend(scrapes(pod));
    }
    cap(&mut wanted.logs, "logs are followed", &mut wanted.notes);
    cap(&mut wanted.zmq, "ZMQ publishers are connected", &mut wanted.notes);
    cap(&mut wanted.scrapes, "metrics endpoints are scraped", &mut wanted.notes);
    wanted
}

/// Returns the wanted sources of a deployment without Kubernetes, known only by its discovery records.
pub fn wanted_by_records(seen: &Seen<'_>, choice: &Choice) -> Wanted {
    let mut wanted = Wanted { zmq: published(seen, &[], choice), ..Wanted::default() };
    cap(&mut wanted.zmq, "ZMQ publishers are connected", &mut wanted.notes);
    wanted
}

/// Returns the `ConfigMap`s that chosen pods, or pods to come, read or take variables from.
fn config_maps(seen: &Seen<'_>, pods: &[&Pod], dgd: Option<&str>) -> Vec<ConfigMapUse> {
    let graphs = seen.graphs.iter().filter(|graph| dgd.is_none_or(|name| *graph.name == *name));
    let planned: Vec<&Component> = graphs.flat_map(|graph| &graph.components).collect();
    let mut uses: BTreeMap<Arc<str>, VariableKeys> = BTreeMap::new();
    let files = pods.iter().map(|pod| &pod.engine_file);
    for file in files.chain(planned.iter().map(|part| &part.engine_file)).flatten() {
        if let ConfigSource::ConfigMap { name, .. } = &file.source {
            uses.entry(Arc::clone(name)).or_default();
        }
    }
    let variables = pods.iter().map(|pod| &pod.variables_from);
    for used in variables.chain(planned.iter().map(|part| &part.variables_from)).flatten() {
        let keys = uses.entry(Arc::clone(&used.name)).or_default();
        match (keys, &used.variables) {
            (VariableKeys::Named(all), VariableKeys::Named(more)) => {
                all.extend(more.iter().cloned());
            }
            (keys, VariableKeys::All) => *keys = VariableKeys::All,
            (VariableKeys::All, VariableKeys::Named(_)) => {}
        }
    }
    uses.into_iter().map(|(name, variables)| ConfigMapUse { name, variables }).collect()
}

/// Reports `ConfigMap`s with variables that cannot be read.
fn unread(pods: &[&Pod], notes: &mut Vec<String>) {
    let mut readers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for pod in pods {
        for map in &pod.unread {
            readers.entry(map).or_default().push(&pod.name);
        }
    }
    for (map, mut names) in readers {
        names.dedup();
        let who = match names.as_slice() {
            [one] => format!("pod `{one}` reads"),
            several => format!("{} pods read", several.len()),
        };
        notes.push(format!(
            "{who} variables from ConfigMap `{map}`, which is missing or not readable; those variables are unknown"
        ));
    }
}

/// Returns the etcd that the most important of `pods` names.
fn etcd(pods: &[&Pod]) -> Option<EtcdTarget> {
    let pod = pods.iter().find(|pod| pod.etcd.is_some())?;
    let endpoints = Arc::clone(pod.etcd.as_ref()?);
    Some(EtcdTarget { endpoints, from: format!("ETCD_ENDPOINTS of pod {}", pod.name) })
}

fn is_dynamo(pod: &Pod) -> bool {
    pod.role != Role::Other || pod.graph.is_some()
}

/// Returns the names of the graph deployments, also of those that only pods tell of.
fn candidates(seen: &Seen<'_>) -> Vec<String> {
    let of_pods = seen.pods.iter().filter_map(|pod| pod.graph.as_deref());
    let names: BTreeSet<&str> =
        seen.graphs.iter().map(|graph| graph.name.as_ref()).chain(of_pods).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Returns the pods of the deployment that is looked at: routers first, then workers, by name.
fn chosen<'a>(seen: &Seen<'a>, choice: &Choice, wanted: &mut Wanted) -> Vec<&'a Pod> {
    let among = wanted.candidates.join(", ");
    let mut pods: Vec<&Pod> = seen.pods.iter().copied().filter(|pod| is_dynamo(pod)).collect();
    match (&choice.dgd, wanted.candidates.as_slice()) {
        (Some(name), _) => {
            pods.retain(|pod| pod.graph.as_deref() == Some(name));
            wanted.dgd = Some(name.clone());
            if !wanted.candidates.contains(name) {
                let there = if among.is_empty() { "none" } else { &among };
                wanted.notes.push(format!(
                    "no graph deployment `{name}` in namespace `{}` (existing: {there})",
                    seen.namespace
                ));
                return pods;
            }
        }
        (None, [only]) => wanted.dgd = Some(only.clone()),
        (None, []) => {}
        (None, several) => wanted.notes.push(format!(
            "namespace `{}` has {} graph deployments ({among}); showing all, pass --dgd to select one",
            seen.namespace,
            several.len()
        )),
    }
    if pods.is_empty() {
        wanted.empty = Some(format!("no Dynamo pod in namespace `{}`", seen.namespace));
    }
    pods.sort_by_key(|pod| (rank(pod.role), Arc::clone(&pod.name)));
    pods
}

/// Returns the place of a role in the order of importance.
fn rank(role: Role) -> u8 {
    match role {
        Role::Frontend => 0,
        Role::StandaloneRouter | Role::GatewayPlugin => 1,
        Role::Worker
        | Role::Prefill
        | Role::Decode
        | Role::Encode
        | Role::Embedding
        | Role::Diffusion => 2,
        Role::Planner | Role::Other => 3,
    }
}

/// Returns true once a pod's containers can have said something.
fn has_started(pod: &Pod) -> bool {
    !matches!(pod.phase.as_ref(), "Pending" | "Succeeded")
}

fn logs(pod: &Pod) -> impl Iterator<Item = LogTarget> {
    let routes = |role: Role| role.is_router() || role.is_worker();
    let containers = pod.containers.iter().filter(move |container| routes(container.role));
    containers.filter(|_| has_started(pod)).map(|container| LogTarget {
        namespace: Arc::clone(&pod.namespace),
        pod: Arc::clone(&pod.name),
        container: Arc::clone(&container.name),
        role: container.role,
    })
}

fn scrapes(pod: &Pod) -> impl Iterator<Item = ScrapeTarget> {
    let open = has_started(pod) && !pod.terminating;
    let ip = pod.ip.as_ref().filter(|_| open);
    pod.containers.iter().filter_map(move |container| {
        Some(ScrapeTarget {
            namespace: Arc::clone(&pod.namespace),
            pod: Arc::clone(&pod.name),
            ip: Arc::clone(ip?),
            port: metrics_port(container)?,
            path: "/metrics",
            role: container.role,
            tls: container.tls && container.role == Role::Frontend,
        })
    })
}

/// Returns where a container serves metrics. A frontend does beside its requests and has no system
/// server (ai-dynamo 0.9.0, `frontend/main.py:341`); others do on their system port.
fn metrics_port(container: &Container) -> Option<u16> {
    let named = |name: &str| {
        container.ports.iter().find(|port| port.name.as_ref() == name).map(|port| port.number)
    };
    match container.role {
        Role::Frontend => container.http_port.or_else(|| named("http")).or(Some(HTTP_PORT)),
        role if role.is_worker() => {
            container.system_port.or_else(|| named("system")).or(Some(SYSTEM_PORT))
        }
        // Only where a port is declared: these have none by default.
        Role::StandaloneRouter => container.system_port.or_else(|| named("system")),
        Role::GatewayPlugin => named("metrics"),
        _ => None,
    }
}

fn cap<T>(targets: &mut Vec<T>, what: &str, notes: &mut Vec<String>) {
    if targets.len() > TARGET_LIMIT {
        notes.push(format!("only {TARGET_LIMIT} of {} {what}", targets.len()));
        targets.truncate(TARGET_LIMIT);
    }
}
