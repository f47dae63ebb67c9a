//! The composition root: the only layer that spawns, waits and selects.

mod bundle;
mod check;
mod cluster;
mod demo;
mod discovery;
mod doctor;
mod driver;
mod ending;
mod exporter;
mod headless;
mod lint;
mod live;
mod log_files;
pub mod manual;
mod memory;
mod output;
mod place;
mod publishers;
mod rbac;
mod ready;
mod recorder;
mod records;
mod removed;
mod screen;
mod session;
pub mod settings;
mod snapshot;
mod stat;
pub mod terminal;
mod themes;
mod thresholds;
mod waiting;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::cli::{Cli, Command};
use crate::config::ConfigError;
use crate::exit::Exit;
use crate::record::RecordError;
use crate::source::etcd::BadEtcdAddress;
use crate::source::indexer::BadIndexerUrl;
use crate::source::kube::{KubeConfigError, Refusal};
use crate::source::nats::NatsConfigError;
use crate::source::zmq::BadEndpoint;
use crate::tui::labels::LabelsError;
use crate::tui::theme::ThemeError;

pub use output::printable_lines;

/// Why kvtop could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A recording could not be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The settings for NATS do not say where to connect, or how.
    #[error("could not tell how to reach NATS")]
    Nats(#[from] NatsConfigError),
    /// An address of ZMQ that is none.
    #[error(transparent)]
    Zmq(#[from] BadEndpoint),
    /// An address of an indexer that is none.
    #[error(transparent)]
    Indexer(#[from] BadIndexerUrl),
    /// An address of etcd that is none.
    #[error(transparent)]
    Etcd(#[from] BadEtcdAddress),
    /// A file with a secret could not be read.
    #[error("could not read the password of etcd from `{}`", path.display())]
    Password {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The screen failed.
    #[error(transparent)]
    Terminal(#[from] terminal::TerminalError),
    /// Kubernetes cannot be asked.
    #[error("{}", .0.sentence())]
    Kube(Box<KubeConfigError>),
    /// A name that means several deployments.
    #[error("{0}")]
    Ambiguous(Box<place::Ambiguous>),
    /// A name that means nothing.
    #[error("{0}")]
    NotFound(Box<place::NotFound>),
    /// The API server could not be asked what a name means.
    #[error("could not look up `{name}`")]
    Lookup {
        /// The name.
        name: String,
        /// Why.
        #[source]
        why: Box<Refusal>,
    },
    /// Nothing says which deployment, and there is no cluster that would be looked at by itself.
    #[error(
        "nothing names a deployment: pass --nats-url, --zmq, --etcd-url or --discovery-dir; and {}; \
         `kvtop demo` needs none of them",
        .0.sentence()
    )]
    Nowhere(Box<KubeConfigError>),
    /// There is no terminal that a screen could be drawn on.
    #[error(
        "{} cannot show a screen; without one there are `kvtop snapshot`, `kvtop stat` and `kvtop check`", .0
    )]
    NoScreen(&'static str),
    /// The settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The names of blocks cannot be used.
    #[error("the names of blocks in `{}` cannot be read", path.display())]
    Labels {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: LabelsError,
    },
    /// A command that is not known.
    #[error("no command `{name}`; there are {known}")]
    NoCommand {
        /// What was typed.
        name: String,
        /// What there is.
        known: String,
    },
    /// The address cannot be listened on.
    #[error("could not listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The context's namespace is none.
    #[error("`{name}` is {why}")]
    Namespace {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A view that is not known.
    #[error("no view `{name}`; there are {known}")]
    View {
        /// What was typed.
        name: String,
        /// What there is.
        known: String,
    },
    /// A theme cannot be used.
    #[error(transparent)]
    Theme(#[from] ThemeError),
    /// A file could not be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no place for a config file.
    #[error("neither XDG_CONFIG_HOME nor HOME says where the config file is; pass --config")]
    NoHome,
    /// A file could not be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A scenario that is not known.
    #[error("no scenario `{name}`; there are {known}")]
    Scenario {
        /// What was typed.
        name: String,
        /// What there is.
        known: String,
    },
    /// A finding that is not known.
    #[error("no finding `{id}`; `kvtop explain` lists them")]
    Finding {
        /// What was typed.
        id: String,
    },
    /// The process may open too few files.
    #[error(
        "the process may open only {limit} files, and kvtop needs {DESCRIPTORS}: raise the limit with `ulimit -n 256`"
    )]
    Descriptors {
        /// The limit.
        limit: u64,
    },
    /// The runtime could not be started.
    #[error("could not start")]
    Start(#[source] io::Error),
    /// The output could not be written.
    #[error("could not write the output")]
    Output(#[source] io::Error),
}

impl RunError {
    /// Returns the exit code of a command that ends with this: 3 where it is up to the user to choose.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Ambiguous(_) => Exit::Check(3),
            _ => Exit::Failed,
        }
    }

    /// Returns it with its causes, for a terminal. Only a list of mistakes has lines of its own; those
    /// in what was typed would pass for kvtop's.
    pub fn said(&self) -> String {
        let text = crate::exit::chain(self);
        match self {
            Self::Config(ConfigError::File { .. }) => printable_lines(&text),
            _ => printable_lines(&text.replace(['\n', '\t'], " ")),
        }
    }
}

/// Threads for engine and sources. The screen has the main thread, sources that must never wait have
/// threads of their own.
const WORKERS: usize = 2;

/// Open files that kvtop needs for the runtime, the terminal and a few sources. Libraries panic without them.
const DESCRIPTORS: u64 = 32;

/// Fails when the process may open too few files to work.
fn enough_descriptors() -> Result<(), RunError> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match limit {
        Some(limit) if limit < DESCRIPTORS => Err(RunError::Descriptors { limit }),
        _ => Ok(()),
    }
}

/// Does what the command line asks.
pub fn run(mut cli: Cli) -> Result<Exit, RunError> {
    if let Some(done) = without_settings(&mut cli) {
        return unless_piped(done);
    }
    let config = match settings::settle(&mut cli) {
        Ok(config) => config,
        Err(error) => match &cli.command {
            Some(Command::Check(args)) => return check::unknown(args, &error),
            _ => return Err(error.into()),
        },
    };
    enough_descriptors()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(RunError::Start)?;
    let source = &cli.source;
    let done = runtime.block_on(async {
        match &cli.command {
            Some(Command::Demo(demo)) => demo::demo(demo, source, &config).await,
            Some(Command::Replay(replay)) => screen::replay(replay, source, &config).await,
            Some(Command::Record(record)) => headless::record(record, source).await,
            Some(Command::Bundle(args)) => bundle::bundle(args, source, &config).await,
            Some(Command::Snapshot(snapshot)) => {
                snapshot::snapshot(snapshot, source, &config).await
            }
            Some(Command::Export(args)) => exporter::export(args, source).await,
            Some(Command::Stat(stat)) => stat::stat(stat, source).await,
            Some(Command::Check(check)) => check::check(check, source).await,
            Some(Command::Doctor(args)) => doctor::doctor(args, source, &config).await,
            _ => screen::live(source, &config).await,
        }
    });
    // Nothing that is left may hold up the end: a stuck disk would.
    runtime.shutdown_background();
    unless_piped(done)
}

/// Does what needs no settings, so that mistakes in them are no hindrance; none when it is something
/// else.
fn without_settings(cli: &mut Cli) -> Option<Result<Exit, RunError>> {
    Some(match &cli.command {
        Some(Command::Explain(explain)) => check::explain(explain),
        Some(Command::Rbac(rbac)) => rbac::rbac(rbac, &cli.source),
        Some(Command::Lint(args)) => lint::lint(args),
        Some(Command::Config(args)) => {
            let command = args.command;
            settings::config(cli, command)
        }
        Some(Command::Keys(args)) => {
            let format = args.output;
            let keys = settings::settle(cli).and_then(|config| settings::keymap(&config));
            manual::keys(format, keys)
        }
        Some(Command::Completions(args)) => manual::completions(args.shell),
        Some(Command::Man(args)) => manual::page(&args.command),
        Some(Command::Themes(args)) => themes::themes(&args.command, &cli.screen),
        _ => return None,
    })
}

/// A reader that has had enough, such as `head`, is no failure.
fn unless_piped(done: Result<Exit, RunError>) -> Result<Exit, RunError> {
    match done {
        Err(RunError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Clean)
        }
        other => other,
    }
}
