//! The names of the simulated cluster, as Dynamo derives them.

use crate::wire::encode::Family;

/// Kubernetes namespace.
pub(super) const KUBE_NAMESPACE: &str = "gtc-demo";
/// Dynamo namespace: that of Kubernetes and the name of the graph deployment.
pub(super) const NAMESPACE: &str = "gtc-demo-gtc-demo";
/// The model.
pub(super) const MODEL: &str = "Qwen/Qwen3-0.6B";
/// The frontend's pod.
pub(super) const FRONTEND: &str = "gtc-demo-0-frontend-rmjwp";
/// The frontend's pod before it was restarted.
pub(super) const OLD_FRONTEND: &str = "gtc-demo-0-frontend-w8z4c";
/// The stream of KV events.
pub(super) const STREAM: &str = "namespace-gtc-demo-gtc-demo-component-tensorrt-llm-kv-events";

/// Returns the component of the workers (ai-dynamo 1.2.1 and 1.3.1, `trtllm/args.py`).
pub(super) fn component(family: Family) -> &'static str {
    if family >= Family::V1_3 { "backend" } else { "tensorrt_llm" }
}

/// Returns what a topic is published under: its scope, as a subject.
pub(super) fn scope(family: Family, topic: &str) -> String {
    let component = component(family);
    if family.scopes_by_endpoint() {
        format!("namespace.{NAMESPACE}.component.{component}.endpoint.generate")
    } else if matches!(topic, "kv_metrics" | "kv-hit-rate") {
        format!("namespace.{NAMESPACE}")
    } else {
        format!("namespace.{NAMESPACE}.component.{component}")
    }
}

/// Returns the id under which process `instance` publishes `topic`: its own up to 1.2, a random one
/// from 1.3 that fits a JSON number from 1.4.
pub(super) fn publisher_id(family: Family, instance: u64, dp_rank: u32, topic: &str) -> u64 {
    if family < Family::V1_3 {
        return instance;
    }
    let stream = topic.bytes().fold(u64::from(dp_rank), |sum, byte| sum * 31 + u64::from(byte));
    let random = super::rng::Rng::new(instance, stream).next();
    if family >= Family::V1_4 { random & 0x001f_ffff_ffff_ffff } else { random }
}
