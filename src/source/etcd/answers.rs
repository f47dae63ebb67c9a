//! Answers of etcd: keys with their values, and the lines of a watch. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::Value;

use crate::domain::{Reason, Trouble};
use crate::source::notes::shortened;

/// Largest answer, and largest line of a watch. etcd takes values of 1.5 MiB unless told otherwise.
pub(super) const LARGEST: usize = 32 << 20;

/// A key and its value.
#[derive(Debug, Deserialize)]
pub(super) struct Pair {
    pub(super) key: String,
    #[serde(default)]
    pub(super) value: String,
}

impl Pair {
    /// Returns the key, none when it is no text.
    pub(super) fn key(&self) -> Option<String> {
        String::from_utf8(STANDARD.decode(&self.key).ok()?).ok()
    }

    pub(super) fn value(&self) -> Option<Bytes> {
        STANDARD.decode(&self.value).ok().map(Bytes::from)
    }
}

#[derive(Debug, Deserialize)]
struct Watched {
    result: Option<WatchResult>,
    error: Option<Value>,
}

/// Events of a watch.
#[derive(Debug, Deserialize)]
pub(super) struct WatchResult {
    #[serde(default)]
    pub(super) events: Vec<WatchEvent>,
    #[serde(default)]
    pub(super) canceled: bool,
    #[serde(default)]
    pub(super) cancel_reason: String,
    /// Set when what was asked for is no longer kept.
    #[serde(default)]
    pub(super) compact_revision: Option<String>,
}

/// One change.
#[derive(Debug, Deserialize)]
pub(super) struct WatchEvent {
    /// `DELETE`, or nothing.
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    pub(super) kv: Pair,
}

/// The answers of a watch, one a line, taken off the bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: BytesMut,
    /// Bytes at the start of the buffer that hold no newline.
    searched: usize,
}

impl Lines {
    /// Adds bytes that came.
    pub(super) fn push(&mut self, data: &[u8]) {
        self.buffer.extend_from_slice(data);
    }

    /// Returns the next answer, none while a part of it is missing.
    pub(super) fn next(&mut self) -> Result<Option<WatchResult>, Reason> {
        let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            if self.searched > LARGEST {
                return Err(
                    format!("the watch said more than {} MiB at once", LARGEST >> 20).into()
                );
            }
            return Ok(None);
        };
        let line = self.buffer.split_to(self.searched + end);
        self.buffer.advance(1);
        self.searched = 0;
        let watched: Watched = serde_json::from_slice(&line)
            .map_err(|_| Reason::from("the watch sent a line that is not etcd's"))?;
        if let Some(error) = watched.error {
            let said = error["message"].as_str().or_else(|| error.as_str());
            return Err(refusal(said.unwrap_or("an error without words")));
        }
        watched.result.map(Some).ok_or_else(|| "the watch sent an empty answer".into())
    }
}

/// Returns an error of etcd, with the remedy where a right is missing.
pub(super) fn refusal(said: &str) -> Reason {
    let said = shortened(said.trim_start_matches("etcdserver: "));
    if said.contains("permission denied") || said.contains("user name is empty") {
        let text = format!(
            "etcd says: {said}; kvtop needs a user (--etcd-user, --etcd-password-file) with the \
             right to read the keys from `v1/` to `v10`"
        );
        return Reason::new(Trouble::MayNotRead, text);
    }
    format!("etcd says: {said}").into()
}

/// Reads a watch that comes `step` bytes at a time. Returns the keys and values that it told and its end, for
/// tests/fuzz.
pub(in crate::source) fn read_in_steps(bytes: &[u8], step: usize) -> (Vec<String>, Option<String>) {
    let (mut lines, mut told) = (Lines::default(), Vec::new());
    for chunk in bytes.chunks(step.max(1)) {
        lines.push(chunk);
        loop {
            match lines.next() {
                Ok(Some(result)) => {
                    let pairs = result.events.iter().map(|it| (it.kv.key(), it.kv.value()));
                    told.extend(pairs.map(|pair| format!("{pair:?}")));
                }
                Ok(None) => break,
                Err(why) => return (told, Some(why.to_string())),
            }
        }
    }
    (told, None)
}
