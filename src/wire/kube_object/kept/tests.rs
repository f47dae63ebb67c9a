//! Words and values that stay, and those that are replaced.

use serde_json::{Value, json};

use super::super::list;
use super::*;

fn kept(container: &Value) -> Value {
    let mut object = json!({ "spec": { "containers": [container] } });
    kept_of_processes(&mut object);
    object["spec"]["containers"][0].take()
}

#[test]
fn of_arguments_flags_that_decoders_read_stay_with_their_values() {
    let args = json!([
        "-m",
        "dynamo.vllm",
        "--model",
        "a/b",
        "--block-size",
        "16",
        "--block_size=32",
        "--enable-prefix-caching",
        "--kv-events-config",
        "{\"enable_kv_cache_events\":true}",
        "--model",
        "$(MODEL)",
        "$(EXTRA)",
    ]);
    let container = json!({ "command": ["python3"], "args": args });
    assert_eq!(kept(&container), container);
}

#[test]
fn other_arguments_keep_their_places_only() {
    let container = json!({
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ["--greeting", "hello", "--note=hello you", "--enable-prefix-caching", "hello",
            "--block-size", "16", "say hello to all"],
    });
    let expected = json!({
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ["--left-out", "left_out_0", "--left-out", "--enable-prefix-caching", "left_out_0",
            "--block-size", "16", "left_out_1 left_out_0 left_out_2 left_out_3"],
    });
    assert_eq!(kept(&container), expected);
}

#[test]
fn scripts_keep_their_form_and_what_decoders_read() {
    let table = [
        (
            "set -e; exec python3 -m dynamo.trtllm --model-path \"/m\" --tip 'do it' --kv-block-size 32 \"$@\"",
            "set -e; exec python3 -m dynamo.trtllm --model-path \"/m\" --left-out 'do left_out_0' --kv-block-size 32 \"$@\"",
        ),
        (
            "cat <<EOF > /tmp/c.yaml\nkv_cache_config:\n  tokens_per_block: 32\nnote: hi\nEOF\n",
            "cat <<EOF > /tmp/c.yaml\nkv_cache_config:\n  tokens_per_block: 32\nleft_out_0: left_out_1\nEOF\n",
        ),
        (
            "if [ \"$ROLE\" = blue ]; then A=blue; fi; f() { local b=$1; }; f x*y",
            "if [ \"$ROLE\" = left_out_0 ]; then A=left_out_0; fi; f() { local b=$1; }; f x*y",
        ),
        (
            "export X=1 && python3 -m dynamo.vllm \"--kv-events-config={\\\"publisher\\\":\\\"zmq\\\"}\" --who me",
            "export X=1 && python3 -m dynamo.vllm \"--kv-events-config={\\\"publisher\\\":\\\"zmq\\\"}\" --left-out left_out_0",
        ),
        (
            "case $X in gold*) echo 'a\\ncold' ;; esac",
            "case $X in (redacted)*) echo 'a\\nleft_out_0' ;; esac",
        ),
    ];
    for (script, expected) in table {
        let container = json!({ "command": ["bash", "-c"], "args": [script] });
        assert_eq!(kept(&container)["args"][0], expected);
    }
}

#[test]
fn of_json_in_flags_and_variables_what_decoders_read_stays() {
    let given = "{\"kv_cache_config\": {\"tokens_per_block\": 32}, \"note\": \"be kind\", \"endpoint\": \"tcp://*:5557\"}";
    let stays = "{\"kv_cache_config\":{\"tokens_per_block\":32},\"note\":\"(redacted)\",\"endpoint\":\"tcp://*:5557\"}";
    let escape = |json: &str| json.replace('"', "\\\"");
    let table = [
        (
            format!("exec x --kv-events-config '{given}'"),
            format!("exec x --kv-events-config '{stays}'"),
        ),
        (
            format!("exec x --kv-events-config \"{}\"", escape(given)),
            format!("exec x --kv-events-config \"{}\"", escape(stays)),
        ),
        (
            "exec x --kv-events-config '{be kind}'".into(),
            format!("exec x --kv-events-config '{HIDDEN}'"),
        ),
    ];
    for (script, expected) in table {
        let container = json!({ "command": ["bash", "-c"], "args": [script] });
        assert_eq!(kept(&container)["args"][0], expected);
    }
    let args = json!([
        "-m",
        "dynamo.vllm",
        "--kv-events-config",
        given,
        "--override-engine-args={be kind}"
    ]);
    let env = json!([{ "name": "DYN_TRTLLM_OVERRIDE_ENGINE_ARGS", "value": given }]);
    let kept = kept(&json!({ "args": args, "env": env }));
    assert_eq!(kept["args"][3], stays);
    assert_eq!(kept["args"][4], format!("--override-engine-args={HIDDEN}"));
    assert_eq!(kept["env"][0]["value"], stays);
    assert_eq!(kept_of_variable("DYN_TRTLLM_OVERRIDE_ENGINE_ARGS", given), stays);
}

#[test]
fn a_value_that_only_begins_like_a_reference_is_none() {
    let kept = |value: &str| kept_of_variable("PASSPHRASE", value);

    assert_eq!(kept("$(POD_NAME)"), "$(POD_NAME)");
    assert_eq!(kept("${POD_NAME}"), "${POD_NAME}");
    for secret in ["$uper-secret", "$(a b)", "${A:-secret}", "$$ecret"] {
        assert_eq!(kept(secret), HIDDEN, "{secret}");
    }
}

#[test]
fn of_variables_those_that_are_read_or_named_by_commands_keep_their_values() {
    let args = ["-m", "dynamo.vllm", "--model", "$(MODEL)", "$(EXTRA)", "--hint", "$(HINT)"];
    let given = json!({
        "args": args,
        "env": [
            { "name": "DYN_KV_CACHE_BLOCK_SIZE", "value": "16" },
            { "name": "DYN_NAMESPACE", "value": "gtc" },
            { "name": "MODEL", "value": "Qwen/Qwen3" },
            { "name": "EXTRA", "value": "--block-size 32 --hint me" },
            { "name": "HINT", "value": "some words" },
            { "name": "PAGES", "value": "32" },
            { "name": "SWITCH", "value": "true" },
            { "name": "OTHER", "value": "$(DYN_NAMESPACE)" },
            { "name": "GREETING", "value": "hello" },
            { "name": "DYN_SYSTEM_PROMPT", "value": "hello" },
            { "name": "MODEL_PROMPT", "value": "hello" },
            { "name": "DYN_NAMESPACE", "value": "you are a good one" },
            { "name": "A", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } },
        ],
    });
    let kept = kept(&given);
    let values: Vec<&str> =
        list(&kept["env"]).map(|entry| entry["value"].as_str().unwrap_or("-")).collect();
    let expected = [
        "16",
        "gtc",
        "Qwen/Qwen3",
        "--block-size 32 --left-out left_out_0",
        "left_out_1 left_out_2",
        "32",
        "true",
        "$(DYN_NAMESPACE)",
        HIDDEN,
        HIDDEN,
        HIDDEN,
        HIDDEN,
        "-",
    ];
    assert_eq!(values, expected);
    assert_eq!(kept["env"][12], given["env"][12]);
}

#[test]
fn commands_that_fixes_compare_are_all_kept() {
    let flags = crate::dynamo::settings::CHANGED_BY_FIXES.iter();
    let lost: Vec<_> = flags.filter(|flag| !takes_value(flag) && !is_switch(flag)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}
