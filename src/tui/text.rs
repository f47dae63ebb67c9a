//! Text for cells: cleaning, measuring, cutting, and numbers that are never cut.

mod wrap;

use std::borrow::Cow;
use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::Span;

pub use crate::domain::thousands;
use crate::domain::{Timestamp, steers};
pub use wrap::{after, pieces, wrap};

/// Returns `text` without anything that moves the cursor, reorders or hides text.
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_plain(text) || !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter_map(|c| match c {
        '\t' | '\n' | '\r' => Some(' '),
        c if is_hostile(c) => None,
        c => Some(c),
    });
    Cow::Owned(kept.collect())
}

/// Returns true for printable ASCII, of which each letter takes one column: nearly all text is that.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns true for characters that steer the terminal, and for those without a width of their own.
fn is_hostile(c: char) -> bool {
    steers(c) || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0080}'..='\u{e0fff}')
}

/// Returns the columns that `text` takes.
pub fn width(text: &str) -> usize {
    if is_plain(text) { text.len() } else { Span::raw(text).width() }
}

/// Returns `text` in at most `columns`, with `mark` at the end when something was left out.
pub fn cut(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(mark));
    let mut short = head(text, room);
    if width(mark) <= columns {
        short.push_str(mark);
    }
    short
}

/// Returns `text` in at most `columns` without cutting a word, so that no number loses its end, and
/// `480 of 480` is whole or not there. Only a first word that is too long by itself is cut.
pub fn cut_words(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(mark) + 1);
    let fits = |end: &usize| width(&text[..*end]) <= room;
    let ends = text.match_indices(' ').map(|(end, _)| end).take_while(fits);
    let counts = |word: Option<&str>| {
        word.is_some_and(|word| word.starts_with(|first: char| first.is_ascii_digit()))
    };
    let ends = ends.filter(|end| {
        let (mut before, mut after) = (text[..*end].rsplit(' '), text[end + 1..].split(' '));
        let (last, next) = (before.next(), after.next());
        let inside = (last == Some("of") && counts(before.next()) && counts(next))
            || (next == Some("of") && counts(last) && counts(after.next()));
        !inside
    });
    match ends.filter(|end| *end > 0).last() {
        Some(end) => format!("{} {mark}", text[..end].trim_end()),
        None => cut(text, columns, mark),
    }
}

/// Returns `text` in at most `columns`, as [`cut_words`] does. A clause that would lose its end is left out, if more than
/// half of the line remains.
pub fn cut_clause(text: &str, columns: usize, mark: &str) -> String {
    let short = cut_words(text, columns, mark);
    let Some(kept) = short.strip_suffix(mark).filter(|_| width(text) > columns) else {
        return short;
    };
    match kept.rfind(", ") {
        Some(end) if end * 2 > kept.len() => format!("{} {mark}", &kept[..end]),
        Some(_) | None => short,
    }
}

/// Returns `text` in at most `columns`, where a number or a hash stays whole or goes. Other words are cut.
pub fn cut_names(text: &str, columns: usize, mark: &str) -> String {
    let short = cut(text, columns, mark);
    let Some(kept) = short.strip_suffix(mark).filter(|kept| width(kept) < width(text)) else {
        return short;
    };
    let start = kept.rfind(' ').map_or(0, |space| space + 1);
    let word = text.get(start..).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let plain = |c: char| c.is_ascii_hexdigit() || ".,:+-%()".contains(c);
    // A mark right behind a number would look as if digits were missing.
    if word.chars().all(plain) { format!("{}{mark}", &kept[..start]) } else { short }
}

/// Returns `text` in at most `columns`, with `mark` in the middle: both ends of a pod's name matter.
pub fn cut_middle(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(mark));
    if room < 4 {
        return cut(text, columns, mark);
    }
    // The end carries the random suffix that tells pods apart, so it gets the larger half.
    let end = room - room / 2;
    format!("{}{mark}{}", head(text, room / 2), tail(text, end))
}

fn head(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut out = String::new();
    let span = Span::raw(text);
    for grapheme in span.styled_graphemes(Style::new()) {
        used += width(grapheme.symbol);
        if used > columns {
            break;
        }
        out.push_str(grapheme.symbol);
    }
    out
}

fn tail(text: &str, columns: usize) -> String {
    let span = Span::raw(text);
    let all: Vec<_> = span.styled_graphemes(Style::new()).collect();
    let mut used = 0;
    let mut start = all.len();
    for (at, grapheme) in all.iter().enumerate().rev() {
        used += width(grapheme.symbol);
        if used > columns {
            break;
        }
        start = at;
    }
    all.iter().skip(start).map(|grapheme| grapheme.symbol).collect()
}

/// Returns `text` padded with spaces on the right to `columns`.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns `text` padded with spaces on the left to `columns`.
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns `count` in at most six columns: as it is up to 99,999, then with a unit.
pub fn count(count: u64) -> String {
    if count < 100_000 { thousands(count) } else { scaled(count as f64) }
}

/// Returns `count` in at most five columns: as it is up to 999, then with a unit.
pub fn brief(count: u64) -> String {
    if count < 1_000 { count.to_string() } else { scaled(count as f64) }
}

/// Returns `value`, which is not negative, in at most six columns.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return String::from("?");
    }
    let value = value.max(0.0);
    if value < 0.05 {
        String::from("0")
    } else if value < 9.95 {
        format!("{value:.1}")
    } else if value < 9_999.5 {
        thousands(cells(value) as u64)
    } else {
        scaled(value)
    }
}

/// Returns a change in at most seven columns: `+3.2`, `-6`, `0`.
pub fn signed(value: f64) -> String {
    let size = short(value.abs());
    match size.as_str() {
        "0" | "?" => size,
        _ if value < 0.0 => format!("-{size}"),
        _ => format!("+{size}"),
    }
}

fn scaled(value: f64) -> String {
    const UNITS: [&str; 6] = ["k", "M", "G", "T", "P", "E"];
    let mut value = value / 1_000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1_000.0;
        unit += 1;
    }
    let name = UNITS[unit];
    if value < 99.95 {
        format!("{value:.1}{name}")
    } else {
        format!("{:.0}{name}", value.min(9_999.0))
    }
}

/// Returns a share of 0 to 1 as percent without its sign: `0`, `4.2`, `99.6`, `100`.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return String::from("?");
    }
    let percent = (share * 100.0).clamp(0.0, 999.0);
    if percent < 0.05 {
        String::from("0")
    } else if percent < 99.95 {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

/// Returns a share of 0 to 1 as whole percent without its sign.
pub fn whole_percent(share: f64) -> String {
    if share.is_finite() { format!("{:.0}", (share * 100.0).clamp(0.0, 999.0)) } else { "?".into() }
}

/// Returns `bytes` with a binary unit.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = UNITS[unit];
    if unit == 0 || value >= 99.95 {
        format!("{value:.0} {name}")
    } else {
        format!("{value:.1} {name}")
    }
}

/// The word of [`age`] for the last two seconds.
pub const JUST_NOW: &str = "now";

/// Returns how long ago something was, in at most four columns, rounded to a whole unit.
pub fn age(span: Duration) -> String {
    match span.as_secs() {
        0 | 1 => String::from(JUST_NOW),
        s @ 2..=99 => format!("{s}s"),
        s @ 100..=5_969 => format!("{}m", (s + 30) / 60),
        s @ 5_970..=343_799 => format!("{}h", (s + 1_800) / 3_600),
        s => format!("{}d", ((s + 43_200) / 86_400).min(999)),
    }
}

/// Returns a span such as `12s`, `7m40s` or `3h05m`.
pub fn span(span: Duration) -> String {
    match span.as_secs() {
        s @ 0..=59 => format!("{s}s"),
        s @ 60..=3_599 if s % 60 == 0 => format!("{}m", s / 60),
        s @ 60..=3_599 => format!("{}m{:02}s", s / 60, s % 60),
        s if s % 3_600 == 0 => format!("{}h", s / 3_600),
        s => format!("{}h{:02}m", s / 3_600, s % 3_600 / 60),
    }
}

/// Returns a latency such as `0.8ms` or `1.2s`.
pub fn latency(span: Duration) -> String {
    let millis = span.as_secs_f64() * 1_000.0;
    if millis < 9.95 {
        format!("{millis:.1}ms")
    } else if millis < 999.5 {
        format!("{millis:.0}ms")
    } else {
        format!("{:.1}s", millis / 1_000.0)
    }
}

/// Returns seconds in at most six columns.
pub fn seconds(value: f64) -> String {
    if value < 1e-9 {
        String::from("0")
    } else if value < 0.095 {
        format!("{value:.3}")
    } else if value < 9.95 {
        format!("{value:.2}")
    } else {
        short(value)
    }
}

/// Returns times in seconds in one unit, and the unit: in `ms` while none of them reaches a tenth of a second.
pub fn times<const N: usize>(seconds: [f64; N]) -> ([String; N], &'static str) {
    let largest = seconds.iter().copied().fold(0.0, f64::max);
    let digits = |value: f64, few: usize| if value < 9.95 { few } else { 0 };
    if largest < 0.099_5 {
        let millis = seconds.map(|value| value * 1_000.0);
        (millis.map(|value| format!("{value:.*}", digits(value, 1))), "ms")
    } else {
        (seconds.map(|value| format!("{value:.*}", digits(value, 2))), "s")
    }
}

/// Returns the UTC time of day: `14:39:02`.
pub fn clock(at: Timestamp) -> String {
    let second = at.seconds() % 86_400;
    format!("{:02}:{:02}:{:02}", second / 3_600, second % 3_600 / 60, second % 60)
}

/// Returns the UTC time of day with milliseconds: `14:39:02.114`.
pub fn clock_millis(at: Timestamp) -> String {
    format!("{}.{:03}", clock(at), at.0 / 1_000 % 1_000)
}

/// Returns `value` rounded, as columns or rows; 0 for what is negative or not a number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and 0 is wanted below 0"
)]
pub fn cells(value: f64) -> usize {
    value.round() as usize
}

/// Returns `value` as a coordinate, at most `u16::MAX`.
pub fn coordinate(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_age_never_looks_younger() {
        let seconds = |text: &str| -> u64 {
            let unit = text.chars().last().unwrap();
            let number: u64 = text.trim_end_matches(unit).parse().unwrap();
            number
                * [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)]
                    .iter()
                    .find(|it| it.0 == unit)
                    .unwrap()
                    .1
        };
        let ages: Vec<String> = (2..400_000).map(|s| age(Duration::from_secs(s))).collect();

        assert!(ages.iter().all(|age| age.len() <= 4));
        assert!(ages.windows(2).all(|pair| seconds(&pair[0]) <= seconds(&pair[1])));
        assert_eq!([96, 117].map(|at: usize| ages[at].clone()), ["98s", "2m"]);
    }

    #[test]
    fn times_have_one_unit() {
        assert_eq!(times([0.0071, 0.0786]), (["7.1".to_owned(), "79".to_owned()], "ms"));
        assert_eq!(times([0.004, 0.13]), (["0.00".to_owned(), "0.13".to_owned()], "s"));
        assert_eq!(times([12.3]), (["12".to_owned()], "s"));
    }

    #[test]
    fn a_count_of_a_whole_is_shown_whole_or_not_at_all() {
        let text = "engines cut 16: 480 of 480 stores arrived without blocks.";
        assert_eq!(cut_words(text, 22, "…"), "engines cut 16: …");
        assert_eq!(cut_words(text, 25, "…"), "engines cut 16: …");
        assert_eq!(cut_words(text, 28, "…"), "engines cut 16: 480 of 480 …");
        assert_eq!(cut_words("most of the blocks", 9, "…"), "most of …");
        let clause = "9 of 9 had no hit, although 12 blocks are cached";
        assert_eq!(cut_clause(clause, 30, "…"), "9 of 9 had no hit …");
        assert_eq!(cut_clause(clause, 16, "…"), "9 of 9 had no …");
        assert_eq!(cut_clause(clause, 60, "…"), clause);
        assert_eq!(cut_clause("so, although it was long", 16, "…"), "so, although …");
    }

    #[test]
    fn cleaning_keeps_letters_and_drops_what_moves_the_cursor() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\td"), "a[31mbc d");
        assert_eq!(clean("wörker-日本"), "wörker-日本");
    }

    #[test]
    fn cutting_respects_wide_characters() {
        assert_eq!(cut("日本語", 5, "…"), "日本…");
        assert_eq!(cut("日本語", 6, "…"), "日本語");
        assert_eq!(cut_middle("trtllmworker-0-x7k2p", 11, "…"), "trtll…x7k2p");
        for columns in 0..12 {
            assert!(width(&cut("日本語abc", columns, "…")) <= columns);
            assert!(width(&cut_middle("日本語abcdefgh", columns, "...")) <= columns);
        }
    }

    #[test]
    fn words_are_kept_whole_where_they_can_be() {
        assert_eq!(cut_words("blocks of 16 tokens", 19, "…"), "blocks of 16 tokens");
        assert_eq!(cut_words("blocks of 1600 tokens", 13, "…"), "blocks of …");
        assert_eq!(cut_words("incomprehensible", 8, "…"), "incompr…");
        assert_eq!(cut_names("to w1  logit 157.233  cached 0", 19, "…"), "to w1  logit …");
        assert_eq!(
            cut_names("to w1  logit 157.233  cached 0", 25, "…"),
            "to w1  logit 157.233  ca…"
        );
        assert_eq!(cut_names("13 blocks, all unknown", 19, "…"), "13 blocks, all unk…");
        assert_eq!(cut_names("live: worker-0-x7k2p", 12, "…"), "live: worke…");
        assert_eq!(cut_names("1393.123", 6, "…"), "…");
        for columns in 0..20 {
            let text = "日本語 ワーカー é a-long-word-without-a-break 12";
            assert!(width(&cut_words(text, columns, "...")) <= columns);
            assert!(width(&cut_names(text, columns, "...")) <= columns);
        }
    }

    #[test]
    fn no_number_is_wider_than_its_column() {
        for value in [0.0, 0.04, 0.5, 9.94, 9.96, 123.4, 9_999.4, 9_999.9, 123_456.0, 1e9, 1e19] {
            assert!(width(&short(value)) <= 6, "{value} is {}", short(value));
        }
        for value in [0, 9, 999, 99_999, 100_000, 999_499, 999_999, 12_345_678, u64::MAX] {
            assert!(width(&count(value)) <= 6, "{value} is {}", count(value));
        }
        assert_eq!(short(f64::NAN), "?");
        assert_eq!(percent(0.996), "99.6");
        assert_eq!(thousands(1_104), "1,104");
        assert_eq!(count(123_456), "123k");
        assert_eq!([brief(999), brief(1_204), brief(41_234)], ["999", "1.2k", "41.2k"]);
    }

    #[test]
    fn times_are_short() {
        assert_eq!(clock_millis(Timestamp(52_742_114_000)), "14:39:02.114");
        assert_eq!(age(Duration::from_secs(1)), "now");
        assert_eq!(age(Duration::from_secs(240)), "4m");
        assert_eq!(span(Duration::from_secs(460)), "7m40s");
        assert_eq!(latency(Duration::from_micros(800)), "0.8ms");
    }
}
