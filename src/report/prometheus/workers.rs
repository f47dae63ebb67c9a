//! Metrics of workers and their ranks.

use std::collections::HashMap;

use super::Level;
use super::page::{Kind, Labels, Page, Stated, counter, gauge, info};
use crate::snapshot::{Knowledge, Snapshot, WorkerRow};

/// The way the values of a worker's ranks become one.
#[derive(Clone, Copy)]
enum Fold {
    /// Their sum; unknown while one of them is.
    Sum,
    /// The mean of those that are known.
    Mean,
    /// The largest of those that are known.
    Max,
}

impl Fold {
    fn apply(self, values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
        match self {
            Self::Sum => values.sum(),
            Self::Mean => {
                let (count, sum) =
                    values.flatten().fold((0_u32, 0.0), |(n, sum), value| (n + 1, sum + value));
                (count > 0).then(|| sum / f64::from(count))
            }
            Self::Max => values.flatten().reduce(f64::max),
        }
    }
}

/// The sources that report on workers.
#[derive(Clone, Copy)]
struct Heard {
    /// KV events would be seen if there were any.
    events: bool,
    /// History was read: before that, blocks are too few.
    read: bool,
    /// Routers report requests.
    requests: bool,
}

/// A number of a rank; none where nobody reports it: a 0 would be read as a count.
type Value = fn(&WorkerRow, Heard) -> Option<f64>;

fn count(value: u64, known: bool) -> Option<f64> {
    known.then_some(value as f64)
}

/// Returns a number of blocks that a rank holds. None seen since the attach does not mean that there are none.
fn held(row: &WorkerRow, blocks: u64, heard: Heard) -> Option<f64> {
    count(blocks, heard.events && heard.read && (blocks > 0 || is_known(row)))
}

/// Returns true when the blocks that a rank held before kvtop attached are known: before that, what looks rejected
/// or unknown proves nothing.
fn is_known(row: &WorkerRow) -> bool {
    row.knowledge == Knowledge::Complete
}

/// Returns a metric of workers.
const fn worker(name: &'static str, help: &'static str, kind: Kind) -> Stated {
    match kind {
        Kind::Counter => counter(name, help),
        Kind::Gauge | Kind::Info => gauge(name, help),
    }
}

/// Each metric of a worker: name, meaning, kind, how ranks add up, value.
const WORKER: [(&str, &str, Kind, Fold, Value); 18] = [
    (
        "kvtop_worker_accepted_blocks",
        "Blocks as a router counts them",
        Kind::Gauge,
        Fold::Sum,
        |row, heard| held(row, row.accepted, heard),
    ),
    (
        "kvtop_worker_held_blocks",
        "Blocks that the worker holds",
        Kind::Gauge,
        Fold::Sum,
        |row, heard| held(row, row.held, heard),
    ),
    ("kvtop_worker_stores_total", "Stored events", Kind::Counter, Fold::Sum, |row, heard| {
        count(row.live.stores, heard.events)
    }),
    (
        "kvtop_worker_empty_stores_total",
        "Stored events without blocks",
        Kind::Counter,
        Fold::Sum,
        |row, heard| count(row.live.empty_stores, heard.events),
    ),
    (
        "kvtop_worker_refused_stores_total",
        "Stores rejected because the parent is unknown",
        Kind::Counter,
        Fold::Sum,
        |row, heard| count(row.live.refused_stores, heard.events && is_known(row)),
    ),
    (
        "kvtop_worker_removed_blocks_total",
        "Removed hashes",
        Kind::Counter,
        Fold::Sum,
        |row, heard| count(row.live.removed_blocks, heard.events),
    ),
    (
        "kvtop_worker_unknown_removals_total",
        "Removed hashes not held",
        Kind::Counter,
        Fold::Sum,
        |row, heard| count(row.live.unknown_removals, heard.events && is_known(row)),
    ),
    (
        "kvtop_worker_requests_routed_total",
        "Requests routed to the worker",
        Kind::Counter,
        Fold::Sum,
        |row, heard| count(row.live_routed, heard.requests),
    ),
    (
        "kvtop_worker_missing_events",
        "Missing events by gaps in event ids, history included",
        Kind::Gauge,
        Fold::Sum,
        |row, heard| count(row.missing, heard.events),
    ),
    (
        "kvtop_worker_numbered_events",
        "Events that the publisher numbered, history included",
        Kind::Gauge,
        Fold::Sum,
        |row, heard| count(row.ledger.published(), heard.events && row.ledger.received > 0),
    ),
    (
        "kvtop_worker_requests_in_flight",
        "Requests that the worker runs or queues",
        Kind::Gauge,
        Fold::Sum,
        |row, _| row.in_flight.map(|count| count as f64),
    ),
    (
        "kvtop_worker_requests_running",
        "Requests that the engine computes",
        Kind::Gauge,
        Fold::Sum,
        |row, _| row.in_engine.running.map(|count| count as f64),
    ),
    (
        "kvtop_worker_requests_waiting",
        "Requests that wait in the engine",
        Kind::Gauge,
        Fold::Sum,
        |row, _| row.in_engine.waiting.map(|count| count as f64),
    ),
    (
        "kvtop_worker_queue_time_p95_seconds",
        "Time in the engine's queue that 95 % of requests stayed below, in the last minute",
        Kind::Gauge,
        Fold::Max,
        |row, _| row.in_engine.queue_time.map(|time| time.as_secs_f64()),
    ),
    (
        "kvtop_worker_kv_utilization_ratio",
        "KV cache in use, 0 to 1",
        Kind::Gauge,
        Fold::Mean,
        |row, _| row.kv_utilization.as_ref().map(|known| known.value),
    ),
    (
        "kvtop_worker_hit_ratio",
        "Share of prompt tokens found in the cache",
        Kind::Gauge,
        Fold::Mean,
        |row, _| row.hit_rate.as_ref().map(|known| known.value),
    ),
    (
        "kvtop_worker_orphan_ratio",
        "Share of stores rejected in the last minute",
        Kind::Gauge,
        Fold::Max,
        |row, _| row.orphan_share,
    ),
    (
        "kvtop_worker_last_event_timestamp_seconds",
        "Time of the last KV event",
        Kind::Gauge,
        Fold::Max,
        |row, _| row.last_event.map(|at| at.0 as f64 / 1e6),
    ),
];

/// Adds the metrics of every worker that is there.
pub(super) fn put(page: &mut Page, snapshot: &Snapshot, namespace: Option<&str>, level: Level) {
    if level == Level::Fleet {
        return;
    }
    let heard = Heard {
        events: snapshot.hears_events(),
        read: !snapshot.is_unread(),
        requests: snapshot.router.tells_of_requests(),
    };
    let units = units(snapshot, namespace, level);
    for (name, help, kind, fold, value) in WORKER {
        let samples = units.iter().filter_map(|(labels, ranks)| {
            let value = fold.apply(ranks.iter().map(|row| value(row, heard)))?;
            Some((labels.clone(), value))
        });
        page.put_all(&worker(name, help, kind), samples);
    }
    let about = info("kvtop_worker", "Where the worker runs");
    page.put_all(
        &about,
        units.iter().filter_map(|(labels, ranks)| {
            let row = ranks.first()?;
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            let labels = labels
                .with("pod", text(&row.pod))
                .with("node", text(&row.node))
                .with("role", text(&row.role));
            Some((labels, 1.0))
        }),
    );
    sizes(page, &units);
}

/// Adds the block sizes alone.
pub(super) fn put_sizes(page: &mut Page, snapshot: &Snapshot) {
    sizes(page, &units(snapshot, None, Level::Rank));
}

/// Labels, and the ranks that they are about.
type Unit<'a> = (Labels, Vec<&'a WorkerRow>);

/// Returns the workers that are there, or their ranks, each with the labels that outlive a restart of kvtop.
fn units<'a>(snapshot: &'a Snapshot, namespace: Option<&str>, level: Level) -> Vec<Unit<'a>> {
    let mut units: Vec<Unit<'a>> = Vec::new();
    let mut places = HashMap::new();
    let deployment = &snapshot.deployment;
    let graph = deployment.dgd.clone().or_else(|| deployment.asked.clone()).unwrap_or_default();
    for row in snapshot.workers.iter().filter(|row| !row.gone) {
        let at = match level {
            Level::Fleet | Level::Worker => *places.entry(row.rank.worker).or_insert(units.len()),
            Level::Rank => units.len(),
        };
        if let Some((_, ranks)) = units.get_mut(at) {
            ranks.push(row);
            continue;
        }
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let rank = if level == Level::Rank { row.rank.dp_rank.to_string() } else { String::new() };
        let labels = Labels::shared([
            ("namespace", namespace.unwrap_or_default().to_owned()),
            ("deployment", row.belongs.graph.clone().unwrap_or_else(|| graph.clone())),
            ("model", text(&row.belongs.model)),
            ("component", text(&row.belongs.component)),
            ("worker_id", row.rank.worker.0.to_string()),
            ("dp_rank", rank),
        ]);
        units.push((labels, vec![row]));
    }
    units
}

/// Adds the sizes that everybody claims; absent where nobody does.
fn sizes(page: &mut Page, units: &[Unit<'_>]) {
    let stated = gauge("kvtop_block_size_tokens", "Tokens per block, as reported");
    let samples = units.iter().filter_map(|(labels, ranks)| {
        let sizes = &ranks.first()?.block_size;
        let claims = [
            ("engine", sizes.engine),
            ("publisher", sizes.publisher),
            ("card", sizes.card),
            ("router", sizes.router),
        ];
        let known = claims.into_iter().filter_map(|(of, size)| Some((of, size?)));
        Some(known.map(|(of, size)| (labels.with("of", of), f64::from(size))))
    });
    page.put_all(&stated, samples.flatten());
}
