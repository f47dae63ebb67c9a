//! Selects the parts of an engine's configuration file and of a discovery record that enter a frame.
//!
//! Names, numbers and truths stay. A text stays where a decoder reads it, or where it is a word that many
//! deployments share; any other text may be a prompt or a secret, whatever its name.

use serde_json::{Map, Value};

use super::read::is_switch;
use super::vocabulary::{is_known_word, is_word_of_comments};
use super::{
    HIDDEN, Keeper, LONGEST_NAME, Script, is_brokers, is_json, is_prose, is_setting, is_value,
};
use super::{is_read_variable, takes_value};
use crate::dynamo::engine::TRTLLM_KEYS;
use crate::wire::kube_object::engine_config::parsed;

/// Texts of discovery records that decoders read (dynamo-runtime 1.6.1, `discovery/mod.rs`).
const RECORD_TEXTS: [&str; 16] = [
    "apiVersion",
    "component",
    "device_type",
    "display_name",
    "endpoint",
    "endpoints",
    "kind",
    "model_type",
    "namespace",
    "request_plane_codec",
    "router_mode",
    "subject_prefix",
    "topic",
    "type",
    "worker_type",
    "xpub_endpoints",
];

/// Most entries of a list in a discovery record: more of them could be the tokens of a prompt.
const LONGEST_LIST: usize = 64;

/// The depth to which a discovery record is looked at.
const DEPTH: usize = 64;

/// Returns what is kept of a file: the text itself where nothing has to go, else JSON of what stays, with a
/// mark that tells it from the file. None for what is no YAML.
pub fn kept_of_engine_file(text: &str) -> Option<String> {
    let value = parsed(text).ok()?;
    let kept = of_file(None, &value);
    if kept == value && has_known_comments(text) {
        return Some(text.to_owned());
    }
    Some(format!("{kept} # {HIDDEN}\n"))
}

/// Texts in the JSON of flags that decoders read, besides those of files (vLLM 0.12, `config/kv_events.py`).
const JSON_TEXTS: [&str; 4] = ["endpoint", "publisher", "replay_endpoint", "topic"];

/// Returns what is kept of JSON: the text itself where nothing has to go. Nothing is kept of what is no JSON.
pub(super) fn kept_of_json(text: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return HIDDEN.to_owned() };
    let kept = of_file(None, &value);
    if kept == value { text.to_owned() } else { kept.to_string() }
}

/// Returns what is kept of a value at `key` in a file.
fn of_file(key: Option<&str>, value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries = map.iter().filter(|(key, _)| is_key(key));
            entries.map(|(key, inner)| (key.clone(), of_file(Some(key), inner))).collect()
        }
        Value::Array(items) => items.iter().map(|item| of_file(key, item)).collect(),
        Value::String(text) if is_known_text(key, text) => value.clone(),
        Value::String(_) => HIDDEN.into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn is_known_text(key: Option<&str>, text: &str) -> bool {
    let read = key.is_some_and(|key| {
        let flag = format!("--{}", key.replace('_', "-"));
        let of_engine = |path: &str| path.rsplit('.').next() == Some(key);
        JSON_TEXTS.contains(&key)
            || takes_value(&flag)
            || is_switch(&flag)
            || TRTLLM_KEYS.iter().any(|key| of_engine(key.path))
    });
    is_setting(text) || is_known_word(text) || read && is_plain(text)
}

/// Returns true for one word without a login.
fn is_plain(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && !text.contains('@')
        && is_value(text)
        && !text.starts_with(['{', '['])
}

/// Returns true for what may be the name of a setting.
fn is_key(key: &str) -> bool {
    key.len() <= LONGEST_NAME
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./<".contains(&byte))
}

/// Returns true when each comment of a text consists of words that are no secret and no prompt. A `#` within
/// quotes counts as one.
fn has_known_comments(text: &str) -> bool {
    text.lines().all(|line| {
        let starts = line.match_indices('#').map(|(at, _)| at);
        let begins = |at: &usize| *at == 0 || line[..*at].ends_with([' ', '\t']);
        let Some(at) = starts.into_iter().find(begins) else { return true };
        line[at..].split_whitespace().all(|word| {
            let word = word.trim_matches(['#', ':', ',', '.', '(', ')', '"', '\'']);
            is_known_word(word) || is_word_of_comments(word)
        })
    })
}

/// Returns what is kept of the value of a variable that no command names.
pub fn kept_of_variable(name: &str, value: &str) -> String {
    if is_json(value) {
        return if is_read_variable(name) { kept_of_json(value) } else { HIDDEN.to_owned() };
    }
    let read = is_setting(value) || is_brokers(name, value);
    let one_word = !is_prose(value) && is_value(value);
    if read || one_word && (is_read_variable(name) || is_known_word(value)) {
        value.to_owned()
    } else if value.trim_start().starts_with("--") {
        Script::new(value).kept(&mut Keeper::default())
    } else {
        HIDDEN.to_owned()
    }
}

/// Returns what is kept of a discovery record, such as a model card.
pub fn kept_of_record(value: &Value) -> Value {
    of_record(["", ""], value, DEPTH)
}

/// Returns what is kept of a value at the last of `path`.
fn of_record(path: [&str; 2], value: &Value, depth: usize) -> Value {
    let Some(inner_depth) = depth.checked_sub(1) else { return Value::Null };
    match value {
        Value::Object(map) => {
            let entries = map.iter().filter(|(key, _)| key.len() <= LONGEST_NAME && !has_gap(key));
            let inner = |key, value| of_record([path[1], key], value, inner_depth);
            let kept = entries.map(|(key, value)| (key.clone(), inner(key, value)));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            items.iter().take(LONGEST_LIST).map(|it| of_record(path, it, inner_depth)).collect()
        }
        Value::String(text) if is_record_text(path) && is_plain(text) => value.clone(),
        // The name stays, since it may tell the release.
        Value::String(_) | Value::Null => Value::Null,
        Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns true where decoders read a text; of names only those of a channel's scope.
fn is_record_text([parent, key]: [&str; 2]) -> bool {
    RECORD_TEXTS.contains(&key) || key == "name" && ["scope", "endpoint"].contains(&parent)
}

fn has_gap(text: &str) -> bool {
    text.contains(|letter: char| letter.is_whitespace() || letter.is_control() || letter == '=')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_of_settings_stays_as_it_is() {
        let rows = [
            "kv_cache_config:\n  tokens_per_block: 32\n",
            "# SPDX-License-Identifier: Apache-2.0\nbackend: pytorch\n",
            "# tokens_per_block 32\nmax_batch_size: 8 # max_batch_size\n",
            "{\"version\": 1}",
            "cuda_graph_config:\n  enable_padding: true\n  batch_sizes: [1, 2, 4]\n",
            "moe_config:\n  backend: CUTLASS\ncache_transceiver_config:\n  backend: UCX\n",
            "model: Qwen/Qwen3-0.6B\nblock-size: 16\n",
            "speculative_config:\n  decoding_type: Eagle\n  speculative_model_dir: /models/eagle\n",
        ];
        for text in rows {
            assert_eq!(kept_of_engine_file(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn of_other_texts_in_a_file_only_their_names_stay() {
        let rows = [
            "system_prompt: PLANTED\ntokens_per_block: 32",
            "tokens_per_block: 32\na: {b: [c, PLANTED]}",
            "tokens_per_block: 32\nsystem: |\n  You are PLANTED\n  and more",
            "tokens_per_block: 32 # password PLANTED",
            "# PLANTED\ntokens_per_block: 32",
            "tokens_per_block: 32\n\"PLANTED it is\": 1",
            "tokens_per_block: 32\nmodel: tcp://user:PLANTED@host",
            "tokens_per_block: 32\nmodel: 'PLANTED and more'",
            "tokens_per_block: 32\nnote: &a PLANTED\nother: *a",
        ];
        for text in rows {
            let kept = kept_of_engine_file(text).unwrap();
            assert!(!kept.contains("PLANTED"), "{kept}");
            assert!(kept.contains("32") && kept.ends_with("# (redacted)\n"), "{kept}");
            assert_eq!(parsed(&kept).unwrap()["tokens_per_block"], 32, "{kept}");
        }
        assert_eq!(kept_of_engine_file("a: b: c"), None);
    }

    #[test]
    fn of_a_variable_what_decoders_read_stays() {
        let rows = [
            ("DYN_KV_BLOCK_SIZE", "32", "32"),
            ("NATS_SERVER", "nats://nats:4222", "nats://nats:4222"),
            ("ARGS", "--block-size 32 --note PLANTED", "--block-size 32 --left-out left_out_0"),
            ("GREETING", "PLANTED", HIDDEN),
            ("DYN_NAMESPACE", "PLANTED and more", HIDDEN),
            ("X", "true", "true"),
        ];
        for (name, value, kept) in rows {
            assert_eq!(kept_of_variable(name, value), kept, "{name}");
        }
    }

    #[test]
    fn of_a_record_names_and_numbers_stay() {
        let card = json!({
            "type": "Model", "instance_id": 7, "endpoint": "generate",
            "card_json": {
                "display_name": "Qwen/Qwen3-0.6B", "kv_cache_block_size": 32,
                "prompt_formatter": {"text": "PLANTED"}, "gen_config": {"ids": vec![1; 1000]},
                "runtime_config": {"total_kv_blocks": 9, "enable_eagle": false, "x": "PLANTED"},
                "PLANTED and more": 1,
            },
            "name": "PLANTED and more", "topic": "u:PLANTED@host",
        });
        let kept = kept_of_record(&card);
        assert!(!kept.to_string().contains("PLANTED"), "{kept}");
        assert_eq!(kept["card_json"]["display_name"], "Qwen/Qwen3-0.6B");
        assert_eq!(kept["card_json"]["kv_cache_block_size"], 32);
        assert_eq!(kept["card_json"]["runtime_config"]["total_kv_blocks"], 9);
        assert_eq!(kept["card_json"]["runtime_config"].get("x"), Some(&Value::Null));
        assert_eq!(kept["card_json"]["gen_config"]["ids"].as_array().unwrap().len(), LONGEST_LIST);
    }
}
