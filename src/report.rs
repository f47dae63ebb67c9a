//! Headless outputs of a snapshot: JSON, tables, and one line a second.

pub mod check;
pub mod diff;
pub mod doctor;
pub mod incident;
pub mod json;
mod json_path;
mod line;
pub mod lint;
pub mod plan;
pub mod prometheus;
mod schema;
mod table;

pub use json_path::{BadPath, JsonPath};
pub use line::{stat_header, stat_line};
pub use schema::{Output, schema};
pub use table::{csv, markdown, text, wide};

use crate::domain::{SourceName, Timestamp, steers, thousands};
use crate::snapshot::Snapshot;

/// Returns `at` in RFC 3339 with milliseconds, in UTC; empty for a time beyond the calendar.
pub fn rfc3339(at: Timestamp) -> String {
    i64::try_from(at.0)
        .ok()
        .and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok())
        .map(|time| format!("{time:.3}"))
        .unwrap_or_default()
}

/// Describes the data that is still unread, without which counts are too low.
pub fn incomplete(snapshot: &Snapshot) -> Vec<String> {
    let behind = snapshot.catching_up.map(|behind| {
        format!(
            "read only {} of {} stored messages ({} %)",
            thousands(behind.read),
            thousands(behind.total),
            behind.percent()
        )
    });
    let pending = snapshot.sources.iter().filter(|row| row.pending);
    let pending = pending.map(|row| match row.name {
        SourceName::Logs => "the past of some logs has not been read yet".to_owned(),
        _ => format!("{} has not listed its streams yet", row.name),
    });
    behind.into_iter().chain(pending).collect()
}

/// Returns `text` without characters that a terminal would obey.
fn plain_text(text: &str) -> String {
    text.chars().filter(|letter| !steers(*letter)).collect()
}
