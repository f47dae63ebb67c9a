//! Signs of a release, in model cards, discovery records, metrics and logs.
//!
//! Each was looked up in recordings of 0.9.0, 0.9.1, 1.0.2, 1.1.1, 1.2.1, 1.3.1, 1.4.2, 1.5.1 and
//! 1.6.1. What is there tells the oldest release; what is missing tells the newest one only where the
//! field is never left out (dynamo-llm 1.0.0 and 1.1.0, `local_model/runtime_config.rs`).

use serde_json::Value;

use crate::domain::{Fact, Release, Releases, Subject, VersionSign};

/// Fields of a card's `runtime_config` by the release that brought them, newest first.
const RUNTIME: [(&str, Release); 4] = [
    ("tool_call_arguments_format", Release::new(1, 5)),
    ("kv_event_publishing_enabled", Release::new(1, 4)),
    ("enable_eagle", Release::new(1, 1)),
    ("data_parallel_start_rank", Release::new(1, 0)),
];

/// Metrics by the release that brought them, newest first.
const METRICS: [(&str, Release); 7] = [
    ("dynamo_component_router_kv_zmq_ingress_batches_total", Release::new(1, 6)),
    ("dynamo_component_router_non_max_overlap_selections_total", Release::new(1, 5)),
    ("dynamo_component_router_kv_event_source_mismatch_workers", Release::new(1, 4)),
    ("dynamo_component_router_worker_registered", Release::new(1, 3)),
    ("dynamo_frontend_stage_requests", Release::new(1, 2)),
    ("dynamo_frontend_router_queue_pending_requests", Release::new(1, 1)),
    ("dynamo_component_router_kv_hit_rate_count", Release::new(1, 0)),
];

/// Returns the sign of a model card.
pub(super) fn of_card(card: &Value, subject: Subject) -> Option<Fact> {
    let runtime = card.get("runtime_config")?;
    let has = |key: &str| runtime.get(key).is_some();
    let newest = RUNTIME.iter().find(|(key, _)| has(key)).map(|(_, release)| *release);
    let third = card.get("worker_type").map(|_| Release::new(1, 3));
    let most = if !has("data_parallel_start_rank") {
        Some(Release::new(0, 9))
    } else if !has("enable_eagle") {
        Some(Release::new(1, 0))
    } else {
        None
    };
    sign(subject, Releases { least: newest.max(third), most }, "model card")
}

/// Returns the sign of the record of an endpoint.
pub(super) fn of_endpoint(record: &Value, subject: Subject) -> Option<Fact> {
    let releases = if record.get("request_plane_codec").is_some() {
        Releases::from(1, 4)
    } else if record.get("device_type").is_some() {
        Releases::from(1, 1)
    } else {
        return None;
    };
    sign(subject, releases, "discovery record")
}

/// Returns the release that brought the metric of this line, when it is a sign.
pub(super) fn of_metric(line: &str) -> Option<Release> {
    let name = line.split(['{', ' ']).next()?;
    METRICS.iter().find(|(metric, _)| *metric == name).map(|(_, release)| *release)
}

/// Returns the sign of metrics, the newest of which came with `release`.
pub(super) fn of_metrics(release: Option<Release>, subject: Subject) -> Option<Fact> {
    sign(subject, Releases { least: release, most: None }, "metrics")
}

/// Returns the sign of a line of a log that names a choice of the router, or a warning of its index; `has`
/// returns true for a text that is in the line.
pub(super) fn of_line(has: impl Fn(&str) -> bool, subject: Subject) -> Option<Fact> {
    let releases = if has("dynamo_llm::kv_router::indexer: ") {
        Releases::up_to(0, 9)
    } else if has("Selected worker") {
        if has("router_mode=") {
            Releases::from(1, 3)
        } else if has("dynamo_kv_router::scheduling::selector: ") {
            Releases::from(1, 1)
        } else if has("dynamo_llm::kv_router::scheduler: ") {
            Releases::up_to(1, 0)
        } else {
            return None;
        }
    } else if has("dynamo_kv_router::") {
        Releases::from(1, 0)
    } else {
        return None;
    };
    sign(subject, releases, "log")
}

fn sign(subject: Subject, releases: Releases, by: &'static str) -> Option<Fact> {
    (!releases.is_open()).then_some(Fact::Sign(VersionSign { subject, releases, by }))
}
