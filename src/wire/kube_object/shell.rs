//! Shell scripts as `sh -c` gets them, read as far as finding the processes they start needs.
//!
//! Knows quotes, comments, separators, assignments, `export` and plain variables. What it does not
//! know (functions, loops, substitutions) it passes over as words; it never runs anything.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// Longest script that is looked at, in bytes, and longest text that variables may expand to.
const SCRIPT_LIMIT: usize = 64 << 10;

/// Variables by name.
pub(super) type Variables = BTreeMap<String, String>;

/// A simple command with the variables it would see.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<String>,
    pub(super) variables: Variables,
}

/// Returns the commands of `script` in order, without assignments and `exec`.
pub(super) fn commands(script: &str, variables: &Variables) -> Vec<Simple> {
    // What a source left in place of a secret must not look like a subshell.
    let script = &script.replace("(redacted)", "redacted");
    let mut end = script.len().min(SCRIPT_LIMIT);
    while !script.is_char_boundary(end) {
        end -= 1;
    }
    let mut reader = Reader {
        letters: script[..end].chars().peekable(),
        variables,
        set: Variables::new(),
        spent: 0,
    };
    let mut found = Vec::new();
    while let Some(words) = reader.command() {
        found.extend(reader.finish(words));
    }
    found
}

struct Reader<'a> {
    letters: Peekable<Chars<'a>>,
    variables: &'a Variables,
    /// What the script itself set so far.
    set: Variables,
    /// Bytes that variables expanded to.
    spent: usize,
}

/// A word while it is read: none until its first letter or quote.
type Word = Option<String>;

impl Reader<'_> {
    /// Reads up to the next separator; none at the end of the script.
    fn command(&mut self) -> Option<Vec<String>> {
        self.letters.peek()?;
        let mut words = Vec::new();
        let mut word: Word = None;
        while let Some(letter) = self.letters.next() {
            match letter {
                ';' | '|' | '&' | '\n' | '(' | ')' => break,
                ' ' | '\t' | '\r' => words.extend(word.take()),
                '#' if word.is_none() => while self.letters.next_if(|l| *l != '\n').is_some() {},
                '\'' => self.quoted_plainly(word.get_or_insert_default()),
                '"' => self.quoted(word.get_or_insert_default()),
                '\\' => match self.letters.next() {
                    None | Some('\n') => {}
                    Some(escaped) => word.get_or_insert_default().push(escaped),
                },
                '$' => self.unquoted_variable(&mut words, &mut word),
                '>' | '<' => {
                    let word = word.get_or_insert_default();
                    word.push(letter);
                    // In `2>&1` the ampersand separates nothing.
                    word.extend(self.letters.next_if_eq(&'&'));
                }
                letter => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        Some(words)
    }

    fn quoted_plainly(&mut self, word: &mut String) {
        word.extend(self.letters.by_ref().take_while(|letter| *letter != '\''));
    }

    fn quoted(&mut self, word: &mut String) {
        while let Some(letter) = self.letters.next() {
            match letter {
                '"' => return,
                '\\' => match self.letters.next() {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                    Some('\n') | None => {}
                    Some(other) => word.extend(['\\', other]),
                },
                '$' => {
                    let value = self.variable();
                    word.push_str(&value);
                }
                letter => word.push(letter),
            }
        }
    }

    /// Outside quotes the value of a variable is split into words.
    fn unquoted_variable(&mut self, words: &mut Vec<String>, word: &mut Word) {
        let value = self.variable();
        let mut parts = value.split_whitespace();
        if value.starts_with(char::is_whitespace) {
            words.extend(word.take());
        }
        if let Some(first) = parts.next() {
            word.get_or_insert_default().push_str(first);
        }
        for part in parts {
            words.extend(word.replace(part.to_owned()));
        }
        if value.ends_with(char::is_whitespace) {
            words.extend(word.take());
        }
    }

    /// Returns what stands for the variable that follows a `$`.
    fn variable(&mut self) -> String {
        let value = match self.letters.peek() {
            Some('{') => {
                self.letters.next();
                let inside: String = self.letters.by_ref().take_while(|l| *l != '}').collect();
                let (name, default) = inside.split_once(":-").unwrap_or((&inside, ""));
                let default = default.trim_matches('"').to_owned();
                self.lookup(name).filter(|value| !value.is_empty()).unwrap_or(default)
            }
            Some('(') => {
                // A substitution: its result is not known.
                let mut depth = 0_usize;
                for letter in self.letters.by_ref() {
                    depth = depth.saturating_add(usize::from(letter == '('));
                    depth = depth.saturating_sub(usize::from(letter == ')'));
                    if depth == 0 {
                        break;
                    }
                }
                return "$()".to_owned();
            }
            Some(letter) if is_name(*letter) => {
                let mut name = String::new();
                while let Some(letter) = self.letters.next_if(|letter| is_name(*letter)) {
                    name.push(letter);
                }
                self.lookup(&name).unwrap_or_default()
            }
            _ => return "$".to_owned(),
        };
        self.spent = self.spent.saturating_add(value.len());
        if self.spent > SCRIPT_LIMIT { String::new() } else { value }
    }

    fn lookup(&self, name: &str) -> Option<String> {
        self.set.get(name).or_else(|| self.variables.get(name)).cloned()
    }

    /// Takes the assignments off `words`; what is left is a command.
    fn finish(&mut self, words: Vec<String>) -> Option<Simple> {
        let mut local = self.set.clone();
        let mut exported = false;
        let mut rest = words.into_iter().peekable();
        while let Some(word) = rest.peek() {
            match (word.as_str(), assignment(word)) {
                ("exec" | "env" | "{" | "then" | "do" | "else" | "time" | "nohup", _) => {}
                ("export", _) => exported = true,
                (_, Some((name, value))) => {
                    local.insert(name.to_owned(), value.to_owned());
                }
                _ => break,
            }
            rest.next();
        }
        let words: Vec<String> = rest.collect();
        if words.is_empty() || exported {
            self.set = local;
            return None;
        }
        let mut variables = self.variables.clone();
        variables.extend(local);
        Some(Simple { words, variables })
    }
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Reads `NAME=value`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let named = name.chars().all(is_name) && !name.starts_with(|l: char| l.is_ascii_digit());
    (named && !name.is_empty()).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(script: &str) -> Vec<String> {
        let outer = Variables::from([("B".to_owned(), "32".to_owned())]);
        commands(script, &outer).into_iter().map(|simple| simple.words.join("|")).collect()
    }

    #[test]
    fn scripts_are_split_as_a_shell_would() {
        let cases: &[(&str, &[&str])] = &[
            ("exec python3 -m x --a 1", &["python3|-m|x|--a|1"]),
            ("cd /w && python3 -m x", &["cd|/w", "python3|-m|x"]),
            ("a 2>&1 | tee log; b", &["a|2>&1", "tee|log", "b"]),
            ("a \\\n  --b 1 # no\nc", &["a|--b|1", "c"]),
            (r#"a --j '{"k": 1}' "x y""#, &[r#"a|--j|{"k": 1}|x y"#]),
            (r#"a "{\"k\":16}""#, &[r#"a|{"k":16}"#]),
            ("a $B ${B} '$B' ${C:-7} \"$B\"x", &["a|32|32|$B|7|32x"]),
            ("A='1 2'; b $A", &["b|1|2"]),
            ("export A=5\nb --c=$A", &["b|--c=5"]),
            ("A=9 b $A$(date)$A", &["b|$()"]),
            ("", &[]),
            ("'open", &["open"]),
            ("K=(redacted) a --key (redacted) --b 1", &["a|--key|redacted|--b|1"]),
            ("export K=(redacted); a --b 1", &["a|--b|1"]),
        ];
        for (script, expected) in cases {
            assert_eq!(words(script), *expected, "{script:?}");
        }
    }

    #[test]
    fn assignments_reach_the_command_they_stand_before() {
        let simple = commands("A=1 exec b", &Variables::new()).remove(0);

        assert_eq!(simple.variables.get("A").map(String::as_str), Some("1"));
    }

    #[test]
    fn variables_cannot_blow_a_script_up() {
        let outer = Variables::from([("B".to_owned(), "x".repeat(40_000))]);

        let found = commands("a $B$B$B$B$B$B", &outer);

        assert!(found[0].words[1].len() <= SCRIPT_LIMIT);
    }
}
