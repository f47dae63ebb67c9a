//! Expands parameters: `$NAME`, `${NAME:-default}` and their kin.

use std::sync::Arc;

use super::{DEPTH_LIMIT, Expanded, Expander, OF_SHELL, hidden};
use crate::wire::kube_object::shell::Arg;
use crate::wire::kube_object::shell::lex::{Piece, is_name, operand};
use crate::wire::kube_object::shell::vars::{Known, PARAMETERS, Value};

impl Expander<'_> {
    /// Returns the value of a parameter; none when it is not set as far as is seen.
    pub(super) fn parameter(&mut self, name: &str) -> Option<Expanded> {
        let list = match self.vars.get(PARAMETERS) {
            Known::Value(Value::List(list)) => Arc::clone(list),
            _ => Arc::new(vec![Arg::Hidden { by: "the script's parameters".into() }]),
        };
        let known = |arg: &&Arg| !matches!(arg, Arg::Hidden { .. });
        let at = |place: usize| {
            let whole = list.iter().take(place).take_while(known).count() == place;
            match list.get(place.wrapping_sub(1)).filter(|_| whole) {
                Some(Arg::Word(text)) => Some(Expanded::Text(text.clone())),
                Some(Arg::Partial { by, .. } | Arg::Hidden { by }) => Some(hidden(by, false)),
                None if list.iter().all(|arg| known(&arg)) => None,
                None => Some(hidden(&format!("${place}"), false)),
            }
        };
        match name {
            "@" => Some(Expanded::List { args: list, each: true }),
            "*" => Some(Expanded::List { args: list, each: false }),
            "#" => {
                let all = list.iter().all(|arg| known(&arg));
                let count = || Expanded::Text(list.len().to_string());
                Some(if all { count() } else { hidden("$#", true) })
            }
            "0" => Some(match self.name {
                Arg::Word(text) => Expanded::Text(text.clone()),
                Arg::Partial { by, .. } | Arg::Hidden { by } => hidden(by, false),
            }),
            "?" | "-" | "$" | "!" | "_" => Some(hidden(&format!("${name}"), true)),
            _ => match name.parse::<usize>() {
                Ok(place) => Some(at(place).unwrap_or(Expanded::Text(String::new()))),
                Err(_) => self.variable(name),
            },
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<Expanded> {
        match self.vars.get(name) {
            Known::Value(Value::Text(text)) => Some(Expanded::Text(text.to_string())),
            Known::Value(Value::List(list)) => Some(match list.first() {
                None => Expanded::Text(String::new()),
                Some(Arg::Word(text)) => Expanded::Text(text.clone()),
                Some(Arg::Partial { by, .. } | Arg::Hidden { by }) => hidden(by, false),
            }),
            Known::Value(Value::Unset) => Some(Expanded::Text(String::new())),
            Known::Value(Value::Hidden { by, one }) => Some(hidden(by, *one)),
            Known::Lost(by) => Some(hidden(&format!("${name}, after {by}"), false)),
            Known::Absent if OF_SHELL.contains(&name) => Some(hidden(&format!("${name}"), false)),
            Known::Absent => None,
        }
    }

    /// Expands the inside of `${…}`.
    #[expect(clippy::too_many_lines, reason = "one arm for each operator")]
    pub(super) fn braced(&mut self, inside: &str, quoted: bool, depth: usize) -> Expanded {
        let unknown = || hidden(&format!("${{{inside}}}"), false);
        for (end, each) in [("[@]", true), ("[*]", false)] {
            let Some(name) = inside.strip_suffix(end).filter(|name| is_name(name)) else {
                continue;
            };
            return match self.vars.get(name) {
                Known::Value(Value::List(args)) => Expanded::List { args: Arc::clone(args), each },
                Known::Value(Value::Unset) => Expanded::List { args: Arc::default(), each },
                Known::Value(Value::Text(text)) => {
                    let args = vec![Arg::Word(text.to_string())];
                    Expanded::List { args: args.into(), each }
                }
                _ => unknown(),
            };
        }
        let length = inside.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let Some(length) = length else { return unknown() };
        let (name, rest) = match inside.split_at(length) {
            ("", rest) if rest.starts_with(['@', '*']) => rest.split_at(1),
            parts => parts,
        };
        let (colon, rest) = match rest.strip_prefix(':') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let mut letters = rest.chars();
        let (Some(operator), text) = (letters.next(), letters.as_str()) else { return unknown() };
        let usable = is_name(name) || name.parse::<u32>().is_ok() || ["@", "*"].contains(&name);
        if !usable || !"-=+?".contains(operator) || depth >= DEPTH_LIMIT {
            return unknown();
        }
        let value = self.parameter(name);
        let set = match &value {
            None => false,
            Some(_) if matches!(self.vars.get(name), Known::Value(Value::Unset)) => false,
            Some(Expanded::Text(text)) if name.parse::<usize>().is_ok() && text.is_empty() => {
                // It may be set and empty, which only the colon tells apart.
                if !colon && operator != '?' {
                    return unknown();
                }
                false
            }
            Some(Expanded::Text(text)) => !colon || !text.is_empty(),
            Some(Expanded::List { args, .. }) => match args.as_slice() {
                [] => false,
                [Arg::Word(only)] if only.is_empty() => !colon,
                args if args.iter().all(|arg| matches!(arg, Arg::Word(_))) => true,
                _ => return unknown(),
            },
            Some(Expanded::Hidden { .. }) => return unknown(),
        };
        match (operator, set) {
            ('-' | '=' | '?', true) => value.unwrap_or(Expanded::Text(String::new())),
            ('+', false) => Expanded::Text(String::new()),
            ('?', false) => unknown(),
            (_, set) => {
                let value = self.operand(text, quoted, depth);
                if operator == '=' && !set {
                    let kept = match &value {
                        Expanded::Text(text) => Value::Text(text.as_str().into()),
                        _ => Value::Hidden { by: format!("${name}").into(), one: false },
                    };
                    self.vars.set(name, kept, false);
                }
                value
            }
        }
    }

    /// Expands the default within braces. In quotes it is one text; outside, quotes in it keep words whole,
    /// which is only followed where there are no blanks.
    pub(super) fn operand(&mut self, text: &str, quoted: bool, depth: usize) -> Expanded {
        let unknown = || hidden(&format!("{{{text}}}"), false);
        // In double quotes the quotes of a default differ from shell to shell.
        if quoted && text.contains(['"', '\'']) {
            return unknown();
        }
        let Some(word) = operand(text, self.bash, quoted) else { return unknown() };
        let plain = word.iter().all(|piece| matches!(piece, Piece::Text(_)));
        let mut value = String::new();
        for piece in &word {
            if let Piece::Text(text) = piece
                && text.starts_with('~')
            {
                return unknown();
            }
            match self.expand(piece, depth + 1) {
                Expanded::Text(text) => value.push_str(&text),
                Expanded::Hidden { by, one } if word.len() == 1 => {
                    return Expanded::Hidden { by, one };
                }
                Expanded::List { args, each } if word.len() == 1 => {
                    return Expanded::List { args, each };
                }
                Expanded::Hidden { .. } | Expanded::List { .. } => return unknown(),
            }
        }
        let keeps =
            !plain && (value.is_empty() || value.contains([' ', '\t', '\n', '*', '?', '[']));
        if keeps && !quoted { unknown() } else { Expanded::Text(value) }
    }
}
