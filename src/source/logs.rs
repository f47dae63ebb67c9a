//! The logs source: lines of the containers of a deployment, as `pods/log` has them.
//!
//! Owns which containers are followed and from where on. Takes the kubelet's time off each line, and keeps
//! of the rest only the parts that a decoder reads ([`LogText`]). A log is a file on its node: a follower
//! that lags slows nobody, so history is paced; newer lines are passed on, or dropped and counted.

mod files;
mod follow;
mod join;
mod lines;
mod request;
mod saved;
mod text;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::domain::{Peers, SourceName, SourceState};
use crate::source::kube::KubeClient;
use crate::source::notes::{Notes, how_many};
use crate::source::supervisor::{self, Supervised, Supervisor, TaskHandle};
use crate::source::{Desired, Emitter, SourceHandle};

pub use files::{LogFile, follow_files};
use follow::{Follow, Phase, Standing};
pub use saved::SavedLog;
pub use text::LogText;

/// The name of the source in notes.
const NAME: SourceName = SourceName::Logs;

/// A container whose log is followed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogTarget {
    /// Kubernetes namespace.
    pub namespace: Arc<str>,
    /// Pod.
    pub pod: Arc<str>,
    /// Container.
    pub container: Arc<str>,
    /// From where on.
    pub start: LogStart,
}

/// From where on a log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogStart {
    /// From its start: for workers, which name their block size only there.
    Beginning,
    /// From a while ago: for frontends, whose decisions and warnings matter while they are fresh.
    Recent,
}

/// Limits of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Containers followed at the same time. Each takes a connection to the API server, and that one
    /// to a kubelet.
    pub follows: usize,
    /// Bytes read of a log's start. An engine says what it has found within the first few thousand
    /// lines; loading of weights may fill a megabyte with progress bars.
    pub start_bytes: u64,
    /// Time span that is read of a new log: two windows of the charts.
    pub recent: Duration,
    /// Lines of that at most. A router with a mismatch writes a hundred warnings a second, so this is
    /// some eight minutes of them and about 10 MB.
    pub recent_lines: u64,
    /// Bytes read of an instance that crashed while it was followed.
    pub previous_bytes: u64,
    /// After so long without a line the log is asked for again: a connection that a laptop's sleep
    /// or a firewall has broken looks just as quiet.
    pub quiet: Duration,
    /// The part of a line that enters a frame.
    pub text: LogText,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            follows: 64,
            start_bytes: 4 << 20,
            recent: Duration::from_secs(600),
            recent_lines: 50_000,
            previous_bytes: 1 << 20,
            quiet: Duration::from_secs(120),
            text: LogText::default(),
        }
    }
}

impl LogLimits {
    /// Most lines that are read of the past of one log, about 40 MB.
    const MOST_LINES: u64 = 200_000;

    /// Returns limits for reading new logs over `past`, or over the usual time where that is longer.
    pub fn reaching(past: Option<Duration>) -> Self {
        let usual = Self::default();
        let recent = usual.recent.max(past.unwrap_or_default());
        let times = recent.as_secs().div_ceil(usual.recent.as_secs().max(1));
        let lines = usual.recent_lines.saturating_mul(times).min(Self::MOST_LINES);
        Self { recent, recent_lines: lines, ..usual }
    }
}

/// Starts the source. Must be called within a runtime.
pub fn spawn(
    client: KubeClient,
    emitter: Emitter,
    targets: watch::Receiver<Vec<LogTarget>>,
) -> SourceHandle {
    spawn_with(client, emitter, targets, LogLimits::default())
}

/// Starts the source with other limits.
pub fn spawn_with(
    client: KubeClient,
    emitter: Emitter,
    targets: watch::Receiver<Vec<LogTarget>>,
    limits: LogLimits,
) -> SourceHandle {
    let ended = Counts::default();
    let lead = Logs { client, emitter: emitter.clone(), limits, ended, level: false };
    supervisor::spawn(NAME, emitter, targets, lead)
}

#[derive(Clone, Copy, Default)]
struct Counts {
    dropped: u64,
    cuts: u64,
}

impl Counts {
    fn add(&mut self, standing: &Standing) {
        self.dropped += standing.dropped;
        self.cuts += standing.cuts;
    }
}

struct Logs {
    client: KubeClient,
    emitter: Emitter,
    limits: LogLimits,
    /// Counts of follows that have ended.
    ended: Counts,
    /// The past of every log was read. A container that starts later has its past within what is watched.
    level: bool,
}

impl Supervised for Logs {
    type Target = LogTarget;
    type Standing = Standing;

    fn limit(&self) -> usize {
        self.limits.follows
    }

    fn start(&self, target: &LogTarget, handle: TaskHandle<Standing>) -> AbortHandle {
        let follow = Follow {
            client: self.client.clone(),
            emitter: self.emitter.clone().counting_apart(),
            target: target.clone(),
            limits: self.limits,
            wanted: handle.wanted,
            standing: handle.standing,
            changed: handle.changed,
        };
        tokio::spawn(follow.run()).abort_handle()
    }

    fn ended(&mut self, standing: &Standing) {
        self.ended.add(standing);
    }

    fn say(
        &mut self,
        supervisor: &Supervisor<Self>,
        wanted: Desired,
        targets: usize,
        notes: &mut Notes,
    ) {
        let mut counts = self.ended;
        let (mut followed, mut reading, mut opening, mut paused) = (0, 0, 0, 0);
        let mut reasons = Vec::new();
        for (target, standing) in supervisor.all() {
            counts.add(&standing);
            match &standing.phase {
                Phase::Reading => reading += 1,
                Phase::Followed => followed += 1,
                Phase::Opening => opening += 1,
                Phase::Paused => paused += 1,
                Phase::Not(why) => reasons.push(format!("{}: {why}", target.pod)),
            }
            if standing.dropped > 0 {
                reasons.push(format!("{}: {} lines dropped", target.pod, standing.dropped));
            }
        }
        reasons.sort();
        let unread = reading + opening;
        self.level |= supervisor.len() > paused && unread == 0;
        followed += reading;
        if targets > supervisor.len() {
            reasons.push(format!("at most {} are followed", self.limits.follows));
        }
        let why = how_many(followed, targets, "logs followed", &reasons);
        let state = match wanted {
            Desired::Suspended if paused == supervisor.len() => SourceState::Suspended,
            _ if targets == 0 => SourceState::Connecting,
            _ if followed > 0 && counts.dropped > 0 => SourceState::Lossy,
            _ if followed > 0 => SourceState::Live,
            _ if opening > 0 => SourceState::Connecting,
            _ => SourceState::Down,
        };
        let why = if targets == 0 { "no containers to follow yet" } else { why.as_str() };
        notes.set(state, why, None);
        let (wanted, reached) = (targets as u64, followed as u64);
        notes.peers(Peers { wanted, reached }, Vec::new());
        notes.pending(unread > 0 && !self.level);
        notes.count(counts.dropped, counts.cuts);
        notes.tell();
    }
}
