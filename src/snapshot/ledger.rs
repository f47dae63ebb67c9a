//! What became of the messages that streams numbered.

use crate::domain::{StreamLedger, Timestamp, thousands};

/// The ledger of all streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Each stream of KV events, by name.
    pub streams: Vec<StreamRow>,
    /// What is missing, where that is so recent that verdicts rest on it.
    pub hole: Option<Hole>,
}

/// One stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRow {
    /// Its name.
    pub name: String,
    /// What its source counted.
    pub counts: StreamLedger,
    /// Messages that its source passed on and that never came here.
    pub unseen: u64,
}

/// KV events that did not reach kvtop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hole {
    /// How many, as far as they were counted; 0 where nobody could count them.
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
