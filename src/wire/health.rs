//! States of sources, as JSON in `health` frames.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::text::printable;
use crate::domain::{
    HistoryNote, Peers, SourceName, SourceNote, SourceState, StreamLedger, Timestamp, Trouble,
    UNREACHED_LISTED, Unreached,
};

/// Longest reason and longest name that are kept.
const TEXT_LIMIT: usize = 1000;

/// Most kinds of trouble that are read of one note.
const LISTED: usize = 16;

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
    /// Absent in recordings of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    troubles: Option<Vec<WireTrouble>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unreached: Vec<WireUnreached>,
}

#[derive(Serialize, Deserialize)]
struct WireTrouble {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct WireUnreached {
    address: String,
    why: String,
    from: String,
}

/// Every kind of trouble with its name in recordings, but those that belong to a namespace.
const TROUBLES: [(&str, Trouble); 10] = [
    ("logged_out", Trouble::LoggedOut),
    ("certificate", Trouble::Certificate),
    ("pods_hidden", Trouble::PodsHidden),
    ("not_installed", Trouble::NotInstalled),
    ("partly_unanswered", Trouble::PartlyUnanswered),
    ("no_deployment", Trouble::NoDeployment),
    ("may_not_subscribe", Trouble::MayNotSubscribe),
    ("may_not_read", Trouble::MayNotRead),
    ("no_address", Trouble::NoAddress),
    ("unspecified", Trouble::Unspecified),
];

/// The names in recordings of the kinds that belong to a namespace.
const MAY_NOT_FORWARD: &str = "may_not_forward";
const MAY_NOT_FIND_PODS: &str = "may_not_find_pods";
const NO_PERMISSION: &str = "no_permission";

impl WireTrouble {
    fn from_trouble(trouble: &Trouble) -> Self {
        let (kind, namespace) = match trouble {
            Trouble::MayNotForward { namespace } => (MAY_NOT_FORWARD, namespace.as_deref()),
            Trouble::MayNotFindPods { namespace } => (MAY_NOT_FIND_PODS, namespace.as_deref()),
            Trouble::NoPermission { namespace } => (NO_PERMISSION, namespace.as_deref()),
            other => {
                let found = TROUBLES.iter().find(|(_, known)| known == other);
                (found.map_or("unspecified", |(name, _)| name), None)
            }
        };
        Self { kind: kind.to_owned(), namespace: namespace.map(str::to_owned) }
    }

    /// Returns the kind; one of a later version is unspecified.
    fn into_trouble(self) -> Trouble {
        let namespace = self.namespace.map(|name| printable(&name, TEXT_LIMIT).into());
        match self.kind.as_str() {
            MAY_NOT_FORWARD => return Trouble::MayNotForward { namespace },
            MAY_NOT_FIND_PODS => return Trouble::MayNotFindPods { namespace },
            NO_PERMISSION => return Trouble::NoPermission { namespace },
            _ => {}
        }
        let found = TROUBLES.iter().find(|(name, _)| *name == self.kind);
        found.map_or(Trouble::Unspecified, |(_, trouble)| trouble.clone())
    }
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
    keeps_ms: Option<u64>,
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

impl WireUnreached {
    fn from_note(unreached: &Unreached) -> Self {
        Self {
            address: unreached.address.to_string(),
            why: unreached.why.to_string(),
            from: unreached.from.to_string(),
        }
    }

    fn into_note(self) -> Unreached {
        Unreached {
            address: printable(&self.address, TEXT_LIMIT).into(),
            why: printable(&self.why, TEXT_LIMIT).into(),
            from: printable(&self.from, TEXT_LIMIT).into(),
        }
    }
}

/// Returns the logs that are followed, from a recording of a version that wrote their counts only in words.
fn logs_in_words(source: &SourceName, why: &str) -> Option<Peers> {
    let words = why.split_once(" logs followed").filter(|_| *source == SourceName::Logs)?.0;
    let (reached, wanted) = words.split_once(" of ")?;
    Some(Peers { wanted: wanted.parse().ok()?, reached: reached.parse().ok()? })
}

/// Returns the kinds of trouble of a note. A recording without the key says so in words only.
fn troubles(recorded: Option<Vec<WireTrouble>>, why: &str) -> Vec<Trouble> {
    match recorded {
        Some(known) => known.into_iter().take(LISTED).map(WireTrouble::into_trouble).collect(),
        None if why.is_empty() => Vec::new(),
        None => vec![Trouble::Unspecified],
    }
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
            keeps_ms: history
                .keeps
                .map(|keeps| u64::try_from(keeps.as_millis()).unwrap_or(u64::MAX)),
            ledger: history.ledger.map(counts),
        }),
        peers: note.peers.map(|Peers { wanted, reached }| WirePeers { wanted, reached }),
        troubles: Some(note.troubles.iter().map(WireTrouble::from_trouble).collect()),
        unreached: note.unreached.iter().map(WireUnreached::from_note).collect(),
    };
    serde_json::to_vec(&wire).unwrap_or_default().into()
}

/// Reads the body of a `health` frame of `source` that was made at `at`.
pub fn decode(source: &SourceName, at: Timestamp, body: &[u8]) -> Result<SourceNote, String> {
    let wire: Wire = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let state = SourceState::ALL
        .into_iter()
        .find(|state| state.name() == wire.state)
        .ok_or_else(|| format!("unknown state `{}`", printable(&wire.state, 20)))?;
    Ok(SourceNote {
        source: source.clone(),
        state,
        troubles: troubles(wire.troubles, &wire.why),
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
            keeps: history.keeps_ms.map(Duration::from_millis),
            ledger: history.ledger.as_ref().map(ledger),
        }),
        peers: wire
            .peers
            .map(|WirePeers { wanted, reached }| Peers { wanted, reached })
            .or_else(|| logs_in_words(source, &wire.why)),
        unreached: wire
            .unreached
            .into_iter()
            .take(UNREACHED_LISTED)
            .map(WireUnreached::into_note)
            .collect(),
        at,
    })
}
