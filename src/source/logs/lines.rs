//! Bytes of a log to lines, and a line to the kubelet's time and the container's text. Pure.

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;

/// Longest line that is passed on; a line of Dynamo's log has a few hundred bytes. The kubelet joins
/// what the container runtime cut at 16 KiB, so lines may be of any length.
pub(super) const LONGEST_LINE: usize = 64 << 10;

/// Cuts what arrives into lines. Keeps at most one line of [`LONGEST_LINE`] bytes.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    rest: BytesMut,
    /// The rest of a line that is too long is passed over.
    skipping: bool,
}

impl Splitter {
    /// Returns the lines that `chunk` completes, without their line ends.
    pub(super) fn push(&mut self, chunk: &Bytes) -> Vec<Bytes> {
        let mut lines = Vec::new();
        let mut from = 0;
        while let Some(length) = memchr(&chunk[from..]) {
            let piece = chunk.slice(from..from + length);
            from += length + 1;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if self.rest.is_empty() {
                lines.push(ended(cut(piece)));
            } else {
                self.keep(&piece);
                lines.push(ended(self.rest.split().freeze()));
            }
        }
        let piece = chunk.slice(from..);
        if !self.skipping && !piece.is_empty() {
            self.keep(&piece);
            if self.rest.len() == LONGEST_LINE {
                lines.push(self.rest.split().freeze());
                self.skipping = true;
            }
        }
        lines
    }

    /// Returns the last line when it has no end.
    pub(super) fn finish(&mut self) -> Option<Bytes> {
        self.skipping = false;
        (!self.rest.is_empty()).then(|| ended(self.rest.split().freeze()))
    }

    fn keep(&mut self, piece: &Bytes) {
        let room = LONGEST_LINE - self.rest.len();
        self.rest.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

fn cut(mut line: Bytes) -> Bytes {
    line.truncate(LONGEST_LINE);
    line
}

fn ended(mut line: Bytes) -> Bytes {
    if line.ends_with(b"\r") {
        line.truncate(line.len() - 1);
    }
    line
}

/// A line with the time at which the container runtime wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    /// None when the line does not start with a time.
    pub(super) time: Option<Timestamp>,
    /// The container's text.
    pub(super) text: Bytes,
}

impl Stamped {
    /// Returns `line` taken apart.
    pub(super) fn read(line: &Bytes) -> Self {
        let end = line.iter().take(40).position(|byte| *byte == b' ').unwrap_or(line.len());
        let time = std::str::from_utf8(&line[..end.min(40)])
            .ok()
            .and_then(|text| text.parse::<Timestamp>().ok());
        match time {
            Some(time) => Self { time: Some(time), text: line.slice((end + 1).min(line.len())..) },
            None => Self { time: None, text: line.clone() },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_time_of_the_kubelet_is_taken_off_and_that_of_the_container_stays() {
        let line = Bytes::from_static(
            b"2026-11-21T00:22:26.780386947Z 2026-11-21T00:22:26.780370Z  WARN text",
        );
        let stamped = Stamped::read(&line);
        assert_eq!(stamped.time.unwrap().as_nanosecond() % 1_000_000_000, 780_386_947);
        assert_eq!(stamped.text, "2026-11-21T00:22:26.780370Z  WARN text");
    }

    #[test]
    fn a_line_without_time_is_left_alone() {
        let table = ["", " ", "Traceback (most recent call last):", "2026-11-21", "\u{fffd}"];
        for text in table {
            let line = Bytes::copy_from_slice(text.as_bytes());
            assert_eq!(Stamped::read(&line), Stamped { time: None, text: line }, "{text}");
        }
    }

    #[test]
    fn an_empty_line_and_a_node_with_another_time_zone_are_read() {
        let empty = Stamped::read(&Bytes::from_static(b"2026-11-21T00:22:26.780386947Z "));
        assert_eq!(empty.text, "");
        let zoned = Stamped::read(&Bytes::from_static(b"2026-11-21T02:22:26.780386947+02:00 x"));
        assert_eq!(zoned.time, empty.time);
        assert_eq!(zoned.text, "x");
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() {
        let mut splitter = Splitter::default();
        let mut lines = Vec::new();
        for chunk in [vec![b'x'; LONGEST_LINE - 1], vec![b'y'; 100_000], b"z\nnext\n".to_vec()] {
            lines.extend(splitter.push(&chunk.into()));
        }
        let whole = [vec![b'a'; LONGEST_LINE + 9], b"\nlast".to_vec()].concat();
        lines.extend(splitter.push(&whole.into()));
        lines.extend(splitter.finish());
        let lengths: Vec<_> = lines.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [LONGEST_LINE, 4, LONGEST_LINE, 4]);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_bytes_arrive(
            text in "[a-c\r\n]{0,40}", cuts in prop::collection::vec(0..40_usize, 0..6),
        ) {
            let mut at: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let mut splitter = Splitter::default();
            let mut lines = Vec::new();
            for pair in at.windows(2) {
                lines.extend(splitter.push(&Bytes::copy_from_slice(&text.as_bytes()[pair[0]..pair[1]])));
            }
            lines.extend(splitter.finish());
            let mut expected: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
            if text.is_empty() || text.ends_with('\n') {
                expected.pop();
            }
            prop_assert_eq!(lines, expected);
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _stamped = Stamped::read(&bytes.into());
        }
    }
}
