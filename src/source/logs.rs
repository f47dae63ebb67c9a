//! The logs source: lines of the containers of a deployment, as `pods/log` has them.
//!
//! Owns which containers are followed and from where on. Reads of a line only the time that the
//! kubelet puts before it, and removes that, secrets and prompts. A log is a file on its node: a follower that lags slows
//! nobody, so history is paced; lines written from now on are passed on or dropped and counted.

mod follow;
mod join;
mod lines;
mod request;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use crate::domain::SourceState;
use crate::source::kube::KubeClient;
use crate::source::notes::{Notes, how_many};
use crate::source::{Desired, Emitter, SourceHandle};

use follow::{Follow, Phase, Standing};

/// The name of the source in notes.
const NAME: &str = "logs";

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

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Containers followed at the same time. Each takes a connection to the API server, and that one
    /// to a kubelet.
    pub follows: usize,
    /// Bytes read of a log's start. An engine says what it has found within the first few thousand
    /// lines; loading of weights may fill a megabyte with progress bars.
    pub start_bytes: u64,
    /// How far back a log is read that has not been followed yet: two windows of the charts.
    pub recent: Duration,
    /// Lines of that at most. A router with a mismatch writes a hundred warnings a second, so this is
    /// some eight minutes of them and about 10 MB.
    pub recent_lines: u64,
    /// Bytes read of an instance that crashed while it was followed.
    pub previous_bytes: u64,
    /// After so long without a line the log is asked for again: a connection that a laptop's sleep
    /// or a firewall has broken looks just as quiet.
    pub quiet: Duration,
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
        }
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
    let name: Arc<str> = NAME.into();
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let notes = Notes::new(Arc::clone(&name), emitter.clone(), shown);
    let source = Source {
        client,
        emitter,
        limits,
        wanted,
        notes,
        follows: HashMap::new(),
        changed: Arc::default(),
        ended: Counts::default(),
    };
    let task = tokio::spawn(source.run(targets));
    SourceHandle { name, desired, state, task }
}

/// A follow that runs. Ends when dropped.
struct Running {
    standing: watch::Receiver<Standing>,
    task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    dropped: u64,
    cuts: u64,
}

struct Source {
    client: KubeClient,
    emitter: Emitter,
    limits: LogLimits,
    wanted: watch::Receiver<Desired>,
    notes: Notes,
    follows: HashMap<LogTarget, Running>,
    changed: Arc<Notify>,
    /// What follows counted that have ended.
    ended: Counts,
}

impl Source {
    async fn run(mut self, mut targets: watch::Receiver<Vec<LogTarget>>) {
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
        self.follows.clear();
        self.notes.ended();
    }

    /// Starts and ends follows so that the first of `targets` are followed.
    fn adjust(&mut self, targets: &[LogTarget]) {
        let ended = &mut self.ended;
        self.follows.retain(|target, running| {
            let stays = targets.contains(target);
            if !stays {
                let standing = running.standing.borrow();
                ended.dropped += standing.dropped;
                ended.cuts += standing.cuts;
            }
            stays
        });
        for target in targets {
            if self.follows.len() >= self.limits.follows {
                break;
            }
            if !self.follows.contains_key(target) {
                let running = self.start(target);
                self.follows.insert(target.clone(), running);
            }
        }
    }

    fn start(&self, target: &LogTarget) -> Running {
        let (standing, seen) = watch::channel(Standing::default());
        let follow = Follow {
            client: self.client.clone(),
            emitter: self.emitter.counting_apart(),
            target: target.clone(),
            limits: self.limits,
            wanted: self.wanted.clone(),
            standing,
            changed: Arc::clone(&self.changed),
        };
        Running { standing: seen, task: tokio::spawn(follow.run()).abort_handle() }
    }

    fn say(&mut self, wanted: Desired, targets: usize) {
        let mut counts = self.ended;
        let (mut followed, mut opening, mut paused) = (0, 0, 0);
        let mut reasons = Vec::new();
        for (target, running) in &self.follows {
            let standing = running.standing.borrow();
            counts.dropped += standing.dropped;
            counts.cuts += standing.cuts;
            match &standing.phase {
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
        if targets > self.follows.len() {
            reasons.push(format!("at most {} are followed", self.limits.follows));
        }
        let why = how_many(followed, targets, "logs followed", &reasons);
        let state = match wanted {
            Desired::Suspended if paused == self.follows.len() => SourceState::Suspended,
            _ if targets == 0 => SourceState::Connecting,
            _ if followed > 0 && counts.dropped > 0 => SourceState::Lossy,
            _ if followed > 0 => SourceState::Live,
            _ if opening > 0 => SourceState::Connecting,
            _ => SourceState::Down,
        };
        let why = if targets == 0 { "no containers to follow yet" } else { why.as_str() };
        self.notes.set(state, why, None);
        self.notes.count(counts.dropped, counts.cuts);
        self.notes.tell();
    }
}
