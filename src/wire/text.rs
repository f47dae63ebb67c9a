//! Text from outside, made fit for a terminal.

use std::borrow::Cow;

use crate::domain::steers;

/// Returns `text` without terminal escape sequences and control characters, at most `limit`
/// characters long. Format characters of Unicode count too: they reorder or hide text.
pub fn printable(text: &str, limit: usize) -> Cow<'_, str> {
    let clean = text.len() <= limit && text.bytes().all(|byte| (0x20..0x7F).contains(&byte));
    if clean {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().min(limit));
    for letter in strip_ansi(text).chars().filter(|letter| !steers(*letter)).take(limit) {
        out.push(letter);
    }
    Cow::Owned(out)
}

/// Returns `text` without ANSI escape sequences (CSI, OSC and two-character ones).
pub(super) fn strip_ansi(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1B}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\u{1B}' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            // CSI: parameters, then one final letter.
            Some('[') => while letters.next().is_some_and(|next| !('@'..='~').contains(&next)) {},
            // OSC, DCS, SOS, PM, APC: up to BEL or ESC \.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                while let Some(next) = letters.next() {
                    if next == '\u{7}' || (next == '\u{1B}' && letters.next_if_eq(&'\\').is_some())
                    {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_titles_and_control_characters_are_taken_out() {
        let cases = [
            ("plain", "plain"),
            ("\u{1b}[2m2026\u{1b}[0m WARN", "2026 WARN"),
            ("\u{1b}]0;owned\u{7}after", "after"),
            ("\u{1b}]52;c;aGk=\u{1b}\\after", "after"),
            ("bell\u{7} and \u{202e}evil", "bell and evil"),
            ("\u{61c}a\u{2028}b\u{e0041}c\u{ad}", "abc"),
            ("cut \u{1b}[", "cut "),
            ("naïve ✓", "naïve ✓"),
        ];
        for (input, expected) in cases {
            assert_eq!(printable(input, 100), expected, "{input:?}");
        }
    }

    #[test]
    fn every_character_that_steers_is_taken_out() {
        // The ranges of Unicode 15 categories Cf, Zl and Zp.
        let ranges = [
            '\u{ad}'..='\u{ad}',
            '\u{600}'..='\u{605}',
            '\u{61c}'..='\u{61c}',
            '\u{6dd}'..='\u{6dd}',
            '\u{70f}'..='\u{70f}',
            '\u{890}'..='\u{891}',
            '\u{8e2}'..='\u{8e2}',
            '\u{180e}'..='\u{180e}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{2064}',
            '\u{2066}'..='\u{206f}',
            '\u{feff}'..='\u{feff}',
            '\u{fff9}'..='\u{fffb}',
            '\u{110bd}'..='\u{110bd}',
            '\u{110cd}'..='\u{110cd}',
            '\u{13430}'..='\u{1343f}',
            '\u{1bca0}'..='\u{1bca3}',
            '\u{1d173}'..='\u{1d17a}',
            '\u{e0001}'..='\u{e0001}',
            '\u{e0020}'..='\u{e007f}',
        ];
        for letter in ranges.into_iter().flatten() {
            assert_eq!(printable(&format!("a{letter}b"), 9), "ab", "{letter:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_at_the_limit() {
        assert_eq!(printable("abcdef", 3), "abc");
    }
}
