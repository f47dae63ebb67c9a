//! Discovery records: who is there, with which model card, publishing what.

use super::config::WorkerConfig;
use super::names::{MODEL, NAMESPACE, component, publisher_id, scope};
use crate::wire::encode::Family;

/// A key and its value.
pub(super) type Record = (String, String);

/// Returns the records of a worker of `instance` at `address`.
pub(super) fn worker(
    family: Family,
    instance: u64,
    address: &str,
    config: &WorkerConfig,
    dp_ranks: u32,
) -> Vec<Record> {
    let component = component(family);
    let path = format!("{NAMESPACE}/{component}/generate/{instance:x}");
    let mut records = vec![
        (format!("v1/mdc/{path}"), model(family, instance, config, dp_ranks)),
        (
            format!("v1/instances/{path}"),
            endpoint(family, instance, component, "generate", address),
        ),
    ];
    if !config.publishes {
        return records;
    }
    records.push(channel(family, instance, 0, "kv_metrics"));
    if !family.uses_jetstream() {
        for dp_rank in 0..dp_ranks {
            records.push(channel(family, instance, dp_rank, "kv-events"));
            if family >= Family::V1_4 {
                records.push(event_source(family, instance, dp_rank));
            }
        }
    }
    records
}

/// Returns the records of a router of `instance` at `address`.
pub(super) fn router(family: Family, instance: u64, address: &str) -> Vec<Record> {
    let (component, name) = if family == Family::V0_9 {
        ("kv-router", "generate")
    } else {
        (component(family), "router-discovery")
    };
    let mut records = vec![(
        format!("v1/instances/{NAMESPACE}/{component}/{name}/{instance:x}"),
        endpoint(family, instance, component, name, address),
    )];
    if family < Family::V1_5 {
        records.push(channel(family, instance, 0, "kv_metrics"));
    }
    if family == Family::V0_9 {
        records.push(channel(family, instance, 0, "kv-hit-rate"));
    }
    records
}

fn endpoint(family: Family, instance: u64, component: &str, name: &str, address: &str) -> String {
    let extra = if family >= Family::V1_4 {
        r#","device_type":"cuda","request_plane_codec":"msgpack""#
    } else {
        ""
    };
    format!(
        r#"{{"type":"Endpoint","component":"{component}","endpoint":"{name}","namespace":"{NAMESPACE}","instance_id":{instance},"transport":{{"tcp":"{address}/{instance:x}/{name}"}}{extra}}}"#
    )
}

fn model(family: Family, instance: u64, config: &WorkerConfig, dp_ranks: u32) -> String {
    let component = component(family);
    let (card, total) = (config.card, config.capacity);
    let local = if family >= Family::V1_1 {
        r#""data_parallel_start_rank":0,"enable_local_indexer":true,"enable_eagle":false"#
    } else if family >= Family::V1_0 {
        r#""data_parallel_start_rank":0,"enable_local_indexer":true"#
    } else {
        r#""enable_local_indexer":false"#
    };
    format!(
        r#"{{"type":"Model","namespace":"{NAMESPACE}","component":"{component}","endpoint":"generate","instance_id":{instance},"card_json":{{"display_name":"{MODEL}","slug":"qwen_qwen3-0_6b","context_length":40960,"kv_cache_block_size":{card},"migration_limit":0,"model_type":"Chat | Completions","model_input":"Tokens","runtime_config":{{"total_kv_blocks":{total},"max_num_seqs":48,"max_num_batched_tokens":8192,"tool_call_parser":null,"reasoning_parser":null,"data_parallel_size":{dp_ranks},{local}}}}}}}"#
    )
}

fn channel(family: Family, instance: u64, dp_rank: u32, topic: &'static str) -> Record {
    let publisher = publisher_id(family, instance, dp_rank, topic);
    let prefix = scope(family, topic);
    let transport = format!(r#"{{"kind":"Nats","config":{{"subject_prefix":"{prefix}"}}}}"#);
    if family.scopes_by_endpoint() {
        let (path, scope) = endpoint_scope(family);
        let key = format!("v1/event_channels/{path}/topic/{topic}/{publisher:x}");
        let value = format!(
            r#"{{"type":"EventChannel","scope":{scope},"topic":"{topic}","instance_id":{publisher},"transport":{transport}}}"#
        );
        return (key, value);
    }
    let component = if topic == "kv-events" { component(family) } else { "" };
    let key = format!("v1/event_channels/{NAMESPACE}/{component}/{topic}/{publisher:x}");
    let value = format!(
        r#"{{"type":"EventChannel","namespace":"{NAMESPACE}","component":"{component}","topic":"{topic}","instance_id":{publisher},"transport":{transport}}}"#
    );
    (key, value)
}

fn event_source(family: Family, instance: u64, dp_rank: u32) -> Record {
    let component = component(family);
    let publisher = publisher_id(family, instance, dp_rank, "kv-events");
    let (path, scope) = endpoint_scope(family);
    let key = format!("v1/event_sources/{path}/topic/kv-events/{publisher:x}");
    let value = format!(
        r#"{{"type":"EventSource","scope":{scope},"topic":"kv-events","publisher_id":{publisher},"metadata":{{"kv_state_endpoint":{{"namespace":"{NAMESPACE}","component":"{component}","name":"generate"}},"worker":{{"worker_id":{instance},"dp_rank":{dp_rank}}},"publisher_id":{publisher}}}}}"#
    );
    (key, value)
}

/// Returns the scope of topics from 1.4 on, as part of a key and as JSON.
fn endpoint_scope(family: Family) -> (String, String) {
    let component = component(family);
    (
        format!("namespace/{NAMESPACE}/component/{component}/endpoint/generate"),
        format!(
            r#"{{"kind":"endpoint","endpoint":{{"namespace":"{NAMESPACE}","component":"{component}","name":"generate"}}}}"#
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
            let mut records = worker(family, 0x1b_5d93_a11f_68d0, "10.42.0.17:38871", &config, 2);
            records.extend(router(family, 7, "10.42.0.3:9000"));
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
        let (key, _) = channel(Family::V0_9, 0x995_a1fb_4379_c009, 0, "kv_metrics");

        assert_eq!(key, "v1/event_channels/gtc-demo-gtc-demo//kv_metrics/995a1fb4379c009");
    }
}
