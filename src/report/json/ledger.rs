//! The ledger in the JSON contract.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::domain::{RankLedger, StreamLedger};
use crate::report::rfc3339;
use crate::snapshot::{Hole, StreamRow};

/// The fates of the messages of each stream.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ledger<'a> {
    streams: Vec<Stream<'a>>,
    hole: Option<Missing<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Stream<'a> {
    name: &'a str,
    #[serde(flatten)]
    #[schemars(with = "std::collections::BTreeMap<String, u64>")]
    counts: Counts,
    unseen: u64,
}

/// The counts of a stream, each under its name.
struct Counts(StreamLedger);

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.counts())
    }
}

/// KV events that did not reach kvtop, and forbid `OK`.
#[derive(Serialize, JsonSchema)]
struct Missing<'a> {
    messages: Option<u64>,
    last: String,
    lacking: &'a [Arc<str>],
    unsure: &'a [Arc<str>],
    refilling: bool,
    until: String,
}

/// The fates of a rank's messages, by its publisher's numbers.
#[derive(Serialize, JsonSchema)]
pub(super) struct Rank {
    published: u64,
    received: u64,
    missing: u64,
    reordered: u64,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(ledger: &'a crate::snapshot::Ledger) -> Self {
        let missing = |hole: &'a Hole| Missing {
            messages: Some(hole.messages).filter(|count| *count > 0),
            last: rfc3339(hole.last),
            lacking: &hole.lacking,
            unsure: &hole.unsure,
            refilling: hole.refilling,
            until: rfc3339(hole.until),
        };
        Self {
            streams: ledger.streams.iter().map(Stream::new).collect(),
            hole: ledger.hole.as_ref().map(missing),
        }
    }
}

impl<'a> Stream<'a> {
    fn new(row: &'a StreamRow) -> Self {
        Self { name: &row.name, counts: Counts(row.counts), unseen: row.unseen }
    }
}

impl Rank {
    /// Returns the ledger of a rank; none for one whose messages bear no numbers.
    pub(super) fn new(ledger: &RankLedger) -> Option<Self> {
        (ledger.received > 0).then(|| Self {
            published: ledger.published(),
            received: ledger.received,
            missing: ledger.missing,
            reordered: ledger.reordered,
        })
    }
}
