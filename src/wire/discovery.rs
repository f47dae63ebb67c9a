//! Discovery records: model cards, instances and event channels, as etcd keys (`v1/…`).
//!
//! Values are the JSON of `DiscoveryInstance` (dynamo-runtime 0.9.0, `discovery/kv_store.rs:19` and
//! `discovery/mod.rs:408`; `EventChannel` changed in 1.4, `discovery/mod.rs:243`).

use std::sync::Arc;

use serde_json::Value;

use super::text::printable;
use super::{Facts, Reject, whole};
use crate::domain::{
    Basis, Channel, Claim, ClaimOf, ClaimValue, ClaimWhat, Fact, InstanceId, Membership, Subject,
    Transport, WorkerId,
};
use crate::frame::{Frame, Origin};

/// Longest name that is kept.
const NAME_LIMIT: usize = 200;

pub(super) fn decode_etcd(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let Origin::Etcd { key, put } = &frame.origin else { return Ok(()) };
    if !put {
        if let Some(fact) = withdrawn(key) {
            facts.other.push(fact);
        }
        return Ok(());
    }
    if !key.starts_with("v1/") {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(whole(frame)?)
        .map_err(|_| Reject::new("discovery record: invalid JSON"))?;
    record(&value, &format!("etcd {}", printable(key, NAME_LIMIT)), facts);
    Ok(())
}

/// Adds what a discovery record says; `source` is where it was read.
pub(super) fn record(value: &Value, source: &str, facts: &mut Facts) {
    match value.get("type").and_then(Value::as_str) {
        Some("Endpoint") => facts.other.extend(membership(value, true)),
        Some("Model") => model_card(value, source, facts),
        Some("EventChannel") => facts.other.extend(channel(value)),
        _ => {}
    }
}

/// Reads `v1/instances/{namespace}/{component}/{endpoint}/{id:x}`, whose value is gone.
fn withdrawn(key: &str) -> Option<Fact> {
    let mut parts = key.strip_prefix("v1/instances/")?.split('/');
    let (namespace, component, endpoint) = (parts.next()?, parts.next()?, parts.next()?);
    let instance = InstanceId(u64::from_str_radix(parts.next()?, 16).ok()?);
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

fn model_card(value: &Value, source: &str, facts: &mut Facts) {
    let Some(id) = value.get("instance_id").and_then(Value::as_u64) else { return };
    let Some(card) = value.get("card_json") else { return };
    let runtime = card.get("runtime_config");
    let source: Arc<str> = source.into();
    let mut claim = |what, of, value, raw: String| {
        facts.other.push(Fact::Claim(Claim {
            what,
            of,
            subject: Subject::Worker(WorkerId(id)),
            value,
            basis: Basis::Observed,
            source: Arc::clone(&source),
            raw: raw.into(),
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
    if let Some(name) = card.get("display_name").and_then(Value::as_str) {
        let name = shared(name);
        let raw = format!("display_name: {name}");
        claim(ClaimWhat::Model, ClaimOf::Card, ClaimValue::Text(name), raw);
    }
}

fn channel(value: &Value) -> Option<Fact> {
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
                .map(shared)
                .collect(),
        },
        _ => return None,
    };
    Some(Fact::Channel(Channel {
        topic: text(value, "topic"),
        publisher: value.get("instance_id")?.as_u64()?,
        transport: Some(transport),
    }))
}

fn text(value: &Value, key: &str) -> Arc<str> {
    shared(value.get(key).and_then(Value::as_str).unwrap_or_default())
}

fn shared(text: &str) -> Arc<str> {
    printable(text, NAME_LIMIT).into()
}
