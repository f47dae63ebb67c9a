//! Detects secret-looking values in manifests; lines with them are not repeated.

use std::ops::Range;

use crate::domain::{SECRET_PARTS, SECRET_WORDS, TOKEN_PREFIXES};
use crate::dynamo::variable;
use crate::lint::document::{Kind, Node};
use crate::lint::manifest::Sheet;
use crate::lint::place::Text;

/// Words that make a secret of the word `key` behind them.
const KEYS: [&str; 5] = ["api", "access", "private", "auth", "secret"];

/// Keys that name a Secret rather than hold one.
const REFERENCES: [&str; 2] = ["envFromSecret", "existingSecret"];

/// Last words of flags and variables that take secrets, beside those of [`SECRET_WORDS`].
const SHORT: [&str; 9] = ["pass", "pw", "pwd", "pin", "cred", "creds", "auth", "user", "header"];

/// Ends of the last word of such a name, as in PGPASS; other words end in the shorter ones.
const ENDS: [&str; 3] = ["pass", "pwd", "creds"];

/// Programs and options of a script that take nothing secret.
const PLAIN: [&str; 31] = [
    "exec",
    "python3",
    "python",
    "-m",
    "-u",
    "\\",
    "&&",
    "ulimit",
    "-n",
    "-l",
    "cd",
    "set",
    "-e",
    "-ex",
    "-eu",
    "unlimited",
    "export",
    "$@",
    "-np",
    "-euo",
    "pipefail",
    "mpirun",
    "timeout",
    "sleep",
    "tee",
    "wait",
    "exit",
    "|",
    "||",
    "&",
    "2>&1",
];

/// Short forms of flags for sizes of vLLM.
const ABBREVIATED: [&str; 4] = ["-tp", "-pp", "-dp", "-dcp"];

/// Beginnings of variables of GPUs, of their libraries and of threads, none of which is a secret.
const OF_DEVICES: [&str; 5] = ["CUDA_", "NCCL_", "NVIDIA_", "OMP_", "UCX_"];

/// Words behind which a script names a file to write.
const WRITES: [&str; 6] = ["tee", ">", ">>", "2>", "&>", "1>"];

/// Shorter words are no tokens.
const SHORTEST: usize = 16;

/// Returns true for text that names a secret or is one: a flag, a line of a script, a URL with a login.
pub(in crate::lint) fn holds_secret(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let words: Vec<&str> = small.split(|letter: char| !letter.is_alphanumeric()).collect();
    let keys = |pair: &[&str]| KEYS.contains(&pair[0]) && pair[1] == "key";
    words.iter().any(|word| SECRET_WORDS.iter().any(|end| word.ends_with(end)))
        || words.windows(2).any(keys)
        || has_login(text)
        || has_token(text)
}

/// Returns true for a text that holds a secret beside its name, or is one.
fn is_open(text: &str) -> bool {
    has_login(text)
        || has_token(text)
        || (text.contains(['=', ':', ' ', '\n']) && holds_secret(text))
        || text
            .split_once('=')
            .is_some_and(|(flag, _)| flag.starts_with('-') && is_secret_flag(flag))
}

/// Returns true when the value of the variable `name` sounds secret.
pub(in crate::lint) fn is_variable(name: &str, value: &str) -> bool {
    // TOKENIZERS_PARALLELISM and MAX_TOKENS are settings.
    let setting = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
    let name = name.to_ascii_uppercase().replace("TOKENIZER", "");
    let name = if setting { name.replace("TOKENS", "") } else { name };
    let last = name.rsplit('_').next().unwrap_or(&name).to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || ENDS.iter().any(|end| last.ends_with(end))
        || SHORT.contains(&last.as_str())
        || holds_secret(&name)
}

/// Returns true for a text that is a secret by itself, whatever its name.
pub(in crate::lint) fn is_open_token(text: &str) -> bool {
    has_login(text) || has_token(text)
}

/// Returns true for a URL with a user or a password.
fn has_login(text: &str) -> bool {
    text.match_indices("://").any(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        // A password may hold what should have been encoded.
        let end = rest.find(|letter: char| letter.is_whitespace() || "\"'".contains(letter));
        rest[..end.unwrap_or(rest.len())].contains('@')
    })
}

fn has_token(text: &str) -> bool {
    let parts =
        text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"-_.".contains(letter));
    let mut parts = parts.filter(|part| part.len() >= SHORTEST);
    parts.any(|part| TOKEN_PREFIXES.iter().any(|start| part.starts_with(start)))
}

/// Lines of each file that hold what sounds secret.
pub(in crate::lint) struct Secrets {
    lines: Vec<Vec<usize>>,
}

impl Secrets {
    /// Looks for them in all that was read.
    pub(in crate::lint) fn new(text: Text<'_>, sheets: &[Sheet]) -> Self {
        let mut lines = vec![Vec::new(); text.sources.len()];
        for sheet in sheets {
            let mut finder = Finder { text, file: sheet.file, lines: Vec::new() };
            finder.node(&sheet.document.root, false);
            if let Some(known) = lines.get_mut(sheet.file) {
                known.append(&mut finder.lines);
            }
        }
        for lines in &mut lines {
            lines.sort_unstable();
        }
        Self { lines }
    }

    /// Returns true when one of the lines is among them, or a comment there sounds secret.
    pub(super) fn touch(&self, text: Text<'_>, file: usize, (first, last): (usize, usize)) -> bool {
        if last < first {
            return false;
        }
        let lines = self.lines.get(file).map_or(&[][..], Vec::as_slice);
        let after = lines.partition_point(|line| *line < first);
        lines.get(after).is_some_and(|line| *line <= last) || commented(text, file, first, last)
    }
}

/// Returns true when comments of these lines hold a setting that sounds secret.
fn commented(text: Text<'_>, file: usize, first: usize, last: usize) -> bool {
    let comments: Vec<&str> = (first..=last)
        .filter_map(|line| text.line(file, line).split_once('#').map(|(_, comment)| comment))
        .collect();
    let sets = comments.iter().any(|comment| comment.contains([':', '=']));
    comments.iter().any(|comment| has_login(comment) || has_token(comment))
        || (sets && comments.iter().any(|comment| holds_secret(comment)))
}

/// Collects lines of one file.
struct Finder<'a> {
    text: Text<'a>,
    file: usize,
    lines: Vec<usize>,
}

impl Finder<'_> {
    /// Looks at a value; all of it is secret when its name says so.
    fn node(&mut self, node: &Node, secret: bool) {
        match &node.value {
            Kind::Map(entries) => {
                let variable = node.string("name").unwrap_or_default();
                let object = node.string("kind") == Some("Secret");
                for (key, value) in entries {
                    let text = shown(value);
                    let named = match key.text.as_str() {
                        "value" if !variable.is_empty() => is_variable(variable, &text),
                        "data" | "stringData" if object => true,
                        // A volume names its Secret there.
                        "secret" => !text.is_empty(),
                        key if REFERENCES.contains(&key) => false,
                        key => holds_secret(key) || (is_constant(key) && is_variable(key, &text)),
                    };
                    self.node(value, secret || named);
                    if secret || named {
                        self.lines.push(key.line);
                    }
                }
            }
            Kind::List(items) => {
                let mut after = false;
                for item in items {
                    let word = item.text().unwrap_or_default();
                    let flag = word.starts_with('-');
                    self.node(item, secret || (after && !flag));
                    after = flag && !word.contains(['=', ' ']) && is_secret_flag(word);
                }
            }
            Kind::Text(text) if secret || is_open(text) => self.scalar(node, secret),
            // Whatever is not known to be harmless may be a login or a prompt.
            Kind::Text(text) if is_script(text) => self.script(node),
            Kind::Number(_) if secret => self.scalar(node, secret),
            Kind::Text(_) | Kind::Number(_) | Kind::Bool(_) | Kind::Null => {}
        }
    }

    /// Takes the lines of a script that hold more than a command of Dynamo.
    fn script(&mut self, node: &Node) {
        let Some(Range { start, end }) = node.span.clone() else { return };
        let place = |at| self.text.place_of(self.file, at).0;
        let (first, last) = (place(start), place(end));
        let content = self.text.content(self.file);
        let within = |line: usize| {
            let from = self.text.start_of(self.file, line).max(start);
            let to = self.text.start_of(self.file, line + 1).min(end);
            content.get(from..to).unwrap_or_default()
        };
        let odd = (first..=last).filter(|line| {
            let said = within(*line).trim();
            !said.starts_with('#')
                && !["|", ">", "|-", ">-"].contains(&said)
                && !is_plain_command(said)
        });
        self.lines.extend(odd.collect::<Vec<_>>());
    }

    /// Takes the lines of a text: all of them, or those that sound secret with the one behind each,
    /// where the value may be.
    fn scalar(&mut self, node: &Node, whole: bool) {
        self.lines.push(node.line);
        let Some(Range { start, end }) = node.span.clone() else { return };
        let place = |at| self.text.place_of(self.file, at).0;
        let (first, last) = (place(start), place(end));
        let sounds = |line: usize| holds_secret(self.text.line(self.file, line));
        let found = (first..=last)
            .filter(|line| whole || sounds(*line) || (*line > first && sounds(*line - 1)));
        self.lines.extend(found.collect::<Vec<_>>());
    }
}

/// Returns true for a text that a shell runs a module of Python from.
fn is_script(text: &str) -> bool {
    text.contains("python") && text.contains(" -m ")
}

/// Returns true for a line of a script that runs a module of Python with flags, and nothing else. A flag has at most
/// one value behind it.
fn is_plain_command(line: &str) -> bool {
    let mut takes = false;
    let mut writes = false;
    // Comments are judged by their own words; within quotes the mark begins none.
    let is_closed = |(code, _): &(&str, &str)| code.matches(['"', '\'']).count() % 2 == 0;
    let line = line.split_once(" #").filter(is_closed).map_or(line, |(code, _)| code);
    line.split_whitespace().all(|word| {
        let word = word.trim_matches(['"', '\'', '[', ']', ',', ';', '\\']);
        if std::mem::replace(&mut writes, WRITES.contains(&word)) && is_path(word) {
            return true;
        }
        let flag = word.strip_prefix("--").map(|flag| flag.split('=').next().unwrap_or(flag));
        let flag = flag.or_else(|| ABBREVIATED.contains(&word).then_some(word));
        let is_value = std::mem::replace(&mut takes, flag.is_some() && !word.contains('='));
        match flag {
            Some(flag) => !is_secret_flag(flag),
            None if is_json(word) => {
                takes = is_value;
                true
            }
            None => {
                is_value
                    || PLAIN.contains(&word)
                    || WRITES.contains(&word)
                    || word.split_once('>').is_some_and(|(from, to)| {
                        ["", "1", "2", "&"].contains(&from) && is_path(to.trim_start_matches('>'))
                    })
                    || is_device_setting(word)
                    || word.is_empty()
                    || word.starts_with("dynamo.")
                    || variable::PREFIXES.iter().any(|prefix| word.starts_with(prefix))
                    || is_path_setting(word)
                    || word.parse::<f64>().is_ok()
                    || word.ends_with("python3")
            }
        }
    })
}

/// Returns true for the path of a file.
fn is_path(word: &str) -> bool {
    let mut words = word.split(|letter: char| !letter.is_ascii_alphanumeric());
    word.starts_with(['/', '.'])
        && !words.any(|word| SHORT.contains(&word))
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter))
        && !holds_secret(word)
}

/// Returns true for `CUDA_VISIBLE_DEVICES=0,1` and alike.
fn is_device_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| {
        OF_DEVICES.iter().any(|start| name.starts_with(start))
            && !is_secret_flag(&name.to_ascii_lowercase())
            && value.chars().all(|letter| letter.is_ascii_alphanumeric() || ",_".contains(letter))
            && !holds_secret(value)
    })
}

/// Returns true for `HF_HOME=/models` and alike.
fn is_path_setting(word: &str) -> bool {
    word.split_once("=/").is_some_and(|(name, _)| !is_secret_flag(&name.to_ascii_lowercase()))
}

fn is_secret_flag(flag: &str) -> bool {
    let last = flag.rsplit(['-', '_']).next().unwrap_or(flag);
    SHORT.contains(&last) || last == "key" || holds_secret(flag)
}

/// Returns true for a piece of JSON: it goes on in the next words.
fn is_json(word: &str) -> bool {
    let harmless =
        |letter: char| letter.is_ascii_alphanumeric() || "{}[]\\\"':,._*/-".contains(letter);
    word.starts_with(['{', '"']) && word.chars().all(harmless)
        || ["}", "}}", "true", "false"].contains(&word)
        || word.trim_end_matches('}').parse::<f64>().is_ok() && word.ends_with('}')
}

/// Returns a scalar as text; nothing for others.
fn shown(node: &Node) -> String {
    match &node.value {
        Kind::Text(text) => text.clone(),
        Kind::Number(number) => number.to_string(),
        Kind::Bool(flag) => flag.to_string(),
        Kind::Null | Kind::List(_) | Kind::Map(_) => String::new(),
    }
}

/// Returns true for names such as `HF_TOKEN`.
fn is_constant(key: &str) -> bool {
    key.len() > 3 && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_end_in_short_words_too() {
        for name in
            ["DB_PASS", "PGPASS", "MYSQL_PWD", "LMCACHE_AUTH_HEADER", "APP_CREDS", "ROOT_PW"]
        {
            assert!(is_variable(name, "x"), "{name}");
        }
        for name in ["DYN_ROUTER_MODE", "TOKENIZERS_PARALLELISM", "DYN_LOG"] {
            assert!(!is_variable(name, "false"), "{name}");
        }
        for flag in ["--mooncake-pass", "--ssh-key", "--signing-key", "--http-auth"] {
            assert!(is_secret_flag(flag) && is_open(&format!("{flag}=x")), "{flag}");
        }
        assert!(is_plain_command("python3 -m dynamo.vllm --model m -tp 4"));
    }
}
