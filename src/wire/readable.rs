//! Bodies of frames as lines that people can read.

use std::fmt::Write as _;

use serde_json::Value;

use super::text::printable;

/// Most lines.
const LINES: usize = 500;
/// Longest line.
const LINE: usize = 1000;
/// Bytes in a line of a dump, so that a line takes 56 columns.
const ROW: usize = 12;

/// Returns `body` as it would be written by hand: JSON indented, text as it is, anything else as a dump
/// of its bytes. Without control characters, and a bounded number of lines.
pub fn readable(body: &[u8]) -> Vec<String> {
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_slice(body)
        && let Ok(pretty) = serde_json::to_string_pretty(&value)
    {
        return lines(&pretty);
    }
    match std::str::from_utf8(body) {
        Ok(text) if !text.contains('\0') => lines(text),
        _ => body.chunks(ROW).take(LINES).enumerate().map(|(at, row)| dump(at, row)).collect(),
    }
}

fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        text.lines().take(LINES).map(|line| printable(line, LINE).into_owned()).collect();
    let more = text.lines().count().saturating_sub(lines.len());
    if more > 0 {
        lines.push(format!("and {more} lines more"));
    }
    lines
}

/// Returns a row of a dump: where it is, its bytes, and those that are letters.
fn dump(at: usize, row: &[u8]) -> String {
    let mut line = format!("{:04x} ", at * ROW);
    for at in 0..ROW {
        // Writing to a string cannot fail.
        let written = match row.get(at) {
            Some(byte) => write!(line, " {byte:02x}"),
            None => write!(line, "   "),
        };
        debug_assert!(written.is_ok());
    }
    line.push_str("  ");
    let letter = |byte: &u8| if (0x20..0x7F).contains(byte) { char::from(*byte) } else { '.' };
    line.extend(row.iter().map(letter));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_large_numbers_stay_whole() {
        let found = readable(br#"{"worker_id":690636218412154911,"event":[null]}"#);
        let line = found.iter().find(|line| line.contains("worker_id")).unwrap();
        assert!(line.starts_with("  \"worker_id\": 690636218412154911"), "{found:?}");
    }

    #[test]
    fn what_is_no_text_is_dumped_and_nothing_moves_the_cursor() {
        assert_eq!(
            readable(b"\x93\xa3abc\x00\xff"),
            ["0000  93 a3 61 62 63 00 ff                 ..abc.."]
        );
        assert_eq!(readable(b"a\x1b[31mb\nc"), ["ab", "c"]);
        assert_eq!(readable(&vec![0; 100_000]).len(), LINES);
    }
}
