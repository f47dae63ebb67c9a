//! The Kubernetes source against a fake API that answers as a real one was recorded to.

use kvtop::source::kube::{KubeClient, KubeOptions, connect};

use crate::support::kube_api::FakeKube;

/// Returns a client of `kube`, with the kubeconfig of the tests.
async fn client(kube: &FakeKube) -> KubeClient {
    let options = KubeOptions { kubeconfig: Some(kube.kubeconfig()), ..KubeOptions::default() };
    connect(options).await.unwrap()
}

#[tokio::test]
async fn the_api_is_reached_with_and_without_tls() {
    for kube in [FakeKube::start(), FakeKube::start_tls()] {
        let client = client(&kube).await;

        assert_eq!(client.version().await.unwrap(), "v1.36.2", "{}", kube.url());
    }
}

#[tokio::test]
async fn lists_are_the_recorded_ones() {
    let kube = FakeKube::demo();

    let list =
        client(&kube).await.get_json("/api/v1/namespaces/gtc-demo/pods?limit=2").await.unwrap();

    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert!(list["metadata"]["continue"].is_string(), "{}", list["metadata"]);
}
