//! Expands words: variables, parameters, splitting. What cannot be known stays hidden.

mod fields;
mod parameters;

use std::sync::Arc;

use fields::{joined, split, split_each, spread};

use super::Arg;
use super::lex::{Piece, Word};
use super::vars::{Known, Value, Vars};

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
    /// The start of a pattern of file names, and of one that needs a bracket to close.
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
