//! The fates of the messages of each stream.

use std::sync::Arc;

use crate::domain::{StreamLedger, Timestamp, thousands};

/// The ledger of all streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Each stream of KV events, by name.
    pub streams: Vec<StreamRow>,
    /// Recent losses, on which verdicts depend.
    pub hole: Option<Hole>,
}

/// One stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRow {
    /// Its name.
    pub name: String,
    /// The counts of its source.
    pub counts: StreamLedger,
    /// Messages that its source passed on and that never came here.
    pub unseen: u64,
}

/// KV events that did not reach kvtop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hole {
    /// The number, as far as it is known; 0 when the loss could not be counted.
    pub messages: u64,
    /// The time the last of them were found to be missing.
    pub last: Timestamp,
    /// Workers whose events are missing, by name.
    pub lacking: Vec<Arc<str>>,
    /// Workers whose next event will show whether events of theirs are missing, by name.
    pub unsure: Vec<Arc<str>>,
    /// True while the stream is read for them again.
    pub refilling: bool,
    /// From then on verdicts do not depend on them any more.
    pub until: Timestamp,
}

/// The largest number of workers that a sentence names.
const MOST_NAMED: usize = 3;

impl Hole {
    /// Returns what is missing, in words.
    pub fn sentence(&self) -> String {
        match self.messages {
            0 => "KV events did not reach kvtop".to_owned(),
            1 => "1 KV event did not reach kvtop".to_owned(),
            more => format!("{} KV events did not reach kvtop", thousands(more)),
        }
    }

    /// Returns what closes the hole, in words for `at`.
    pub fn awaited(&self, at: Timestamp) -> String {
        if self.refilling {
            return "kvtop is reading them from the stream".to_owned();
        }
        let mut ends = Vec::new();
        if !self.lacking.is_empty() {
            let verb =
                if self.lacking.len() == 1 { "restarts or clears" } else { "restart or clear" };
            let cache = if self.lacking.len() == 1 { "its cache" } else { "their caches" };
            ends.push(format!("{} {verb} {cache}", names(&self.lacking)));
        }
        if !self.unsure.is_empty() {
            let verb = if self.unsure.len() == 1 { "publishes" } else { "publish" };
            ends.push(format!("{} {verb} again", names(&self.unsure)));
        }
        let left = self.until.since(at).as_secs().div_ceil(60).max(1);
        if ends.is_empty() {
            return format!("verdicts ignore the loss in {left} min");
        }
        format!(
            "counts are right again after {}; verdicts ignore the loss in {left} min",
            ends.join(" and ")
        )
    }
}

/// Returns the first names, and how many more there are.
fn names(all: &[Arc<str>]) -> String {
    let first: Vec<&str> = all.iter().take(MOST_NAMED).map(AsRef::as_ref).collect();
    match all.len().saturating_sub(MOST_NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
