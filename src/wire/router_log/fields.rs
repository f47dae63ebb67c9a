//! Values in a log line, whether it is text or JSONL.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// A log line in the form of text: message, then `key=value` fields.
pub(super) struct Line<'a> {
    text: Cow<'a, str>,
}

impl<'a> Line<'a> {
    /// Reads a line. A JSONL one (`DYN_LOGGING_JSONL`; dynamo-runtime 0.9.0, `logging.rs:1057`) is
    /// turned into the text it would have been.
    pub(super) fn new(line: &'a str) -> Self {
        let json = line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten();
        let text = match json {
            Some(Value::Object(object)) => Cow::Owned(flattened(&object)),
            _ => Cow::Borrowed(line),
        };
        Self { text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line from `mark` on.
    pub(super) fn from<'b>(&'b self, mark: &str) -> Option<Line<'b>> {
        self.text.find(mark).map(|start| Line { text: Cow::Borrowed(&self.text[start..]) })
    }

    /// Returns the line from byte `start` on, all of it where that is within a letter.
    pub(super) fn tail(&self, start: usize) -> Line<'_> {
        Line { text: Cow::Borrowed(self.text.get(start..).unwrap_or(&self.text)) }
    }

    /// Returns what follows the first `mark`, without an opening quote.
    pub(super) fn after(&self, mark: &str) -> Option<&str> {
        let (_, rest) = self.text.split_once(mark)?;
        Some(rest.strip_prefix('"').unwrap_or(rest))
    }

    /// Returns the word after `mark`, up to a blank, a comma or a quote.
    pub(super) fn word(&self, mark: &str) -> Option<&str> {
        let word = self.after(mark)?.split([' ', ',', '"']).next()?;
        (!word.is_empty()).then_some(word)
    }

    /// Returns the whole number after `mark`.
    pub(super) fn integer(&self, mark: &str) -> Option<u64> {
        let rest = self.after(mark)?;
        leading_integer(rest.strip_prefix("Some(").unwrap_or(rest))
    }

    /// Returns the number after `mark`, possibly with a fraction.
    pub(super) fn number(&self, mark: &str) -> Option<f64> {
        let rest = self.after(mark)?;
        let end = rest
            .find(|letter: char| !matches!(letter, '0'..='9' | '.' | '-'))
            .unwrap_or(rest.len());
        rest[..end].trim_end_matches('.').parse().ok().filter(|value: &f64| value.is_finite())
    }
}

/// Returns the number that `text` starts with.
pub(super) fn leading_integer(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

fn flattened(object: &serde_json::Map<String, Value>) -> String {
    let mut text = object.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (key, value) in object {
        if matches!(key.as_str(), "message" | "time" | "level" | "target" | "file" | "line") {
            continue;
        }
        // Writing to a string cannot fail.
        let written = match value {
            Value::String(value) => write!(text, " {key}=\"{value}\""),
            value => write!(text, " {key}={value}"),
        };
        debug_assert!(written.is_ok());
    }
    text
}
