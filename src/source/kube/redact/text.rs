//! Secrets within text: command lines, URLs, configuration files.
//!
//! Nearly no word holds one, so words are copied only where they change.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::TOKEN_PREFIXES;

use super::{Depth, REDACTED, is_secret_constant, is_secret_key, redact_at};

/// Keys in armour, by how their first line ends: private keys, NATS credentials.
const ARMOUR: [&str; 3] = ["PRIVATE KEY-----", "NKEY SEED-----", "USER JWT-----"];

/// Shorter words are not tokens.
const SHORTEST: usize = 16;

/// Returns `text` without its secrets, none when it has none.
pub(super) fn scrub(text: &str, depth: Depth) -> Option<String> {
    // One search, and not three, for the lines that have none.
    if text.contains("-----") && ARMOUR.iter().any(|end| text.contains(end)) {
        return Some(REDACTED.to_owned());
    }
    if let Some(clean) = scrub_json(text, depth) {
        return Some(clean);
    }
    let mut clean = String::with_capacity(text.len());
    // A block of lines below a secret key in YAML, by the indentation of the key.
    let mut block: Option<usize> = None;
    let mut after = After::Nothing;
    for line in text.split_inclusive('\n') {
        let indentation = line.len() - line.trim_start().len();
        match block {
            Some(of_key) if indentation > of_key && !line.trim().is_empty() => {
                clean.push_str(&line[..indentation]);
                clean.push_str(REDACTED);
                if line.ends_with('\n') {
                    clean.push('\n');
                }
                continue;
            }
            _ => block = None,
        }
        if opens_block(line) {
            block = Some(indentation);
        }
        clean.push_str(&scrub_line(line, &mut after, depth));
    }
    (clean != text).then_some(clean)
}

fn scrub_json(text: &str, depth: Depth) -> Option<String> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut value: Value = serde_json::from_str(text).ok()?;
    let Some(inner) = depth.inner() else { return Some(REDACTED.to_owned()) };
    let before = value.clone();
    redact_at(&mut value, inner);
    (value != before).then(|| value.to_string())
}

fn opens_block(line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else {
        return false;
    };
    let value = value.trim();
    is_secret(key.trim().trim_start_matches("- "), value)
        && (value.is_empty() || value.starts_with(['|', '>']))
}

fn is_secret(key: &str, value: &str) -> bool {
    let key = key.trim_matches(['"', '\'']);
    is_secret_key(key) || is_secret_constant(key, value)
}

/// Returns a line without secrets: `key: value`, `KEY=value`, `--flag value`, and URLs.
fn scrub_line<'a>(line: &'a str, after: &mut After, depth: Depth) -> Cow<'a, str> {
    if let Some((key, value)) = line.split_once(": ") {
        let name = key.trim().trim_start_matches("- ");
        let value = value.trim_end();
        let is_plain = !name.contains(char::is_whitespace) && !value.starts_with(['|', '>']);
        if is_plain && !value.is_empty() && is_secret(name, value) {
            let end = if line.ends_with('\n') { "\n" } else { "" };
            return format!("{key}: {REDACTED}{end}").into();
        }
    }
    let mut clean = String::with_capacity(line.len());
    for word in words(line) {
        // A dash begins an item of a list in YAML.
        if word.trim().is_empty() || word == "-" {
            clean.push_str(word);
            continue;
        }
        if *after == After::Secret || (*after == After::Flag && !word.starts_with('-')) {
            clean.push_str(REDACTED);
            clean.push_str(separator(word));
        } else {
            clean.push_str(&scrub_word(word, depth));
        }
        *after = After::new(word);
    }
    clean.into()
}

/// The meaning of a word for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    /// It may be the value of a secret flag.
    Flag,
    /// It is a secret.
    Secret,
}

impl After {
    fn new(word: &str) -> Self {
        let bare = word.trim_matches(['"', '\'', '[', ']', ',']);
        if bare.ends_with("Bearer") || bare.ends_with("Basic") {
            return Self::Secret;
        }
        if bare.starts_with('-') && !bare.contains('=') && is_secret_key(bare) {
            return Self::Flag;
        }
        Self::Nothing
    }
}

/// Splits into words and the space between them; quotes hold a word together.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut quote: Option<char> = None;
    let mut between = false;
    for (at, letter) in line.char_indices() {
        let space = quote.is_none() && letter.is_whitespace();
        if space != between {
            if at > start {
                words.push(&line[start..at]);
            }
            start = at;
            between = space;
        }
        match quote {
            Some(open) if open == letter => quote = None,
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            _ => {}
        }
    }
    words.push(&line[start..]);
    if quote.is_some() {
        // An apostrophe, or half of a quotation that spans lines.
        return line.split_inclusive(char::is_whitespace).flat_map(parts).collect();
    }
    words
}

/// Splits a word from the space after it.
fn parts(word: &str) -> [&str; 2] {
    let (word, space) = word.split_at(word.trim_end().len());
    [word, space]
}

fn scrub_word(word: &str, depth: Depth) -> Cow<'_, str> {
    if let Some((key, value)) = word.split_once('=').filter(|_| !is_quoted(word)) {
        let name = key.trim_start_matches(['"', '\'', ';', '(']);
        let is_name = !name.is_empty() && !name.contains([':', '/', '?', '{', ' ']);
        if is_name && !value.is_empty() && is_secret(name, value) {
            return format!("{key}={REDACTED}{}", separator(value)).into();
        }
        if is_name && !value.contains("://") {
            return match scrub_value(value, depth) {
                Cow::Borrowed(_) => Cow::Borrowed(word),
                Cow::Owned(clean) => format!("{key}={clean}").into(),
            };
        }
    }
    scrub_value(word, depth)
}

/// Returns the `;`, `&&` or `|` at the end of a word: without it the next command of a script would be
/// one with this.
fn separator(word: &str) -> &str {
    &word[word.trim_end_matches([';', '&', '|']).len()..]
}

fn is_quoted(word: &str) -> bool {
    let first = word.chars().next().filter(|letter| ['"', '\''].contains(letter));
    word.len() > 1 && first.is_some_and(|quote| word.ends_with(quote))
}

fn scrub_value(word: &str, depth: Depth) -> Cow<'_, str> {
    let bare = word.trim_matches(['"', '\'']);
    if bare.len() != word.len() {
        // Text in quotes may be a command line or JSON of its own.
        let inner = match depth.inner() {
            Some(inner) => scrub(bare, inner).unwrap_or_else(|| bare.to_owned()),
            None => REDACTED.to_owned(),
        };
        let start = word.len() - word.trim_start_matches(['"', '\'']).len();
        let end = word.get(start + bare.len()..).unwrap_or_default();
        return format!("{}{inner}{end}", &word[..start]).into();
    }
    if let Some(clean) = scrub_json(word, depth) {
        return clean.into();
    }
    if word.contains("://") {
        return scrub_tokens(&scrub_urls(word)).into();
    }
    // Nothing shorter is a token.
    if word.len() < SHORTEST { Cow::Borrowed(word) } else { scrub_tokens(word).into() }
}

/// Replaces what begins like a token.
fn scrub_tokens(word: &str) -> String {
    let mut clean = String::with_capacity(word.len());
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let mut rest = word;
    while !rest.is_empty() {
        let length = rest.find(|letter| !is_inside(letter)).unwrap_or(rest.len());
        let (part, others) = rest.split_at(length);
        let is_token = part.len() >= SHORTEST
            && TOKEN_PREFIXES.iter().any(|it| part.starts_with(it))
            || is_seed(part);
        clean.push_str(if is_token { REDACTED } else { part });
        let mut letters = others.chars();
        clean.extend(letters.next());
        rest = letters.as_str();
    }
    clean
}

/// Returns true for a seed of an nkey: base32 of 32 bytes with a prefix and a checksum.
fn is_seed(word: &str) -> bool {
    const LENGTH: usize = 58;
    let is_base32 = |byte: u8| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte);
    word.len() == LENGTH
        && word.starts_with('S')
        && word[1..].starts_with(['A', 'C', 'N', 'O', 'U', 'X'])
        && word.bytes().all(is_base32)
}

/// Removes user and password from URLs, and the values of secret parameters.
fn scrub_urls(word: &str) -> String {
    let mut clean = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        clean.push_str(before);
        let end = after.find([',', '"', '\'', ';', ' ']).unwrap_or(after.len());
        let (url, others) = after.split_at(end);
        clean.push_str(&scrub_parameters(&url[userinfo(url)..]));
        rest = others;
    }
    clean.push_str(rest);
    clean
}

/// Returns the length of the user and password at the start of a URL without its scheme.
fn userinfo(url: &str) -> usize {
    let end = url.find(['/', '?', '#']).unwrap_or(url.len());
    let authority = &url[..end];
    if let Some(at) = authority.rfind('@') {
        return at + 1;
    }
    // A password with a slash that should have been encoded looks like a port that is no number.
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    if is_port { 0 } else { url.rfind('@').map_or(0, |at| at + 1) }
}

fn scrub_parameters(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else {
        return url.to_owned();
    };
    let scrubbed: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((key, _)) if is_secret_key(key) || ["key", "sig", "signature"].contains(&key) => {
                format!("{key}={REDACTED}")
            }
            _ => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", scrubbed.join("&"))
}
