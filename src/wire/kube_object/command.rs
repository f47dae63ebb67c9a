//! What a container runs: Dynamo's modules, their flags and their environment.

use serde_json::Value;

use super::env::{Env, EnvValue, Lender};
use super::list;
use super::shell::{self, Variables};
use crate::domain::Backend;

/// A module of Dynamo that a process runs (`python3 -m dynamo.frontend`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    Frontend,
    Router,
    Planner,
    Engine(Backend),
}

impl Module {
    fn named(name: &str) -> Option<Self> {
        let first = name.strip_prefix("dynamo.")?.split('.').next()?;
        Some(match first {
            "frontend" => Self::Frontend,
            "router" => Self::Router,
            "planner" => Self::Planner,
            "trtllm" => Self::Engine(Backend::TrtLlm),
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
    words: Vec<String>,
    env: Env,
}

/// How a setting was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `--flag=value`.
    Joined,
    /// `--flag`, and whatever follows it.
    Flag,
    /// A variable.
    Variable,
}

/// Where a setting of a process was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The flag or variable.
    pub(super) name: String,
    /// Its value; none for a flag without one.
    pub(super) value: Option<&'a str>,
    /// How it was written.
    pub(super) form: Form,
    /// The key of a `ConfigMap` that its value is of.
    pub(super) lender: Option<&'a Lender>,
}

impl Command {
    /// Returns what `container` runs, with `env` in its environment: one command for each of
    /// Dynamo's modules that it starts, or all of its words when it starts none.
    pub(super) fn all_of(container: &Value, env: &Env) -> Vec<Self> {
        let words: Vec<String> = ["command", "args"]
            .into_iter()
            .flat_map(|key| list(&container[key]))
            .filter_map(Value::as_str)
            .map(|word| env.expanded(word))
            .collect();
        let mut found = Vec::new();
        for simple in simple_commands(&words, env) {
            let Some((module, start)) = module_in(&simple.words) else { continue };
            let mut env = env.clone();
            for (name, value) in simple.variables {
                env.assign(&name, value);
            }
            let words = simple.words[start..].to_vec();
            found.push(Self { module: Some(module), words, env });
        }
        if found.is_empty() {
            found.push(Self { module: None, words, env: env.clone() });
        }
        found
    }

    /// Returns its environment.
    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    /// Returns the last of its flags that is one of `names`. Dashes and underscores are the same.
    pub(super) fn flag(&self, names: &[&str]) -> Option<Found<'_>> {
        let position = self.words.iter().rposition(|word| is_flag(word, names))?;
        let word = &self.words[position];
        if let Some((name, value)) = word.split_once('=') {
            let (name, form) = (name.to_owned(), Form::Joined);
            return Some(Found { name, value: Some(value), form, lender: None });
        }
        let value = self.words.get(position + 1).filter(|next| !next.starts_with("--"));
        let (name, value) = (word.clone(), value.map(String::as_str));
        Some(Found { name, value, form: Form::Flag, lender: None })
    }

    /// Returns the first of the environment's `names` that is set.
    pub(super) fn variable(&self, names: &[&str]) -> Option<Found<'_>> {
        names.iter().find_map(|name| {
            let value = match self.env.get(name)? {
                EnvValue::Plain(value) => Some(value.as_str()),
                EnvValue::Secret(_) | EnvValue::Elsewhere => None,
            };
            let lender = self.env.lender(name);
            Some(Found { name: (*name).to_owned(), value, form: Form::Variable, lender })
        })
    }
}

fn is_flag(word: &str, names: &[&str]) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    let same = |known: &&str| {
        known.len() == name.len()
            && known.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a == b'-' && b == b'_'))
    };
    word.starts_with('-') && names.iter().any(same)
}

/// Returns the words as one command, or the commands of the script they hand to a shell.
fn simple_commands(words: &[String], env: &Env) -> Vec<shell::Simple> {
    let plain = || vec![shell::Simple { words: words.to_vec(), variables: Variables::new() }];
    let Some(program) = words.first() else { return plain() };
    let shells = ["sh", "bash", "dash", "ash", "zsh"];
    if !shells.contains(&program.rsplit('/').next().unwrap_or_default()) {
        return plain();
    }
    // `-c`, `-lc`, `-exc`: the script is the word after the options.
    let is_script =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let Some(option) = words.iter().skip(1).position(is_script) else { return plain() };
    match words.get(option + 2) {
        Some(script) => shell::commands(script, &env.variables()),
        None => plain(),
    }
}

/// Returns the module that `words` run, and where its flags start.
fn module_in(words: &[String]) -> Option<(Module, usize)> {
    words.windows(2).enumerate().find_map(|(position, pair)| {
        let module = (pair[0] == "-m").then(|| Module::named(&pair[1]))??;
        Some((module, position + 2))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::ConfigMaps;

    fn command(container: &Value) -> Command {
        let mut env = Env::default();
        env.add(&container["env"], &ConfigMaps::new(), |_| None);
        Command::all_of(container, &env).remove(0)
    }

    #[test]
    fn modules_and_flags_are_found_however_a_container_is_written() {
        let cases = [
            json!({"command": ["python3", "-m", "dynamo.trtllm"], "args": ["--kv-block-size", "32"]}),
            json!({"command": ["python3", "-m", "dynamo.trtllm", "--kv-block-size=32"]}),
            json!({"args": ["python3", "-m", "dynamo.trtllm", "--kv_block_size", "32"]}),
            json!({"command": ["sh", "-c"], "args": ["exec python3 -m dynamo.trtllm --kv-block-size 32"]}),
            json!({"command": ["/bin/bash", "-lc", "cd /w && B=32; python3 -m dynamo.trtllm --kv-block-size $B"]}),
            json!({"env": [{"name": "B", "value": "32"}], "command": ["python3", "-m", "dynamo.trtllm"],
                   "args": ["--kv-block-size", "$(B)"]}),
            json!({"env": [{"name": "B", "value": "32"}], "command": ["sh", "-c",
                   "python3 -m dynamo.trtllm --kv-block-size ${B:-16} &\nwait"]}),
        ];
        for container in cases {
            let command = command(&container);
            assert_eq!(command.module, Some(Module::Engine(Backend::TrtLlm)), "{container}");
            let found = command.flag(&["--kv-block-size"]).unwrap();
            assert_eq!(found.value, Some("32"), "{container}");
        }
    }

    #[test]
    fn a_container_that_starts_two_modules_has_two_commands() {
        let script = "python3 -m dynamo.frontend --http-port 8001 & python3 -m dynamo.vllm";
        let found = Command::all_of(&json!({"command": ["sh", "-c", script]}), &Env::default());

        assert_eq!(found.len(), 2);
        assert_eq!(found[0].flag(&["--http-port"]).unwrap().value, Some("8001"));
    }
}
