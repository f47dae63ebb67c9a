//! Metrics of kvtop's own sources: what it read, and what it lost.

use super::page::{Labels, Page, counter, gauge};
use crate::domain::SourceState;
use crate::snapshot::{Snapshot, SourceRow};

/// A number of a source.
type Number = fn(&SourceRow) -> u64;

/// Adds the metrics of sources and streams.
pub(super) fn put(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let up = gauge("kvtop_source_up", "1 while a source delivers");
    let counted: [(&str, &str, Number); 3] = [
        ("kvtop_source_frames_total", "Frames read from a source, history included", |row| {
            row.frames
        }),
        ("kvtop_source_dropped_total", "Frames that kvtop dropped", |row| row.dropped),
        ("kvtop_source_gaps_total", "Missing messages", |row| row.gaps),
    ];
    for row in &snapshot.sources {
        let labels = labels.with("source", row.name.to_string());
        let is_up = matches!(row.state, SourceState::Live | SourceState::Lossy);
        page.put(&up, &labels, is_up);
        for (name, help, value) in counted {
            page.put(&counter(name, help), &labels, value(row));
        }
    }
    streams(page, snapshot, labels);
}

/// Adds what became of the messages of each stream. Numbers of a stream begin before kvtop does, so they are gauges.
fn streams(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let messages =
        gauge("kvtop_stream_messages", "Messages of a stream, history included, by fate");
    for row in &snapshot.ledger.streams {
        let labels = labels.with("stream", row.name.clone());
        let counts = &row.counts;
        let fates = [
            ("published", counts.published),
            ("before", counts.before),
            ("received", counts.received),
            ("other", counts.other),
            ("aged_out", counts.aged_out),
            ("dropped", counts.dropped),
            ("refilled", counts.refilled),
            ("missing", counts.missing),
            ("unseen", row.unseen),
        ];
        for (fate, count) in fates {
            page.put(&messages, &labels.with("fate", fate), count);
        }
    }
}
