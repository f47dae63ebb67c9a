//! Nothing but reading, and no secrets.

use std::collections::BTreeSet;
use std::time::Duration;

use kvtop::frame::KubeChange::Listed;
use kvtop::source::kube::{KubeOptions, connect};
use serde_json::json;

use super::{bytes, watched};
use crate::support::kube_api::{FakeKube, TOKEN};

const PLANTED: &str = "PLANTED-do-not-show";

fn pod_with_secrets() -> serde_json::Value {
    let env = json!([
        { "name": "HF_TOKEN", "value": PLANTED },
        { "name": "NATS_AUTH_PASSWORD", "value": PLANTED },
        { "name": "NATS_SERVER", "value": format!("nats://user:{PLANTED}@nats:4222") },
        { "name": "TOKENIZERS_PARALLELISM", "value": "false" },
    ]);
    let script = format!("export API_KEY={PLANTED}\npython3 -m x --api-key {PLANTED} --port 1");
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {
            "name": "secretive", "namespace": "gtc-demo",
            "annotations": { "kubectl.kubernetes.io/last-applied-configuration": PLANTED },
            "managedFields": [{ "manager": PLANTED }],
        },
        "spec": { "containers": [{
            "name": "main", "env": env,
            "args": ["--api-key", PLANTED, format!("--nats-token={PLANTED}"), "-c", script],
            "livenessProbe": { "httpGet": { "httpHeaders": [
                { "name": "Authorization", "value": PLANTED },
            ] } },
        }] },
    })
}

fn map_with_secrets() -> serde_json::Value {
    let yaml =
        format!("tokens_per_block: 32\napi_key: {PLANTED}\nurl: nats://u:{PLANTED}@n:4222\n");
    json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": { "name": "config", "namespace": "gtc-demo" },
        "data": { "agg.yaml": yaml, "HF_TOKEN": PLANTED },
        "binaryData": { "x": PLANTED },
    })
}

#[tokio::test]
async fn planted_secrets_are_in_no_frame() {
    let kube = FakeKube::demo();
    kube.object(pod_with_secrets()).object(map_with_secrets());
    kube.edit("DynamoGraphDeployment", "gtc-demo", |graph| {
        graph["spec"]["envs"] = json!([{ "name": "AWS_SECRET_ACCESS_KEY", "value": PLANTED }]);
    });
    let mut watched = watched(&kube).await;
    watched.handle.config_maps.send(BTreeSet::from(["config".into()])).unwrap();

    let pod = watched.change("Pod", Listed, "secretive").await;
    let map = watched.change("ConfigMap", Listed, "config").await;
    watched.during(Duration::from_millis(200)).await;

    for frame in &watched.seen {
        let text = String::from_utf8_lossy(bytes(frame));
        assert!(!text.contains(PLANTED) && !text.contains(TOKEN), "{text}");
    }
    let env = &pod["spec"]["containers"][0]["env"];
    assert_eq!(env[0]["value"], "(redacted)");
    assert_eq!(env[2]["value"], "nats://(redacted)@nats:4222");
    assert_eq!(env[3]["value"], "false");
    assert!(map["data"]["agg.yaml"].as_str().unwrap().contains("\"tokens_per_block\":32"));
}

#[tokio::test]
async fn only_reads_are_sent_and_never_of_secrets() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;
    watched.handle.config_maps.send(BTreeSet::from(["trtllm-engine-config".into()])).unwrap();
    watched.change("ConfigMap", Listed, "trtllm-engine-config").await;
    kube.deny("list", "pods").restart();
    watched.note("needs", |note| note.why.contains("needs list on pods")).await;

    let asked = kube.requests();
    assert!(asked.iter().all(|it| it.method == "GET"), "{asked:?}");
    let paths: BTreeSet<&str> = asked.iter().map(|it| it.path.as_str()).collect();
    let expected = [
        "/api/v1/namespaces/gtc-demo/configmaps",
        "/api/v1/namespaces/gtc-demo/pods",
        "/apis/discovery.k8s.io/v1/namespaces/gtc-demo/endpointslices",
        "/apis/nvidia.com",
        "/apis/nvidia.com/v1alpha1",
        "/apis/nvidia.com/v1alpha1/namespaces/gtc-demo/dynamographdeployments",
        "/apis/nvidia.com/v1alpha1/namespaces/gtc-demo/dynamoworkermetadatas",
        "/version",
    ];
    assert_eq!(paths, expected.into_iter().collect());
    // Config maps only one by one: a namespace may hold many, and none are ours.
    let maps = asked.iter().filter(|it| it.path.ends_with("/configmaps"));
    assert!(maps.clone().all(|it| it.query.contains("metadata.name%3Dtrtllm-engine-config")));
}

#[tokio::test]
async fn another_user_is_impersonated_on_request() {
    let kube = FakeKube::start();
    let options = KubeOptions {
        kubeconfig: Some(kube.kubeconfig()),
        as_user: Some("someone".to_owned()),
        ..KubeOptions::default()
    };

    connect(options).await.unwrap().version().await.unwrap();

    assert_eq!(kube.requests()[0].user, "someone");
}

#[tokio::test]
async fn recorded_objects_hold_nothing_that_looks_like_a_secret() {
    let lists = ["pods/list_gtc-vllm", "pods/list_dynamo-system", "dgd/get_gtc-vllm"];
    let real = ["dwm-real-0.9.0/list", "dwm-real-1.6.1/list", "endpointslices/list_gtc-vllm"];
    for recorded in lists.into_iter().chain(real) {
        let kube = FakeKube::demo();
        for mut object in crate::support::kube_api::recorded_objects(recorded) {
            object["metadata"]["namespace"] = "gtc-demo".into();
            kube.object(object);
        }
        let mut watched = watched(&kube).await;
        watched.live().await;

        for frame in &watched.seen {
            let mut object: serde_json::Value =
                serde_json::from_slice(bytes(frame)).unwrap_or_default();
            // Values of variables that nobody reads are left out, whatever they are.
            for container in object["spec"]["containers"].as_array_mut().into_iter().flatten() {
                container["env"].take();
            }
            assert!(!object.to_string().contains("(redacted)"), "{recorded}: {object}");
        }
    }
}
