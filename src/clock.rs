//! The only reader of the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::domain::Timestamp;

/// Returns the wall clock's time.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
