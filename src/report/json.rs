//! The JSON contract, version 1: documented in docs/reference/json.md, additive from here on.
//!
//! Owns its types, so that a change inside kvtop is no change of the contract. Ids and hashes are
//! strings, since they exceed 2^53; what is not known is `null`, never 0.

mod cluster;
pub(super) mod curve;
pub(super) mod decisions;
mod foresight;
mod ledger;
mod memory;
pub(super) mod tree;

use std::collections::BTreeMap;

use cluster::{Dgd, Pod};
pub use curve::curve;
pub use decisions::decisions;
pub(super) use memory::{RowOfMemory, ranks as memory_ranks};
use schemars::JsonSchema;
use serde::Serialize;
pub use tree::tree;

use super::check::{Check, Finding, Status, checks, findings};
use super::rfc3339;
use crate::domain::{ClaimValue, Subject, Tier};
use crate::snapshot::{
    ClaimRow, Knowledge, Latency, Rates, RejectRow, RouterSummary, Snapshot, SourceRow, Sourced,
    WorkerRow,
};

/// The version of the contract.
pub const CONTRACT: u32 = 1;

/// Returns the contract's JSON of `snapshot`, indented.
pub fn snapshot(snapshot: &Snapshot) -> String {
    // Strings, numbers, lists and maps with string keys always serialize.
    serde_json::to_string_pretty(&Report::new(snapshot)).unwrap_or_default()
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Report<'a> {
    contract: u32,
    kvtop: &'static str,
    at: String,
    status: &'static str,
    target: Target<'a>,
    dynamo: Dynamo<'a>,
    workers: Vec<Worker<'a>>,
    memory: Vec<memory::RowOfMemory<'a>>,
    capacity_curve: Option<curve::Curve>,
    findings: Vec<Finding<'a>>,
    checks: Vec<Check<'a>>,
    hits: Hits,
    foresight: Option<foresight::Answers<'a>>,
    pods: Vec<Pod<'a>>,
    router: Router<'a>,
    tree: Tree<'a>,
    claims: Vec<Claim<'a>>,
    sources: Vec<Source<'a>>,
    catching_up: Option<Reading>,
    ledger: ledger::Ledger<'a>,
    incomplete: Vec<String>,
    rejects: Vec<Reject<'a>>,
}

/// Cache hits in the last minute; shares from 0 to 1.
#[derive(Serialize, JsonSchema)]
struct Hits {
    cached_prompt_tokens: Option<f64>,
    requests_with_hit: Option<f64>,
}

/// History that is still being read.
#[derive(Serialize, JsonSchema)]
pub(super) struct Reading {
    read: u64,
    total: u64,
    percent: u64,
    seconds_left: Option<f64>,
}

impl Reading {
    pub(super) fn new(snapshot: &Snapshot) -> Option<Self> {
        snapshot.catching_up.as_ref().map(|behind| Self {
            read: behind.read,
            total: behind.total,
            percent: behind.percent(),
            seconds_left: behind.left.map(|left| left.as_secs_f64()),
        })
    }
}

/// The inspected deployment, and the name that led there.
#[derive(Serialize, JsonSchema)]
pub(super) struct Target<'a> {
    asked: Option<&'a str>,
    name: &'a str,
    dgd: Option<&'a str>,
}

impl<'a> Target<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        let deployment = &snapshot.deployment;
        Self {
            asked: deployment.asked.as_deref(),
            name: &deployment.label,
            dgd: deployment.dgd.as_deref(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct Dynamo<'a> {
    version: Option<&'a str>,
    version_source: Option<&'a str>,
    namespace: Option<&'a str>,
    model: Option<&'a str>,
    event_plane: Option<&'a str>,
    dgd: Option<&'a str>,
    dgds: Vec<Dgd<'a>>,
    ignored: Vec<Ignored<'a>>,
}

/// A Dynamo namespace that no selected deployment uses.
#[derive(Serialize, JsonSchema)]
struct Ignored<'a> {
    namespace: &'a str,
    messages: u64,
}

#[derive(Serialize, JsonSchema)]
struct Worker<'a> {
    id: String,
    dp_rank: u32,
    alias: &'a str,
    pod: Option<&'a str>,
    node: Option<&'a str>,
    role: Option<&'a str>,
    gone: bool,
    past_known: bool,
    accepted: Option<u64>,
    held: Option<u64>,
    tiers: BTreeMap<&'static str, Option<u64>>,
    stores: Option<u64>,
    empty_stores: Option<u64>,
    stored_blocks: Option<u64>,
    duplicate_blocks: Option<u64>,
    refused_stores: Option<u64>,
    refused_blocks: Option<u64>,
    removed_blocks: Option<u64>,
    unknown_removals: Option<u64>,
    cleared: Option<u64>,
    rates: Option<BTreeMap<&'static str, Rate>>,
    block_size: BlockSize,
    kv_utilization: Option<f64>,
    kv_utilization_source: Option<String>,
    kv_utilization_at: Option<String>,
    used_blocks: Option<u64>,
    used_blocks_source: Option<String>,
    used_blocks_at: Option<String>,
    capacity_blocks: Option<u64>,
    capacity_blocks_source: Option<String>,
    capacity_blocks_at: Option<String>,
    hit_rate: Option<f64>,
    hit_rate_source: Option<String>,
    hit_rate_at: Option<String>,
    routed: Option<u64>,
    mean_overlap: Option<f64>,
    last_event: Option<String>,
    ledger: Option<ledger::Rank>,
}

#[derive(Serialize, JsonSchema)]
struct Rate {
    stores: f64,
    removals: f64,
    refused: f64,
    unknown_removals: f64,
}

#[derive(Serialize, JsonSchema)]
struct BlockSize {
    engine: Option<u32>,
    publisher: Option<u32>,
    card: Option<u32>,
    router: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
struct Router<'a> {
    pods: &'a [String],
    decisions: Option<u64>,
    decisions_zero_overlap: Option<u64>,
    routed: Option<u64>,
    overlap_known: u64,
    overlap_zero: u64,
    log_parent_warnings: Option<u64>,
    log_remove_warnings: Option<u64>,
    worker_log_warnings: Option<u64>,
    block_size_inferred: Option<u32>,
    overlap_weight: Option<f64>,
    mean_logit: Option<f64>,
    last_tree_size: Option<u64>,
    ttft_mean: Option<f64>,
    requests_per_second: Option<f64>,
    queued: Option<u64>,
    ttft: Option<Percentiles>,
    itl: Option<Percentiles>,
    request_duration: Option<Percentiles>,
    queue_time: Option<Percentiles>,
    registered_workers: Option<u64>,
}

/// A latency over the last minute, in seconds.
#[derive(Serialize, JsonSchema)]
struct Percentiles {
    p50: f64,
    p95: f64,
    p95_is_at_least: bool,
    p99: f64,
    p99_is_at_least: bool,
    count: u64,
    window_seconds: f64,
    objective_p95: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct Tree<'a> {
    accepted_blocks: Option<u64>,
    held_blocks: Option<u64>,
    distinct_blocks: Option<u64>,
    orphan_roots: Option<u64>,
    orphan_blocks: Option<u64>,
    shed_blocks: u64,
    memory_bytes: u64,
    semantics: &'a str,
    incomplete: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct Claim<'a> {
    what: &'static str,
    of: &'static str,
    subject: String,
    #[schemars(with = "serde_json::Value")]
    value: Value<'a>,
    basis: &'static str,
    source: &'a str,
    raw: &'a str,
    at: String,
}

/// A number, a text or a truth; told apart by the type of JSON value.
struct Value<'a>(&'a ClaimValue);

impl Serialize for Value<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ClaimValue::Count(count) => serializer.serialize_u64(*count),
            ClaimValue::Text(text) => serializer.serialize_str(text),
            ClaimValue::Flag(flag) => serializer.serialize_bool(*flag),
            ClaimValue::Millionths(value) => serializer.serialize_f64(*value as f64 / 1e6),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct Source<'a> {
    name: &'a str,
    health: &'static str,
    why: Option<&'a str>,
    frames: u64,
    rejects: u64,
    gaps: u64,
    dropped: u64,
    drops_uncounted: bool,
    interruptions: u64,
}

#[derive(Serialize, JsonSchema)]
struct Reject<'a> {
    origin: &'a str,
    why: &'a str,
    count: u64,
    sample: &'a str,
}

impl<'a> Report<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let deployment = &snapshot.deployment;
        Self {
            contract: CONTRACT,
            kvtop: env!("CARGO_PKG_VERSION"),
            at: rfc3339(snapshot.at),
            status: Status::new(snapshot).name(),
            target: Target::new(snapshot),
            dynamo: Dynamo {
                version: deployment.version.as_deref(),
                version_source: deployment.version_source.as_deref(),
                namespace: deployment.namespace.as_deref(),
                model: deployment.model.as_deref(),
                event_plane: deployment.event_plane.as_deref(),
                dgd: deployment.dgd.as_deref(),
                dgds: deployment.graphs.iter().map(Dgd::new).collect(),
                ignored: deployment
                    .foreign
                    .iter()
                    .map(|(namespace, messages)| Ignored { namespace, messages: *messages })
                    .collect(),
            },
            workers: snapshot.workers.iter().map(|row| Worker::new(row, snapshot)).collect(),
            memory: memory::ranks(snapshot),
            capacity_curve: curve::Curve::new(snapshot),
            findings: findings(snapshot),
            checks: checks(snapshot),
            hits: Hits {
                cached_prompt_tokens: snapshot.felt.cached,
                requests_with_hit: snapshot.felt.found,
            },
            foresight: foresight::Answers::new(snapshot),
            pods: snapshot.pods.iter().map(Pod::new).collect(),
            router: Router::new(&snapshot.router),
            tree: Tree::new(snapshot),
            claims: snapshot.claims.iter().map(Claim::new).collect(),
            sources: snapshot.sources.iter().map(Source::new).collect(),
            catching_up: Reading::new(snapshot),
            ledger: ledger::Ledger::new(&snapshot.ledger),
            incomplete: super::incomplete(snapshot),
            rejects: snapshot.rejects.reasons.iter().map(Reject::new).collect(),
        }
    }
}

impl<'a> Worker<'a> {
    fn new(row: &'a WorkerRow, snapshot: &Snapshot) -> Self {
        let (events, told) = (snapshot.hears_events(), snapshot.router.tells_of_requests());
        let events = events && !row.reading;
        let counted = |count: u64| events.then_some(count);
        let counters = &row.counters;
        let rates = &row.rates;
        let tier = |tier: &Tier| (tier.name(), counted(row.tiers[tier.index()]));
        Self {
            id: row.rank.worker.to_string(),
            dp_rank: row.rank.dp_rank.0,
            alias: &row.alias,
            pod: row.pod.as_deref(),
            node: row.node.as_deref(),
            role: row.role.as_deref(),
            gone: row.gone,
            past_known: row.knowledge == Knowledge::Complete,
            accepted: counted(row.accepted),
            held: counted(row.held),
            tiers: Tier::ALL.iter().map(tier).collect(),
            stores: counted(counters.stores),
            empty_stores: counted(counters.empty_stores),
            stored_blocks: counted(counters.stored_blocks),
            duplicate_blocks: counted(counters.duplicate_blocks),
            refused_stores: counted(counters.refused_stores),
            refused_blocks: counted(counters.refused_blocks),
            removed_blocks: counted(counters.removed_blocks),
            unknown_removals: counted(counters.unknown_removals),
            cleared: counted(counters.cleared),
            rates: events.then(|| {
                BTreeMap::from([
                    ("10s", Rate::new(&rates.ten_seconds)),
                    ("1m", Rate::new(&rates.minute)),
                    ("5m", Rate::new(&rates.five_minutes)),
                ])
            }),
            block_size: BlockSize {
                engine: row.block_size.engine,
                publisher: row.block_size.publisher,
                card: row.block_size.card,
                router: row.block_size.router,
            },
            kv_utilization: value_of(row.kv_utilization.as_ref()),
            kv_utilization_source: source_of(row.kv_utilization.as_ref()),
            kv_utilization_at: time_of(row.kv_utilization.as_ref()),
            used_blocks: value_of(row.used_blocks.as_ref()),
            used_blocks_source: source_of(row.used_blocks.as_ref()),
            used_blocks_at: time_of(row.used_blocks.as_ref()),
            capacity_blocks: value_of(row.capacity_blocks.as_ref()),
            capacity_blocks_source: source_of(row.capacity_blocks.as_ref()),
            capacity_blocks_at: time_of(row.capacity_blocks.as_ref()),
            hit_rate: value_of(row.hit_rate.as_ref()),
            hit_rate_source: source_of(row.hit_rate.as_ref()),
            hit_rate_at: time_of(row.hit_rate.as_ref()),
            routed: told.then_some(row.routed),
            mean_overlap: row.mean_overlap,
            last_event: row.last_event.map(rfc3339),
            ledger: ledger::Rank::new(&row.ledger),
        }
    }
}

fn value_of<T: Copy>(sourced: Option<&Sourced<T>>) -> Option<T> {
    sourced.map(|sourced| sourced.value)
}

fn source_of<T>(sourced: Option<&Sourced<T>>) -> Option<String> {
    sourced.map(|sourced| sourced.source.to_string())
}

fn time_of<T>(sourced: Option<&Sourced<T>>) -> Option<String> {
    sourced.map(|sourced| rfc3339(sourced.at))
}

impl Rate {
    fn new(rates: &Rates) -> Self {
        Self {
            stores: rates.stores,
            removals: rates.removals,
            refused: rates.refused,
            unknown_removals: rates.unknown_removals,
        }
    }
}

impl<'a> Router<'a> {
    fn new(router: &'a RouterSummary) -> Self {
        let told = |count: u64| router.tells_of_requests().then_some(count);
        Self {
            pods: &router.routers,
            decisions: told(router.decisions),
            decisions_zero_overlap: told(router.decisions_zero_overlap),
            routed: told(router.routed),
            overlap_known: router.overlap_known,
            overlap_zero: router.overlap_zero,
            log_parent_warnings: router.log_parent_warnings,
            log_remove_warnings: router.log_remove_warnings,
            worker_log_warnings: router.worker_log_warnings,
            block_size_inferred: router.block_size_inferred,
            overlap_weight: router.overlap_weight,
            mean_logit: router.mean_logit,
            last_tree_size: router.last_tree_size,
            ttft_mean: router.ttft_mean,
            requests_per_second: router.tells_of_requests_now().then_some(router.routed_per_second),
            queued: router.queued,
            ttft: router.ttft.map(Percentiles::new),
            itl: router.itl.map(Percentiles::new),
            request_duration: router.duration.map(Percentiles::new),
            queue_time: router.queue_time.map(Percentiles::new),
            registered_workers: router.counted.routed_to,
        }
    }
}

impl Percentiles {
    fn new(latency: Latency) -> Self {
        Self {
            p50: latency.p50,
            p95: latency.p95,
            p95_is_at_least: latency.beyond,
            p99: latency.p99,
            p99_is_at_least: latency.p99_beyond,
            count: latency.count,
            window_seconds: latency.window.as_secs_f64(),
            objective_p95: latency.objective,
        }
    }
}

impl<'a> Tree<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let tree = &snapshot.tree;
        let events = snapshot.hears_events();
        let counted = |count: u64| events.then_some(count);
        Self {
            accepted_blocks: counted(tree.accepted_blocks),
            held_blocks: counted(tree.held_blocks),
            distinct_blocks: counted(tree.distinct_blocks),
            orphan_roots: counted(tree.orphan_roots),
            orphan_blocks: counted(tree.orphan_blocks),
            shed_blocks: tree.shed_blocks,
            memory_bytes: tree.memory_bytes,
            semantics: &snapshot.deployment.semantics,
            incomplete: &tree.incomplete,
        }
    }
}

impl<'a> Claim<'a> {
    fn new(row: &'a ClaimRow) -> Self {
        let claim = &row.claim;
        Self {
            what: claim.what.name(),
            of: claim.of.name(),
            subject: match &claim.subject {
                Subject::Worker(worker) => format!("worker/{worker}"),
                Subject::Pod(pod) => format!("pod/{pod}"),
                Subject::Component { graph, component } => format!("component/{graph}/{component}"),
                Subject::Deployment => "deployment".to_owned(),
            },
            value: Value(&claim.value),
            basis: claim.basis.name(),
            source: &claim.source,
            raw: &claim.raw,
            at: rfc3339(row.at),
        }
    }
}

impl<'a> Source<'a> {
    fn new(row: &'a SourceRow) -> Self {
        Self {
            name: row.name.as_str(),
            health: row.state.name(),
            why: (!row.why.is_empty()).then_some(row.why.as_str()),
            frames: row.frames,
            rejects: row.rejects,
            gaps: row.gaps,
            dropped: row.dropped,
            drops_uncounted: row.drops_uncounted,
            interruptions: row.interruptions,
        }
    }
}

impl<'a> Reject<'a> {
    fn new(row: &'a RejectRow) -> Self {
        Self { origin: &row.origin, why: &row.why, count: row.count, sample: &row.sample }
    }
}
