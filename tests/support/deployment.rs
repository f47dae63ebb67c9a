//! The recorded deployment `gtc-demo` behind a fake Kubernetes API, with a real NATS server and
//! metrics endpoints that only a port-forward leads to.

use super::endpoint::{Endpoint, Manners};
use super::kube_api::FakeKube;
use super::nats_server::NatsServer;
use crate::nats::{Published, Publisher, recording};

/// The pod of the NATS server.
pub(crate) const NATS_POD: &str = "dynamo-platform-nats-0";

/// The pods, and where they serve metrics.
pub(crate) const FRONTEND: (&str, u16) = ("gtc-demo-0-frontend-rmjwp", 8000);
pub(crate) const WORKERS: [(&str, u16); 2] =
    [("gtc-demo-0-trtllmworker-fhhcl", 9090), ("gtc-demo-0-trtllmworker-mj7km", 9090)];

/// The Dynamo namespace of the recorded events.
const NAMESPACE: &str = "dynamo";

/// The workers of the recorded events, and those in the pods above.
const IDS: [(u64, u64); 2] = [
    (690_636_218_412_154_889, 7_702_713_015_953_616),
    (690_636_218_412_154_911, 4_467_334_888_485_367),
];

/// What an engine of the two says of its cache, in the names of TensorRT-LLM.
const ENGINES: [&str; 2] = [
    "trtllm_kv_cache_utilization 0.42\ntrtllm_kv_cache_hit_rate 0.5\n",
    "trtllm_kv_cache_utilization 0.17\ntrtllm_kv_cache_hit_rate 0.25\n",
];

/// What a recorded frontend says.
const ROUTER: &str = "dynamo_frontend_model_kv_cache_block_size{model=\"m\"} 16\n\
                      dynamo_frontend_time_to_first_token_seconds_sum{model=\"m\"} 0.18157403\n\
                      dynamo_frontend_time_to_first_token_seconds_count{model=\"m\"} 30\n";

pub(crate) struct Deployment {
    pub(crate) kube: FakeKube,
    pub(crate) server: NatsServer,
    pub(crate) frontend: Endpoint,
    pub(crate) engines: [Endpoint; 2],
}

impl Deployment {
    pub(crate) fn start() -> Self {
        Self::with(NatsServer::with_jetstream())
    }

    /// Starts one whose events go over `server`.
    pub(crate) fn with(server: NatsServer) -> Self {
        let it = Self::as_recorded(server);
        // The recorded events are of another namespace than the recorded objects.
        for (pod, _) in [&FRONTEND].into_iter().chain(&WORKERS) {
            it.kube.edit("DynamoWorkerMetadata", pod, |record| {
                let text = record.to_string().replace("gtc-demo-gtc-demo", NAMESPACE);
                *record = serde_json::from_str(&text).unwrap();
            });
        }
        it
    }

    /// Starts one whose records and events are of two Dynamo namespaces.
    pub(crate) fn as_recorded(server: NatsServer) -> Self {
        let frontend = Endpoint::start(Manners::Text(ROUTER));
        let engines = ENGINES.map(|text| Endpoint::start(Manners::Text(text)));
        let kube = crate::forward::platform();
        kube.forward(NATS_POD, 4222, server.host().parse().unwrap());
        kube.forward(FRONTEND.0, FRONTEND.1, frontend.address);
        for ((pod, port), endpoint) in WORKERS.iter().zip(&engines) {
            kube.forward(pod, *port, endpoint.address);
        }
        for (pod, _) in WORKERS.iter().chain([&FRONTEND]) {
            // What the recorded addresses lead to on this machine is not known; here nobody listens.
            kube.edit("Pod", pod, |pod| pod["status"]["podIP"] = "127.9.9.9".into());
        }
        Self { kube, server, frontend, engines }
    }

    /// Returns the arguments that name it, and nothing but that.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let config = self.kube.kubeconfig().display().to_string();
        ["-n", "gtc-demo", "--kubeconfig", &config, "--dynamo-namespace", NAMESPACE]
            .map(str::to_owned)
            .to_vec()
    }

    /// Makes the streams and publishes `messages`.
    pub(crate) async fn publish(&self, messages: &[Published]) {
        let publisher = Publisher::to(&self.server.url()).await;
        publisher.make_streams(messages).await;
        publisher.publish(messages).await;
    }
}

/// Returns recorded messages as the workers of the deployment would have published them.
pub(crate) fn messages() -> Vec<Published> {
    let moved = |(subject, mut payload): Published| {
        for (old, new) in IDS {
            let old_text = old.to_string();
            payload = replaced(&payload, old_text.as_bytes(), new.to_string().as_bytes());
            payload = replaced(&payload, &old.to_be_bytes(), &new.to_be_bytes());
        }
        (subject, payload)
    };
    recording("0.9.0-healthy").into_iter().map(moved).collect()
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(old) {
            out.extend_from_slice(new);
            at += old.len();
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}
