//! Signs by which a process betrays its release.
//!
//! Each was looked up in recordings of 0.9.0, 0.9.1, 1.0.2, 1.1.1, 1.2.1, 1.3.1, 1.4.2, 1.5.1 and 1.6.1.

use crate::domain::{Release, Releases};

/// Fields of a card's `runtime_config` by the release that brought them, newest first.
pub const RUNTIME_FIELDS: [(&str, Release); 4] = [
    ("tool_call_arguments_format", Release::new(1, 5)),
    ("kv_event_publishing_enabled", Release::new(1, 4)),
    ("enable_eagle", Release::new(1, 1)),
    ("data_parallel_start_rank", Release::new(1, 0)),
];

/// Of those, the fields that are never left out from their release on, so that their absence tells the newest
/// release that it may be (dynamo-llm 1.0.0 and 1.1.0, `local_model/runtime_config.rs`), oldest first.
pub const NEVER_LEFT_OUT: [(&str, Release); 2] =
    [("data_parallel_start_rank", Release::new(0, 9)), ("enable_eagle", Release::new(1, 0))];

/// A field of the card itself, with its first release.
pub const CARD_FIELD: (&str, Release) = ("worker_type", Release::new(1, 3));

/// Fields of an endpoint's record by the release that brought them, newest first.
pub const ENDPOINT_FIELDS: [(&str, Release); 2] =
    [("request_plane_codec", Release::new(1, 4)), ("device_type", Release::new(1, 1))];

/// Metrics by the release that brought them, newest first.
pub const METRICS: [(&str, Release); 7] = [
    ("dynamo_component_router_non_max_overlap_selections_total", Release::new(1, 5)),
    // Where events travel by ZMQ, 1.4.2, 1.5.1 and 1.6.1 have it, 1.3.1 has not.
    ("dynamo_component_router_kv_zmq_ingress_batches_total", Release::new(1, 4)),
    ("dynamo_component_router_kv_event_source_mismatch_workers", Release::new(1, 4)),
    ("dynamo_component_router_worker_registered", Release::new(1, 3)),
    ("dynamo_frontend_stage_requests", Release::new(1, 2)),
    ("dynamo_frontend_router_queue_pending_requests", Release::new(1, 1)),
    ("dynamo_component_router_kv_hit_rate_count", Release::new(1, 0)),
];

/// A router's line that names the worker it chose.
pub const CHOICE: &str = "Selected worker";

/// Words of such a line, with the releases that write them, the most telling first.
pub const CHOICE_WORDS: [(&str, Releases); 3] = [
    ("router_mode=", Releases::from(1, 3)),
    ("dynamo_kv_router::scheduling::selector: ", Releases::from(1, 1)),
    ("dynamo_llm::kv_router::scheduler: ", Releases::up_to(1, 0)),
];

/// The module that writes an index's warnings up to 0.9.
pub const OLD_INDEX: (&str, Releases) = ("dynamo_llm::kv_router::indexer: ", Releases::up_to(0, 9));

/// The crate that routes from 1.0 on.
pub const ROUTER_CRATE: (&str, Releases) = ("dynamo_kv_router::", Releases::from(1, 0));
