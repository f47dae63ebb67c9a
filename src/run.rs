//! The composition root: the only layer that spawns, waits and selects.

mod ahead;
mod aside;
mod bundle;
mod check;
mod cluster;
mod complete;
mod demo;
mod deploy;
mod diff;
mod discovery;
mod doctor;
mod driver;
mod ending;
mod exporter;
mod fleet;
mod headless;
mod incident;
mod lint;
mod live;
mod log_files;
pub mod manual;
mod mcp;
mod memory;
mod output;
mod place;
mod plan;
mod publishers;
mod rbac;
mod ready;
mod recorder;
mod records;
mod removed;
mod roster;
mod schema;
mod screen;
mod session;
pub mod settings;
mod snapshot;
mod stat;
mod structured;
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
use crate::report::BadPath;
use crate::report::diff::BadState;
use crate::source::etcd::BadEtcdAddress;
use crate::source::indexer::BadIndexerUrl;
use crate::source::kube::{KubeConfigError, Refusal};
use crate::source::nats::NatsConfigError;
use crate::source::prometheus::PrometheusError;
use crate::source::zmq::BadEndpoint;
use crate::tui::labels::LabelsError;
use crate::tui::theme::ThemeError;

pub use complete::answer_shell;
pub use output::{printable_lines, without_logins};

/// Errors of commands.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A recording could not be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The NATS settings are incomplete or invalid.
    #[error("invalid NATS settings")]
    Nats(#[from] NatsConfigError),
    /// An invalid ZMQ address.
    #[error(transparent)]
    Zmq(#[from] BadEndpoint),
    /// An invalid indexer address.
    #[error(transparent)]
    Indexer(#[from] BadIndexerUrl),
    /// An invalid etcd address.
    #[error(transparent)]
    Etcd(#[from] BadEtcdAddress),
    /// A file with a secret could not be read.
    #[error("could not read the etcd password from `{}`", path.display())]
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
    /// Kubernetes is not usable.
    #[error("{}", .0.sentence())]
    Kube(Box<KubeConfigError>),
    /// A name of several deployments.
    #[error("{0}")]
    Ambiguous(Box<place::Ambiguous>),
    /// A name without a deployment.
    #[error("{0}")]
    NotFound(Box<place::NotFound>),
    /// The API server did not answer the lookup of a name.
    #[error("could not look up `{name}`")]
    Lookup {
        /// The name.
        name: String,
        /// Why.
        #[source]
        why: Box<Refusal>,
    },
    /// A Prometheus cannot be asked.
    #[error(transparent)]
    Prometheus(#[from] PrometheusError),
    /// The deployments of a cluster could not be listed.
    #[error("could not list the deployments of the cluster")]
    Roster(#[source] Box<Refusal>),
    /// No deployment is given, and there is no default cluster.
    #[error(
        "no deployment given ({}). Try:\n  kvtop demo             a simulated deployment\n  kvtop -n NAMESPACE     \
         a deployment in Kubernetes\n  kvtop --nats-url URL   a deployment by its NATS server (or --zmq, \
         --etcd-url, --discovery-dir)",
        .0.sentence().replace(['\n', '\t'], " ")
    )]
    Nowhere(Box<KubeConfigError>),
    /// There is no terminal for the screen.
    #[error(
        "{} cannot show the screen; use `kvtop snapshot`, `kvtop stat` or `kvtop check` instead", .0
    )]
    NoScreen(&'static str),
    /// The settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file with names of blocks is invalid.
    #[error("could not read the block names in `{}`", path.display())]
    Labels {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: LabelsError,
    },
    /// A template of JSON paths is invalid.
    #[error("could not read the template `{template}`: {why}")]
    Template {
        /// The template.
        template: String,
        /// The fault in it.
        why: BadPath,
    },
    /// An unknown command.
    #[error("unknown command `{name}`{}; known commands: {known}", nearest(name, known.split(", ")))]
    NoCommand {
        /// The typed text.
        name: String,
        /// The known names.
        known: String,
    },
    /// A certificate, a key or a token of `kvtop export` cannot be used.
    #[error(transparent)]
    Access(#[from] exporter::access::Unusable),
    /// The address cannot be listened on.
    #[error("could not listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The context's namespace is invalid.
    #[error("`{name}` is {why}")]
    Namespace {
        /// The name.
        name: String,
        /// The fault.
        why: String,
    },
    /// An unknown view.
    #[error("unknown view `{name}`{}; known views: {known}", nearest(name, known.split(", ")))]
    View {
        /// The typed text.
        name: String,
        /// The known names.
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
    /// A file to compare is neither a recording nor a snapshot.
    #[error("could not compare `{}`", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The fault in it.
        #[source]
        why: BadState,
    },
    /// A file to compare is too large to be a snapshot.
    #[error("could not compare `{}`: a snapshot has at most {most} MiB", path.display())]
    LargeState {
        /// The file.
        path: PathBuf,
        /// The limit.
        most: u64,
    },
    /// A moment of a snapshot, which has only one.
    #[error("`{}` is a snapshot, which has a single moment: {option} is for recordings", path.display())]
    Moment {
        /// The file.
        path: PathBuf,
        /// The option.
        option: &'static str,
    },
    /// A client of `kvtop mcp` does not follow the protocol.
    #[error("the client does not follow the Model Context Protocol: {why}")]
    Mcp {
        /// The fault.
        why: String,
    },
    /// There is no place for a config file.
    #[error("no path for the config file: set XDG_CONFIG_HOME or HOME, or pass --config")]
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
    /// An unknown scenario.
    #[error("unknown scenario `{name}`{}; known scenarios: {known}", nearest(name, known.split(", ")))]
    Scenario {
        /// The typed text.
        name: String,
        /// The known names.
        known: String,
    },
    /// An unknown finding.
    #[error("unknown finding `{id}`{}; `kvtop explain` lists all findings", nearest(id, known.iter().copied()))]
    Finding {
        /// The typed text.
        id: String,
        /// Ids and names of all findings.
        known: Vec<&'static str>,
    },
    /// The process may open too few files.
    #[error(
        "the limit of open files is {limit}, but kvtop needs {DESCRIPTORS}: raise it with `ulimit -n 256`"
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
    /// Returns the exit code of a command that ends with this: 3 where it is up to the user to choose, 2 for a word that
    /// is not known.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Ambiguous(_) => Exit::Check(3),
            Self::Template { .. }
            | Self::NoCommand { .. }
            | Self::View { .. }
            | Self::Scenario { .. }
            | Self::Finding { .. }
            | Self::Moment { .. }
            | Self::Theme(ThemeError::UnknownTheme { .. }) => Exit::Usage,
            _ => Exit::Failed,
        }
    }

    /// Returns it with its causes, for a terminal. Only a list of mistakes, and that of commands to try, have lines of
    /// their own; those in what was typed would pass for kvtop's.
    pub fn said(&self) -> String {
        let text = crate::exit::chain(self);
        match self {
            Self::Config(ConfigError::File { .. }) | Self::Nowhere(_) => printable_lines(&text),
            _ => printable_lines(&text.replace(['\n', '\t'], " ")),
        }
    }
}

/// Returns a question for the known word that is nearest to a mistyped one; nothing when none is near.
fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> String {
    let typed = typed.to_lowercase();
    let known: Vec<(&str, String)> = known.map(|word| (word, word.to_lowercase())).collect();
    let same = known.iter().find(|(_, lower)| without_zeros(lower) == without_zeros(&typed));
    let begins = || known.iter().find(|(_, lower)| typed.len() > 2 && lower.starts_with(&typed));
    let alike = || {
        let near = known.iter().map(|it| (strsim::jaro_winkler(&typed, &it.1), it));
        let near = near.filter(|(share, _)| *share > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
        near.map(|(_, it)| it)
    };
    let found = same.or_else(begins).or_else(alike);
    found.map_or_else(String::new, |(word, _)| format!(" (did you mean `{word}`?)"))
}

/// Returns an id such as `kvt001` without the zeros before its number, which people leave out.
fn without_zeros(id: &str) -> String {
    let number = id.find(|letter: char| letter.is_ascii_digit()).unwrap_or(id.len());
    let (letters, digits) = id.split_at(number);
    format!("{letters}{}", digits.trim_start_matches('0'))
}

/// Stack of the runtime's threads: text that decoders read nests up to 64 levels, which takes 1.5 MiB in a debug
/// build.
const STACK: usize = 8 << 20;

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
        .thread_stack_size(STACK)
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
            Some(Command::Diff(args)) => diff::diff(args, source),
            Some(Command::Report(args)) => incident::report(args, source).await,
            Some(Command::Plan(args)) => plan::plan(args, source).await,
            Some(Command::Mcp(args)) => mcp::mcp(args, source).await,
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
        Some(Command::Deploy(args)) => deploy::deploy(args, &cli.source),
        Some(Command::Lint(args)) => lint::lint(args),
        Some(Command::Schema(args)) => schema::schema(*args),
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
