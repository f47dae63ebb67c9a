//! `kvtop plan`: answers from simulations that are fitted to what kvtop saw.

use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kvtop::domain::{ClaimValue, ClaimWhat, Subject};
use kvtop::plan::{Change, Fitted, Given, Impossible, Length, Marked, Plan, Questions, Study, fit};
use kvtop::simulator::{Scenario, SimConfig, Simulation, WorkerConfig};
use kvtop::snapshot::{Snapshot, ViewQuery};
use serde_json::Value;

use crate::conventions::valid;
use crate::support::pty::Pty;
use crate::support::users_cluster::{Past, UsersCluster, healthy};
use crate::support::{captures, fixture, played, scratch};

/// A few short simulations: a debug build takes seconds for them.
const SHORT: [&str; 8] =
    ["--simulate", "8s", "--seeds", "2", "--for", "70s", "--objective", "90ms"];

fn kvtop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).stdin(Stdio::null()).env("HOME", scratch());
    command.output().unwrap()
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Returns the picture after `seconds` of a simulated deployment.
fn watched(config: SimConfig, seconds: u64) -> Snapshot {
    let start = kvtop::domain::Timestamp(1_771_425_300_000_000);
    let mut simulation = Simulation::with(config, 1, start);
    let end = start.after(Duration::from_secs(seconds));
    let (mut engine, _) = played(&simulation.advance(end));
    engine.snapshot(&ViewQuery { decisions: 1_000, ..ViewQuery::default() }, end)
}

#[test]
fn a_plan_of_a_demo_names_its_inputs_and_is_the_same_each_time() {
    let arguments =
        ["plan", "--demo", "healthy", "-o", "json", "--what", "mode", "--workers", "+1"];
    let run = || kvtop(&[&arguments[..], &SHORT].concat());
    let (first, second) = (run(), run());

    assert_eq!(first.status.code(), Some(0), "{first:?}");
    assert_eq!(first.stdout, second.stdout);
    let plan = json(&first);
    let answers = plan["answers"].as_array().unwrap();
    let changes: Vec<&str> = answers.iter().map(|it| it["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["now", "workers", "mode"]);
    assert_eq!(answers[1]["workers"], 3);
    for input in plan["inputs"].as_array().unwrap() {
        let basis = input["basis"].as_str().unwrap();
        assert!(["observed", "fitted", "assumed"].contains(&basis), "{input}");
        assert!(!input["from"].as_str().unwrap().is_empty(), "{input}");
    }
    for answer in answers {
        let range = &answer["ttft_p95"];
        assert!(range["low"].as_f64() <= range["high"].as_f64(), "{answer}");
        assert!(answer["ceiling"]["high"].as_f64().unwrap() >= 0.0, "{answer}");
    }
    valid("plan", [("demo".to_owned(), plan)].into_iter());
}

#[test]
fn the_table_has_the_present_first_and_says_that_it_is_simulated() {
    let output = kvtop(&[&["plan", "--demo", "mismatch", "--what", "now"][..], &SHORT].concat());

    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("Plan for mismatch: SIMULATED estimates"), "{text}");
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("now")).collect();
    // Publisher and engine differ, so the first answer is about one size for both.
    assert!(rows[1].starts_with("block sizes all 32"), "{text}");
    assert!(text.contains("assumed") && text.contains("observed"), "{text}");
}

#[test]
fn inputs_are_those_of_the_simulated_deployment() {
    let config = SimConfig::new(Scenario::Healthy);
    let snapshot = watched(config.clone(), 120);

    let fitted = fit(&snapshot, &Given::default()).unwrap();

    let sizes = |config: &SimConfig| -> Vec<(u32, u32, u32)> {
        config.workers.iter().map(|it| (it.engine, it.publisher, it.card)).collect()
    };
    assert_eq!(sizes(&fitted.config), sizes(&config));
    assert_eq!(fitted.config.mode, config.mode);
    let capacity = |config: &SimConfig| config.workers[0].capacity as f64;
    assert!((capacity(&fitted.config) / capacity(&config) - 1.0).abs() < 0.02, "{fitted:?}");
    let answer = fitted.config.service.answer / config.service.answer;
    assert!((answer - 1.0).abs() < 0.15, "{fitted:?}");
    let hits = fitted.targets.hits.unwrap();
    assert!((0.3..1.0).contains(&hits), "{hits}");
}

#[test]
fn what_cannot_be_answered_is_said_in_one_sentence() {
    let nothing = fit(&Snapshot::default(), &Given::default());
    assert_eq!(nothing, Err(Impossible::NoWorkers));
    let disaggregated = fixture("clusters/sglang-disagg.frames");
    let empty = scratch().join("empty.frames");
    let log =
        r#"{"at":5,"from":{"log":{"namespace":"d","pod":"fe","container":"main"}},"text":"x"}"#;
    std::fs::write(&empty, format!("{{\"kvtop_frames\":1}}\n{log}\n")).unwrap();
    for path in [disaggregated, empty] {
        let path = path.to_str().unwrap();
        let (text, data) = (kvtop(&["plan", path]), kvtop(&["plan", path, "-o", "json"]));
        for output in [&text, &data] {
            assert_eq!(output.status.code(), Some(3), "{path}: {output:?}");
        }
        let why = String::from_utf8(text.stderr).unwrap();
        assert!(why.starts_with("kvtop: No plan: ") && why.lines().count() == 1, "{why}");
        let plan = json(&data);
        assert!(plan["impossible"].as_str().unwrap().starts_with("No plan: "), "{plan}");
        assert_eq!(plan["answers"], Value::Array(Vec::new()));
        valid("plan", [("impossible".to_owned(), plan)].into_iter());
    }
    let unknown = ["plan", "--demo", "healthy", "--drain", "nobody", "--simulate", "1s"];
    let output = kvtop(&unknown);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn decisions_with_all_terms_are_rescored_even_where_no_plan_is_possible() {
    let path = fixture("captures/0.9.0-healthy.frames.gz");

    let plan = json(&kvtop(&[
        "plan",
        path.to_str().unwrap(),
        "-o",
        "json",
        "--users",
        "2",
        "--simulate",
        "1s",
    ]));

    let decisions = &plan["decisions"];
    let whole = decisions["counted"].as_u64().unwrap();
    let left = decisions["left_out"].as_array().unwrap().iter();
    let left: u64 = left.map(|it| it["decisions"].as_u64().unwrap()).sum();
    let (mut engine, snapshot) = played(&crate::support::frames(&path));
    let query = ViewQuery { decisions: 1_000, ..ViewQuery::default() };
    let seen = engine.snapshot(&query, snapshot.at).decisions.len() as u64;
    assert!(whole > 0 && whole + left == seen, "{decisions}");
    for row in decisions["rescored"].as_array().unwrap() {
        let rate = row["flip_rate"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&rate), "{row}");
    }
    valid("plan", [("decisions".to_owned(), plan)].into_iter());
}

#[test]
fn workers_whose_cards_say_prefill_or_decode_are_not_planned_as_whole_ones() {
    let mut snapshot = watched(SimConfig::new(Scenario::Healthy), 70);
    assert!(fit(&snapshot, &Given::default()).is_ok());
    let mut row = snapshot.claims[0].clone();
    row.claim.what = ClaimWhat::WorkerType;
    row.claim.subject = Subject::Worker(snapshot.workers[0].rank.worker);
    row.claim.value = ClaimValue::Text("prefill".into());
    Arc::make_mut(&mut snapshot.claims).push(row);

    assert_eq!(fit(&snapshot, &Given::default()), Err(Impossible::Disaggregated));
}

#[test]
fn every_recording_gives_a_deployment_or_a_reason() {
    let mut fitted = 0;
    for (name, path) in captures() {
        let (mut engine, snapshot) = played(&crate::support::frames(&path));
        let query = ViewQuery { decisions: 1_000, ..ViewQuery::default() };
        let snapshot = engine.snapshot(&query, snapshot.at);
        for given in [Given::default(), Given { users: Some(4) }] {
            match fit(&snapshot, &given) {
                Ok(found) => {
                    fitted += 1;
                    let shape = found.config.service.conversations;
                    assert!(found.config.service.concurrency >= 1, "{name}");
                    assert!(shape.turns.0 >= 1 && shape.passage.0 <= shape.passage.1, "{name}");
                    assert!(found.config.workers.iter().all(|it| it.capacity > 0), "{name}");
                }
                Err(why) => assert!(why.sentence().starts_with("No plan: "), "{name}"),
            }
        }
    }
    assert!(fitted > 0);
}

/// A saturated deployment: batches of four, and far more users.
fn saturated() -> SimConfig {
    let mut config = SimConfig::new(Scenario::Healthy);
    config.warm_up = Duration::ZERO;
    config.service.batch_limit = 4;
    config.service.concurrency = 40;
    config.service.think = Duration::from_millis(200);
    config
}

fn studied(config: SimConfig, questions: &Questions, seeds: u64) -> Plan {
    let length = Length { warm_up: Duration::from_secs(10), measured: Duration::from_secs(20) };
    let objective = Duration::from_secs(2);
    let study = Study::new(Fitted::exactly(config), questions, seeds, length, objective);
    let results: Vec<_> = study.jobs().iter().map(|job| job.run(&|| true).unwrap()).collect();
    Plan::new(&study, &results)
}

#[test]
fn a_worker_more_never_makes_a_saturated_deployment_slower_and_one_less_never_faster() {
    let questions = Questions { workers: vec![1, -1], ..Questions::none() };

    let plan = studied(saturated(), &questions, 2);

    let [now, more, fewer] = &plan.rows[..] else { panic!("{:?}", plan.rows) };
    assert!(more.ttft_p95.low <= now.ttft_p95.high, "{plan:?}");
    assert!(fewer.ttft_p95.high >= now.ttft_p95.low, "{plan:?}");
    assert!(more.tokens.mean > now.tokens.mean && now.tokens.mean > fewer.tokens.mean, "{plan:?}");
    let users = |row: &kvtop::plan::Row| row.ceiling.unwrap().mean;
    assert!(users(more) >= users(now) && users(now) >= users(fewer), "{plan:?}");
}

#[test]
fn a_drain_leaves_its_requests_alone_and_its_load_to_others() {
    let questions = Questions { drain: vec![1], ..Questions::none() };

    let plan = studied(saturated(), &questions, 1);

    let [now, drained] = &plan.rows[..] else { panic!("{:?}", plan.rows) };
    assert_eq!(drained.drained.as_deref(), Some("w1"));
    assert!(drained.tokens.mean < now.tokens.mean, "{plan:?}");
    assert_eq!(drained.tokens.marked, Marked::Within, "one seed has no spread");
}

#[test]
fn changes_that_change_nothing_or_cannot_be_made_are_left_out() {
    let one = WorkerConfig { engine: 32, publisher: 32, card: 32, capacity: 64, publishes: true };
    let config = SimConfig { workers: vec![one], ..SimConfig::new(Scenario::Healthy) };
    let questions = Questions {
        workers: vec![-1, 1],
        weight: vec![1.0, 2.0],
        block_size: vec![32, 64],
        drain: vec![0, 7],
        ..Questions::none()
    };

    let changes = questions.changes(&config);

    let expected = [Change::Now, Change::Workers(1), Change::Weight(2.0), Change::BlockSize(64)];
    assert_eq!(changes, expected);
}

/// Events come over a real NATS server; objects, logs and metrics over the API of Kubernetes.
#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_planned_live_and_from_its_recording_by_command_and_on_the_screen() {
    let cluster = UsersCluster::start(healthy(), Past::since(Duration::from_secs(60))).await;
    let arguments = cluster.arguments("gtc-demo");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let home = scratch();
    let recording = home.join("live.frames.zst").display().to_string();
    let mut writer = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["record", "-o", &recording, "--for", "18s"])
        .args(&arguments)
        .env("HOME", &home)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();

    let short = ["-o", "json", "--simulate", "2s", "--what", "workers"];
    let live = kvtop(&[&["plan", "--for", "15s"], &short[..], &arguments].concat());
    assert!(writer.wait().unwrap().success());
    let again = kvtop(&[&["plan", &recording], &short[..]].concat());

    for output in [live, again] {
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let plan = json(&output);
        assert_eq!(plan["answers"].as_array().unwrap().len(), 3, "{plan:#}");
        let users = plan["conversations"].as_u64().unwrap();
        assert!((4..=80).contains(&users), "{users}");
    }
    let screen = |arguments: &[&str], wait: u64| {
        let variables = [("KVTOP_TEST_PLAN", "1"), ("HOME", home.to_str().unwrap())];
        let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), arguments, &variables, (120, 36));
        pty.wait_for("the overview", |screen| screen.contains("[1 Overview]"));
        pty.send("7");
        pty.wait_for("the key", |screen| screen.contains("P plan"));
        std::thread::sleep(Duration::from_secs(wait));
        pty.send("P");
        pty.wait_for("a reply", |screen| {
            screen.contains("4 workers (+1)") || screen.contains("No plan: ")
        });
        assert!(!pty.screen(|screen| screen.contents().contains("No plan: ")), "refused");
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    };
    // Metrics have to be read twice.
    screen(&arguments, 12);
    screen(&["replay", &recording, "--at", "-1s", "--paused"], 1);
}
