//! The Kubernetes source against a fake API that answers as a real one was recorded to.

mod fails;
mod fake;
mod follows;
mod kept;
mod readonly;
mod recorded;
mod shared;
mod ways;

use std::collections::BTreeSet;
use std::time::Duration;

use kvtop::domain::{SourceNote, SourceState};
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::source::kube::{KubeClient, KubeHandle, KubeOptions, KubeSpec, Pace, connect, spawn};
use kvtop::source::{Desired, Emitter, FRAME_BUFFER};
use kvtop::wire::health;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::support::kube_api::FakeKube;

/// A source on a fake API, and all that it emitted.
struct Watched {
    handle: KubeHandle,
    frames: mpsc::Receiver<Frame>,
    seen: Vec<Frame>,
    /// Those that were waited for.
    found: BTreeSet<usize>,
}

/// Returns a client of `kube`, with the kubeconfig of the tests.
async fn client(kube: &FakeKube) -> KubeClient {
    let options = KubeOptions { kubeconfig: Some(kube.kubeconfig()), ..KubeOptions::default() };
    connect(options).await.unwrap()
}

/// Waits that a test can wait for.
fn pace() -> Pace {
    let ms = Duration::from_millis;
    Pace {
        first: ms(20),
        last: ms(100),
        slow: ms(150),
        grace: ms(100),
        probe: ms(100),
        look: ms(1_000),
    }
}

async fn watched(kube: &FakeKube) -> Watched {
    watched_at(kube, pace()).await
}

async fn watched_at(kube: &FakeKube, pace: Pace) -> Watched {
    watched_by(client(kube).await, pace)
}

/// Starts a source with a kubeconfig that a test has written.
async fn watched_with(kubeconfig: std::path::PathBuf) -> Watched {
    let options = KubeOptions { kubeconfig: Some(kubeconfig), ..KubeOptions::default() };
    watched_by(connect(options).await.unwrap(), pace())
}

fn watched_by(client: KubeClient, pace: Pace) -> Watched {
    let (sender, frames) = mpsc::channel(FRAME_BUFFER);
    let spec = KubeSpec { pace, ..KubeSpec::new(client) };
    let handle = spawn(spec, Emitter::new(sender));
    Watched { handle, frames, seen: Vec::new(), found: BTreeSet::new() }
}

/// What a frame says of an object: kind, change, name, and the object.
fn change(frame: &Frame) -> Option<(&str, KubeChange, String, Value)> {
    let Origin::Kube { kind, change } = &frame.origin else {
        return None;
    };
    let object: Value = serde_json::from_slice(bytes(frame)).unwrap();
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    Some((kind, *change, name, object))
}

fn bytes(frame: &Frame) -> &[u8] {
    match &frame.body {
        Body::Whole(bytes) => bytes,
        Body::Parts(_) => panic!("objects come in one piece"),
    }
}

fn note(frame: &Frame) -> Option<SourceNote> {
    let Origin::Health { source } = &frame.origin else {
        return None;
    };
    Some(health::decode(source, frame.at, bytes(frame)).unwrap())
}

impl Watched {
    /// Takes the next frame, or fails after a while.
    async fn next(&mut self, what: &str) -> &Frame {
        let next = timeout(Duration::from_secs(10), self.frames.recv()).await;
        let Ok(Some(frame)) = next else {
            self.fail(what);
        };
        self.seen.push(frame);
        self.seen.last().unwrap()
    }

    fn fail(&self, what: &str) -> ! {
        let last: Vec<String> = self.seen.iter().rev().take(8).map(shown).collect();
        panic!("waited in vain for {what}; last, newest first:\n{}", last.join("\n"));
    }

    /// Waits for a change that has not been waited for yet, and returns the object.
    async fn change(&mut self, kind: &str, wanted: KubeChange, name: &str) -> Value {
        let what = format!("{} {kind} {name}", wanted.name());
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            if Instant::now() > end {
                self.fail(&what);
            }
            let found = self.seen.iter().enumerate().find_map(|(at, frame)| {
                let (k, c, n, object) = change(frame)?;
                let fits = (k, c, n.as_str()) == (kind, wanted, name);
                (fits && !self.found.contains(&at)).then_some((at, object))
            });
            if let Some((at, object)) = found {
                self.found.insert(at);
                return object;
            }
            self.next(&what).await;
        }
    }

    /// Waits for a note from now on that satisfies `wanted`, and returns it.
    async fn note(&mut self, what: &str, wanted: impl Fn(&SourceNote) -> bool) -> SourceNote {
        // Notes come all the time, so that waiting for the next is not enough.
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let what = if Instant::now() < end { what } else { self.fail(what) };
            if let Some(note) = note(self.next(what).await).filter(&wanted) {
                return note;
            }
        }
    }

    async fn live(&mut self) -> SourceNote {
        self.note("live", |note| note.state == SourceState::Live).await
    }

    async fn down(&mut self) -> SourceNote {
        self.note("down", |note| note.state == SourceState::Down).await
    }

    /// Returns what came until `span` after now.
    async fn during(&mut self, span: Duration) -> Vec<Frame> {
        let end = Instant::now() + span;
        let before = self.seen.len();
        while let Ok(Some(frame)) = tokio::time::timeout_at(end, self.frames.recv()).await {
            self.seen.push(frame);
        }
        self.seen[before..].to_vec()
    }

    fn want(&self, desired: Desired) {
        self.handle.source.desired.send(desired).unwrap();
    }
}

fn shown(frame: &Frame) -> String {
    match (change(frame), note(frame)) {
        (Some((kind, change, name, _)), _) => format!("{} {kind} {name}", change.name()),
        (None, Some(note)) => format!("{} \"{}\"", note.state.name(), note.why),
        (None, None) => format!("{frame:?}"),
    }
}
