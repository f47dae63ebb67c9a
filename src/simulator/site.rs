//! A simulated cluster's site: its names, and the way its processes are started and found.

use crate::dynamo::plane;
use crate::wire::encode::Family;

/// The way processes are started and find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Workers run `python3 -m dynamo.trtllm` and register in etcd.
    Etcd,
    /// The operator starts pods through Grove, a shell starts the workers, and processes register in
    /// `DynamoWorkerMetadata` objects.
    Grove,
}

/// The place of the engines' settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineSettings {
    /// In the argument of `--override-engine-args`.
    Override,
    /// In a `ConfigMap` that `--extra-engine-args` names.
    ConfigMap,
}

/// The names of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Kubernetes namespace of the pods.
    pub kube_namespace: &'static str,
    /// Dynamo namespace.
    pub namespace: &'static str,
    /// Graph deployment.
    pub deployment: &'static str,
    /// Model that is served.
    pub model: &'static str,
    /// The way processes are started and found.
    pub platform: Platform,
    /// The place of the engines' settings.
    pub settings: EngineSettings,
}

impl Site {
    /// The cluster of a recording, whose pods have known names.
    pub const RECORDED: Self = Self {
        kube_namespace: "gtc-demo",
        namespace: "gtc-demo-gtc-demo",
        deployment: "gtc-demo",
        model: "Qwen/Qwen3-0.6B",
        platform: Platform::Etcd,
        settings: EngineSettings::Override,
    };

    /// A deployment with Grove whose Kubernetes namespace has another name than the deployment.
    pub const GTC_DEMO: Self = Self {
        kube_namespace: "dynamo-workload",
        namespace: "gtc-demo",
        deployment: "gtc-demo",
        model: "nvidia/Llama-3.1-70B-Instruct-FP8",
        platform: Platform::Grove,
        settings: EngineSettings::Override,
    };

    /// Returns true when Grove runs the pods.
    pub(super) fn has_grove(&self) -> bool {
        self.platform == Platform::Grove
    }

    /// Returns what a topic is published under: its scope, as a subject.
    pub(super) fn scope(&self, family: Family, topic: &str) -> String {
        let (namespace, component) = (self.namespace, super::names::component(family));
        if family.scopes_by_endpoint() {
            format!("namespace.{namespace}.component.{component}.endpoint.generate")
        } else if matches!(topic, plane::LOAD | plane::HIT_RATE) {
            format!("namespace.{namespace}")
        } else {
            format!("namespace.{namespace}.component.{component}")
        }
    }

    /// Returns the name of the `JetStream` stream of KV events on 0.9.
    pub(super) fn stream(&self) -> String {
        [
            plane::STREAM_START,
            self.namespace,
            plane::STREAM_COMPONENT,
            "tensorrt-llm",
            plane::STREAM_END,
        ]
        .concat()
    }

    /// Returns the name of the model in file names and keys.
    pub(super) fn slug(&self) -> String {
        self.model.to_lowercase().replace(['/', '.'], "_")
    }

    /// Returns the name of the pod of the worker in `place`, as first created or after `rolls` rolls.
    ///
    /// The first names are those of a cluster whose ids are known; the others follow Kubernetes'
    /// alphabet for random suffixes.
    pub(super) fn worker_pod(&self, place: usize, rolls: usize) -> String {
        const FIRST: [[&str; 2]; 2] = [["fhhcl", "mj7km"], ["x7k2p", "q9d4m"]];
        let known = FIRST.get(rolls).and_then(|names| names.get(place));
        let suffix = known.map_or_else(|| suffix(place, 100 + rolls), ToString::to_string);
        format!("{}-0-trtllmworker-{suffix}", self.deployment)
    }

    /// Returns the name of the frontend's pod after `restarts` restarts.
    pub(super) fn frontend_pod(&self, restarts: usize) -> String {
        const FIRST: [&str; 2] = ["w8z4c", "rmjwp"];
        let known = FIRST.get(restarts).map(ToString::to_string);
        let suffix = known.unwrap_or_else(|| suffix(restarts, 50));
        format!("{}-0-frontend-{suffix}", self.deployment)
    }
}

fn suffix(place: usize, stream: usize) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rng = super::rng::Rng::new(place as u64, stream as u64);
    (0..5).map(|_| char::from(ALPHABET[rng.index(ALPHABET.len())])).collect()
}

#[cfg(test)]
mod tests {
    use super::Site;

    #[test]
    fn a_restarted_pod_has_a_new_name() {
        let site = Site::RECORDED;
        assert_eq!(site.worker_pod(0, 0), "gtc-demo-0-trtllmworker-fhhcl");
        assert_eq!(site.worker_pod(1, 1), "gtc-demo-0-trtllmworker-q9d4m");
        assert_eq!(site.worker_pod(5, 2).len(), site.worker_pod(0, 0).len());
        assert_ne!(site.worker_pod(5, 2), site.worker_pod(5, 3));
        assert_ne!(site.frontend_pod(2), site.frontend_pod(3));
    }

    #[test]
    fn the_recorded_names_are_kept() {
        assert_eq!(
            Site::RECORDED.stream(),
            "namespace-gtc-demo-gtc-demo-component-tensorrt-llm-kv-events"
        );
        assert_eq!(Site::RECORDED.slug(), "qwen_qwen3-0_6b");
    }
}
