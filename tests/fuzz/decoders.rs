//! What comes over the wire: events, logs, metrics, objects, records, recordings.

use std::io::Cursor;
use std::path::Path;

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::record::Recording;
use kvtop::snapshot::ViewQuery;
use kvtop::wire::{self, Facts};

use super::{corpus, fuzz};

const AT: Timestamp = Timestamp(1_795_224_204_000_000);

/// Decodes a frame and returns what it says; none when it was refused.
fn decoded(origin: Origin, body: impl Into<Vec<u8>>) -> Option<(String, usize)> {
    let mut facts = Facts::default();
    let frame = Frame::new(AT, origin, body.into());
    wire::decode(&frame, &mut facts).ok()?;
    Some((format!("{:?} {:?}", facts.kv, facts.other), facts.kv.events().len()))
}

/// Decodes a frame; none when it was refused.
pub(crate) fn facts_of(origin: Origin, body: &[u8]) -> Option<Facts> {
    let mut facts = Facts::default();
    wire::decode(&Frame::new(AT, origin, body.to_vec()), &mut facts).ok()?;
    Some(facts)
}

fn decode(origin: Origin, body: &[u8]) {
    let mut facts = Facts::default();
    // What is refused is refused with a reason.
    if let Err(reject) = wire::decode(&Frame::new(AT, origin, body.to_vec()), &mut facts) {
        assert!(!reject.why.is_empty());
    }
}

fn durable() -> Origin {
    Origin::nats("namespace-dynamo-component-backend-kv-events.kv-events")
}

pub(crate) fn plane(topic: &str) -> Origin {
    Origin::nats(&format!("namespace.dynamo.component.backend.{topic}"))
}

pub(crate) fn of_subject(end: &str) -> Vec<Vec<u8>> {
    let seeds = corpus::frames(150)
        .into_iter()
        .filter(|seed| seed.from["subject"].as_str().is_some_and(|subject| subject.ends_with(end)));
    seeds.map(|seed| seed.body).collect()
}

/// The quick reader of events and the patient one say the same, and neither reads what is no JSON.
#[test]
fn kv_events_in_json() {
    let seeds: Vec<Vec<u8>> = of_subject("-kv-events.kv-events")
        .into_iter()
        .filter(|it| it.first() == Some(&b'{'))
        .collect();
    fuzz("kv_json", &seeds, |input| {
        let Some((quick, events @ 1..)) = decoded(durable(), input) else { return };
        if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(input) {
            panic!("read {events} events of no JSON: {error}");
        }
        // A number under an unknown key may be too large for a value.
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(input) else { return };
        // With white space the quick reader passes.
        let spaced = serde_json::to_vec_pretty(&value).unwrap();
        if !has_twins(input) {
            assert_eq!(decoded(durable(), spaced).map(|it| it.0), Some(quick));
        }
    });
}

/// Returns true when a key may occur twice: the value of `serde_json` keeps the last, events take the first.
fn has_twins(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let keys = [
        "worker_id",
        "event_id",
        "dp_rank",
        "data",
        "event",
        "stored",
        "removed",
        "blocks",
        "parent_hash",
    ];
    let keys =
        keys.into_iter().chain(["storage_tier", "residency_domain", "start_position", "\\u"]);
    let count = |key: &str| text.matches(key).count();
    let blocks = ["block_hash", "tokens_hash", "block_hashes", "mm_extra_info"];
    keys.into_iter().any(|key| count(key) > 1)
        || blocks.iter().any(|key| count(key) > 24)
        || text.contains("\\u")
        || text.contains('.')
        || text.contains('e') && text.contains("1e")
}

#[test]
fn kv_events_in_messagepack() {
    let seeds: Vec<Vec<u8>> =
        of_subject(".kv-events").into_iter().filter(|it| it.first() != Some(&b'{')).collect();
    fuzz("kv_msgpack", &seeds, |input| decode(plane("kv-events"), input));
}

#[test]
fn kv_events_over_zmq() {
    let seeds = corpus::bodies("zmq");
    fuzz("zmq_frames", &seeds, |input| {
        let mut facts = Facts::default();
        let origin = || Origin::Zmq { endpoint: "tcp://127.0.0.1:1".into() };
        let (head, body) = input.split_at(input.len().min(8));
        let parts = |parts: Vec<Vec<u8>>| Body::Parts(parts.into_iter().map(Into::into).collect());
        for body in [
            parts(vec![b"kv-events".to_vec(), head.to_vec(), vec![0; 8], input.to_vec()]),
            parts(vec![b"namespace.dynamo.component.backend.kv-events".to_vec(), input.to_vec()]),
            parts(vec![head.to_vec(), body.to_vec()]),
        ] {
            let frame = Frame { at: AT, time: None, origin: origin(), body };
            drop(wire::decode(&frame, &mut facts));
        }
    });
}

#[test]
fn loads_hits_and_requests() {
    let seeds: Vec<Vec<u8>> = ["kv_metrics", "kv-hit-rate", "active_sequences_events"]
        .iter()
        .flat_map(|topic| of_subject(topic))
        .collect();
    fuzz("event_plane", &seeds, |input| {
        for topic in ["kv_metrics", "kv-hit-rate", "active_sequences_events"] {
            decode(plane(topic), input);
        }
    });
}

/// What is kept of a line says the same as the line, and no letter of it steers a terminal.
#[test]
fn lines_of_logs() {
    let mut seeds = corpus::bodies("log");
    seeds.retain(|line| line.len() < 2_000);
    fuzz("logs", &seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let origin = || Origin::log("ns", "frontend");
        let kept = wire::kept_of_log_line(&text);
        assert!(!kept.chars().any(|letter| letter == '\u{1b}'), "{kept:?}");
        let whole = decoded(origin(), text.as_bytes());
        let trimmed = decoded(origin(), kept.as_bytes());
        if whole.is_some() {
            assert!(trimmed.is_some(), "kept {kept:?}");
        }
        let again = wire::kept_of_log_line(&kept);
        assert!(again.len() <= kept.len() + 64, "{kept:?} grows to {again:?}");
        wire::described_log_line(&text);
        wire::begins_log_entry(&text);
    });
}

#[test]
fn pages_of_metrics() {
    let seeds = corpus::lines_of_metrics(12);
    fuzz("prometheus", &seeds, |input| {
        let origin = || Origin::Metrics { pod: "worker-0".into(), url: "/metrics".into() };
        decode(origin(), input);
        let kept = wire::kept_of_scrape(input);
        assert!(kept.len() <= input.len() + 64, "{} grows to {}", input.len(), kept.len());
        decode(origin(), &kept);
    });
}

fn object(kind: &'static str, folder: &str) {
    let seeds = corpus::small(&corpus::objects(folder));
    fuzz(&format!("kube_{kind}"), &seeds, |input| {
        decode(Origin::Kube { kind: kind.into(), change: KubeChange::Modified }, input);
    });
}

#[test]
fn pods() {
    object("Pod", "pods");
}

#[test]
fn graph_deployments() {
    object("DynamoGraphDeployment", "dgd");
}

#[test]
fn config_maps_with_engine_settings() {
    object("ConfigMap", "configmaps");
}

#[test]
fn endpoint_slices() {
    object("EndpointSlice", "endpointslices");
}

#[test]
fn worker_metadata() {
    object("DynamoWorkerMetadata", "dwm");
}

#[test]
fn records_of_discovery() {
    let seeds: Vec<_> =
        corpus::frames(200).into_iter().filter(|seed| seed.kind == "etcd").collect();
    let keys: Vec<String> =
        seeds.iter().filter_map(|seed| seed.from["key"].as_str()).map(str::to_owned).collect();
    let bodies: Vec<Vec<u8>> = seeds.into_iter().map(|seed| seed.body).collect();
    let mut turn = 0;
    fuzz("discovery", &bodies, |input| {
        turn += 1;
        let key = keys[turn % keys.len()].as_str();
        decode(Origin::Etcd { key: key.into(), put: turn % 7 != 0 }, input);
        decode(Origin::File { key: key.into(), put: true }, input);
    });
}

#[test]
fn dumps_of_an_indexer() {
    let seeds = corpus::files("wire/indexer-dump");
    let seeds = [seeds.clone(), seeds].concat();
    fuzz("indexer_dump", &seeds, |input| {
        decode(Origin::Indexer { url: "http://127.0.0.1:1".into() }, input);
    });
}

#[test]
fn notes_of_sources() {
    let seeds = corpus::files("wire/health");
    let seeds = [seeds.clone(), seeds].concat();
    fuzz("health", &seeds, |input| decode(Origin::Health { source: "nats".into() }, input));
}

#[test]
fn recordings() {
    let lines = corpus::lines("0.9.0-dp");
    let seeds: Vec<Vec<u8>> = lines.chunks(6).map(|lines| lines.join("\n").into_bytes()).collect();
    let header = lines[0].clone().into_bytes();
    let mut turn = 0;
    fuzz("recordings", &seeds, |input| {
        turn += 1;
        // Most of them have a header that can be read.
        let mut file = if turn % 8 == 0 { Vec::new() } else { [&header[..], b"\n"].concat() };
        file.extend_from_slice(input);
        let Ok(mut recording) = Recording::from_reader(Path::new("fuzz"), Cursor::new(file)) else {
            return;
        };
        let mut frames = 0;
        while let Ok(Some(_)) = recording.next_frame() {
            frames += 1;
            assert!(frames <= input.len() + 2, "more frames than bytes");
        }
    });
}

/// The whole way, with time that jumps: what comes out is a picture, whatever went in.
#[test]
fn the_engine() {
    let seeds = corpus::frames(40);
    let bodies: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.body.clone()).collect();
    let mut engine =
        Engine::new(EngineOptions { memory_limit: 4 << 20, ..EngineOptions::default() });
    let (mut turn, mut at) = (0_usize, AT);
    fuzz("engine", &bodies, |input| {
        turn += 1;
        let body = input.to_vec();
        let origin = match turn % 6 {
            0 => durable(),
            1 => plane("kv-events"),
            2 => plane("kv_metrics"),
            3 => Origin::log("ns", "frontend"),
            4 => Origin::Health { source: "nats".into() },
            _ => Origin::Metrics { pod: "frontend".into(), url: "/metrics".into() },
        };
        at = Timestamp(at.0 + (turn as u64 % 5) * 40_000);
        let time = (turn % 11 == 0).then_some(Timestamp(at.0 ^ (turn as u64) << 20));
        engine.ingest(&[Frame { at, time, origin, body: Body::Whole(body.into()) }]);
        if turn.is_multiple_of(512) {
            let snapshot = engine.snapshot(&ViewQuery::default(), at);
            assert!(snapshot.tree.held_blocks >= snapshot.tree.accepted_blocks);
        }
        if turn.is_multiple_of(100_000) {
            engine =
                Engine::new(EngineOptions { memory_limit: 4 << 20, ..EngineOptions::default() });
        }
    });
}
