//! `--deep`: engines are asked for their block size, and the tokens of prompts are kept nowhere.

use std::process::{Command, Stdio};

use kvtop::domain::{KvKind, Timestamp};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::wire::Facts;
use serde_json::{Value, json};

use crate::support::kube_api::FakeKube;
use crate::support::libzmq::{LibzmqPublisher, Parts};
use crate::support::scratch;

const POD: &str = "vllm-agg-router-vllmworker-69899b6989-fl8f9";

/// A message of vLLM's own publisher: one stored block of 16 with the tokens 4242 to 4257.
fn stored(sequence: u64) -> Parts {
    let mut event = b"\x96\xabBlockStored\x91\xcf\0\0\0\0\0\0\0\x07\xc0\xdc\0\x10".to_vec();
    for token in 4242_u16..4258 {
        event.push(0xcd);
        event.extend(token.to_be_bytes());
    }
    event.extend(b"\x10\xc0");
    let payload = [b"\x93\xcb\x3f\xf8\0\0\0\0\0\0\x91", &event[..], b"\x00"].concat();
    vec![Vec::new(), sequence.to_be_bytes().to_vec(), payload]
}

/// How a worker is told where its engine publishes.
#[derive(Clone, Copy)]
enum By {
    Flag,
    Variable,
}

/// Returns the recorded deployment of vLLM whose worker publishes its engine's events at `publisher`.
fn deployment(publisher: &LibzmqPublisher, by: By) -> FakeKube {
    let kube = FakeKube::start();
    kube.load("pods/list_gtc-vllm").load("dgd/list");
    let port = publisher.port();
    let config = json!({
        "enable_kv_cache_events": true,
        "publisher": "zmq",
        "endpoint": format!("tcp://*:{port}"),
    });
    kube.edit("Pod", POD, |pod| {
        pod["status"]["podIP"] = "127.0.0.1".into();
        let main = &mut pod["spec"]["containers"][0];
        match by {
            By::Flag => main["args"]
                .as_array_mut()
                .unwrap()
                .extend(["--kv-events-config".into(), config.to_string().into()]),
            By::Variable => main["env"]
                .as_array_mut()
                .unwrap()
                .push(json!({"name": "DYN_VLLM_KV_EVENT_PORT", "value": port.to_string()})),
        }
    });
    kube
}

#[test]
fn an_engine_names_its_block_size_and_no_token_reaches_a_recording() {
    listens(By::Flag);
}

#[test]
fn an_engine_of_0_9_is_found_without_the_flag() {
    listens(By::Variable);
}

fn listens(by: By) {
    let mut publisher = LibzmqPublisher::start();
    let kube = deployment(&publisher, by);
    let file = scratch().join("deep.frames");
    let config = kube.kubeconfig().display().to_string();
    let kvtop = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["record", "--deep", "-n", "gtc-vllm", "--kubeconfig", &config, "--for", "6s", "-o"])
        .arg(&file)
        .env_remove("NATS_URL")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    publisher.wait_for("subscribed");
    publisher.publish(&(0..500).map(stored).collect::<Vec<_>>());
    kvtop.wait_with_output().unwrap();

    let frames = crate::support::frames(&file);
    let of_zmq: Vec<_> = frames.iter().filter(|frame| frame.origin.kind() == "zmq").collect();
    // Five hundred messages say the same.
    assert_eq!(of_zmq.len(), 1, "{of_zmq:?}");
    let kvtop::frame::Body::Parts(parts) = &of_zmq[0].body else { panic!("several parts") };
    assert_eq!(parts[1], POD);
    assert_eq!(parts[2], r#"{"block_size":16,"dp_rank":0}"#);

    let (_, snapshot) = crate::support::played(&frames);
    let found: Value = serde_json::from_str(&kvtop::report::json::snapshot(&snapshot)).unwrap();
    let source = format!("KV events of the engine of {POD}");
    let claims = found["claims"].as_array().unwrap();
    let claim = claims.iter().find(|claim| claim["source"] == source.as_str()).unwrap();
    assert_eq!((&claim["of"], &claim["value"]), (&json!("engine"), &json!(16)));
}

#[test]
fn without_the_flag_no_engine_is_listened_to() {
    let mut publisher = LibzmqPublisher::start();
    let kube = deployment(&publisher, By::Flag);
    let config = kube.kubeconfig().display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["snapshot", "-o", "json", "-n", "gtc-vllm", "--kubeconfig", &config, "--for", "3s"])
        .env_remove("NATS_URL")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains(POD));
    publisher.stop();
    assert!(!publisher.everything().iter().any(|line| line.starts_with("connected")));
}

/// A message like [`stored`] with a block of this name.
fn stored_block(sequence: u64, block: u64) -> Parts {
    const NAME: &[u8] = b"\xcf\0\0\0\0\0\0\0\x07";
    let mut message = stored(sequence);
    let at = message[2].windows(NAME.len()).position(|part| part == NAME).unwrap() + 1;
    message[2][at..at + 8].copy_from_slice(&block.to_be_bytes());
    message
}

/// Returns the first block that is stored in `messages` of a worker's publisher, and the worker.
fn first_block(messages: &[Parts]) -> (u64, String) {
    let mut facts = Facts::default();
    let parts: Vec<bytes::Bytes> = messages[0].iter().map(|part| part.clone().into()).collect();
    let origin = Origin::Zmq { endpoint: "tcp://a:1".into() };
    let frame = Frame { at: Timestamp(1), time: None, origin, body: Body::Parts(parts) };
    kvtop::wire::decode(&frame, &mut facts).unwrap();
    let event = &facts.kv.events()[0];
    let KvKind::Stored { blocks, .. } = &event.kind else { panic!("{event:?}") };
    (facts.kv.blocks_of(blocks)[0].sequence.0, event.rank.worker.0.to_string())
}

fn report(arguments: &[String], during: impl FnOnce()) -> Value {
    let kvtop = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["snapshot", "-o", "json", "--for", "5s"])
        .args(arguments)
        .env_remove("NATS_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    during();
    let output = kvtop.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn engines_named_by_address_are_linked_to_workers_by_the_blocks_that_both_report() {
    let lists = super::kv_events();
    let mut workers: Vec<_> = lists.iter().map(|_| LibzmqPublisher::start()).collect();
    let mut engines: Vec<_> = lists.iter().map(|_| LibzmqPublisher::start()).collect();
    let pairs = workers.iter().zip(&engines);
    let arguments = pairs.flat_map(|(worker, engine)| {
        ["--zmq".to_owned(), worker.endpoint(), "--engine".to_owned(), engine.endpoint()]
    });
    let arguments: Vec<String> = arguments.collect();
    let report = report(&arguments, || {
        for ((worker, engine), messages) in workers.iter_mut().zip(&mut engines).zip(&lists) {
            worker.wait_for("subscribed kv-events");
            engine.wait_for("subscribed");
            // The engine speaks before its worker does.
            engine.publish(&[stored_block(0, first_block(messages).0)]);
            worker.publish(messages);
        }
    });

    let claims = report["claims"].as_array().unwrap();
    for (engine, messages) in engines.iter().zip(&lists) {
        let source = format!("KV events of the engine at {}", engine.endpoint());
        let mut sizes = claims.iter().filter(|it| it["source"] == source.as_str());
        let size = sizes.next().unwrap();
        assert_eq!(size["subject"], format!("worker/{}", first_block(messages).1).as_str());
        assert_eq!((&size["of"], &size["value"]), (&json!("engine"), &json!(16)));
        assert_eq!(sizes.next(), None);
    }
}

#[test]
fn an_address_of_the_other_kind_is_named() {
    let messages = super::kv_events().remove(0);
    let (mut worker, mut engine) = (LibzmqPublisher::start(), LibzmqPublisher::start());
    let swapped = ["--zmq".to_owned(), engine.endpoint(), "--engine".to_owned(), worker.endpoint()];
    let report = report(&swapped, || {
        worker.wait_for("subscribed");
        engine.wait_for("subscribed kv-events");
        worker.publish(&messages);
        let mut message = stored(0);
        message[0] = b"kv-events".to_vec();
        engine.publish(&[message]);
    });

    let why = |name: &str| {
        let mut sources = report["sources"].as_array().unwrap().iter();
        sources.find(|it| it["name"] == name).unwrap()["why"].as_str().unwrap().to_owned()
    };
    assert!(why("zmq").contains("this is an engine's own event socket"), "{}", why("zmq"));
    assert!(why("engines").contains("this is a worker's publisher"), "{}", why("engines"));
}
