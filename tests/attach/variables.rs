//! Variables that pods and graph deployments take from `ConfigMap`s.

use serde_json::{Value, json};

use crate::attach::{run, screen};
use crate::support::deployment::{Deployment, FRONTEND, WORKERS};
use crate::support::scratch;

const PLANTED: &str = "PLANTED-do-not-show";

/// Adds a `ConfigMap`.
fn map(it: &Deployment, name: &str, data: &Value) {
    it.kube.object(json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": { "name": name, "namespace": "gtc-demo" },
        "data": data,
    }));
}

/// Has the frontend take its variables from `from`, besides some of its own.
fn borrow(it: &Deployment, from: &Value, own: &[Value]) {
    it.kube.edit("Pod", FRONTEND.0, |pod| {
        let container = &mut pod["spec"]["containers"][0];
        container["envFrom"] = from.clone();
        container["args"] = json!(["-m", "dynamo.frontend"]);
        let env = container["env"].as_array_mut().unwrap();
        env.retain(|entry| !entry["name"].as_str().unwrap().starts_with("DYN_ROUTER"));
        env.retain(|entry| entry["name"] != "DYN_KV_CACHE_BLOCK_SIZE");
        env.extend(own.iter().cloned());
    });
}

/// Returns the claims about the frontend's pod: what, value, basis, source.
async fn claims(it: &Deployment) -> Vec<[String; 4]> {
    let output = run(it, &["snapshot", "-o", "json", "--for", "2s"]).await;
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(&text).unwrap();
    let subject = format!("pod/{}", FRONTEND.0);
    let claims = report["claims"].as_array().unwrap().iter();
    let part = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    claims
        .filter(|claim| claim["subject"] == subject.as_str())
        .map(|claim| ["what", "value", "basis", "source"].map(|key| part(&claim[key])))
        .collect()
}

fn of<'a>(claims: &'a [[String; 4]], what: &str) -> Vec<[&'a str; 3]> {
    let of = claims.iter().filter(|claim| claim[0] == what && claim[2] != "observed");
    of.map(|[_, value, basis, source]| [value.as_str(), basis, source]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variables_of_config_maps_are_claims_with_their_key() {
    let it = Deployment::start();
    map(
        &it,
        "router-env",
        &json!({
            "DYN_ROUTER_MODE": "round-robin",
            "DYN_KV_CACHE_BLOCK_SIZE": "16",
            "DYN_ROUTER_TEMPERATURE": "0.7",
            "DYN_KV_EVENTS": "false",
        }),
    );
    map(&it, "late", &json!({ "ROUTER_MODE": "kv" }));
    map(&it, "sizes", &json!({ "block-size": "64" }));
    let from = json!([
        { "configMapRef": { "name": "router-env" } },
        { "prefix": "DYN_", "configMapRef": { "name": "late" } },
        { "configMapRef": { "name": "nowhere", "optional": true } },
    ]);
    let key = json!({ "configMapKeyRef": { "name": "sizes", "key": "block-size" } });
    let own = [
        json!({ "name": "DYN_KV_CACHE_BLOCK_SIZE", "valueFrom": key }),
        json!({ "name": "DYN_ROUTER_TEMPERATURE", "value": "0.1" }),
    ];
    borrow(&it, &from, &own);

    let claims = claims(&it).await;

    let source = |rest: &str| format!("pod {}, {rest}", FRONTEND.0);
    // A later source wins, and the pod's own variables win over all.
    let mode = source("env DYN_ROUTER_MODE (ConfigMap late: ROUTER_MODE)");
    assert_eq!(of(&claims, "router_mode"), [["kv", "setting", &mode]]);
    let size = source("env DYN_KV_CACHE_BLOCK_SIZE (ConfigMap sizes: block-size)");
    assert_eq!(of(&claims, "block_size"), [["64", "setting", &size]]);
    let heat = source("env DYN_ROUTER_TEMPERATURE");
    assert_eq!(of(&claims, "router_temperature"), [["0.1", "setting", &heat]]);
    let events = source("env DYN_KV_EVENTS (ConfigMap router-env)");
    assert_eq!(of(&claims, "kv_events"), [["false", "setting", &events]]);
    // The one that is not there is optional: what nothing sets is a default.
    assert_eq!(of(&claims, "replica_sync")[0][1], "default");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_config_map_that_may_not_be_read_sets_is_unknown() {
    let it = Deployment::start();
    map(&it, "router-env", &json!({ "DYN_ROUTER_MODE": "kv" }));
    borrow(&it, &json!([{ "configMapRef": { "name": "router-env" } }]), &[]);
    it.kube.deny("list", "configmaps");

    let claims = claims(&it).await;

    for what in ["router_mode", "block_size", "kv_events"] {
        assert_eq!(of(&claims, what), [[""; 3]; 0], "{what}");
    }
    assert!(!claims.is_empty(), "the pod itself is read");
    let output = run(&it, &["snapshot", "-o", "json", "--for", "2s"]).await;
    let told = String::from_utf8_lossy(&output.stderr);
    let note = format!(
        "pod `{}` reads variables from ConfigMap `router-env`, which is missing or not readable; \
         those variables are unknown",
        FRONTEND.0
    );
    assert!(told.contains(&note), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_nats_server_of_a_config_map_is_listened_to_and_its_secrets_stay_there() {
    let it = Deployment::start();
    let mut address = Value::Null;
    it.kube.edit("Pod", FRONTEND.0, |pod| {
        let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
        let server = env.iter().find(|entry| entry["name"] == "NATS_SERVER").unwrap();
        address = server["value"].clone();
    });
    map(
        &it,
        "platform",
        &json!({
            "NATS_SERVER": address,
            "HF_TOKEN": PLANTED,
        }),
    );
    map(&it, "login", &json!({ "users": format!("admin:{PLANTED}"), "size": "16" }));
    for pod in WORKERS.map(|(pod, _)| pod).into_iter().chain([FRONTEND.0]) {
        it.kube.edit("Pod", pod, |pod| {
            let container = &mut pod["spec"]["containers"][0];
            container["envFrom"] = json!([{ "configMapRef": { "name": "platform" } }]);
            let env = container["env"].as_array_mut().unwrap();
            env.retain(|entry| entry["name"] != "NATS_SERVER");
            env.push(json!({ "name": "SIZE", "valueFrom":
                { "configMapKeyRef": { "name": "login", "key": "size" } } }));
        });
    }

    let output = run(&it, &["doctor"]).await;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("ok       nats"), "{text}");

    let file = scratch().join("seen.frames");
    run(&it, &["record", "-o", file.to_str().unwrap(), "--for", "2s"]).await;
    let recorded = std::fs::read_to_string(&file).unwrap();
    assert!(recorded.contains("\\\"size\\\":\\\"16\\\""), "variables are recorded");
    // The whole environment of a process is its own; what else a map holds is not.
    assert!(!recorded.contains(PLANTED));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_map_that_changes_is_not_what_a_running_pod_was_started_with() {
    let it = Deployment::start();
    map(&it, "router-env", &json!({ "DYN_KV_CACHE_BLOCK_SIZE": "16" }));
    borrow(&it, &json!([{ "configMapRef": { "name": "router-env" } }]), &[]);
    let mut pty = screen(&it);
    let declared = |size: &str| {
        let size = format!("declared {size}");
        move |screen: &str| screen.contains(&size)
    };
    pty.wait_for("the declared size", declared("16"));

    it.kube.edit("ConfigMap", "router-env", |map| {
        map["data"]["DYN_KV_CACHE_BLOCK_SIZE"] = "64".into();
    });
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    pty.wait_for("what it was started with", declared("16"));

    // Its container starts anew, and reads what is there by now.
    it.kube.edit("Pod", FRONTEND.0, |pod| {
        let status = &mut pod["status"]["containerStatuses"][0];
        status["restartCount"] = 1.into();
        status["state"]["running"]["startedAt"] = "2026-11-21T09:00:00Z".into();
    });
    pty.wait_for("what it is started with now", declared("64"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
