//! Headless outputs of a snapshot: JSON, tables, and one line a second.

pub mod check;
pub mod doctor;
pub mod json;
mod line;
pub mod lint;
mod table;

pub use line::{stat_header, stat_line};
pub use table::{csv, markdown, text};

use crate::domain::Timestamp;

/// Returns `at` in RFC 3339 with milliseconds, in UTC; empty for a time beyond the calendar.
pub fn rfc3339(at: Timestamp) -> String {
    i64::try_from(at.0)
        .ok()
        .and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok())
        .map(|time| format!("{time:.3}"))
        .unwrap_or_default()
}
