//! vLLM's form of a JSON flag with one word for each key: `--kv-events-config.publisher zmq`.

use serde_json::{Map, Value};

use super::shell::Arg;
use crate::dynamo::flag;

/// Adds what the words say of KV events key by key as the one flag that says all (vLLM, "JSON CLI Arguments"). A key
/// that is not known keeps the words as they are.
pub(super) fn joined(mut words: Vec<Arg>) -> Vec<Arg> {
    let mut config = Map::new();
    for (place, arg) in words.iter().enumerate() {
        let Some(word) = arg.known() else { continue };
        let Some(rest) = word.strip_prefix(flag::KV_EVENTS_CONFIG) else { continue };
        let Some(rest) = rest.strip_prefix('.') else { continue };
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (rest, words.get(place + 1).and_then(Arg::known)),
        };
        let Some(value) = value.filter(|_| !key.contains('.')) else { return words };
        config.insert(key.to_owned(), read(value));
    }
    if !config.is_empty() {
        let config = Value::Object(config);
        words.push(Arg::Word(format!("{}={config}", flag::KV_EVENTS_CONFIG)));
    }
    words
}

fn read(value: &str) -> Value {
    match value.to_ascii_lowercase().as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => value.parse::<u64>().map_or_else(|_| value.into(), Into::into),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_one_flag_and_what_is_not_known_stays() {
        let words = |text: &str| text.split(' ').map(|it| Arg::Word(it.into())).collect::<Vec<_>>();
        let flag = "--kv-events-config";
        let told =
            format!("{flag}.enable_kv_cache_events True {flag}.publisher=zmq {flag}.port 5557");
        let made = joined(words(&told));
        let expected = format!(
            "{flag}={{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\",\"port\":5557}}"
        );
        assert_eq!(made.last().and_then(Arg::known), Some(expected.as_str()));

        for same in ["--kv-events-config {} --model m", "--kv-events-config.publisher"] {
            assert_eq!(joined(words(same)).len(), words(same).len(), "{same}");
        }
    }
}
