//! The words of a script, one after the other, with whatever stands between them.
//!
//! No grammar is followed, so that none can be got wrong: quotes, operators and white space stay as they are,
//! and only runs of letters are replaced. Reads each byte a bounded number of times.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::read::{is_switch, takes_value};
use super::{FLAG, HIDDEN, Keeper, is_json, is_value, kept_of_json};

/// Longest value of a flag that is looked at in a script.
const LONGEST_VALUE: usize = 4096;

pub(super) struct Script<'a> {
    text: &'a str,
}

/// A run of letters that may be a word.
#[derive(Clone, Copy)]
struct Run<'a> {
    start: usize,
    text: &'a str,
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-./+,@^".contains(letter) || !letter.is_ascii()
}

pub(super) fn is_variable(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(|letter: char| letter.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the names of variables that a text refers to, as `$NAME`, `${NAME}` or `$(NAME)`.
pub(super) fn references(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).map(|rest| {
        let rest = rest.trim_start_matches(['{', '(', '!', '#']);
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// Returns what is kept of the value of a flag that kvtop reads, within the quotes that it has.
fn kept_in_quotes(value: &str) -> Cow<'_, str> {
    if !is_json(value.trim_matches(['"', '\'', '\\'])) {
        return value.into();
    }
    let within = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let (open, body, close) = if let Some(body) = within('\'') {
        ("'", body, "'")
    } else if let Some(body) = within('"') {
        ("\"", body, "\"")
    } else if let Some(body) = value.strip_suffix('"') {
        // The quotes begin before the flag.
        ("", body, "\"")
    } else {
        ("", value, "")
    };
    let escaped = close == "\"";
    let json = if escaped {
        Cow::Owned(body.replace("\\\"", "\"").replace("\\\\", "\\"))
    } else {
        Cow::Borrowed(body)
    };
    let kept = kept_of_json(&json);
    if kept == json {
        return value.into();
    }
    let kept = if escaped { kept.replace('\\', "\\\\").replace('"', "\\\"") } else { kept };
    format!("{open}{kept}{close}").into()
}

impl<'a> Script<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// Returns the next run at or after `at`. After a backslash the first letter is part of an escape.
    fn run(&self, at: usize) -> Option<Run<'a>> {
        let mut from = at;
        loop {
            let start = from + self.text[from..].find(is_letter)?;
            let rest = &self.text[start..];
            let end = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
            if self.text[..start].ends_with('\\') {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                if first == end {
                    from = start + end;
                    continue;
                }
                return Some(Run { start: start + first, text: &rest[first..end] });
            }
            return Some(Run { start, text: &rest[..end] });
        }
    }

    /// Returns the text of the value that starts at or after `at`, behind a flag: up to the end of its quotes or to
    /// white space.
    fn value(&self, at: usize) -> Option<(usize, &'a str)> {
        let rest = &self.text[at..];
        let start = at + rest.find(|letter: char| !" =\t".contains(letter))?;
        let value = &self.text[start..];
        let longest =
            (0..=value.len().min(LONGEST_VALUE)).rev().find(|end| value.is_char_boundary(*end));
        let value = &value[..longest.unwrap_or_default()];
        if start == at
            || value.starts_with(['\n', ';', '&', '|', ')', '<', '>'])
            || value.starts_with("--")
        {
            return None;
        }
        let end = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let mut escaped = false;
                let close = value[1..].bytes().position(|byte| {
                    let ends = !escaped && byte == quote as u8;
                    escaped = quote == '"' && byte == b'\\' && !escaped;
                    ends
                })?;
                close + 2
            }
            _ => value
                .find(|letter: char| letter.is_whitespace() || ";&|)<>'\"`".contains(letter))
                .unwrap_or(value.len()),
        };
        // `\"` stays open beyond its quote: what follows belongs to it up to white space.
        let end = if value[..end].ends_with('\\') {
            value.find(char::is_whitespace).unwrap_or(value.len())
        } else {
            end
        };
        // What goes on beyond the limit is none.
        (end < LONGEST_VALUE).then(|| (start, &value[..end]))
    }

    /// Returns the value of a flag that kvtop reads, whose run is `run`.
    fn value_of(&self, run: Run<'a>) -> Option<(usize, &'a str)> {
        if !takes_value(run.text) {
            return None;
        }
        let (start, value) = self.value(run.start + run.text.len())?;
        let bare = value.trim_matches(['"', '\'', '\\']);
        is_value(bare).then_some((start, value))
    }

    /// Notes the variables that the script names, and the values of flags that kvtop reads.
    pub(super) fn survey(&self, keeper: &mut Keeper) {
        keeper.named.extend(references(self.text).filter(|it| is_variable(it)).map(str::to_owned));
        let mut at = 0;
        while let Some(run) = self.run(at) {
            at = run.start + run.text.len();
            if let Some((_, value)) = self.value_of(run) {
                keeper.note_value(value.trim_matches('\\'));
            }
        }
    }

    /// Returns the script with only the words that are kept.
    pub(super) fn kept(&self, keeper: &mut Keeper) -> String {
        let mut own: BTreeSet<&str> = references(self.text).filter(|it| is_variable(it)).collect();
        let mut at = 0;
        while let Some(run) = self.run(at) {
            at = run.start + run.text.len();
            let rest = &self.text[at..];
            let assigned =
                rest.starts_with('=') || run.text.ends_with('+') && rest.starts_with('=');
            let name = run.text.trim_end_matches('+');
            if assigned && is_variable(name) {
                own.insert(name);
            }
        }
        let mut kept = String::with_capacity(self.text.len());
        let (mut at, mut copied) = (0, 0);
        while let Some(run) = self.run(at) {
            kept.push_str(&self.text[copied..run.start]);
            at = run.start + run.text.len();
            copied = at;
            if let Some((start, value)) = self.value_of(run) {
                copied = start + value.len();
                kept.push_str(&self.text[run.start..start]);
                kept.push_str(&kept_in_quotes(value));
                at = copied;
                continue;
            }
            let word = run.text;
            let known = keeper.is_kept(word)
                || own.contains(word.trim_end_matches('+'))
                || takes_value(word);
            if known || is_switch(word) {
                kept.push_str(word);
            } else if word.starts_with("--") {
                kept.push_str(FLAG);
            } else if self.is_pattern(run) {
                kept.push_str(HIDDEN);
            } else {
                kept.push_str(&keeper.replacement(word));
            }
        }
        kept.push_str(&self.text[copied..]);
        kept
    }

    /// Returns true where a part of a word may be compared: its replacement begins and ends with other letters.
    fn is_pattern(&self, run: Run<'_>) -> bool {
        let rest = &self.text[run.start + run.text.len()..];
        let before = &self.text[..run.start];
        rest.starts_with(['*', '?']) || before.ends_with(['*', '?', '%', '#', '~'])
    }
}
