//! Shell scripts as `sh -c` gets them: which processes they start, with which words and environment.
//!
//! The script is followed without running anything: branches whose condition is not known are merged, and
//! what depends on something that is not shown is hidden, never guessed. Time is linear in the script and in
//! what its variables expand to; nothing recurses on its nesting.

mod builtin;
mod env_words;
mod expand;
mod lex;
mod run;
mod skip;
mod vars;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use env_words::env_words;
pub(super) use run::run;

/// Stands in a text for a value that is not shown.
pub(super) const HIDDEN_MARK: char = '\u{E000}';

/// Longest script that is looked at, in bytes.
const SCRIPT_LIMIT: usize = 64 << 10;

/// A word of a command, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arg {
    /// All of it.
    Word(String),
    /// One word of which only the start is known.
    Partial { start: String, by: Arc<str> },
    /// Any number of words, of which nothing is known.
    Hidden { by: Arc<str> },
}

impl Arg {
    /// Returns the word, when all of it is known.
    pub(super) fn known(&self) -> Option<&str> {
        match self {
            Self::Word(text) => Some(text),
            Self::Partial { .. } | Self::Hidden { .. } => None,
        }
    }

    /// Returns what is known of it.
    pub(super) fn start(&self) -> &str {
        match self {
            Self::Word(text) | Self::Partial { start: text, .. } => text,
            Self::Hidden { .. } => "",
        }
    }

    /// Reads a text in which marks stand for what is not shown.
    pub(super) fn of_text(text: String, by: &str) -> Self {
        match text.find(HIDDEN_MARK) {
            Some(at) => Self::Partial { start: text[..at].to_owned(), by: by.into() },
            None => Self::Word(text),
        }
    }
}

/// A script with what it is given.
pub(super) struct Script {
    /// With marks where something is not shown.
    pub(super) text: String,
    /// `$0`.
    pub(super) name: Arg,
    /// `$1` and on.
    pub(super) parameters: Vec<Arg>,
    /// False for shells that know less than bash.
    pub(super) bash: bool,
}

/// A variable as a process gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Text(Arc<str>),
    /// Not known; `one` when it cannot be split into several words.
    Hidden {
        by: Arc<str>,
        one: bool,
    },
    Unset,
}

/// A process that a script starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Started {
    /// Its words.
    pub(super) words: Vec<Arg>,
    /// The variables that are exported, and those that were taken away.
    pub(super) variables: BTreeMap<String, Variable>,
    /// The reason why any other variable may be set too.
    pub(super) any_variable: Option<Arc<str>>,
    /// The working directory, when it is known.
    pub(super) directory: Option<String>,
    /// Files that the script wrote, by path, with what is in them when that is known.
    pub(super) files: BTreeMap<String, Option<Arc<str>>>,
}

/// The environment that a script begins with.
#[derive(Clone, Debug, Default)]
pub(super) struct Outer {
    pub(super) variables: BTreeMap<String, Variable>,
    /// The reason why any other variable may be set too.
    pub(super) any: Option<Arc<str>>,
    pub(super) directory: Option<String>,
    pub(super) files: BTreeMap<String, Option<Arc<str>>>,
}

/// Returns the script that `words` hand to a shell, when they do, and the place of that shell.
pub(super) fn script_in(words: &[Arg]) -> Option<(Script, usize)> {
    let shells = ["sh", "bash", "dash", "ash"];
    let is_shell = |arg: &Arg| {
        let name = arg.known().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        shells.contains(&name)
    };
    let at = words.iter().position(is_shell)?;
    let program = words.get(at)?.known()?;
    let (mut command, mut rest) = (false, words.get(at + 1..)?.iter());
    let script = loop {
        let arg = rest.next()?;
        let text = arg.known().unwrap_or("?");
        match text {
            "--" | "-" => break rest.next()?,
            "--rcfile" | "--init-file" => _ = rest.next(),
            _ if text.starts_with("--") => {}
            _ if text.starts_with(['-', '+']) => {
                command |= text.starts_with('-') && text.contains('c');
                for _ in text.matches(['o', 'O']) {
                    rest.next();
                }
            }
            _ => break arg,
        }
    };
    let text = match script {
        Arg::Word(text) if command => text.clone(),
        // The rest may be anything.
        Arg::Partial { start, .. } if command => format!("{start}{HIDDEN_MARK}"),
        _ => return None,
    };
    let name = rest.next().cloned().unwrap_or_else(|| Arg::Word(program.to_owned()));
    let bash = program.ends_with("bash");
    let shown = |arg: &Arg| match arg {
        Arg::Word(text) => Arg::of_text(text.clone(), "a value that is not shown"),
        arg => arg.clone(),
    };
    // No word or several in the place of `$0` move all others.
    let parameters = match &name {
        Arg::Hidden { .. } => vec![name.clone()],
        _ => rest.map(shown).collect(),
    };
    Some((Script { text, name: shown(&name), parameters, bash }, at))
}

/// Returns `path` from the root on, without `.`, `..` and doubled slashes.
pub(super) fn absolute(path: &str, directory: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { directory };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod against_bash;
#[cfg(test)]
mod tests;
