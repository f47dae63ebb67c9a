//! The time that graphs cover.

use std::time::Duration;

use crate::domain::Timestamp;
use crate::engine::Knowledge;
use crate::metrics::{RANK_WINDOW, Window};
use crate::model::RankRecord;
use crate::snapshot::ViewQuery;

/// Returns the window of a graph about everything.
pub(super) fn window(known: &Knowledge, query: &ViewQuery, at: Timestamp) -> Window {
    let since = known.times.first.unwrap_or(at);
    Window {
        now: query.until.map_or(at, |until| until.min(at)),
        since,
        length: query.window,
        points: query.points.clamp(1, 4096),
    }
}

/// Returns the window of a graph about one rank, whose history is shorter than that of the totals. It
/// begins when the rank is known to have been there: before that nothing is known of it.
pub(super) fn of_rank(
    known: &Knowledge,
    record: &RankRecord,
    query: &ViewQuery,
    at: Timestamp,
) -> Window {
    let window = window(known, query, at);
    let joined = known.fleet.workers.worker(record.rank.worker).and_then(|worker| worker.joined);
    let seen = joined.into_iter().chain(record.begun).min();
    Window {
        since: seen.map_or(window.since, |seen| seen.max(window.since)),
        length: length_of_rank(query),
        ..window
    }
}

/// Returns how much time such a graph covers.
pub(super) fn length_of_rank(query: &ViewQuery) -> Duration {
    query.window.min(RANK_WINDOW)
}
