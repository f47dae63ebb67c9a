//! Simple commands: assignments, what shells do themselves, and processes.

mod assign;
mod output;
mod trap;

use std::sync::Arc;

use assign::assignment;

use super::lex::{Piece, Word, is_name};
use super::run::{Runner, Simple};
use super::vars::{DIRECTORY, Known, PARAMETERS, Value};
use super::{Arg, HIDDEN_MARK, Script, Variable, absolute, run};

/// Deepest nesting of scripts.
const NESTING: usize = 4;

/// Most words of a command.
const WORD_LIMIT: usize = 4096;

/// The result of a command.
pub(super) enum Effect {
    /// It ended, with this status where it is known.
    Status(Option<bool>),
    /// Nothing behind it runs.
    Ends,
}

/// Programs that only print their words, whatever these look like.
const PRINTERS: [&str; 8] = ["echo", "printf", "grep", "pgrep", "pkill", "which", "ls", "logger"];

impl Runner<'_> {
    /// Runs a command. Its words are expanded before its assignments are made, as shells do.
    pub(super) fn execute(&mut self, simple: &Simple<'_>) -> Effect {
        let count = simple.words.iter().take_while(|word| assignment(word).is_some()).count();
        let (settings, rest) = simple.words.split_at(count);
        let words = self.command_words(rest);
        for (name, append, list) in &simple.arrays {
            self.array(name, *append, list);
        }
        if rest.is_empty() {
            for word in settings {
                self.assign_word(word, false);
            }
            let substitutes = settings
                .iter()
                .any(|word| word.iter().any(|piece| matches!(piece, Piece::Hidden { .. })));
            return Effect::Status((!substitutes).then_some(true));
        }
        let Some(first) = words.first() else {
            // All of it expanded to nothing: the assignments are made for good.
            for word in settings {
                self.assign_word(word, false);
            }
            return Effect::Status(None);
        };
        let Some(name) = first.known().map(str::to_owned) else {
            return self.unknown_command(settings, words);
        };
        let own = self.own(settings);
        if words.len() > WORD_LIMIT {
            self.lose_all("a command that is too long");
            return Effect::Status(None);
        }
        self.named(&name, words, &own, simple)
    }

    /// Expands the words of a command. Those of declarations are not split where they assign.
    fn command_words(&mut self, words: &[&Word]) -> Vec<Arg> {
        let declares = words.first().is_some_and(|word| {
            matches!(word.as_slice(), [Piece::Text(text)]
                if ["export", "declare", "typeset", "local", "readonly"].contains(&text.as_str()))
        });
        if !declares {
            return self.words(words);
        }
        let mut out = Vec::new();
        for word in words {
            match assignment(word) {
                Some(_) => {
                    let text = self.text(word);
                    // Shells other than bash split it.
                    let split = !self.bash
                        && word.iter().any(|piece| {
                            matches!(
                                piece,
                                Piece::Name { quoted: false, .. }
                                    | Piece::Braced { quoted: false, .. }
                                    | Piece::Hidden { quoted: false, .. }
                            )
                        });
                    let (name, ..) = text.start.split_once('=').unwrap_or((&text.start, ""));
                    match text.hidden {
                        Some(by) => {
                            let start = format!("{name}=");
                            out.push(Arg::Partial { start, by });
                        }
                        None if split && text.start.contains([' ', '\t', '\n']) => {
                            let by: Arc<str> = "a value that may be split".into();
                            out.push(Arg::Partial { start: format!("{name}="), by });
                        }
                        None => out.push(Arg::Word(text.start)),
                    }
                }
                None => self.expander().words(word, &mut out),
            }
        }
        out
    }

    /// The first word is not known: it may be anything, even a part of the shell.
    fn unknown_command(&mut self, settings: &[&Word], words: Vec<Arg>) -> Effect {
        let own = self.own(settings);
        if self.is_wanted(&words) {
            self.start(words, &own, false);
        }
        self.lose_all("a command that is not known");
        Effect::Status(None)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each command of the shell")]
    fn named(
        &mut self,
        name: &str,
        words: Vec<Arg>,
        own: &[(String, Variable)],
        simple: &Simple<'_>,
    ) -> Effect {
        let arguments = &words[1..];
        if matches!(self.vars.get(&format!("function:{name}")), Known::Value(_)) {
            self.lose_all(&format!("the function {name}"));
            return Effect::Status(None);
        }
        for (_, target) in &simple.outs {
            // What it prints is only followed for the simplest.
            if !["cat", "echo"].contains(&name) {
                self.write(target, None);
            }
        }
        match name {
            ":" | "true" => Effect::Status(Some(true)),
            "false" => Effect::Status(Some(false)),
            "exit" | "return" | "break" | "continue" => Effect::Ends,
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declare(name, arguments);
                Effect::Status(
                    None.or(arguments.iter().all(|arg| arg.known().is_some()).then_some(true)),
                )
            }
            "unset" => {
                for arg in arguments {
                    match arg.known() {
                        Some("-v" | "-f") => {}
                        Some(name) if is_name(name) => {
                            self.vars.unset(name);
                        }
                        Some(name) => {
                            let bare = name.split('[').next().unwrap_or_default().to_owned();
                            self.hide(&bare, "the script");
                        }
                        None => self.lose("a variable that is taken away"),
                    }
                }
                Effect::Status(None)
            }
            "set" => self.set_options(arguments),
            "shift" => self.shift(arguments),
            "cd" => self.change_directory(arguments),
            "pushd" | "popd" => {
                self.vars.set(DIRECTORY, Value::Hidden { by: name.into(), one: true }, false);
                Effect::Status(None)
            }
            "test" => Effect::Status(test(arguments)),
            "[" => {
                let inside = arguments.split_last().map_or(&[][..], |(_, inside)| inside);
                Effect::Status(test(inside))
            }
            "read" | "mapfile" | "readarray" | "getopts" | "let" | "wait" => {
                for arg in arguments {
                    match arg.known() {
                        Some(text) if is_name(text) => self.hide(text, name),
                        Some(text) if text.starts_with('-') || name == "getopts" => {}
                        _ => self.lose(name),
                    }
                }
                for implied in ["REPLY", "OPTARG", "OPTIND", "MAPFILE"] {
                    self.hide(implied, name);
                }
                Effect::Status(None)
            }
            "printf" if arguments.first().and_then(Arg::known) == Some("-v") => {
                match arguments.get(1).and_then(Arg::known).map(str::to_owned) {
                    Some(name) => self.hide(&name, "printf"),
                    None => self.lose("printf"),
                }
                Effect::Status(None)
            }
            "." | "source" => {
                let file = arguments.first().map_or("", Arg::start).to_owned();
                if arguments.len() > 1 || !file.ends_with("/activate") {
                    self.lose(&format!("the script {file}"));
                } else {
                    for name in ["PATH", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PS1", "PYTHONHOME"] {
                        self.hide(name, &file);
                    }
                }
                Effect::Status(None)
            }
            "trap" if trap::changes_nothing(arguments) => Effect::Status(Some(true)),
            "shopt" if trap::is_harmless_option(arguments) => Effect::Status(None),
            // Scripts of bash use no aliases; its option for that is not followed.
            "alias" | "unalias" if self.bash => Effect::Status(None),
            "eval" | "trap" | "alias" | "unalias" | "enable" | "shopt" => {
                let text: Vec<&str> = arguments.iter().map(Arg::start).collect();
                let text = text.join(" ");
                if name == "eval" && text.contains("dynamo.") {
                    let (name, parameters) = (Arg::Word(String::new()), Vec::new());
                    let text = format!("{text}{HIDDEN_MARK}");
                    self.nested(Script { text, name, parameters, bash: self.bash }, own, &[]);
                }
                self.lose_all(name);
                Effect::Status(None)
            }
            "echo" | "cat" => {
                self.print(name, arguments, simple);
                Effect::Status(None)
            }
            "exec" => {
                if arguments.is_empty() {
                    return Effect::Status(None);
                }
                self.process(words, own);
                Effect::Ends
            }
            "command" | "builtin" if arguments.len() > 1 => {
                // It may run a part of the shell.
                let external =
                    matches!(arguments[0].known(), Some(name) if name.contains("python"));
                self.process(words, own);
                if !external {
                    self.lose_all(name);
                }
                Effect::Status(None)
            }
            _ => {
                self.touch(&words);
                self.process(words, own);
                Effect::Status(None)
            }
        }
    }

    fn set_options(&mut self, arguments: &[Arg]) -> Effect {
        let mut left = arguments.iter();
        let mut rest = None;
        while let Some(arg) = left.next() {
            let Some(text) = arg.known() else {
                self.lose_all("set");
                return Effect::Status(None);
            };
            match text {
                "--" => {
                    rest = Some(left.clone().cloned().collect::<Vec<_>>());
                    break;
                }
                _ if text.starts_with(['-', '+']) && text.len() > 1 => {
                    let on = text.starts_with('-');
                    for letter in text[1..].chars() {
                        match letter {
                            'o' => match left.next().and_then(Arg::known) {
                                Some("allexport") => self.option("set:a", on),
                                Some("noglob") => self.option("set:f", on),
                                Some("posix" | "keyword" | "vi" | "emacs") | None => {
                                    self.lose_all("set");
                                }
                                Some(_) => {}
                            },
                            'a' => self.option("set:a", on),
                            'f' => self.option("set:f", on),
                            'k' | 'n' => self.lose_all("set"),
                            _ => {}
                        }
                    }
                }
                "-" => self.lose_all("set"),
                _ => {
                    let first = arg.clone();
                    rest = Some(std::iter::once(first).chain(left.clone().cloned()).collect());
                    break;
                }
            }
        }
        if let Some(rest) = rest {
            self.vars.set(PARAMETERS, Value::List(rest.into()), false);
        }
        Effect::Status(Some(true))
    }

    fn option(&mut self, name: &str, on: bool) {
        let value = if on { Value::Text("on".into()) } else { Value::Unset };
        self.vars.set(name, value, false);
    }

    fn shift(&mut self, arguments: &[Arg]) -> Effect {
        let count = match arguments.first() {
            None => Some(1),
            Some(arg) => arg.known().and_then(|text| text.parse::<usize>().ok()),
        };
        let list = match self.vars.get(PARAMETERS) {
            Known::Value(Value::List(list)) => Arc::clone(list),
            _ => Arc::default(),
        };
        let known = |arg: &Arg| !matches!(arg, Arg::Hidden { .. });
        match count {
            Some(count) if count <= list.len() && list.iter().take(count).all(known) => {
                let rest: Vec<Arg> = list.iter().skip(count).cloned().collect();
                self.vars.set(PARAMETERS, Value::List(rest.into()), false);
                Effect::Status(Some(true))
            }
            // Nothing is taken away when there are not so many; dash ends the script.
            _ => {
                let by = "shift".into();
                self.vars.set(PARAMETERS, Value::List(vec![Arg::Hidden { by }].into()), false);
                Effect::Status(None)
            }
        }
    }

    fn change_directory(&mut self, arguments: &[Arg]) -> Effect {
        let target = match arguments {
            [Arg::Word(path)] if !path.starts_with('-') && !path.is_empty() => Some(path.as_str()),
            _ => None,
        };
        let from = match self.vars.get(DIRECTORY) {
            Known::Value(Value::Text(text)) => Some(text.to_string()),
            _ => None,
        };
        let value = match (target, from) {
            (Some(path), _) if path.starts_with('/') => Value::Text(absolute(path, "/").into()),
            (Some(path), Some(from)) => Value::Text(absolute(path, &from).into()),
            _ => Value::Hidden { by: "cd".into(), one: true },
        };
        self.vars.set(DIRECTORY, value, false);
        // A container whose working directory is missing never served; that it is there is taken for granted.
        Effect::Status(target.map(|_| true))
    }

    /// Notes a process, or follows the script that it is given.
    fn process(&mut self, words: Vec<Arg>, own: &[(String, Variable)]) {
        let first = words.first().and_then(Arg::known).unwrap_or_default();
        if PRINTERS.contains(&first.rsplit('/').next().unwrap_or_default()) {
            return;
        }
        if self.is_wanted(&words) {
            self.start(words, own, false);
        } else if let Some((inner, at)) = super::script_in(&words) {
            self.nested(inner, own, &words[..at]);
        }
    }

    fn nested(&mut self, script: Script, own: &[(String, Variable)], before: &[Arg]) {
        if self.depth >= NESTING {
            return;
        }
        let mut outer = self.outer();
        outer.variables.extend(own.iter().cloned());
        super::env_words(before).apply(&mut outer.variables, &mut outer.any);
        let (started, _) = run::run_within(script, &outer, self.wanted, self.depth + 1);
        self.started.extend(started);
    }
}

/// Judges the words of `[ … ]`; none when they are not known or ask for something outside.
pub(super) fn test(words: &[Arg]) -> Option<bool> {
    let words: Option<Vec<&str>> = words.iter().map(Arg::known).collect();
    let words = words?;
    match words.as_slice() {
        [] => Some(false),
        ["!", rest @ ..] if rest.len() < 4 => {
            let rest: Vec<Arg> = rest.iter().map(|word| Arg::Word((*word).to_owned())).collect();
            // One negation is enough for anybody.
            if rest.first().and_then(Arg::known) == Some("!") { None } else { Some(!test(&rest)?) }
        }
        [one] => Some(!one.is_empty()),
        ["-n", text] => Some(!text.is_empty()),
        ["-z", text] => Some(text.is_empty()),
        [a, "=" | "==", b] => Some(a == b),
        [a, "!=", b] => Some(a != b),
        [a, operator, b] => {
            let (a, b) = (a.parse::<i64>().ok()?, b.parse::<i64>().ok()?);
            match *operator {
                "-eq" => Some(a == b),
                "-ne" => Some(a != b),
                "-lt" => Some(a < b),
                "-le" => Some(a <= b),
                "-gt" => Some(a > b),
                "-ge" => Some(a >= b),
                _ => None,
            }
        }
        _ => None,
    }
}
