//! Output of commands, and messages beside the output.

use std::io::{self, Write as _};

use super::RunError;
use crate::wire::printable;

/// Writes output. A pipe that was closed is an error like any other.
pub(super) fn print(text: &str) -> Result<(), RunError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(RunError::Output)
}

/// Prints a message that is not output to standard error.
pub(super) fn tell(text: &str) {
    // There is nobody left to tell when even that fails.
    drop(writeln!(io::stderr().lock(), "{}", printable_lines(text)));
}

/// Returns `text` without logins and parameters in its addresses.
pub fn without_logins(text: &str) -> String {
    let mut parts = text.split("://");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |letter: char| letter.is_whitespace() || "'\"`<>".contains(letter);
        let (address, rest) = part.split_at(part.find(ends).unwrap_or(part.len()));
        let (login, host) = address.rsplit_once('@').map_or((false, address), |(_, it)| (true, it));
        let (host, asked) = host.split_once('?').map_or((host, false), |(host, _)| (host, true));
        let mark = |there| if there { "(redacted)" } else { "" };
        kept.extend(["://", mark(login), if login { "@" } else { "" }, host]);
        kept.extend([if asked { "?" } else { "" }, mark(asked), rest]);
    }
    kept
}

/// Returns `text` in one line, for output that has a line for each deployment: its lines are joined by `; `, and a
/// meaning in a column of its own stands in brackets.
pub(super) fn one_line(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines() {
        if !joined.is_empty() {
            joined.push_str(if joined.ends_with(':') { " " } else { "; " });
        }
        match line.strip_prefix("  ").and_then(|row| row.split_once("  ")) {
            Some((term, meaning)) => joined.extend([term, " (", meaning.trim_start(), ")"]),
            None => joined.push_str(line.trim_start()),
        }
    }
    joined
}

/// Longest line that is said, in characters.
const LINE_LIMIT: usize = 4096;

/// Returns `text` without what could steer a terminal; its lines stay.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(|line| printable(line, LINE_LIMIT)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_were_mistyped_are_shown_without_logins() {
        let rows = [
            ("no address", "no address"),
            ("'nats://a:4222' x", "'nats://a:4222' x"),
            ("'http://u:p@h:1/m?token=x' y", "'http://(redacted)@h:1/m?(redacted)' y"),
            ("a://u:p?@h b://u:p/@h", "a://(redacted)@h b://(redacted)@h"),
        ];
        for (typed, shown) in rows {
            assert_eq!(without_logins(typed), shown);
        }
    }

    #[test]
    fn lists_become_one_line() {
        let list = "nothing given. Try:\n  kvtop demo     no cluster\n  kvtop -n NAME  a namespace";
        let line = "nothing given. Try: kvtop demo (no cluster); kvtop -n NAME (a namespace)";
        assert_eq!(one_line(list), line);
        assert_eq!(one_line("a.toml:1: x\na.toml:2: y"), "a.toml:1: x; a.toml:2: y");
        assert_eq!(one_line("as  it is"), "as  it is");
    }
}
