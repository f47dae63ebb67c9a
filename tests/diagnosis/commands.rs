//! Settings of running pods whose command is a script.

use serde_json::{Value, json};

use super::settings::Namespace;

/// Replaces the command of every worker.
fn workers(command: &Value, args: &Value) -> Namespace {
    let mut namespace = Namespace::recorded();
    for pod in &mut namespace.pods {
        let container = &mut pod["spec"]["containers"][0];
        if container.to_string().contains("dynamo.trtllm") {
            container["command"] = command.clone();
            container["args"] = args.clone();
        }
    }
    namespace
}

fn ids(namespace: &Namespace) -> Vec<&'static str> {
    let seen = namespace.seen();
    super::wrong(&seen).iter().map(|finding| finding.id).collect()
}

const SCRIPT: &str = "export A=1; exec python3 -m dynamo.trtllm \"$@\"";

fn args(publisher: &str, engine: u32) -> Value {
    json!([
        "--model-path",
        "m",
        "--kv-block-size",
        publisher,
        "--publish-events-and-metrics",
        "--override-engine-args",
        json!({"kv_cache_config": {"tokens_per_block": engine}}).to_string(),
    ])
}

#[test]
fn a_mismatch_behind_the_parameters_of_a_script_is_found() {
    let command = json!(["bash", "-c", SCRIPT, "--"]);

    assert!(ids(&workers(&command, &args("64", 32))).contains(&"KVT001"));
    assert!(!ids(&workers(&command, &args("32", 32))).contains(&"KVT001"));
}

#[test]
fn what_a_script_hides_accuses_nobody() {
    for script in [
        "exec python3 -m dynamo.trtllm \"$@\" $MORE",
        "exec python3 -m dynamo.trtllm $(cat /args)",
        "exec /workspace/start.sh \"$@\"",
    ] {
        let namespace = workers(&json!(["bash", "-c", script, "--"]), &args("64", 32));
        let found = ids(&namespace);
        assert!(!found.contains(&"KVT001") && !found.contains(&"KVT003"), "{script}: {found:?}");
    }
}
