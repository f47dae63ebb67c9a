//! The command of a container: Dynamo's modules, their flags and their environment.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::env::{Env, EnvValue, Lender};
use super::shell::{self, Arg, Started, absolute, env_words};
use super::{dotted, list, string};
use crate::domain::Backend;
use crate::dynamo::flag;

/// Stands in a text where whoever watched took out a secret.
const REDACTED: &str = "(redacted)";

/// A module of Dynamo that a process runs (`python3 -m dynamo.frontend`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    Frontend,
    Router,
    Planner,
    Engine(Backend),
    /// `dynamo.vllm.omni`, which generates images and publishes no KV events (ai-dynamo 1.6.1, `vllm/omni/main.py:139`).
    Generator,
}

impl Module {
    fn named(name: &str) -> Option<Self> {
        let mut words = name.strip_prefix("dynamo.")?.split('.');
        let first = words.next()?;
        Some(match first {
            "frontend" => Self::Frontend,
            "router" => Self::Router,
            "planner" => Self::Planner,
            "trtllm" => Self::Engine(Backend::TrtLlm),
            "vllm" if words.next() == Some("omni") => Self::Generator,
            "vllm" => Self::Engine(Backend::Vllm),
            "sglang" => Self::Engine(Backend::SgLang),
            "mocker" => Self::Engine(Backend::Mocker),
            _ => return None,
        })
    }
}

/// A process that a container starts.
#[derive(Debug)]
pub(super) struct Command {
    /// The module it runs; none when it is not one of Dynamo's, or the image says what runs.
    pub(super) module: Option<Module>,
    /// Its words, one list for each way in which the script may start it.
    ways: Vec<Vec<Arg>>,
    env: Env,
    /// The working directory, when it is known.
    directory: Option<String>,
    /// Files that the script wrote before.
    files: BTreeMap<String, Option<Arc<str>>>,
}

/// The form of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `--flag=value`.
    Joined,
    /// `--flag`, and whatever follows it.
    Flag,
    /// A variable.
    Variable,
}

/// The place where a setting of a process was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The flag or variable.
    pub(super) name: String,
    /// Its value; none for a flag without one.
    pub(super) value: Option<&'a str>,
    /// Its form.
    pub(super) form: Form,
    /// The key of a `ConfigMap` that its value is of.
    pub(super) lender: Option<&'a Lender>,
}

/// The reading of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading<'a> {
    Set(Found<'a>),
    /// Nobody sets it.
    Unset,
    /// It may be set by what is not shown.
    Hidden(Arc<str>),
}

impl<'a> Reading<'a> {
    /// Returns where it was found.
    pub(super) fn found(self) -> Option<Found<'a>> {
        match self {
            Self::Set(found) => Some(found),
            Self::Unset | Self::Hidden(_) => None,
        }
    }

    /// Returns the value that it is known to have.
    pub(super) fn value(self) -> Option<&'a str> {
        self.found()?.value
    }

    /// Returns true when it is known to be set.
    pub(super) fn is_set(&self) -> bool {
        matches!(self, Self::Set(_))
    }

    /// Returns `other` when nobody sets it.
    pub(super) fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Unset => other(),
            known => known,
        }
    }
}

/// The content that a script wrote to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written<'a> {
    Nothing,
    Text(&'a str),
    /// Something that is not known.
    Hidden,
}

/// Files by path, with what is in them when that is known.
type Files = BTreeMap<String, Option<Arc<str>>>;

impl Command {
    /// Returns what `container` runs, with `env` in its environment: one command for each of
    /// Dynamo's modules that it starts, or all of its words when it starts none.
    pub(super) fn all_of(container: &Value, env: &Env) -> Vec<Self> {
        let words: Vec<Arg> = ["command", "args"]
            .into_iter()
            .flat_map(|key| list(&container[key]))
            .filter_map(Value::as_str)
            .map(|word| {
                let mark = shell::HIDDEN_MARK.to_string();
                Arg::Word(env.expanded(&word.replace(REDACTED, &mark)))
            })
            .collect();
        let directory = string(container, "workingDir");
        if module_in(&words).is_some() {
            return vec![Self::plain(words, env, directory)];
        }
        let Some((script, at)) = shell::script_in(&words) else {
            return vec![Self::plain(words, env, directory)];
        };
        let text = script.text.clone();
        let mut outer = env.outer(Some(directory.unwrap_or("/")));
        env_words(&words[..at]).apply(&mut outer.variables, &mut outer.any);
        let wanted = |words: &[Arg]| module_in(words).is_some();
        let (started, complete) = shell::run(script, &outer, &wanted);
        let mut found: Vec<Self> = Vec::new();
        for process in &started {
            let Some(command) = Self::of_started(process, env) else { continue };
            match found.iter_mut().find(|known| known.module == command.module) {
                Some(known) => known.merge(command),
                None => found.push(command),
            }
        }
        // Of what is not understood at least the module is known.
        for module in modules_in(&text).into_iter().filter(|_| !complete || started.is_empty()) {
            let unread = Self::unread(Some(module), env, "a script that kvtop cannot read");
            match found.iter_mut().find(|known| known.module == Some(module)) {
                Some(known) if !complete => known.merge(unread),
                Some(_) => {}
                None => found.push(unread),
            }
        }
        if found.is_empty() {
            found.push(Self::unread(None, env, "a script"));
        }
        found
    }

    /// A process whose words no shell takes apart.
    fn plain(words: Vec<Arg>, env: &Env, directory: Option<&str>) -> Self {
        let shown = |arg: Arg| match arg {
            Arg::Word(text) => Arg::of_text(text, "a value that is not shown"),
            arg => arg,
        };
        let words: Vec<Arg> = words.into_iter().map(shown).collect();
        let module = module_in(&words);
        let program = words.first().map(|word| word.start().to_owned());
        let (words, own) = match module {
            Some((_, start)) => (words[start..].to_vec(), env_words(&words[..start])),
            // A program that may add flags of its own, such as a script of the image.
            None if program.is_some() => {
                let by = program.unwrap_or_default().into();
                (std::iter::once(Arg::Hidden { by }).chain(words).collect(), env_words(&[]))
            }
            None => (words, env_words(&[])),
        };
        let mut outer = env.outer(None);
        own.apply(&mut outer.variables, &mut outer.any);
        let started = Started {
            words: Vec::new(),
            variables: outer.variables,
            any_variable: outer.any,
            directory: None,
            files: Files::new(),
        };
        Self {
            module: module.map(|(module, _)| module),
            ways: vec![dotted::joined(words)],
            env: env.of_started(&started),
            directory: Some(directory.unwrap_or("/").to_owned()),
            files: Files::new(),
        }
    }

    fn of_started(started: &Started, env: &Env) -> Option<Self> {
        let (module, start) = module_in(&started.words)?;
        let mut started = started.clone();
        let own = env_words(&started.words[..start]);
        own.apply(&mut started.variables, &mut started.any_variable);
        Some(Self {
            module: Some(module),
            ways: vec![dotted::joined(started.words[start..].to_vec())],
            env: env.of_started(&started),
            directory: started.directory,
            files: started.files,
        })
    }

    /// A process of which nothing but its module is known.
    fn unread(module: Option<Module>, env: &Env, by: &str) -> Self {
        let by: Arc<str> = by.into();
        let started = Started {
            words: Vec::new(),
            variables: BTreeMap::new(),
            any_variable: Some(Arc::clone(&by)),
            directory: None,
            files: Files::new(),
        };
        let env = if module.is_some() { env.of_started(&started) } else { env.clone() };
        let ways = vec![vec![Arg::Hidden { by }]];
        Self { module, ways, env, directory: None, files: Files::new() }
    }

    /// Adds another way in which the script may start it.
    fn merge(&mut self, other: Self) {
        self.ways.extend(other.ways);
        self.env = std::mem::take(&mut self.env).common(&other.env);
        if self.directory != other.directory {
            self.directory = None;
        }
        for (path, text) in other.files {
            let known = self.files.entry(path).or_insert(None);
            if *known != text {
                *known = None;
            }
        }
    }

    /// Returns its environment.
    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    /// Returns the path of a file as the process sees it, from the root on.
    pub(super) fn path(&self, path: &str) -> Option<String> {
        match &self.directory {
            _ if path.starts_with('/') => Some(absolute(path, "/")),
            Some(directory) => Some(absolute(path, directory)),
            None => None,
        }
    }

    /// Returns what the script wrote to the file at `path`.
    pub(super) fn written(&self, path: &str) -> Written<'_> {
        match self.files.get(path) {
            Some(Some(text)) => Written::Text(text),
            Some(None) => Written::Hidden,
            None => Written::Nothing,
        }
    }

    /// Returns the last of its flags that is one of `names`. Dashes and underscores are the same.
    pub(super) fn flag(&self, names: &[&str]) -> Reading<'_> {
        let mut ways = self.ways.iter().map(|words| last_of(words, names));
        let Some(first) = ways.next() else { return Reading::Unset };
        if ways.all(|other| other == first) {
            return first;
        }
        Reading::Hidden("a condition in the script".into())
    }

    /// Returns the first of the environment's `names` that is set.
    pub(super) fn variable(&self, names: &[&str]) -> Reading<'_> {
        for name in names {
            let value = match self.env.get(name) {
                Some(EnvValue::Plain(value)) => value.as_str(),
                Some(_) => return Reading::Hidden(format!("${name}").into()),
                None => match self.env.hidden() {
                    Some(by) => return Reading::Hidden(Arc::clone(by)),
                    None => continue,
                },
            };
            let lender = self.env.lender(name);
            let (name, form) = ((*name).to_owned(), Form::Variable);
            return Reading::Set(Found { name, value: Some(value), form, lender });
        }
        Reading::Unset
    }
}

/// Returns what sets the last of the flags `names`.
fn last_of<'a>(words: &'a [Arg], names: &[&str]) -> Reading<'a> {
    let mut reading = Reading::Unset;
    if names.is_empty() {
        return reading;
    }
    let mut before: Option<&str> = None;
    for (place, arg) in words.iter().enumerate() {
        match arg {
            Arg::Word(word) if is_flag(word, names) => {
                reading = match word.split_once('=') {
                    Some((name, value)) => {
                        let (name, form) = (name.to_owned(), Form::Joined);
                        Reading::Set(Found { name, value: Some(value), form, lender: None })
                    }
                    None => flag_before(word, words.get(place + 1)),
                };
            }
            Arg::Word(_) => {}
            Arg::Partial { start, by } => {
                // The value of the flag before it is no flag itself.
                let value = before.is_some_and(takes_value) && !start.starts_with("--");
                if !value && may_be(start, names) {
                    reading = Reading::Hidden(Arc::clone(by));
                }
            }
            Arg::Hidden { by } => reading = Reading::Hidden(Arc::clone(by)),
        }
        before = arg.known();
    }
    reading
}

/// Reads `--flag` with what follows it.
fn flag_before<'a>(word: &str, next: Option<&'a Arg>) -> Reading<'a> {
    let value = match next {
        Some(Arg::Word(next)) if !next.starts_with("--") => Some(next.as_str()),
        Some(Arg::Partial { start, by }) if !start.starts_with("--") && takes_value(word) => {
            return Reading::Hidden(Arc::clone(by));
        }
        Some(Arg::Hidden { by }) if takes_value(word) => return Reading::Hidden(Arc::clone(by)),
        _ => None,
    };
    Reading::Set(Found { name: word.to_owned(), value, form: Form::Flag, lender: None })
}

/// Returns false for what is no flag, has its value with it, or is a switch by its name.
fn takes_value(word: &str) -> bool {
    let Some(name) = word.strip_prefix("--") else { return false };
    let name = name.replace('_', "-");
    let switch = |known: &&str| {
        name.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let valued = flag::VALUED_DESPITE_THEIR_NAMES.contains(&name.as_str());
    !word.contains('=') && (valued || !flag::SWITCH_STARTS.iter().any(switch))
}

/// Returns true when a word that starts with `start` may be one of the flags, with a value or without.
fn may_be(start: &str, names: &[&str]) -> bool {
    let name = start.split('=').next().unwrap_or_default();
    if start.contains('=') {
        return is_flag(start, names);
    }
    let name = name.replace('_', "-");
    names.iter().any(|known| known.starts_with(&name))
}

fn is_flag(word: &str, names: &[&str]) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    let same = |known: &&str| {
        known.len() == name.len()
            && known.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a == b'-' && b == b'_'))
    };
    word.starts_with('-') && names.iter().any(same)
}

/// Returns the module that `words` run, and where its flags start.
fn module_in(words: &[Arg]) -> Option<(Module, usize)> {
    words.windows(2).enumerate().find_map(|(position, pair)| {
        let module = (pair[0].known() == Some("-m")).then(|| Module::named(pair[1].known()?))??;
        Some((module, position + 2))
    })
}

/// Returns the modules that a text names, in order.
fn modules_in(text: &str) -> Vec<Module> {
    let words: Vec<&str> = text
        .split(|letter: char| letter.is_whitespace() || "\"'\\;".contains(letter))
        .filter(|word| !word.is_empty())
        .collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == "-m");
    let mut found = Vec::new();
    for module in pairs.filter_map(|pair| Module::named(pair[1])) {
        if !found.contains(&module) {
            found.push(module);
        }
    }
    found
}

#[cfg(test)]
mod tests;
