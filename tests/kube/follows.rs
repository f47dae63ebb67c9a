//! What is listed and followed.

use std::collections::BTreeSet;
use std::time::Duration;

use kvtop::domain::{SourceName, SourceState};
use kvtop::frame::KubeChange::{Added, Deleted, Listed, Modified};
use kvtop::source::Desired;
use serde_json::json;

use super::{change, client, watched};
use crate::support::kube_api::FakeKube;

const FRONTEND: &str = "gtc-demo-0-frontend-rmjwp";
const WORKER: &str = "gtc-demo-0-trtllmworker-fhhcl";

#[tokio::test]
async fn the_api_is_reached_with_and_without_tls() {
    for kube in [FakeKube::start(), FakeKube::start_tls()] {
        let client = client(&kube).await;

        assert_eq!(client.version().await.unwrap(), "v1.36.2", "{}", kube.url());
        assert_eq!(&**client.namespace(), "gtc-demo");
    }
}

#[tokio::test]
async fn the_first_lists_show_everything_there_is() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;

    let note = watched.live().await;

    assert_eq!(note.source, SourceName::Kubernetes);
    assert_eq!(&*note.why, "");
    let changes: Vec<_> = watched.seen.iter().filter_map(change).collect();
    assert!(changes.iter().all(|(_, change, ..)| *change == Listed));
    let count = |kind| changes.iter().filter(|change| change.0 == kind).count();
    assert_eq!(count("DynamoGraphDeployment"), 1);
    assert_eq!(count("Pod"), 3);
    assert_eq!(count("DynamoWorkerMetadata"), 3);
    assert!(count("EndpointSlice") > 0);
    // Config maps are watched by name only.
    assert_eq!(count("ConfigMap"), 0);
}

#[tokio::test]
async fn objects_keep_kubernetes_layout_and_lose_what_is_not_needed() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;

    let pod = watched.change("Pod", Listed, WORKER).await;

    assert_eq!(pod["apiVersion"], "v1");
    assert_eq!(pod["kind"], "Pod");
    assert_eq!(pod["metadata"]["labels"]["nvidia.com/dynamo-component"], "TRTLLMWorker");
    assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], "PodClique");
    assert_eq!(pod["spec"]["nodeName"], "gpu-h100-x8-0");
    assert_eq!(pod["spec"]["containers"][0]["args"][4], "--extra-engine-args");
    assert_eq!(pod["spec"]["volumes"][0]["configMap"]["name"], "trtllm-engine-config");
    let from = &pod["spec"]["containers"][0]["envFrom"][0]["secretRef"]["name"];
    assert_eq!(from, "hf-token-secret");
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|it| it["type"] == "Ready"), "{conditions:?}");
    assert!(conditions.iter().all(|it| it["message"].is_null()), "{conditions:?}");
    assert_eq!(pod["status"]["podIP"], "10.244.0.17");
    assert!(pod["status"]["containerStatuses"][0]["imageID"].is_string());
    assert!(pod["metadata"]["managedFields"].is_null());
    assert!(pod["metadata"]["annotations"]["fakelet/port-map"].is_null());
    assert!(pod["spec"]["containers"][0]["livenessProbe"].is_null());
    let card = watched.change("DynamoWorkerMetadata", Listed, WORKER).await;
    assert!(card.to_string().contains("\"kv_cache_block_size\":"), "{card}");
}

#[tokio::test]
async fn pods_that_come_change_and_go_are_told() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;

    kube.object(json!({ "kind": "Pod", "metadata": { "name": "new", "namespace": "gtc-demo" } }));
    watched.change("Pod", Added, "new").await;
    kube.edit("Pod", "new", |pod| pod["status"]["phase"] = "Running".into());
    let pod = watched.change("Pod", Modified, "new").await;
    assert_eq!(pod["status"]["phase"], "Running");
    kube.delete("Pod", "new");
    watched.change("Pod", Deleted, "new").await;

    // A heartbeat of a condition is no change.
    kube.edit("Pod", FRONTEND, |pod| pod["status"]["conditions"][0]["lastProbeTime"] = "x".into());
    let frames = watched.during(Duration::from_millis(200)).await;
    assert!(frames.iter().all(|frame| change(frame).is_none()));
}

#[tokio::test]
async fn an_object_that_loses_its_label_is_gone() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;
    let listed = watched.seen.iter().filter_map(change);
    let slice = listed.filter(|it| it.0 == "EndpointSlice").map(|it| it.2).next().unwrap();

    kube.edit("EndpointSlice", &slice, |it| {
        it["metadata"]["labels"]["nvidia.com/dynamo-discovery-enabled"] = "false".into();
    });

    watched.change("EndpointSlice", Deleted, &slice).await;
    kube.edit("EndpointSlice", &slice, |it| {
        it["metadata"]["labels"]["nvidia.com/dynamo-discovery-enabled"] = "true".into();
    });
    watched.change("EndpointSlice", Added, &slice).await;
}

#[tokio::test]
async fn config_maps_are_watched_by_name() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;
    let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect::<BTreeSet<_>>();

    watched.handle.config_maps.send(names(&["trtllm-engine-config"])).unwrap();
    let map = watched.change("ConfigMap", Listed, "trtllm-engine-config").await;
    assert!(map["data"].to_string().contains("tokens_per_block"), "{map}");

    kube.edit("ConfigMap", "trtllm-engine-config", |map| map["data"]["agg.yaml"] = "x: 1".into());
    watched.change("ConfigMap", Modified, "trtllm-engine-config").await;

    watched.handle.config_maps.send(names(&[])).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    kube.edit("ConfigMap", "trtllm-engine-config", |map| map["data"]["agg.yaml"] = "x: 2".into());
    let frames = watched.during(Duration::from_millis(200)).await;
    assert!(frames.iter().all(|frame| change(frame).is_none()));
}

#[tokio::test]
async fn graphs_are_read_in_the_preferred_version() {
    let kube = FakeKube::start();
    kube.serve_v1beta1();
    kube.object(graph_of_v1beta1());
    let mut watched = watched(&kube).await;

    let graph = watched.change("DynamoGraphDeployment", Listed, "trtllm-agg-router").await;

    assert_eq!(graph["apiVersion"], "nvidia.com/v1beta1");
    assert!(graph["spec"]["components"].is_array(), "{graph}");
    let asked = kube.requests();
    assert!(asked.iter().any(|it| it.path.contains("v1beta1/namespaces")));
    assert!(!asked.iter().any(|it| it.path.contains("v1alpha1/namespaces/gtc-demo/dynamographs")));
}

fn graph_of_v1beta1() -> serde_json::Value {
    let path = crate::support::fixture("kube/new-crds/dgd_list_v1beta1.body.json");
    let list: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut graph = list["items"][0].clone();
    graph["kind"] = "DynamoGraphDeployment".into();
    graph["apiVersion"] = "nvidia.com/v1beta1".into();
    graph["metadata"]["namespace"] = "gtc-demo".into();
    graph
}

#[tokio::test]
async fn while_suspended_nothing_is_open_and_after_it_everything_is_told() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;

    watched.want(Desired::Suspended);
    watched.note("suspended", |note| note.state == SourceState::Suspended).await;
    for _ in 0..100 {
        if kube.open_streams() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(kube.open_streams(), 0);
    kube.delete("Pod", WORKER);
    watched.want(Desired::Running);

    watched.change("Pod", Deleted, WORKER).await;
    watched.want(Desired::Stopped);
    watched.note("ended", |note| note.state == SourceState::Ended).await;
}

#[tokio::test]
async fn a_namespace_without_dynamo_says_where_there_is_one() {
    let kube = FakeKube::start();
    kube.load("dgd/get_gtc-vllm");
    let mut watched = watched(&kube).await;

    let note = watched.note("advice", |note| note.why.contains("no Dynamo deployment")).await;

    assert_eq!(note.state, SourceState::Live);
    assert_eq!(
        &*note.why,
        "no Dynamo deployment in namespace gtc-demo; there is one in gtc-vllm: use -n"
    );
    kube.load("dgd/list");
    watched.note("no advice", |note| note.why.is_empty()).await;
}
