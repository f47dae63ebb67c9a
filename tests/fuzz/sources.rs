//! What sources read before a frame exists: framing of ZMQ and etcd, and what is taken out of lines and objects.

use kvtop::source::decoders;
use kvtop::wire;

use super::mutate::{Chance, mutate};
use super::{fuzz, fuzz_pieces};

/// Pieces of a stream do not depend on how it is cut into packets.
#[test]
fn framing_of_zmq() {
    let ready = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB";
    let long = [&b"\x02\x00\x00\x00\x00\x00\x00\x01\x00"[..], &[7; 256]].concat();
    let seeds: Vec<Vec<u8>> = vec![
        ready.to_vec(),
        b"\x04\x07\x04PING\x00\x0a\x04\x05\x04PONG".to_vec(),
        b"\x01\x09kv-events\x01\x08\x00\x00\x00\x00\x00\x00\x00\x01\x00\x03abc".to_vec(),
        [&ready[..], b"\x01\x01a\x01\x01b\x00\x01c", &long].concat(),
        b"\x04\x0d\x05ERROR\x06denied\x00".to_vec(),
        b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01NULL".to_vec(),
    ];
    fuzz("zmtp", &seeds, |input| {
        let whole = decoders::zmq_pieces(input, input.len());
        assert_eq!(decoders::zmq_pieces(input, 1 + input.len() % 7), whole);
        if let Err(why) = decoders::zmq_greeting(input) {
            assert!(!why.is_empty());
        }
    });
}

/// As above, for the lines of a watch.
#[test]
fn watches_of_etcd() {
    let texts = [
        "{\"result\":{\"header\":{\"revision\":\"7\"},\"created\":true}}\n",
        "{\"result\":{\"events\":[{\"kv\":{\"key\":\"djEvYQ==\",\"value\":\"e30=\"}}]}}\n",
        "{\"result\":{\"events\":[{\"type\":\"DELETE\",\"kv\":{\"key\":\"djEvYg==\"}}]}}\n{\"result\":{}}\n",
        "{\"result\":{\"canceled\":true,\"cancel_reason\":\"compacted\",\"compact_revision\":\"9\"}}\n",
        "{\"error\":{\"grpc_code\":7,\"message\":\"etcdserver: permission denied\"}}\n",
    ];
    let seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    fuzz("etcd_watch", &seeds, |input| {
        let whole = decoders::etcd_answers(input, input.len());
        assert_eq!(decoders::etcd_answers(input, 1 + input.len() % 9), whole);
    });
}

const SECRET: &str = "PLANTED0q8Zx7Kd3";

/// Forms in which a secret is known by its name or its own shape.
const FORMS: [&str; 14] = [
    "password=PLANTED0q8Zx7Kd3",
    "password: PLANTED0q8Zx7Kd3",
    "\"password\": \"PLANTED0q8Zx7Kd3\"",
    "client_secret: Some(\"PLANTED0q8Zx7Kd3\")",
    "api_key='PLANTED0q8Zx7Kd3'",
    "HF_TOKEN=PLANTED0q8Zx7Kd3",
    "hf_token: PLANTED0q8Zx7Kd3",
    "prompt: \"PLANTED0q8Zx7Kd3\"",
    "prompt=PLANTED0q8Zx7Kd3",
    "content: Text(\"PLANTED0q8Zx7Kd3\")",
    "token_ids: [1, 2, PLANTED0q8Zx7Kd3]",
    "messages=[PLANTED0q8Zx7Kd3]",
    "secret = PLANTED0q8Zx7Kd3",
    "--api-key=PLANTED0q8Zx7Kd3",
];

/// Whatever surrounds a planted secret, it does not survive, neither in lines that are kept whole nor in those of
/// which only known fields are kept.
#[test]
fn secrets_in_lines() {
    let around: Vec<Vec<u8>> = [
        "2026-02-16T14:38:53.950961Z  INFO dynamo_llm::http::service: ",
        "args: Namespace(model='m', n=1, ",
        "curl -H 'Accept: json' 'http://host:80/path?x=1' ",
        ", note: Some(\"it's here\"), n: 1 }",
        " -- {\"a\": [1, {\"b\": \"c\"}]} ",
        "request{id=5 user=\"u\"}: x::y: Text { ",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    fuzz_pieces("redact_lines", &around, &FORMS, |before, form, after| {
        // A letter directly before makes the name another one, and after it another value.
        let line = format!("{before} {form} {after}").replace('\n', " ");
        for kept in [decoders::redacted_line(&line), wire::kept_of_log_line(&line)] {
            assert!(!kept.contains(SECRET), "{line:?}\nkept: {kept:?}");
        }
    });
}

/// Of a pod's arguments and variables nothing planted enters a frame, whatever stands around it.
#[test]
fn secrets_in_pods() {
    let around: Vec<Vec<u8>> = [
        "--block-size 16 --model a/b",
        "-m dynamo.vllm --kv-events-config {\"enable_kv_cache_events\":true}",
        "cd /x && exec python3 -m dynamo.trtllm \"$@\"",
        "--served-model-name m --note",
        "DYN_NAMESPACE=x python3",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    let mut chance = Chance::new(7);
    // Short commands: the time of an execution grows with their length, the number of their forms hardly does.
    let short = |text: &str| text.chars().take(160).collect::<String>();
    fuzz_pieces("redact_pods", &around, &FORMS, |before, form, after| {
        let mut words: Vec<String> = short(before).split(' ').map(str::to_owned).collect();
        words.push(form.to_owned());
        words.extend(short(after).split(' ').map(str::to_owned));
        let mut name = b"GREETING".to_vec();
        mutate(&mut name, &around, &mut chance);
        name.truncate(160);
        let pod = serde_json::json!({
            "metadata": {"name": "w", "namespace": "n", "annotations": {"note": form}},
            "spec": {"containers": [{
                "name": "main", "image": "vllm-runtime:0.9.0", "command": words.clone(), "args": words,
                "env": [{"name": String::from_utf8_lossy(&name), "value": form}],
            }]},
        });
        let kept = decoders::kept_of_object("Pod", pod.clone()).unwrap().to_string();
        assert!(!kept.contains(SECRET), "{pod}\nkept: {kept}");
    });
}
