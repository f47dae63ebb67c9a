//! `kvtop check` as monitoring systems use it: its formats, its codes, and a real server.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use kvtop::domain::{SourceName, SourceState, Stake};
use kvtop::record::{Header, RecordWriter};
use kvtop::report::prometheus::{self, Level, Process, Watched};
use kvtop::snapshot::{CheckVerdict, SourceRow, Standing};
use serde_json::Value;

use crate::nats::{Publisher, recording};
use crate::support::nats_server::NatsServer;
use crate::support::prometheus::holds;
use crate::support::{captures, findings, fixture, frames, pictures, played, scratch};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.arg("check").args(arguments).env("HOME", scratch());
    for name in ["NATS_URL", "NATS_SERVER", "KVTOP_NATS_URL", "XDG_CONFIG_HOME", "KUBECONFIG"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn check(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the families of a page with their types, and holds that it is well formed.
fn families(page: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut current = String::new();
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').unwrap();
            assert!(helped.insert(name.to_owned()) && !text.is_empty(), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert!(helped.contains(name), "TYPE before HELP: {line}");
            assert!(found.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
            name.clone_into(&mut current);
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        } else {
            let name = line.split(['{', ' ']).next().unwrap();
            assert_eq!(name, current, "a sample outside its family: {line}");
        }
    }
    assert!(page.ends_with('\n'));
    found
}

#[test]
fn metrics_of_every_recording_are_well_formed_and_say_what_the_json_says() {
    for (name, path) in captures() {
        let path = path.to_str().unwrap();
        let page = stdout(&check(&["--replay", path, "-o", "prometheus"]));
        let report: Value =
            serde_json::from_str(&stdout(&check(&["--replay", path, "-o", "json"]))).unwrap();

        let kinds = families(&page);
        let lines = page.lines().map(|line| Ok(line.to_owned()));
        let scrape = prometheus_parse::Scrape::parse(lines).unwrap();
        let samples = page.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(scrape.samples.len(), samples, "{name}");
        let value = |metric: &str, finding: &str| {
            let sample = scrape.samples.iter().find(|sample| {
                sample.metric == metric
                    && sample.labels.get("finding").is_none_or(|id| id == finding)
            });
            match sample.unwrap_or_else(|| panic!("{name}: no {metric}")).value {
                prometheus_parse::Value::Counter(value) | prometheus_parse::Value::Gauge(value) => {
                    value
                }
                ref other => panic!("{metric}: {other:?}"),
            }
        };
        assert_eq!(kinds["kv_router_block_size_mismatch_total"], "counter");
        let status = report["status"].as_str().unwrap().to_lowercase();
        for known in ["ok", "warning", "critical", "unknown"] {
            let line = format!("status=\"{known}\"}} {}\n", u8::from(known == status));
            assert!(page.contains(&line), "{name}: {line}");
        }
        let open = |id: &str| {
            let mut all = report["findings"].as_array().unwrap().iter();
            all.any(|found| found["id"] == id && found["resolved"].is_null())
        };
        for id in ["KVT001", "KVT002", "KVT016"] {
            let counted = value("kv_router_block_size_mismatch_total", id);
            assert_eq!(counted > 0.5, open(id), "{name} {id}");
        }
    }
}

#[test]
fn names_from_outside_cannot_break_the_metrics() {
    let frames = crate::support::frames(&fixture("clusters/config-map.frames"));
    let (_, mut snapshot) = played(&frames);
    assert!(!snapshot.workers.is_empty());
    let name = "a\"b\\c\nd{e}";
    Arc::make_mut(&mut snapshot.workers)[0].pod = Some(name.to_owned());
    Arc::make_mut(&mut snapshot.workers)[0].block_size.engine = Some(64);

    let watched =
        Watched { snapshot: &snapshot, namespace: Some("a\"b"), ready: true, named: true };
    let page = prometheus::export(&[watched], Level::Rank, &Process::default());
    let text = page.text();

    families(&text);
    assert!(text.contains(r#"pod="a\"b\\c\nd{e}""#) && !text.contains("\nd{"), "{text}");
    assert!(text.contains(r#"namespace="a\"b""#) && text.contains(r#"of="engine"} 64"#), "{text}");
    holds(&["check", "metrics"], &text);
    let open = std::sync::Arc::new(page).open_metrics();
    assert!(open.contains(r#"pod="a\"b\\c\nd{e}""#) && !open.contains("\nd{"), "{open}");
}

#[test]
fn the_line_for_monitoring_is_one_line_with_performance_data() {
    for (name, path) in captures() {
        let text = stdout(&check(&["--replay", path.to_str().unwrap()]));

        assert_eq!(text.matches('\n').count(), 1, "{name}: {text}");
        assert_eq!(text.matches('|').count(), 1, "{name}: {text}");
        let (said, data) = text.trim_end().split_once(" | ").unwrap();
        let mut words = said.splitn(4, ' ');
        assert_eq!(words.next(), Some("KVTOP"));
        assert!(["OK", "WARNING", "CRITICAL", "UNKNOWN"].contains(&words.next().unwrap()));
        assert_eq!(words.next(), Some("-"));
        for pair in data.split(' ') {
            let (label, value) = pair.split_once('=').unwrap();
            let number = value.trim_end_matches(['c', '%']);
            assert!(number.parse::<f64>().is_ok(), "{name}: {pair}");
            assert!(label.chars().all(|l| l.is_ascii_lowercase() || l == '_'), "{name}: {pair}");
        }
    }
}

#[test]
fn blocks_from_before_the_attach_are_not_counted_as_none() {
    let (_, path) = captures().into_iter().find(|(name, _)| name == "1.6.1-healthy").unwrap();
    let whole = stdout(&check(&["--replay", path.to_str().unwrap()]));
    assert!(whole.contains(" accepted=") && whole.contains(" held="), "{whole}");

    let frames = frames(&path);
    let late = scratch().join("late.frames");
    let mut writer = RecordWriter::create(&late, &Header::default()).unwrap();
    for frame in &frames[frames.len() / 2..] {
        writer.write(frame).unwrap();
    }
    writer.finish().unwrap();
    let late = stdout(&check(&["--replay", late.to_str().unwrap()]));
    assert!(late.contains(" stores=") && !late.contains("accepted="), "{late}");
}

#[test]
fn what_cannot_be_looked_at_is_unknown_in_every_format() {
    let run = |format| check(&["-o", format, "--replay", "no-such-file"]);
    let [text, json, metrics] = ["text", "json", "prometheus"].map(run);

    for output in [&text, &json, &metrics] {
        assert_eq!(output.status.code(), Some(3));
    }
    assert!(stdout(&text).starts_with("KVTOP UNKNOWN - could not open `no-such-file`"));
    let report: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!((&report["status"], &report["exit"]), (&"UNKNOWN".into(), &3.into()));
    assert!(report["error"].as_str().unwrap().contains("no-such-file"));
    assert!(report["findings"].as_array().unwrap().is_empty());
    families(&stdout(&metrics));
    assert!(stdout(&metrics).ends_with("kvtop_status{status=\"unknown\"} 1\n"));
}

#[test]
fn command_lines_that_cannot_be_understood_are_unknown() {
    for arguments in
        [&["--for", "soon"][..], &["--wait", "-1s"], &["-o", "xml"], &["--replay"], &["surplus"]]
    {
        assert_eq!(check(arguments).status.code(), Some(3), "{arguments:?}");
    }
    // A recording is judged at once: what would be ignored is refused.
    let recording = fixture("captures/0.9.0-healthy.frames.gz");
    let recording = recording.to_str().unwrap();
    for (flag, time) in [("--for", "5s"), ("--wait", "2m")] {
        let refused = check(&["--replay", recording, flag, time]);
        assert_eq!(refused.status.code(), Some(3), "{flag}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("cannot be used with") && said.contains("--replay"), "{said}");
    }
}

fn code(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), stdout(&output))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_deployment_is_judged_after_it_was_listened_to() {
    let messages = recording("0.9.0-mm_pub32_eng16");
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages).await;

    let (code, line) =
        code(command(&["--for", "1s", "--nats-url", &server.url()]).spawn().unwrap());

    assert_eq!(code, Some(2), "{line}");
    assert!(line.starts_with("KVTOP CRITICAL - KVT001 block-size-mismatch"), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_may_not_subscribe_is_named_with_what_it_lacks() {
    let accounts = r#"authorization { users: [ { user: deaf, password: deaf,
        permissions: { subscribe: ["_INBOX.>"] } } ] }"#;
    let server = NatsServer::start(&["-js"], accounts);
    let url = format!("nats://deaf:deaf@{}", server.host());

    let (code, line) = code(command(&["--for", "1s", "--nats-url", &url]).spawn().unwrap());

    assert_eq!(code, Some(3), "{line}");
    assert!(line.starts_with("KVTOP UNKNOWN - KVT004 event-plane-not-visible"), "{line}");
    assert!(line.contains("may not subscribe to `*.kv-events` and `namespace.>`"), "{line}");
}

#[test]
fn a_silent_server_is_no_idle_cluster_without_a_word_on_zmq() {
    let server = NatsServer::with_jetstream();

    let output = check(&["--for", "11s", "-o", "json", "--nats-url", &server.url()]);

    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["exit"], 3, "{report:#}");
    let mut checks = report["checks"].as_array().unwrap().iter();
    let blind = checks.find(|check| check["id"] == "KVT004").unwrap();
    let missing = blind["missing"].as_str().unwrap();
    for part in ["events use ZMQ", "--zmq", "--etcd-url", "--discovery-dir", " -n"] {
        assert!(missing.contains(part), "no `{part}` in {missing}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_ends_when_all_is_well_and_not_before() {
    let messages = recording("0.9.0-healthy");
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    // Nobody is seen to route yet, so that nothing is known.
    let short = command(&["--for", "1s", "--wait", "2s", "--nats-url", &server.url()]);
    let (unknown, line) = code({ short }.spawn().unwrap());
    assert_eq!(unknown, Some(3), "{line}");

    let long = command(&["--for", "1s", "--wait", "10m", "--nats-url", &server.url()]);
    let mut waiting = { long }.spawn().unwrap();
    let (kept, passing): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|(subject, _)| subject.ends_with("kv-events.kv-events"));
    publisher.publish(&kept).await;
    // What routers say is not kept by anybody: it is said until somebody listens.
    while waiting.try_wait().unwrap().is_none() {
        publisher.publish(&passing).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let (well, line) = code(waiting);

    assert_eq!(well, Some(0), "{line}");
    assert!(line.starts_with("KVTOP OK - "), "{line}");
}

#[test]
fn a_history_that_was_not_read_is_unknown_and_says_how_much_of_it_was() {
    let file = scratch().join("unread.frames");
    let note = r#"{\"state\":\"live\",\"history\":{\"stream\":\"s\",\"first_seq\":1,\"last_seq\":1003485,\"read\":29720,\"complete\":false}}"#;
    let text = format!(
        "{{\"kvtop_frames\":1,\"dynamo\":\"0.9.0\"}}\n\
         {{\"at\":1771425300000000,\"from\":{{\"health\":{{\"source\":\"nats\"}}}},\"text\":\"{note}\"}}\n"
    );
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();

    let line = check(&["--replay", file]);
    assert_eq!(line.status.code(), Some(3));
    let said = stdout(&line);
    assert!(said.contains("read only 29,720 of 1,003,485 stored messages (2 %)"), "{said}");

    let report: Value =
        serde_json::from_str(&stdout(&check(&["--replay", file, "-o", "json"]))).unwrap();
    assert_eq!(report["status"], "UNKNOWN");
    assert_eq!(report["incomplete"][0], "read only 29,720 of 1,003,485 stored messages (2 %)");
    assert_eq!(report["catching_up"]["percent"], 2);
}

/// The states of a healthy deployment with this source down.
fn with_down(name: &SourceName, beside: &[SourceName]) -> Standing {
    let mut picture = findings::with(pictures::healthy(), Vec::new());
    for check in &mut picture.checks {
        check.verdict = CheckVerdict::Clear;
    }
    let row = picture.sources[0].clone();
    let named = |name: &SourceName, state| SourceRow { name: name.clone(), state, ..row.clone() };
    picture.sources = beside.iter().map(|name| named(name, SourceState::Live)).collect();
    picture.sources.push(named(name, SourceState::Down));
    picture.standing()
}

#[test]
fn a_source_that_was_asked_for_and_is_down_is_unknown_not_ok() {
    let nats = [SourceName::Nats];
    for name in [SourceName::Etcd, SourceName::Kubernetes, SourceName::Discovery, SourceName::Zmq] {
        assert_eq!(with_down(&name, &nats), Standing::Unknown);
    }
    assert_eq!(with_down(&SourceName::Metrics, &nats), Standing::Unknown);
    // Pods that kvtop found by itself may serve no metrics.
    let pods = [SourceName::Nats, SourceName::Kubernetes];
    assert_eq!(with_down(&SourceName::Metrics, &pods), Standing::Ok);
}

#[test]
fn a_warning_is_the_status_and_names_what_is_not_known_behind_it() {
    let mut picture = findings::with(pictures::healthy(), vec![findings::pressure()]);
    for check in &mut picture.checks {
        if check.stake == Stake::Core {
            check.verdict = CheckVerdict::Unknown { missing: String::from("needs store events") };
        }
    }
    let said = kvtop::report::check::text(&picture);

    assert!(said.starts_with("KVTOP WARNING - KVT010 "), "{said}");
    assert!(said.contains(". Not known: needs store events |"), "{said}");
}
