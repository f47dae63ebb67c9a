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
        it.kube.edit("Pod", pod, plant);
        it.kube.log_line(pod, "main", &format!("INFO args: --api-key {PLANTED}"));
        it.kube.log_line(pod, "main", &format!("DEBUG request: messages: [User(\"{PLANTED}\")]"));
    }
    it
}

/// Plants every form of `logs::planted` in each place of a pod that people write to.
fn plant(pod: &mut serde_json::Value) {
    let mut forms: Vec<String> =
        crate::logs::planted::forms().map(|form| form.replace("PLANTED", PLANTED)).collect();
    forms.push(PLANTED.to_owned());
    forms.push(format!("{PLANTED} is what a user asked"));
    assert!(forms.len() > 60);
    pod["metadata"]["annotations"] =
        json!({ "team/note": PLANTED, "nvidia.com/note": format!("a {PLANTED}") });
    pod["metadata"]["labels"]["team"] = PLANTED.into();
    pod["status"]["message"] = PLANTED.into();
    pod["status"]["containerStatuses"][0]["lastState"] = json!({
        "terminated": { "reason": "Error", "exitCode": 1, "message": format!("prompt was {PLANTED}") },
    });
    let container = &mut pod["spec"]["containers"][0];
    container["livenessProbe"] = json!({ "exec": { "command": ["sh", "-c", PLANTED] } });
    container["lifecycle"] = json!({ "postStart": { "exec": { "command": [PLANTED] } } });
    if container["args"].is_null() {
        container["args"] = json!([]);
    }
    let args = container["args"].as_array_mut().unwrap();
    for form in &forms {
        args.extend([json!("--greeting"), json!(form), json!(format!("--greeting={form}"))]);
        args.push(json!(form));
    }
    let env = container["env"].as_array_mut().unwrap();
    for (at, form) in forms.iter().enumerate() {
        for name in ["GREETING", "DYN_GREETING", "MODEL_GREETING"] {
            env.push(json!({ "name": format!("{name}_{at}"), "value": form }));
        }
    }
    // A side-car whose script says all of it.
    let lines: Vec<String> =
        forms.iter().map(|form| format!("say --hint \"{form}\" # {form}")).collect();
    let script = lines.join("\n");
    let sidecar = json!({ "name": "side", "image": "busybox", "command": ["bash", "-c", script] });
    pod["spec"]["containers"].as_array_mut().unwrap().push(sidecar);
}

/// Plants in the graph deployments, where people write.
fn plant_graphs(it: &Deployment) {
    let graphs = it.kube.all("DynamoGraphDeployment");
    assert!(!graphs.is_empty());
    for graph in &graphs {
        let name = graph["metadata"]["name"].as_str().unwrap().to_owned();
        it.kube.edit("DynamoGraphDeployment", &name, |graph| {
            graph["metadata"]["annotations"] = json!({ "note": PLANTED });
            graph["status"]["conditions"] =
                json!([{ "type": "Ready", "status": "False", "message": PLANTED }]);
            for (_, service) in graph["spec"]["services"].as_object_mut().unwrap() {
                service["annotations"] = json!({ "note": PLANTED });
                service["livenessProbe"] = json!({ "exec": { "command": [PLANTED] } });
                service["extraPodSpec"]["nodeSelector"] = json!({ "x": PLANTED });
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_planted_is_used_and_never_written() {
    let it = careless();
    plant_graphs(&it);
    let folder = scratch();
    let file = folder.join("seen.frames").display().to_string();

    let ticket = folder.join("ticket.tar.zst");
    let packed = ticket.display().to_string();
    let commands: [&[&str]; 8] = [
        &["bundle", "-o", &packed, "--for", "4s"],
        &["record", "-o", &file, "--for", "4s"],
        &["snapshot", "-o", "json", "--for", "2s"],
        &["snapshot", "-o", "html", "--view", "workers", "--for", "2s"],
        &["check", "-o", "json", "--for", "2s"],
        &["check", "-o", "prometheus", "--for", "2s"],
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
        for secret in [PLANTED, TOKEN] {
            let at = text.find(secret);
            assert!(
                at.is_none(),
                "{name}: {:?}",
                at.map(|at| &text[at.saturating_sub(300)..at + 40])
            );
        }
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
