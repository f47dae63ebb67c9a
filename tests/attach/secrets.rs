//! Planted secrets and prompts are in nothing that kvtop writes.

use serde_json::json;

use crate::attach::run;
use crate::bundle::unpacked;
use crate::support::deployment::{Deployment, FRONTEND, WORKERS};
use crate::support::kube_api::TOKEN;
use crate::support::nats_server::NatsServer;
use crate::support::scratch;

const PLANTED: &str = "PLANTED-do-not-show";

/// A deployment whose login of NATS is in a Secret, and that is careless with more.
fn careless() -> Deployment {
    use base64::Engine as _;
    let it = Deployment::with(NatsServer::start(&["--user", "alice", "--pass", PLANTED], ""));
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    it.kube.object(json!({
        "kind": "Secret", "apiVersion": "v1",
        "metadata": { "name": "nats-auth", "namespace": "gtc-demo" },
        "data": { "user": encode("alice"), "password": encode(PLANTED) },
    }));
    for pod in WORKERS.map(|(pod, _)| pod).into_iter().chain([FRONTEND.0]) {
        it.kube.edit("Pod", pod, |pod| {
            let key = |key: &str| json!({ "secretKeyRef": { "name": "nats-auth", "key": key } });
            let env = pod["spec"]["containers"][0]["env"].as_array_mut().unwrap();
            env.extend([
                json!({ "name": "NATS_AUTH_USERNAME", "valueFrom": key("user") }),
                json!({ "name": "NATS_AUTH_PASSWORD", "valueFrom": key("password") }),
                json!({ "name": "HF_TOKEN", "value": PLANTED }),
            ]);
        });
        it.kube.log_line(pod, "main", &format!("INFO args: --api-key {PLANTED}"));
        it.kube.log_line(pod, "main", &format!("DEBUG request: messages: [User(\"{PLANTED}\")]"));
    }
    it
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_planted_is_used_and_never_written() {
    let it = careless();
    let folder = scratch();
    let file = folder.join("seen.frames").display().to_string();

    let ticket = folder.join("ticket.tar.zst");
    let packed = ticket.display().to_string();
    let commands: [&[&str]; 6] = [
        &["bundle", "-o", &packed, "--for", "4s"],
        &["record", "-o", &file, "--for", "4s"],
        &["snapshot", "-o", "json", "--for", "2s"],
        &["check", "-o", "json", "--for", "2s"],
        &["doctor"],
        &["doctor", "-o", "json"],
    ];
    for command in commands {
        let output = run(&it, command).await;

        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        for secret in [PLANTED, TOKEN] {
            assert!(!text.contains(secret), "{command:?}: {text}");
        }
        if command == ["doctor"] {
            assert!(text.contains("ok       nats"), "the login is used: {text}");
        }
    }
    let held = unpacked(&ticket);
    assert!(held["recording.frames.zst"].contains(" bytes, shape "), "the lines are described");
    let doctor: serde_json::Value = serde_json::from_str(&held["doctor.json"]).unwrap();
    let checks = doctor["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["area"] == "rights"), "{checks:?}");
    for (name, text) in &held {
        assert!([PLANTED, TOKEN].iter().all(|secret| !text.contains(secret)), "{name}");
    }
    let recorded = std::fs::read_to_string(&file).unwrap();
    assert!(recorded.contains(" bytes, shape "), "the lines are described");
    for secret in [PLANTED, TOKEN] {
        assert!(!recorded.contains(secret));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_in_a_script_costs_no_flag_of_the_command_after_it() {
    let it = Deployment::with(NatsServer::start(&[], ""));
    for (pod, _) in WORKERS {
        let script = format!(
            "export HF_TOKEN={PLANTED}; python3 -m dynamo.trtllm --kv-block-size 64 --model-path x"
        );
        it.kube.edit("Pod", pod, |pod| {
            let container = &mut pod["spec"]["containers"][0];
            container["command"] = json!(["sh", "-c"]);
            container["args"] = json!([script]);
        });
    }

    let output = run(&it, &["snapshot", "-o", "json", "--for", "2s"]).await;

    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains(PLANTED), "{text}");
    let picture: serde_json::Value = serde_json::from_str(&text).unwrap();
    let sizes: Vec<_> = picture["claims"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|claim| claim["what"] == "block_size" && claim["of"] == "publisher")
        .filter(|claim| claim["subject"].as_str().unwrap().starts_with("pod/"))
        .map(|claim| (claim["value"].as_u64(), claim["basis"].as_str()))
        .collect();
    assert_eq!(sizes, [(Some(64), Some("setting")); 2], "{text}");
}

/// Sets variables of every pod.
fn set(it: &Deployment, variables: &[(&str, serde_json::Value)]) {
    for pod in WORKERS.map(|(pod, _)| pod).into_iter().chain([FRONTEND.0]) {
        it.kube.edit("Pod", pod, |pod| {
            let env = pod["spec"]["containers"][0]["env"].as_array_mut().unwrap();
            for (name, value) in variables {
                env.retain(|variable| variable["name"] != *name);
                let mut variable = value.clone();
                variable["name"] = (*name).into();
                env.push(variable);
            }
        });
    }
}

/// Returns verdict and text of what the doctor says of NATS.
async fn nats_by_doctor(it: &Deployment, more: &[&str]) -> (String, String) {
    let output = run(it, &[&["doctor", "-o", "json"], more].concat()).await;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!report.to_string().contains(PLANTED), "{report:#}");
    let mut checks = report["checks"].as_array().unwrap().iter();
    let nats = checks.find(|check| check["name"] == "nats").unwrap();
    let text = |key: &str| nats[key].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("seen"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_user_goes_with_a_password_from_a_secret() {
    let it = careless();
    set(&it, &[("NATS_AUTH_USERNAME", json!({ "value": "alice" }))]);

    assert_eq!(nats_by_doctor(&it, &[]).await.0, "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_in_the_address_is_not_kept_and_it_is_said_whose_and_how_to_give_it() {
    const NATS: &str = "dynamo-platform-nats.dynamo-system.svc.cluster.local";
    let it = Deployment::with(NatsServer::start(&["--user", "alice", "--pass", PLANTED], ""));
    let address = format!("nats://alice:{PLANTED}@{NATS}:4222");
    set(&it, &[("NATS_SERVER", json!({ "value": address }))]);

    let (verdict, seen) = nats_by_doctor(&it, &[]).await;
    assert_eq!(verdict, "failed");
    let parts = [NATS, FRONTEND.0, "carries one, which kvtop does not keep", "--nats-user"];
    assert!(parts.iter().all(|part| seen.contains(part)), "{seen}");
    // The port of the forward is nobody's address.
    assert!(!seen.contains("127.0.0.1"), "{seen}");

    let folder = scratch();
    let file = folder.join("password");
    std::fs::write(&file, "wrong").unwrap();
    let flags = ["--nats-user", "alice", "--nats-password-file", file.to_str().unwrap()];
    let (verdict, seen) = nats_by_doctor(&it, &flags).await;
    assert_eq!(verdict, "failed");
    assert!(seen.contains("user and password from the command line"), "{seen}");
    assert!(seen.contains(FRONTEND.0) && !seen.contains("address from"), "{seen}");
    std::fs::write(&file, PLANTED).unwrap();
    assert_eq!(nats_by_doctor(&it, &flags).await.0, "ok");
}
