//! `kvtop -n NAMESPACE`: the real binary over a fake Kubernetes API and a real NATS server.

use std::process::{Command, Stdio};

use crate::nats::{Publisher, recording};
use crate::support::kube_api::FakeKube;
use crate::support::nats_server::NatsServer;
use crate::support::pty::Pty;

const SIZE: (u16, u16) = (140, 36);
const NATS_POD: &str = "dynamo-platform-nats-0";

/// Returns the recorded deployment, with its NATS server behind a port-forward.
fn deployment(server: &NatsServer) -> FakeKube {
    let kube = crate::forward::platform();
    kube.forward(NATS_POD, 4222, server.host().parse().unwrap());
    kube
}

fn arguments(kube: &FakeKube) -> Vec<String> {
    let config = kube.kubeconfig().display().to_string();
    // The recorded events are of another deployment than the recorded objects.
    ["-n", "gtc-demo", "--kubeconfig", &config, "--dynamo-namespace", "dynamo"]
        .map(str::to_owned)
        .to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_is_followed_from_its_pods_to_its_events() {
    let messages = recording("0.9.0-healthy");
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages).await;
    let kube = deployment(&server);
    let arguments = arguments(&kube);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();

    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &[("NATS_URL", "")], SIZE);

    pty.wait_for("both sources", |screen| {
        screen.contains("3 of 3 logs followed") && screen.contains("nats       SOURCE live")
    });
    // 127 and 111 blocks, as the reference counted them.
    pty.wait_for("every block", |screen| screen.contains("127") && screen.contains("111"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    for request in kube.requests() {
        assert!(!request.path.contains("/secrets"), "{request:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_names_the_pods_of_a_namespace() {
    let server = NatsServer::with_jetstream();
    let kube = deployment(&server);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(["snapshot", "-o", "json", "--for", "2s"]).args(arguments(&kube));
    command.env_remove("NATS_URL").env_remove("NATS_SERVER").stdin(Stdio::null());

    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();

    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("gtc-demo-0-trtllmworker-fhhcl"), "{text}\n{error}");
    let forward = format!("/pods/{NATS_POD}/portforward");
    assert!(kube.requests().iter().any(|request| request.path.ends_with(&forward)));
}
