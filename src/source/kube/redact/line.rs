//! Secrets and prompts within lines of logs.
//!
//! Engines print their arguments, and processes told to log more print whole requests. A user's prompt must
//! not leave the cluster through kvtop: from its first sign on, the rest of the line is removed.

use serde_json::Value;

use super::text::scrub;
use super::{Depth, REDACTED, is_secret_key};

/// Fields that hold a prompt, its tokens or an answer, in small letters. A longer name that ends with one of
/// them after an underscore counts too: `system_prompt`, `output_token_ids`.
const PROMPTS: [&str; 28] = [
    "answer",
    "arguments",
    "body",
    "choices",
    "completion",
    "content",
    "contents",
    "conversation",
    "delta",
    "ids",
    "input",
    "inputs",
    "instructions",
    "messages",
    "output",
    "outputs",
    "prompt",
    "prompts",
    "query",
    "question",
    "reply",
    "response",
    "text",
    "texts",
    "token_id",
    "tokens",
    "user_message",
    "utterance",
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
    let clean = scrub(line, Depth::OUTERMOST);
    cut(clean.as_deref().unwrap_or(line)).or(clean)
}

fn cut_within(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(clean) = cut(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut_within),
        Value::Object(map) => {
            for (key, inner) in map.iter_mut() {
                let holds = matches!(inner, Value::String(_) | Value::Array(_) | Value::Object(_));
                if holds && is_prompt(key) {
                    *inner = REDACTED.into();
                } else {
                    cut_within(inner);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_prompt(name: &str) -> bool {
    let name = name.as_bytes();
    PROMPTS.iter().any(|field| {
        let rest = name.len().checked_sub(field.len()).map(|at| name.split_at(at));
        rest.is_some_and(|(rest, end)| {
            end.eq_ignore_ascii_case(field.as_bytes()) && rest.last().is_none_or(|it| *it == b'_')
        })
    })
}

/// Returns `text` up to its first prompt, and without the values of fields whose name is that of a secret:
/// `Login { client_secret: Some("…"), … }`. None when there is neither.
fn cut(text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut copied = 0;
    for field in Fields::new(text) {
        if field.value < copied {
            continue;
        }
        let value = &text[field.value..];
        if value.is_empty() || value.starts_with(REDACTED) {
            continue;
        }
        if is_prompt(field.name) && !is_plain(value) {
            clean.push_str(&text[copied..field.value]);
            clean.push_str(REDACTED);
            return Some(clean);
        }
        if is_secret_key(field.name) && !is_plain(value) {
            clean.push_str(&text[copied..field.value]);
            clean.push_str(REDACTED);
            copied = field.value + secret(value);
        }
    }
    (copied > 0).then(|| clean + &text[copied..])
}

/// Returns true for a value that is a number, a truth or nothing: `prompt_tokens: 5`, `token: None`.
fn is_plain(value: &str) -> bool {
    let end = value.find(|letter: char| " ,;)]}\t".contains(letter)).unwrap_or(value.len());
    let word = value[..end].trim_end_matches(['.', 's', '%']);
    ["", "None", "null", "nil", "true", "false", "True", "False", "[]", "{}"].contains(&word)
        || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Returns the length of a secret at the start of `value`. One in quotes or brackets may hold anything, so it
/// ends with the line.
fn secret(value: &str) -> usize {
    if value.starts_with(['"', '\'', '\\', '[', '{', '('])
        || value.starts_with(|letter: char| letter.is_ascii_uppercase())
            && value.find(['(', '{', '[']).is_some_and(|at| {
                value[..at].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
            })
    {
        return value.len();
    }
    value.find([',', ';', '}', ')']).unwrap_or(value.len())
}

/// Fields in a text: a name, then `:` or `=`, then a value. Reads each byte a bounded number of times.
struct Fields<'a> {
    text: &'a str,
    at: usize,
}

struct Field<'a> {
    name: &'a str,
    /// Offset of the value.
    value: usize,
}

impl<'a> Fields<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let bytes = self.text.as_bytes();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let run = |from: usize, of: &dyn Fn(u8) -> bool| {
            bytes[from..].iter().position(|byte| !of(*byte)).map_or(bytes.len(), |end| from + end)
        };
        loop {
            let start = run(self.at, &|byte| !is_word(byte));
            let end = run(start, &is_word);
            if start == end {
                return None;
            }
            let quotes = run(end, &|byte| b"\"'\\".contains(&byte));
            let sign = run(quotes, &|byte| byte == b' ');
            // Every run is passed over, so that none is read again.
            self.at = sign.max(end);
            let after = bytes.get(sign + 1);
            let is_field = match bytes.get(sign) {
                Some(b':') => after != Some(&b':'),
                Some(b'=') => after != Some(&b'='),
                _ => false,
            };
            if is_field {
                let value = run(sign + 1, &|byte| byte == b' ' || byte == b'\t');
                self.at = value;
                return Some(Field { name: &self.text[start..end], value });
            }
        }
    }
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
            ("Prompt: \"why\"", "Prompt: (redacted)"),
            ("parts: [Part { content: Text(\"why\") }]", "parts: [Part { content: (redacted)"),
            ("got prompt=why me", "got prompt=(redacted)"),
            ("tokens=[1, 2]", "tokens=(redacted)"),
            ("args: --api-key abcdef", "args: --api-key (redacted)"),
            ("login: Login { secret: Some(\"why\"), n: 1 }", "login: Login { secret: (redacted)"),
            ("INFO auth: client_secret: why, n: 1", "INFO auth: client_secret: (redacted), n: 1"),
            (
                r#"{"level":"DEBUG","message":"in: messages=[1]","fields":{"prompt":"why","n":1}}"#,
                r#"{"level":"DEBUG","message":"in: messages=(redacted)","fields":{"prompt":"(redacted)","n":1}}"#,
            ),
        ];
        for (line, expected) in table {
            assert_eq!(redacted_line(line).as_deref(), Some(expected), "{line}");
        }
        let harmless = [
            "prompt_tokens: 5",
            "prompt: 5",
            "5 messages",
            "content type is text",
            "dynamo_llm::text::prompt started",
            "",
        ];
        for line in harmless {
            assert_eq!(redacted_line(line), None, "{line}");
        }
    }
}
