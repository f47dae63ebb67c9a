//! The NATS source: live messages of the event plane, and what streams of KV events hold.
//!
//! Owns connections, subscriptions and the reading of history. Decodes nothing, publishes nothing but
//! requests to read, and never creates a consumer.

mod account;
mod ahead;
mod config;
mod connect;
mod context;
mod feed;
mod join;
mod options;
mod presumed;
mod reach;
mod reading;
mod secret;
mod sent;
mod session;
mod settings;
mod status;
mod stream;
mod subject;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};

use crate::clock;
use crate::domain::{SourceName, SourceState};
use crate::source::{Desired, Emitter, SourceHandle};

pub use config::{Resolved, resolve};
pub use options::{Env, FilePlace, NatsConfigError, NatsOptions, Read, Tls};
pub use secret::{Address, Credential, Secret};

use session::{End, Memory, Session};
use status::{HEARTBEAT, Kept, Status};

/// The first wait after a loss.
const RETRY_FIRST: Duration = Duration::from_millis(500);

/// The longest wait after a loss.
const RETRY_LAST: Duration = Duration::from_secs(5);

/// A NATS source to start.
#[derive(Clone, Debug)]
pub struct NatsSpec {
    /// Its name in notes.
    pub name: SourceName,
    /// Where, and with what.
    pub resolved: Resolved,
    /// Only these Dynamo namespaces; all of them when there is none.
    pub namespaces: Vec<Arc<str>>,
}

/// Starts a source. Must be called within a runtime.
///
/// The source reads on a thread of its own with a runtime of its own: a subscriber that stops reading
/// throttles the publishers (36-fold, PERFORMANCE section 4), so nothing that the engine, the disk or
/// the screen does to the shared runtime may keep the socket waiting. Each connection gets a new
/// runtime, which dies with it: when the state says `Suspended`, the socket is closed and nothing of
/// the client library is left that could open another.
pub fn spawn(spec: NatsSpec, emitter: Emitter) -> SourceHandle {
    let name = spec.name.clone();
    let emitter = emitter.counting_apart();
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let (ended_tx, ended) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name(format!("source {name}")).spawn(move || {
        let status = Status::new(spec.name.clone(), emitter.clone(), shown);
        let memory = Memory::new(emitter, status, &spec.namespaces);
        Source { spec, memory, wanted, failures: 0 }.run();
        drop(ended_tx);
    });
    let task = tokio::spawn(async move {
        if thread.is_ok() {
            // An error is the end of the thread, which is what is waited for.
            drop(ended.await);
        }
    });
    SourceHandle { name, desired, state, task }
}

/// The source's thread.
struct Source {
    spec: NatsSpec,
    memory: Memory,
    wanted: watch::Receiver<Desired>,
    /// Attempts to connect that failed since the last success.
    failures: u32,
}

impl Source {
    fn run(mut self) {
        loop {
            self.memory.flush_ahead();
            let wanted = *self.wanted.borrow_and_update();
            if self.wanted.has_changed().is_err() || !self.memory.status.heard {
                break;
            }
            match wanted {
                Desired::Stopped => break,
                Desired::Suspended => {
                    self.memory.status.set(SourceState::Suspended, "", None);
                    self.wait(None);
                }
                Desired::Running => self.connect(),
            }
        }
        self.memory.status.set(SourceState::Ended, "", None);
    }

    /// Runs one connection, and waits after a loss.
    fn connect(&mut self) {
        let runtime = match runtime() {
            Ok(runtime) => runtime,
            Err(error) => return self.retry(&format!("could not start: {error}")),
        };
        if self.failures == 0 {
            self.memory.status.set(SourceState::Connecting, "", None);
        }
        let end = runtime.block_on(session(&self.spec, &mut self.memory, &mut self.wanted));
        drop(runtime);
        match end {
            Ok(end) => {
                self.failures = 0;
                let durable = self.memory.feeds.values().any(feed::Feed::is_durable);
                let kept = if durable { Kept::InStreams } else { Kept::Nowhere };
                self.memory.status.interrupted(kept);
                if let End::Lost(why) = end {
                    self.retry(&why);
                }
            }
            Err(Failure::Told) => {}
            Err(Failure::Refused(why)) => self.retry(&why),
        }
    }

    fn retry(&mut self, why: &str) {
        let pause = RETRY_FIRST.saturating_mul(1 << self.failures.min(8)).min(RETRY_LAST);
        self.failures += 1;
        self.memory.status.set(SourceState::Down, why, Some(pause));
        self.wait(Some(pause));
    }

    /// Waits until something else is wanted, at most for `pause`, telling how things are meanwhile.
    fn wait(&mut self, pause: Option<Duration>) {
        let Ok(runtime) = runtime() else {
            return std::thread::sleep(RETRY_FIRST);
        };
        let status = &mut self.memory.status;
        let wanted = &mut self.wanted;
        runtime.block_on(async {
            let mut left = pause;
            while left.is_none_or(|left| !left.is_zero()) && status.heard {
                let step = left.unwrap_or(HEARTBEAT).min(HEARTBEAT);
                if tokio::time::timeout(step, wanted.changed()).await.is_ok() {
                    return;
                }
                left = left.map(|left| left.saturating_sub(step));
                status.tell(clock::now());
            }
        });
    }
}

/// The reason why there was no session.
enum Failure {
    Told,
    Refused(String),
}

async fn session(
    spec: &NatsSpec,
    memory: &mut Memory,
    wanted: &mut watch::Receiver<Desired>,
) -> Result<End, Failure> {
    let emitter = memory.emitter.clone();
    let open = async {
        let connection = connect::open(&spec.resolved).await?;
        Session::start(memory, connection).await
    };
    let opened = tokio::select! {
        opened = open => opened.map_err(Failure::Refused)?,
        () = emitter.alarm() => return Err(Failure::Refused(session::TOO_MUCH.to_owned())),
        () = told(wanted.clone()) => return Err(Failure::Told),
    };
    Ok(opened.run(wanted).await)
}

/// Waits until something other than running is wanted, or nobody is left to want anything.
async fn told(mut wanted: watch::Receiver<Desired>) {
    drop(wanted.wait_for(|wanted| *wanted != Desired::Running).await);
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
