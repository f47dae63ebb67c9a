//! Finds the background of the terminal: by `COLORFGBG`, else by asking it.
//!
//! The question is OSC 11, with the one for device attributes behind it, which every terminal answers:
//! once that answer is there, no other comes. The wait is bounded. An answer that is later still is
//! taken out of the keys by [`Late`].

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::time::Instant;

use crate::tui::theme::contrast;

/// The query to the terminal.
const QUESTION: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";
/// The longest wait for the answer: a slow line, and no longer than a person waits.
const WAIT: Duration = Duration::from_millis(500);
/// Longest answer that is read.
const LONGEST: usize = 256;

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// True for a light ground; none when nobody says.
    pub(super) light: Option<bool>,
    /// True when the terminal may answer yet.
    pub(super) late: bool,
}

/// Finds out whether the ground is light. The terminal must not be read by anybody else meanwhile.
pub(super) fn find(colorfgbg: &str) -> Found {
    if let Some(light) = contrast::is_light_by(colorfgbg) {
        return Found { light: Some(light), late: false };
    }
    // A terminal that cannot be asked has the usual ground.
    ask().unwrap_or(Found { light: None, late: false })
}

fn ask() -> io::Result<Found> {
    let mut tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    enable_raw_mode()?;
    let asked = tty.write_all(QUESTION).and_then(|()| answer(&mut tty));
    disable_raw_mode()?;
    asked
}

/// Reads until the terminal has answered both questions, or has had its time.
fn answer(tty: &mut File) -> io::Result<Found> {
    let start = Instant::now();
    let mut heard = Vec::new();
    while heard.len() < LONGEST {
        let left = WAIT.saturating_sub(start.elapsed());
        if left.is_zero() || !is_readable(tty, left)? {
            break;
        }
        let mut bytes = [0; 64];
        let count = tty.read(&mut bytes)?;
        heard.extend_from_slice(bytes.get(..count).unwrap_or_default());
        if count == 0 || has_attributes(&heard) {
            return Ok(Found { light: ground(&heard).map(contrast::is_light), late: false });
        }
    }
    Ok(Found { light: ground(&heard).map(contrast::is_light), late: true })
}

fn is_readable(tty: &File, within: Duration) -> io::Result<bool> {
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
    let mut fds = [PollFd::new(tty, PollFlags::IN)];
    poll(&mut fds, Some(&wait))?;
    // Where terminals cannot be polled, nothing is read rather than waited for.
    Ok(fds[0].revents().contains(PollFlags::IN))
}

/// Returns true once the attributes of the device are there: `CSI ? … c`.
fn has_attributes(heard: &[u8]) -> bool {
    let text = String::from_utf8_lossy(heard);
    text.split("\u{1b}[?").skip(1).any(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('c')
    })
}

/// Returns the colour in an answer: `OSC 11 ; rgb:rrrr/gggg/bbbb`, with one to four digits each.
fn ground(heard: &[u8]) -> Option<[u8; 3]> {
    let text = String::from_utf8_lossy(heard);
    let (_, rest) = text.split_once("]11;rgb:")?;
    let mut parts = rest.split(|c: char| !(c.is_ascii_hexdigit() || c == '/')).next()?.split('/');
    let mut colour = [0; 3];
    for value in &mut colour {
        let digits = parts.next().filter(|digits| (1..=4).contains(&digits.len()))?;
        let whole = u32::from_str_radix(digits, 16).ok()?;
        let most = 16_u32.pow(u32::try_from(digits.len()).ok()?) - 1;
        *value = u8::try_from(whole * 255 / most).ok()?;
    }
    Some(colour)
}

/// Takes an answer that came too late out of what looks like keys: from Alt-] to the end that the
/// terminal sends, or as many keys as an answer has at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Late {
    expected: bool,
    left: usize,
}

impl Late {
    pub(super) const fn new(expected: bool) -> Self {
        Self { expected, left: 0 }
    }

    /// Returns true when `key` is part of the answer and no key.
    pub(super) fn takes(&mut self, key: &KeyEvent) -> bool {
        if !self.expected {
            return false;
        }
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        if self.left == 0 {
            let begins = alt && key.code == KeyCode::Char(']');
            self.left = if begins { "11;rgb:ffff/ffff/ffff".len() + 1 } else { 0 };
            return begins;
        }
        self.left -= 1;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let ends =
            (alt && key.code == KeyCode::Char('\\')) || (control && key.code == KeyCode::Char('g'));
        if ends || self.left == 0 {
            *self = Self::default();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_terminals_are_read() {
        assert_eq!(ground(b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"), Some([255; 3]));
        assert_eq!(ground(b"x\x1b]11;rgb:28/2c/34\x07"), Some([0x28, 0x2c, 0x34]));
        assert_eq!(ground(b"\x1b]11;rgb:0/8/f\x07"), Some([0, 136, 255]));
        assert_eq!(ground(b"\x1b]11;rgb:12345/0/0\x07"), None);
        assert_eq!(ground(b"\x1b]11;?\x07"), None);
        assert!(has_attributes(b"\x1b]11;rgb:0/0/0\x07\x1b[?62;4c"));
        assert!(!has_attributes(b"\x1b]11;rgb:0/0/0\x07\x1b[?62;4"));
        assert!(!has_attributes(b"\x1b[?1;2hc"));
    }

    #[test]
    fn a_late_answer_is_no_keys_and_what_follows_is() {
        let mut late = Late::new(true);
        let key = |c: char, modifiers| KeyEvent::new(KeyCode::Char(c), modifiers);
        assert!(!late.takes(&key('q', KeyModifiers::NONE)));
        assert!(late.takes(&key(']', KeyModifiers::ALT)));
        for c in "11;rgb:1e1e/2e2e/3e3e".chars() {
            assert!(late.takes(&key(c, KeyModifiers::NONE)), "{c}");
        }
        assert!(late.takes(&key('\\', KeyModifiers::ALT)));
        assert!(!late.takes(&key('q', KeyModifiers::NONE)));
        assert!(!late.takes(&key(']', KeyModifiers::ALT)), "one answer, once");
    }

    #[test]
    fn an_answer_that_never_ends_takes_few_keys() {
        let mut late = Late::new(true);
        let key = |c: char, modifiers| KeyEvent::new(KeyCode::Char(c), modifiers);
        assert!(late.takes(&key(']', KeyModifiers::ALT)));
        let taken = (0..100).take_while(|_| late.takes(&key('1', KeyModifiers::NONE))).count();
        assert!(taken < 30, "{taken}");
    }
}
