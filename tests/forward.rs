//! Port-forwards through a fake API, to endpoints of all manners.

mod rights;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use kvtop::domain::{SourceName, SourceState};
use kvtop::source::forward::{Destination, Forward, Forwarder, PodPort, destination};
use kvtop::source::metrics::{MetricsLimits, ScrapeTarget, spawn_with};
use kvtop::source::reach::{self, Reach};
use kvtop::source::{Desired, SourceHandle};
use serde_json::json;
use tokio::sync::watch;

use crate::support::endpoint::{Endpoint, Manners};
use crate::support::frames::{Delivered, name};
use crate::support::kube_api::FakeKube;

const SERVICE: &str = "dynamo-platform-nats.dynamo-system.svc.cluster.local";
const POD: &str = "dynamo-platform-nats-0";

/// Returns an API with the service, the slice and the pod of the NATS of a Dynamo platform.
pub(crate) fn platform() -> FakeKube {
    let kube = FakeKube::demo();
    for recorded in ["services/get_nats", "endpointslices/list_nats", "pods/list_dynamo-system"] {
        kube.load(recorded);
    }
    kube
}

/// A forwarder under test.
pub(crate) struct Forwarding {
    pub(crate) forwarder: Forwarder,
    handle: SourceHandle,
    delivered: Delivered,
}

pub(crate) async fn forward(kube: &FakeKube) -> Forwarding {
    let (emitter, delivered) = Delivered::with_room(1_000);
    let (forwarder, handle) = Forwarder::spawn(kube.client().await, emitter);
    Forwarding { forwarder, handle, delivered }
}

fn nats() -> Destination {
    destination(SERVICE, 4222, "gtc-demo").unwrap()
}

fn pod(name: &str) -> PodPort {
    PodPort { namespace: "dynamo-system".into(), pod: name.into(), port: 4222 }
}

async fn until_open(forwarder: &Forwarder, count: usize) -> Vec<Forward> {
    let mut shown = forwarder.forwards();
    let open = shown.wait_for(|open| open.len() == count);
    tokio::time::timeout(Duration::from_secs(10), open).await.unwrap().unwrap().clone()
}

/// Asks for `/metrics` at `local`, on a thread that may block.
async fn get(local: std::net::SocketAddr) -> String {
    let asked = tokio::task::spawn_blocking(move || {
        let mut client = TcpStream::connect(local).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        drop(client.read_to_string(&mut answer));
        answer
    });
    asked.await.unwrap()
}

#[tokio::test]
async fn a_port_of_the_loopback_leads_to_a_ready_pod_of_the_service_and_is_listed_while_open() {
    let kube = platform();
    let endpoint = Endpoint::start(Manners::Closing("hello\n"));
    kube.forward(POD, 4222, endpoint.address);
    let mut it = forward(&kube).await;

    let listening = it.forwarder.listen(nats()).await.unwrap();
    assert!(listening.local.ip().is_loopback());
    assert_eq!(listening.pod, pod(POD));
    let open = until_open(&it.forwarder, 1).await;
    assert_eq!(open, [Forward { pod: pod(POD), local: Some(listening.local) }]);
    let note = it.delivered.until_noted(&format!("{POD}:4222 on {}", listening.local)).await;
    assert_eq!((&note.source, note.state), (&SourceName::PortForward, SourceState::Live));

    assert!(get(listening.local).await.ends_with("hello\n"));

    until_open(&it.forwarder, 0).await;
    it.delivered.until_noted("nothing is open").await;
    let again = it.forwarder.listen(nats()).await.unwrap();
    assert_eq!(again, listening, "the same destination keeps its port");
    assert!(kube.requests().iter().all(|it| it.method == "GET"));
}

#[tokio::test]
async fn an_address_leads_to_the_pod_that_has_it_where_that_may_be_looked_up() {
    let kube = platform();
    let endpoint = Endpoint::start(Manners::Closing("hello\n"));
    kube.forward(POD, 4222, endpoint.address);
    kube.edit("Pod", POD, |pod| pod["status"]["podIP"] = "10.1.2.3".into());
    let it = forward(&kube).await;
    let to = |ip: &str| destination(ip, 4222, "gtc-demo").unwrap();

    let listening = it.forwarder.listen(to("10.1.2.3")).await.unwrap();
    assert_eq!(listening.pod, pod(POD));
    assert!(get(listening.local).await.ends_with("hello\n"));
    let error = it.forwarder.listen(to("10.1.2.4")).await.unwrap_err();
    assert_eq!(error.to_string(), "no running pod has the address 10.1.2.4");

    // Only the namespace of the deployment may be listed, as with the printed Role.
    kube.answer("/api/v1/pods?", "errors/403_namespaces");
    let error = it.forwarder.listen(to("10.1.2.3")).await.unwrap_err();
    assert!(error.to_string().contains("no pod in namespace `gtc-demo` has address 10.1.2.3"));
}

#[tokio::test]
async fn the_next_connection_goes_to_another_pod_when_the_first_is_gone() {
    let kube = platform();
    let (old, new) =
        (Endpoint::start(Manners::Closing("old")), Endpoint::start(Manners::Closing("new")));
    kube.forward(POD, 4222, old.address).forward("another-0", 4222, new.address);
    let it = forward(&kube).await;
    let listening = it.forwarder.listen(nats()).await.unwrap();
    assert!(get(listening.local).await.ends_with("old"));

    kube.delete("Pod", POD);
    kube.object(json!({"kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "another-0", "namespace": "dynamo-system"}}));
    kube.edit("EndpointSlice", "dynamo-platform-nats-zmcg8", |slice| {
        slice["endpoints"][0]["targetRef"]["name"] = "another-0".into();
    });

    assert!(get(listening.local).await.ends_with("new"));
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_cut_off_before_the_server_waits_for_it() {
    let kube = platform();
    let endpoint = Endpoint::start(Manners::Endless);
    kube.forward(POD, 4222, endpoint.address);
    let mut it = forward(&kube).await;
    let listening = it.forwarder.listen(nats()).await.unwrap();
    let mut client = TcpStream::connect(listening.local).unwrap();

    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();

    it.delivered.until_noted("cut off: nothing was taken for 0.5 s").await;
    until_open(&it.forwarder, 0).await;
    it.delivered
        .until("expected it to be counted", |it| {
            it.notes.last().is_some_and(|note| note.interruptions == 1)
        })
        .await;
}

#[tokio::test]
async fn metrics_come_through_a_forward_that_is_kept_when_they_cannot_be_reached_directly() {
    let kube = FakeKube::demo();
    let endpoint = Endpoint::start(Manners::Text("a 1\n"));
    let worker = "gtc-demo-0-trtllmworker-fhhcl";
    kube.forward(worker, 9090, endpoint.address);
    let it = forward(&kube).await;
    let (emitter, mut delivered) = Delivered::with_room(1_000);
    let target = ScrapeTarget {
        namespace: name("gtc-demo"),
        pod: name(worker),
        // Nothing answers on this address of the loopback.
        ip: name("127.99.99.99"),
        port: 9090,
        path: name("/metrics"),
    };
    let limits = MetricsLimits { period: Duration::from_millis(100), ..MetricsLimits::default() };
    let (_targets, list) = watch::channel(vec![target]);
    let _handle = spawn_with(
        Reach::new(Some(it.forwarder.clone()), "gtc-demo".into()),
        emitter,
        list,
        limits,
    );

    delivered.until("expected scrapes", |it| it.scrapes(worker).len() >= 5).await;
    assert_eq!(until_open(&it.forwarder, 1).await[0].local, None);
    kube.cut_forwards();
    let before = delivered.scrapes(worker).len();
    delivered.until("expected it to heal", |it| it.scrapes(worker).len() >= before + 5).await;

    assert_eq!(endpoint.connections(), 2);
    let asked = kube.requests();
    let path = format!("/api/v1/namespaces/gtc-demo/pods/{worker}/portforward");
    assert!(asked.iter().all(|it| it.method == "GET" && it.path == path), "{asked:#?}");
}

#[tokio::test]
async fn a_port_on_which_nothing_listens_and_a_service_without_pods_are_explained() {
    let kube = platform();
    let mut it = forward(&kube).await;
    let error = it.forwarder.listen(nats()).await.unwrap_err().to_string();
    assert_eq!(error, format!("nothing listens on port 4222 of pod {POD}"));

    kube.edit("EndpointSlice", "dynamo-platform-nats-zmcg8", |slice| {
        slice["endpoints"][0]["conditions"]["ready"] = false.into();
    });
    let error = it.forwarder.listen(nats()).await.unwrap_err().to_string();
    let expected = "service `dynamo-platform-nats` in namespace `dynamo-system` has no ready pod for port 4222";
    assert_eq!(error, expected);
    let note = it.delivered.until_noted(expected).await;
    assert_eq!(note.state, SourceState::Down);

    let missing = destination("nope", 4222, "dynamo-system").unwrap();
    let error = it.forwarder.listen(missing).await.unwrap_err().to_string();
    assert_eq!(error, "there is no service `nope` in namespace `dynamo-system`");
}

#[tokio::test]
async fn nothing_is_open_while_suspended_and_the_port_stays() {
    let kube = platform();
    let endpoint = Endpoint::start(Manners::Text("text"));
    kube.forward(POD, 4222, endpoint.address);
    let mut it = forward(&kube).await;
    let listening = it.forwarder.listen(nats()).await.unwrap();
    let client = TcpStream::connect(listening.local).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;

    it.handle.desired.send_replace(Desired::Suspended);
    it.handle.state.wait_for(|state| *state == SourceState::Suspended).await.unwrap();
    until_open(&it.forwarder, 0).await;
    drop(client);
    it.handle.desired.send_replace(Desired::Running);

    endpoint.behave(Manners::Closing("text"));
    for _ in 0..100 {
        if get(listening.local).await.ends_with("text") {
            break;
        }
    }
    it.handle.desired.send_replace(Desired::Stopped);
    it.handle.task.await.unwrap();
    assert!(TcpStream::connect(listening.local).is_err(), "the port is closed at the end");
}

#[tokio::test]
async fn nats_is_reached_directly_when_that_works_and_nothing_is_asked_of_the_api() {
    let kube = platform();
    let endpoint = Endpoint::start(Manners::Silent);
    let it = forward(&kube).await;
    let url = format!("nats://user:secret@{}", endpoint.address);

    let reached = reach::nats(&url, "gtc-demo", Some(&it.forwarder)).await.unwrap();

    assert_eq!(reached.provenance, "directly");
    assert_eq!(reached.servers[0].host(), endpoint.address.to_string());
    assert!(kube.requests().is_empty());
}

#[tokio::test]
async fn nats_of_the_cluster_is_reached_through_a_forward_and_said_to_be() {
    let kube = platform();
    let endpoint = Endpoint::start(Manners::Text("text"));
    kube.forward(POD, 4222, endpoint.address);
    let it = forward(&kube).await;
    let url = format!("nats://{SERVICE}:4222");

    let reached = reach::nats(&url, "gtc-demo", Some(&it.forwarder)).await.unwrap();

    assert_eq!(reached.provenance, format!("through port-forward to pod {POD}"));
    assert!(reached.servers[0].as_str().starts_with("nats://127.0.0.1:"));
}

#[tokio::test]
async fn an_address_that_cannot_be_reached_is_explained_without_its_password() {
    let kube = platform();
    let it = forward(&kube).await;
    let inside = format!("nats://me:secret@{SERVICE}:4222");
    let table = [
        (inside.as_str(), None, "port-forward is off"),
        (inside.as_str(), Some(&it.forwarder), "through port-forward"),
        ("nats://me:secret@127.0.0.1:1", Some(&it.forwarder), "is not the name of a service"),
        ("http://me:secret@nats:1", Some(&it.forwarder), "is not an address of NATS"),
    ];
    for (url, forwarder, expected) in table {
        let error = reach::nats(url, "gtc-demo", forwarder).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
