//! What each command takes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::value::{address, duration, file, label, offset, size, speed};

/// `kvtop demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Which scenario: gtc-demo, fleet-8, fleet-16, mismatch, healthy, router-mismatch, no-history, churn or
    /// silent
    #[arg(default_value = "gtc-demo")]
    pub scenario: String,
    /// Seed of the simulation; the same seed gives the same events
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Tell what there is to see, step by step
    #[arg(long)]
    pub tour: bool,
}

/// `kvtop replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// The recording (.frames, .frames.zst or .frames.gz)
    pub file: PathBuf,
    /// How many times faster than it happened
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Where to start: from the beginning (30s) or before the end (-3m)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = offset)]
    pub at: Option<Offset>,
    /// Start paused
    #[arg(long)]
    pub paused: bool,
}

/// A place in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// After its beginning.
    FromStart(Duration),
    /// Before its end.
    BeforeEnd(Duration),
}

/// `kvtop record`.
#[derive(Args, Clone, Debug)]
pub struct RecordArgs {
    /// The file to write; compressed when it ends in .zst
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub output: PathBuf,
    /// How long to record; until interrupted when not given
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub length: Option<Duration>,
    /// What it shows, for whoever reads it later
    #[arg(long, default_value = "")]
    pub note: String,
}

/// `kvtop bundle`.
#[derive(Args, Clone, Debug)]
pub struct BundleArgs {
    /// The file to write; its name ends in .tar.zst
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub output: PathBuf,
    /// How long to listen, once history has been read
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub length: Duration,
    /// Pack this recording instead of listening to a live deployment
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

/// `kvtop snapshot`.
#[derive(Args, Clone, Debug)]
pub struct SnapshotArgs {
    /// Format
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: SnapshotFormat,
    /// Take the state at the end of this recording instead of a live one
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub replay: Option<PathBuf>,
    /// Take the state of a simulated deployment after `--for` of its time
    #[arg(long, value_name = "SCENARIO")]
    pub demo: Option<String>,
    /// Seed of the simulation
    #[arg(long, default_value_t = 1, requires = "demo")]
    pub seed: u64,
    /// How long to listen before the state is taken, once history has been read
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub length: Duration,
    /// How long to wait for history to be read, and for sources to answer; 30s when not given. What was not
    /// read is said, with exit code 3
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["replay", "demo"])]
    pub wait: Option<Duration>,
    /// View that svg, html and text show
    #[arg(long, value_name = "NAME", default_value = "overview")]
    pub view: String,
    /// Columns and rows of svg, html and text
    #[arg(long, value_name = "SIZE", default_value = "120x36", value_parser = size)]
    pub size: (u16, u16),
}

/// Formats of `kvtop snapshot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SnapshotFormat {
    /// Aligned columns
    Table,
    /// The contract of docs/reference/json.md
    Json,
    /// Comma-separated values
    Csv,
    /// A Markdown table
    Md,
    /// The screen as a picture
    Svg,
    /// The screen as a page
    Html,
    /// The screen as text
    Text,
}

/// `kvtop stat`.
#[derive(Args, Clone, Debug)]
pub struct StatArgs {
    /// Time between lines
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub interval: Duration,
    /// How long the first line waits for history to be read; 30s when not given
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "replay")]
    pub wait: Option<Duration>,
    /// Lines to print; until interrupted when not given
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print the lines of this recording, as fast as it can be read
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

/// `kvtop check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: CheckFormat,
    /// Judge this recording instead of a live deployment
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Judge saved logs instead, as `kubectl logs` prints them; `-` reads standard input
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["replay", "wait"])]
    pub logs: Vec<PathBuf>,
    /// How long to listen before it is judged, once history has been read
    #[arg(
        long = "for",
        value_name = "TIME",
        default_value = "30s",
        value_parser = duration,
        conflicts_with_all = ["replay", "logs"]
    )]
    pub length: Duration,
    /// Wait for up to this time until all is well, as after a fix; also how long to wait for history to be
    /// read, which is 30s when not given. What was not read is said, with exit code 3
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "replay")]
    pub wait: Option<Duration>,
}

/// Formats of `kvtop check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// One line with performance data, as Nagios and its heirs read it
    Text,
    /// The contract of docs/reference/json.md
    Json,
    /// Metrics
    Prometheus,
}

/// `kvtop lint`.
#[derive(Args, Clone, Debug)]
pub struct LintArgs {
    /// Manifests and engine configurations; folders with all that is below them; `-` for what Helm prints
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: LintFormat,
}

/// Formats of `kvtop lint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LintFormat {
    /// For people
    Text,
    /// The contract of docs/reference/json.md
    Json,
}

/// `kvtop explain`.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// The finding, such as KVT001 or its name; all of them when not given
    pub id: Option<String>,
}

/// `kvtop export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// Where to listen; `:9478` listens on every address, which a pod needs
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9478", value_parser = address)]
    pub listen: SocketAddr,
}

/// `kvtop themes`.
#[derive(Args, Clone, Debug)]
pub struct ThemesArgs {
    /// What to do with them
    #[command(subcommand)]
    pub command: ThemesCommand,
}

/// What to do with themes.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum ThemesCommand {
    /// Name every theme, and what it is for
    List,
    /// Print a theme's colours, with their contrasts
    Show {
        /// The theme
        name: String,
    },
    /// Compute contrasts, and how far apart the colours of states are for every kind of colour vision;
    /// exit code 1 when one falls short
    Check {
        /// Themes, or theme files; all themes when none is given
        themes: Vec<String>,
    },
}

/// `kvtop keys`.
#[derive(Args, Clone, Copy, Debug)]
pub struct KeysArgs {
    /// Format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: KeysFormat,
}

/// Formats of `kvtop keys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeysFormat {
    /// Aligned columns
    Text,
    /// A Markdown table
    Md,
}

/// `kvtop completions`.
#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// Shells that can complete what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// Elvish
    Elvish,
    /// fish
    Fish,
    /// `PowerShell`
    #[value(name = "powershell")]
    PowerShell,
    /// Z shell
    Zsh,
}

/// `kvtop man`.
#[derive(Args, Clone, Debug)]
pub struct ManArgs {
    /// The page of this command, such as `check` or `config check`; the one of kvtop when not given
    #[arg(num_args = 0..=2)]
    pub command: Vec<String>,
}

/// `kvtop config`.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What to do with the config file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Write a file in which every setting is explained and none is set
    Init {
        /// Print it instead
        #[arg(long)]
        stdout: bool,
    },
    /// Print where it is
    Path,
    /// Name every mistake in it, with its line
    Check,
    /// Print every setting that holds, and who said so
    Show,
}

/// `kvtop doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// Format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: DoctorFormat,
}

/// Formats of `kvtop doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    /// A line for each check
    Text,
    /// The contract of docs/reference/json.md
    Json,
}

/// `kvtop rbac`.
#[derive(Args, Clone, Debug)]
pub struct RbacArgs {
    /// Add the opt-in role for port-forwards
    #[arg(long)]
    pub port_forward: bool,
    /// With --port-forward: the namespace of NATS, when it is another one, such as `dynamo-system`
    #[arg(long, value_name = "NAME", value_parser = label, requires = "port_forward")]
    pub nats_namespace: Option<String>,
    /// Add the opt-in role for reading this one Secret, such as the login of NATS
    #[arg(long, value_name = "NAME")]
    pub secret: Option<String>,
    /// The user who gets the role; a service account `kvtop` when not given
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
}
