//! Assignments to variables, and the builtins that declare them.

use crate::wire::kube_object::shell::lex::{Piece, Word, is_name};
use crate::wire::kube_object::shell::run::Runner;
use crate::wire::kube_object::shell::vars::{Known, Value};
use crate::wire::kube_object::shell::{Arg, Variable};

impl Runner<'_> {
    /// Returns the assignments before a command, which are its own.
    pub(super) fn own(&mut self, settings: &[&Word]) -> Vec<(String, Variable)> {
        let mut own = Vec::new();
        for word in settings {
            let Some((name, append, value)) = assignment(word) else { continue };
            let text = self.text(&value);
            let by = || format!("${name}").into();
            let variable = match text.hidden {
                None if !append => Variable::Text(text.start.into()),
                _ => Variable::Hidden { by: by(), one: false },
            };
            own.push((name.to_owned(), variable));
        }
        own
    }

    pub(super) fn assign_word(&mut self, word: &Word, export: bool) {
        let Some((name, append, value)) = assignment(word) else { return };
        let text = self.text(&value);
        let value = match text.hidden {
            None => Value::Text(text.start.into()),
            Some(by) => Value::Hidden { by, one: false },
        };
        self.assign(name, append, value, export);
    }

    pub(super) fn assign(&mut self, name: &str, append: bool, value: Value, export: bool) {
        let value = match (append, value, self.vars.get(name)) {
            (false, value, _) | (true, value, Known::Value(Value::Unset)) => value,
            (true, Value::Text(more), Known::Value(Value::Text(text))) => {
                Value::Text(format!("{text}{more}").into())
            }
            (true, ..) => Value::Hidden { by: format!("${name}").into(), one: false },
        };
        // A list whose first element is set is still a list.
        let was_list = matches!(self.vars.get(name), Known::Value(Value::List(_)));
        let value = match value {
            _ if was_list => Value::Hidden { by: format!("${name}").into(), one: false },
            value => value,
        };
        self.vars.set(name, value, export);
    }

    pub(super) fn array(&mut self, name: &str, append: bool, words: &[Word]) {
        let mut list = match self.vars.get(name) {
            Known::Value(Value::List(list)) if append => list.to_vec(),
            Known::Value(Value::Unset) => Vec::new(),
            Known::Absent if append => Vec::new(),
            _ if append => return self.hide(name, "the script"),
            _ => Vec::new(),
        };
        let all: Vec<&Word> = words.iter().collect();
        // `([3]=x)` has places of its own.
        let placed =
            |word: &&Word| matches!(word.first(), Some(Piece::Text(text)) if text.starts_with('['));
        if all.iter().any(placed) {
            return self.hide(name, "the script");
        }
        list.extend(self.words(&all));
        self.vars.set(name, Value::List(list.into()), false);
    }

    pub(super) fn declare(&mut self, how: &str, arguments: &[Arg]) {
        let (mut export, mut plain) = (how == "export", true);
        for arg in arguments {
            match arg {
                Arg::Word(text) if text.starts_with('-') => match text.as_str() {
                    "-x" | "-gx" | "-xg" | "-rx" | "-xr" => export = true,
                    "-r" | "-g" | "--" | "-p" | "-a" | "-ga" => {}
                    _ => plain = false,
                },
                Arg::Word(text) => match text.split_once('=') {
                    Some((name, value)) if plain && is_name(name) => {
                        self.assign(name, false, Value::Text(value.into()), export);
                    }
                    Some((name, _)) => {
                        let bare = name.trim_end_matches('+').split('[').next().unwrap_or_default();
                        let bare = bare.to_owned();
                        self.hide(&bare, how);
                    }
                    None if export && plain && is_name(text) => match self.vars.get(text) {
                        Known::Value(value) => {
                            let value = value.clone();
                            self.vars.set(text, value, true);
                        }
                        Known::Absent | Known::Lost(_) => self.vars.will_export(text),
                    },
                    // In a function `local NAME` and `declare NAME` make one that is not set.
                    None => self.hide(&text.clone(), how),
                },
                Arg::Partial { start, .. } => match start.split_once('=') {
                    Some((name, _)) if is_name(name) => {
                        let (name, by) = (name.to_owned(), format!("${name}").into());
                        self.assign(&name, false, Value::Hidden { by, one: false }, export);
                    }
                    _ => self.lose(how),
                },
                Arg::Hidden { .. } => self.lose(&format!("{how} of what is not shown")),
            }
        }
    }
}

/// Reads the start of `NAME=…` and `NAME+=…`: the name, whether it appends, and the value.
pub(super) fn assignment(word: &Word) -> Option<(&str, bool, Vec<Piece>)> {
    let Some(Piece::Text(first)) = word.first() else { return None };
    let (name, value) = first.split_once('=')?;
    let (name, append) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    // An element of an array changes all of it.
    let bare = name.split('[').next().unwrap_or_default();
    if !is_name(bare) {
        return None;
    }
    let mut rest = vec![Piece::Text(value.to_owned())];
    rest.extend(word.iter().skip(1).cloned());
    let name = if bare.len() == name.len() { name } else { bare };
    Some((
        name,
        append,
        if bare == name && !first.starts_with(&format!("{bare}[")) {
            rest
        } else {
            vec![Piece::Hidden { by: "an element of an array", quoted: true, one: true }]
        },
    ))
}
