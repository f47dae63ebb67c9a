//! `-n NAME` where NAME is a graph deployment or a Dynamo namespace: the namespace it leads to.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::attach::{NAMES, screen_with};
use crate::support::deployment::{Deployment, messages};
use crate::support::kube_api::{FakeKube, recorded_objects};
use crate::support::nats_server::NatsServer;

const RECORDED: [&str; 5] = [
    "pods/list_gtc-demo",
    "dgd/list",
    "dwm/list",
    "configmaps/list",
    "endpointslices/list_gtc-demo",
];

/// Adds the recorded deployment `gtc-demo`, in `namespace`.
fn deploy(kube: &FakeKube, namespace: &str) {
    for mut object in RECORDED.into_iter().flat_map(recorded_objects) {
        object["metadata"]["namespace"] = namespace.into();
        if object["kind"] == "DynamoGraphDeployment" {
            for service in object["spec"]["services"].as_object_mut().unwrap().values_mut() {
                service["dynamoNamespace"] = "chat".into();
            }
        }
        kube.object(object);
    }
}

/// Returns a kubeconfig whose context names `namespace`.
fn kubeconfig(kube: &FakeKube, namespace: &str) -> String {
    let text = std::fs::read_to_string(kube.kubeconfig()).unwrap();
    let text = text.replace("namespace: gtc-demo", &format!("namespace: {namespace}"));
    kube.folder().write("context", &text).display().to_string()
}

async fn kvtop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).stdin(Stdio::null());
    for name in NAMES {
        command.env_remove(name);
    }
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns what a snapshot says is looked at.
async fn target(kube: &FakeKube, context: &str, name: &str, server: &NatsServer) -> [String; 4] {
    let (config, url) = (kubeconfig(kube, context), server.url());
    let named = ["-n", name, "--kubeconfig", &config, "--nats-url", &url];
    let output = kvtop(&[&["snapshot", "-o", "json", "--for", "1s"], &named[..]].concat()).await;
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let target = &report["target"];
    let pods = report["pods"].as_array().unwrap().len();
    let text = |key: &str| target[key].as_str().unwrap_or("null").to_owned();
    [text("asked"), text("name"), text("dgd"), format!("{pods} pods")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_and_a_dynamo_namespace_lead_to_their_kubernetes_namespace() {
    let (kube, server) = (FakeKube::start(), NatsServer::with_jetstream());
    deploy(&kube, "dynamo-workload");

    for (name, asked) in [("gtc-demo", "gtc-demo"), ("chat", "chat"), ("dynamo-workload", "null")] {
        assert_eq!(
            target(&kube, "default", name, &server).await,
            [asked, "dynamo-workload", "gtc-demo", "3 pods"]
        );
    }
    assert!(kube.requests().iter().all(|request| request.method == "GET"));

    // A namespace of that name is what is meant, whatever else there is.
    deploy(&kube, "gtc-demo");
    let own = target(&kube, "default", "gtc-demo", &server).await;
    assert_eq!(own, ["null", "gtc-demo", "gtc-demo", "3 pods"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_in_one_namespace_are_enough_where_the_context_names_it() {
    let (kube, server) = (FakeKube::start(), NatsServer::with_jetstream());
    deploy(&kube, "dynamo-workload");
    let config = kubeconfig(&kube, "dynamo-workload");
    let role = stdout(&kvtop(&["rbac", "-n", "gtc-demo", "--kubeconfig", &config]).await);
    assert!(role.contains("namespace: dynamo-workload\n"), "{role}");
    assert!(!role.contains("namespace: gtc-demo"), "{role}");
    kube.permit_only(&role);

    for (name, asked) in [("gtc-demo", "gtc-demo"), ("chat", "chat"), ("dynamo-workload", "null")] {
        assert_eq!(
            target(&kube, "dynamo-workload", name, &server).await,
            [asked, "dynamo-workload", "gtc-demo", "3 pods"]
        );
    }
    let url = server.url();
    let named = ["-n", "gtc-demo", "--kubeconfig", &config, "--nats-url", &url];
    let output = kvtop(&[&["check", "--for", "1s"], &named[..]].concat()).await;
    assert!(stdout(&output).contains("gtc-demo → dynamo-workload: "), "{}", stdout(&output));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_means_nothing_or_several_things_is_unknown_to_a_check() {
    let kube = FakeKube::start();
    deploy(&kube, "dynamo-workload");
    let config = kubeconfig(&kube, "default");
    let check = async |name: &str| {
        let output = kvtop(&["check", "--for", "1s", "-n", name, "--kubeconfig", &config]).await;
        (output.status.code(), stdout(&output))
    };

    let (code, said) = check("gtc-dmeo").await;
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("is named `gtc-dmeo`; searched the graph deployments"), "{said}");
    assert!(said.contains("did you mean gtc-demo?"), "{said}");

    deploy(&kube, "staging");
    let (code, said) = check("gtc-demo").await;
    assert_eq!(code, Some(3), "{said}");
    for place in ["dynamo-workload", "staging"] {
        let part = format!("graph deployment gtc-demo in namespace {place}");
        assert!(said.contains(&part), "{said}");
    }
    let output = kvtop(&["snapshot", "-n", "gtc-demo", "--kubeconfig", &config]).await;
    assert_eq!(output.status.code(), Some(3));

    // What may not be listed is said.
    kube.deny("list", "dynamographdeployments").deny("list", "namespaces");
    let (code, said) = check("gtc-demo").await;
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("no permission to list graph deployments of the whole cluster"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_one_is_picked_on_the_screen() {
    let kube = FakeKube::start();
    deploy(&kube, "dynamo-workload");
    deploy(&kube, "staging");
    let arguments = ["-n", "gtc-demo", "--kubeconfig", &kubeconfig(&kube, "default")];

    let mut pty = screen_with(&arguments.map(str::to_owned));
    pty.wait_for("the list", |screen| {
        screen.contains("graph deployment gtc-demo in namespace staging")
    });
    pty.send("j\r");
    pty.wait_for("what it led to", |screen| screen.contains("gtc-demo → staging"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_a_dynamo_namespace_that_no_deployment_uses_are_ignored_and_counted() {
    let it = Deployment::as_recorded(NatsServer::with_jetstream());
    // The recorded pods are of Dynamo namespace `gtc-demo-gtc-demo`, the events of `dynamo`.
    it.publish(&messages()).await;
    let (config, url) = (it.kube.kubeconfig().display().to_string(), it.server.url());
    let named = ["-n", "gtc-demo", "--kubeconfig", &config, "--nats-url", &url];
    let file = it.kube.folder().write("foreign.frames", "").display().to_string();
    std::fs::remove_file(&file).unwrap();
    let output = kvtop(&[&["record", "-o", &file, "--for", "4s"], &named[..]].concat()).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let live = kvtop(&[&["snapshot", "-o", "json", "--for", "2s"], &named[..]].concat()).await;
    let replayed = kvtop(&["snapshot", "-o", "json", "--replay", &file]).await;

    for output in [live, replayed] {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let ignored = &report["dynamo"]["ignored"][0];
        assert_eq!(ignored["namespace"], "dynamo", "{:#}", report["dynamo"]);
        assert!(ignored["messages"].as_u64().unwrap() > 0, "{ignored}");
        let workers = report["workers"].as_array().unwrap();
        let stores = workers.iter().filter_map(|worker| worker["stores"].as_u64());
        assert_eq!(stores.sum::<u64>(), 0, "{workers:#?}");
        assert!(workers.iter().all(|worker| worker["pod"].is_string()), "{workers:#?}");
    }
}
