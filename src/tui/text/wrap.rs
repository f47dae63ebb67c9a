//! Text in lines.

use ratatui::style::Style;
use ratatui::text::Span;

use super::width;

/// Characters at which the names and paths in a long word are split.
const MARKS: [char; 10] = ['/', ':', '-', '_', '.', ',', '=', '@', '&', '?'];
/// A line that is broken at one of them has at least so much of its columns filled: a half.
const LEAST: usize = 2;

/// Returns `text` in lines of at most `columns`, broken at spaces; a longer word is broken as well,
/// behind a mark such as `/` or `-` where there is one.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= columns {
            line.push_str(&" ".repeat(gap));
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut pieces = broken(word, columns, |head, next| behind_mark(head, next, columns));
        line = pieces.pop().unwrap_or_default();
        lines.append(&mut pieces);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Returns what follows of `text` after these of its lines.
pub fn after<'a>(text: &'a str, lines: &[String]) -> &'a str {
    let solid = |text: &str| text.chars().filter(|letter| *letter != ' ').count();
    let said = lines.iter().map(|line| solid(line)).sum();
    let mut letters = text.char_indices().filter(|(_, letter)| *letter != ' ');
    letters.nth(said).map_or("", |(at, _)| &text[at..])
}

/// Returns `text` in pieces of at most `columns`, wherever they end; at least one.
pub fn pieces(text: &str, columns: usize) -> Vec<String> {
    broken(text, columns, |head, _| head.len())
}

/// Returns `text` in pieces of at most `columns`; at least one. Of each that is full and of what follows it
/// `place` says how much of it to keep, in bytes.
fn broken(text: &str, columns: usize, place: impl Fn(&str, &str) -> usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    let span = Span::raw(text);
    for grapheme in span.styled_graphemes(Style::new()) {
        let wide = width(grapheme.symbol);
        while used > 0 && used + wide > columns {
            let rest = line.split_off(place(&line, grapheme.symbol));
            used = width(&rest);
            pieces.push(std::mem::replace(&mut line, rest));
        }
        line.push_str(grapheme.symbol);
        used += wide;
    }
    pieces.push(line);
    pieces
}

/// Returns how much of `head`, which is full, to keep on its line: up to the last mark that parts the names
/// and paths in a word, where that leaves no line almost empty; else all of it.
fn behind_mark(head: &str, next: &str, columns: usize) -> usize {
    let digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    let parts = |at: usize| {
        let (before, after) = (head[..at].chars().next_back(), head[at + 1..].chars().next());
        // Groups of digits belong together.
        !(digit(before) && digit(after.or_else(|| next.chars().next())))
    };
    let mut marks = head.rmatch_indices(MARKS).map(|(at, _)| at).filter(|at| parts(*at));
    let last = marks.next().map_or(0, |at| at + 1);
    if last > 0 && width(&head[..last]) >= columns / LEAST { last } else { head.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_long_words_where_they_are_full() {
        assert_eq!(wrap("blocks of 16 tokens", 9), ["blocks of", "16 tokens"]);
        assert_eq!(wrap("a incomprehensible", 8), ["a", "incompre", "hensible"]);
        assert_eq!(wrap("", 8), [""]);
    }

    #[test]
    fn names_and_paths_are_broken_behind_what_parts_them() {
        let image = "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.9.0";
        assert_eq!(wrap(image, 40), ["nvcr.io/nvidia/ai-dynamo/tensorrtllm-", "runtime:0.9.0"]);
        assert_eq!(
            wrap("in /srv/llms/model/kvtop-tiny", 17),
            ["in", "/srv/llms/model/", "kvtop-tiny"]
        );
        // A mark that comes early leaves too little of a line, and numbers stay whole.
        assert_eq!(wrap("a/incomprehensible", 10), ["a/incompre", "hensible"]);
        assert_eq!(wrap("size=17,480,516,895", 18), ["size=17,480,516,89", "5"]);
    }

    #[test]
    fn what_follows_of_a_text_is_as_it_was() {
        let text = "log of  gtc-demo-0-trtllmworker-fhhcl, now";
        let lines = wrap(text, 14);
        assert_eq!(lines, ["log of", "gtc-demo-0-", "trtllmworker-", "fhhcl, now"]);
        assert_eq!(after(text, &lines[..1]), "gtc-demo-0-trtllmworker-fhhcl, now");
        assert_eq!(after(text, &lines[..2]), "trtllmworker-fhhcl, now");
        assert_eq!(after(text, &lines), "");
    }

    #[test]
    fn no_line_is_too_long_and_nothing_is_lost() {
        for text in
            ["日本語/ワーカー-é a-long-word-without-a-break 12", "////----::::", "é-日本/語.x"]
        {
            for columns in 2..24 {
                let lines = wrap(text, columns);
                assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:?}");
                let whole: String = text.split(' ').collect();
                let said: String = lines.concat().split(' ').collect();
                assert_eq!(said, whole, "{columns}");
            }
        }
    }
}
