//! One watched deployment: an engine that takes in frames, and pictures of it for whoever asks.
//!
//! A picture is taken when a scrape asks for one, at most once a second. Writing it out as a page happens elsewhere,
//! so that frames never wait for a scrape.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::super::RunError;
use super::super::ending;
use super::super::headless::{follow, take};
use super::super::live::{self, Live};
use super::super::ready::{self, Stage, WAIT};
use crate::cli::SourceArgs;
use crate::clock;
use crate::domain::Timestamp;
use crate::engine::{Engine, EngineOptions};
use crate::report::prometheus::Watched;
use crate::snapshot::{Snapshot, ViewQuery};

/// The lifetime of a picture, and the interval at which unread history and new sources are looked for.
const FRESH: Duration = Duration::from_secs(1);

/// Scrapes that wait for a picture at once.
const ASKING: usize = 128;

/// A moment of a deployment.
#[derive(Debug)]
pub(super) struct Picture {
    snapshot: Snapshot,
    namespace: Option<Arc<str>>,
    ready: bool,
    named: bool,
}

impl Picture {
    /// Returns what the metrics are made of.
    pub(super) fn watched(&self) -> Watched<'_> {
        Watched {
            snapshot: &self.snapshot,
            namespace: self.namespace.as_deref(),
            ready: self.ready,
            named: self.named,
        }
    }

    pub(super) fn at(&self) -> Timestamp {
        self.snapshot.at
    }
}

/// The state of a watcher.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Vitals {
    /// The last time it took in what had arrived.
    pub(super) ticked: Timestamp,
    /// The reason why its figures are not complete yet; none once sources have answered and history was read.
    pub(super) waits_for: Option<String>,
}

/// A running watcher.
#[derive(Clone)]
pub(super) struct Watcher {
    asks: mpsc::Sender<oneshot::Sender<Arc<Picture>>>,
    pub(super) vitals: watch::Receiver<Vitals>,
}

impl Watcher {
    /// Asks for a picture of now; none when the watcher has ended.
    pub(super) async fn picture(&self) -> Option<Arc<Picture>> {
        let (answer, picture) = oneshot::channel();
        self.asks.send(answer).await.ok()?;
        picture.await.ok()
    }
}

/// The parts of a watcher's task.
pub(super) struct Watch {
    live: Live,
    asked: mpsc::Receiver<oneshot::Sender<Arc<Picture>>>,
    vitals: watch::Sender<Vitals>,
    started: Timestamp,
    /// Limit of the index copy, where several share the memory of the process.
    mirror: Option<usize>,
}

/// Starts the sources of a deployment. The watch is to be run.
pub(super) async fn start(source: &SourceArgs) -> Result<(Watcher, Watch), RunError> {
    Ok(with_watch(live::start(source).await?, None))
}

/// Returns a watcher of `live`, and the watch to be run. Its index copy takes at most `mirror` bytes.
pub(super) fn with_watch(live: Live, mirror: Option<usize>) -> (Watcher, Watch) {
    let (asks, asked) = mpsc::channel(ASKING);
    let started = clock::now();
    let waits_for = Some("sources have not answered yet".to_owned());
    let (vitals, seen) = watch::channel(Vitals { ticked: started, waits_for });
    (Watcher { asks, vitals: seen }, Watch { live, asked, vitals, started, mirror })
}

impl Watch {
    /// Returns the name of the deployment.
    pub(super) fn title(&self) -> String {
        self.live.target.title()
    }

    /// Takes in frames and answers scrapes until `stopped` says so.
    pub(super) async fn run(self, mut stopped: watch::Receiver<bool>) {
        let Self { live, mut asked, vitals, started, mirror } = self;
        let Live { mut frames, sources, target, attach, .. } = live;
        let namespace = attach.as_ref().and_then(|attach| attach.namespace.clone());
        let options = target.engine_options();
        // Scrapes come every fifteen seconds, and show no charts.
        let memory_limit = mirror.unwrap_or(options.memory_limit);
        let mut engine = Engine::new(EngineOptions { memory_limit, brief: true, ..options });
        let query = ViewQuery { points: 1, events: 0, decisions: 0, ..ViewQuery::default() };
        let mut last: Option<Arc<Picture>> = None;
        let (mut ready, mut followed) = (false, Timestamp::default());
        loop {
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => break,
                () = take(&mut frames, &mut engine) => {}
            }
            let now = clock::now();
            engine.advance(now);
            if now.since(followed) >= FRESH {
                follow(attach.as_ref(), &engine);
                followed = now;
            }
            let asks: Vec<_> = std::iter::from_fn(|| asked.try_recv().ok()).collect();
            let fresh = last.take().filter(|picture| now.since(picture.at()) < FRESH);
            last = match fresh {
                Some(picture) => Some(picture),
                None if asks.is_empty() && ready => None,
                None => {
                    let snapshot = engine.snapshot(&query, now);
                    let stage = ready::stage(&snapshot, attach.as_ref());
                    ready |= stage == Stage::Ready;
                    let waits_for = (!ready).then(|| waits_for(&snapshot, stage));
                    vitals.send_modify(|vitals| vitals.waits_for = waits_for);
                    let named = ready || now.since(started) >= WAIT;
                    let namespace = namespace.clone();
                    Some(Arc::new(Picture { snapshot, namespace, ready, named }))
                }
            };
            vitals.send_modify(|vitals| vitals.ticked = now);
            if let Some(picture) = &last {
                for ask in asks {
                    // Whoever asked may have gone.
                    drop(ask.send(Arc::clone(picture)));
                }
            }
        }
        ending::stop(&sources).await;
    }
}

/// Describes what is missing at `stage`.
fn waits_for(snapshot: &Snapshot, stage: Stage) -> String {
    let behind = crate::report::incomplete(snapshot);
    if !behind.is_empty() {
        return behind.join("; ");
    }
    let troubled = snapshot.sources.iter().filter(|row| !row.why.is_empty());
    let troubled: Vec<String> =
        troubled.map(|row| format!("{} {}: {}", row.name, row.state.name(), row.why)).collect();
    match stage {
        _ if !troubled.is_empty() => troubled.join("; "),
        Stage::Unreached => "no source of KV events has answered".to_owned(),
        Stage::Reading | Stage::Ready => "sources have not all answered".to_owned(),
    }
}
