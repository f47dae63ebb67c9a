//! Deployments of many shapes, as a graph deployment, `ConfigMap`s and the pods that run from them.

use kvtop::domain::Timestamp;
use kvtop::frame::{Frame, KubeChange, Origin};
use serde_json::{Value, json};

/// The first moment.
pub(crate) const START: u64 = 1_795_224_000_000_000;

/// A second.
pub(crate) const SECOND: u64 = 1_000_000;

/// Numbers that look like chance and are the same each time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % most as u64).unwrap()
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A deployment.
#[derive(Clone, Debug)]
pub(crate) struct Deployment {
    pub(crate) graph: Value,
    pub(crate) maps: Vec<Value>,
    pub(crate) pods: Vec<Value>,
}

/// Returns the `ConfigMap` text of an engine with blocks of so many tokens.
fn engine_text(dice: &mut Dice, size: Option<u32>) -> String {
    let size = size.map(|size| size.to_string());
    let mut text = match (dice.below(3), size) {
        (0, Some(size)) => {
            format!(
                "# an engine\nbackend: pytorch\nkv_cache_config:\n  dtype: fp8\n  tokens_per_block: {size} # chosen\nmax_batch_size: 8\n"
            )
        }
        (0, None) => {
            "backend: pytorch\nkv_cache_config:\n    dtype: fp8\nmax_batch_size: 8\n".into()
        }
        (1, Some(size)) => {
            format!("backend: pytorch\nkv_cache_config: {{dtype: fp8, tokens_per_block: {size}}}\n")
        }
        (1, None) => "kv_cache_config: {dtype: fp8}\n".into(),
        (_, Some(size)) => {
            format!(
                "{{\"backend\": \"pytorch\", \"kv_cache_config\": {{\"tokens_per_block\": {size}}}}}"
            )
        }
        (_, None) => "backend: pytorch\n".into(),
    };
    if dice.below(6) == 0 {
        text = without_reuse(&text);
    }
    if dice.below(4) == 0 {
        text = text.replace('\n', "\r\n");
    }
    text
}

/// Returns the text of an engine that does not reuse prefixes, where it has a cache section.
fn without_reuse(text: &str) -> String {
    const OFF: &str = "enable_block_reuse: false";
    for indent in ["  ", "    "] {
        let line = format!("\n{indent}dtype: fp8\n");
        if text.contains(&line) {
            return text.replace(&line, &format!("{line}{indent}{OFF}\n"));
        }
    }
    text.replace("{dtype: fp8", &format!("{{dtype: fp8, {OFF}"))
}

/// Adds the arguments of a TensorRT-LLM worker; returns volumes and mounts.
fn trtllm(
    dice: &mut Dice,
    (role, size): (&str, Option<u32>),
    args: &mut Vec<String>,
    maps: &mut Vec<Value>,
) -> (Value, Value) {
    let sizes = [None, Some(16), Some(32), Some(64)];
    let (mut volumes, mut mounts) = (json!([]), json!([]));

    if let Some(size) = size {
        if dice.below(3) == 0 {
            args.push(format!("--kv-block-size={size}"));
        } else {
            args.extend(["--kv-block-size".into(), size.to_string()]);
        }
    }
    let engine = dice.pick(&sizes);
    match dice.below(3) {
        0 => {
            let name = format!("engine-{role}");
            let text = engine_text(dice, engine);
            maps.push(json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": name, "namespace": "serving" },
                "data": { "agg.yaml": text },
            }));
            args.extend(["--extra-engine-args".into(), "/engine/agg.yaml".into()]);
            volumes = json!([{ "name": "e", "configMap": { "name": name } }]);
            mounts = json!([{ "name": "e", "mountPath": "/engine" }]);
        }
        1 => {
            let mut config = json!({ "dtype": "fp8" });
            if let Some(engine) = engine {
                config["tokens_per_block"] = engine.into();
            }
            if dice.below(6) == 0 {
                config["enable_block_reuse"] = false.into();
            }
            let all = json!({ "kv_cache_config": config, "max_batch_size": 8 });
            args.extend(["--override-engine-args".into(), all.to_string()]);
        }
        _ => {}
    }
    if dice.below(4) > 0 {
        args.push("--publish-events-and-metrics".into());
    }
    (volumes, mounts)
}

/// Returns the command of a worker, and what else it needs.
fn worker(dice: &mut Dice, backend: &str, role: &str, maps: &mut Vec<Value>) -> Value {
    let sizes = [None, Some(16), Some(32), Some(64)];
    let mut args: Vec<String> = vec!["--model".into(), "m".into()];
    let (mut volumes, mut mounts) = (json!([]), json!([]));
    let size = dice.pick(&sizes);
    match backend {
        "trtllm" => {
            let about = (role, size);
            (volumes, mounts) = trtllm(dice, about, &mut args, maps);
        }
        "vllm" => {
            if let Some(size) = size {
                args.extend(["--block-size".into(), size.to_string()]);
            }
            if dice.below(6) == 0 {
                args.push("--no-enable-prefix-caching".into());
            }
            if dice.below(3) > 0 {
                let config = json!({"enable_kv_cache_events": true, "publisher": "zmq", "topic": "kv-events", "endpoint": "tcp://*:5557"});
                args.extend(["--kv-events-config".into(), config.to_string()]);
            }
        }
        _ => {
            args.extend(["--page-size".into(), size.unwrap_or(16).to_string()]);
            if dice.below(6) == 0 {
                args.push("--disable-radix-cache".into());
            }
            let config =
                json!({"publisher": "zmq", "topic": "kv-events", "endpoint": "tcp://*:5557"});
            args.extend(["--kv-events-config".into(), config.to_string()]);
        }
    }
    if role != "worker" {
        let flag = if backend == "vllm" { format!("--is-{role}-worker") } else { String::new() };
        if !flag.is_empty() && role == "prefill" {
            args.push(flag);
        }
    }
    let module = format!("dynamo.{backend}");
    let mut all = vec!["python3".to_owned(), "-m".into(), module.clone()];
    all.extend(args.iter().cloned());
    let (command, args) = match dice.below(5) {
        0 | 1 => (json!(["python3", "-m", module]), json!(args)),
        2 => (json!(all), Value::Null),
        // As on the users' cluster: a shell that passes its arguments on.
        3 => {
            let script = format!("export HF_HOME=/models; exec python3 -m {module} \"$@\"");
            (json!(["bash", "-c", script, "--"]), json!(args))
        }
        _ => {
            let quoted: Vec<String> = args.iter().map(|it| format!("'{it}'")).collect();
            let script = format!("exec python3 -m {module} {}", quoted.join(" "));
            (json!(["/bin/sh", "-c", script]), Value::Null)
        }
    };
    json!({ "command": command, "args": args, "volumes": volumes, "mounts": mounts })
}

fn frontend_env(dice: &mut Dice, version: &str) -> Vec<Value> {
    let mut env = Vec::new();
    let mut set = |name: &str, value: &str| env.push(json!({ "name": name, "value": value }));
    if dice.below(5) > 0 {
        set("DYN_ROUTER_MODE", dice.pick(&["kv", "kv", "kv", "round-robin"]));
    }
    if let Some(size) = dice.pick(&[None, Some("16"), Some("32"), Some("64")]) {
        set("DYN_KV_CACHE_BLOCK_SIZE", size);
    }
    if dice.below(4) == 0 {
        let name = if version == "0.9.0" { "DYN_KV_EVENTS" } else { "DYN_ROUTER_USE_KV_EVENTS" };
        set(name, "false");
    }
    if dice.below(6) == 0 {
        set("DYN_ROUTER_TEMPERATURE", "0.5");
    }
    if dice.below(5) == 0 && version != "0.9.0" {
        set("DYN_ROUTER_REPLICA_SYNC", dice.pick(&["true", "false"]));
    }
    env
}

/// Returns the number of frontends, and the command of each.
fn frontend(dice: &mut Dice, version: &str) -> (usize, Value) {
    let mut args = Value::Null;
    if dice.below(5) == 0 {
        let flag = if version == "0.9.0" { "--no-kv-events" } else { "--no-router-kv-events" };
        args = json!(["--router-mode", "kv", flag]);
    } else if dice.below(6) == 0 {
        args = json!(["--router-mode", dice.pick(&["kv", "round-robin"])]);
    }
    if dice.below(6) == 0 && version != "0.9.0" {
        args = json!(["--no-router-replica-sync"]);
    }
    let frontends = dice.pick(&[1, 1, 2]);
    let mut command = json!(["python3", "-m", "dynamo.frontend"]);
    if dice.below(4) == 0 {
        let given = args.as_array().into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<&str> =
            ["exec python3 -m dynamo.frontend"].into_iter().chain(given).collect();
        command = json!(["/bin/sh", "-c", words.join(" ")]);
        args = Value::Null;
    }
    (frontends, json!({ "command": command, "args": args, "volumes": [], "mounts": [] }))
}

impl Deployment {
    /// Returns the deployment that `seed` stands for.
    pub(crate) fn generated(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let dice = &mut dice;
        let backend = dice.pick(&["trtllm", "trtllm", "trtllm", "vllm", "sglang"]);
        let version = dice.pick(&["0.9.0", "1.0.2", "1.6.1"]);
        let beta = version == "1.6.1" && dice.below(2) == 0;
        let image = format!(
            "nvcr.io/nvidia/ai-dynamo/{}-runtime:{version}",
            match backend {
                "trtllm" => "tensorrtllm",
                other => other,
            }
        );
        let mut maps = Vec::new();
        let mut parts = Vec::new();
        let env = frontend_env(dice, version);
        let env = if env.is_empty() && dice.below(2) == 0 { Value::Null } else { json!(env) };
        let (frontends, frontend) = frontend(dice, version);
        parts.push(("Frontend", "frontend", "", frontends, env, frontend));
        let roles: &[(&str, &str)] = match dice.below(3) {
            0 => &[("Worker", "worker")],
            1 => &[("Prefill~a/b", "prefill"), ("Decode", "decode")],
            _ => &[("Worker", "worker"), ("Other", "worker")],
        };
        for (name, role) in roles {
            let seat = if *name == "Other" { "other" } else { *role };
            let made = worker(dice, backend, seat, &mut maps);
            let env = if dice.below(2) == 0 { Value::Null } else { json!([]) };
            let sub = if *role == "worker" { "" } else { *role };
            parts.push((*name, "worker", sub, 1 + dice.below(3), env, made));
        }
        let parts: Vec<Value> = parts
            .into_iter()
            .map(|(name, kind, sub, replicas, env, made)| {
                part(beta, &image, (name, kind, sub), replicas, (&env, &made))
            })
            .collect();
        let (api, spec) = if beta {
            ("v1beta1", json!({ "backendFramework": backend, "components": parts }))
        } else {
            let services = by_name(parts);
            ("v1alpha1", json!({ "backendFramework": backend, "services": services }))
        };
        let graph = json!({
            "apiVersion": format!("nvidia.com/{api}"),
            "kind": "DynamoGraphDeployment",
            "metadata": { "name": "demo", "namespace": "serving", "generation": 3 },
            "spec": spec,
        });
        let mut made = Self { graph, maps, pods: Vec::new() };
        made.pods = made.fresh_pods(START);
        made
    }

    /// Returns the pods that the operator makes of the graph deployment as it is.
    pub(crate) fn fresh_pods(&self, started: u64) -> Vec<Value> {
        let spec = &self.graph["spec"];
        let mut pods = Vec::new();
        let mut add = |name: &str,
                       kind: &Value,
                       sub: &Value,
                       replicas: &Value,
                       container: &Value,
                       volumes: &Value| {
            let time = jiff::Timestamp::from_microsecond(i64::try_from(started).unwrap()).unwrap();
            for number in 0..replicas.as_u64().unwrap_or(1) {
                let plain: String =
                    name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
                let mut labels = json!({
                    "nvidia.com/dynamo-component": name,
                    "nvidia.com/dynamo-component-type": kind,
                    "nvidia.com/dynamo-graph-deployment-name": "demo",
                });
                if sub.is_string() {
                    labels["nvidia.com/dynamo-sub-component-type"] = sub.clone();
                }
                let mut container = container.clone();
                container["name"] = "main".into();
                pods.push(json!({
                    "apiVersion": "v1", "kind": "Pod",
                    "metadata": {
                        "name": format!("demo-{plain}-{number}-{}", (started - START) / SECOND),
                        "namespace": "serving", "uid": format!("{plain}-{number}-{started}"),
                        "labels": labels,
                    },
                    "spec": { "containers": [container], "volumes": volumes },
                    "status": {
                        "phase": "Running",
                        "conditions": [{ "type": "Ready", "status": "True" }],
                        "containerStatuses": [{
                            "name": "main", "ready": true, "restartCount": 0,
                            "state": { "running": { "startedAt": time.to_string() } },
                        }],
                    },
                }));
            }
        };
        for (name, service) in spec["services"].as_object().into_iter().flatten() {
            let mut container = service["extraPodSpec"]["mainContainer"].clone();
            if service["envs"].is_array() {
                container["env"] = service["envs"].clone();
            }
            let volumes = &service["extraPodSpec"]["volumes"];
            let (kind, sub) = (&service["componentType"], &service["subComponentType"]);
            add(name, kind, sub, &service["replicas"], &container, volumes);
        }
        for component in spec["components"].as_array().into_iter().flatten() {
            let pod = &component["podTemplate"]["spec"];
            let (kind, sub) = (&component["type"], &component["subType"]);
            let name = component["name"].as_str().unwrap();
            add(name, kind, sub, &component["replicas"], &pod["containers"][0], &pod["volumes"]);
        }
        pods
    }

    /// Returns the frames of a first look at `at`.
    pub(crate) fn frames(&self, at: u64) -> Vec<Frame> {
        let mut frames = vec![seen("DynamoGraphDeployment", KubeChange::Listed, &self.graph, at)];
        frames.extend(self.maps.iter().map(|it| seen("ConfigMap", KubeChange::Listed, it, at)));
        frames.extend(self.pods.iter().map(|it| seen("Pod", KubeChange::Listed, it, at)));
        frames
    }
}

/// Returns services under their names.
fn by_name(parts: Vec<Value>) -> serde_json::Map<String, Value> {
    let named = parts.into_iter().map(|mut part| {
        let name = part["name"].as_str().unwrap().to_owned();
        part.as_object_mut().unwrap().remove("name");
        (name, part)
    });
    named.collect()
}

/// Returns the frame of an object.
pub(crate) fn seen(kind: &str, change: KubeChange, object: &Value, at: u64) -> Frame {
    Frame::new(Timestamp(at), Origin::Kube { kind: kind.into(), change }, object.to_string())
}

fn part(
    beta: bool,
    image: &str,
    (name, kind, sub): (&str, &str, &str),
    replicas: usize,
    (env, made): (&Value, &Value),
) -> Value {
    let mut container =
        json!({ "image": image, "command": made["command"], "volumeMounts": made["mounts"] });
    if made["args"].is_array() {
        container["args"] = made["args"].clone();
    }
    let mut part = json!({ "name": name, "replicas": replicas });
    if beta {
        container["name"] = "main".into();
        if env.is_array() {
            container["env"] = env.clone();
        }
        part["type"] = kind.into();
        if !sub.is_empty() {
            part["subType"] = sub.into();
        }
        let spec = json!({ "containers": [container], "volumes": made["volumes"] });
        part["podTemplate"] = json!({ "spec": spec });
    } else {
        part["componentType"] = kind.into();
        if !sub.is_empty() {
            part["subComponentType"] = sub.into();
        }
        if env.is_array() {
            part["envs"] = env.clone();
        }
        part["extraPodSpec"] = json!({ "mainContainer": container, "volumes": made["volumes"] });
    }
    part
}
