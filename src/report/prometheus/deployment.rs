//! Metrics of a deployment as a whole.

use super::super::check::{Status, active};
use super::page::{Labels, Page, Stated, counter, gauge, info};
use crate::domain::Counters;
use crate::snapshot::{CheckVerdict, Knowledge, Latency, Severity, Snapshot};

/// Returns the labels that say which deployment it is.
pub(super) fn labels(snapshot: &Snapshot, namespace: Option<&str>) -> Labels {
    let deployment = &snapshot.deployment;
    let graph = deployment.dgd.clone().or_else(|| deployment.asked.clone());
    Labels::shared([
        ("namespace", namespace.unwrap_or_default().to_owned()),
        ("deployment", graph.unwrap_or_default()),
    ])
}

/// Adds verdicts and figures of now.
pub(super) fn put(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    about(page, snapshot, labels);
    put_status(page, Status::new(snapshot), labels);
    findings(page, snapshot, labels);
    users(page, snapshot, labels);
    blocks(page, snapshot, labels);
}

fn about(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let deployment = &snapshot.deployment;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let labels = labels
        .with("dynamo_namespace", text(&deployment.namespace))
        .with("model", text(&deployment.model))
        .with("dynamo_version", text(&deployment.version))
        .with("event_plane", text(&deployment.event_plane));
    page.put(&info("kvtop_deployment", "What the deployment is"), &labels, 1_u8);
}

/// Adds one series for each status that a deployment may have.
pub(super) fn put_status(page: &mut Page, status: Status, labels: &Labels) {
    let all = [
        (Status::Ok, "ok"),
        (Status::Warning, "warning"),
        (Status::Critical, "critical"),
        (Status::Unknown, "unknown"),
    ];
    let stated = gauge("kvtop_status", "1 for the status that the deployment has");
    for (known, name) in all {
        page.put(&stated, &labels.with("status", name), known == status);
    }
}

/// Findings that count as a block size mismatch.
const MISMATCHES: [&str; 3] = ["KVT001", "KVT002", "KVT016"];

const MISMATCH: Stated = counter(
    "kv_router_block_size_mismatch_total",
    "Times that a block size mismatch was found, by finding",
);

const AVOIDED: Stated = gauge(
    "kvtop_avoided_store_ratio",
    "Share of stored blocks that a KV cache of so many times the capacity would have avoided",
);

/// Adds 0 or 1 for each mismatch: what one check finds.
pub(super) fn put_mismatch(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    for id in MISMATCHES {
        let found = active(snapshot).any(|finding| finding.id == id);
        page.put(&MISMATCH, &labels.with("finding", id), found);
    }
}

/// Adds how often each finding was raised.
pub(super) fn put_raises(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let raises = counter("kvtop_finding_raises_total", "Times that the finding was raised");
    for check in &snapshot.checks {
        let labels = labels.with("finding", check.id);
        let count = snapshot.raises.get(check.id).copied().unwrap_or_default();
        page.put(&raises, &labels, count);
        if MISMATCHES.contains(&check.id) {
            page.put(&MISMATCH, &labels, count);
        }
    }
}

fn findings(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let finding = gauge("kvtop_finding", "1 for the severity of an active finding");
    let state = gauge("kvtop_check", "1 for the state that the check has");
    let raised = gauge(
        "kvtop_finding_raised_timestamp_seconds",
        "Time at which an active finding was raised",
    );
    for check in &snapshot.checks {
        let labels = labels.with("finding", check.id).with("name", check.name);
        let found = active(snapshot).find(|finding| finding.id == check.id);
        let severity = found.map(|row| if row.counts() { row.severity } else { Severity::Info });
        for known in [Severity::Info, Severity::Warning, Severity::Critical] {
            page.put(&finding, &labels.with("severity", known.name()), severity == Some(known));
        }
        if let Some(row) = found {
            page.put(&raised, &labels, row.raised.0 as f64 / 1e6);
        }
        let now = match check.verdict {
            CheckVerdict::Clear => "clear",
            CheckVerdict::Found => "found",
            CheckVerdict::Unknown { .. } => "unknown",
        };
        for known in ["clear", "found", "unknown"] {
            page.put(&state, &labels.with("state", known), known == now);
        }
    }
}

/// Adds what users notice, over the last minute; absent where nothing reports it.
fn users(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let (router, felt) = (&snapshot.router, &snapshot.felt);
    let latencies: [(Stated, Option<Latency>); 4] = [
        (
            gauge("kvtop_time_to_first_token_seconds", "Time to first token in the last minute"),
            router.ttft,
        ),
        (
            gauge("kvtop_inter_token_latency_seconds", "Time between tokens in the last minute"),
            router.itl,
        ),
        (
            gauge("kvtop_request_duration_seconds", "Time to the last token in the last minute"),
            router.duration,
        ),
        (
            gauge("kvtop_queue_time_seconds", "Time in engines' queues in the last minute"),
            router.queue_time,
        ),
    ];
    for (stated, latency) in latencies {
        let Some(latency) = latency else { continue };
        for (quantile, value) in
            [("0.5", latency.p50), ("0.95", latency.p95), ("0.99", latency.p99)]
        {
            page.put(&stated, &labels.with("quantile", quantile), value);
        }
    }
    let figures = [
        (
            gauge("kvtop_cached_tokens_ratio", "Share of prompt tokens cached, in the last minute"),
            felt.cached,
        ),
        (
            gauge("kvtop_hit_ratio", "Share of requests with a cache hit, in the last minute"),
            felt.found,
        ),
        (
            gauge("kvtop_requests_queued", "Requests that wait in front of the routers"),
            router.queued.map(|count| count as f64),
        ),
        (
            gauge("kvtop_kv_utilization_ratio", "Mean share of KV blocks in use, 0 to 1"),
            snapshot.totals.kv_utilization,
        ),
    ];
    for (stated, value) in figures {
        if let Some(value) = value {
            page.put(&stated, labels, value);
        }
    }
}

fn blocks(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let mut present: Vec<_> = snapshot.workers.iter().filter(|row| !row.gone).collect();
    present.dedup_by_key(|row| row.rank.worker);
    let workers = gauge("kvtop_workers", "Workers that are there");
    page.put(&workers, labels, present.len() as u64);
    if !snapshot.hears_events() || snapshot.is_unread() {
        return;
    }
    let curve = snapshot.curve.iter().flat_map(|curve| &curve.points);
    for point in curve {
        let labels = labels.with("capacity", point.factor.to_string());
        page.put(&AVOIDED, &labels, point.avoided);
    }
    let tree = &snapshot.tree;
    for (name, help, value) in [
        ("kvtop_accepted_blocks", "Blocks as a router counts them", tree.accepted_blocks),
        ("kvtop_held_blocks", "Blocks that workers hold", tree.held_blocks),
        ("kvtop_orphan_blocks", "Blocks with a missing parent", tree.orphan_blocks),
    ] {
        // None seen since the attach does not mean that there are none.
        if value > 0 || Needs::Past.are_met(snapshot) {
            page.put(&gauge(name, help), labels, value);
        }
    }
}

/// Conditions under which a count is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// KV events would be seen if there were any.
    Events,
    /// The blocks from before kvtop attached are known: without them, what looks rejected proves nothing.
    Past,
    /// Routers report requests.
    Requests,
    /// Something reports what routers found cached.
    Overlap,
}

impl Needs {
    fn are_met(self, snapshot: &Snapshot) -> bool {
        let requests = || snapshot.router.tells_of_requests();
        let mut there = snapshot.workers.iter().filter(|row| !row.gone);
        match self {
            Self::Nothing => true,
            Self::Events => snapshot.hears_events(),
            Self::Past => {
                snapshot.hears_events() && there.all(|row| row.knowledge == Knowledge::Complete)
            }
            Self::Requests => requests(),
            Self::Overlap => requests() || snapshot.router.overlap_known > 0,
        }
    }
}

/// A count of KV events: its counter, its name in `kvtop_seen_events`, its value, and what it needs.
struct Event {
    stated: Stated,
    kind: &'static str,
    value: fn(&Counters) -> u64,
    needs: Needs,
}

const fn event(
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&Counters) -> u64,
    needs: Needs,
) -> Event {
    Event { stated: counter(name, help), kind, value, needs }
}

const EVENTS: [Event; 8] = [
    event("kvtop_stores_total", "stores", "Stored events", |it| it.stores, Needs::Events),
    event(
        "kvtop_empty_stores_total",
        "empty_stores",
        "Stored events without blocks",
        |it| it.empty_stores,
        Needs::Events,
    ),
    event(
        "kvtop_stored_blocks_total",
        "stored_blocks",
        "Blocks in stored events",
        |it| it.stored_blocks,
        Needs::Events,
    ),
    event(
        "kvtop_refused_stores_total",
        "refused_stores",
        "Stores rejected because the parent is unknown",
        |it| it.refused_stores,
        Needs::Past,
    ),
    event(
        "kvtop_refused_blocks_total",
        "refused_blocks",
        "Blocks in rejected stores",
        |it| it.refused_blocks,
        Needs::Past,
    ),
    event(
        "kvtop_removed_blocks_total",
        "removed_blocks",
        "Removed hashes",
        |it| it.removed_blocks,
        Needs::Events,
    ),
    event(
        "kvtop_unknown_removals_total",
        "unknown_removals",
        "Removed hashes not held",
        |it| it.unknown_removals,
        Needs::Past,
    ),
    event("kvtop_cleared_total", "cleared", "Cleared events", |it| it.cleared, Needs::Events),
];

/// Adds tokens, blocks between tiers and registered workers, as far as something counts them.
fn put_traffic(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let counted = &snapshot.router.counted;
    let tokens = counter("kvtop_tokens_total", "Tokens that frontends counted, by kind");
    for (kind, count) in [("prompt", counted.prompt_tokens), ("output", counted.output_tokens)] {
        if let Some(count) = count {
            page.put(&tokens, &labels.with("kind", kind), count);
        }
    }
    let moved = counter("kvtop_tier_blocks_total", "Blocks that KVBM moved between tiers");
    for (from, to, count) in &counted.moved {
        page.put(&moved, &labels.with("from", *from).with("to", *to), *count);
    }
    if let Some(registered) = counted.registered {
        let workers = gauge(
            "kvtop_indexer_workers",
            "Workers registered with the indexer that has the fewest",
        );
        page.put(&workers, labels, registered);
    }
    if let Some(registered) = counted.routed_to {
        let workers =
            gauge("kvtop_router_workers", "Workers registered with the router that has the fewest");
        page.put(&workers, labels, registered);
    }
}

/// Adds counters of what happened while kvtop watched, and what history held as gauges.
pub(super) fn put_counters(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let mut live = Counters::default();
    for row in snapshot.workers.iter() {
        live.add(&row.live);
    }
    for event in EVENTS.iter().filter(|event| event.needs.are_met(snapshot)) {
        page.put(&event.stated, labels, (event.value)(&live));
    }
    put_history(page, snapshot, labels);
    put_traffic(page, snapshot, labels);
    let requests = &snapshot.router.live;
    let rows = [
        ("kvtop_requests_routed_total", "Requests routed", requests.routed, Needs::Requests),
        (
            "kvtop_overlap_known_total",
            "Requests with a known overlap",
            requests.overlap_known,
            Needs::Overlap,
        ),
        (
            "kvtop_overlap_zero_total",
            "Requests without a cache hit",
            requests.overlap_zero,
            Needs::Overlap,
        ),
        (
            "kvtop_rejects_total",
            "Input that could not be decoded",
            snapshot.rejects.live,
            Needs::Nothing,
        ),
    ];
    for (name, help, value, _) in rows.into_iter().filter(|row| row.3.are_met(snapshot)) {
        page.put(&counter(name, help), labels, value);
    }
    let warnings =
        counter("kvtop_router_log_warnings_total", "Router warnings about KV events, by kind");
    for (kind, count) in [
        ("parent_not_found", requests.parent_warnings),
        ("block_not_found", requests.remove_warnings),
    ] {
        if let Some(count) = count {
            page.put(&warnings, &labels.with("kind", kind), count);
        }
    }
}

/// Adds what was counted before kvtop watched, or in a recording: all of it, live or not.
pub(super) fn put_history(page: &mut Page, snapshot: &Snapshot, labels: &Labels) {
    let mut live = Counters::default();
    for row in snapshot.workers.iter() {
        live.add(&row.live);
    }
    let past = snapshot.totals.counters.since(&live);
    let seen = gauge("kvtop_seen_events", "What KV events reported, by kind and time");
    for event in EVENTS.iter().filter(|event| event.needs.are_met(snapshot)) {
        let labels = labels.with("kind", event.kind);
        for (when, counters) in [("history", &past), ("live", &live)] {
            page.put(&seen, &labels.with("when", when), (event.value)(counters));
        }
    }
}
