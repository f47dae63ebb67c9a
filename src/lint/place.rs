//! Finds the place of a setting: the place of a claim in the text that it was read from.

use std::ops::Range;

use super::document::{self, Key, Node};
use super::edit::holds_token;
use super::manifest::{Config, Part};
use super::{Source, Spot};
use crate::domain::{Basis, Claim, ClaimValue, SetBy};
use crate::wire::printable;

/// Longest text shown with a place.
const WHAT_LIMIT: usize = 160;

/// The text that places are looked for in.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) sources: &'a [Source],
    /// The starts of lines of each.
    pub(super) starts: &'a [Vec<usize>],
}

/// Returns where the lines of `text` start, in bytes.
pub(super) fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// A variable's entry, and the list that it stands in.
pub(super) struct Variable<'a> {
    pub(super) entry: &'a Node,
    pub(super) key: &'a Key,
    pub(super) list: &'a Node,
}

impl<'a> Text<'a> {
    /// Returns the text of a file.
    pub(super) fn content(self, file: usize) -> &'a str {
        self.sources.get(file).map_or("", |source| source.text.as_str())
    }

    /// Returns a line of a file, from 1, without its end.
    pub(super) fn line(self, file: usize, line: usize) -> &'a str {
        let range = self.start_of(file, line)..self.start_of(file, line + 1);
        self.content(file).get(range).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// Returns the byte at which a line starts; the end of the file for lines beyond it.
    pub(super) fn start_of(self, file: usize, line: usize) -> usize {
        let starts = self.starts.get(file).and_then(|starts| starts.get(line.saturating_sub(1)));
        starts.map_or_else(|| self.content(file).len(), |start| *start)
    }

    /// Returns line and column of a byte, both from 1.
    pub(super) fn place_of(self, file: usize, byte: usize) -> (usize, usize) {
        let starts = self.starts.get(file).map_or(&[][..], Vec::as_slice);
        let line = starts.partition_point(|start| *start <= byte).max(1);
        let before = self.content(file).get(self.start_of(file, line)..byte).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// Returns the last line of what belongs to a key: what is indented deeper, and the items of a list
    /// at the same indentation.
    pub(super) fn last_line(self, file: usize, key: &Key) -> usize {
        let mut last = key.line;
        let lines = self.starts.get(file).map_or(0, Vec::len);
        for number in key.line + 1..=lines {
            let line = self.line(file, number);
            let content = line.trim_start();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let indent = line.len() - content.len();
            let item = indent + 1 == key.column && (content == "-" || content.starts_with("- "));
            // The key itself may stand behind the dash of an item.
            if (indent < key.column && !item) || content.starts_with("---") {
                break;
            }
            last = number;
        }
        last
    }

    /// Returns a spot.
    pub(super) fn spot(self, file: usize, place: (usize, usize), what: &str) -> Spot {
        let name = self.sources.get(file).map_or_else(|| "?".into(), |source| source.name.clone());
        // A token may stand where a setting should.
        let what = if holds_token(what) {
            what.split(['=', ':', ' ']).next().filter(|name| !holds_token(name)).unwrap_or("")
        } else {
            what
        };
        Spot {
            file: name,
            line: place.0,
            column: place.1,
            what: printable(what, WHAT_LIMIT).into_owned(),
        }
    }

    /// Returns where `claim` of `part` was read; where it would stand, for a default.
    pub(super) fn of_claim(self, part: &Part<'_>, claim: &Claim) -> Spot {
        let what = if claim.basis == Basis::Default {
            format!("{}; default {} ({})", claim.raw, shown(&claim.value), claim.source)
        } else {
            claim.raw.to_string()
        };
        if let Some(config) = part.config_of(claim) {
            let key = claim.raw.split(": ").next().unwrap_or_default();
            let found = self.in_config(config, key);
            let place = found.map_or((config.node.line, config.node.column), |range| {
                self.place_of(config.file, range.start)
            });
            return self.spot(config.file, place, &what);
        }
        if let Some((file, key)) = claim.set_by.as_ref().and_then(|by| part.lent(by)) {
            return self.spot(file, (key.line, key.column), &what);
        }
        let place = match &claim.set_by {
            Some(SetBy::Variable { name, .. }) => {
                part.variable(name).map(|found| (found.entry.line, found.entry.column))
            }
            Some(SetBy::Flag(name)) => {
                self.flag(part, &[name]).map(|(_, at)| self.place_of(part.file, at.start))
            }
            None => None,
        };
        self.spot(part.file, place.unwrap_or_else(|| part.place_for_more()), &what)
    }

    /// Returns the last of a container's words that is one of `flags`, in which item and where.
    pub(super) fn flag<'p>(
        self,
        part: &Part<'p>,
        flags: &[&str],
    ) -> Option<(&'p Node, Range<usize>)> {
        let items = part.words();
        items.into_iter().rev().find_map(|item| {
            let span = item.span.clone()?;
            // Dashes and underscores are the same in flags.
            let raw = self.content(part.file).get(span.clone())?.replace('_', "-");
            let found = flags.iter().filter_map(|flag| last_word(&raw, &flag.replace('_', "-")));
            let (start, length) = found.max()?;
            let start = span.start + start;
            Some((item, start..start + length))
        })
    }

    /// Returns the value of a dotted key in a configuration.
    pub(super) fn in_config(self, config: Config<'_>, path: &str) -> Option<Range<usize>> {
        let keys: Vec<&str> = path.split('.').collect();
        let Some(text) = config.node.text() else {
            return config.node.at(&keys)?.span.clone();
        };
        // In a ConfigMap the file is a text of its own.
        match document::parse(text) {
            Ok(inner) if !inner.entries().is_empty() => {
                self.outside(config, text, inner.at(&keys)?.span.as_ref()?)
            }
            Ok(_) | Err(_) => self.in_words(config, keys.last()?),
        }
    }

    /// Returns where a piece of one line of `text`, which a node holds, stands in the file.
    fn outside(self, config: Config<'_>, text: &str, inner: &Range<usize>) -> Option<Range<usize>> {
        let span = config.node.span.clone()?;
        let raw = self.content(config.file).get(span.clone())?;
        let piece = text.get(inner.clone())?;
        let start = text.get(..inner.start)?.rfind('\n').map_or(0, |at| at + 1);
        let line = text.get(start..)?.lines().next()?;
        let before = text.get(..start)?.matches('\n').count();
        // Below a mark the text begins on the next line.
        let before = before + usize::from(raw.starts_with(['|', '>']));
        let its: usize = raw.split_inclusive('\n').take(before).map(str::len).sum();
        let at = its + raw.get(its..)?.lines().next()?.find(line)? + inner.start - start;
        let found = span.start + at..span.start + at + piece.len();
        (self.content(config.file).get(found.clone())? == piece).then_some(found)
    }

    /// Returns the value of the first `key` in a command that holds a configuration.
    fn in_words(self, config: Config<'_>, key: &str) -> Option<Range<usize>> {
        let span = config.node.span.clone()?;
        let raw = self.content(config.file).get(span.clone())?;
        let at = raw.match_indices(key).find(|(at, _)| {
            let before = raw[..*at].chars().next_back();
            let after = raw[at + key.len()..].trim_start_matches(['"', '\'']);
            before.is_none_or(|letter| !is_name(letter))
                && after.starts_with(':')
                && !in_comment(raw, *at)
        })?;
        let rest = &raw[at.0..];
        let colon = rest.find(':')? + 1;
        let value = rest[colon..].trim_start_matches([' ', '"', '\'']);
        let start = span.start + at.0 + (rest.len() - value.len());
        let length = value.find(|letter: char| !is_name(letter) && letter != '.');
        Some(start..start + length.unwrap_or(value.len()))
    }
}

impl<'a> Part<'a> {
    /// Returns the words of what its container runs.
    pub(super) fn words(&self) -> Vec<&'a Node> {
        let lists = ["command", "args"].map(|key| self.container.and_then(|node| node.get(key)));
        lists.into_iter().flatten().flat_map(Node::items).collect()
    }

    /// Returns where a setting of it would go: workers have flags, the others variables.
    pub(super) fn place_for_more(&self) -> (usize, usize) {
        let args = self.container.and_then(|node| node.entry("args").or(node.entry("command")));
        let envs = self.own_envs();
        let key = if self.role.is_worker() { args.or(envs) } else { envs.or(args) };
        key.map_or(self.head, |(key, _)| (key.line, key.column))
    }

    /// Returns the entry that sets a variable: the strongest list's last.
    pub(super) fn variable(&self, name: &str) -> Option<Variable<'a>> {
        self.envs.iter().rev().find_map(|(owner, key)| {
            let (key, list) = owner.entry(key)?;
            let named = |entry: &&Node| entry.string("name") == Some(name);
            let entry = list.items().iter().rev().find(named)?;
            Some(Variable { entry, key, list })
        })
    }

    /// Returns the key of a `ConfigMap` that a variable takes its value from, with its file.
    fn lent(&self, by: &SetBy) -> Option<(usize, &'a Key)> {
        let SetBy::Variable { from: Some((map, key)), .. } = by else { return None };
        let (_, config) = self.lenders.iter().find(|(name, _)| **name == **map)?;
        Some((config.file, config.node.entry(key)?.0))
    }

    /// Returns the list in which a variable of its own belongs, when it has one.
    pub(super) fn own_envs(&self) -> Option<(&'a Key, &'a Node)> {
        use super::manifest::Form;
        let own = self.envs.iter().filter(|(owner, _)| self.owns(owner));
        let found: Vec<_> = own.filter_map(|(owner, key)| owner.entry(key)).collect();
        match self.form {
            Form::Service => {
                let of_service = |(key, _): &&(&Key, &Node)| key.text == "envs";
                found.iter().find(of_service).or(found.first()).copied()
            }
            Form::Component | Form::Workload => found.last().copied(),
        }
    }

    /// Returns false for maps that other parts share.
    pub(super) fn owns(&self, owner: &Node) -> bool {
        std::ptr::eq(owner, self.node)
            || self.container.is_some_and(|container| std::ptr::eq(owner, container))
    }
}

fn shown(value: &ClaimValue) -> String {
    match value {
        ClaimValue::Count(count) => count.to_string(),
        ClaimValue::Text(text) => text.to_string(),
        ClaimValue::Flag(flag) => flag.to_string(),
        ClaimValue::Millionths(value) => (*value as f64 / 1e6).to_string(),
    }
}

/// Returns where `word` stands last in `text` as a whole word, and how long it is.
fn last_word(text: &str, word: &str) -> Option<(usize, usize)> {
    let ends = |letter: char| letter.is_whitespace() || "\"'=,\\]".contains(letter);
    let starts = |letter: char| letter.is_whitespace() || "\"'[(;".contains(letter);
    let found = text.match_indices(word).filter(|(at, _)| {
        text[..*at].chars().next_back().is_none_or(starts)
            && text[at + word.len()..].chars().next().is_none_or(ends)
            && !in_comment(text, *at)
    });
    found.last().map(|(at, _)| (at, word.len()))
}

/// Returns true behind a `#` of the same line, where a shell and YAML begin a comment.
fn in_comment(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim_start().starts_with('#') || line.contains(" #") || line.contains("\t#")
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
