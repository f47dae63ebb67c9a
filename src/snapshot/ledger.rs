//! The fates of the messages of each stream.

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hole {
    /// The number, as far as it is known; 0 when the loss could not be counted.
    pub messages: u64,
    /// When the last of them were found to be missing.
    pub last: Timestamp,
}

impl Hole {
    /// Returns what is missing, in words.
    pub fn sentence(self) -> String {
        match self.messages {
            0 => "KV events did not reach kvtop".to_owned(),
            1 => "1 KV event did not reach kvtop".to_owned(),
            more => format!("{} KV events did not reach kvtop", thousands(more)),
        }
    }
}
