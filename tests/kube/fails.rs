//! What happens when the API fails, and when it comes back.

use std::time::Duration;

use kvtop::domain::SourceState;
use kvtop::frame::KubeChange::{Added, Deleted};
use kvtop::source::kube::{KubeOptions, Pace, connect};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{change, pace, watched, watched_at};
use crate::support::kube_api::FakeKube;

const WORKER: &str = "gtc-demo-0-trtllmworker-fhhcl";

fn pod(name: &str) -> serde_json::Value {
    json!({ "kind": "Pod", "metadata": { "name": name, "namespace": "gtc-demo" } })
}

#[tokio::test]
async fn a_forgotten_history_is_listed_again_and_deletions_are_told() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;

    // While the watches are closed, one pod goes and one comes; the history of both is forgotten.
    kube.stop();
    watched.down().await;
    kube.delete("Pod", WORKER).object(pod("new")).forget_history().start_again();

    watched.change("Pod", Deleted, WORKER).await;
    watched.change("Pod", Added, "new").await;
    let frames = watched.during(Duration::from_millis(200)).await;
    assert!(frames.iter().all(|frame| change(frame).is_none()), "nothing is told twice");
}

#[tokio::test]
async fn an_expired_version_on_a_watch_is_listed_again() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;
    kube.forget_requests();

    // The stream ends properly, and what it would resume from is too old by then.
    kube.expire(pod("new"));

    watched.change("Pod", Added, "new").await;
    kube.delete("Pod", "new");
    watched.change("Pod", Deleted, "new").await;
    let pods: Vec<_> =
        kube.requests().into_iter().filter(|it| it.path.ends_with("/pods")).collect();
    assert!(pods[0].query.contains("watch=true"), "{pods:?}");
    assert!(pods.iter().any(|it| !it.query.contains("watch=true")), "{pods:?}");
}

#[tokio::test]
async fn a_watch_that_ends_is_resumed_after_the_last_bookmark() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;
    kube.forget_requests().bookmark();
    tokio::time::sleep(Duration::from_millis(100)).await;

    kube.end_streams().object(pod("new"));

    watched.change("Pod", Added, "new").await;
    let asked = kube.requests();
    let lists = asked.iter().filter(|it| it.path.contains("/namespaces/"));
    assert!(lists.clone().all(|it| it.query.contains("watch=true")), "{asked:?}");
}

#[tokio::test]
async fn a_server_that_is_killed_is_said_to_be_down_until_it_is_back() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;

    kube.stop();
    let note = watched.note("refused", |note| note.why.contains("could not reach")).await;
    assert_eq!(note.state, SourceState::Down);
    assert!(note.why.contains(&kube.url()), "{}", note.why);
    assert!(note.retry_ms.is_some());
    kube.start_again().object(pod("new"));

    let note = watched.live().await;
    assert_eq!(&*note.why, "");
    assert_eq!(note.interruptions, 1);
    watched.change("Pod", Added, "new").await;
}

#[tokio::test]
async fn watches_that_outlive_a_server_do_not_look_live() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;

    kube.stop_accepting();

    let note = watched.down().await;
    assert!(note.why.contains("what is shown may be out of date"), "{}", note.why);
    assert!(kube.open_streams() >= 4);
    kube.start_again();
    watched.live().await;
}

#[tokio::test]
async fn a_server_that_has_just_started_is_given_time_to_know_rights() {
    let kube = FakeKube::demo();
    kube.deny_everything_for(Duration::from_millis(400));
    let pace = Pace { grace: Duration::from_secs(2), ..pace() };
    let mut watched = watched_at(&kube, pace).await;

    watched.live().await;

    let notes = watched.seen.iter().filter_map(super::note);
    assert!(notes.clone().all(|note| note.why.is_empty()), "{:?}", notes.collect::<Vec<_>>());
}

#[tokio::test]
async fn missing_rights_are_named_and_the_rest_goes_on() {
    let kube = FakeKube::demo();
    kube.deny("list", "endpointslices").deny("watch", "dynamoworkermetadatas");
    let mut watched = watched(&kube).await;

    let needs = "no permission: needs list on endpointslices.discovery.k8s.io, \
                 watch on dynamoworkermetadatas.nvidia.com: `kvtop rbac -n gtc-demo` prints the Role";
    let note = watched.note("rights", |note| &*note.why == needs).await;

    assert_eq!(note.state, SourceState::Live);
    let missing = watched.handle.missing.borrow().clone();
    assert_eq!(missing.len(), 2);
    assert_eq!(&*missing[0].namespace, "gtc-demo");
    kube.object(pod("new"));
    watched.change("Pod", Added, "new").await;

    // Rights that were given are noticed.
    kube.allow("list", "endpointslices").allow("watch", "dynamoworkermetadatas");
    watched.note("no complaint", |note| note.why.is_empty()).await;
    assert!(watched.handle.missing.borrow().is_empty());
}

#[tokio::test]
async fn rights_that_are_revoked_show_when_they_are_next_needed() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;

    kube.deny("list", "pods").deny("watch", "pods");
    kube.object(pod("new"));
    watched.change("Pod", Added, "new").await;
    kube.end_streams();

    watched.note("revoked", |note| note.why.contains("on pods: `kvtop rbac -n gtc-demo`")).await;
    // What is forbidden is not gone.
    let frames = watched.during(Duration::from_millis(300)).await;
    assert!(frames.iter().filter_map(change).all(|it| it.1 != Deleted));
}

#[tokio::test]
async fn without_the_resources_of_dynamo_pods_are_still_shown() {
    let kube = FakeKube::demo();
    kube.uninstall("dynamoworkermetadatas").uninstall("dynamographdeployments");
    let mut watched = watched(&kube).await;

    let note = watched.live().await;

    let why = "dynamographdeployments.nvidia.com is not installed in this cluster; \
               dynamoworkermetadatas.nvidia.com is not installed in this cluster";
    assert_eq!(&*note.why, why);
    assert_eq!(watched.seen.iter().filter_map(change).filter(|it| it.0 == "Pod").count(), 3);
    kube.install("dynamographdeployments").load("dgd/list");
    watched.note("installed", |note| !note.why.contains("dynamographdeployments")).await;
}

#[tokio::test]
async fn a_resource_that_is_uninstalled_takes_its_objects_along() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;

    kube.uninstall("dynamoworkermetadatas").end_streams();

    watched.change("DynamoWorkerMetadata", Deleted, WORKER).await;
    watched.note("uninstalled", |note| note.why.contains("not installed")).await;
}

#[tokio::test]
async fn a_conversion_webhook_that_is_down_is_named_and_waited_for() {
    let kube = FakeKube::demo();
    let down = "new-crds/429_v1alpha1_list_conversion_webhook_down";
    kube.answer("/namespaces/gtc-demo/dynamographdeployments", down);
    let mut watched = watched(&kube).await;

    let note = watched.live().await;

    assert!(note.why.contains("conversion webhook"), "{}", note.why);
    assert_eq!(note.retry_ms, Some(1_000), "as the server asks");
    kube.answer_properly("/namespaces/gtc-demo/dynamographdeployments");
    watched.note("well", |note| note.state == SourceState::Live && note.why.is_empty()).await;
}

#[tokio::test]
async fn a_server_that_has_too_much_to_do_is_asked_ever_less_often() {
    let kube = FakeKube::demo();
    // 429 for every list and watch of pods and workers, and 410 for those of graphs.
    let (many, gone) = ("errors/429_list", "errors/410_continue_token_expired");
    kube.answer("/namespaces/gtc-demo/pods", many);
    kube.answer("/namespaces/gtc-demo/dynamoworkermetadatas", many);
    kube.answer("/namespaces/gtc-demo/dynamographdeployments", gone);
    let mut watched = watched_at(&kube, Pace::default()).await;

    watched.during(Duration::from_secs(4)).await;

    for path in ["/pods", "/dynamoworkermetadatas", "/dynamographdeployments"] {
        let asked = kube.requests().iter().filter(|it| it.path.ends_with(path)).count();
        assert!((1..=8).contains(&asked), "{path}: {asked} requests in 4 s");
    }
    let note = watched.note("trouble", |note| note.why.contains("(410)")).await;
    assert!(note.why.contains("(429)") && note.retry_ms.is_some(), "{}", note.why);
}

#[tokio::test]
async fn a_stalled_store_is_read_from_the_cache_of_the_server() {
    let kube = FakeKube::demo();
    kube.answer("/pods?limit", "errors/etcd_stalled_list");
    let mut watched = watched(&kube).await;

    watched.live().await;

    assert!(watched.seen.iter().filter_map(change).any(|it| it.2 == WORKER));
}

#[tokio::test]
async fn wrong_credentials_are_said_and_new_ones_are_read() {
    let kube = FakeKube::demo();
    let mut watched = watched(&kube).await;
    watched.live().await;

    kube.only_token("another-token").cut_streams();
    let note = watched.note("refused", |note| note.why.contains("(401)")).await;
    assert_eq!(note.state, SourceState::Down);
    assert!(note.why.contains("log in again"), "{}", note.why);

    // Someone logs in: the kubeconfig is written anew.
    kube.kubeconfig_as("{ token: another-token }");
    let note = watched.live().await;
    assert_eq!(&*note.why, "");
}

#[tokio::test]
async fn each_failure_of_the_configuration_is_one_sentence_with_what_to_do() {
    let kube = FakeKube::start();
    let good = kube.kubeconfig();
    let of = |kubeconfig, context: Option<&str>| KubeOptions {
        kubeconfig: Some(kubeconfig),
        context: context.map(str::to_owned),
        ..KubeOptions::default()
    };
    let said = async |options| connect(options).await.unwrap_err().sentence();

    let why = said(of(good.clone(), Some("other"))).await;
    assert_eq!(why, "the kubeconfig has no context `other`: use one of fake");

    let why = said(of(good.with_file_name("none"), None)).await;
    assert!(why.contains("none cannot be used"), "{why}");

    let exec = |command: &str| {
        let version = "client.authentication.k8s.io/v1";
        kube.kubeconfig_as(&format!("{{ exec: {{ apiVersion: {version}, command: {command} }} }}"))
    };
    let why = said(of(exec("no-such-plugin"), None)).await;
    assert!(why.contains("`no-such-plugin`, which could not be started: install it"), "{why}");

    let why = said(of(exec("\"false\""), None)).await;
    assert!(why.contains("`false` failed: log in again"), "{why}");
}

/// Answers one request of `client`, reads the next one, and hangs up without an answer.
async fn hang_up_on_the_second(mut client: TcpStream) -> std::io::Result<()> {
    let mut request = [0; 4096];
    assert_ne!(client.read(&mut request).await?, 0);
    let body = r#"{"gitVersion":"v1.36.2"}"#;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    client.write_all((head + body).as_bytes()).await?;
    client.read(&mut request).await.map(drop)
}

#[tokio::test]
async fn a_server_that_closes_an_idle_connection_is_asked_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            tokio::spawn(hang_up_on_the_second(listener.accept().await.unwrap().0));
        }
    });
    let kube = FakeKube::start();
    let file = kube.kubeconfig();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(&kube.url(), &url)).unwrap();
    let options = KubeOptions { kubeconfig: Some(file), ..KubeOptions::default() };
    let client = connect(options).await.unwrap();

    for _ in 0..3 {
        assert_eq!(client.version().await.unwrap(), "v1.36.2");
    }
}

#[tokio::test]
async fn a_server_with_another_certificate_is_not_trusted() {
    let kube = FakeKube::start_tls();
    let other = FakeKube::start_tls();
    let file = kube.kubeconfig();
    // The address of one, the CA of the other.
    let text = std::fs::read_to_string(other.kubeconfig()).unwrap();
    std::fs::write(&file, text.replace(&other.url(), &kube.url())).unwrap();

    let options = KubeOptions { kubeconfig: Some(file), ..KubeOptions::default() };
    let refusal = connect(options).await.unwrap().version().await.unwrap_err();

    assert!(refusal.to_string().contains("is not trusted"), "{refusal}");
}
