//! `kvtop doctor`: what it says of clusters that lack one thing each.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::deployment::{Deployment, NATS_POD};
use crate::support::kube_api::{FakeKube, TOKEN};
use crate::support::libzmq::LibzmqPublisher;
use crate::support::nats_server::NatsServer;

/// Runs the doctor; returns its exit code and what it wrote.
async fn doctor(arguments: Vec<String>) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.arg("doctor").args(arguments).stdin(Stdio::null());
    command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
    let others = [
        "NATS_URL",
        "NATS_SERVER",
        "KVTOP_NATS_URL",
        "KUBECONFIG",
        "TMUX",
        "NO_COLOR",
        "COLORTERM",
    ];
    for name in others {
        command.env_remove(name);
    }
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (output.status.code().unwrap(), text)
}

fn arguments(kube: &FakeKube, more: &[&str]) -> Vec<String> {
    let config = kube.kubeconfig().display().to_string();
    let all = ["-n", "gtc-demo", "--kubeconfig", &config];
    all.iter().chain(more).map(ToString::to_string).collect()
}

/// Runs it with JSON.
async fn examined(kube: &FakeKube) -> (i32, Value) {
    let (code, text) = doctor(arguments(kube, &["-o", "json"])).await;
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["exit"], code);
    (code, report)
}

/// Returns verdict, what was seen and the advice of the check called `name`.
fn check<'a>(report: &'a Value, name: &str) -> (&'a str, &'a str, &'a str) {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no check {name} in {report:#}"));
    let text = |key: &str| found[key].as_str().unwrap_or_default();
    (text("verdict"), text("seen"), text("advice"))
}

fn failed(report: &Value) -> Vec<&str> {
    let checks = report["checks"].as_array().unwrap().iter();
    let failed = checks.filter(|check| check["verdict"] == "failed");
    failed.map(|check| check["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_cluster_passes_and_only_reads_are_sent() {
    let it = Deployment::start();

    let (code, report) = examined(&it.kube).await;

    assert_eq!((code, failed(&report)), (0, vec![]), "{report:#}");
    assert_eq!(check(&report, "configuration").1, "context `fake`");
    assert!(check(&report, "API server").1.ends_with(", v1.36.2"), "{report:#}");
    assert_eq!(check(&report, "CRD dynamographdeployments.nvidia.com").1, "v1alpha1");
    for right in ["list on pods", "watch on pods", "get on pods/log", "list on configmaps"] {
        assert_eq!(check(&report, right).0, "ok", "{right}");
    }
    let (verdict, open, _) = check(&report, "create on pods/portforward");
    assert!(verdict == "ok" && open.contains(NATS_POD), "{open}");
    assert_eq!(check(&report, "graph deployments").1, "gtc-demo");
    assert_eq!(check(&report, "Dynamo pods").1, "1 frontend (1 ready), 2 worker (2 ready)");
    assert_eq!(check(&report, "Dynamo version").1, "0.9.0");
    assert_eq!(check(&report, "nats").0, "ok");
    assert_eq!(check(&report, "logs").1, "3 of 3 logs followed");
    assert_eq!(check(&report, "metrics").1, "3 of 3 endpoints answer");
    assert_eq!(check(&report, "colours").1, "256 (TERM=xterm-256color)");
    for request in it.kube.requests() {
        assert_eq!(request.method, "GET");
        for never in ["secrets", "accessreviews", "selfsubject"] {
            assert!(!request.path.contains(never), "{request:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_missing_right_is_named_with_what_is_less_without_it() {
    let cases = [
        ("list", "pods", "list on pods", "no names, nodes"),
        ("watch", "pods", "watch on pods", "once they change"),
        ("list", "configmaps", "list on configmaps", "configuration files"),
        ("get", "pods/log", "get on pods/log", "no warnings"),
        (
            "create",
            "pods/portforward",
            "create on pods/portforward",
            "rbac -n gtc-demo --port-forward",
        ),
        (
            "list",
            "dynamographdeployments",
            "list on dynamographdeployments.nvidia.com",
            "settings in manifests",
        ),
        (
            "list",
            "dynamoworkermetadatas",
            "list on dynamoworkermetadatas.nvidia.com",
            "registered block sizes",
        ),
        (
            "watch",
            "endpointslices",
            "watch on endpointslices.discovery.k8s.io",
            "pods in discovery are unknown",
        ),
    ];
    for (verb, resource, name, less) in cases {
        let it = Deployment::start();
        it.kube.deny(verb, resource);

        let (code, report) = examined(&it.kube).await;

        assert_eq!(code, 1, "{name}");
        let (verdict, _, advice) = check(&report, name);
        assert_eq!(verdict, "failed", "{name}");
        assert!(advice.contains(less), "{name}: {advice}");
        let rights = failed(&report).into_iter().filter(|failed| failed.contains(" on "));
        assert_eq!(rights.collect::<Vec<_>>(), [name], "only that one: {report:#}");
        if name == "create on pods/portforward" {
            let nats = check(&report, "nats").1;
            assert_eq!(nats.matches("a port-forward needs").count(), 1, "said once: {nats}");
        }
        // What may not be listed is not called missing.
        if name == "list on pods" {
            let pods = check(&report, "Dynamo pods");
            assert_eq!((pods.0, pods.1), ("unknown", "no permission to list pods"), "{report:#}");
        }
    }
}

/// Returns what `kvtop rbac` prints for the namespace of the deployment.
fn printed_roles(more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    let output = command.args(["rbac", "-n", "gtc-demo"]).args(more).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_printed_roles_everything_is_reached_and_without_one_it_is_named() {
    let it = Deployment::start();
    it.kube.permit_only(&printed_roles(&["--port-forward", "--nats-namespace", "dynamo-system"]));

    let (code, report) = examined(&it.kube).await;
    assert_eq!((code, failed(&report)), (0, vec![]), "{report:#}");
    assert_eq!(check(&report, "nats").0, "ok");

    it.kube.permit_only(&printed_roles(&["--port-forward"]));
    let (code, report) = examined(&it.kube).await;
    assert_eq!((code, failed(&report)), (1, vec!["get on services", "nats"]), "{report:#}");
    let (_, seen, advice) = check(&report, "get on services");
    assert!(seen.contains("in namespace `dynamo-system`"), "{seen}");
    assert!(
        advice.contains("`kvtop rbac -n gtc-demo --port-forward --nats-namespace dynamo-system`")
    );
    // What is open says nothing of what is refused.
    let (verdict, seen, _) = check(&report, "create on pods/portforward");
    assert!(verdict == "ok" && !seen.contains("needs"), "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_cannot_be_asked_is_one_sentence() {
    let kube = crate::forward::platform();
    kube.only_token("another");
    let (code, report) = examined(&kube).await;
    assert_eq!(code, 1);
    let told = report.to_string();
    assert!(
        told.contains("credentials not accepted by the API server (401): log in again"),
        "{report:#}"
    );

    kube.stop();
    let (code, report) = examined(&kube).await;
    assert_eq!(code, 1);
    let (verdict, why, _) = check(&report, "API server");
    assert!(verdict == "failed" && why.contains("could not reach"), "{report:#}");

    let (code, text) = doctor(["--kubeconfig", "/none"].map(str::to_owned).to_vec()).await;
    assert_eq!(code, 1);
    assert!(text.contains("/none cannot be used"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_dynamo_it_says_where_there_is_one() {
    let kube = FakeKube::start();
    let mut graph = crate::support::kube_api::recorded_objects("dgd/list").remove(0);
    graph["metadata"]["namespace"] = "elsewhere".into();
    kube.object(graph);
    let name = serde_json::json!({ "name": "gtc-demo" });
    kube.object(serde_json::json!({ "kind": "Namespace", "apiVersion": "v1", "metadata": name }));

    let (code, report) = examined(&kube).await;

    assert_eq!(code, 1);
    let (verdict, why, _) = check(&report, "Dynamo pods");
    assert_eq!(verdict, "failed");
    assert!(why.contains("there is one in elsewhere: use -n"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_is_said_once() {
    let mut it = Deployment::start();
    it.server.crash();

    let (code, report) = examined(&it.kube).await;

    assert_eq!(code, 1);
    let (verdict, seen, _) = check(&report, "nats");
    assert_eq!(verdict, "failed");
    assert_eq!(seen.matches("nothing listens on port 4222 of pod").count(), 1, "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_resources_of_dynamo_are_no_failure_of_rights() {
    let it = Deployment::start();
    it.kube.uninstall("dynamoworkermetadatas");

    let (code, report) = examined(&it.kube).await;

    assert_eq!(code, 0, "{report:#}");
    let (verdict, seen, _) = check(&report, "CRD dynamoworkermetadatas.nvidia.com");
    assert_eq!((verdict, seen), ("warning", "not installed in this cluster"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_kubernetes_it_looks_at_the_server_alone() {
    let server = NatsServer::with_jetstream();
    let url = server.url();

    let (code, text) = doctor(vec!["--nats-url".to_owned(), url]).await;

    assert_eq!(code, 0, "{text}");
    assert!(text.contains("ok       nats"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("events use ZMQ") && words.contains("pass them with --zmq"), "{text}");
    assert!(!text.contains("rights"), "{text}");
    let address = ["--nats-url", "nats://someone:PLANTED@127.0.0.1:1"];
    let (code, text) = doctor(address.map(str::to_owned).to_vec()).await;
    assert_eq!(code, 1);
    assert!(text.contains("failed   nats") && text.contains("nothing listens"), "{text}");
    assert!(!text.contains("PLANTED"), "{text}");

    let accounts = r#"authorization { users: [ { user: deaf, password: deaf,
        permissions: { subscribe: ["_INBOX.>"] } } ] }"#;
    let server = NatsServer::start(&["-js"], accounts);
    let url = format!("nats://deaf:deaf@{}", server.host());
    let (code, text) = doctor(vec!["--nats-url".to_owned(), url]).await;
    assert_eq!(code, 1);
    assert!(text.contains("failed   nats") && text.contains("may not subscribe to"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_what_it_says() {
    let it = Deployment::start();
    it.kube.edit("Pod", "gtc-demo-0-frontend-rmjwp", |pod| {
        let env = pod["spec"]["containers"][0]["env"].as_array_mut().unwrap();
        env.push(serde_json::json!({ "name": "NATS_AUTH_PASSWORD", "value": "PLANTED" }));
    });

    for more in [&[][..], &["-o", "json"]] {
        let (_, text) = doctor(arguments(&it.kube, more)).await;

        // Texts are wrapped.
        let words: Vec<_> = text.split_whitespace().collect();
        let line = words.join(" ");
        assert!(
            line.contains("cannot reuse the NATS credentials"),
            "the password is noticed: {text}"
        );
        assert!(!words.concat().contains("PLANTED") && !words.concat().contains(TOKEN), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishers_over_zmq_are_looked_at_in_place_of_a_server() {
    let (code, text) = doctor(["--zmq", "tcp://127.0.0.1:1"].map(str::to_owned).to_vec()).await;

    assert_eq!(code, 1);
    assert!(text.contains("failed   zmq"), "{text}");
    assert!(!text.contains("no server found"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishers_that_do_not_answer_are_told_beside_one_that_does() {
    let publisher = LibzmqPublisher::start();
    let both = ["--zmq", &publisher.endpoint(), "--zmq", "tcp://127.0.0.1:1", "-o", "json"];

    let (_, report) = doctor(both.map(str::to_owned).to_vec()).await;

    let report: Value = serde_json::from_str(&report).unwrap();
    let (verdict, seen, _) = check(&report, "zmq");
    assert_eq!(verdict, "warning", "{report:#}");
    assert!(seen.starts_with("1 of 2 publishers connected; tcp://127.0.0.1:1: "), "{seen}");
}
