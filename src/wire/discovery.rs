//! Discovery records: model cards, instances and event channels, as etcd keys (`v1/…`) or as files that
//! are named after them.
//!
//! Values are the JSON of `DiscoveryInstance` (dynamo-runtime 0.9.0, `discovery/kv_store.rs:19` and
//! `discovery/mod.rs:408`; `EventChannel` changed in 1.4, `discovery/mod.rs:243`).

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::text::printable;
use super::{Facts, Reject, version_sign, whole};
use crate::domain::{
    Advertised, Basis, Channel, Claim, ClaimOf, ClaimValue, ClaimWhat, Fact, InstanceId, Medium,
    Membership, Placement, Subject, Transport, WorkerId,
};
use crate::dynamo::{plane, router};
use crate::frame::{Frame, Origin};

/// Longest name that is kept.
const NAME_LIMIT: usize = 200;

/// Most ranks that are believed of one process.
const RANK_LIMIT: u32 = 1024;

/// Most brokers that are kept of a channel.
const BROKER_LIMIT: usize = 16;

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let (store, key, put) = match &frame.origin {
        Origin::Etcd { key, put } => ("etcd", key, put),
        Origin::File { key, put } => ("file", key, put),
        _ => return Ok(()),
    };
    if !put {
        facts.other.extend(withdrawn(store, key));
        return Ok(());
    }
    if !key.starts_with("v1/") {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(whole(frame)?)
        .map_err(|_| Reject::new("discovery record: invalid JSON"))?;
    let source: Arc<str> = source_of(store, key).into();
    record(&value, &source, facts);
    facts.other.extend(served(&value));
    if let Some(channel) = channel(&value) {
        let channels = vec![channel];
        facts.other.push(Fact::Advertised(Advertised { record: source, pod: None, channels }));
    }
    Ok(())
}

/// Returns where a record was read.
fn source_of(store: &str, key: &str) -> String {
    format!("{store} {}", printable(key, NAME_LIMIT))
}

/// Adds what a discovery record says of processes and models; `source` is where it was read.
pub(super) fn record(value: &Value, source: &str, facts: &mut Facts) {
    match value.get("type").and_then(Value::as_str) {
        Some("Endpoint") => {
            facts.other.extend(membership(value, true));
            if let Some(id) = value.get("instance_id").and_then(Value::as_u64) {
                let subject = Subject::Worker(WorkerId(id));
                facts.other.extend(version_sign::of_endpoint(value, subject));
            }
        }
        Some("Model") => model_card(value, source, facts),
        _ => {}
    }
}

/// Reads a key whose value is gone: `v1/instances/{namespace}/{component}/{endpoint}/{id:x}`, the same
/// below `v1/mdc`, or that of a channel.
fn withdrawn(store: &str, key: &str) -> Option<Fact> {
    if key.starts_with(plane::CHANNELS) {
        let record = source_of(store, key).into();
        return Some(Fact::Advertised(Advertised { record, pod: None, channels: Vec::new() }));
    }
    let (rest, is_card) = match key.strip_prefix(plane::CARDS) {
        Some(rest) => (rest, true),
        None => (key.strip_prefix(plane::ENDPOINTS)?, false),
    };
    let mut parts = rest.split('/');
    let (namespace, component, endpoint) = (parts.next()?, parts.next()?, parts.next()?);
    let instance = InstanceId(u64::from_str_radix(parts.next()?, 16).ok()?);
    // The card of the serving endpoint made it a worker; cards of adapters have more parts.
    if is_card && (endpoint != "generate" || parts.next().is_some()) {
        return None;
    }
    Some(Fact::Membership(Membership {
        instance,
        namespace: shared(namespace),
        component: shared(component),
        endpoint: shared(endpoint),
        present: false,
    }))
}

pub(super) fn membership(value: &Value, present: bool) -> Option<Fact> {
    Some(Fact::Membership(Membership {
        instance: InstanceId(value.get("instance_id")?.as_u64()?),
        namespace: text(value, "namespace"),
        component: text(value, "component"),
        endpoint: text(value, "endpoint"),
        present,
    }))
}

/// Returns the worker that a model's card is of, at its serving endpoint: it is one before its first
/// event.
fn served(value: &Value) -> Option<Fact> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    if text("type") != Some("Model") || text("endpoint") != Some("generate") {
        return None;
    }
    let worker = WorkerId(value.get("instance_id")?.as_u64()?);
    Some(Fact::Placed(Placement { worker, pod: None, ranks: ranks(value) }))
}

/// Returns the data-parallel ranks of the process that a model's card is of.
pub(super) fn ranks(card: &Value) -> Range<u32> {
    let runtime = &card["card_json"]["runtime_config"];
    let count = |key: &str| runtime[key].as_u64().and_then(|n| u32::try_from(n).ok());
    let first = count("data_parallel_start_rank").unwrap_or(0);
    let ranks = count("data_parallel_size").unwrap_or(1).clamp(1, RANK_LIMIT);
    first..first.saturating_add(ranks)
}

fn model_card(value: &Value, source: &str, facts: &mut Facts) {
    let Some(id) = value.get("instance_id").and_then(Value::as_u64) else { return };
    let Some(card) = value.get("card_json") else { return };
    facts.other.extend(version_sign::of_card(card, Subject::Worker(WorkerId(id))));
    let runtime = card.get("runtime_config");
    let source: Arc<str> = source.into();
    let mut claim = |what, of, value, raw: String| {
        facts.other.push(Fact::Claim(Claim {
            what,
            of,
            subject: Subject::Worker(WorkerId(id)),
            model: None,
            value,
            basis: Basis::Observed,
            source: Arc::clone(&source),
            raw: raw.into(),
            set_by: None,
            medium: Medium::Settings,
        }));
    };
    if let Some(size) = card.get("kv_cache_block_size").and_then(Value::as_u64) {
        let raw = format!("kv_cache_block_size: {size}");
        claim(ClaimWhat::BlockSize, ClaimOf::Card, ClaimValue::Count(size), raw);
    }
    let total = runtime.and_then(|runtime| runtime.get("total_kv_blocks")).and_then(Value::as_u64);
    if let Some(total) = total {
        let raw = format!("runtime_config.total_kv_blocks: {total}");
        claim(ClaimWhat::TotalKvBlocks, ClaimOf::Card, ClaimValue::Count(total), raw);
    }
    for (key, what) in
        [("max_num_seqs", ClaimWhat::MaxNumSeqs), ("data_parallel_size", ClaimWhat::DataParallel)]
    {
        if let Some(count) = runtime.and_then(|runtime| runtime.get(key)).and_then(Value::as_u64) {
            let raw = format!("runtime_config.{key}: {count}");
            claim(what, ClaimOf::Card, ClaimValue::Count(count), raw);
        }
    }
    for (key, what) in [
        ("enable_local_indexer", ClaimWhat::LocalIndexer),
        ("kv_event_publishing_enabled", ClaimWhat::PublishesEvents),
    ] {
        if let Some(flag) = runtime.and_then(|runtime| runtime.get(key)).and_then(Value::as_bool) {
            let raw = format!("runtime_config.{key}: {flag}");
            claim(what, ClaimOf::Card, ClaimValue::Flag(flag), raw);
        }
    }
    // The router of these workers, which overrides the frontend's (dynamo-llm 1.6.1, `discovery/watcher.rs`,
    // `effective_router_config`).
    let mode = card.pointer("/router_config/router_mode").and_then(Value::as_str);
    if let Some((word, mode)) = mode.and_then(|word| Some((word, router::mode_of_card(word)?))) {
        let raw = format!("router_config.router_mode: {word}");
        claim(ClaimWhat::RouterMode, ClaimOf::Card, ClaimValue::Text(mode.into()), raw);
    }
    // From 1.3 on the card says which part of serving the worker does (dynamo-llm 1.6.1, `model_card.rs`).
    for (key, what) in [("display_name", ClaimWhat::Model), ("worker_type", ClaimWhat::WorkerType)]
    {
        if let Some(name) = card.get(key).and_then(Value::as_str) {
            let name = shared(name);
            let raw = format!("{key}: {name}");
            claim(what, ClaimOf::Card, ClaimValue::Text(name), raw);
        }
    }
}

/// Reads the record of a channel; none when it is another record, or cannot be read.
pub(super) fn channel(value: &Value) -> Option<Channel> {
    if value.get("type").and_then(Value::as_str) != Some("EventChannel") {
        return None;
    }
    let transport = value.get("transport")?;
    let config = transport.get("config");
    let field = |key| config.and_then(|config| config.get(key));
    let transport = match transport.get("kind").and_then(Value::as_str)? {
        "Nats" => Transport::Nats { prefix: shared(field("subject_prefix")?.as_str()?) },
        "Zmq" => Transport::Zmq { endpoint: shared(field("endpoint")?.as_str()?) },
        "ZmqBroker" => Transport::ZmqBroker {
            endpoints: field("xpub_endpoints")?
                .as_array()?
                .iter()
                .filter_map(Value::as_str)
                .take(BROKER_LIMIT)
                .map(shared)
                .collect(),
        },
        _ => return None,
    };
    Some(Channel {
        namespace: namespace(value),
        topic: text(value, "topic"),
        publisher: value.get("instance_id")?.as_u64()?,
        transport,
    })
}

/// Returns the Dynamo namespace of a channel: its own up to 1.3, that of its scope from 1.4 on.
fn namespace(value: &Value) -> Arc<str> {
    let Some(scope) = value.get("scope") else { return text(value, "namespace") };
    let of = match scope.get("kind").and_then(Value::as_str) {
        Some("namespace") => scope.get("name"),
        Some("endpoint") => scope.get("endpoint").and_then(|endpoint| endpoint.get("namespace")),
        _ => scope.get("namespace"),
    };
    shared(of.and_then(Value::as_str).unwrap_or_default())
}

fn text(value: &Value, key: &str) -> Arc<str> {
    shared(value.get(key).and_then(Value::as_str).unwrap_or_default())
}

fn shared(text: &str) -> Arc<str> {
    printable(text, NAME_LIMIT).into()
}
