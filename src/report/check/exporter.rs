//! Metrics of a deployment that is watched: those of a check, counts of what was raised, and each worker
//! and source.

use std::collections::BTreeMap;

use super::metrics::{family, page, sample};
use crate::domain::{SourceState, Timestamp};
use crate::snapshot::{Knowledge, Snapshot, SourceRow, WorkerRow};

/// How often each finding was raised since the start.
#[derive(Clone, Debug, Default)]
pub struct Raises {
    /// By finding: the last time that was counted, and how many were.
    counted: BTreeMap<&'static str, (Timestamp, u64)>,
}

impl Raises {
    /// Counts what was raised since the picture before.
    pub fn note(&mut self, snapshot: &Snapshot) {
        for finding in &snapshot.findings {
            self.count(finding.id, finding.raised);
        }
    }

    fn count(&mut self, id: &'static str, raised: Timestamp) {
        let known = self.counted.entry(id).or_insert((Timestamp(0), 0));
        if known.1 == 0 || known.0 != raised {
            *known = (raised, known.1 + 1);
        }
    }

    fn of(&self, id: &str) -> u64 {
        self.counted.get(id).map_or(0, |(_, count)| *count)
    }
}

/// Returns the page that is scraped.
pub fn exporter(snapshot: &Snapshot, raises: &Raises) -> String {
    let mut text = page(snapshot, &|id| raises.of(id));
    workers(&mut text, snapshot);
    sources(&mut text, snapshot);
    streams(&mut text, snapshot);
    let seconds = snapshot.at.0 / 1_000_000;
    family(&mut text, "kvtop_picture_timestamp_seconds", "gauge", "Time of the computation");
    sample(&mut text, "kvtop_picture_timestamp_seconds", &[], seconds);
    text
}

/// A number of a worker; none where nobody reports it: a 0 would be read as a count.
type Value = fn(&WorkerRow, Heard) -> Option<f64>;

/// The sources that report on workers.
#[derive(Clone, Copy)]
struct Heard {
    /// KV events would be seen if there were any.
    events: bool,
    /// Routers tell what they routed.
    requests: bool,
}

/// Returns true when the blocks that a rank held before kvtop attached are known: before that, what looks refused
/// or unknown proves nothing.
fn is_known(row: &WorkerRow) -> bool {
    row.knowledge == Knowledge::Complete
}

/// Each metric of a worker: name, kind, meaning, value.
const WORKER: [(&str, &str, &str, Value); 15] = [
    ("accepted_blocks", "gauge", "Blocks as a router counts them", |row, heard| {
        count(row.accepted, heard.events)
    }),
    ("held_blocks", "gauge", "Blocks that the worker holds", |row, heard| {
        count(row.held, heard.events)
    }),
    ("stores_total", "counter", "Stored events", |row, heard| {
        count(row.counters.stores, heard.events)
    }),
    ("empty_stores_total", "counter", "Stored events without blocks", |row, heard| {
        count(row.counters.empty_stores, heard.events)
    }),
    (
        "refused_stores_total",
        "counter",
        "Stores rejected because the parent is unknown",
        |row, heard| count(row.counters.refused_stores, heard.events && is_known(row)),
    ),
    ("removed_blocks_total", "counter", "Removed hashes", |row, heard| {
        count(row.counters.removed_blocks, heard.events)
    }),
    ("unknown_removals_total", "counter", "Removed hashes not held", |row, heard| {
        count(row.counters.unknown_removals, heard.events && is_known(row))
    }),
    ("missing_events_total", "counter", "Missing events, from gaps in event ids", |row, heard| {
        count(row.missing, heard.events)
    }),
    ("numbered_events_total", "counter", "Events its publisher numbered", |row, heard| {
        count(row.ledger.published(), heard.events && row.ledger.received > 0)
    }),
    ("reordered_events_total", "counter", "Events that came after later ones", |row, heard| {
        count(row.ledger.reordered, heard.events && row.ledger.received > 0)
    }),
    ("requests_routed_total", "counter", "Requests routed to the worker", |row, heard| {
        count(row.routed, heard.requests)
    }),
    ("kv_utilization_ratio", "gauge", "KV cache in use, 0 to 1", |row, _| {
        row.kv_utilization.as_ref().map(|known| known.value)
    }),
    ("hit_ratio", "gauge", "Share of prompt tokens found in the cache", |row, _| {
        row.hit_rate.as_ref().map(|known| known.value)
    }),
    ("orphan_ratio", "gauge", "Share of stores rejected in the last minute", |row, _| {
        row.orphan_share.filter(|_| row.knowledge == Knowledge::Complete)
    }),
    ("last_event_timestamp_seconds", "gauge", "Time of the last KV event", |row, _| {
        row.last_event.map(|at| at.0 as f64 / 1e6)
    }),
];

fn count(value: u64, told: bool) -> Option<f64> {
    told.then_some(value as f64)
}

fn workers(text: &mut String, snapshot: &Snapshot) {
    let requests = snapshot.router.tells_of_requests();
    let heard = Heard { events: snapshot.hears_events(), requests };
    let rows: Vec<&WorkerRow> = snapshot.workers.iter().filter(|row| !row.gone).collect();
    for (name, kind, help, value) in WORKER {
        let name = format!("kvtop_worker_{name}");
        let mut begun = false;
        for row in &rows {
            let Some(value) = value(row, heard) else { continue };
            if !begun {
                family(text, &name, kind, help);
                begun = true;
            }
            let (id, rank) = (row.rank.worker.0.to_string(), row.rank.dp_rank.to_string());
            let pod = row.pod.as_deref().unwrap_or_default();
            let labels = [
                ("worker", row.alias.as_str()),
                ("worker_id", &id),
                ("dp_rank", &rank),
                ("pod", pod),
            ];
            sample(text, &name, &labels, value);
        }
    }
}

/// A number of a source.
type Number = fn(&SourceRow) -> u64;

fn sources(text: &mut String, snapshot: &Snapshot) {
    let up = |state| u64::from(matches!(state, SourceState::Live | SourceState::Lossy));
    let counted: [(&str, &str, Number); 3] = [
        ("kvtop_source_frames_total", "Frames of a source", |row| row.frames),
        ("kvtop_source_dropped_total", "Frames that kvtop dropped", |row| row.dropped),
        ("kvtop_source_gaps_total", "Missing messages", |row| row.gaps),
    ];
    family(text, "kvtop_source_up", "gauge", "1 while a source delivers");
    for row in &snapshot.sources {
        sample(text, "kvtop_source_up", &[("source", &row.name)], up(row.state));
    }
    for (name, help, value) in counted {
        family(text, name, "counter", help);
        for row in &snapshot.sources {
            sample(text, name, &[("source", &row.name)], value(row));
        }
    }
}

/// What became of the messages of each stream.
fn streams(text: &mut String, snapshot: &Snapshot) {
    let name = "kvtop_stream_messages_total";
    let rows = &snapshot.ledger.streams;
    if !rows.is_empty() {
        family(text, name, "counter", "Messages of a stream, by what became of them");
    }
    for row in rows {
        let counts = &row.counts;
        let fates = [
            ("published", counts.published),
            ("before", counts.before),
            ("received", counts.received),
            ("other", counts.other),
            ("aged_out", counts.aged_out),
            ("dropped", counts.dropped),
            ("refilled", counts.refilled),
            ("unseen", row.unseen),
        ];
        for (fate, count) in fates {
            sample(text, name, &[("stream", &row.name), ("fate", fate)], count);
        }
    }
    let name = "kvtop_stream_messages_missing";
    if !rows.is_empty() {
        family(text, name, "gauge", "Messages that did not come and are being read again");
    }
    for row in rows {
        sample(text, name, &[("stream", &row.name)], row.counts.missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raises_are_counted_once_each() {
        let mut raises = Raises::default();
        assert_eq!(raises.of("KVT001"), 0);
        raises.count("KVT001", Timestamp(5));
        raises.count("KVT001", Timestamp(5));
        assert_eq!(raises.of("KVT001"), 1);
        raises.count("KVT001", Timestamp(9));
        assert_eq!(raises.of("KVT001"), 2);
        assert_eq!(raises.of("KVT002"), 0);
    }
}
