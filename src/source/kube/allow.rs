//! Which values of variables, arguments and annotations enter a frame.
//!
//! Their names are those of Dynamo, its engines and Kubernetes, or the value itself is a setting: a number, a
//! truth, a reference to another variable, flags. Any other value may be anything, and is removed.

use crate::dynamo::{label, variable};
use serde_json::{Map, Value};

use super::redact::REDACTED;

/// How names of variables begin that configure Dynamo, an engine or their transports.
const FAMILIES: [&str; 22] = [
    "CUDA_",
    variable::PREFIXES[0],
    variable::PREFIXES[1],
    "ETCD_",
    "FLASHINFER_",
    "GROVE_",
    "HOSTNAME",
    "K8S_",
    "KUBERNETES_",
    "KV_",
    "NATS_",
    "NCCL_",
    "NIXL_",
    "NODE_",
    "NVIDIA_",
    "POD_",
    "SGLANG_",
    "SGL_",
    "TLLM_",
    "TRTLLM_",
    "UCX_",
    "VLLM_",
];

/// Parts of names that deployments give to variables of their own for flags and names of engines. Dynamo's
/// launch scripts use `AGG_ENGINE_ARGS`, `MODEL_PATH`, `SERVED_MODEL_NAME`, `DISAGGREGATION_MODE`.
const PARTS: [&str; 14] = [
    "ARGS",
    "BACKEND",
    "BLOCK",
    "CACHE",
    "COMPONENT",
    "CONFIG",
    "ENDPOINT",
    "ENGINE",
    "MODE",
    "MODEL",
    "NAMESPACE",
    "PAGE",
    "ROUTER",
    "SIZE",
];

/// The longest value that is taken for a name.
const LONGEST_NAME: usize = 200;

/// Keeps of the variables of a container the values that are known to be settings.
pub(super) fn variables(env: Value) -> Value {
    let Value::Array(items) = env else { return env };
    let kept = items.into_iter().map(|mut item| {
        let name = item["name"].as_str().unwrap_or_default().to_owned();
        if let Some(Value::String(value)) = item.get_mut("value")
            && !is_kept(&name, value)
        {
            REDACTED.clone_into(value);
        }
        item
    });
    kept.collect()
}

/// Keeps of annotations those of NVIDIA's operators whose values are names or sizes.
pub(super) fn annotations(annotations: Value) -> Value {
    let Value::Object(map) = annotations else { return annotations };
    let kept: Map<String, Value> = map
        .into_iter()
        .filter(|(key, value)| {
            key.starts_with(label::PREFIX) && value.as_str().is_none_or(|text| !is_prose(text))
        })
        .collect();
    Value::Object(kept)
}

/// Removes the values of arguments that read like text for people: prompts, templates, descriptions.
pub(super) fn arguments(arguments: Value) -> Value {
    let Value::Array(items) = arguments else { return arguments };
    let mut after_flag = false;
    let kept = items.into_iter().map(|item| {
        let Value::String(word) = item else { return item };
        let value = std::mem::replace(&mut after_flag, word.starts_with("--"));
        match word.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
            Some((flag, text)) if is_prose(text) => format!("{flag}={REDACTED}").into(),
            None if value && is_prose(&word) => REDACTED.into(),
            _ => word.into(),
        }
    });
    kept.collect()
}

fn is_kept(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let known = FAMILIES.iter().any(|family| name.starts_with(family))
        || PARTS.iter().any(|part| name.split('_').any(|word| word == *part));
    is_setting(value) || (known && !is_prose(value))
}

/// Returns true for a value that is a setting whatever its name: nothing, a number, a truth, a reference,
/// flags.
fn is_setting(value: &str) -> bool {
    let value = value.trim();
    let reference = value.starts_with('$') && !value.contains(char::is_whitespace);
    value.is_empty()
        || value.parse::<f64>().is_ok()
        || ["true", "false", "yes", "no", "on", "off"].contains(&&*value.to_ascii_lowercase())
        || reference
        || (value.starts_with("--") && !is_prose(value))
}

/// Returns true for what may be a sentence: several words without a flag or an assignment, or one word that
/// is longer than names are. Scripts, flags and configurations are read by decoders.
fn is_prose(text: &str) -> bool {
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        return false;
    }
    let words = text.split_whitespace().count();
    let flags = text.split_whitespace().any(|word| word.starts_with('-') || word.contains('='));
    (words > 2 && !flags) || (words == 1 && text.len() > LONGEST_NAME)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_variables_known_names_and_settings_keep_their_values() {
        let kept = [
            ("DYN_KV_CACHE_BLOCK_SIZE", "16"),
            ("MODEL_PATH", "Qwen/Qwen3-0.6B"),
            ("AGG_ENGINE_ARGS", "/config/agg.yaml"),
            ("EXTRA", "--block-size 32 --enforce-eager"),
            ("MY_PAGES", "32"),
            ("SWITCH", "true"),
            ("OTHER", "$(DYN_NAMESPACE)"),
            ("DYN_OVERRIDE", "{\"kv_cache_config\": {\"tokens_per_block\": 32}}"),
        ];
        for (name, value) in kept {
            let env = json!([{ "name": name, "value": value }]);
            assert_eq!(variables(env.clone()), env, "{name}");
        }
        for (name, value) in [
            ("GREETING", "hello"),
            ("DYN_SYSTEM_PROMPT", "You are a helpful assistant"),
            ("LICENCE", "ABCD-EFGH-IJKL"),
            ("ORDER", "-rf please do this"),
        ] {
            let found = variables(json!([{ "name": name, "value": value }]));
            assert_eq!(found[0]["value"], REDACTED, "{name}");
        }
        let reference =
            json!([{ "name": "A", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } }]);
        assert_eq!(variables(reference.clone()), reference);
    }

    #[test]
    fn of_arguments_sentences_are_removed() {
        let given = json!([
            "-c",
            "cd /x && exec python3 -m dynamo.vllm \"$@\"",
            "--model",
            "a/b",
            "--default-system-prompt",
            "You are a helpful assistant",
            "--chat-template=Answer as a pirate would",
            "--block-size",
            "16"
        ]);
        let expected = json!([
            "-c",
            "cd /x && exec python3 -m dynamo.vllm \"$@\"",
            "--model",
            "a/b",
            "--default-system-prompt",
            REDACTED,
            format!("--chat-template={REDACTED}"),
            "--block-size",
            "16"
        ]);
        assert_eq!(arguments(given), expected);
    }

    #[test]
    fn of_annotations_those_of_the_operator_stay() {
        let given = json!({
            "nvidia.com/kv-block-size": "32",
            "nvidia.com/note": "what a user wrote here",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        });
        assert_eq!(annotations(given), json!({ "nvidia.com/kv-block-size": "32" }));
    }
}
