//! Every decoder against frames of real deployments, and against what cannot be read.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;

use crate::support::{captures, fixture, frames};
use kvtop::domain::{KvBatch, KvKind, Timestamp};
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::wire::{DECODERS, Facts, decode};

fn described(batch: &KvBatch, out: &mut String) {
    for event in batch.events() {
        let what = match &event.kind {
            KvKind::Stored { parent, blocks } => {
                let blocks: Vec<_> = batch
                    .blocks_of(blocks)
                    .iter()
                    .map(|block| format!("{}:{}", block.sequence.0, block.tokens.0))
                    .collect();
                format!("stored under {:?}: {}", parent.map(|hash| hash.0), blocks.join(" "))
            }
            KvKind::Removed { hashes } => {
                let hashes: Vec<_> =
                    batch.removed_of(hashes).iter().map(|hash| hash.0.to_string()).collect();
                format!("removed: {}", hashes.join(" "))
            }
            KvKind::Cleared { scope } => format!("cleared: {scope:?}"),
        };
        let tier = event.tier.name();
        writeln!(out, "  {} {tier} event {} {what}", event.rank, event.event_id).unwrap();
    }
}

#[test]
fn every_decoder_reads_its_fixtures_as_recorded() {
    let folders: BTreeSet<String> = std::fs::read_dir(fixture("wire"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let decoders: BTreeSet<String> = DECODERS.iter().map(|decoder| decoder.id.into()).collect();
    assert_eq!(decoders, folders, "each decoder has a folder, each folder a decoder");
    for folder in &folders {
        let mut cases: Vec<_> = std::fs::read_dir(fixture("wire").join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        cases.sort();
        for case in cases {
            let mut out = String::new();
            for frame in frames(&case) {
                let mut facts = Facts::default();
                let read = decode(&frame, &mut facts);
                writeln!(out, "{} -> {read:?}", frame.origin.kind()).unwrap();
                described(&facts.kv, &mut out);
                for fact in &facts.other {
                    writeln!(out, "  {fact:?}").unwrap();
                }
            }
            let name = case.file_stem().unwrap().to_str().unwrap();
            insta::assert_snapshot!(format!("{folder}__{name}"), out);
        }
    }
}

#[test]
fn every_fixture_is_accepted_by_the_decoder_it_is_filed_under() {
    for decoder in DECODERS {
        for entry in std::fs::read_dir(fixture("wire").join(decoder.id)).unwrap() {
            for frame in frames(&entry.unwrap().path()) {
                let first = DECODERS.iter().find(|other| (other.accepts)(&frame)).unwrap();
                assert_eq!(first.id, decoder.id);
            }
        }
    }
}

#[test]
fn a_message_that_is_cut_anywhere_is_rejected_or_ignored_without_a_trace() {
    for (name, path) in captures() {
        let events = frames(&path).into_iter().filter(|frame| {
            matches!(&frame.origin, Origin::Nats { subject, .. } if subject.ends_with("kv-events"))
        });
        for frame in events.take(3) {
            let Body::Whole(bytes) = &frame.body else { continue };
            for length in (0..bytes.len()).step_by(7) {
                let mut facts = Facts::default();
                let cut = Frame { body: Body::Whole(bytes.slice(..length)), ..frame.clone() };
                let read = decode(&cut, &mut facts);
                assert!(read.is_err() || facts.kv.is_empty(), "{name} at {length}");
                assert!(facts.kv.is_empty(), "{name} at {length}");
            }
        }
    }
}

/// Keys that decoders of objects look for.
const KEYS: &str = "metadata name namespace labels spec status containers command args env value \
    valueFrom secretKeyRef configMapKeyRef envFrom configMapRef secretRef prefix optional key volumes volumeMounts configMap mountPath services components \
    extraPodSpec mainContainer podTemplate data endpoints model_cards event_channels event_sources \
    card_json instance_id runtime_config data_parallel_size type targetRef conditions image ports \
    containerPort a.yaml nvidia.com/dynamo-component-type ownerReferences kind";

/// Texts that decoders of objects look into.
const TEXTS: &[&str] = &[
    "main",
    "sh",
    "-c",
    "python3 -m dynamo.trtllm --kv-block-size $B '",
    "-m",
    "dynamo.vllm",
    "--block-size",
    "--kv-block-size=",
    "99999999999999999999",
    "-1",
    "NATS_SERVER",
    "a:b@c",
    "$(X)",
    "$(",
    "Model",
    "EventChannel",
    "frontend",
    "worker",
    "Pod",
    "x:1.6.1",
    "kv_cache_config: {tokens_per_block: 16}",
    "&a [*a, *a]",
    "/..//",
    "--override-engine-args",
    "{\"kv_cache_config\":{\"tokens_per_block\":1e400}}",
    "\u{202e}",
    "a",
    "Running",
];

/// JSON of any shape whose keys and texts are mostly those that decoders look for.
fn objects() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let keys = prop::sample::select(KEYS.split_whitespace().collect::<Vec<_>>());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(TEXTS).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 96, 8, move |inner| {
        let pairs = prop::collection::vec((keys.clone(), inner.clone()), 0..8);
        let object = |pairs: Vec<(&str, Value)>| -> Value {
            pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
        };
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            pairs.prop_map(object),
        ]
    })
}

/// Gives an object a name, since nothing without a name is read.
fn named(mut object: serde_json::Value) -> serde_json::Value {
    if let Some(map) = object.as_object_mut() {
        let metadata = map.entry("metadata").or_insert_with(|| serde_json::json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("name".to_owned(), "a".into());
        }
    }
    object
}

fn kinds() -> impl Strategy<Value = Origin> {
    let kinds = prop::sample::select(vec![
        "Pod",
        "DynamoGraphDeployment",
        "DynamoWorkerMetadata",
        "EndpointSlice",
        "ConfigMap",
        "Other",
    ]);
    let changes = prop::sample::select(KubeChange::ALL.to_vec());
    (kinds, changes).prop_map(|(kind, change)| Origin::Kube { kind: kind.into(), change })
}

fn origins() -> impl Strategy<Value = Origin> {
    prop_oneof![
        Just(Origin::nats("namespace.a.component.b.kv-events")),
        Just(Origin::nats("namespace.a.kv_metrics")),
        Just(Origin::nats("namespace.a.kv-hit-rate")),
        Just(Origin::nats("namespace.a.component.b.active_sequences_events")),
        Just(Origin::nats("namespace-a-component-b-kv-events.kv-events")),
        Just(Origin::log("a", "pod")),
        Just(Origin::Metrics { pod: "pod".into(), url: "/metrics".into() }),
        Just(Origin::Etcd { key: "v1/mdc/a/b/c/1".into(), put: true }),
        Just(Origin::Indexer { url: "http://x:1".into() }),
        Just(Origin::Health { source: "nats".into() }),
        kinds(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_never_panic(
        origin in origins(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut facts = Facts::default();
        let frame = Frame::new(Timestamp(1), origin, bytes);
        // Whatever it answers, it answers.
        let answered = decode(&frame, &mut facts);
        prop_assert!(answered.is_ok() || answered.is_err());
    }

    #[test]
    fn arbitrary_objects_that_take_from_each_other_never_panic(
        objects in prop::collection::vec((kinds(), objects()), 2..8),
    ) {
        let mut engine = kvtop::engine::Engine::new(kvtop::engine::EngineOptions::default());
        for (at, (origin, object)) in objects.into_iter().enumerate() {
            let at = Timestamp(at as u64);
            engine.ingest(&[Frame::new(at, origin, named(object).to_string())]);
        }
        let picture = engine.snapshot(&kvtop::snapshot::ViewQuery::default(), Timestamp(9));
        prop_assert!(picture.frames >= 2);
    }

    #[test]
    fn arbitrary_objects_never_panic(origin in kinds(), object in objects()) {
        let object = named(object);
        let frame = Frame::new(Timestamp(1), origin, object.to_string());
        let mut engine = kvtop::engine::Engine::new(kvtop::engine::EngineOptions::default());
        engine.ingest(&[frame.clone(), frame]);
        let picture = engine.snapshot(&kvtop::snapshot::ViewQuery::default(), Timestamp(2));
        prop_assert!(picture.frames == 2);
    }

    #[test]
    fn arbitrary_text_never_panics(
        origin in origins(),
        mark in prop::sample::select(vec![
            "Selected worker: worker_id=", "Formula for worker_id=1 dp_rank=0 with ",
            "Failed to find parent block; skipping store operation ",
            "route request completed ", "Block not published. Block size must be ",
            "{\"message\":\"Selected worker\",", "trtllm_kv_cache_utilization",
            "dynamo_frontend_model_kv_cache_block_size{model=", "tokens per block=",
            "TensorRT-LLM engine args: {'tokens_per_block': ", "GPU KV cache size: ", "",
        ]),
        tail in "\\PC{0,80}",
    ) {
        let mut facts = Facts::default();
        let frame = Frame::new(Timestamp(1), origin, format!("{mark}{tail}"));
        let answered = decode(&frame, &mut facts);
        prop_assert!(answered.is_ok() || answered.is_err());
    }
}
