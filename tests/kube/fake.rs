//! The fake API's logs and port-forwards, through the client that kvtop uses.

use futures_util::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, LogParams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::client;
use crate::support::kube_api::{FakeKube, LogState};

const POD: &str = "gtc-demo-0-frontend-rmjwp";

async fn pods(kube: &FakeKube) -> Api<Pod> {
    let client = client(kube).await;
    Api::namespaced(client.client(), client.namespace())
}

#[tokio::test]
async fn a_log_is_followed_across_the_lines_that_a_test_adds() {
    let kube = FakeKube::demo();
    kube.log_line(POD, "main", "first");
    let options = LogParams { follow: true, timestamps: true, ..LogParams::default() };

    let mut lines = pods(&kube).await.log_stream(POD, &options).await.unwrap().lines();

    assert!(lines.try_next().await.unwrap().unwrap().ends_with("Z first"));
    kube.log_line(POD, "main", "second");
    assert!(lines.try_next().await.unwrap().unwrap().ends_with("Z second"));
    kube.end_streams();
    assert_eq!(lines.try_next().await.unwrap(), None);
}

#[tokio::test]
async fn a_cut_log_is_no_proper_end() {
    let kube = FakeKube::demo();
    kube.log_line(POD, "main", "first");
    let options = LogParams { follow: true, ..LogParams::default() };
    let mut lines = pods(&kube).await.log_stream(POD, &options).await.unwrap().lines();
    lines.try_next().await.unwrap();

    kube.cut_streams();

    assert!(lines.try_next().await.is_err());
}

#[tokio::test]
async fn a_waiting_container_has_no_log_yet() {
    let kube = FakeKube::demo();
    kube.log_state(POD, "main", LogState::Waiting);

    let error = pods(&kube).await.logs(POD, &LogParams::default()).await.unwrap_err();

    assert!(error.to_string().contains("is waiting to start"), "{error}");
}

#[tokio::test]
async fn a_port_forward_reaches_the_address_that_a_test_names() {
    for kube in [FakeKube::start(), FakeKube::start_tls()] {
        kube.load("pods/list_gtc-demo");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        kube.forward(POD, 8000, listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(b"pong").await.unwrap();
            stream.read_exact(&mut bytes).await.unwrap();
        });

        let mut forward = pods(&kube).await.portforward(POD, &[8000]).await.unwrap();
        let mut stream = forward.take_stream(8000).unwrap();
        stream.write_all(b"ping").await.unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"pong");

        kube.cut_forwards();
        assert!(matches!(stream.read(&mut answer).await, Ok(0) | Err(_)));
    }
}

#[tokio::test]
async fn a_port_forward_without_the_right_is_refused() {
    let kube = FakeKube::demo();
    kube.deny("create", "pods/portforward");

    let refused = pods(&kube).await.portforward(POD, &[8000]).await.err().unwrap();

    assert!(refused.to_string().contains("forbidden"), "{refused}");
}
