//! From discovery records to publishers and the report, with the binary itself.

use std::process::{Child, Command, Stdio};

use super::*;
use crate::captures::worker_differences;
use crate::support::etcd::Etcd;
use crate::support::kube_api::FakeKube;
use crate::support::libzmq::{LibzmqPublisher, Parts};
use crate::support::nats_server::Folder;

const CAPTURE: &str = "1.6.1-default_healthy";

/// A publisher, and what it is to publish.
type Worker = (LibzmqPublisher, Vec<Parts>);

/// Returns the recorded records with the publishers' addresses in place of the recorded ones, and the
/// publishers with their messages.
fn deployment() -> (Vec<(String, String)>, Vec<Worker>) {
    let mut all = records();
    let mut publishers = Vec::new();
    for (endpoint, messages) in crate::zmq::recording(CAPTURE) {
        // The others stay at addresses where nobody listens.
        if messages[0][0] == b"kv-events" {
            let publisher = LibzmqPublisher::start();
            for value in all.values_mut() {
                *value = value.replace(&endpoint, &publisher.endpoint());
            }
            publishers.push((publisher, messages));
        }
    }
    (all.into_iter().collect(), publishers)
}

fn kvtop(arguments: &[&str], vars: &[(&str, &str)]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(["snapshot", "-o", "json", "--for", "5s"]).args(arguments);
    command.env_remove("NATS_URL").env_remove("NATS_SERVER").envs(vars.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

fn compare(kvtop: Child) -> serde_json::Value {
    let found = String::from_utf8(kvtop.wait_with_output().unwrap().stdout).unwrap();
    let differences = worker_differences(CAPTURE, &found);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    serde_json::from_str(&found).unwrap()
}

#[test]
fn publishers_are_found_in_etcd_and_let_go_when_their_lease_ends() {
    let etcd = Etcd::start();
    let (records, mut publishers) = deployment();
    let lease = etcd.put_leased(&records);
    let kvtop = kvtop(&["--etcd-url", &etcd.url()], &[]);
    for (publisher, messages) in &mut publishers {
        publisher.wait_for("subscribed kv-events");
        publisher.publish(messages);
    }
    let value = compare(kvtop);
    let model = "kvtop-tiny";
    assert!(value.to_string().contains(model), "the cards are read");

    // Dynamo's own variable names the same.
    let mut kvtop = self::kvtop(&[], &[("ETCD_ENDPOINTS", &etcd.url())]);
    for (publisher, _) in &mut publishers {
        publisher.wait_for("subscribed kv-events");
    }
    etcd.revoke(&lease);
    for (publisher, _) in &mut publishers {
        publisher.wait_for("disconnected");
    }
    drop(kvtop.kill());
    drop(kvtop.wait());
}

#[test]
fn the_etcd_that_pods_name_is_read() {
    let etcd = Etcd::start();
    let (records, mut publishers) = deployment();
    etcd.put_leased(&records);
    let kube = FakeKube::demo();
    kube.edit("Pod", "gtc-demo-0-frontend-rmjwp", |pod| {
        let env = pod["spec"]["containers"][0]["env"].as_array_mut().unwrap();
        env.retain(|entry| entry["name"] != "DYN_DISCOVERY_BACKEND");
        env.push(serde_json::json!({ "name": "ETCD_ENDPOINTS", "value": etcd.url() }));
    });
    let config = kube.kubeconfig().display().to_string();
    // The recorded events are of another deployment than the recorded pods.
    let named = ["-n", "gtc-demo", "--kubeconfig", &config, "--dynamo-namespace", "dynamo"];
    let kvtop = kvtop(&named, &[]);
    for (publisher, messages) in &mut publishers {
        publisher.wait_for("subscribed kv-events");
        publisher.publish(messages);
    }
    compare(kvtop);
}

#[test]
fn publishers_are_found_in_a_folder() {
    let folder = Folder::new();
    let (records, mut publishers) = deployment();
    for (key, value) in &records {
        super::folder::write(folder.path(), key, value);
    }
    let place = folder.path().display().to_string();
    let vars = [("DYN_DISCOVERY_BACKEND", "file"), ("DYN_FILE_KV", place.as_str())];
    let kvtop = kvtop(&[], &vars);
    for (publisher, messages) in &mut publishers {
        publisher.wait_for("subscribed kv-events");
        publisher.publish(messages);
    }
    let value = compare(kvtop);
    let frames = |name: &str| {
        let sources = value["sources"].as_array().unwrap();
        sources.iter().find(|row| row["name"] == name).map(|row| row["frames"].as_u64().unwrap())
    };
    assert_eq!((frames("discovery"), frames("etcd")), (Some(records.len() as u64), None));
    let claims = value["claims"].as_array().unwrap();
    let source = |claim: &serde_json::Value| claim["source"].as_str().unwrap().to_owned();
    assert!(claims.iter().any(|claim| source(claim).starts_with("file v1/mdc/")), "{claims:?}");
    assert!(!claims.iter().any(|claim| source(claim).contains("etcd")), "{claims:?}");
}

#[test]
fn doctor_names_the_folder_and_no_etcd() {
    let folder = Folder::new();
    for (key, value) in &records() {
        super::folder::write(folder.path(), key, value);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(["doctor", "--discovery-dir"]).arg(folder.path());
    command.env_remove("NATS_URL").env_remove("NATS_SERVER").stdin(Stdio::null());
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();

    let line = said.lines().find(|line| line.contains(" discovery ")).unwrap_or_default();
    assert!(line.contains("ok") && line.contains("discovery records"), "{said}");
    assert!(!said.contains("etcd"), "{said}");
}

/// Runs `kvtop check` and returns its exit code and what it says.
fn checked(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn check(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.arg("check").args(arguments).env_remove("NATS_URL").env_remove("NATS_SERVER");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_check_ends_after_it_was_said_that_records_name_another_plane() {
    let folder = Folder::new();
    for (key, value) in records_of("1.4.2-healthy") {
        super::folder::write(folder.path(), &key, &value);
    }
    let place = folder.path().display().to_string();
    // Rules judge at each second of the clock: all that counts is when in one a check starts.
    let lengths = ["1s", "3s", "10s", "25s"];
    let checks = lengths.map(|length| {
        std::thread::sleep(std::time::Duration::from_millis(250));
        check(&["--discovery-dir", &place, "--for", length])
    });
    for (length, check) in lengths.iter().zip(checks) {
        let (code, line) = checked(check);
        assert_eq!(code, Some(3), "{length}: {line}");
        assert!(line.contains("advertise KV events over NATS core"), "{length}: {line}");
        assert!(line.contains("does not listen there"), "{length}: {line}");
    }
}

#[test]
fn addresses_that_are_none_are_told_by_one_of_kv_events_with_a_way_out() {
    let folder = Folder::new();
    for (key, value) in records() {
        super::folder::write(
            folder.path(),
            &key,
            &value.replace("tcp://127.0.0.1", "tcp:/nowhere"),
        );
    }
    let place = folder.path().display().to_string();

    let (code, report) = checked(check(&["--discovery-dir", &place, "--for", "1s", "-o", "json"]));

    assert_eq!(code, Some(3), "{report}");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let mut findings = report["findings"].as_array().unwrap().iter();
    let blind = findings.find(|finding| finding["id"] == "KVT004").unwrap();
    let summary = blind["summary"].as_str().unwrap();
    let said =
        "kvtop receives no KV events: 6 of 6 publishers have no usable address; `tcp:/nowhere";
    assert!(summary.starts_with(said) && !summary.contains("v1/"), "{summary}");
    let evidence = blind["evidence"].to_string();
    assert!(evidence.contains("/topic/kv-events/"), "{evidence}");
    assert!(
        blind["fix"]["sentence"].as_str().unwrap().contains("Correct the discovery records"),
        "{blind}"
    );
}

#[test]
fn a_bad_address_is_held_against_nobody_once_its_record_is_gone() {
    let folder = Folder::new();
    let mut channels = Vec::new();
    for (key, value) in records() {
        let value = value.replace("tcp://127.0.0.1", "tcp:/nowhere");
        let path = super::folder::write(folder.path(), &key, &value);
        if key.starts_with("v1/event_channels/") {
            channels.push(path);
        }
    }
    let place = folder.path().display().to_string();
    let zmq = |kvtop: Child| {
        let output = kvtop.wait_with_output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut sources = report["sources"].as_array().unwrap().iter();
        sources.find(|source| source["name"] == "zmq").unwrap()["health"].clone()
    };
    let there = kvtop(&["--discovery-dir", &place], &[]);
    assert_eq!(zmq(there), "down");

    let gone = kvtop(&["--discovery-dir", &place], &[]);
    // By then it was told, well before the end.
    std::thread::sleep(std::time::Duration::from_secs(2));
    for path in &channels {
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(zmq(gone), "ended");
}

#[test]
fn registered_workers_are_listed_before_their_first_event() {
    let folder = Folder::new();
    let mut expected = Vec::new();
    for (key, value) in records() {
        // Where nobody listens.
        super::folder::write(folder.path(), &key, &value.replace("tcp://127.0.0.1", "tcp://[::1]"));
        let value: serde_json::Value = serde_json::from_str(&value).unwrap();
        if value["type"] == "Model" {
            expected.push(value["instance_id"].as_u64().unwrap());
        }
    }
    assert_eq!(expected.len(), 2);
    let place = folder.path().display().to_string();

    let output = kvtop(&["--discovery-dir", &place], &[]).wait_with_output().unwrap();

    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let workers = value["workers"].as_array().unwrap();
    let mut found: Vec<u64> = workers.iter().map(|it| id_of(&it["id"])).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{value:#}");
    assert!(workers.iter().all(|worker| worker["last_event"].is_null()), "{value:#}");
}

fn id_of(value: &serde_json::Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap()
}
