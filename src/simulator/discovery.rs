//! Discovery records: who is there, with which model card, publishing what.

use super::config::WorkerConfig;
use super::names::{component, publisher_id};
use super::site::Site;
use crate::dynamo::plane;
use crate::wire::encode::Family;

/// A key and its value.
pub(super) type Record = (String, String);

/// Returns the records of a worker of `instance` at `address`.
pub(super) fn worker(
    site: &Site,
    family: Family,
    instance: u64,
    address: &str,
    config: &WorkerConfig,
    (dp_ranks, batch): (u32, usize),
) -> Vec<Record> {
    let (namespace, component) = (site.namespace, component(family));
    let path = format!("{namespace}/{component}/generate/{instance:x}");
    let mut records = vec![
        (
            format!("{}{path}", plane::CARDS),
            model(site, family, instance, config, (dp_ranks, batch)),
        ),
        (
            format!("{}{path}", plane::ENDPOINTS),
            endpoint(site, family, instance, component, "generate", address),
        ),
    ];
    if !config.publishes {
        return records;
    }
    records.push(channel(site, family, instance, 0, plane::LOAD));
    if !family.uses_jetstream() {
        for dp_rank in 0..dp_ranks {
            records.push(channel(site, family, instance, dp_rank, plane::KV_EVENTS));
            if family >= Family::V1_4 {
                records.push(event_source(site, family, instance, dp_rank));
            }
        }
    }
    records
}

/// Returns the records of a router of `instance` at `address`.
pub(super) fn router(site: &Site, family: Family, instance: u64, address: &str) -> Vec<Record> {
    let namespace = site.namespace;
    let (component, name) = if family == Family::V0_9 {
        ("kv-router", "generate")
    } else {
        (component(family), "router-discovery")
    };
    let mut records = vec![(
        format!("{}{namespace}/{component}/{name}/{instance:x}", plane::ENDPOINTS),
        endpoint(site, family, instance, component, name, address),
    )];
    if family < Family::V1_5 {
        records.push(channel(site, family, instance, 0, plane::LOAD));
    }
    if family == Family::V0_9 {
        records.push(channel(site, family, instance, 0, plane::HIT_RATE));
    }
    records
}

fn endpoint(
    site: &Site,
    family: Family,
    instance: u64,
    component: &str,
    name: &str,
    address: &str,
) -> String {
    let namespace = site.namespace;
    let extra = if family >= Family::V1_4 {
        r#","device_type":"cuda","request_plane_codec":"msgpack""#
    } else {
        ""
    };
    format!(
        r#"{{"type":"Endpoint","component":"{component}","endpoint":"{name}","namespace":"{namespace}","instance_id":{instance},"transport":{{"tcp":"{address}/{instance:x}/{name}"}}{extra}}}"#
    )
}

fn model(
    site: &Site,
    family: Family,
    instance: u64,
    config: &WorkerConfig,
    (dp_ranks, batch): (u32, usize),
) -> String {
    let (namespace, component) = (site.namespace, component(family));
    let (model, slug) = (site.model, site.slug());
    let (card, total) = (config.card, config.capacity);
    let local = if family >= Family::V1_1 {
        r#""data_parallel_start_rank":0,"enable_local_indexer":true,"enable_eagle":false"#
    } else if family >= Family::V1_0 {
        r#""data_parallel_start_rank":0,"enable_local_indexer":true"#
    } else {
        r#""enable_local_indexer":false"#
    };
    format!(
        r#"{{"type":"Model","namespace":"{namespace}","component":"{component}","endpoint":"generate","instance_id":{instance},"card_json":{{"display_name":"{model}","slug":"{slug}","context_length":40960,"kv_cache_block_size":{card},"migration_limit":0,"model_type":"Chat | Completions","model_input":"Tokens","runtime_config":{{"total_kv_blocks":{total},"max_num_seqs":{batch},"max_num_batched_tokens":8192,"tool_call_parser":null,"reasoning_parser":null,"data_parallel_size":{dp_ranks},{local}}}}}}}"#
    )
}

fn channel(
    site: &Site,
    family: Family,
    instance: u64,
    dp_rank: u32,
    topic: &'static str,
) -> Record {
    let publisher = publisher_id(family, instance, dp_rank, topic);
    let prefix = site.scope(family, topic);
    let transport = format!(r#"{{"kind":"Nats","config":{{"subject_prefix":"{prefix}"}}}}"#);
    if family.scopes_by_endpoint() {
        let (path, scope) = endpoint_scope(site, family);
        let key = format!("{}{path}/topic/{topic}/{publisher:x}", plane::CHANNELS);
        let value = format!(
            r#"{{"type":"EventChannel","scope":{scope},"topic":"{topic}","instance_id":{publisher},"transport":{transport}}}"#
        );
        return (key, value);
    }
    let namespace = site.namespace;
    let component = if topic == plane::KV_EVENTS { component(family) } else { "" };
    let key = format!("{}{namespace}/{component}/{topic}/{publisher:x}", plane::CHANNELS);
    let value = format!(
        r#"{{"type":"EventChannel","namespace":"{namespace}","component":"{component}","topic":"{topic}","instance_id":{publisher},"transport":{transport}}}"#
    );
    (key, value)
}

fn event_source(site: &Site, family: Family, instance: u64, dp_rank: u32) -> Record {
    let (namespace, component) = (site.namespace, component(family));
    let publisher = publisher_id(family, instance, dp_rank, plane::KV_EVENTS);
    let (path, scope) = endpoint_scope(site, family);
    let topic = plane::KV_EVENTS;
    let key = format!("{}{path}/topic/{topic}/{publisher:x}", plane::SOURCES);
    let value = format!(
        r#"{{"type":"EventSource","scope":{scope},"topic":"{topic}","publisher_id":{publisher},"metadata":{{"kv_state_endpoint":{{"namespace":"{namespace}","component":"{component}","name":"generate"}},"worker":{{"worker_id":{instance},"dp_rank":{dp_rank}}},"publisher_id":{publisher}}}}}"#
    );
    (key, value)
}

/// Returns the scope of topics from 1.4 on, as part of a key and as JSON.
fn endpoint_scope(site: &Site, family: Family) -> (String, String) {
    let (namespace, component) = (site.namespace, component(family));
    (
        format!("namespace/{namespace}/component/{component}/endpoint/generate"),
        format!(
            r#"{{"kind":"endpoint","endpoint":{{"namespace":"{namespace}","component":"{component}","name":"generate"}}}}"#
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_json_and_name_the_block_size() {
        let config =
            WorkerConfig { engine: 16, publisher: 32, card: 32, capacity: 640, publishes: true };

        for family in Family::ALL {
            let mut records = worker(
                &Site::RECORDED,
                family,
                0x1b_5d93_a11f_68d0,
                "10.42.0.17:38871",
                &config,
                (2, 48),
            );
            records.extend(router(&Site::RECORDED, family, 7, "10.42.0.3:9000"));
            for (key, value) in records {
                let value: serde_json::Value = serde_json::from_str(&value).expect("JSON");
                let model = value.pointer("/card_json/kv_cache_block_size");
                assert_eq!(model.is_some(), key.starts_with("v1/mdc/"), "{key}");
                assert!(model.is_none_or(|size| *size == 32));
            }
        }
    }

    #[test]
    fn a_key_ends_with_the_instance_in_hexadecimal() {
        let (key, _) =
            channel(&Site::RECORDED, Family::V0_9, 0x995_a1fb_4379_c009, 0, "kv_metrics");

        assert_eq!(key, "v1/event_channels/gtc-demo-gtc-demo//kv_metrics/995a1fb4379c009");
    }
}
