//! The composition root: the only layer that spawns, waits and selects.

mod check;
mod cluster;
mod driver;
mod headless;
mod live;
mod player;
mod recorder;
mod screen;
pub mod terminal;

use std::io;

use crate::cli::{Cli, Command};
use crate::exit::Exit;
use crate::record::RecordError;
use crate::source::kube::KubeConfigError;
use crate::source::nats::NatsConfigError;

pub use player::Player;

/// Why kvtop could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A recording could not be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The settings for NATS do not say where to connect, or how.
    #[error("could not tell how to reach NATS")]
    Nats(#[from] NatsConfigError),
    /// The screen failed.
    #[error(transparent)]
    Terminal(#[from] terminal::TerminalError),
    /// Kubernetes cannot be asked.
    #[error("{}", .0.sentence())]
    Kube(Box<KubeConfigError>),
    /// Nothing says which deployment, and there is no cluster that would be looked at by itself.
    #[error("no NATS server is named: pass --nats-url; and {}", .0.sentence())]
    Nowhere(Box<KubeConfigError>),
    /// A scenario that is not known.
    #[error("no scenario `{name}`; there are {known}")]
    Scenario {
        /// What was typed.
        name: String,
        /// What there is.
        known: String,
    },
    /// A finding that is not known.
    #[error("no finding `{id}`; there are KVT001 to {last}")]
    Finding {
        /// What was typed.
        id: String,
        /// The last there is.
        last: &'static str,
    },
    /// The runtime could not be started.
    #[error("could not start")]
    Start(#[source] io::Error),
    /// The output could not be written.
    #[error("could not write the output")]
    Output(#[source] io::Error),
}

/// Threads for engine and sources. The screen has the main thread, sources that must never wait have
/// threads of their own.
const WORKERS: usize = 2;

/// Does what the command line asks.
pub fn run(cli: &Cli) -> Result<Exit, RunError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(RunError::Start)?;
    let done = runtime.block_on(async {
        match &cli.command {
            None => screen::live(&cli.source, &cli.screen).await,
            Some(Command::Demo(demo)) => screen::demo(demo, &cli.source, &cli.screen).await,
            Some(Command::Replay(replay)) => screen::replay(replay, &cli.source, &cli.screen).await,
            Some(Command::Record(record)) => headless::record(record, &cli.source).await,
            Some(Command::Snapshot(snapshot)) => headless::snapshot(snapshot, &cli.source).await,
            Some(Command::Stat(stat)) => headless::stat(stat, &cli.source).await,
            Some(Command::Check(check)) => check::check(check, &cli.source).await,
            Some(Command::Explain(explain)) => check::explain(explain),
            Some(Command::Rbac(rbac)) => headless::rbac(rbac, &cli.source),
        }
    });
    // Nothing that is left may hold up the end: a stuck disk would.
    runtime.shutdown_background();
    match done {
        // A reader that has had enough, such as `head`, is no failure.
        Err(RunError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Clean)
        }
        other => other,
    }
}
