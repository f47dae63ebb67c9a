//! What is shown of a namespace that works.

use std::collections::BTreeSet;

use kvtop::domain::SourceName;
use kvtop::frame::{Body, Frame, Origin};
use kvtop::wire::health;
use serde_json::Value;

use crate::attach::{run, run_with, screen};
use crate::nats::Publisher;
use crate::support::deployment::{Deployment, FRONTEND, NATS_POD, WORKERS, messages};
use crate::support::endpoint::Endpoint;
use crate::support::kube_api::FakeKube;
use crate::support::nats_server::{Folder, NatsServer};
use crate::support::{frames, scratch};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_is_followed_from_its_pods_to_its_events() {
    let it = Deployment::start();
    it.publish(&messages()).await;

    let mut pty = screen(&it);

    // CACHED is as the reference counted it, KV% and HIT% are as the engines say.
    pty.wait_for("every column", |screen| {
        let row = |pod: &str, parts: &[&str]| {
            let mut lines = screen.lines().filter(|line| line.contains(pod));
            lines.any(|line| parts.iter().all(|part| line.contains(part)))
        };
        row("fhhcl", &["127", "42%", " 50 "]) && row("mj7km", &["111", "17%", " 25 "])
    });
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    for request in it.kube.requests() {
        assert!(!request.path.contains("/secrets"), "{request:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nats_server_that_somebody_names_is_used_instead_of_that_of_the_pods() {
    let it = Deployment::start();
    let own = NatsServer::with_jetstream();
    let publisher = Publisher::to(&own.url()).await;
    publisher.make_streams(&messages()).await;
    publisher.publish(&messages()).await;
    let config = scratch();
    let folder = config.join("nats/context");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("own.json"), format!("{{\"url\":\"{}\"}}", own.url())).unwrap();
    let config = config.display().to_string();
    let (url, home) = (own.url(), ("XDG_CONFIG_HOME", config.as_str()));
    let snapshot = ["snapshot", "-o", "json", "--for", "2s"];
    let with_context = [&snapshot[..], &["--nats-context", "own"]].concat();
    let ways = [
        (with_context, home),
        (snapshot.to_vec(), ("KVTOP_NATS_CONTEXT", "own")),
        (snapshot.to_vec(), ("KVTOP_NATS_URL", &url)),
    ];
    for (arguments, named) in ways {
        let variables = [home, named];
        let output = run_with(&it, &arguments, &variables).await;

        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
        assert_eq!(report["tree"]["held_blocks"], 238, "{arguments:?} {variables:?} {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_has_the_pods_their_metrics_and_each_claim_with_its_source() {
    let it = Deployment::start();
    it.publish(&messages()).await;

    let output = run(&it, &["snapshot", "-o", "json", "--for", "3s"]).await;

    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{error}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let workers = report["workers"].as_array().unwrap();
    let of = |pod: &str| workers.iter().find(|worker| worker["pod"] == pod).unwrap();
    let (first, second) = (of(WORKERS[0].0), of(WORKERS[1].0));
    assert_eq!(workers.len(), 2, "{workers:#?}");
    assert_eq!((&first["kv_utilization"], &second["kv_utilization"]), (&0.42.into(), &0.17.into()));
    let held: BTreeSet<u64> =
        workers.iter().map(|worker| worker["held"].as_u64().unwrap()).collect();
    assert_eq!(held, [111, 127].into());
    assert_eq!(first["capacity_blocks"], 41_234);
    let claims = report["claims"].as_array().unwrap();
    assert!(claims.len() > 10, "{}", claims.len());
    for claim in claims {
        for part in ["source", "raw"] {
            assert!(claim[part].as_str().is_some_and(|text| !text.is_empty()), "{claim}");
        }
    }
    let sources: Vec<&str> = claims.iter().filter_map(|claim| claim["source"].as_str()).collect();
    let wanted = ["metrics of gtc-demo-0-frontend-rmjwp", "ConfigMap trtllm-engine-config"];
    for source in wanted {
        assert!(sources.iter().any(|known| known.starts_with(source)), "{source}: {sources:#?}");
    }
    only_reads(&it);
    let forward = format!("/pods/{NATS_POD}/portforward");
    assert!(it.kube.requests().iter().any(|request| request.path.ends_with(&forward)));
}

/// Asserts that nothing was asked but what docs/ARCHITECTURE.md names.
fn only_reads(it: &Deployment) {
    assert_eq!(namespaces_asked(&it.kube), 0);
    only_known(it);
}

/// Returns how often the namespaces of the cluster were listed.
pub(super) fn namespaces_asked(kube: &FakeKube) -> usize {
    kube.requests().iter().filter(|request| request.path == "/api/v1/namespaces").count()
}

/// Asserts the same, but for namespaces that were listed.
pub(super) fn only_known(it: &Deployment) {
    let known = [
        "/api/v1/namespaces",
        "/api/v1/namespaces/gtc-demo",
        "/api/v1/namespaces/other-team",
        "/version",
        "/apis/nvidia.com",
        "/apis/nvidia.com/v1alpha1",
        "/pods",
        "/configmaps",
        "/endpointslices",
        "/dynamographdeployments",
        "/dynamoworkermetadatas",
        "/log",
        "/portforward",
        "/services/dynamo-platform-nats",
    ];
    for request in it.kube.requests() {
        assert_eq!(request.method, "GET", "{request:?}");
        assert!(known.iter().any(|end| request.path.ends_with(end)), "{request:?}");
    }
    let asked =
        it.frontend.requests().into_iter().chain(it.engines.iter().flat_map(Endpoint::requests));
    for head in asked {
        assert!(head.starts_with("GET /metrics HTTP/1.1\n"), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_graph_deployments_are_named_and_one_can_be_chosen() {
    let it = Deployment::start();
    let mut second = crate::support::kube_api::recorded_objects("dgd/list").remove(0);
    second["metadata"]["name"] = "another".into();
    it.kube.object(second);

    let output = run(&it, &["snapshot", "-o", "json", "--for", "2s"]).await;
    let told = String::from_utf8(output.stderr).unwrap();
    let sentence = "kvtop: namespace `gtc-demo` has 2 graph deployments (another, gtc-demo); \
                    showing all, pass --dgd to select one\n";
    assert_eq!(told, sentence);

    let output = run(&it, &["snapshot", "-o", "json", "--for", "2s", "--dgd", "gtc-demo"]).await;
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["dynamo"]["dgd"], "gtc-demo");
    assert_eq!(report["pods"].as_array().unwrap().len(), 3);

    let output = run(&it, &["snapshot", "-o", "json", "--dgd", "third"]).await;
    let told = String::from_utf8(output.stderr).unwrap();
    let sentence = "no graph deployment `third` in namespace `gtc-demo` (existing: another, \
                    gtc-demo)";
    assert!(told.contains(sentence), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_behind_a_forward_is_checked_for_the_name_that_pods_use() {
    let name = "dynamo-platform-nats.dynamo-system.svc.cluster.local";
    for (made_for, code) in [(name, 0), ("another.example.com", 1)] {
        let folder = Folder::new();
        crate::nats::certificate(&folder, made_for);
        let file = |name: &str| folder.path().join(name);
        let config = format!(
            "tls {{ cert_file: {:?}, key_file: {:?} }}",
            file("server.pem"),
            file("server.key")
        );
        let it = Deployment::with(NatsServer::start(&["-js"], &config));
        for pod in WORKERS.map(|(pod, _)| pod).into_iter().chain([FRONTEND.0]) {
            it.kube.edit("Pod", pod, |pod| {
                let env = pod["spec"]["containers"][0]["env"].as_array_mut().unwrap();
                let server = env.iter_mut().find(|it| it["name"] == "NATS_SERVER").unwrap();
                server["value"] = format!("tls://{name}:4222").into();
            });
        }

        let ca = file("ca.pem").display().to_string();
        let output = run(&it, &["doctor", "--nats-tls-ca", &ca]).await;

        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert_eq!(text.contains("TLS with"), code == 1, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_that_may_not_be_listed_are_not_called_missing() {
    let it = Deployment::start();
    it.kube.deny("list", "pods");

    let output = run(&it, &["snapshot", "-o", "json", "--for", "1s"]).await;

    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("kubernetes: no permission: needs list on pods"), "{told}");
    assert!(!told.contains("no Dynamo pod"), "{told}");
}

/// Logs and metrics suggest verdicts of their own. They would be withdrawn if it came out only then that there is a
/// history to read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_history_is_to_be_read_is_known_before_logs_and_metrics_tell_of_anything() {
    let it = Deployment::start();
    it.publish(&messages()).await;
    for (pod, _) in WORKERS.iter().chain([&FRONTEND]) {
        it.kube.log_line(pod, "main", "a line");
    }
    let file = scratch().join("attached.frames");

    let output = run(&it, &["record", "-o", file.to_str().unwrap(), "--for", "3s"]).await;

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let frames = frames(&file);
    let is_told =
        |frame: &Frame| matches!(frame.origin, Origin::Log { .. } | Origin::Metrics { .. });
    let is_of_nats = |frame: &Frame| matches!(&frame.origin, Origin::Health { source } if *source == SourceName::Nats);
    let told = frames.iter().position(is_told).expect("logs or metrics");
    let nats = frames.iter().position(is_of_nats).expect("a note of NATS");
    let Body::Whole(text) = &frames[nats].body else { panic!("{:?}", frames[nats]) };
    let note = health::decode(&SourceName::Nats, frames[nats].at, text).unwrap();
    assert!(note.pending && nats < told, "{nats} of {note:?}, {told}");
}
