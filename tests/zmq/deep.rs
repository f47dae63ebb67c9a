//! `--deep`: engines are asked for their block size, and the tokens of prompts are kept nowhere.

use std::process::{Command, Stdio};

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
