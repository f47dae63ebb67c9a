//! Objects of a deployment that the operator of 0.9.0 runs through Grove: labels, owners and variables as
//! the two set them, workers that a shell starts.

use serde_json::{Value, json};

use super::Frontend;
use super::image;
use crate::domain::Timestamp;
use crate::dynamo::{flag, label, plane, variable};
use crate::simulator::config::WorkerConfig;
use crate::simulator::discovery::Record;
use crate::simulator::hash::instance_id;
use crate::simulator::logs::rfc3339;
use crate::simulator::site::{EngineSettings, Site};
use crate::wire::encode::Family;

/// The service of the workers in the graph deployment.
const WORKERS: &str = "TrtllmWorker";
/// The `ConfigMap` of the engines' settings, its key, and where it is mounted.
const CONFIG_MAP: &str = "trtllm-engine-config";
const CONFIG_KEY: &str = "agg.yaml";
const CONFIG_FOLDER: &str = "/engine-config";
/// The shell script that starts a worker: the flags are the container's `args`.
const SCRIPT: &str = "export TLLM_LOG_LEVEL=INFO; exec python3 -m dynamo.trtllm \"$@\"";

/// A pod that runs.
pub(in crate::simulator) struct Running<'a> {
    pub(in crate::simulator) pod: &'a str,
    pub(in crate::simulator) place: usize,
    pub(in crate::simulator) started: Timestamp,
}

/// Returns the pod of a worker.
pub(in crate::simulator) fn worker(
    site: &Site,
    family: Family,
    running: &Running<'_>,
    config: &WorkerConfig,
) -> String {
    let mut container = worker_container(site, family, config);
    container["ports"] = json!([{ "name": "system", "containerPort": 9090, "protocol": "TCP" }]);
    container["env"] = json!(environment(site, "main", &worker_variables()));
    // The operator of 0.9.0 passes the component type of the service on as the label.
    pod(site, running, (WORKERS, "main"), container)
}

/// Returns the pod of a frontend.
pub(in crate::simulator) fn frontend(
    site: &Site,
    family: Family,
    running: &Running<'_>,
    frontend: &Frontend,
) -> String {
    let container = json!({
        "image": image(family), "command": ["python3"], "args": ["-m", "dynamo.frontend"],
        "ports": [{ "name": "http", "containerPort": 8000, "protocol": "TCP" }],
        "env": environment(site, "frontend", &frontend_variables(frontend)),
    });
    pod(site, running, ("Frontend", "frontend"), container)
}

/// Returns the graph deployment.
pub(in crate::simulator) fn graph(
    site: &Site,
    family: Family,
    workers: &[WorkerConfig],
    frontend: &Frontend,
    generation: u64,
) -> String {
    let worker = workers.first().map(|config| worker_container(site, family, config));
    let mut worker = json!({
        "componentType": "main", "dynamoNamespace": site.namespace, "replicas": workers.len(),
        "envs": worker_variables(), "resources": { "limits": { "gpu": "1" } },
        "extraPodSpec": { "mainContainer": worker },
    });
    if site.settings == EngineSettings::ConfigMap {
        worker["extraPodSpec"]["volumes"] = volumes();
    }
    json!({
        "apiVersion": format!("{}v1alpha1", label::PREFIX),
        "kind": "DynamoGraphDeployment",
        "metadata": {
            "name": site.deployment, "namespace": site.kube_namespace, "generation": generation,
            "annotations": { label::ENABLE_GROVE: "true" },
            "uid": uid(site, site.deployment),
        },
        "spec": { "services": {
            "Frontend": {
                "componentType": "frontend", "dynamoNamespace": site.namespace, "replicas": 1,
                "envs": frontend_variables(frontend),
                "extraPodSpec": { "mainContainer": { "image": image(family) } },
            },
            WORKERS: worker,
        } },
    })
    .to_string()
}

/// Returns the `ConfigMap` that the engines read.
pub(in crate::simulator) fn config_map(site: &Site, config: &WorkerConfig) -> String {
    let text = format!(
        "enable_chunked_prefill: true\nkv_cache_config:\n  dtype: fp8\n  \
         free_gpu_memory_fraction: 0.90\n  tokens_per_block: {}\n",
        config.engine
    );
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": CONFIG_MAP, "namespace": site.kube_namespace },
        "data": { CONFIG_KEY: text },
    })
    .to_string()
}

/// Returns the discovery records of the process in `pod` as one object.
pub(in crate::simulator) fn metadata(site: &Site, pod: &str, records: &[Record]) -> String {
    let mut data = json!({ "endpoints": {}, "event_channels": {}, "model_cards": {} });
    for (key, value) in records {
        let kinds = [
            (plane::CARDS, "model_cards"),
            (plane::ENDPOINTS, "endpoints"),
            ("v1/", "event_channels"),
        ];
        let found =
            kinds.iter().find_map(|(prefix, field)| Some((key.strip_prefix(prefix)?, field)));
        if let (Some((path, field)), Ok(value)) = (found, serde_json::from_str::<Value>(value)) {
            let path = path.strip_prefix("event_channels/").unwrap_or(path);
            data[*field][path] = value;
        }
    }
    json!({
        "apiVersion": format!("{}v1alpha1", label::PREFIX),
        "kind": "DynamoWorkerMetadata",
        "metadata": {
            "name": pod, "namespace": site.kube_namespace, "generation": 1,
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid(site, pod),
                "controller": true, "blockOwnerDeletion": false,
            }],
        },
        "spec": { "data": data },
    })
    .to_string()
}

fn worker_container(site: &Site, family: Family, config: &WorkerConfig) -> Value {
    let mut container = json!({
        "image": image(family), "command": ["bash", "-c", SCRIPT, "--"],
        "args": worker_args(site, config), "workingDir": "/workspace/",
    });
    if site.settings == EngineSettings::ConfigMap {
        container["volumeMounts"] =
            json!([{ "name": "engine-config", "mountPath": CONFIG_FOLDER, "readOnly": true }]);
    }
    container
}

fn worker_args(site: &Site, config: &WorkerConfig) -> Vec<String> {
    let tokens = config.publisher.to_string();
    let mut args: Vec<String> = [
        flag::MODEL_PATH,
        site.model,
        flag::SERVED_MODEL_NAME,
        site.model,
        flag::TENSOR_PARALLEL_SIZE,
        "1",
        flag::MAX_BATCH_SIZE,
        "64",
        flag::KV_BLOCK_SIZE,
        &tokens,
    ]
    .map(str::to_owned)
    .to_vec();
    if config.publishes {
        args.push(flag::PUBLISH_EVENTS_AND_METRICS.to_owned());
    }
    match site.settings {
        EngineSettings::Override => {
            let settings = json!({
                "enable_chunked_prefill": true,
                "kv_cache_config": {
                    "dtype": "fp8", "free_gpu_memory_fraction": 0.9,
                    "tokens_per_block": config.engine,
                },
            });
            args.extend([flag::OVERRIDE_ENGINE_ARGS.to_owned(), settings.to_string()]);
        }
        EngineSettings::ConfigMap => {
            let file = format!("{CONFIG_FOLDER}/{CONFIG_KEY}");
            args.extend([flag::EXTRA_ENGINE_ARGS.to_owned(), file]);
        }
    }
    args
}

fn worker_variables() -> Vec<Value> {
    vec![variable(variable::SYSTEM_PORT, "9090"), variable(variable::SYSTEM_ENABLED, "true")]
}

fn frontend_variables(frontend: &Frontend) -> Vec<Value> {
    let mode = variable(variable::ROUTER_MODE, frontend.mode.name());
    let size = frontend.declared.map(|it| variable(variable::KV_CACHE_BLOCK_SIZE, &it.to_string()));
    [mode].into_iter().chain(size).collect()
}

fn variable(name: &str, value: &str) -> Value {
    json!({ "name": name, "value": value })
}

/// Returns what the operator adds to the variables of a service.
fn environment(site: &Site, component: &str, own: &[Value]) -> Vec<Value> {
    let nats = "nats://dynamo-platform-nats.dynamo-system.svc.cluster.local:4222";
    let etcd = "http://dynamo-platform-etcd.dynamo-system.svc.cluster.local:2379";
    let field = |name: &str, path: &str| json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } });
    let mut all = vec![
        variable(variable::COMPONENT, component),
        variable(variable::DISCOVERY_BACKEND, "kubernetes"),
        variable(variable::NAMESPACE, site.namespace),
        variable(variable::PARENT_GRAPH, site.deployment),
        variable(variable::PARENT_GRAPH_NAMESPACE, site.kube_namespace),
        variable("ETCD_ENDPOINTS", etcd),
        variable("NATS_SERVER", nats),
        field("POD_NAME", "metadata.name"),
        field("POD_NAMESPACE", "metadata.namespace"),
        field("POD_UID", "metadata.uid"),
    ];
    all.extend_from_slice(own);
    all
}

fn volumes() -> Value {
    json!([{ "name": "engine-config", "configMap": { "name": CONFIG_MAP } }])
}

fn uid(site: &Site, name: &str) -> String {
    let (high, low) = (instance_id(site.kube_namespace), instance_id(name));
    format!("{:08x}-{:04x}-4000-8000-{low:012x}", high >> 20 & 0xffff_ffff, high & 0xffff)
}

fn pod(
    site: &Site,
    running: &Running<'_>,
    (service, kind): (&str, &str),
    mut container: Value,
) -> String {
    let deployment = site.deployment;
    let clique = format!("{deployment}-0-{}", service.to_lowercase());
    let selector = format!("{deployment}-{}", service.to_lowercase());
    let started = rfc3339(running.started);
    container["name"] = "main".into();
    let mut spec = json!({
        "nodeName": if kind == "frontend" { "cpu-pool-0".to_owned() } else { format!("gpu-h200-{}", running.place) },
        "restartPolicy": "Always",
        "serviceAccountName": format!("{deployment}-k8s-service-discovery"),
        "containers": [container],
    });
    if site.settings == EngineSettings::ConfigMap && kind != "frontend" {
        spec["volumes"] = volumes();
    }
    let number = if kind == "frontend" { 20 } else { 30 + running.place };
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": running.pod,
            "namespace": site.kube_namespace,
            "uid": uid(site, running.pod),
            "creationTimestamp": started,
            "labels": {
                "app.kubernetes.io/component": "pcs-podclique",
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/name": clique,
                "app.kubernetes.io/part-of": deployment,
                "grove.io/podclique": clique,
                "grove.io/podcliqueset-replica-index": "0",
                "grove.io/podgang": format!("{deployment}-0"),
                (label::COMPONENT): service,
                (label::COMPONENT_TYPE): kind,
                (label::DISCOVERY_BACKEND): "kubernetes",
                (label::DISCOVERY_ENABLED): "true",
                (label::GRAPH_DEPLOYMENT_NAME): deployment,
                (label::NAMESPACE): site.namespace,
                (label::METRICS_ENABLED): "true",
                (label::SELECTOR): selector,
            },
            "annotations": { label::DISCOVERY_BACKEND: "kubernetes" },
            "ownerReferences": [{
                "apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": clique,
                "uid": uid(site, &clique), "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
        "status": {
            "phase": "Running",
            "podIP": format!("10.244.1.{number}"),
            "startTime": started,
            "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": started }],
            "containerStatuses": [{
                "name": "main", "ready": true, "restartCount": 0,
                "state": { "running": { "startedAt": started } }, "lastState": {},
            }],
        },
    })
    .to_string()
}
