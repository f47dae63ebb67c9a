//! Splits a shell script into tokens, in one pass and without recursion.
//!
//! Expansions stay unexpanded: which value a variable has depends on the commands before it.

mod quotes;

use super::HIDDEN_MARK;
use super::skip::{Opening, closing};

/// Most tokens of one script.
const TOKEN_LIMIT: usize = 16_384;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text outside quotes.
    Text(String),
    /// Text in quotes, or escaped.
    Quoted(String),
    /// `$NAME`, `${NAME}`, `$1`, `$@`.
    Name { name: String, quoted: bool },
    /// `${…}` with an operator.
    Braced { inside: String, quoted: bool },
    /// A value that the script does not show; `one` when it cannot be split into several words.
    Hidden { by: &'static str, quoted: bool, one: bool },
}

/// A word before expansion.
pub(super) type Word = Vec<Piece>;

/// The target of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// Writes standard output to a file, from the start or (`>>`) behind what is there.
    Out { append: bool },
    /// Anything else: input, other descriptors.
    Other,
}

/// An operator between commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// `;` or the end of a line.
    End,
    /// `;;`, `;&` or `;;&`; true for those that go on with the next arm.
    EndArm(bool),
    Background,
    And,
    Or,
    Pipe,
    Open,
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// `NAME=(…)`, or `NAME+=(…)`.
    Array {
        name: String,
        append: bool,
        words: Vec<Word>,
    },
    /// Its target is the next word.
    Redirect(Redirect),
    /// Standard input from the lines of the script.
    Here(Word),
    /// `((…))`.
    Arithmetic,
    Op(Op),
}

/// The tokens of a script.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) all: Vec<Token>,
    /// False when something in the script is not understood; nothing behind it is in `all`.
    pub(super) complete: bool,
}

/// Splits `text`; `bash` tells the syntax that other shells lack.
pub(super) fn tokens(text: &str, bash: bool) -> Tokens {
    let mut lexer = Lexer { text, bash, ..Lexer::default() };
    let complete = lexer.run().is_some();
    lexer.end_word();
    Tokens { all: lexer.tokens, complete: complete && lexer.array.is_none() }
}

/// Splits what stands behind the operator of `${…}` into pieces.
pub(super) fn operand(text: &str, bash: bool, quoted: bool) -> Option<Word> {
    let mut lexer = Lexer { text, bash, ..Lexer::default() };
    let mut word = Word::new();
    if quoted {
        lexer.quoted(&mut word, Until::End)?;
        return Some(word);
    }
    while let Some(letter) = lexer.peek() {
        if letter.is_whitespace() {
            lexer.at += letter.len_utf8();
            push_text(&mut word, letter);
        } else {
            lexer.piece(letter, &mut word)?;
        }
    }
    Some(word)
}

/// The end of quoted text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Quote,
    /// The end of a here-document, in which quotes are ordinary letters.
    End,
}

#[derive(Default)]
struct Lexer<'a> {
    text: &'a str,
    bash: bool,
    at: usize,
    word: Option<Word>,
    array: Option<(String, bool, Vec<Word>)>,
    tokens: Vec<Token>,
    /// Here-documents whose lines follow: their token, delimiter, whether that is quoted, and whether
    /// tabs before lines are dropped.
    heres: Vec<(usize, String, bool, bool)>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn op(&mut self, op: Op) {
        self.end_word();
        self.tokens.push(Token::Op(op));
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            match &mut self.array {
                Some((_, _, words)) => words.push(word),
                None => self.tokens.push(Token::Word(word)),
            }
        }
    }

    /// Returns none where it meets something that it does not understand.
    fn run(&mut self) -> Option<()> {
        while let Some(letter) = self.peek() {
            if self.tokens.len() >= TOKEN_LIMIT {
                return None;
            }
            match letter {
                ' ' | '\t' => {
                    self.end_word();
                    self.at += 1;
                }
                '\n' => self.line_end()?,
                '#' if self.word.is_none() => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                ')' if self.array.is_some() => {
                    self.end_word();
                    self.at += 1;
                    let (name, append, words) = self.array.take()?;
                    self.tokens.push(Token::Array { name, append, words });
                }
                ';' | '&' | '|' | '(' | ')' | '<' | '>' if self.array.is_some() => return None,
                ';' | '&' | '|' | '(' | ')' => self.operator()?,
                '<' | '>' => self.redirect()?,
                _ => {
                    let mut word = self.word.take().unwrap_or_default();
                    let whole = self.piece(letter, &mut word);
                    // A line that goes on is no word.
                    let empty = word.is_empty() && self.text[..self.at].ends_with("\\\n");
                    self.word = (!empty).then_some(word);
                    whole?;
                }
            }
        }
        // Here-documents without their lines.
        self.heres.is_empty().then_some(())
    }

    fn operator(&mut self) -> Option<()> {
        const OPS: [(&str, Op); 9] = [
            (";;&", Op::EndArm(true)),
            (";&", Op::EndArm(true)),
            (";;", Op::EndArm(false)),
            (";", Op::End),
            ("&&", Op::And),
            ("||", Op::Or),
            ("|&", Op::Pipe),
            ("|", Op::Pipe),
            (")", Op::Close),
        ];
        for (text, op) in OPS {
            if self.take(text) {
                self.op(op);
                return Some(());
            }
        }
        if self.rest().starts_with("&>") {
            self.end_word();
            self.at += 2;
            self.take(">");
            self.tokens.push(Token::Redirect(Redirect::Other));
            return self.bash.then_some(());
        }
        if self.take("&") {
            self.op(Op::Background);
            return Some(());
        }
        if self.word.is_none() && self.rest().starts_with("((") {
            let end = closing(self.text, self.at + 1, Opening::Paren)?;
            if self.text[..end].ends_with("))") {
                self.at = end;
                self.tokens.push(Token::Arithmetic);
                return self.bash.then_some(());
            }
        }
        self.at += 1;
        if let Some((name, append)) = self.word.as_deref().and_then(array_name) {
            self.word = None;
            self.array = Some((name, append, Vec::new()));
            return self.bash.then_some(());
        }
        self.op(Op::Open);
        Some(())
    }

    fn redirect(&mut self) -> Option<()> {
        // The number right before belongs to it.
        let number = match self.word.as_deref() {
            Some([Piece::Text(text)]) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(text.clone())
            }
            Some([Piece::Text(text)]) if text.starts_with('{') && text.ends_with('}') => {
                return None;
            }
            _ => None,
        };
        if number.is_some() {
            self.word = None;
        } else if ["<(", ">("].iter().any(|open| self.rest().starts_with(open)) {
            self.at = closing(self.text, self.at + 1, Opening::Paren)?;
            let piece = Piece::Hidden { by: "a process substitution", quoted: true, one: true };
            self.word.get_or_insert_default().push(piece);
            return self.bash.then_some(());
        } else {
            self.end_word();
        }
        if self.take("<<<") {
            self.tokens.push(Token::Redirect(Redirect::Other));
            return self.bash.then_some(());
        }
        if self.take("<<") {
            let tabs = self.take("-");
            return self.here(tabs);
        }
        let out = number.as_deref().is_none_or(|number| number == "1");
        let kind = if self.take(">&") || self.take("<&") || self.take("<>") {
            Redirect::Other
        } else if self.take(">>") {
            if out { Redirect::Out { append: true } } else { Redirect::Other }
        } else if self.take(">|") || self.take(">") {
            if out { Redirect::Out { append: false } } else { Redirect::Other }
        } else {
            self.at += 1;
            Redirect::Other
        };
        self.tokens.push(Token::Redirect(kind));
        Some(())
    }

    /// Reads the delimiter of a here-document; its lines follow the current one.
    fn here(&mut self, tabs: bool) -> Option<()> {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let (mut delimiter, mut quoted) = (String::new(), false);
        while let Some(letter) = self.peek() {
            match letter {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' | '"' => {
                    quoted = true;
                    let inside = self.rest()[1..].split(letter).next()?;
                    delimiter.push_str(inside);
                    self.at += inside.len() + 2;
                }
                '\\' => {
                    quoted = true;
                    self.at += 1;
                }
                '$' | '`' => return None,
                letter => {
                    delimiter.push(letter);
                    self.at += letter.len_utf8();
                }
            }
        }
        self.heres.push((self.tokens.len(), delimiter, quoted, tabs));
        self.tokens.push(Token::Here(Word::new()));
        Some(())
    }

    fn line_end(&mut self) -> Option<()> {
        self.at += 1;
        if self.array.is_some() {
            self.end_word();
            return Some(());
        }
        self.op(Op::End);
        for (token, delimiter, quoted, tabs) in std::mem::take(&mut self.heres) {
            let mut body = String::new();
            loop {
                let line = self.rest().split_inclusive('\n').next()?;
                self.at += line.len();
                let line = if tabs { line.trim_start_matches('\t') } else { line };
                if line.trim_end_matches('\n') == delimiter {
                    break;
                }
                body.push_str(line);
            }
            let mut word = Word::new();
            if quoted {
                push_quoted(&mut word, &body);
            } else {
                let mut inner = Lexer { text: &body, bash: self.bash, ..Lexer::default() };
                inner.quoted(&mut word, Until::End)?;
            }
            *self.tokens.get_mut(token)? = Token::Here(word);
        }
        Some(())
    }
}

fn push_text(word: &mut Word, letter: char) {
    match word.last_mut() {
        _ if letter == HIDDEN_MARK => {
            word.push(Piece::Hidden { by: "a value that is not shown", quoted: false, one: false });
        }
        Some(Piece::Text(text)) => text.push(letter),
        _ => word.push(Piece::Text(letter.to_string())),
    }
}

fn push_quoted(word: &mut Word, text: &str) {
    for (index, part) in text.split(HIDDEN_MARK).enumerate() {
        if index > 0 {
            word.push(Piece::Hidden { by: "a value that is not shown", quoted: true, one: true });
        }
        match word.last_mut() {
            Some(Piece::Quoted(known)) => known.push_str(part),
            _ => word.push(Piece::Quoted(part.to_owned())),
        }
    }
}

/// Reads the name and whether `+=` stands behind it, in a word that an array follows.
fn array_name(word: &[Piece]) -> Option<(String, bool)> {
    let [Piece::Text(text)] = word else { return None };
    let name = text.strip_suffix('=')?;
    let (name, append) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    is_name(name).then(|| (name.to_owned(), append))
}

/// Returns true for the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(inside)
}

fn is_parameter(text: &str) -> bool {
    let special = text.len() == 1 && "@*#?-$!".contains(text);
    let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    special || number || is_name(text)
}

/// Returns the length of the name behind a `$`.
fn name_length(text: &str) -> usize {
    match text.chars().next() {
        Some(first) if "@*#?-$!0123456789".contains(first) => 1,
        Some(first) if first.is_ascii_alphabetic() || first == '_' => {
            let inside = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
            text.find(inside).unwrap_or(text.len())
        }
        _ => 0,
    }
}
