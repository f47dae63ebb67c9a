//! Metrics of what is wrong, in the text format of Prometheus.

use std::fmt::Write as _;

use super::{Status, active};
use crate::snapshot::{CheckVerdict, Knowledge, Snapshot};

/// Formats findings and figures as metrics.
pub fn prometheus(snapshot: &Snapshot) -> String {
    page(snapshot, &|id| u64::from(active(snapshot).any(|finding| finding.id == id)))
}

/// Returns the same with these counts of raised findings.
pub(super) fn page(snapshot: &Snapshot, raised: &dyn Fn(&str) -> u64) -> String {
    let mut page = String::new();
    let found = |id: &str| u8::from(active(snapshot).any(|finding| finding.id == id));
    status(&mut page, Status::of(snapshot));
    let name = "kv_router_block_size_mismatch_total";
    family(&mut page, name, "counter", "Block size mismatches found, by finding");
    for id in ["KVT001", "KVT002", "KVT016"] {
        sample(&mut page, name, &[("finding", id)], raised(id));
    }
    family(&mut page, "kvtop_finding", "gauge", "1 while the finding is active");
    for check in &snapshot.checks {
        let labels = [("finding", check.id), ("name", check.name)];
        sample(&mut page, "kvtop_finding", &labels, found(check.id));
    }
    family(&mut page, "kvtop_check_unknown", "gauge", "1 while data for the check is missing");
    for check in &snapshot.checks {
        let unknown = u8::from(matches!(check.verdict, CheckVerdict::Unknown { .. }));
        sample(&mut page, "kvtop_check_unknown", &[("finding", check.id)], unknown);
    }
    counters(&mut page, snapshot);
    warnings(&mut page, snapshot);
    sizes(&mut page, snapshot);
    page
}

/// Returns metrics for a deployment that could not be looked at: nothing but that.
pub fn prometheus_failed() -> String {
    let mut page = String::new();
    status(&mut page, Status::Unknown);
    page
}

fn status(page: &mut String, status: Status) {
    family(page, "kvtop_check_status", "gauge", "0 OK, 1 warning, 2 critical, 3 unknown");
    sample(page, "kvtop_check_status", &[], status.exit());
}

/// Adds the routers' warnings; absent while no router's log is read.
fn warnings(page: &mut String, snapshot: &Snapshot) {
    let router = &snapshot.router;
    let rows = [
        ("parent_not_found", router.log_parent_warnings),
        ("block_not_found", router.log_remove_warnings),
    ];
    let name = "kvtop_router_log_warnings_total";
    let known = rows.into_iter().filter_map(|(kind, count)| Some((kind, count?)));
    for (index, (kind, count)) in known.enumerate() {
        if index == 0 {
            family(page, name, "counter", "Router warnings about KV events, by kind");
        }
        sample(page, name, &[("kind", kind)], count);
    }
}

/// The sizes that everybody claims; absent where nobody does.
fn sizes(page: &mut String, snapshot: &Snapshot) {
    let name = "kvtop_block_size_tokens";
    let mut begun = false;
    for worker in snapshot.workers.iter().filter(|worker| !worker.gone) {
        let sizes = &worker.block_size;
        for (of, size) in [
            ("engine", &sizes.engine),
            ("publisher", &sizes.publisher),
            ("card", &sizes.card),
            ("router", &sizes.router),
        ] {
            let Some(size) = size else { continue };
            if !begun {
                family(page, name, "gauge", "Tokens per block, as reported");
                begun = true;
            }
            let rank = worker.rank.dp_rank.to_string();
            let pod = worker.pod.as_deref().unwrap_or_default();
            let labels =
                [("worker", worker.alias.as_str()), ("dp_rank", &rank), ("pod", pod), ("of", of)];
            sample(page, name, &labels, size);
        }
    }
}

fn counters(page: &mut String, snapshot: &Snapshot) {
    let (totals, router) = (&snapshot.totals.counters, &snapshot.router);
    let (events, told) = (snapshot.hears_events(), router.tells_of_requests());
    let overlap = told || router.overlap_known > 0;
    // What looks refused or unknown proves nothing while earlier blocks are not known.
    let mut there = snapshot.workers.iter().filter(|row| !row.gone);
    let known = events && there.all(|row| row.knowledge == Knowledge::Complete);
    // What nobody tells of is left out: a 0 would be read as a count.
    let rows: [(&str, &str, u64, bool); 12] = [
        ("kvtop_stores_total", "Stored events", totals.stores, events),
        ("kvtop_empty_stores_total", "Stored events without blocks", totals.empty_stores, events),
        ("kvtop_stored_blocks_total", "Blocks in stored events", totals.stored_blocks, events),
        (
            "kvtop_refused_stores_total",
            "Stores rejected because the parent is unknown",
            totals.refused_stores,
            known,
        ),
        ("kvtop_refused_blocks_total", "Blocks in rejected stores", totals.refused_blocks, known),
        ("kvtop_removed_blocks_total", "Removed hashes", totals.removed_blocks, events),
        ("kvtop_unknown_removals_total", "Removed hashes not held", totals.unknown_removals, known),
        ("kvtop_cleared_total", "Cleared events", totals.cleared, events),
        ("kvtop_requests_routed_total", "Requests routed", router.routed, told),
        (
            "kvtop_overlap_known_total",
            "Requests with a known overlap",
            router.overlap_known,
            overlap,
        ),
        ("kvtop_overlap_zero_total", "Requests without a cache hit", router.overlap_zero, overlap),
        ("kvtop_rejects_total", "Input that could not be decoded", snapshot.rejects.count, true),
    ];
    for (name, help, value, _) in rows.into_iter().filter(|row| row.3) {
        family(page, name, "counter", help);
        sample(page, name, &[], value);
    }
    if !events {
        return;
    }
    for (name, help, value) in [
        ("kvtop_accepted_blocks", "Blocks as a router counts them", snapshot.tree.accepted_blocks),
        ("kvtop_held_blocks", "Blocks that workers hold", snapshot.tree.held_blocks),
        ("kvtop_orphan_blocks", "Blocks with a missing parent", snapshot.tree.orphan_blocks),
    ] {
        family(page, name, "gauge", help);
        sample(page, name, &[], value);
    }
}

pub(super) fn family(page: &mut String, name: &str, kind: &str, help: &str) {
    put(page, format_args!("# HELP {name} {help}.\n# TYPE {name} {kind}\n"));
}

pub(super) fn sample(
    page: &mut String,
    name: &str,
    labels: &[(&str, &str)],
    value: impl std::fmt::Display,
) {
    let labels: Vec<String> =
        labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect();
    if labels.is_empty() {
        put(page, format_args!("{name} {value}\n"));
    } else {
        put(page, format_args!("{name}{{{}}} {value}\n", labels.join(",")));
    }
}

/// Returns `text` as a label's value: the format escapes these three.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    page.write_fmt(text).unwrap_or_default();
}
