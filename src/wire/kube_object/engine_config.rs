//! An engine's own configuration, as YAML of a file or JSON of an argument.
//!
//! The keys of TensorRT-LLM are those of its `LlmArgs`. Files of vLLM and `SGLang` hold their flags, without
//! dashes; true gives the flag, false gives nothing (vLLM 0.11 `utils/argparse_utils.py`, `SGLang` 0.5
//! `server_args_config_parser.py`).

use serde_json::Value;

use super::settings::flag_settings;
use super::{raw, shared};
use crate::domain::{Backend, ClaimOf, ClaimValue, ClaimWhat, Setting};
use crate::dynamo::engine::{EngineKey, TRTLLM_KEYS};

/// Largest configuration that is read; real ones have some kilobytes.
const CONFIG_LIMIT: usize = 1 << 20;

/// Returns the settings that it can hold.
pub(super) fn keys() -> impl Iterator<Item = ClaimWhat> {
    TRTLLM_KEYS.iter().map(|key| key.what)
}

/// Returns true for settings that it can hold.
pub(super) fn is_key(what: ClaimWhat) -> bool {
    TRTLLM_KEYS.iter().any(|key| key.what == what)
}

/// Levels of nesting that are read: engines use three, and each takes room on the stack.
const DEPTH_LIMIT: usize = 64;

/// A file that is no YAML, or too much of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// Parses the YAML (or JSON, which is YAML) of a file.
pub(super) fn parsed(text: &str) -> Result<Value, Unreadable> {
    if text.len() > CONFIG_LIMIT {
        return Err(Unreadable);
    }
    // The parser bounds nodes and what aliases expand to, and recurses on depth.
    let budget = serde_saphyr::budget! { max_depth: DEPTH_LIMIT };
    let options = serde_saphyr::options! { budget: budget, emit_comments: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|_| Unreadable)
}

/// Reads the YAML of a file; none when it is no map.
pub(super) fn from_yaml(text: &str) -> Result<Option<Vec<Setting>>, Unreadable> {
    let value = parsed(text)?;
    let of_flags = [Backend::Vllm, Backend::SgLang];
    Ok(value.is_object().then(|| {
        let mut all = settings(&value);
        all.extend(of_flags.into_iter().flat_map(|engine| flags(&value, engine)));
        all
    }))
}

/// Returns what flags in a file set.
fn flags(config: &Value, engine: Backend) -> Vec<Setting> {
    let entries = config.as_object().into_iter().flatten();
    let all = entries.filter_map(|(key, value)| {
        let text = match value {
            Value::Bool(true) => None,
            Value::Null | Value::Bool(false) | Value::Array(_) => return None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Object(_) => Some(value.to_string()),
        };
        let flag = format!("--{}", key.replace('_', "-"));
        Some((flag, text, raw(&format!("{key}: {value}"))))
    });
    flag_settings(engine, &all.collect::<Vec<_>>())
}

/// Reads the JSON of an argument; none when it is no object.
pub(super) fn from_json(text: &str) -> Option<Vec<Setting>> {
    if text.len() > CONFIG_LIMIT {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    value.is_object().then(|| settings(&value))
}

fn settings(config: &Value) -> Vec<Setting> {
    let read = |key: &EngineKey| {
        let found = key.path.split('.').try_fold(config, |value, key| value.get(key))?;
        setting(key, found)
    };
    TRTLLM_KEYS.iter().filter_map(read).collect()
}

fn setting(key: &EngineKey, value: &Value) -> Option<Setting> {
    Some(Setting {
        engine: Backend::TrtLlm,
        what: key.what,
        of: ClaimOf::Engine,
        value: value_of(value)?,
        raw: raw(&format!("{}: {value}", key.path)),
    })
}

/// Returns what a flag sets that is named after a key; its value is a number, a truth, or else a text
/// (`infer_type` in 1.6.1 `trtllm/dynamic_flags.py`).
pub(super) fn from_flag(key: &EngineKey, value: &str) -> Option<Setting> {
    let truth = || match value.to_ascii_lowercase().as_str() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "none" | "null" => Some(Value::Null),
        _ => None,
    };
    let number =
        || value.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number);
    let whole = value.parse::<u64>().ok().map(Value::from);
    let read = whole.or_else(number).or_else(truth).unwrap_or_else(|| value.into());
    setting(key, &read)
}

fn value_of(value: &Value) -> Option<ClaimValue> {
    match value {
        Value::Bool(flag) => Some(ClaimValue::Flag(*flag)),
        Value::String(text) => Some(ClaimValue::Text(shared(text))),
        Value::Number(number) => match number.as_u64() {
            Some(count) => Some(ClaimValue::Count(count)),
            None => number.as_f64().and_then(millionths),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns `value` in millionths; none when it is absurdly large, infinite or no number.
pub(super) fn millionths(value: f64) -> Option<ClaimValue> {
    let scaled = (value * 1e6).round();
    #[expect(clippy::cast_possible_truncation, reason = "within a billion of units")]
    (scaled.abs() < 1e15).then_some(ClaimValue::Millionths(scaled as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_named_after_a_key_has_the_value_that_dynamo_reads() {
        let of = |path: &str, value: &str| {
            let key = TRTLLM_KEYS.iter().find(|key| key.path == path).unwrap();
            from_flag(key, value).map(|setting| setting.value)
        };

        let size = TRTLLM_KEYS[0].path;
        assert_eq!(of(size, "64"), Some(ClaimValue::Count(64)));
        assert_eq!(of(size, "None"), None);
        assert_eq!(
            of("kv_cache_config.free_gpu_memory_fraction", "0.85"),
            Some(ClaimValue::Millionths(850_000))
        );
        assert_eq!(
            of("kv_cache_config.enable_block_reuse", "False"),
            Some(ClaimValue::Flag(false))
        );
        assert_eq!(of("kv_cache_config.dtype", "fp8"), Some(ClaimValue::Text("fp8".into())));
    }

    #[test]
    fn settings_are_read_from_yaml_and_json_alike() {
        let yaml = "backend: pytorch\nkv_cache_config:\n  tokens_per_block: 64\n  \
                    free_gpu_memory_fraction: 0.85\n  enable_block_reuse: false\n";
        let json = r#"{"kv_cache_config": {"tokens_per_block": 64,
                       "free_gpu_memory_fraction": 0.85, "enable_block_reuse": false}}"#;

        let values = |settings: Option<Vec<Setting>>| -> Vec<_> {
            let read = settings.unwrap().into_iter().filter(|it| it.engine == Backend::TrtLlm);
            read.map(|setting| (setting.what, setting.value)).collect()
        };

        let expected = [
            (ClaimWhat::BlockSize, ClaimValue::Count(64)),
            (ClaimWhat::GpuMemoryFraction, ClaimValue::Millionths(850_000)),
            (ClaimWhat::PrefixReuse, ClaimValue::Flag(false)),
        ];
        assert_eq!(values(from_yaml(yaml).unwrap()), expected);
        assert_eq!(values(from_json(json)), expected);
    }

    #[test]
    fn what_is_no_configuration_is_refused_without_harm() {
        let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for letter in 'b'..='m' {
            let before = char::from(letter as u8 - 1);
            let line = vec![format!("*{before}"); 9].join(", ");
            bomb.extend([String::from(letter), format!(": &{letter} [{line}]\n")]);
        }
        let deep = "[".repeat(100_000);
        let long = "a: b\n".repeat(300_000);
        for text in [bomb.as_str(), &deep, &long, "a: b: c"] {
            assert_eq!(from_yaml(text), Err(Unreadable), "{}", &text[..text.len().min(40)]);
        }
        for text in ["", "- a\n- b", "just text"] {
            assert_eq!(from_yaml(text), Ok(None), "{text}");
        }
        assert_eq!(from_yaml("unrelated: 1"), Ok(Some(Vec::new())));
    }
}
