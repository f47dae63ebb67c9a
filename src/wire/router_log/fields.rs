//! Values in a log line, whether it is text or JSONL, and which parts of the line a decoder reads.
//!
//! A decoder can only look at a line through [`Line`], which notes each mark that was found and each value
//! that was taken. The notes are the allowlist of what kvtop keeps of a log line (`kept`): a reader that is
//! added here needs no second entry anywhere.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::domain::SequenceHash;

/// A log line in the form of text: message, then `key=value` fields.
pub(super) struct Reading<'a> {
    text: Cow<'a, str>,
    /// The object that a JSONL line was, without its message and fields.
    pub(super) object: Option<Map<String, Value>>,
    /// Ranges of the text that were read.
    used: RefCell<Vec<Range<usize>>>,
}

/// A log line from some point on.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    text: &'a str,
    /// Its start in the whole text.
    start: usize,
    used: &'a RefCell<Vec<Range<usize>>>,
}

/// Keys of JSONL that are not part of the message.
const ENVELOPE: [&str; 6] = ["message", "time", "level", "target", "file", "line"];

impl<'a> Reading<'a> {
    /// Reads a line. A JSONL one (`DYN_LOGGING_JSONL`; dynamo-runtime 0.9.0, `logging.rs:1057`) is
    /// turned into the text it would have been.
    pub(super) fn new(line: &'a str) -> Self {
        let json = line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten();
        let (text, object) = match json {
            Some(Value::Object(mut object)) => {
                let text = flattened(&object);
                object.retain(|key, _| ["time", "level", "target"].contains(&key.as_str()));
                (Cow::Owned(text), Some(object))
            }
            _ => (Cow::Borrowed(line), None),
        };
        Self { text, object, used: RefCell::default() }
    }

    /// Returns the target of a JSONL line as it stands in a line of text; empty for text.
    pub(super) fn target(&self) -> String {
        let object = self.object.as_ref();
        let target = object.and_then(|object| object.get("target")?.as_str());
        target.map_or_else(String::new, |target| format!("{target}: "))
    }

    pub(super) fn line(&self) -> Line<'_> {
        Line { text: &self.text, start: 0, used: &self.used }
    }

    /// Returns the first `head` bytes of the text and the parts of it that were read, in order, each once.
    pub(super) fn used(&self, head: usize) -> Vec<&str> {
        let mut ranges = self.used.borrow().clone();
        ranges.push(0..head);
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match merged.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => merged.push(range),
            }
        }
        merged.into_iter().filter_map(|range| self.text.get(range)).collect()
    }
}

impl<'a> Line<'a> {
    /// Returns the whole line, without a note that it was read.
    pub(super) fn all(&self) -> &'a str {
        self.text
    }

    /// Notes that `length` bytes from `at` on were read.
    fn note(&self, at: usize, length: usize) {
        let at = self.start + at;
        self.used.borrow_mut().push(at..at + length);
    }

    /// Returns true when `mark` is in the line.
    pub(super) fn has(&self, mark: &str) -> bool {
        let found = self.text.find(mark);
        if let Some(at) = found {
            self.note(at, mark.len());
        }
        found.is_some()
    }

    /// Returns the line from the first `mark` on.
    pub(super) fn at(&self, mark: &str) -> Option<Self> {
        self.text.find(mark).map(|at| self.beginning(at, mark))
    }

    /// Returns the line from the last `mark` on.
    pub(super) fn last(&self, mark: &str) -> Option<Self> {
        self.text.rfind(mark).map(|at| self.beginning(at, mark))
    }

    fn beginning(&self, at: usize, mark: &str) -> Self {
        self.note(at, mark.len());
        Self { text: &self.text[at..], start: self.start + at, used: self.used }
    }

    /// Takes a value after the first `mark`: `end` returns the length of the value in the text that
    /// follows, none when there is none.
    fn take(&self, mark: &str, end: impl FnOnce(&str) -> Option<usize>) -> Option<&'a str> {
        let at = self.text.find(mark)?;
        let from = at + mark.len();
        let value = &self.text[from..];
        let length = end(value)?;
        self.note(at, mark.len() + length);
        Some(&value[..length])
    }

    /// Returns the word after `mark`, up to a blank, a comma or a quote, without an opening quote.
    pub(super) fn word(&self, mark: &str) -> Option<&'a str> {
        let word = self.take(mark, |rest| {
            let bare = unquoted(rest);
            let length = bare.find([' ', ',', '"']).unwrap_or(bare.len());
            (length > 0).then_some(rest.len() - bare.len() + length)
        })?;
        Some(unquoted(word))
    }

    /// Returns the strings of the list after `mark`, separated by commas: `a,b` of `["a","b"]`.
    pub(super) fn list(&self, mark: &str) -> Option<String> {
        let text = self.take(mark, |rest| {
            let opened = unquoted(rest).starts_with('[');
            rest.find(']').filter(|_| opened).map(|at| at + 1)
        })?;
        Some(text.replace(['[', ']', '"', '\\'], ""))
    }

    /// Returns the text after `mark` up to a single quote, or to the end of the line.
    pub(super) fn quoted(&self, mark: &str) -> Option<&'a str> {
        self.take(mark, |rest| Some(rest.find('\'').unwrap_or(rest.len())))
    }

    /// Returns the whole number after `mark`, which may stand in quotes or in `Some(`.
    pub(super) fn integer(&self, mark: &str) -> Option<u64> {
        self.digits(mark, |rest| {
            let bare = unquoted(rest);
            bare.strip_prefix("Some(").unwrap_or(bare)
        })
    }

    /// Returns the hash after `mark`: `Some(ExternalSequenceBlockHash(99))` or without `Some`.
    pub(super) fn hash(&self, mark: &str) -> Option<SequenceHash> {
        let digits = self.digits(mark, |rest| {
            let bare = unquoted(rest);
            let bare = bare.strip_prefix("Some(").unwrap_or(bare);
            bare.strip_prefix("ExternalSequenceBlockHash(").unwrap_or("")
        });
        digits.map(SequenceHash)
    }

    fn digits(&self, mark: &str, opened: impl Fn(&str) -> &str) -> Option<u64> {
        let text = self.take(mark, |rest| {
            let bare = opened(rest);
            let length = bare.bytes().take_while(u8::is_ascii_digit).count();
            (length > 0).then_some(rest.len() - bare.len() + length)
        })?;
        opened(text).parse().ok()
    }

    /// Returns the whole number after `mark`, which may have commas between groups of digits.
    pub(super) fn grouped(&self, mark: &str) -> Option<u64> {
        let text = self.take(mark, |rest| {
            let bytes = unquoted(rest).as_bytes();
            let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
            let inside =
                |at: &usize| is_digit(*at) || bytes[*at] == b',' && *at > 0 && is_digit(at + 1);
            let length = (0..bytes.len()).take_while(inside).count();
            (length > 0).then_some(rest.len() - bytes.len() + length)
        })?;
        unquoted(text).replace(',', "").parse().ok()
    }

    /// Returns the number after `mark`, possibly with a fraction.
    pub(super) fn number(&self, mark: &str) -> Option<f64> {
        let text = self.take(mark, |rest| {
            let bare = unquoted(rest);
            let length = bare.find(|letter: char| !is_decimal(letter)).unwrap_or(bare.len());
            Some(rest.len() - bare.len() + length)
        })?;
        finite(unquoted(text).trim_end_matches('.'))
    }

    /// Returns the truth after `mark`, as Python writes it.
    pub(super) fn flag(&self, mark: &str) -> Option<bool> {
        let text = self.take(mark, |rest| {
            ["True", "False"].iter().find(|word| rest.starts_with(**word)).map(|word| word.len())
        })?;
        Some(text == "True")
    }

    /// Returns the sum or product of numbers after `mark`: `1.000 * 4.250 + 8.000`.
    pub(super) fn sum(&self, mark: &str) -> Option<&'a str> {
        self.take(mark, |rest| {
            let inside = |letter: char| is_decimal(letter) || " *+".contains(letter);
            Some(rest.find(|letter| !inside(letter)).unwrap_or(rest.len()))
        })
    }

    /// Returns the number between the last `lead` before the first `mark`, and that mark.
    pub(super) fn number_between(&self, lead: &str, mark: &str) -> Option<f64> {
        let end = self.text.find(mark)?;
        let start = self.text[..end].rfind(lead)?;
        let value = finite(self.text[start + lead.len()..end].trim())?;
        self.note(start, end + mark.len() - start);
        Some(value)
    }
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').unwrap_or(text)
}

fn is_decimal(letter: char) -> bool {
    matches!(letter, '0'..='9' | '.' | '-')
}

/// Returns the number in `text`, unless it is infinite or none.
pub(super) fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

fn flattened(object: &Map<String, Value>) -> String {
    let mut text = object.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (key, value) in object {
        if ENVELOPE.contains(&key.as_str()) {
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
