//! Flags of what a container runs, as words of a list or inside a script.

use std::ops::Range;

use serde_json::Value;

use super::{Change, holds_secret};
use crate::lint::Edit;
use crate::lint::document::{Key, Node};
use crate::lint::manifest::Part;
use crate::lint::place::Text;

impl Text<'_> {
    /// Sets a flag of what `part` runs, or gives it the flag.
    pub(in crate::lint) fn set_flag(
        self,
        part: &Part<'_>,
        flags: &[&str],
        value: Option<&str>,
    ) -> Option<Edit> {
        if let (Some((item, at)), Some(value)) = (self.flag(part, flags), value) {
            let range = self.value_after(part, item, &at)?;
            let whole = part.words().iter().any(|word| word.span.as_ref() == Some(&range));
            let text = match self.content(part.file).as_bytes().get(item.span.as_ref()?.start) {
                _ if whole && self.is_block_scalar(part.file, &range) => return None,
                _ if whole && self.content(part.file).trim_start().starts_with('{') => {
                    Value::from(value).to_string()
                }
                _ if whole => quoted(value),
                Some(b'"') => value.replace('"', "\\\""),
                Some(b'\'') => value.replace('\'', "''"),
                _ => value.to_owned(),
            };
            let lines =
                (self.place_of(part.file, at.start).0, self.place_of(part.file, range.end).0);
            return self.render(Change::new(part.file, range, text, lines));
        }
        self.add_flag(part, flags.first()?, value)
    }

    /// Changes `from` to `to` within the value of a flag.
    pub(in crate::lint) fn replace_in_flag(
        self,
        part: &Part<'_>,
        flag: &str,
        (from, to): (&str, &str),
    ) -> Option<Edit> {
        let (item, at) = self.flag(part, &[flag])?;
        let value = self.value_after(part, item, &at)?;
        let start = value.start + self.content(part.file).get(value.clone())?.find(from)?;
        let lines = [at.start, value.end].map(|at| self.place_of(part.file, at).0);
        self.render(Change::new(part.file, start..start + from.len(), to, lines.into()))
    }

    /// Returns the value of the flag at `at`.
    fn value_after(self, part: &Part<'_>, item: &Node, at: &Range<usize>) -> Option<Range<usize>> {
        let span = item.span.clone()?;
        let text = self.content(part.file);
        let rest = text.get(at.end..span.end)?;
        let token = rest.trim_start_matches(['=', ' ', '\\', '\n', '\t', '\r']);
        if !token.trim_matches(['"', '\'']).is_empty() {
            let start = span.end - token.len();
            let ends = |l: char| l.is_whitespace() || "\"'\\".contains(l);
            let length = if token.starts_with('{') {
                braces(token)?
            } else {
                token.find(ends).unwrap_or(token.len())
            };
            return (length > 0).then(|| start..start + length);
        }
        let words = part.words();
        let position = words.iter().position(|word| std::ptr::eq(*word, item))?;
        words.get(position + 1)?.span.clone()
    }

    /// Returns true for a text that is written on lines of its own, below a mark.
    fn is_block_scalar(self, file: usize, range: &Range<usize>) -> bool {
        self.content(file)
            .get(range.clone())
            .is_some_and(|text| text.starts_with(['|', '>']) || text.contains('\n'))
    }

    fn add_flag(self, part: &Part<'_>, flag: &str, value: Option<&str>) -> Option<Edit> {
        let file = part.file;
        let text = self.content(file);
        // A command in one text: the flag goes behind the module.
        for item in part.words() {
            let Some(span) = item.span.clone() else { continue };
            let raw = text.get(span.clone())?;
            let Some(module) = raw.find("-m dynamo.") else { continue };
            let name = module + "-m ".len();
            let length = raw[name..].find(|l: char| !(l.is_alphanumeric() || "._".contains(l)));
            let at = span.start + name + length.unwrap_or(raw.len() - name);
            let shell = value.map_or(String::new(), |value| {
                let bare = value.chars().all(|l| l.is_alphanumeric() || ".-".contains(l));
                if bare { format!(" {value}") } else { format!(" '{value}'") }
            });
            let added = match text.as_bytes().get(span.start) {
                Some(b'"') => format!(" {flag}{shell}").replace('"', "\\\""),
                Some(b'\'') => format!(" {flag}{shell}").replace('\'', "''"),
                _ => format!(" {flag}{shell}"),
            };
            let line = self.place_of(file, at).0;
            if holds_secret(self.line(file, line)) {
                return None;
            }
            let shown = (line, line);
            return self.render(Change::new(file, at..at, added, shown));
        }
        let container = part.container?;
        let (key, list) = container.entry("args").or_else(|| container.entry("command"))?;
        let words: Vec<String> = std::iter::once(flag).chain(value).map(quoted).collect();
        if !self.is_block(file, list) {
            // In brackets as in JSON, which they may be.
            let words = std::iter::once(flag).chain(value);
            let words: Vec<String> = words.map(|word| Value::from(word).to_string()).collect();
            return self.add_in_flow(file, (key, list), &words.join(", "));
        }
        let end = self.last_line(file, key);
        let indent = self.indent_of(file, list);
        let lines: Vec<String> = words.iter().map(|word| format!("{indent}- {word}\n")).collect();
        let open = (key.line..=end).any(|line| holds_secret(self.line(file, line)));
        let shown = if open { (end + 1, end) } else { (key.line, end) };
        self.insert_after(file, end, (String::new(), lines.concat()), shown)
    }

    /// Adds items to a list in brackets.
    pub(super) fn add_in_flow(
        self,
        file: usize,
        (key, list): (&Key, &Node),
        items: &str,
    ) -> Option<Edit> {
        let close = self.end_of_flow(file, list)?;
        let at = self.content(file).get(..close)?.trim_end().len();
        let comma = if list.items().is_empty() { "" } else { ", " };
        let shown = (key.line, self.place_of(file, close).0);
        self.render(Change::new(file, at..at, format!("{comma}{items}"), shown))
    }

    /// Replaces a flag by another, or takes it away.
    pub(in crate::lint) fn replace_flag(
        self,
        part: &Part<'_>,
        flag: &str,
        by: Option<&str>,
    ) -> Option<Edit> {
        let (item, at) = self.flag(part, &[flag])?;
        let line = self.place_of(part.file, at.start).0;
        let shown = (line, line);
        if let Some(by) = by {
            return self.render(Change::new(part.file, at, by, shown));
        }
        let whole = item.text().is_some_and(|text| text.trim() == flag);
        let alone = self.line(part.file, line).trim_start().starts_with("- ");
        let range = match (whole, alone) {
            (true, true) => self.start_of(part.file, line)..self.start_of(part.file, line + 1),
            (true, false) => out_of_flow(part, item)?,
            (false, _) => {
                let before = self.content(part.file).get(..at.start)?;
                at.start - usize::from(before.ends_with(' '))..at.end
            }
        };
        self.render(Change::new(part.file, range, "", shown))
    }
}

/// Returns the length of the JSON object that `text` begins with.
fn braces(text: &str) -> Option<usize> {
    let (mut depth, mut quoted) = (0_usize, false);
    let end = text.char_indices().find(|(_, letter)| {
        match letter {
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    end.map(|(at, _)| at + 1)
}

/// Returns an item of a list in brackets, with its comma.
fn out_of_flow(part: &Part<'_>, item: &Node) -> Option<Range<usize>> {
    let words = part.words();
    let position = words.iter().position(|word| std::ptr::eq(*word, item))?;
    let span = item.span.clone()?;
    let end_of = |word: &&Node| word.span.as_ref().map(|span| span.end);
    let before = position.checked_sub(1).and_then(|before| words.get(before));
    // The word before may be of the other list, on another line.
    if let Some(start) = before.filter(|word| word.line == item.line).and_then(end_of) {
        return Some(start..span.end);
    }
    let next = words.get(position + 1).filter(|word| word.line == item.line)?;
    Some(span.start..next.span.as_ref()?.start)
}

/// Returns a word of a command as an item of a list. Numbers would not be text otherwise.
fn quoted(word: &str) -> String {
    if word.contains('"') {
        format!("'{}'", word.replace('\'', "''"))
    } else if word.starts_with("--") {
        word.to_owned()
    } else {
        format!("\"{word}\"")
    }
}
