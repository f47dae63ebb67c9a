//! Ways to the API: through a proxy, and with the account of a pod.

use std::path::Path;
use std::process::{Command, Stdio};

use kvtop::domain::SourceState;
use kvtop::source::kube::{KubeOptions, connect};
use serde_json::Value;

use super::watched_with;
use crate::support::kube_api::{FakeKube, TOKEN};
use crate::support::proxy::Proxy;
use crate::support::scratch;

#[tokio::test]
async fn a_proxy_that_the_kubeconfig_names_is_used() {
    let (kube, proxy) = (FakeKube::start_tls(), Proxy::start());
    let file = kube.kubeconfig();
    let text = std::fs::read_to_string(&file).unwrap();
    let with =
        text.replace("cluster: { ", &format!("cluster: {{ proxy-url: \"{}\", ", proxy.url()));
    assert_ne!(with, text);
    std::fs::write(&file, with).unwrap();

    let options = KubeOptions { kubeconfig: Some(file), ..KubeOptions::default() };
    let version = connect(options).await.unwrap().version().await.unwrap();

    assert_eq!(version, "v1.36.2");
    assert_eq!(proxy.asked(), [kube.url().trim_start_matches("https://")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_the_environment_names_is_used_by_the_whole_program() {
    let (kube, proxy) = (FakeKube::start_tls(), Proxy::start());
    kube.load("pods/list_gtc-demo").load("dgd/list");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(["doctor", "--kubeconfig"]).arg(kube.kubeconfig()).stdin(Stdio::null());
    command.env("HTTPS_PROXY", proxy.url()).env_remove("NO_PROXY").env_remove("no_proxy");

    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();

    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(", v1.36.2") && text.contains("ok       list on pods"), "{text}");
    assert!(proxy.asked().len() > 3, "{:?}", proxy.asked());
}

#[tokio::test]
async fn a_token_that_is_rotated_in_its_file_is_read_again() {
    let kube = FakeKube::demo();
    // As the token of a service account: a file that the kubelet replaces.
    let file = kube.folder().write("token", TOKEN);
    let config = kube.kubeconfig_as(&format!("{{ tokenFile: {} }}", file.display()));
    let mut watched = watched_with(config).await;
    watched.live().await;

    kube.only_token("rotated").cut_streams();
    watched.note("refused", |note| note.why.contains("(401)")).await;
    kube.folder().write("token", "rotated");

    let note = watched.note("live again", |note| note.state == SourceState::Live).await;
    assert_eq!(&*note.why, "");
}

/// Returns the command with `arguments` as it runs in a pod whose account is mounted at `mount`.
fn in_a_pod(mount: &Path, server: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).stdin(Stdio::null()).env("HOME", scratch());
    for name in ["KUBECONFIG", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    let (host, port) = server.rsplit_once(':').unwrap();
    command.env("KUBERNETES_SERVICE_HOST", host).env("KUBERNETES_SERVICE_PORT", port);
    command.env("KVTOP_SERVICE_ACCOUNT", mount);
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_pod_its_account_is_used_for_its_own_namespace() {
    let kube = FakeKube::start_tls();
    kube.load("pods/list_gtc-demo").load("dgd/list").only_token("of-the-pod");
    let mount = scratch();
    std::fs::write(mount.join("token"), "of-the-pod").unwrap();
    std::fs::write(mount.join("ca.crt"), kube.authority().unwrap()).unwrap();
    std::fs::write(mount.join("namespace"), "gtc-demo\n").unwrap();
    let url = kube.url();
    let server = url.trim_start_matches("https://");
    let mut command = in_a_pod(&mount, server, &["doctor", "-o", "json"]);

    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();

    let text = String::from_utf8(output.stdout).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let seen = |name: &str| {
        let mut checks = report["checks"].as_array().unwrap().iter();
        let check = checks.find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no {name} in {report:#}"))["seen"].as_str().unwrap()
    };
    assert_eq!(seen("configuration"), "the service account of this pod");
    assert_eq!(seen("graph deployments"), "gtc-demo");
    assert_eq!(seen("Dynamo pods"), "1 frontend (1 ready), 2 worker (2 ready)");
    assert!(!text.contains("of-the-pod"), "{text}");
}

#[test]
fn a_pod_without_its_account_is_said() {
    let mount = scratch();

    let output = in_a_pod(&mount, "127.0.0.1:1", &["snapshot", "-n", "x"]).output().unwrap();

    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("the service account of this pod cannot be used"), "{told}");
    assert!(told.contains(&mount.join("token").display().to_string()), "{told}");
}
