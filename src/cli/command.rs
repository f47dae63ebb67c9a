//! Options and arguments of each command.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::format::{Formats, Structured};
use super::value::{Shard, address, duration, file, label, offset, shard, size, speed, whole};

/// `kvtop demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Scenario: gtc-demo, fleet-8, fleet-16, mismatch, healthy, router-mismatch, no-history, churn or
    /// silent
    #[arg(default_value = "gtc-demo")]
    pub scenario: String,
    /// Seed of the simulation; the same seed gives the same events
    #[arg(long, default_value_t = 1, value_parser = whole)]
    pub seed: u64,
    /// Guided tour
    #[arg(long)]
    pub tour: bool,
    /// Print every graph in every color mode, then exit
    #[arg(long, conflicts_with = "tour")]
    pub gallery: bool,
}

/// `kvtop replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// Recording (.frames, .frames.zst or .frames.gz)
    pub file: PathBuf,
    /// Playback speed, as a factor of real time
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Start position: after the beginning (30s) or before the end (-3m)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = offset)]
    pub at: Option<Offset>,
    /// Start paused
    #[arg(long)]
    pub paused: bool,
}

/// A position in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// After its beginning.
    FromStart(Duration),
    /// Before its end.
    BeforeEnd(Duration),
}

/// `kvtop mcp`.
#[derive(Args, Clone, Debug)]
pub struct McpArgs {
    /// Recordings, snapshots, manifests or directories that tools may read [default: none]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Attach to no deployment: only read files; needs at least one PATH
    #[arg(long, requires = "paths")]
    pub offline: bool,
}

/// `kvtop report`.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// Recording (.frames, .frames.zst or .frames.gz); without one, `--last` reports on a live deployment
    pub file: Option<PathBuf>,
    /// Format of the page
    #[arg(short, long, value_name = "FORMAT", default_value = "html")]
    pub output: ReportFormat,
    /// Start: after the beginning (30s) or before the end (-3m). Earlier frames still count as history
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = offset, requires = "file")]
    pub from: Option<Offset>,
    /// Report on this much time: the end of the recording, or the past of a live deployment as far as its streams and
    /// logs hold it
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "from")]
    pub last: Option<Duration>,
    /// Time to listen to a live deployment after reading history
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration, conflicts_with = "file")]
    pub length: Duration,
    /// Longest wait for history and for sources to answer [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "file")]
    pub wait: Option<Duration>,
    /// Title of the page [default: name of the recording or of the deployment]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// `kvtop diff`.
#[derive(Args, Clone, Debug)]
pub struct DiffArgs {
    /// First state: a recording, or a file of `kvtop snapshot -o json`; `-` reads a snapshot from standard input
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// Second state, likewise
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text",
        value_parser = Formats::new(DIFF, DiffFormat::Structured))]
    pub output: DiffFormat,
    /// Moment of recording A: after its beginning (30s) or before its end (-3m) [default: its end]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = offset)]
    pub at_a: Option<Offset>,
    /// Moment of recording B, likewise
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = offset)]
    pub at_b: Option<Offset>,
}

/// Output formats of `kvtop diff`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffFormat {
    /// Differences, as aligned text
    Text,
    /// The same as Markdown
    Md,
    /// JSON, YAML or a template of JSON paths
    Structured(Structured),
}

const DIFF: &[(&str, &str, DiffFormat)] = &[
    ("text", "Differences, as aligned text", DiffFormat::Text),
    ("md", "The same as Markdown", DiffFormat::Md),
];

/// Format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One HTML file, without scripts and without anything to fetch
    Html,
    /// Markdown, with charts as text
    Md,
}

/// `kvtop record`.
#[derive(Args, Clone, Debug)]
pub struct RecordArgs {
    /// Output file; compressed if its name ends in .zst
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub output: PathBuf,
    /// Recording time [default: until interrupted]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub length: Option<Duration>,
    /// Note stored in the recording, for its readers
    #[arg(long, default_value = "")]
    pub note: String,
}

/// `kvtop bundle`.
#[derive(Args, Clone, Debug)]
pub struct BundleArgs {
    /// Output file; its name must end in .tar.zst
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub output: PathBuf,
    /// Time to listen after reading history
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub length: Duration,
    /// Bundle this recording instead of listening to a live deployment
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

/// `kvtop snapshot`.
#[derive(Args, Clone, Debug)]
pub struct SnapshotArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table",
        value_parser = Formats::new(SNAPSHOT, SnapshotFormat::Structured))]
    pub output: SnapshotFormat,
    /// Use the state at the end of this recording instead of a live deployment
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub replay: Option<PathBuf>,
    /// Use a simulated deployment; `--for` is simulated time
    #[arg(long, value_name = "SCENARIO")]
    pub demo: Option<String>,
    /// Seed of the simulation
    #[arg(long, default_value_t = 1, requires = "demo", value_parser = whole)]
    pub seed: u64,
    /// Time to listen after reading history
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub length: Duration,
    /// Longest wait for history and for sources to answer [default: 30s]. If history is still incomplete,
    /// the output reports it and the exit code is 3
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["replay", "demo"])]
    pub wait: Option<Duration>,
    /// View to draw in svg, html and text
    #[arg(long, value_name = "NAME", default_value = "overview")]
    pub view: String,
    /// Columns x rows of svg, html and text
    #[arg(long, value_name = "SIZE", default_value = "120x36", value_parser = size)]
    pub size: (u16, u16),
}

/// Output formats of `kvtop snapshot`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotFormat {
    /// Aligned columns
    Table,
    /// Aligned columns, with node, role, component, model and more
    Wide,
    /// Ids of the workers, one a line
    Name,
    /// Comma-separated values
    Csv,
    /// A Markdown table
    Md,
    /// The screen as an SVG image
    Svg,
    /// The screen as an HTML page
    Html,
    /// The screen as text
    Text,
    /// JSON, YAML or a template of JSON paths
    Structured(Structured),
}

const SNAPSHOT: &[(&str, &str, SnapshotFormat)] = &[
    ("table", "Aligned columns", SnapshotFormat::Table),
    ("wide", "Aligned columns, with node, role, component, model and more", SnapshotFormat::Wide),
    ("name", "Ids of the workers, one a line", SnapshotFormat::Name),
    ("csv", "Comma-separated values", SnapshotFormat::Csv),
    ("md", "A Markdown table", SnapshotFormat::Md),
    ("svg", "The screen as an SVG image", SnapshotFormat::Svg),
    ("html", "The screen as an HTML page", SnapshotFormat::Html),
    ("text", "The screen as text", SnapshotFormat::Text),
];

/// `kvtop stat`.
#[derive(Args, Clone, Debug)]
pub struct StatArgs {
    /// Time between lines
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub interval: Duration,
    /// Longest wait for history before the first line [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "replay")]
    pub wait: Option<Duration>,
    /// Number of lines to print [default: until interrupted]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Read this recording, as fast as possible, instead of a live deployment
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

/// `kvtop check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text",
        value_parser = Formats::new(CHECK, CheckFormat::Structured))]
    pub output: CheckFormat,
    /// Check this recording instead of a live deployment
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Time to listen after reading history
    #[arg(
        long = "for",
        value_name = "TIME",
        default_value = "30s",
        value_parser = duration,
        conflicts_with = "replay"
    )]
    pub length: Duration,
    /// Wait up to this time until everything is healthy, for example after a fix. Also the limit for reading
    /// history [default: 30s]. If history is still incomplete, the output reports it and the exit code is 3
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "replay")]
    pub wait: Option<Duration>,
}

/// Output formats of `kvtop check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckFormat {
    /// One line with performance data, for Nagios-compatible monitoring
    Text,
    /// The same, then each finding with its evidence and fix, and each check
    Wide,
    /// Ids of the active findings, one a line
    Name,
    /// Prometheus metrics
    Prometheus,
    /// JSON, YAML or a template of JSON paths
    Structured(Structured),
}

const CHECK: &[(&str, &str, CheckFormat)] = &[
    ("text", "One line with performance data, for Nagios-compatible monitoring", CheckFormat::Text),
    (
        "wide",
        "The same, then each finding with its evidence and fix, and each check",
        CheckFormat::Wide,
    ),
    ("name", "Ids of the active findings, one a line", CheckFormat::Name),
    ("prometheus", "Prometheus metrics", CheckFormat::Prometheus),
];

/// `kvtop lint`.
#[derive(Args, Clone, Debug)]
pub struct LintArgs {
    /// Manifests, engine configs or directories (recursive); `-` reads standard input, such as `helm template` output
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text",
        value_parser = Formats::new(LINT, LintFormat::Structured))]
    pub output: LintFormat,
}

/// Output formats of `kvtop lint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LintFormat {
    /// Human-readable text
    Text,
    /// Ids of the findings, one a line
    Name,
    /// JSON, YAML or a template of JSON paths
    Structured(Structured),
}

const LINT: &[(&str, &str, LintFormat)] = &[
    ("text", "Human-readable text", LintFormat::Text),
    ("name", "Ids of the findings, one a line", LintFormat::Name),
];

/// `kvtop explain`.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// Finding id or name, such as KVT001 [default: all]
    pub id: Option<String>,
}

/// `kvtop export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// Listen address; use `:9478` (all addresses) in a pod
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9478", value_parser = address)]
    pub listen: SocketAddr,
    /// Serve over TLS with this certificate (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the TLS certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Answer only requests that carry the bearer token in this file
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Watch only this part of the namespaces, chosen by a hash of their names, such as `2/5` for the second of five
    /// exporters
    #[arg(long, value_name = "PART", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Smallest unit with series of its own: `fleet` (about 250 series per deployment), `worker` (about 20 more per
    /// worker) or `rank` (about 20 more per rank)
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "worker")]
    pub metrics_level: MetricsLevel,
}

/// The smallest unit that has series in `kvtop export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MetricsLevel {
    /// The deployment as a whole
    Fleet,
    /// Each worker, its ranks added up
    Worker,
    /// Each rank of each worker
    Rank,
}

impl MetricsLevel {
    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fleet => "fleet",
            Self::Worker => "worker",
            Self::Rank => "rank",
        }
    }
}

/// `kvtop deploy`.
#[derive(Args, Clone, Debug)]
pub struct DeployArgs {
    /// Part to print
    #[arg(value_enum, default_value = "manifests")]
    pub part: DeployPart,
    /// Container image [default: `kvtop:` and the version]
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Level of the metrics, as for `kvtop export`
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "worker")]
    pub metrics_level: MetricsLevel,
    /// Object by which the Prometheus operator finds the exporter
    #[arg(long, value_name = "KIND", value_enum, default_value = "pod")]
    pub monitor: MonitorKind,
    /// Beginning of links to runbooks [default: the exporter, which serves them]
    #[arg(long, value_name = "URL")]
    pub runbook_url: Option<String>,
    /// Also print the role to read this one Secret, such as NATS credentials
    #[arg(long, value_name = "NAME")]
    pub secret: Option<String>,
}

/// The output of `kvtop deploy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeployPart {
    /// Everything, for `kubectl apply -f -`
    Manifests,
    /// The alert rules alone, as a rule file of Prometheus
    Rules,
    /// The Grafana dashboard of all deployments
    DashboardFleet,
    /// The Grafana dashboard of one deployment
    DashboardDeployment,
    /// The Grafana dashboard of workers
    DashboardWorker,
}

/// The object by which Prometheus finds the exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MonitorKind {
    /// PodMonitor
    Pod,
    /// ServiceMonitor
    Service,
    /// Neither, and no PrometheusRule
    None,
}

/// `kvtop schema`.
#[derive(Args, Clone, Copy, Debug)]
pub struct SchemaArgs {
    /// The output
    #[arg(value_enum)]
    pub of: SchemaOf,
}

/// Outputs and files with a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// `kvtop check -o json`
    Check,
    /// `kvtop check -A -o json`
    CheckFleet,
    /// `kvtop snapshot -o json`
    Snapshot,
    /// `kvtop diff -o json`
    Diff,
    /// `kvtop lint -o json`
    Lint,
    /// `kvtop doctor -o json`
    Doctor,
    /// `kvtop plan -o json`
    Plan,
    /// The answer of `curve` of `kvtop mcp`
    Curve,
    /// The answer of `decisions` of `kvtop mcp`
    Decisions,
    /// The answer of `tree` of `kvtop mcp`
    Tree,
    /// The config file, read as JSON
    Config,
}

/// `kvtop themes`.
#[derive(Args, Clone, Debug)]
pub struct ThemesArgs {
    /// The command
    #[command(subcommand)]
    pub command: ThemesCommand,
}

/// The commands about themes.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum ThemesCommand {
    /// List all themes with their purpose
    List,
    /// Print the colours of a theme with their contrasts
    Show {
        /// Theme name
        name: String,
    },
    /// Check contrast, and the distance between state colours for every kind of colour vision; exit code 1 if a theme fails
    Check {
        /// Theme names or theme files [default: all themes]
        themes: Vec<String>,
    },
}

/// `kvtop keys`.
#[derive(Args, Clone, Copy, Debug)]
pub struct KeysArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: KeysFormat,
}

/// Output formats of `kvtop keys`.
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
    /// Shell
    pub shell: Shell,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// Elvish
    Elvish,
    /// fish
    Fish,
    /// PowerShell
    #[value(name = "powershell")]
    PowerShell,
    /// Z shell
    Zsh,
}

/// `kvtop man`.
#[derive(Args, Clone, Debug)]
pub struct ManArgs {
    /// Command, such as `check` or `config check` [default: kvtop itself]
    #[arg(num_args = 0..=2)]
    pub command: Vec<String>,
}

/// `kvtop config`.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    /// The command
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// The commands about the config file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Create a config file that explains every setting and sets none
    Init {
        /// Print to standard output instead
        #[arg(long)]
        stdout: bool,
    },
    /// Print the path of the config file
    Path,
    /// Report every error with its line
    Check,
    /// Print the effective settings and where each one comes from
    Show,
}

/// `kvtop doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text",
        value_parser = Formats::new(DOCTOR, DoctorFormat::Structured))]
    pub output: DoctorFormat,
}

/// Output formats of `kvtop doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoctorFormat {
    /// One line per check
    Text,
    /// JSON, YAML or a template of JSON paths
    Structured(Structured),
}

const DOCTOR: &[(&str, &str, DoctorFormat)] = &[("text", "One line per check", DoctorFormat::Text)];

/// `kvtop rbac`.
#[derive(Args, Clone, Debug)]
pub struct RbacArgs {
    /// Also print the optional role for port-forwards
    #[arg(long)]
    pub port_forward: bool,
    /// With --port-forward: the namespace of NATS if it differs, such as `dynamo-system`
    #[arg(long, value_name = "NAME", value_parser = label, requires = "port_forward")]
    pub nats_namespace: Option<String>,
    /// Also print the optional role to read this one Secret, such as NATS credentials
    #[arg(long, value_name = "NAME")]
    pub secret: Option<String>,
    /// Bind the role to this user [default: service account `kvtop`]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
}
