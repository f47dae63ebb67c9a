//! The parts of a log line that a decoder reads, which alone enter a frame.
//!
//! Logs of engines and frontends may hold prompts and secrets in any form, so kvtop keeps what it knows to
//! be harmless instead of removing what it knows to be harmful. A line that no decoder reads is described by
//! its level, target, length and a digest of its shape.

use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use super::fields::Reading;
use super::{Facts, read};
use crate::wire::text::strip_ansi;

/// Marks the places where text was removed.
const GAP: &str = " .. ";

/// Longest line that is looked at.
const LIMIT: usize = super::LINE_LIMIT;

/// Words of the head of a line: time, level, process, target. Later ones belong to the message.
const HEAD_WORDS: usize = 5;

/// Longest target of a log line.
const LONGEST_TARGET: usize = 120;

/// Names of levels, as Dynamo, Python's `logging` and TensorRT-LLM print them.
const LEVELS: [&str; 13] = [
    "TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL", "[I]", "[W]", "[E]",
    "[F]", "[D]",
];

/// First parts of targets that are module paths. Any other word could be part of a message.
const ROOTS: [&str; 16] = [
    "async_nats",
    "dynamo",
    "engine",
    "etcd_client",
    "h2",
    "hyper",
    "kube",
    "main",
    "mio",
    "sglang",
    "tensorrt_llm",
    "tokio",
    "tower",
    "trtllm",
    "uvicorn",
    "vllm",
];

/// Returns `line` reduced to the parts that a decoder reads, or to a description where none does. Decoding
/// the result gives the same facts as decoding the line.
pub fn kept_of_log_line(line: &str) -> String {
    let end = (0..=LIMIT.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
    let line = &line[..end.unwrap_or_default()];
    let bare = strip_ansi(line);
    let reading = Reading::new(&bare);
    let mut facts = Facts::default();
    read(&bare, &reading, &"".into(), &mut facts);
    if facts.other.is_empty() {
        return description(&bare, &reading, line.len());
    }
    let parts = parts(&bare, &reading);
    match &reading.object {
        Some(object) => json_line(object, parts),
        None => parts,
    }
}

/// Returns the parts of a line that were read; with the head of a line of text.
pub(super) fn parts(bare: &str, reading: &Reading<'_>) -> String {
    let head = if reading.object.is_some() { 0 } else { head(bare).len() };
    reading.used(head).join(GAP)
}

/// Returns `line` reduced to a description: for lines whose text must not be kept even where text is.
pub fn described_log_line(line: &str) -> String {
    let bare = strip_ansi(line);
    description(&bare, &Reading::new(&bare), line.len())
}

/// Returns true for a line that begins with a time or a level, as the first line of an entry does.
pub fn begins_log_entry(line: &str) -> bool {
    let bare = strip_ansi(line);
    bare.starts_with('{') || !head(&bare).is_empty()
}

fn description(bare: &str, reading: &Reading<'_>, length: usize) -> String {
    let message = format!("[{length} bytes, shape {:08x}]", shape(reading.line().all()));
    match (&reading.object, head(bare)) {
        (Some(object), _) => json_line(object, message),
        (None, "") => message,
        (None, head) => format!("{head} {message}"),
    }
}

/// Returns a line of JSONL with this message.
fn json_line(envelope: &Map<String, Value>, message: String) -> String {
    let mut line: Map<String, Value> =
        envelope.iter().filter(|(key, value)| is_envelope(key, value)).map(pair).collect();
    line.insert("message".to_owned(), message.into());
    Value::Object(line).to_string()
}

fn pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

fn is_envelope(key: &str, value: &Value) -> bool {
    let Value::String(text) = value else { return false };
    match key {
        "time" => text.parse::<jiff::Timestamp>().is_ok(),
        "level" => LEVELS.contains(&text.as_str()),
        _ => is_target(text),
    }
}

/// Returns the time, level and target at the start of a line; empty when it has neither a time nor a level.
fn head(line: &str) -> &str {
    let (mut end, mut at) = (0, 0);
    let (mut stamped, mut levelled) = (false, false);
    for word in line.split(' ').take(2 * HEAD_WORDS) {
        let next = at + word.len();
        if word.is_empty() {
        } else if !stamped && word.len() <= 40 && word.parse::<jiff::Timestamp>().is_ok() {
            stamped = true;
            end = next;
        } else if LEVELS.contains(&word) && !levelled {
            levelled = true;
            end = next;
        } else if levelled && word.strip_suffix(':').is_some_and(is_target) {
            end = next;
            break;
        } else if levelled || !is_prefix(word) {
            break;
        }
        at = next + 1;
    }
    &line[..end.min(line.len())]
}

/// Returns true for words that may stand before a level: `[02/16/2026-14:38:53]`, `[TRT-LLM]`, `[RANK`, `0]`.
fn is_prefix(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_digit() || b"[]/:-.,".contains(&byte);
    ["[TRT-LLM]", "[TensorRT-LLM]", "[RANK", "TP0]"].contains(&word)
        || (word.len() <= 32 && word.bytes().all(plain))
}

fn is_target(text: &str) -> bool {
    let root = text.split([':', '.', '_']).next().unwrap_or_default();
    let inside =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:.".contains(&byte);
    text.len() <= LONGEST_TARGET
        && text.bytes().all(inside)
        && (ROOTS.contains(&root)
            || ROOTS.iter().any(|root| text.split([':', '.']).next() == Some(root)))
}

/// Returns a digest of the kinds of characters in `text`, so that lines of one kind can be counted. Runs of
/// letters and of digits count as one, so the digest does not depend on any word.
fn shape(text: &str) -> u32 {
    let mut kinds = Vec::new();
    for letter in text.chars() {
        let kind = match letter {
            '0'..='9' => b'0',
            ' ' | '\t' => b' ',
            letter if letter.is_ascii_punctuation() => u8::try_from(letter).unwrap_or(b'a'),
            _ => b'a',
        };
        if kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "half of a digest is a digest")]
    let digest = xxh3_64(&kinds) as u32;
    digest
}
