//! Expands words: variables, parameters, splitting. What cannot be known stays hidden.

use std::sync::Arc;

use super::Arg;
use super::lex::{Piece, Word, is_name, operand};
use super::vars::{Known, PARAMETERS, Value, Vars};

/// Longest text that the expansions of one script add up to.
const TEXT_LIMIT: usize = 256 << 10;

/// Deepest nesting of defaults in defaults.
const DEPTH_LIMIT: usize = 8;

/// Variables that a shell sets by itself, whatever its environment.
const OF_SHELL: [&str; 36] = [
    "BASH",
    "BASHOPTS",
    "BASHPID",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "BASH_ENV",
    "BASH_LINENO",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "BASH_VERSION",
    "COLUMNS",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HOME",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "LINENO",
    "LINES",
    "MACHTYPE",
    "OLDPWD",
    "OPTIND",
    "OSTYPE",
    "PATH",
    "PPID",
    "PS4",
    "PWD",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SHLVL",
    "UID",
];

/// The expansion of a part of a word.
enum Expanded {
    Text(String),
    /// `each` when every one is a word of its own in quotes too.
    List {
        args: Arc<Vec<Arg>>,
        each: bool,
    },
    Hidden {
        by: Arc<str>,
        one: bool,
    },
}

/// A text of which all or only the start is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) start: String,
    pub(super) hidden: Option<Arc<str>>,
}

/// A word while it is made.
#[derive(Default)]
struct Field {
    text: Text,
    /// More words may follow it that are not known.
    open: bool,
    /// Where a pattern of file names begins, and where one of those that need a bracket to close does.
    pattern: [Option<usize>; 2],
}

impl Field {
    fn push(&mut self, text: &str) {
        if self.text.hidden.is_none() {
            self.text.start.push_str(text);
        }
    }

    /// Adds text in which a pattern of file names counts.
    fn push_open(&mut self, text: &str) {
        if self.text.hidden.is_none() {
            let before = self.text.start.len();
            let first = |letters: &[char]| text.find(letters).map(|at| at + before);
            self.pattern[0] = self.pattern[0].or_else(|| first(&['*', '?']));
            self.pattern[1] = self.pattern[1].or_else(|| first(&['[']));
            self.text.start.push_str(text);
        }
    }

    fn hide(&mut self, by: Arc<str>, one: bool) {
        self.open |= !one;
        self.text.hidden.get_or_insert(by);
    }

    fn push_arg(&mut self, arg: &Arg) {
        match arg {
            Arg::Word(text) => self.push(text),
            Arg::Partial { start, by } => {
                self.push(start);
                self.hide(Arc::clone(by), true);
            }
            Arg::Hidden { by } => self.hide(Arc::clone(by), false),
        }
    }

    fn finish(mut self, globs: bool, out: &mut Vec<Arg>) {
        // No file is called like an address.
        let address = self.text.start.contains("://");
        let closes = |at: &usize| self.text.start[*at..].contains(']');
        let bracket = self.pattern[1].filter(closes);
        let first = self.pattern[0].into_iter().chain(bracket).min();
        if let Some(at) = first.filter(|_| globs && !address) {
            self.text.start.truncate(at);
            self.hide("a pattern of file names".into(), false);
        }
        match self.text.hidden {
            None => out.push(Arg::Word(self.text.start)),
            Some(by) if self.open => {
                if !self.text.start.is_empty() {
                    out.push(Arg::Partial { start: self.text.start, by: Arc::clone(&by) });
                }
                out.push(Arg::Hidden { by });
            }
            Some(by) => out.push(Arg::Partial { start: self.text.start, by }),
        }
    }
}

/// Expands words with what a script knows.
pub(super) struct Expander<'a> {
    pub(super) vars: &'a mut Vars,
    pub(super) bash: bool,
    /// `$0`.
    pub(super) name: &'a Arg,
    /// Bytes that expansions may still add.
    pub(super) left: &'a mut usize,
}

/// Returns how much expansions may add in one script.
pub(super) const fn budget() -> usize {
    TEXT_LIMIT
}

impl Expander<'_> {
    /// Adds what `word` expands to.
    #[expect(clippy::too_many_lines, reason = "one arm for each part of a word")]
    pub(super) fn words(&mut self, word: &Word, out: &mut Vec<Arg>) {
        if let Some(at) = braces(word) {
            let start = word.iter().take(at.0).map(literal).collect::<Option<String>>();
            let start = start.unwrap_or_default() + &at.1;
            let by: Arc<str> = "a list in braces".into();
            if !start.is_empty() {
                out.push(Arg::Partial { start, by: Arc::clone(&by) });
            }
            return out.push(Arg::Hidden { by });
        }
        let splits = match self.vars.get("IFS") {
            Known::Absent => true,
            Known::Value(Value::Text(text)) => text.as_ref() == " \t\n",
            Known::Value(_) | Known::Lost(_) => false,
        };
        let globs = !matches!(self.vars.get("set:f"), Known::Value(Value::Text(_)));
        let mut field: Option<Field> = None;
        for (place, piece) in word.iter().enumerate() {
            match piece {
                Piece::Text(text) => {
                    let field = field.get_or_insert_default();
                    if place == 0 && text.starts_with('~') {
                        field.hide("a home directory".into(), true);
                    }
                    field.push_open(text);
                }
                Piece::Quoted(text) => field.get_or_insert_default().push(text),
                Piece::Hidden { by, quoted, one } => {
                    field.get_or_insert_default().hide((*by).into(), *quoted || *one);
                }
                Piece::Name { .. } | Piece::Braced { .. } => {
                    let quoted = is_quoted(piece);
                    match self.expand(piece, 0) {
                        Expanded::Text(text) if quoted => {
                            field.get_or_insert_default().push(&text);
                        }
                        Expanded::Text(text) if splits => split(&text, &mut field, globs, out),
                        Expanded::Text(text) => {
                            if !text.is_empty() {
                                let by = "a value split at other letters".into();
                                field.get_or_insert_default().hide(by, false);
                            }
                        }
                        Expanded::Hidden { by, one } => {
                            field.get_or_insert_default().hide(by, quoted || one);
                        }
                        Expanded::List { args, each: true } if quoted && word.len() == 1 => {
                            out.extend(args.iter().cloned());
                        }
                        Expanded::List { args, each: true }
                            if quoted
                                && args.iter().any(|arg| matches!(arg, Arg::Hidden { .. })) =>
                        {
                            // None of them joins what stands before it to what follows.
                            let by = "parameters that are not known".into();
                            field.get_or_insert_default().hide(by, false);
                        }
                        Expanded::List { args, each: true } if quoted => {
                            spread(&args, &mut field, globs, out);
                        }
                        Expanded::List { args, .. } if quoted => {
                            let text = joined(&args, splits);
                            let field = field.get_or_insert_default();
                            field.push(&text.start);
                            if let Some(by) = text.hidden {
                                field.hide(by, true);
                            }
                        }
                        Expanded::List { args, .. } => {
                            split_each(&args, splits, &mut field, globs, out);
                        }
                    }
                }
            }
        }
        if let Some(field) = field {
            field.finish(globs, out);
        }
    }

    /// Expands what is one word by its place: the value of an assignment, the target of a redirection.
    pub(super) fn text(&mut self, word: &[Piece]) -> Text {
        let mut field = Field::default();
        for (place, piece) in word.iter().enumerate() {
            match piece {
                Piece::Text(text) => {
                    if (place == 0 && text.starts_with('~')) || text.contains(":~") {
                        field.hide("a home directory".into(), true);
                    }
                    field.push(text);
                }
                Piece::Quoted(text) => field.push(text),
                Piece::Hidden { by, .. } => field.hide((*by).into(), true),
                Piece::Name { .. } | Piece::Braced { .. } => match self.expand(piece, 0) {
                    Expanded::Text(text) => field.push(&text),
                    Expanded::Hidden { by, .. } => field.hide(by, true),
                    Expanded::List { args, .. } => {
                        let text = joined(&args, true);
                        field.push(&text.start);
                        if let Some(by) = text.hidden {
                            field.hide(by, true);
                        }
                    }
                },
            }
        }
        field.text
    }

    fn expand(&mut self, piece: &Piece, depth: usize) -> Expanded {
        let expanded = match piece {
            Piece::Name { name, .. } => {
                self.parameter(name).unwrap_or_else(|| hidden(&format!("${name}"), false))
            }
            Piece::Braced { inside, quoted } => self.braced(inside, *quoted, depth),
            Piece::Text(text) | Piece::Quoted(text) => Expanded::Text(text.clone()),
            Piece::Hidden { by, one, .. } => hidden(by, *one),
        };
        let length = match &expanded {
            Expanded::Text(text) => text.len(),
            Expanded::List { args, .. } => args.iter().map(|arg| arg.start().len() + 1).sum(),
            Expanded::Hidden { .. } => 0,
        };
        if length > *self.left {
            return hidden("a text that is too long", false);
        }
        *self.left -= length;
        expanded
    }

    /// Returns the value of a parameter; none when it is not set as far as is seen.
    fn parameter(&mut self, name: &str) -> Option<Expanded> {
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

    fn variable(&self, name: &str) -> Option<Expanded> {
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
    fn braced(&mut self, inside: &str, quoted: bool, depth: usize) -> Expanded {
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
    fn operand(&mut self, text: &str, quoted: bool, depth: usize) -> Expanded {
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

fn hidden(by: &str, one: bool) -> Expanded {
    Expanded::Hidden { by: by.into(), one }
}

fn is_quoted(piece: &Piece) -> bool {
    match piece {
        Piece::Text(_) => false,
        Piece::Quoted(_) => true,
        Piece::Name { quoted, .. }
        | Piece::Braced { quoted, .. }
        | Piece::Hidden { quoted, .. } => *quoted,
    }
}

fn literal(piece: &Piece) -> Option<String> {
    match piece {
        Piece::Text(text) | Piece::Quoted(text) => Some(text.clone()),
        Piece::Name { .. } | Piece::Braced { .. } | Piece::Hidden { .. } => None,
    }
}

/// Returns where an unquoted list in braces opens: the piece, and the text before it in that piece.
fn braces(word: &Word) -> Option<(usize, String)> {
    let (mut open, mut listed) = (None, false);
    for (place, piece) in word.iter().enumerate() {
        let Piece::Text(text) = piece else { continue };
        for (at, letter) in text.char_indices() {
            match letter {
                '{' if open.is_none() => open = Some((place, text[..at].to_owned())),
                ',' if open.is_some() => listed = true,
                '.' if open.is_some() && text[at..].starts_with("..") => listed = true,
                '}' if open.is_some() && listed => return open,
                _ => {}
            }
        }
    }
    None
}

/// Adds a value outside quotes: blanks end words.
fn split(text: &str, field: &mut Option<Field>, globs: bool, out: &mut Vec<Arg>) {
    let blank = |letter: char| matches!(letter, ' ' | '\t' | '\n');
    if text.starts_with(blank)
        && let Some(done) = field.take()
    {
        done.finish(globs, out);
    }
    for (place, part) in text.split(blank).filter(|part| !part.is_empty()).enumerate() {
        if place > 0
            && let Some(done) = field.take()
        {
            done.finish(globs, out);
        }
        field.get_or_insert_default().push_open(part);
    }
    if text.ends_with(blank)
        && let Some(done) = field.take()
    {
        done.finish(globs, out);
    }
}

/// Adds `"$@"`: the first joins what stands before it, the last what follows.
fn spread(args: &[Arg], field: &mut Option<Field>, globs: bool, out: &mut Vec<Arg>) {
    for (place, arg) in args.iter().enumerate() {
        if place > 0
            && let Some(done) = field.take()
        {
            done.finish(globs, out);
        }
        field.get_or_insert_default().push_arg(arg);
    }
}

/// Adds `$@`: every parameter is split.
fn split_each(
    args: &[Arg],
    splits: bool,
    field: &mut Option<Field>,
    globs: bool,
    out: &mut Vec<Arg>,
) {
    for (place, arg) in args.iter().enumerate() {
        if place > 0
            && let Some(done) = field.take()
        {
            done.finish(globs, out);
        }
        match arg {
            Arg::Word(text) if splits => split(text, field, globs, out),
            Arg::Word(_) => {
                field.get_or_insert_default().hide("a value split at other letters".into(), false);
            }
            Arg::Partial { by, .. } | Arg::Hidden { by } => {
                field.get_or_insert_default().hide(Arc::clone(by), false);
            }
        }
    }
}

/// Returns the words as one text, with blanks between them.
fn joined(args: &[Arg], splits: bool) -> Text {
    let mut text = Text::default();
    for (place, arg) in args.iter().enumerate() {
        if text.hidden.is_some() {
            break;
        }
        if place > 0 && !splits {
            text.hidden = Some("words joined by another letter".into());
            break;
        }
        text.start.push_str(if place > 0 { " " } else { "" });
        match arg {
            Arg::Word(word) => text.start.push_str(word),
            Arg::Partial { start, by } => {
                text.start.push_str(start);
                text.hidden = Some(Arc::clone(by));
            }
            Arg::Hidden { by } => text.hidden = Some(Arc::clone(by)),
        }
    }
    text
}
