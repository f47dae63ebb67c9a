//! Decoders against a second reading of the same bytes, by libraries that share no code with kvtop.

use kvtop::domain::{ClaimValue, ClaimWhat, Fact, KvKind};
use kvtop::frame::{KubeChange, Origin};
use kvtop::wire::{self, Facts};
use rmpv::Value;

use super::{corpus, fuzz};
use crate::decoders::{facts_of, of_subject, plane};

/// An event, as far as both readings know it: worker, rank, number, what happens, hashes.
type Event = (u64, u32, u64, &'static str, Vec<u64>);

fn unsigned(value: &Value) -> Option<u64> {
    // Hashes of some engines are signed, and are reinterpreted.
    value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned))
}

/// Returns the value of a key of a map whose keys are distinct texts.
fn get<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.as_map()?.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
}

/// Returns true where a key is no text, or occurs twice: kvtop refuses the one, and takes the last of the other.
fn is_odd(value: &Value) -> bool {
    match value {
        Value::Map(entries) => {
            let mut keys: Vec<String> = entries.iter().map(|(key, _)| key.to_string()).collect();
            keys.sort_unstable();
            entries.iter().any(|(key, _)| !key.is_str())
                || keys.windows(2).any(|pair| pair[0] == pair[1])
                || entries.iter().any(|(_, value)| is_odd(value))
        }
        Value::Array(items) => items.iter().any(is_odd),
        _ => false,
    }
}

fn event(value: &Value) -> Option<Event> {
    let worker = unsigned(get(value, "worker_id")?)?;
    if let Some(tier) = get(value, "storage_tier") {
        let known = ["device", "host_pinned", "disk", "external"];
        known.contains(&tier.as_str()?).then_some(())?;
    }
    let inner = get(value, "event")?;
    let number = unsigned(get(inner, "event_id")?)?;
    let rank = get(inner, "dp_rank").map_or(Some(0), unsigned)?;
    let rank = u32::try_from(rank).unwrap_or(u32::MAX);
    let data = get(inner, "data")?;
    if let Some(text) = data.as_str() {
        return (text == "cleared").then(|| (worker, rank, number, "cleared", Vec::new()));
    }
    let [(kind, data)] = &data.as_map()?[..] else { return None };
    let (kind, hashes) = match kind.as_str()? {
        "stored" => {
            let mut hashes = Vec::new();
            match get(data, "parent_hash") {
                None | Some(Value::Nil) => hashes.push(0),
                Some(parent) => hashes.extend([1, unsigned(parent)?]),
            }
            if let Some(blocks) = get(data, "blocks") {
                for block in blocks.as_array()? {
                    hashes.push(unsigned(get(block, "block_hash")?)?);
                    hashes.push(unsigned(get(block, "tokens_hash")?)?);
                }
            }
            data.as_map().map(|_| ("stored", hashes))?
        }
        "removed" => {
            let removed = match get(data, "block_hashes") {
                Some(list) => list.as_array()?.iter().map(unsigned).collect::<Option<_>>()?,
                None => Vec::new(),
            };
            data.as_map().map(|_| ("removed", removed))?
        }
        "cleared" => ("cleared", Vec::new()),
        _ => return None,
    };
    Some((worker, rank, number, kind, hashes))
}

fn kvtops(facts: &Facts) -> Vec<Event> {
    let read = facts.kv.events().iter().map(|event| {
        let (kind, hashes) = match &event.kind {
            KvKind::Stored { parent, blocks } => {
                let mut hashes = parent.map_or(vec![0], |parent| vec![1, parent.0]);
                let range = blocks.start as usize..blocks.end as usize;
                for block in &facts.kv.blocks()[range] {
                    hashes.extend([block.sequence.0, block.tokens.0]);
                }
                ("stored", hashes)
            }
            KvKind::Removed { hashes } => {
                let range = hashes.start as usize..hashes.end as usize;
                ("removed", facts.kv.removed()[range].iter().map(|hash| hash.0).collect())
            }
            KvKind::Cleared { .. } => ("cleared", Vec::new()),
        };
        (event.rank.worker.0, event.rank.dp_rank.0, event.event_id, kind, hashes)
    });
    read.collect()
}

/// The quick reader, the patient one and rmpv agree on what is an event and on every number in it.
#[test]
fn kv_events_in_messagepack_as_rmpv_reads_them() {
    let seeds: Vec<Vec<u8>> = of_subject(".kv-events")
        .iter()
        .filter_map(|message| match rmpv::decode::read_value(&mut &message[..]).ok()? {
            Value::Map(entries) => {
                let payload =
                    entries.into_iter().find(|(key, _)| key.as_str() == Some("payload"))?.1;
                payload.as_slice().filter(|payload| payload.len() < 500).map(<[u8]>::to_vec)
            }
            _ => None,
        })
        .collect();
    fuzz("kv_msgpack_rmpv", &seeds, |input| {
        let envelope = Value::Map(vec![
            ("publisher_id".into(), 7.into()),
            ("sequence".into(), 1.into()),
            ("published_at".into(), 5.into()),
            ("topic".into(), "kv-events".into()),
            ("payload".into(), Value::Binary(input.to_vec())),
        ]);
        let mut message = Vec::new();
        rmpv::encode::write_value(&mut message, &envelope).unwrap();
        let facts = facts_of(plane("kv-events"), &message);
        let mut rest = input;
        let Ok(value) = rmpv::decode::read_value(&mut rest) else {
            // Deeper than rmpv reads is passed over by kvtop, where the key is unknown.
            let deep = matches!(
                rmpv::decode::read_value(&mut &*input),
                Err(rmpv::decode::Error::DepthLimitExceeded)
            );
            assert!(facts.is_none_or(|facts| deep || facts.kv.events().is_empty()));
            return;
        };
        if is_odd(&value) {
            return;
        }
        let expected: Option<Vec<Event>> = match &value {
            Value::Array(items) => items.iter().map(event).collect(),
            one => event(one).map(|event| vec![event]),
        };
        let read = facts.map(|facts| kvtops(&facts));
        // rmpv reads the byte that MessagePack does not use as nil, kvtop refuses it.
        if read.is_none() && input.contains(&0xC1) {
            return;
        }
        assert_eq!(read, expected, "{value}");
    });
}

/// Gauges that stand for themselves are the numbers that a second reader of the format finds.
#[test]
fn pages_of_metrics_as_another_reader_reads_them() {
    const PLAIN: [&str; 4] = [
        "dynamo_component_total_blocks",
        "sglang_max_total_num_tokens",
        "dynamo_frontend_queued_requests",
        "trtllm_kv_cache_utilization",
    ];
    let mut seeds = corpus::lines_of_metrics(3);
    seeds.extend(PLAIN.iter().enumerate().map(|(at, name)| {
        let label = ["", "{model=\"a\"}", "{model=\"a\",dp_rank=\"1\"}", "{}"][at];
        format!("{name}{label} {at}.5\n").into_bytes()
    }));
    fuzz("prometheus_twice", &seeds, |input| {
        let text = String::from_utf8_lossy(input);
        // The other reader takes letters of all alphabets for names, splits values of labels at commas and signs
        // of equality, and reads comments about types.
        if !text.is_ascii() || text.contains(['#', '\\', '\r', '\x0b', '\x0c']) {
            return;
        }
        let quoted = text.split('"').skip(1).step_by(2);
        if quoted
            .into_iter()
            .any(|value| value.contains([',', '=', '}', '{', '\n', '\'']) || value.is_empty())
        {
            return;
        }
        let kept = String::from_utf8(wire::kept_of_scrape(text.as_bytes())).unwrap_or_default();
        // It also takes no braces without labels.
        let lines = kept.lines().map(|line| Ok(line.replacen("{}", "", 1)));
        let other = prometheus_parse::Scrape::parse(lines).unwrap();
        let value = |sample: &prometheus_parse::Sample| match sample.value {
            prometheus_parse::Value::Untyped(value) if value.is_finite() => Some(value.to_bits()),
            _ => None,
        };
        let mut expected: Vec<u64> = other
            .samples
            .iter()
            .filter(|sample| PLAIN.contains(&&*sample.metric))
            .filter_map(value)
            .collect();
        let origin = Origin::Metrics { pod: "worker-0".into(), url: "/metrics".into() };
        let facts = facts_of(origin, kept.as_bytes()).unwrap();
        let names = ["TotalBlocks", "TotalTokens", "Queued", "KvUtilization"];
        let gauge = |fact: &Fact| match fact {
            Fact::Gauge(gauge) if names.contains(&&*format!("{:?}", gauge.name)) => {
                Some(gauge.value.to_bits())
            }
            _ => None,
        };
        let mut read: Vec<u64> = facts.other.iter().filter_map(gauge).collect();
        // Other families feed the same gauges, and the other reader knows no colons in names.
        if kept.contains(':')
            || kept.contains("_perc")
            || kept.contains("token_usage")
            || kept.contains("cache_config")
        {
            return;
        }
        expected.sort_unstable();
        read.sort_unstable();
        assert_eq!(read, expected, "{kept}");
    });
}

/// The block size that kvtop reads in an engine's configuration is the one that the YAML holds.
#[test]
fn configurations_of_engines() {
    let texts = [
        "kv_cache_config:\n  tokens_per_block: 32\n  enable_block_reuse: true\n  dtype: fp8\n",
        "backend: pytorch\nmax_batch_size: 64\nkv_cache_config: {tokens_per_block: 64, free_gpu_memory_fraction: 0.8}\n",
        "block-size: 16\nkv-events-config: '{\"enable_kv_cache_events\": true, \"publisher\": \"zmq\"}'\n",
        "page-size: 32\ntp-size: 2\ndisable-radix-cache: true\n# a comment\nmodel-path: \"a/b\"\n",
        "{\"kv_cache_config\": {\"tokens_per_block\": 16, \"max_tokens\": 4096}}",
        "a: &x {tokens_per_block: 8}\nkv_cache_config:\n  <<: *x\n  event_buffer_max_size: 1024\n",
    ];
    let seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    fuzz("engine_yaml", &seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let map = serde_json::json!({
            "kind": "ConfigMap",
            "metadata": {"name": "c", "namespace": "n"},
            "data": {"a.yaml": text},
        });
        let origin = Origin::Kube { kind: "ConfigMap".into(), change: KubeChange::Listed };
        let Some(facts) = facts_of(origin, map.to_string().as_bytes()) else { return };
        let files = facts.other.iter().filter_map(|fact| match fact {
            Fact::ConfigFile(file) => file.settings.as_ref(),
            _ => None,
        });
        for setting in files.flatten() {
            let nested = setting.raw.starts_with("kv_cache_config.tokens_per_block");
            if setting.what != ClaimWhat::BlockSize || !nested {
                continue;
            }
            let value: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
            let size = &value["kv_cache_config"]["tokens_per_block"];
            let number = size.as_u64();
            // A size that is no number is kept as text.
            let expected = number.map(ClaimValue::Count);
            assert!(expected.is_none_or(|it| it == setting.value), "{size} {setting:?}");
        }
    });
}
