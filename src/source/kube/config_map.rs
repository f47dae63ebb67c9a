//! The parts of a `ConfigMap` that enter a frame: configurations of engines, and variables of processes.
//!
//! A `ConfigMap` may hold anything. What is neither stays out; its size is noted.

use serde_json::Value;

use super::redact;
use crate::domain::VariableKeys;
use crate::wire::{kept_of_engine_file, kept_of_variable};

/// The largest text that is passed on; engine configurations have a few hundred bytes.
const LARGEST: usize = 64 << 10;

/// The longest value of a variable that is passed on.
const LONGEST: usize = 4096;

/// Returns the data of a `ConfigMap` whose keys in `variables` are those of processes.
pub(super) fn trim(data: Value, variables: &VariableKeys) -> Value {
    let Value::Object(map) = data else {
        return data;
    };
    let texts = map.into_iter().map(|(key, text)| match text {
        Value::String(_) if redact::is_secret_file(&key) => (key, redact::REDACTED.into()),
        Value::String(text) => {
            let variable = is_variable(&key, variables) && is_value(&text);
            let shown = match variable {
                true if redact::is_secret_variable(&key, &text) => redact::REDACTED.to_owned(),
                true => kept_of_variable(&key, &text),
                _ if text.len() <= LARGEST && is_configuration(&key, &text) => {
                    let no_yaml = || format!("(no YAML: {} bytes left out)", text.len());
                    kept_of_engine_file(&text).unwrap_or_else(no_yaml)
                }
                _ => format!("({} bytes left out)", text.len()),
            };
            (key, shown.into())
        }
        other => (key, other),
    });
    texts.collect()
}

fn is_variable(key: &str, variables: &VariableKeys) -> bool {
    match variables {
        VariableKeys::All => true,
        VariableKeys::Named(names) => names.contains(key),
    }
}

/// Returns true for what a setting may be: files have lines, whoever takes them for a variable.
fn is_value(text: &str) -> bool {
    text.len() <= LONGEST && !text.trim_end().contains('\n')
}

/// Returns true for what may be an engine's configuration, or holds nothing: any other text may be anything.
/// A file that does not say by its name what it is must hold more than names and values.
fn is_configuration(key: &str, text: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let named = [".yaml", ".yml", ".json"].iter().any(|end| key.ends_with(end));
    let text = text.trim_start_matches('\u{feff}').trim_end();
    if !text.trim_start().starts_with('{') {
        return is_map(text, named);
    }
    // Flow style, of which JSON is one.
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(map)) => named || map.values().any(Value::is_object),
        _ => text.ends_with('}') && named,
    }
}

/// Returns true for YAML whose outermost lines are all names, each with a value or with more below it.
fn is_map(text: &str, flat: bool) -> bool {
    let (mut outermost, mut nested) = (None, false);
    for line in text.lines() {
        let content = line.trim();
        let marker = content.is_empty() || ["---", "...", "{}"].contains(&content);
        if marker || content.starts_with(['#', '%']) {
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        let outer = *outermost.get_or_insert(depth);
        // The items of a list may stand below their name without being indented.
        let item = content == "-" || content.starts_with("- ");
        if depth > outer || (item && nested) {
            nested = true;
        } else if !is_entry(content) {
            return false;
        } else {
            nested |= content.ends_with(':');
        }
    }
    flat || nested || outermost.is_none()
}

/// Returns true for `name:` and `name: value`. `name:value` is one word, and may be a login.
fn is_entry(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else { return false };
    let name = name.trim_end().trim_matches(['"', '\'']);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_./<".contains(letter);
    !name.is_empty()
        && name.chars().all(is_name)
        && !value.starts_with(|c: char| !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ENGINE: &str = "kv_cache_config:\n  tokens_per_block: 32\n";

    #[test]
    fn configurations_are_passed_on_however_they_are_written() {
        let rows = [
            ("agg.yaml", ENGINE),
            ("engine", ENGINE),
            ("agg.yaml", "max_batch_size: 8"),
            ("agg.yml", "\u{feff}---\r\n# 1\r\n  a: 1\r\n  b:\r\n    c: 2\r\n"),
            ("agg.yaml", "a:\n- 1\n- 2\n\"b\" : auto\n"),
            ("agg.yaml", "{kv_cache_config: {tokens_per_block: 32}}"),
            ("a.json", "{\"version\": 1}\n"),
            ("a", "{\"kv_cache_config\": {\"tokens_per_block\": 32}}"),
            ("agg.yaml", "# none\n{}\n"),
            ("agg.yaml", "# none\n"),
        ];
        for (key, text) in rows {
            let trimmed = trim(json!({ (key): text }), &VariableKeys::default());
            assert_eq!(trimmed[key], text, "{text}");
        }
    }

    #[test]
    fn a_text_with_a_colon_is_no_configuration_by_that() {
        let rows = [
            ("login.yaml", "user:PLANTED"),
            ("login.yaml", "a: 1\nuser:PLANTED\n"),
            ("notes", "user: PLANTED"),
            ("notes", "{\"user\": \"PLANTED\"}"),
            ("notes", "{user: PLANTED}"),
            ("notes.yaml", "Dear all: PLANTED"),
            ("notes.yaml", "- PLANTED"),
            ("notes.yaml", "{PLANTED"),
            ("users", "user:$apr1$PLANTED"),
        ];
        for (key, text) in rows {
            let trimmed = trim(json!({ (key): text }), &VariableKeys::default());
            let note = format!("({} bytes left out)", text.len());
            assert_eq!(trimmed[key], note, "{text}");
        }
    }

    #[test]
    fn variables_are_passed_on_where_processes_take_them() {
        let data = json!({ "DYN_ROUTER_MODE": "kv", "size": "32", "HF_TOKEN": "PLANTED", "empty": "", "users": "a:PLANTED\nb:PLANTED\n" });
        let named = VariableKeys::Named(std::iter::once("size".into()).collect());

        let all = trim(data.clone(), &VariableKeys::All);
        let some = trim(data, &named);

        assert_eq!(all["DYN_ROUTER_MODE"], "kv");
        assert_eq!((&all["size"], &some["size"]), (&json!("32"), &json!("32")));
        assert_eq!(some["DYN_ROUTER_MODE"], "(2 bytes left out)");
        assert_eq!(all["HF_TOKEN"], redact::REDACTED);
        assert_eq!(all["empty"], "");
        assert!(!all.to_string().contains("PLANTED"), "{all}");
    }
}
