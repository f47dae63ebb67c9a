//! Planted secrets and prompts are in nothing that kvtop writes.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::attach::run;
use crate::bundle::unpacked;
use crate::support::deployment::{Deployment, FRONTEND, WORKERS};
use crate::support::exporter::Exporter;
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

/// Plants every form in files and variables of `ConfigMap`s, and in discovery records.
fn plant_maps(it: &Deployment) {
    let forms: Vec<String> =
        crate::logs::planted::forms().map(|form| form.replace("PLANTED", PLANTED)).collect();
    let mut file = format!("# {PLANTED}\ntokens_per_block: 32\nsystem: |\n  You are {PLANTED}\n");
    let mut variables = serde_json::Map::new();
    for (at, form) in forms.iter().enumerate() {
        let quoted = json!(form);
        let more = format!("a{at}: {quoted}\nb{at}: {{c: [{quoted}]}}\nd{at}: 1 # {form}\n");
        file.push_str(&more);
        for name in ["GREETING", "DYN_GREETING"] {
            variables.insert(format!("{name}_{at}"), quoted.clone());
        }
    }
    let names = ["trtllm-engine-config", "greetings"];
    for (name, data) in names.into_iter().zip([json!({ "agg.yaml": file }), variables.into()]) {
        it.kube.object(json!({
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": { "name": name, "namespace": "gtc-demo" },
            "data": data,
        }));
    }
    it.kube.edit("Pod", FRONTEND.0, |pod| {
        let from = json!([{ "configMapRef": { "name": "greetings" } }]);
        pod["spec"]["containers"][0]["envFrom"] = from;
    });
    let records = it.kube.all("DynamoWorkerMetadata");
    assert!(!records.is_empty());
    for record in &records {
        let name = record["metadata"]["name"].as_str().unwrap();
        it.kube.edit("DynamoWorkerMetadata", name, |record| {
            let cards = record["spec"]["data"]["model_cards"].as_object_mut();
            for (_, card) in cards.into_iter().flatten() {
                card["card_json"]["prompt_formatter"] = json!(forms);
                card["card_json"]["display_name"] = json!(format!("a {PLANTED}"));
            }
            record["spec"]["data"]["note"] = json!({ "text": forms });
        });
    }
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

/// Asserts that the page of `kvtop export` holds nothing that was planted.
async fn exported_without_secrets(it: &Deployment) {
    let arguments = it.arguments();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let exporter = Exporter::started("127.0.0.1:0", &words);
    let is_up = |page: &str| {
        let mut sources = page.lines().filter(|line| line.starts_with("kvtop_source_up{"));
        sources.any(|line| line.ends_with("source=\"logs\"} 1"))
    };
    let mut page = String::new();
    for _ in 0..80 {
        page = exporter.ask("GET /metrics");
        if is_up(&page) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(is_up(&page), "{page}");
    for secret in [PLANTED, TOKEN] {
        assert!(!page.contains(secret), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_planted_is_used_and_never_written() {
    let it = careless();
    plant_graphs(&it);
    plant_maps(&it);
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
    exported_without_secrets(&it).await;
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
    for object in ["greetings", "trtllm-engine-config", "DYN_GREETING_0", "prompt_formatter"] {
        assert!(recorded.contains(object), "{object} was not looked at");
    }
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

/// Runs a command without a cluster, and returns all that it said.
fn said(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).env("HOME", scratch()).stdin(Stdio::null());
    for name in ["KUBECONFIG", "NATS_URL", "NATS_SERVER"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn errors_repeat_no_secret_of_a_file_or_an_address() {
    let folder = scratch();
    let file = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let word = file("word", PLANTED.to_owned());
    let jwt = "-----BEGIN NATS USER JWT-----";
    let creds = file("creds", format!("{jwt}\n{PLANTED}\n------END NATS USER JWT------\n"));
    let torn = file("torn", format!("users:\n- name: a\n  user: {{token: {PLANTED}\n"));
    let config = file("kvtop.toml", format!("theme = {PLANTED}\npassword = \"{PLANTED}\"\n"));
    let nowhere = "nats://127.0.0.1:9";
    let login = |scheme: &str| format!("{scheme}://u:{PLANTED}@127.0.0.1:9");
    let (nats, http, zmq) = (login("nats"), login("http"), login("tcp"));
    let (token, bad) = (format!("{http}/metrics?token={PLANTED}"), format!("{nats}x"));
    let table: [&[&str]; 13] = [
        &["--nats-url", &nats],
        &["--nats-url", &bad],
        &["--nats-url", nowhere, "--nats-creds", &creds],
        &["--nats-url", nowhere, "--nats-nkey", &word],
        &["--nats-url", nowhere, "--nats-user", "u", "--nats-password-file", &word],
        &["-n", "a", "--kubeconfig", &torn],
        &["-n", "a", "--kubeconfig", &word],
        &["--nats-url", nowhere, "--config", &config],
        &["--etcd-url", &http],
        &["--frontend-url", &http],
        &["--frontend-url", &token],
        &["--indexer-url", &http],
        &["--zmq", &zmq],
    ];
    for sources in table {
        let limits: &[&str] = &["--for", "100ms", "--wait", "100ms"];
        let text = said(&[&["check"], sources, limits].concat());
        assert!(!text.contains(PLANTED), "{sources:?}: {text}");
    }
    let text = said(&["export", "--nats-url", nowhere, "--tls-cert", &word, "--tls-key", &word]);
    assert!(!text.contains(PLANTED), "{text}");
}
