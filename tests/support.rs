//! What tests share.

pub(crate) mod aged_stream;
pub(crate) mod bless;
pub(crate) mod deployment;
pub(crate) mod endpoint;
pub(crate) mod etcd;
pub(crate) mod exporter;
pub(crate) mod findings;
pub(crate) mod frames;
pub(crate) mod kube_api;
pub(crate) mod late;
pub(crate) mod libzmq;
pub(crate) mod nats_server;
pub(crate) mod pictures;
pub(crate) mod prometheus;
pub(crate) mod proxy;
pub(crate) mod pty;
pub(crate) mod sources;
pub(crate) mod users_cluster;
pub(crate) mod wire_cut;
pub(crate) mod zmq_plane;

use std::path::{Path, PathBuf};

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::Frame;
use kvtop::record::Recording;
use kvtop::snapshot::{Snapshot, ViewQuery};

/// Returns the path of a file under `tests/fixtures`.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}

/// Returns every recorded capture with its name.
pub(crate) fn captures() -> Vec<(String, PathBuf)> {
    let mut found: Vec<_> = std::fs::read_dir(fixture("captures"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".frames.gz")?.to_owned();
            Some((name, path))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 32, "captures are missing: {}", found.len());
    found
}

/// Reads all frames of a recording.
pub(crate) fn frames(path: &Path) -> Vec<Frame> {
    let mut recording = Recording::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = recording.next_frame().unwrap() {
        frames.push(frame);
    }
    assert_eq!(recording.bad().count, 0, "{}", path.display());
    frames
}

/// Returns the picture after all of `frames`, and the engine for more.
pub(crate) fn played(frames: &[Frame]) -> (Engine, Snapshot) {
    let mut engine = Engine::new(EngineOptions::default());
    for chunk in frames.chunks(1024) {
        engine.ingest(chunk);
    }
    engine.settle();
    let at = frames.last().map_or(Timestamp::default(), |frame| frame.at);
    let snapshot = engine.snapshot(&ViewQuery::default(), at);
    (engine, snapshot)
}

/// Returns a folder of its own for one test, emptied by the next run's fresh one.
pub(crate) fn scratch() -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("kvtop-test-{}-{number}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}
