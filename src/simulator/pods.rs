//! Pods and their graph deployment, as Kubernetes shows them: trimmed to what matters, as a source would
//! have trimmed them.

pub(super) mod grove;

use serde_json::{Value, json};

use super::config::{RouterMode, WorkerConfig};
use super::logs::rfc3339;
use super::site::Site;
use crate::domain::Timestamp;
use crate::dynamo::{flag, label, variable};
use crate::wire::encode::Family;

/// The settings of a frontend.
pub(super) struct Frontend {
    pub(super) mode: RouterMode,
    /// The tokens per block that it declares.
    pub(super) declared: Option<u32>,
}

/// Returns the pod of the worker in `place` of `workers`, which is the number of its node too.
pub(super) fn worker(
    site: &Site,
    family: Family,
    name: &str,
    workers: &[WorkerConfig],
    place: usize,
) -> String {
    let Some(config) = workers.get(place) else { return String::new() };
    let mut env = worker_env();
    env.insert(0, json!({ "name": variable::NAMESPACE, "value": site.namespace }));
    let component = component(workers, place);
    let pod = Pod { site, name, component: &component, kind: "worker", node: place, started: None };
    pod.json(family, &worker_command(), &json!(worker_args(site, config)), &json!(env))
}

/// Returns the pod of a frontend that started at `at`.
pub(super) fn frontend(
    site: &Site,
    family: Family,
    name: &str,
    settings: &Frontend,
    at: Timestamp,
) -> String {
    let mut env = frontend_env(settings);
    env.insert(0, json!({ "name": variable::NAMESPACE, "value": site.namespace }));
    let command = json!(["python3", "-m", "dynamo.frontend"]);
    let pod =
        Pod { site, name, component: "Frontend", kind: "frontend", node: 0, started: Some(at) };
    pod.json(family, &command, &json!([]), &json!(env))
}

/// Returns the graph deployment of `workers` and a frontend; `generation` grows with every change of it.
pub(super) fn graph(
    site: &Site,
    family: Family,
    workers: &[WorkerConfig],
    settings: &Frontend,
    generation: u64,
) -> String {
    // The newer form is in the documentation from 1.5 on.
    let beta = family >= Family::V1_5;
    let mut parts = vec![part(
        beta,
        "Frontend",
        "frontend",
        1,
        json!({
            "image": image(family), "env": frontend_env(settings),
        }),
    )];
    for (place, config) in workers.iter().enumerate() {
        let name = component(workers, place);
        if parts.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let replicas = workers.iter().filter(|other| *other == config).count();
        let container = json!({
            "image": image(family), "command": worker_command(), "args": worker_args(site, config),
            "env": worker_env(),
        });
        parts.push(part(beta, &name, "worker", replicas, container));
    }
    let (version, spec) = if beta {
        let list: Vec<Value> = parts.into_iter().map(|(_, part)| part).collect();
        ("v1beta1", json!({ "backendFramework": "trtllm", "components": list }))
    } else {
        let map: serde_json::Map<String, Value> = parts.into_iter().collect();
        ("v1alpha1", json!({ "backendFramework": "trtllm", "services": map }))
    };
    json!({
        "apiVersion": format!("{}{version}", label::PREFIX),
        "kind": "DynamoGraphDeployment",
        "metadata": { "name": site.deployment, "namespace": site.kube_namespace, "generation": generation },
        "spec": spec,
    })
    .to_string()
}

/// Returns a component of a graph deployment with its name.
fn part(
    beta: bool,
    name: &str,
    kind: &str,
    replicas: usize,
    mut container: Value,
) -> (String, Value) {
    let part = if beta {
        container["name"] = "main".into();
        let template = json!({ "spec": { "containers": [container] } });
        json!({ "name": name, "type": kind, "replicas": replicas, "podTemplate": template })
    } else {
        let env = container["env"].take();
        if let Some(fields) = container.as_object_mut() {
            fields.remove("env");
        }
        json!({
            "componentType": kind, "replicas": replicas, "envs": env,
            "extraPodSpec": { "mainContainer": container },
        })
    };
    (name.to_owned(), part)
}

/// Workers that are set up alike are one component.
fn component(workers: &[WorkerConfig], place: usize) -> String {
    let mut kinds: Vec<&WorkerConfig> = Vec::new();
    for config in workers.iter().take(place + 1) {
        if !kinds.contains(&config) {
            kinds.push(config);
        }
    }
    let kind = kinds.iter().position(|kind| Some(*kind) == workers.get(place)).unwrap_or(0);
    if kind == 0 { "TrtllmWorker".to_owned() } else { format!("TrtllmWorker{}", kind + 1) }
}

fn worker_command() -> Value {
    json!(["python3", "-m", "dynamo.trtllm"])
}

fn worker_args(site: &Site, config: &WorkerConfig) -> Vec<String> {
    let engine = json!({ "kv_cache_config": { "tokens_per_block": config.engine } }).to_string();
    let mut args = vec![flag::MODEL_PATH, site.model, flag::OVERRIDE_ENGINE_ARGS, &engine];
    let tokens = config.publisher.to_string();
    // One flag sets publisher and card; where they differ, something else has set the card.
    if config.card == config.publisher {
        args.extend([flag::KV_BLOCK_SIZE, &tokens]);
    }
    if config.publishes {
        args.push(flag::PUBLISH_EVENTS_AND_METRICS);
    }
    args.into_iter().map(str::to_owned).collect()
}

fn worker_env() -> Vec<Value> {
    vec![json!({ "name": variable::SYSTEM_PORT, "value": "9090" })]
}

fn frontend_env(settings: &Frontend) -> Vec<Value> {
    let size = settings
        .declared
        .map(|size| json!({ "name": variable::KV_CACHE_BLOCK_SIZE, "value": size.to_string() }));
    [json!({ "name": variable::ROUTER_MODE, "value": settings.mode.name() })]
        .into_iter()
        .chain(size)
        .collect()
}

fn image(family: Family) -> String {
    format!("nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:{}.0", family.name())
}

/// The properties in which pods differ.
struct Pod<'a> {
    site: &'a Site,
    name: &'a str,
    component: &'a str,
    kind: &'a str,
    node: usize,
    started: Option<Timestamp>,
}

impl Pod<'_> {
    fn json(&self, family: Family, command: &Value, args: &Value, env: &Value) -> String {
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        let mut status = json!({ "phase": "Running", "conditions": ready });
        if let Some(at) = self.started {
            status["startTime"] = json!(rfc3339(at));
        }
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.name,
                "namespace": self.site.kube_namespace,
                "labels": {
                    (label::COMPONENT): self.component,
                    (label::COMPONENT_TYPE): self.kind,
                    (label::GRAPH_DEPLOYMENT_NAME): self.site.deployment,
                    (label::NAMESPACE): self.site.namespace,
                },
            },
            "spec": {
                "nodeName": format!("gpu-{}", self.node),
                "containers": [{
                    "name": "main",
                    "image": image(family),
                    "command": command,
                    "args": args,
                    "env": env,
                }],
            },
            "status": status,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_states_both_of_its_block_sizes() {
        let config =
            WorkerConfig { engine: 16, publisher: 32, card: 32, capacity: 1, publishes: true };

        let pod = worker(&Site::RECORDED, Family::V0_9, "w", &[config], 0);

        assert!(pod.contains(r#"{\"kv_cache_config\":{\"tokens_per_block\":16}}"#), "{pod}");
        assert!(pod.contains(r#""--kv-block-size","32""#), "{pod}");
        assert!(pod.contains("tensorrtllm-runtime:0.9.0"), "{pod}");
    }
}
