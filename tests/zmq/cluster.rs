//! `kvtop -n NAMESPACE` with discovery records of Dynamo 1.6.1: publishers are found, and reached.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::kv_events;
use crate::captures::worker_differences;
use crate::support::kube_api::FakeKube;
use crate::support::libzmq::LibzmqPublisher;
use crate::support::pty::Pty;

const SIZE: (u16, u16) = (150, 40);
const PODS: [&str; 2] = ["gtc-demo-0-trtllmworker-fhhcl", "gtc-demo-0-trtllmworker-mj7km"];

/// Returns the recorded deployment whose workers publish KV events at `endpoints`.
fn deployment(endpoints: &[String; 2]) -> FakeKube {
    let kube = FakeKube::demo();
    kube.load("dwm-real-1.6.1/list");
    for (pod, endpoint) in PODS.into_iter().zip(endpoints) {
        kube.edit("DynamoWorkerMetadata", pod, |object| publish_at(object, endpoint));
    }
    kube
}

fn publish_at(object: &mut Value, endpoint: &str) {
    let channels = object["spec"]["data"]["event_channels"].as_object_mut().unwrap();
    channels.retain(|_, channel| channel["topic"] == "kv-events");
    for channel in channels.values_mut() {
        channel["transport"]["config"]["endpoint"] = endpoint.into();
    }
}

fn arguments(kube: &FakeKube) -> Vec<String> {
    let config = kube.kubeconfig().display().to_string();
    ["-n", "gtc-demo", "--kubeconfig", &config].map(str::to_owned).to_vec()
}

fn publish(publishers: &mut [LibzmqPublisher; 2]) {
    for (publisher, messages) in publishers.iter_mut().zip(kv_events()) {
        publisher.wait_for("subscribed kv-events");
        publisher.publish(&messages);
    }
}

#[test]
fn publishers_are_found_in_discovery_and_reached_directly() {
    let mut publishers = [LibzmqPublisher::start(), LibzmqPublisher::start()];
    let kube = deployment(&[publishers[0].endpoint(), publishers[1].endpoint()]);
    let kvtop = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["snapshot", "-o", "json", "--for", "6s"])
        .args(arguments(&kube))
        .env_remove("NATS_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    publish(&mut publishers);
    let found = String::from_utf8(kvtop.wait_with_output().unwrap().stdout).unwrap();

    let value: Value = serde_json::from_str(&found).unwrap();
    let zmq = value["sources"].as_array().unwrap().iter().find(|it| it["name"] == "zmq");
    assert!(zmq.is_some_and(|zmq| zmq["health"] == "live"), "{zmq:?}");
    // The pods are there too, without an event of their own.
    let differences = worker_differences("1.6.1-default_healthy", &found);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    for publisher in &publishers {
        let forward = format!("ports={}", publisher.port());
        assert!(!kube.requests().iter().any(|request| request.query.contains(&forward)));
    }
}

#[test]
fn publishers_that_cannot_be_reached_are_reached_through_forwards_which_are_shown() {
    let mut publishers = [LibzmqPublisher::start(), LibzmqPublisher::start()];
    // Nothing listens at these ports here, as at any address of a cluster seen from outside.
    let kube = deployment(&["tcp://127.0.0.1:1".to_owned(), "tcp://127.0.0.1:2".to_owned()]);
    for (port, pod) in (1..).zip(PODS) {
        let to = ([127, 0, 0, 1], publishers[usize::from(port) - 1].port()).into();
        kube.forward(pod, port, to);
    }
    let arguments = arguments(&kube);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &[("NATS_URL", "")], SIZE);
    publish(&mut publishers);

    pty.wait_for("a live source", |screen| screen.contains("2 of 2 publishers connected"));
    let forward = format!("SOURCE live: {}:1", PODS[0]);
    pty.wait_for("the forwards", |screen| screen.contains(&forward));
    // 87 and 86 blocks, as the reference counted them.
    pty.wait_for("every block", |screen| screen.contains("87") && screen.contains("86"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn without_the_right_to_forward_the_screen_says_which_right_is_missing() {
    let kube = deployment(&["tcp://127.0.0.1:1".to_owned(), "tcp://127.0.0.1:2".to_owned()]);
    kube.deny("create", "pods/portforward");
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "-o", "json", "--for", "6s"])
        .args(arguments(&kube))
        .env_remove("NATS_URL")
        .stdin(Stdio::null())
        .output()
        .unwrap();

    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = value["findings"].as_array().unwrap();
    let blind = findings.iter().find(|finding| finding["id"] == "KVT004");
    let blind = blind.unwrap_or_else(|| panic!("{value:#}"));
    let said = blind.to_string();
    for part in [
        "tcp://127.0.0.1:1",
        "kv-events, by DynamoWorkerMetadata gtc-demo-0-trtllmworker-fhhcl",
        "`get` and `create` on `pods/portforward`",
        "kvtop rbac -n gtc-demo --port-forward",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
}
