//! What sources report of themselves, as JSON in `health` frames.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::text::printable;
use crate::domain::{HistoryNote, Peers, SourceNote, SourceState, StreamLedger, Timestamp};

/// Longest reason and longest name that are kept.
const TEXT_LIMIT: usize = 1000;

/// The JSON of a note. Additive: readers ignore keys they do not know.
#[derive(Serialize, Deserialize)]
struct Wire {
    state: String,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rtt_us: Option<u64>,
    #[serde(default)]
    dropped: u64,
    #[serde(default)]
    drops_uncounted: u64,
    #[serde(default)]
    interruptions: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pending: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history: Option<WireHistory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peers: Option<WirePeers>,
}

#[derive(Serialize, Deserialize)]
struct WirePeers {
    wanted: u64,
    reached: u64,
}

#[derive(Serialize, Deserialize)]
struct WireHistory {
    stream: String,
    first_seq: u64,
    last_seq: u64,
    read: u64,
    complete: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ledger: Option<Map<String, Value>>,
}

/// Returns the counts of a ledger by name. Readers take what is missing for 0 and ignore other names.
fn counts(ledger: StreamLedger) -> Map<String, Value> {
    ledger.counts().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}

fn ledger(counts: &Map<String, Value>) -> StreamLedger {
    StreamLedger::from_counts(|name| counts.get(name).and_then(Value::as_u64).unwrap_or_default())
}

/// Returns the body of a `health` frame for `note`.
pub fn encode(note: &SourceNote) -> Bytes {
    let wire = Wire {
        state: note.state.name().to_owned(),
        why: note.why.to_string(),
        retry_ms: note.retry_ms,
        rtt_us: note.rtt_us,
        dropped: note.dropped,
        drops_uncounted: note.drops_uncounted,
        interruptions: note.interruptions,
        pending: note.pending,
        history: note.history.as_ref().map(|history| WireHistory {
            stream: history.stream.to_string(),
            first_seq: history.first_seq,
            last_seq: history.last_seq,
            read: history.read,
            complete: history.complete,
            ledger: history.ledger.map(counts),
        }),
        peers: note.peers.map(|Peers { wanted, reached }| WirePeers { wanted, reached }),
    };
    serde_json::to_vec(&wire).unwrap_or_default().into()
}

/// Reads the body of a `health` frame of `source` that was made at `at`.
pub fn decode(source: &Arc<str>, at: Timestamp, body: &[u8]) -> Result<SourceNote, String> {
    let wire: Wire = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let state = SourceState::ALL
        .into_iter()
        .find(|state| state.name() == wire.state)
        .ok_or_else(|| format!("unknown state `{}`", printable(&wire.state, 20)))?;
    Ok(SourceNote {
        source: Arc::clone(source),
        state,
        why: printable(&wire.why, TEXT_LIMIT).into(),
        retry_ms: wire.retry_ms,
        rtt_us: wire.rtt_us,
        dropped: wire.dropped,
        drops_uncounted: wire.drops_uncounted,
        interruptions: wire.interruptions,
        pending: wire.pending,
        history: wire.history.map(|history| HistoryNote {
            stream: printable(&history.stream, TEXT_LIMIT).into(),
            first_seq: history.first_seq,
            last_seq: history.last_seq,
            read: history.read,
            complete: history.complete,
            ledger: history.ledger.as_ref().map(ledger),
        }),
        peers: wire.peers.map(|WirePeers { wanted, reached }| Peers { wanted, reached }),
        at,
    })
}
