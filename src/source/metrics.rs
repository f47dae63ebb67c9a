//! The metrics source: whole answers of `/metrics` endpoints of pods.
//!
//! Owns which endpoints are asked and when. Reads nothing of what they answer, and asks with GET only.

mod scrape;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::domain::{Peers, SourceName, SourceState};
use crate::source::notes::{Notes, how_many};
use crate::source::reach::Reach;
use crate::source::supervisor::{self, Supervised, Supervisor, TaskHandle};
use crate::source::{Desired, Emitter, SourceHandle};

use scrape::{Scraper, Standing};

/// The name of the source in notes.
const NAME: SourceName = SourceName::Metrics;

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

/// Limits of scraping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsLimits {
    /// Time between two scrapes of an endpoint.
    pub period: Duration,
    /// Longest time to connect: a second for a direct connection, then a forward.
    pub connect: Duration,
    /// Longest time for an answer, its body included.
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
    let emitter = emitter.counting_apart();
    let lead = Metrics { reach, emitter: emitter.clone(), limits };
    supervisor::spawn(NAME, emitter, targets, lead)
}

struct Metrics {
    reach: Reach,
    emitter: Emitter,
    limits: MetricsLimits,
}

impl Supervised for Metrics {
    type Target = ScrapeTarget;
    type Standing = Standing;

    fn limit(&self) -> usize {
        self.limits.endpoints
    }

    fn start(&self, target: &ScrapeTarget, handle: TaskHandle<Standing>) -> AbortHandle {
        let scraper = Scraper {
            reach: self.reach.clone(),
            emitter: self.emitter.clone(),
            target: target.clone(),
            limits: self.limits,
            wanted: handle.wanted,
            standing: handle.standing,
            changed: handle.changed,
        };
        tokio::spawn(scraper.run()).abort_handle()
    }

    fn say(
        &mut self,
        supervisor: &Supervisor<Self>,
        wanted: Desired,
        targets: usize,
        notes: &mut Notes,
    ) {
        let (mut fresh, mut opening, mut paused) = (0, 0, 0);
        let mut reasons = Vec::new();
        for (target, standing) in supervisor.all() {
            match &*standing {
                Standing::Fresh => fresh += 1,
                Standing::Opening => opening += 1,
                Standing::Paused => paused += 1,
                Standing::Failed(why) => reasons.push(format!("{}: {why}", target.pod)),
            }
        }
        reasons.sort();
        if targets > supervisor.len() {
            reasons.push(format!("at most {} are scraped", self.limits.endpoints));
        }
        let why = how_many(fresh, targets, "endpoints answer", &reasons);
        let state = match wanted {
            Desired::Suspended if paused == supervisor.len() => SourceState::Suspended,
            _ if targets == 0 => SourceState::Connecting,
            _ if fresh > 0 => SourceState::Live,
            _ if opening > 0 => SourceState::Connecting,
            _ => SourceState::Down,
        };
        let why = if targets == 0 { "no endpoints to scrape yet" } else { why.as_str() };
        let retry = (state == SourceState::Down).then_some(self.limits.period);
        notes.set(state, why, retry);
        let (wanted, reached) = (targets as u64, fresh as u64);
        notes.peers(Peers { wanted, reached }, Vec::new());
        notes.count(self.emitter.dropped(), 0);
        notes.tell();
    }
}
