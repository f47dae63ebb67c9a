//! Pods, as Kubernetes shows them: trimmed to what matters, as a source would have trimmed them.

use serde_json::{Value, json};

use super::config::WorkerConfig;
use super::names::{KUBE_NAMESPACE, MODEL, NAMESPACE};
use crate::wire::encode::Family;

/// The graph deployment that the pods belong to.
const DEPLOYMENT: &str = "gtc-demo";

/// Returns the pod of a worker on node `node`.
pub(super) fn worker(family: Family, name: &str, config: &WorkerConfig, node: usize) -> String {
    let engine = json!({ "kv_cache_config": { "tokens_per_block": config.engine } }).to_string();
    let mut args = vec!["--model-path", MODEL, "--override-engine-args", &engine];
    let size = config.publisher.to_string();
    // One flag sets publisher and card; where they differ, something else has set the card.
    if config.card == config.publisher {
        args.extend(["--kv-block-size", &size]);
    }
    if config.publishes {
        args.push("--publish-events-and-metrics");
    }
    let env = json!([
        { "name": "DYN_NAMESPACE", "value": NAMESPACE },
        { "name": "DYN_SYSTEM_PORT", "value": "9090" },
    ]);
    let command = json!(["python3", "-m", "dynamo.trtllm"]);
    let pod = Pod { name, component: "TrtllmWorker", kind: "worker", node };
    pod.json(family, &command, &json!(args), &env)
}

/// Returns the pod of a frontend whose settings declare `card` tokens per block.
pub(super) fn frontend(family: Family, name: &str, card: u32) -> String {
    let env = json!([
        { "name": "DYN_NAMESPACE", "value": NAMESPACE },
        { "name": "DYN_ROUTER_MODE", "value": "kv" },
        { "name": "DYN_KV_CACHE_BLOCK_SIZE", "value": card.to_string() },
    ]);
    let command = json!(["python3", "-m", "dynamo.frontend"]);
    let pod = Pod { name, component: "Frontend", kind: "frontend", node: 0 };
    pod.json(family, &command, &json!([]), &env)
}

/// What pods differ in.
struct Pod<'a> {
    name: &'a str,
    component: &'a str,
    kind: &'a str,
    node: usize,
}

impl Pod<'_> {
    fn json(&self, family: Family, command: &Value, args: &Value, env: &Value) -> String {
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.name,
                "namespace": KUBE_NAMESPACE,
                "labels": {
                    "nvidia.com/dynamo-component": self.component,
                    "nvidia.com/dynamo-component-type": self.kind,
                    "nvidia.com/dynamo-graph-deployment-name": DEPLOYMENT,
                    "nvidia.com/dynamo-namespace": NAMESPACE,
                },
            },
            "spec": {
                "nodeName": format!("gpu-{}", self.node),
                "containers": [{
                    "name": "main",
                    "image": format!(
                        "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:{}.0",
                        family.name()
                    ),
                    "command": command,
                    "args": args,
                    "env": env,
                }],
            },
            "status": { "phase": "Running", "conditions": ready },
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

        let pod = worker(Family::V0_9, "w", &config, 1);

        assert!(pod.contains(r#"{\"kv_cache_config\":{\"tokens_per_block\":16}}"#), "{pod}");
        assert!(pod.contains(r#""--kv-block-size","32""#), "{pod}");
        assert!(pod.contains("tensorrtllm-runtime:0.9.0"), "{pod}");
    }
}
