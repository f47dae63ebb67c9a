//! Selects the words of commands and the values of variables that enter a frame: those that decoders read.
//!
//! Flags that kvtop reads stay, with their values; so do the syntax of scripts and the names of variables, for
//! branches to be followed. Any other word is replaced by one that keeps its place. Equal words get equal
//! replacements, so that a comparison of two of them comes out as before.

mod file;
mod read;
mod script;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use read::{is_read_variable, is_switch, takes_value};
use script::Script;
use vocabulary::is_known_word;

use crate::dynamo::variable;

use file::kept_of_json;
pub use file::{kept_of_engine_file, kept_of_record, kept_of_variable};

/// Stands where a value was that may be anything. Decoders take it for a value that is not shown.
const HIDDEN: &str = "(redacted)";

/// Stands where a flag was that kvtop does not read.
const FLAG: &str = "--left-out";

/// Begins the words that stand for others. A plain word in every shell.
const WORD: &str = "left_out_";

/// The longest value that is taken for a name.
const LONGEST_NAME: usize = 200;

/// Words that are replaced by different ones; beyond that all others share one.
const WORDS: usize = 10_000;

/// Keeps of the commands, arguments and variables in an object what kvtop reads.
pub fn kept_of_processes(object: &mut Value) {
    let mut keeper = Keeper::default();
    keeper.survey(object);
    keeper.variables(object);
    keeper.commands(object);
}

/// The reading of the words of one object.
#[derive(Debug, Default)]
struct Keeper {
    /// Variables that are values of flags that kvtop reads.
    of_flags: BTreeSet<String>,
    /// Other variables that commands name.
    named: BTreeSet<String>,
    /// Values of flags that kvtop reads, and of variables that are kept.
    values: BTreeSet<String>,
    replaced: BTreeMap<String, usize>,
}

/// Greatest depth of objects; `serde_json` reads no deeper ones.
const DEPTH: usize = 128;

/// Calls `visit` with every object inside `value`.
fn each(
    value: &mut Value,
    depth: usize,
    visit: &mut impl FnMut(&mut serde_json::Map<String, Value>),
) {
    if depth == 0 {
        *value = Value::Null;
        return;
    }
    match value {
        Value::Object(map) => {
            visit(map);
            map.values_mut().for_each(|inner| each(inner, depth - 1, visit));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| each(inner, depth - 1, visit)),
        _ => {}
    }
}

/// Returns the words of `command` and `args`, with their places.
fn words(map: &serde_json::Map<String, Value>) -> Vec<(&'static str, usize, String)> {
    ["command", "args"]
        .into_iter()
        .flat_map(|key| {
            let items = map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
            items.filter_map(move |(at, item)| Some((key, at, item.as_str()?.to_owned())))
        })
        .collect()
}

fn entries(
    map: &mut serde_json::Map<String, Value>,
) -> impl Iterator<Item = (String, &mut String)> {
    let mut lists = Vec::new();
    for (key, value) in map.iter_mut() {
        if let ("env" | "envs", Value::Array(items)) = (key.as_str(), value) {
            lists.extend(items);
        }
    }
    lists.into_iter().filter_map(|item| {
        let name = item.get("name")?.as_str()?.to_owned();
        match item.get_mut("value") {
            Some(Value::String(value)) => Some((name, value)),
            _ => None,
        }
    })
}

impl Keeper {
    /// Looks for the variables and values that commands name.
    fn survey(&mut self, object: &mut Value) {
        let mut texts = Vec::new();
        each(object, DEPTH, &mut |map| {
            for (_, _, word) in words(map) {
                texts.push(word);
            }
            texts.extend(entries(map).map(|(_, value)| value.clone()));
        });
        let mut after_flag = false;
        for text in &texts {
            if after_flag && !text.starts_with("--") {
                self.note_value(text);
            }
            after_flag = takes_value(text);
            match text.split_once('=').filter(|(flag, _)| takes_value(flag)) {
                Some((_, value)) => self.note_value(value),
                None => Script::new(text).survey(self),
            }
        }
    }

    /// Notes the value of a flag that kvtop reads.
    fn note_value(&mut self, text: &str) {
        let text = text.trim_matches(['"', '\'']);
        if !is_value(text) {
            return;
        }
        if !is_json(text) {
            self.values.insert(text.to_owned());
        }
        self.of_flags.extend(script::references(text).map(str::to_owned));
    }

    fn variables(&mut self, object: &mut Value) {
        each(object, DEPTH, &mut |map| {
            for (name, value) in entries(map) {
                let read = is_read_variable(&name) || self.of_flags.contains(&name);
                if is_json(value) && read {
                    *value = kept_of_json(value);
                } else if is_prose(value) && !value.trim_start().starts_with("--") {
                    HIDDEN.clone_into(value);
                } else if is_setting(value) || is_brokers(&name, value) || is_value(value) && read {
                    self.values.insert(value.clone());
                } else if self.named.contains(&name) || value.trim_start().starts_with("--") {
                    *value = Script::new(value).kept(self);
                } else {
                    HIDDEN.clone_into(value);
                }
            }
        });
    }

    fn commands(&mut self, object: &mut Value) {
        each(object, DEPTH, &mut |map| {
            let mut after = After::Start;
            for (key, at, word) in words(map) {
                if key == "args" && after == After::Start {
                    after = After::Words;
                }
                let kept = self.word(&word, &mut after);
                if let Some(place) = map.get_mut(key).and_then(|list| list.get_mut(at)) {
                    *place = kept.into();
                }
            }
        });
    }

    /// Returns what is kept of a word of a list.
    fn word(&mut self, word: &str, after: &mut After) -> String {
        let before = std::mem::replace(after, After::Words);
        if before == After::Start {
            // The program.
            return if is_name(word) { word.to_owned() } else { self.other(word) };
        }
        let is_flag = word.starts_with("--") && word.len() > 2;
        if before == After::Flag && !is_flag {
            return kept_of_value(word);
        }
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word, None),
        };
        if takes_value(flag) {
            if let Some(value) = value {
                return format!("{flag}={}", kept_of_value(value));
            }
            *after = After::Flag;
            return word.to_owned();
        }
        if is_switch(flag) {
            let truth = value.is_none_or(is_setting);
            return if truth { word.to_owned() } else { format!("{flag}={HIDDEN}") };
        }
        if is_flag {
            return FLAG.to_owned();
        }
        self.other(word)
    }

    /// Returns what is kept of a word that is no flag and no value of one.
    fn other(&mut self, word: &str) -> String {
        if word == HIDDEN {
            return word.to_owned();
        }
        Script::new(word).kept(self)
    }

    /// Returns the word that stands for `word`.
    fn replacement(&mut self, word: &str) -> String {
        let next = self.replaced.len();
        let number = match self.replaced.get(word) {
            Some(number) => *number,
            None if next < WORDS => {
                self.replaced.insert(word.to_owned(), next);
                next
            }
            None => WORDS,
        };
        format!("{WORD}{number}")
    }

    fn is_kept(&self, word: &str) -> bool {
        is_known_word(word) || self.values.contains(word)
    }
}

/// The context of a word: the word before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Nothing.
    Start,
    /// Words, the last of which wants no value.
    Words,
    /// A flag that kvtop reads and that takes a value.
    Flag,
}

/// Returns true for a name or a path.
fn is_name(word: &str) -> bool {
    word.len() <= LONGEST_NAME
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
}

/// Returns true for a value that is a setting whatever its name: nothing, a number, a truth, a reference.
fn is_setting(value: &str) -> bool {
    let value = value.trim();
    let name = value.strip_prefix('$').map(|name| {
        let within = |ends: [char; 2]| name.strip_prefix(ends[0])?.strip_suffix(ends[1]);
        within(['(', ')']).or_else(|| within(['{', '}'])).unwrap_or(name)
    });
    let reference = name.is_some_and(script::is_variable);
    value.is_empty()
        || value.parse::<f64>().is_ok()
        || ["true", "false", "yes", "no", "on", "off"].contains(&&*value.to_ascii_lowercase())
        || reference
}

/// Returns true for the addresses of brokers, the only variable that is read and has assignments in it.
fn is_brokers(name: &str, value: &str) -> bool {
    let of_brokers = |part: &str| {
        let part = part.trim();
        let addresses = part.strip_prefix("xsub=").or_else(|| part.strip_prefix("xpub="));
        addresses.is_some_and(is_value)
    };
    name == variable::ZMQ_BROKER_URL && value.split(',').all(of_brokers)
}

/// Returns true for what may be JSON.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Returns what is kept of the value of a flag that kvtop reads.
fn kept_of_value(text: &str) -> String {
    if is_json(text) {
        kept_of_json(text)
    } else if is_value(text) {
        text.to_owned()
    } else {
        HIDDEN.to_owned()
    }
}

/// Returns true for what may be the value of a flag: one word, or JSON.
fn is_value(text: &str) -> bool {
    let text = text.trim();
    is_json(text)
        || text.len() <= LONGEST_NAME && !text.contains(|it: char| it == '=' || it.is_whitespace())
}

/// Returns true for what may be a sentence: several words without a flag or an assignment, or one word that
/// is longer than names are. Configurations in JSON are read by decoders.
fn is_prose(text: &str) -> bool {
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        return false;
    }
    let words = text.split_whitespace().count();
    let flags = text.split_whitespace().any(|word| word.starts_with('-') || word.contains('='));
    (words > 2 && !flags) || (words == 1 && text.len() > LONGEST_NAME)
}

#[cfg(test)]
mod tests;
