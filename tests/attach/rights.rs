//! The rights that the documentation grants carry everything that kvtop does.

use serde_json::{Value, json};

use crate::attach::run;
use crate::nats::Publisher;
use crate::support::deployment::{Deployment, FRONTEND, WORKERS, messages};
use crate::support::nats_server::NatsServer;

/// Returns the permissions of the account in docs/reference/nats.md.
fn documented_permissions() -> String {
    let page = std::fs::read_to_string("docs/reference/nats.md").unwrap();
    let account = page.split("An account that allows exactly this:").nth(1).unwrap();
    account.split("```").nth(1).unwrap().to_owned()
}

/// Returns what `kvtop rbac` prints for somebody outside the cluster.
fn printed_roles() -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(["rbac", "-n", "gtc-demo", "--secret", "nats-auth"]);
    command.args(["--port-forward", "--nats-namespace", "dynamo-system"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documented_account_and_printed_roles_carry_the_whole_attach() {
    use base64::Engine as _;
    let permissions = documented_permissions();
    let server = NatsServer::start(
        &["-js"],
        &format!(
            "accounts {{ dynamo {{ jetstream: enabled\n users: [ {{ user: worker, password: worker }}\n\
             {{ user: viewer, password: seen\n {permissions} }} ] }} }}"
        ),
    );
    let it = Deployment::with(server);
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    it.kube.object(json!({
        "kind": "Secret", "apiVersion": "v1",
        "metadata": { "name": "nats-auth", "namespace": "gtc-demo" },
        "data": { "user": encode("viewer"), "password": encode("seen") },
    }));
    for (pod, _) in WORKERS.iter().chain([&FRONTEND]) {
        it.kube.edit("Pod", pod, |pod| {
            let key = |key: &str| json!({ "secretKeyRef": { "name": "nats-auth", "key": key } });
            pod["spec"]["containers"][0]["env"].as_array_mut().unwrap().extend([
                json!({ "name": "NATS_AUTH_USERNAME", "valueFrom": key("user") }),
                json!({ "name": "NATS_AUTH_PASSWORD", "valueFrom": key("password") }),
            ]);
        });
    }
    it.kube.permit_only(&printed_roles());
    let login =
        async_nats::ConnectOptions::with_user_and_password("worker".into(), "worker".into());
    let publisher = Publisher::with(login, &it.server.url()).await;
    let messages = messages();
    publisher.make_streams(&messages).await;
    publisher.publish(&messages).await;

    let output = run(&it, &["snapshot", "-o", "json", "--for", "3s"]).await;

    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
    let held = report["workers"].as_array().unwrap().iter().map(|row| row["held"].as_u64());
    assert_eq!(held.flatten().sum::<u64>(), 238, "{error}");
    for source in report["sources"].as_array().unwrap() {
        let why = source["why"].as_str().unwrap_or_default();
        assert!(!why.contains("needs") && !why.contains("may not"), "{source}");
    }
    let doctor = run(&it, &["doctor", "-o", "json"]).await;
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    for check in report["checks"].as_array().unwrap() {
        let refused = check["area"] == "rights" && check["verdict"] == "failed";
        assert!(!refused, "{check}");
    }
    let log = it.server.log();
    assert!(!log.contains("Permissions Violation"), "{log}");
    let name = format!("kvtop/{} (", env!("CARGO_PKG_VERSION"));
    for asked in it.kube.requests() {
        assert_eq!(asked.method, "GET", "{asked:?}");
        // A websocket of a forward is opened by the client library alone.
        let forward = asked.path.ends_with("/portforward");
        assert!(forward || asked.agent.starts_with(&name), "{asked:?}");
    }
    let scrapes = it.frontend.requests();
    assert!(!scrapes.is_empty());
    assert!(scrapes.iter().all(|asked| asked.contains(&name)), "{scrapes:?}");
}
