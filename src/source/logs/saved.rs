//! Logs that somebody saved, as `kubectl logs` prints them: bytes to frames.
//!
//! Knows the prefixes that kubectl adds, and where a line has its time; what a line says is not its
//! business. What is held is bounded, whatever the size of the log.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;

use super::lines::{Splitter, Stamped};
use super::text::{LogText, Sieve};
use crate::domain::Timestamp;
use crate::frame::{Frame, Origin};

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Lines looked at for a first time: engines print banners before their first stamped line.
const AHEAD: usize = 1000;

/// Escape characters, digits and letters before a time or within it, at most.
const STAMP: usize = 80;

/// Longest name of a pod that is taken from a line (RFC 1123).
const LONGEST_NAME: usize = 253;

/// First bytes of files that are not text: gzip and zstd.
pub(super) const PACKED: [&[u8]; 2] = [&[0x1F, 0x8B], &[0x28, 0xB5, 0x2F, 0xFD]];

/// A saved log that is being read, line by line.
pub struct SavedLog {
    input: Box<dyn Read>,
    /// The pod of lines that do not name theirs.
    name: Arc<str>,
    /// The time of reading; no line is younger.
    read_at: Timestamp,
    splitter: Splitter,
    sieve: Sieve,
    lines: VecDeque<Bytes>,
    begun: bool,
    ended: bool,
    /// The time of the last line that had one.
    last: Option<Timestamp>,
    /// The pod of the last line.
    origin: Option<Origin>,
}

impl SavedLog {
    /// Returns the log in `input`, of the process `name`, which is read at `read_at`; of each line, `text` is
    /// kept.
    pub fn new(name: &str, input: impl Read + 'static, read_at: Timestamp, text: LogText) -> Self {
        Self {
            input: Box::new(input),
            name: name.into(),
            read_at,
            splitter: Splitter::default(),
            sieve: Sieve::new(text),
            lines: VecDeque::new(),
            begun: false,
            ended: false,
            last: None,
            origin: None,
        }
    }

    /// Returns the next line; none at the end. Times never go back.
    ///
    /// # Errors
    ///
    /// Fails as the input does, and with `InvalidData` for files that are not logs: recordings, compressed files.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        if !self.begun {
            self.begin()?;
        }
        while self.lines.is_empty() && !self.ended {
            self.fill(false)?;
        }
        Ok(self.lines.pop_front().map(|line| self.frame(&line)))
    }

    /// Reads as far as the first line that has a time: those before it were written about then.
    fn begin(&mut self) -> io::Result<()> {
        self.begun = true;
        let mut looked = 0;
        while self.last.is_none() && looked < AHEAD && !self.ended {
            self.fill(looked == 0)?;
            let mut fresh = self.lines.iter().skip(looked).take(AHEAD - looked);
            self.last = fresh.find_map(|line| Taken::apart(line).time);
            looked = self.lines.len();
        }
        self.last = self.last.map(|time| time.min(self.read_at));
        match self.lines.front() {
            Some(first) if first.starts_with(b"{\"kvtop_frames\"") => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is a recording; --replay plays it",
            )),
            _ => Ok(()),
        }
    }

    fn fill(&mut self, first: bool) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let count = loop {
            match self.input.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        chunk.truncate(count);
        if first && PACKED.iter().any(|magic| chunk.starts_with(magic)) {
            let why = "it is compressed; decompress it first (zcat FILE | kvtop check --logs -)";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        if count == 0 {
            self.ended = true;
            self.lines.extend(self.splitter.finish());
        } else {
            self.lines.extend(self.splitter.push(&chunk.into()));
        }
        Ok(())
    }

    fn frame(&mut self, line: &Bytes) -> Frame {
        let taken = Taken::apart(line);
        let time = taken.time.map(|time| time.min(self.read_at));
        let at = time.max(self.last).unwrap_or(self.read_at);
        self.last = time.max(self.last);
        let text = self.sieve.kept(&taken.text);
        let origin = Taken::origin(taken.of, &self.name, &mut self.origin);
        Frame { time, ..Frame::new(at, origin, text) }
    }
}

/// A line without what kubectl put before it.
pub(super) struct Taken<'a> {
    /// Pod and container.
    pub(super) of: Option<(&'a str, &'a str)>,
    pub(super) time: Option<Timestamp>,
    pub(super) text: Bytes,
}

impl<'a> Taken<'a> {
    pub(super) fn apart(line: &'a Bytes) -> Self {
        let (of, length) = prefix(line).map_or((None, 0), |(of, length)| (Some(of), length));
        let line = line.slice(length..);
        let stamped = Stamped::read(&line);
        // The time of the container stays where it was; what stands before it is the kubelet's.
        let own = own_time(&stamped.text);
        let twice = stamped.time.is_some() && (own.is_some() || stamped.text.starts_with(b"{"));
        let time = stamped.time.and_then(microseconds).or(own);
        Self { of, time, text: if twice { stamped.text } else { line } }
    }

    /// Returns the origin of a line of the pod and container `of`, or else of the process `name`. `last` is
    /// that of the line before, which most lines share.
    pub(super) fn origin(
        of: Option<(&str, &str)>,
        name: &str,
        last: &mut Option<Origin>,
    ) -> Origin {
        let (of_pod, of_container) = of.unwrap_or((name, "main"));
        let same = |origin: &&Origin| {
            matches!(origin, Origin::Log { pod, container, .. }
                if pod.as_ref() == of_pod && container.as_ref() == of_container)
        };
        if let Some(known) = last.as_ref().filter(same) {
            return known.clone();
        }
        let (pod, container) = (of_pod.into(), of_container.into());
        let origin = Origin::Log { namespace: "".into(), pod, container };
        *last = Some(origin.clone());
        origin
    }
}

/// Returns pod and container of the prefix that `kubectl logs --prefix` writes, and its length.
fn prefix(line: &[u8]) -> Option<((&str, &str), usize)> {
    const MARK: &[u8] = b"[pod/";
    let rest = line.strip_prefix(MARK)?;
    let end = rest.iter().take(2 * LONGEST_NAME).position(|byte| *byte == b']')?;
    let named = std::str::from_utf8(&rest[..end]).ok()?;
    let (pod, container) = named.split_once('/')?;
    let plain = |name: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(allowed)
    };
    let length = MARK.len() + end + 1;
    let blank = usize::from(line.get(length) == Some(&b' '));
    (plain(pod) && plain(container)).then_some(((pod, container), length + blank))
}

/// Returns the time that the container itself wrote: at the start of a line, in colour or not, or in a
/// line of JSON.
fn own_time(line: &[u8]) -> Option<Timestamp> {
    const KEY: &[u8] = b"\"time\":\"";
    let stamp = if line.starts_with(b"{") {
        let start = line.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
        &line[start..]
    } else {
        colourless(line)
    };
    let end = stamp.iter().take(STAMP).position(|byte| b" \"\x1B".contains(byte));
    let text = std::str::from_utf8(&stamp[..end.unwrap_or(stamp.len().min(STAMP))]).ok()?;
    text.parse().ok().and_then(microseconds)
}

/// Returns `line` without the colours it begins with.
fn colourless(mut line: &[u8]) -> &[u8] {
    while let Some(rest) = line.strip_prefix(b"\x1B[") {
        match rest.iter().take(STAMP).position(u8::is_ascii_alphabetic) {
            Some(end) => line = &rest[end + 1..],
            None => break,
        }
    }
    line
}

fn microseconds(time: jiff::Timestamp) -> Option<Timestamp> {
    u64::try_from(time.as_microsecond()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Body;

    const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

    fn read(log: &'static str) -> Vec<(u64, String, String)> {
        let mut saved = SavedLog::new("frontend", log.as_bytes(), NOW, LogText::Whole);
        let mut lines = Vec::new();
        while let Some(frame) = saved.next_frame().unwrap() {
            let (Origin::Log { pod, .. }, Body::Whole(text)) = (&frame.origin, &frame.body) else {
                panic!("{frame:?}")
            };
            let text = String::from_utf8_lossy(text).into_owned();
            lines.push((frame.at.0, pod.to_string(), text));
        }
        lines
    }

    #[test]
    fn the_times_of_kubelet_and_container_are_found_in_every_form() {
        let at = 1_771_252_733_950_961;
        let table = [
            "2026-02-16T14:38:53.950961Z  INFO x",
            "2026-02-16T14:38:53.950961123Z 2026-02-16T14:38:53.950950Z  INFO x",
            "\u{1b}[2m2026-02-16T14:38:53.950961Z\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m x",
            "{\"time\":\"2026-02-16T14:38:53.950961Z\",\"level\":\"INFO\",\"message\":\"x\"}",
            "2026-02-16T14:38:53.950961123Z {\"message\":\"x\"}",
            "[pod/gtc-demo-0-frontend-rmjwp/main] 2026-02-16T14:38:53.950961Z  INFO x",
        ];
        for text in table {
            let taken = Taken::apart(&Bytes::from_static(text.as_bytes())).time;
            assert_eq!(taken, Some(Timestamp(at)), "{text}");
        }
        assert_eq!(read(table[1])[0].2, "2026-02-16T14:38:53.950950Z  INFO x");
        assert_eq!(read(table[4])[0].2, "{\"message\":\"x\"}");
        let (_, pod, text) = &read(table[5])[0];
        assert_eq!((pod.as_str(), &text[..4]), ("gtc-demo-0-frontend-rmjwp", "2026"));
    }

    #[test]
    fn lines_without_time_have_that_of_their_neighbours_and_no_line_goes_back() {
        let first = 1_771_252_733_000_000;
        let lines = read(
            "a banner\n2026-02-16T14:38:53Z one\nTraceback\r\n2026-02-16T14:38:51Z late\n\
             9000-01-01T00:00:00Z far",
        );

        let times: Vec<u64> = lines.iter().map(|(at, ..)| *at).collect();
        assert_eq!(times, [first, first, first, first, NOW.0]);
        assert_eq!(lines[2].2, "Traceback");
        assert_eq!(read("no time at all\n")[0].0, NOW.0);
        assert_eq!(read(""), []);
    }

    #[test]
    fn brackets_that_are_no_prefix_stay_in_the_line() {
        for text in ["[pod/x] y", "[pod/a b/c] y", "[pod/", "[pod//main] y", "[1,0]<stdout>: x"] {
            let line = &read(text)[0];
            assert_eq!((line.1.as_str(), line.2.as_str()), ("frontend", text));
        }
    }

    #[test]
    fn a_prompt_within_a_line_is_cut() {
        let line = &read("2026-02-16T14:38:53Z got prompt=\"my secret question\" x")[0];
        assert!(!line.2.contains("question"), "{line:?}");
    }

    #[test]
    fn what_is_no_log_is_refused_with_what_to_do() {
        for (bytes, hint) in [
            (&b"{\"kvtop_frames\":1}\n"[..], "--replay"),
            (&b"\x1F\x8B\x08\x00"[..], "zcat"),
            (&b"\x28\xB5\x2F\xFD"[..], "decompress"),
        ] {
            let error = SavedLog::new("x", bytes, NOW, LogText::Whole).next_frame().unwrap_err();
            assert!(error.to_string().contains(hint), "{error}");
        }
    }
}
