//! The part of a log line that enters a frame.

use bytes::Bytes;

use crate::source::kube::redacted_line;
use crate::wire::{begins_log_entry, described_log_line, kept_of_log_line};

/// The part of a log line that enters a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogText {
    /// The parts that a decoder reads; of other lines level, target, length and a digest of the shape.
    #[default]
    Read,
    /// The whole line, redacted. Redaction knows names and shapes; it cannot know every prompt.
    Whole,
}

/// Takes out of the lines of one log what must not enter a frame.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    text: LogText,
    /// The last entry held a prompt. Its next lines are the rest of that prompt.
    within_prompt: bool,
}

impl Sieve {
    pub(super) fn new(text: LogText) -> Self {
        Self { text, within_prompt: false }
    }

    /// Returns what is kept of `line`.
    pub(super) fn kept(&mut self, line: &Bytes) -> Bytes {
        let text = String::from_utf8_lossy(line);
        // Redaction follows either way: a field that a decoder reads may hold anything too.
        let clean = match self.text {
            LogText::Read => {
                let kept = kept_of_log_line(&text);
                redacted_line(&kept).unwrap_or(kept)
            }
            LogText::Whole if self.within_prompt && !begins_log_entry(&text) => {
                described_log_line(&text)
            }
            LogText::Whole => {
                let clean = redacted_line(&text);
                self.within_prompt = clean.is_some();
                match clean {
                    Some(clean) => clean,
                    None => return line.clone(),
                }
            }
        };
        clean.into()
    }
}
