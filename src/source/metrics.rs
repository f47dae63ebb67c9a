//! The metrics source: whole answers of `/metrics` endpoints of pods.
//!
//! Owns which endpoints are asked and when. Reads nothing of what they answer, and asks with GET only.

mod scrape;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use crate::domain::SourceState;
use crate::source::notes::{Notes, how_many};
use crate::source::reach::Reach;
use crate::source::{Desired, Emitter, SourceHandle};

use scrape::{Scraper, Standing};

/// The name of the source in notes.
const NAME: &str = "metrics";

/// An endpoint that is scraped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScrapeTarget {
    /// Kubernetes namespace.
    pub namespace: Arc<str>,
    /// Pod.
    pub pod: Arc<str>,
    /// Its address.
    pub ip: Arc<str>,
    /// Port.
    pub port: u16,
    /// Path, such as `/metrics`.
    pub path: Arc<str>,
}

/// How often and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsLimits {
    /// Time between two scrapes of an endpoint.
    pub period: Duration,
    /// How long a connection may take: a second for a direct one, then a forward.
    pub connect: Duration,
    /// How long an answer may take, its body included.
    pub timeout: Duration,
    /// Largest body, in bytes. That of a frontend with hundreds of workers has a few megabytes.
    pub largest: usize,
    /// Endpoints scraped; each keeps a connection.
    pub endpoints: usize,
}

impl Default for MetricsLimits {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(5),
            connect: Duration::from_secs(6),
            timeout: Duration::from_secs(3),
            largest: 16 << 20,
            endpoints: 256,
        }
    }
}

/// Starts the source. Must be called within a runtime.
pub fn spawn(
    reach: Reach,
    emitter: Emitter,
    targets: watch::Receiver<Vec<ScrapeTarget>>,
) -> SourceHandle {
    spawn_with(reach, emitter, targets, MetricsLimits::default())
}

/// Starts the source with other limits.
pub fn spawn_with(
    reach: Reach,
    emitter: Emitter,
    targets: watch::Receiver<Vec<ScrapeTarget>>,
    limits: MetricsLimits,
) -> SourceHandle {
    let name: Arc<str> = NAME.into();
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let notes = Notes::new(Arc::clone(&name), emitter.clone(), shown);
    let dropped_before = emitter.dropped();
    let source = Source {
        reach,
        emitter,
        limits,
        wanted,
        notes,
        scrapers: HashMap::new(),
        changed: Arc::default(),
        dropped_before,
    };
    let task = tokio::spawn(source.run(targets));
    SourceHandle { name, desired, state, task }
}

/// A scraper that runs. Ends when dropped.
struct Running {
    standing: watch::Receiver<Standing>,
    task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Source {
    reach: Reach,
    emitter: Emitter,
    limits: MetricsLimits,
    wanted: watch::Receiver<Desired>,
    notes: Notes,
    scrapers: HashMap<ScrapeTarget, Running>,
    changed: Arc<Notify>,
    /// What the emitter had dropped when the source started.
    dropped_before: u64,
}

impl Source {
    async fn run(mut self, mut targets: watch::Receiver<Vec<ScrapeTarget>>) {
        let mut listening = true;
        while self.notes.heard {
            let wanted = *self.wanted.borrow_and_update();
            if wanted == Desired::Stopped {
                break;
            }
            let list = targets.borrow_and_update().clone();
            if wanted == Desired::Running {
                self.adjust(&list);
            }
            self.say(wanted, list.len());
            let changed = Arc::clone(&self.changed);
            tokio::select! {
                changed = self.wanted.changed() => if changed.is_err() { break },
                changed = targets.changed(), if listening => listening = changed.is_ok(),
                () = changed.notified() => {}
                () = tokio::time::sleep(self.notes.next()) => {}
            }
        }
        self.scrapers.clear();
        self.notes.ended();
    }

    /// Starts and ends scrapers so that the first of `targets` are scraped.
    fn adjust(&mut self, targets: &[ScrapeTarget]) {
        self.scrapers.retain(|target, _| targets.contains(target));
        for target in targets {
            if self.scrapers.len() >= self.limits.endpoints {
                break;
            }
            if !self.scrapers.contains_key(target) {
                let running = self.start(target);
                self.scrapers.insert(target.clone(), running);
            }
        }
    }

    fn start(&self, target: &ScrapeTarget) -> Running {
        let (standing, seen) = watch::channel(Standing::default());
        let scraper = Scraper {
            reach: self.reach.clone(),
            emitter: self.emitter.clone(),
            target: target.clone(),
            limits: self.limits,
            wanted: self.wanted.clone(),
            standing,
            changed: Arc::clone(&self.changed),
        };
        Running { standing: seen, task: tokio::spawn(scraper.run()).abort_handle() }
    }

    fn say(&mut self, wanted: Desired, targets: usize) {
        let (mut fresh, mut opening, mut paused) = (0, 0, 0);
        let mut reasons = Vec::new();
        for (target, running) in &self.scrapers {
            match &*running.standing.borrow() {
                Standing::Fresh => fresh += 1,
                Standing::Opening => opening += 1,
                Standing::Paused => paused += 1,
                Standing::Failed(why) => reasons.push(format!("{}: {why}", target.pod)),
            }
        }
        reasons.sort();
        if targets > self.scrapers.len() {
            reasons.push(format!("at most {} are scraped", self.limits.endpoints));
        }
        let why = how_many(fresh, targets, "endpoints answer", &reasons);
        let state = match wanted {
            Desired::Suspended if paused == self.scrapers.len() => SourceState::Suspended,
            _ if targets == 0 => SourceState::Connecting,
            _ if fresh > 0 => SourceState::Live,
            _ if opening > 0 => SourceState::Connecting,
            _ => SourceState::Down,
        };
        let why = if targets == 0 { "no endpoints to scrape yet" } else { why.as_str() };
        let retry = (state == SourceState::Down).then_some(self.limits.period);
        self.notes.set(state, why, retry);
        self.notes.count(self.emitter.dropped() - self.dropped_before, 0);
        self.notes.tell();
    }
}
