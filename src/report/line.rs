//! Output of `kvtop stat`: one line per interval, like `vmstat`.

use super::rfc3339;
use crate::snapshot::Snapshot;

/// Returns the header over [`stat_line`]s.
pub fn stat_header() -> String {
    format!(
        "{:<8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>6} {:>8} {:>8} {:>8}",
        "time",
        "store/s",
        "remove/s",
        "orphan/s",
        "unkn/s",
        "cached",
        "held",
        "kv%",
        "route/s",
        "overlap%",
        "warn/min",
    )
}

/// Returns the figures of `snapshot` over the last ten seconds, in one line; warnings are those of the last
/// minute, or of the seen part of it.
pub fn stat_line(snapshot: &Snapshot) -> String {
    let rates = &snapshot.totals.rates.ten_seconds;
    let router = &snapshot.router;
    let unknown = || "-".to_owned();
    let of_events = |known: String| if snapshot.hears_events() { known } else { unknown() };
    let per_second = router.tells_of_requests_now().then_some(router.routed_per_second);
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let hits = (router.overlap_known > 0)
        .then(|| 1.0 - router.overlap_zero as f64 / router.overlap_known as f64);
    // A count, not a rate: a few seconds do not extrapolate to a minute.
    let warnings = router
        .log_parent_warnings
        .map(|_| router.recent_parent_warnings + router.recent_remove_warnings);
    format!(
        "{:<8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>6} {:>8} {:>8} {:>8}",
        rfc3339(snapshot.at).get(11..19).unwrap_or("--:--:--"),
        of_events(format!("{:.1}", rates.stores)),
        of_events(format!("{:.1}", rates.removals)),
        of_events(format!("{:.1}", rates.refused)),
        of_events(format!("{:.1}", rates.unknown_removals)),
        of_events(snapshot.totals.accepted.to_string()),
        of_events(snapshot.totals.held.to_string()),
        snapshot.totals.kv_utilization.map_or_else(unknown, percent),
        per_second.map_or_else(unknown, |rate| format!("{rate:.1}")),
        hits.map_or_else(unknown, percent),
        warnings.map_or_else(unknown, |count| count.to_string()),
    )
}
