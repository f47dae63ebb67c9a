//! Secrets and prompts within lines of logs.
//!
//! Engines print their arguments, and processes told to log more print whole requests. What a person
//! asked a model is nobody's business here: from the first sign of it on, a line is cut.

use serde_json::Value;

use super::REDACTED;
use super::text::scrub;

/// Fields that hold a prompt, its tokens or an answer.
const PROMPTS: [&str; 9] = [
    "prompt",
    "prompts",
    "messages",
    "content",
    "input_text",
    "inputs",
    "prompt_token_ids",
    "token_ids",
    "input_ids",
];

/// Returns `line` without secrets and prompts, none when it has none.
pub(in crate::source) fn redacted_line(line: &str) -> Option<String> {
    if line.starts_with('{')
        && let Ok(mut value) = serde_json::from_str::<Value>(line)
    {
        let before = value.clone();
        super::redact(&mut value);
        cut_within(&mut value);
        return (value != before).then(|| value.to_string());
    }
    let clean = scrub(line);
    let text = clean.as_deref().unwrap_or(line);
    match prompt(text) {
        Some(at) => Some(format!("{}{REDACTED}", &text[..at])),
        None => clean,
    }
}

fn cut_within(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(at) = prompt(text) {
                text.truncate(at);
                text.push_str(REDACTED);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut_within),
        Value::Object(map) => {
            for (key, inner) in map.iter_mut() {
                let holds = matches!(inner, Value::String(_) | Value::Array(_) | Value::Object(_));
                if holds && PROMPTS.contains(&key.as_str()) {
                    *inner = REDACTED.into();
                } else {
                    cut_within(inner);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns where the first prompt in `text` begins: a field of that name whose value is a text or a
/// list. A number is none: `prompt_tokens: 5` stays, and so does `prompt: 5`.
fn prompt(text: &str) -> Option<usize> {
    PROMPTS.iter().filter_map(|field| value_of(text, field)).min()
}

fn value_of(text: &str, field: &str) -> Option<usize> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(field).find_map(|(at, _)| {
        let after = &text[at + field.len()..];
        let rest = after.trim_start_matches(['"', '\'', '\\']).trim_start();
        let value = rest.strip_prefix([':', '='])?.trim_start();
        let holds = value.starts_with(['"', '\'', '[', '{', '\\']) || value.starts_with("Some(");
        (holds && !text[..at].ends_with(is_word)).then(|| text.len() - value.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_tokens_are_cut_and_counts_stay() {
        let table = [
            ("request: Chat { messages: [User(\"why\")] }", "request: Chat { messages: (redacted)"),
            ("got {\"prompt\": \"why\"}", "got {\"prompt\": (redacted)"),
            ("prompt='why', n=2", "prompt=(redacted)"),
            ("prompt_token_ids=[1, 2]", "prompt_token_ids=(redacted)"),
            ("prompt: Some(\"why\")", "prompt: (redacted)"),
            ("args: --api-key abcdef", "args: --api-key (redacted)"),
            (
                r#"{"level":"DEBUG","message":"in: messages=[1]","fields":{"prompt":"why","n":1}}"#,
                r#"{"level":"DEBUG","message":"in: messages=(redacted)","fields":{"prompt":"(redacted)","n":1}}"#,
            ),
        ];
        for (line, expected) in table {
            assert_eq!(redacted_line(line).as_deref(), Some(expected), "{line}");
        }
        for line in ["prompt_tokens: 5", "prompt: 5", "5 messages", "content type is text", ""] {
            assert_eq!(redacted_line(line), None, "{line}");
        }
    }
}
