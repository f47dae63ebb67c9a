//! Pods: who they are, how they are doing, and what their processes were started with.

mod nats;
mod status;

use std::sync::Arc;

use serde_json::Value;

use super::command::{Command, Module, Reading};
use super::engine_file;
use super::env::Env;
use super::image;
use super::settings::{Process, role_of};
use super::{Object, list, manifest, raw, shared, string};
use crate::domain::{
    Backend, Basis, Claim, ConfigMaps, Container, EngineSocket, Fact, Pod, Port, Release, Role,
    Seat, Subject,
};
use crate::dynamo::engine::VLLM_EVENT_PORT;
use crate::dynamo::{flag, label, release, variable};
use crate::frame::Frame;
use crate::wire::{Facts, Reject};

/// Most brokers that are kept of a pod.
const BROKER_LIMIT: usize = 16;

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    decode_with(frame, &ConfigMaps::new(), facts)
}

/// Reads a pod whose variables may come from `maps`.
pub(super) fn decode_with(
    frame: &Frame,
    maps: &ConfigMaps,
    facts: &mut Facts,
) -> Result<(), Reject> {
    let object = Object::read(frame)?;
    if object.gone {
        facts.other.push(Fact::PodGone { name: object.name });
        return Ok(());
    }
    let (mut pod, claims) = PodReader::new(&object, maps).finish();
    status::read(&object.value, &mut pod);
    facts.other.push(Fact::Pod(Box::new(pod)));
    facts.other.extend(claims.into_iter().map(Fact::Claim));
    Ok(())
}

/// A pod while its containers are read.
struct PodReader<'a> {
    object: &'a Object,
    maps: &'a ConfigMaps,
    pod: Pod,
    claims: Vec<Claim>,
}

impl<'a> PodReader<'a> {
    fn new(object: &'a Object, maps: &'a ConfigMaps) -> Self {
        let metadata = &object.value["metadata"];
        let spec = &object.value["spec"];
        let pod = Pod {
            name: Arc::clone(&object.name),
            namespace: shared(object.namespace()),
            uid: string(metadata, "uid").map(shared),
            node: string(spec, "nodeName").map(shared),
            graph: object.label(label::GRAPH_DEPLOYMENT_NAME).map(shared),
            component: object.label(label::COMPONENT).map(shared),
            dynamo_namespace: object.label(label::NAMESPACE).map(shared),
            terminating: string(metadata, "deletionTimestamp").is_some(),
            seat: seat(object),
            ..Pod::default()
        };
        Self { object, maps, pod, claims: Vec::new() }
    }

    fn finish(mut self) -> (Pod, Vec<Claim>) {
        let containers = &self.object.value["spec"]["containers"];
        let main = main_container(containers);
        self.pod.manifest = main.map(manifest::of_pod).unwrap_or_default();
        for container in main.into_iter().chain(list(containers)) {
            let is_main = self.pod.containers.is_empty();
            // The main one comes first, and once.
            if is_main || main.is_none_or(|main| !std::ptr::eq(main, container)) {
                self.container(container, is_main);
            }
        }
        let pod = &mut self.pod;
        if pod.dynamo_namespace.is_none() {
            let graph = pod.graph.as_deref();
            pod.dynamo_namespace = graph.map(|graph| dynamo_namespace(&pod.namespace, graph));
        }
        (self.pod, self.claims)
    }

    fn container(&mut self, container: &'a Value, is_main: bool) {
        let mut env = Env::default();
        let (name, namespace) = (self.object.name.to_string(), self.object.namespace().to_owned());
        env.add_from(&container["envFrom"], self.maps);
        env.add(&container["env"], self.maps, |path| match path {
            "metadata.name" => Some(name.clone()),
            "metadata.namespace" => Some(namespace.clone()),
            _ => None,
        });
        let commands = Command::all_of(container, &env);
        let mut first = None;
        for command in &commands {
            let role = self.command(container, command, is_main && first.is_none());
            first.get_or_insert(role);
        }
        let role = first.unwrap_or_default();
        if is_main {
            self.main(container, &env, role);
        }
        // Other containers are none of Dynamo's.
        if is_main || role != Role::Other {
            self.pod.variables_from.extend(env.sources());
            self.pod.unread.extend(env.unread().cloned());
        }
        self.pod.containers.push(read_container(container, &commands, role));
    }

    /// Adds the claims of one process and returns what it does.
    fn command(&mut self, container: &'a Value, command: &Command, is_main: bool) -> Role {
        let kind = self.object.label(label::COMPONENT_TYPE);
        let kind = kind.or_else(|| command.env().plain(variable::COMPONENT)).unwrap_or_default();
        let sub_kind = self.object.label(label::SUB_COMPONENT_TYPE);
        // Labels are about the main container; others are known by what they run.
        let role = if is_main || command.module.is_some() {
            role_of(command, kind, sub_kind.unwrap_or_default())
        } else {
            Role::Other
        };
        if role == Role::Other {
            return role;
        }
        let image = string(container, "image").unwrap_or_default();
        let backend = match command.module {
            Some(Module::Engine(backend)) => Some(backend),
            _ => image::backend(image),
        };
        let backend = backend.filter(|_| role.is_worker());
        let volumes = &self.object.value["spec"]["volumes"];
        let version = image::version(image).and_then(Release::parse);
        let config = engine_file::find(command, container, volumes, backend);
        let process = Process {
            subject: Subject::Pod(Arc::clone(&self.object.name)),
            place: format!("pod {}", self.object.name),
            basis: Basis::Setting,
            role,
            backend,
            version,
            command,
            config: &config,
        };
        let said = process.said();
        self.claims.extend(said.claims);
        self.claims.extend(process.version_claim(image));
        if is_main {
            self.pod.backend = backend;
            self.pod.engine_file = said.engine_file;
            self.pod.hidden = said.hidden;
            self.pod.event_plane = command.env().plain(variable::EVENT_PLANE).map(shared);
            self.pod.engine_events = engine_socket(command, backend, version, role);
            let brokers = command.env().plain(variable::ZMQ_BROKER_URL);
            self.pod.zmq_brokers = brokers.map(brokers_for_subscribers).unwrap_or_default();
        }
        role
    }

    fn main(&mut self, container: &Value, env: &Env, role: Role) {
        let pod = &mut self.pod;
        pod.role = role;
        if pod.graph.is_none() {
            pod.graph = env.plain(variable::PARENT_GRAPH).map(shared);
        }
        if let Some(namespace) = env.plain(variable::NAMESPACE) {
            // Workers append it from 1.0 on, so that versions do not mix in a rollout.
            let suffix = env.plain(variable::NAMESPACE_WORKER_SUFFIX).filter(|_| role.is_worker());
            let suffix = suffix.filter(|suffix| !suffix.is_empty());
            pod.dynamo_namespace = Some(match suffix {
                Some(suffix) => shared(&format!("{namespace}-{suffix}")),
                None => shared(namespace),
            });
        }
        // Whatever is no other backend is etcd (dynamo-runtime 0.9.0, `distributed.rs:146`).
        let backend =
            env.plain(variable::DISCOVERY_BACKEND).or_else(|| env.plain(variable::STORE_KV));
        if backend.is_none_or(|backend| backend == "etcd") {
            pod.etcd = env.plain("ETCD_ENDPOINTS").map(nats::without_login).map(|at| shared(&at));
        }
        pod.nats = nats::access(env, container, &self.object.value["spec"]["volumes"]);
        if role != Role::Other {
            let image = string(container, "image").unwrap_or_default();
            pod.version = image::version(image).map(shared);
        }
    }
}

/// Returns where an engine publishes events of its own. Up to 1.0 vLLM does so without being asked, but
/// for decode workers and without a prefix cache (ai-dynamo 0.9.0 and 1.0.2, `vllm/args.py`,
/// `create_kv_events_config`).
fn engine_socket(
    command: &Command,
    backend: Option<Backend>,
    version: Option<Release>,
    role: Role,
) -> Option<EngineSocket> {
    match command.flag(&[flag::KV_EVENTS_CONFIG]) {
        Reading::Set(config) => {
            return Some(EngineSocket {
                port: port_of(config.value?)?,
                by: flag::KV_EVENTS_CONFIG,
            });
        }
        Reading::Hidden(_) => return None,
        Reading::Unset => {}
    }
    let by_itself = backend == Some(Backend::Vllm)
        && version.is_some_and(|version| version < release::VLLM_ASKS_FOR_EVENTS)
        && role.has_kv_blocks()
        && role != Role::Decode
        && command.flag(&[flag::NO_ENABLE_PREFIX_CACHING]) == Reading::Unset;
    if !by_itself {
        return None;
    }
    match command.variable(&[variable::VLLM_KV_EVENT_PORT]) {
        Reading::Set(found) => Some(EngineSocket {
            port: found.value?.trim().parse().ok()?,
            by: variable::VLLM_KV_EVENT_PORT,
        }),
        Reading::Hidden(_) => None,
        Reading::Unset => {
            Some(EngineSocket { port: VLLM_EVENT_PORT, by: "the default port of vLLM" })
        }
    }
}

/// Reads the port of `{"publisher": "zmq", "endpoint": "tcp://*:20080"}`.
fn port_of(config: &str) -> Option<u16> {
    let config: Value = serde_json::from_str(config).ok()?;
    if config["publisher"] == "null" || config["enable_kv_cache_events"] == false {
        return None;
    }
    config["endpoint"].as_str()?.rsplit(':').next()?.parse().ok()
}

/// Reads `xsub=tcp://a:1;tcp://b:1 , xpub=tcp://a:2;tcp://b:2`: those after `xpub` are for subscribers
/// (dynamo-runtime 1.6.1, `transports/event_plane/mod.rs`).
fn brokers_for_subscribers(text: &str) -> Vec<Arc<str>> {
    let lists = text.split(',').filter_map(|part| part.trim().strip_prefix("xpub="));
    let all = lists.flat_map(|list| list.split(';')).map(str::trim);
    all.filter(|broker| !broker.is_empty()).take(BROKER_LIMIT).map(shared).collect()
}

fn read_container(container: &Value, commands: &[Command], role: Role) -> Container {
    let port = |port: &Value| {
        let number = u16::try_from(port["containerPort"].as_u64()?).ok()?;
        Some(Port { name: shared(string(port, "name").unwrap_or_default()), number })
    };
    let set = |flags: &[&str], names: &[&str]| {
        commands.iter().find_map(|command| {
            let reading = command.flag(flags).or(|| command.variable(names));
            reading.value()?.trim().parse().ok()
        })
    };
    let tls = [flag::TLS_CERT_PATH, flag::TLS_KEY_PATH];
    Container {
        name: shared(string(container, "name").unwrap_or_default()),
        role,
        image: raw(string(container, "image").unwrap_or_default()),
        ports: list(&container["ports"]).filter_map(port).collect(),
        http_port: set(&[flag::HTTP_PORT], &[variable::HTTP_PORT]),
        system_port: set(&[], &[variable::SYSTEM_PORT]),
        tls: commands.iter().any(|command| {
            command.flag(&tls).or(|| command.variable(&[variable::TLS_CERT_PATH])).is_set()
        }),
    }
}

/// Returns a pod's place among those of its worker. The operator ends the names of Grove's cliques with
/// `ldr` and `wkr` (ai-dynamo `deploy/operator/internal/consts/consts.go@0367e404`); the first pod of a
/// `LeaderWorkerSet` has index 0.
fn seat(object: &Object) -> Seat {
    let clique = object.label("grove.io/podclique").and_then(|name| name.rsplit('-').next());
    match (clique, object.label("leaderworkerset.sigs.k8s.io/worker-index")) {
        (Some("ldr"), _) | (_, Some("0")) => Seat::Leader,
        (Some("wkr"), _) | (_, Some(_)) => Seat::Follower,
        _ => Seat::Unsaid,
    }
}

/// Returns the container that the operator puts Dynamo's process in, or else the first that runs Dynamo: a proxy may
/// stand before it. Where none says so it is the first.
pub(super) fn main_container(containers: &Value) -> Option<&Value> {
    let first = |is: fn(&Value) -> bool| list(containers).find(|container| is(container));
    first(|container| container["name"] == "main")
        .or_else(|| first(runs_module))
        .or_else(|| first(has_image))
        .or_else(|| first(has_variable))
        .or_else(|| containers.get(0))
}

/// Returns true for a container whose command names a module of Dynamo.
pub fn runs_module(container: &Value) -> bool {
    let words = ["command", "args"].into_iter().flat_map(|key| list(&container[key]));
    let mut words = words.filter_map(Value::as_str);
    words.any(|word| word.starts_with("dynamo.") || word.contains("-m dynamo."))
}

fn has_image(container: &Value) -> bool {
    string(container, "image").and_then(image::backend).is_some()
}

fn has_variable(container: &Value) -> bool {
    let mut names = list(&container["env"]).filter_map(|entry| string(entry, "name"));
    names.any(|name| variable::PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Returns the Dynamo namespace that the operator derives (`ComputeDynamoNamespace`).
pub(super) fn dynamo_namespace(namespace: &str, graph: &str) -> Arc<str> {
    shared(&format!("{namespace}-{graph}").replace('.', "-"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_main_container_runs_dynamo_wherever_it_stands() {
        let proxy = json!({"name": "istio-proxy", "args": ["proxy", "sidecar"]});
        let engine = json!({"name": "engine", "args": ["-m", "dynamo.vllm"]});
        let script = json!({"name": "start", "env": [{"name": "DYN_NAMESPACE", "value": "a"}]});
        let main = json!({"name": "main"});
        let chosen = |all: &[&Value]| {
            let all = json!(all);
            main_container(&all).and_then(|it| string(it, "name")).unwrap_or_default().to_owned()
        };
        assert_eq!(chosen(&[&proxy, &engine]), "engine");
        assert_eq!(chosen(&[&proxy, &script]), "start");
        assert_eq!(chosen(&[&proxy, &engine, &main]), "main");
        assert_eq!(chosen(&[&proxy]), "istio-proxy");
    }

    /// Returns the port at which vLLM's engine publishes.
    fn socket(release: &str, role: Role, container: &Value) -> Option<u16> {
        let mut env = Env::default();
        env.add(&container["env"], &ConfigMaps::new(), |_| None);
        let command = Command::all_of(container, &env).remove(0);
        let version = Release::parse(release);
        engine_socket(&command, Some(Backend::Vllm), version, role).map(|socket| socket.port)
    }

    #[test]
    fn vllm_has_a_socket_by_itself_up_to_1_0() {
        let run = json!({"args": ["-m", "dynamo.vllm"]});
        let moved = json!({"args": ["-m", "dynamo.vllm"],
            "env": [{"name": "DYN_VLLM_KV_EVENT_PORT", "value": "20090"}]});
        let told = json!({"args": ["-m", "dynamo.vllm", "--kv-events-config",
            r#"{"publisher":"zmq","endpoint":"tcp://*:5557"}"#]});
        let denied = json!({"args": ["-m", "dynamo.vllm", "--kv-events-config",
            r#"{"enable_kv_cache_events":false}"#]});
        let uncached = json!({"args": ["-m", "dynamo.vllm", "--no-enable-prefix-caching"]});

        for release in ["0.9.0", "1.0.2"] {
            assert_eq!(socket(release, Role::Worker, &run), Some(20080));
            assert_eq!(socket(release, Role::Worker, &moved), Some(20090));
            assert_eq!(socket(release, Role::Decode, &run), None);
            assert_eq!(socket(release, Role::Worker, &uncached), None);
        }
        for release in ["1.1.0", "1.6.1", "my-tag"] {
            assert_eq!(socket(release, Role::Worker, &run), None);
            assert_eq!(socket(release, Role::Worker, &moved), None);
        }
        for release in ["0.9.0", "1.6.1"] {
            assert_eq!(socket(release, Role::Worker, &told), Some(5557));
            assert_eq!(socket(release, Role::Worker, &denied), None);
        }
    }
}
