//! The command line: what was typed, checked and with its meaning.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// kvtop: what NVIDIA Dynamo's KV router knows, live. Read-only.
#[derive(Debug, Parser)]
#[command(name = "kvtop", version)]
#[command(after_help = "Without a command, kvtop opens the live screen. It never writes: no \
    consumers, no acks, no patches.")]
pub struct Cli {
    /// What to do; the live screen when nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Where the events come from.
    #[command(flatten)]
    pub source: SourceArgs,
    /// How it looks.
    #[command(flatten)]
    pub screen: ScreenArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the live screen over a simulated deployment; needs no cluster and no server
    Demo(DemoArgs),
    /// Play a recording on the live screen
    Replay(ReplayArgs),
    /// Write everything that arrives into a file
    Record(RecordArgs),
    /// Print the state once
    Snapshot(SnapshotArgs),
    /// Print one line a second
    Stat(StatArgs),
    /// Say what is wrong, once, for monitoring systems: exit code 0 good, 1 warning, 2 critical, 3 unknown
    Check(CheckArgs),
    /// Judge manifests and engine configurations before they are deployed: exit code 0 well, 1 findings,
    /// 3 not everything could be read
    Lint(LintArgs),
    /// Print what a finding means, how it is judged and what mends it
    Explain(ExplainArgs),
    /// Say what kvtop can see and what it lacks: cluster, rights, events, logs, metrics, terminal
    Doctor(DoctorArgs),
    /// Pack what a ticket needs into one file: a recording, findings, what kvtop could see, settings
    Bundle(BundleArgs),
    /// Print the Kubernetes role that kvtop needs, to paste
    Rbac(RbacArgs),
    /// Serve metrics for Prometheus, without a screen
    Export(ExportArgs),
    /// Themes: list them, show one, compute whether they can be read
    Themes(ThemesArgs),
    /// Print every key with the name of its action
    Keys(KeysArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
    /// The config file: write one, find it, check it, show what holds
    Config(ConfigArgs),
}

/// Which deployment, and where its events come from.
#[derive(Args, Clone, Debug, Default)]
pub struct SourceArgs {
    /// Kubernetes namespace of the deployment; everything else is found from it
    #[arg(short, long, global = true, value_name = "NAME", value_parser = label)]
    pub namespace: Option<String>,
    /// Kubernetes context to use
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Kubernetes configuration to use
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Kubernetes user to impersonate
    #[arg(long = "as", global = true, value_name = "USER")]
    pub as_user: Option<String>,
    /// How long one request to the API server may take
    #[arg(long, global = true, value_name = "TIME", value_parser = duration)]
    pub request_timeout: Option<Duration>,
    /// Graph deployment to look at, when the namespace has several
    #[arg(long, global = true, value_name = "NAME")]
    pub dgd: Option<String>,
    /// Open no port-forward, even when an address of the cluster cannot be reached otherwise
    #[arg(long, global = true)]
    pub no_port_forward: bool,
    /// Address of the NATS server, such as `nats://localhost:4222`
    #[arg(long, global = true, value_name = "URL")]
    pub nats_url: Option<String>,
    /// NATS context to use (see `nats context`)
    #[arg(long, global = true, value_name = "NAME")]
    pub nats_context: Option<String>,
    /// NATS credentials file
    #[arg(long, global = true, value_name = "FILE")]
    pub nats_creds: Option<PathBuf>,
    /// File with a NATS nkey seed
    #[arg(long, global = true, value_name = "FILE")]
    pub nats_nkey: Option<PathBuf>,
    /// NATS user
    #[arg(long, global = true, value_name = "NAME")]
    pub nats_user: Option<String>,
    /// File with the NATS password
    #[arg(long, global = true, value_name = "FILE")]
    pub nats_password_file: Option<PathBuf>,
    /// Certificate authority of the NATS server
    #[arg(long, global = true, value_name = "FILE")]
    pub nats_tls_ca: Option<PathBuf>,
    /// Client certificate for NATS
    #[arg(long, global = true, value_name = "FILE")]
    pub nats_tls_cert: Option<PathBuf>,
    /// Key of the client certificate for NATS
    #[arg(long, global = true, value_name = "FILE")]
    pub nats_tls_key: Option<PathBuf>,
    /// Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Those
    /// that discovery names are then left alone
    #[arg(long, global = true, value_name = "URL")]
    pub zmq: Vec<String>,
    /// Also listen to engines themselves (vLLM, `SGLang`), whose events name their block size. They
    /// carry the tokens of prompts, which are dropped at once and never kept or shown
    #[arg(long, global = true)]
    pub deep: bool,
    /// Address of etcd, such as `http://localhost:2379`, to find workers and publishers by their
    /// discovery records; `ETCD_ENDPOINTS` when not given
    #[arg(long, global = true, value_name = "URL")]
    pub etcd_url: Option<String>,
    /// User of etcd
    #[arg(long, global = true, value_name = "NAME", requires = "etcd_password_file")]
    pub etcd_user: Option<String>,
    /// File with the password of etcd
    #[arg(long, global = true, value_name = "FILE", requires = "etcd_user")]
    pub etcd_password_file: Option<PathBuf>,
    /// Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump
    /// tells the past on Dynamo 1.1 and later
    #[arg(long, global = true, value_name = "URL")]
    pub indexer_url: Option<String>,
    /// Folder with discovery records, as with `DYN_DISCOVERY_BACKEND=file`
    #[arg(long, global = true, value_name = "DIR")]
    pub discovery_dir: Option<PathBuf>,
    /// Dynamo namespace to look at; all when not given
    #[arg(long, global = true, value_name = "NAME", value_parser = subject)]
    pub dynamo_namespace: Option<String>,
    /// Bound of the mirror's memory, such as 512MiB; 1GiB when not given
    #[arg(long, global = true, value_name = "SIZE", value_parser = bytes)]
    pub max_memory: Option<usize>,
    /// What the config file says of thresholds: name and value.
    #[arg(skip)]
    pub thresholds: Vec<(String, String)>,
    /// What the config file says of NATS.
    #[arg(skip)]
    pub nats_file: NatsFile,
    /// Config file to use instead of the user's
    #[arg(long, global = true, value_name = "FILE", env = "KVTOP_CONFIG", hide_env_values = true)]
    pub config: Option<PathBuf>,
}

/// What the config file says of NATS: weaker than the environment, so it is kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NatsFile {
    /// Address of the server.
    pub url: Option<String>,
    /// Name of a context of the `nats` command.
    pub context: Option<String>,
}

impl SourceArgs {
    /// Returns the bound of the mirror's memory, in bytes.
    pub fn max_memory(&self) -> usize {
        self.max_memory.unwrap_or(MAX_MEMORY)
    }
}

/// Bound of the mirror's memory where nobody says anything, in bytes.
pub const MAX_MEMORY: usize = 1 << 30;

/// How the screen looks.
#[derive(Args, Clone, Debug, Default)]
pub struct ScreenArgs {
    /// Theme; `terminal` uses the colours of your terminal, `auto` goes by its background
    #[arg(long, global = true, value_name = "NAME")]
    pub theme: Option<String>,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", value_enum)]
    pub color: Option<ColorChoice>,
    /// Which characters to draw with; by default what your locale can show
    #[arg(long, global = true, value_name = "SET", value_enum)]
    pub glyphs: Option<GlyphChoice>,
    /// Ring the terminal's bell once for each new critical finding
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true")]
    pub bell: Option<bool>,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// As the terminal can, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Which characters to draw with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GlyphChoice {
    /// Boxes, dots and blocks
    Unicode,
    /// Plain ASCII
    Ascii,
}

/// `kvtop demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Which scenario: mismatch, healthy, router-mismatch, no-history, churn or silent
    #[arg(default_value = "mismatch")]
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
    /// Go on for up to this time until all is well, as after a fix
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

/// Reads the name of a Kubernetes namespace: a DNS label.
pub fn label(text: &str) -> Result<String, String> {
    let inner = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let ends = |letter: Option<&u8>| letter.is_some_and(|letter| inner(*letter));
    let bytes = text.as_bytes();
    let fits = bytes.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|letter| inner(*letter) || *letter == b'-');
    if fits {
        return Ok(text.to_owned());
    }
    Err("no name of a namespace; those have a-z, 0-9 and -, at most 63 letters".to_owned())
}

/// Reads the name of a Dynamo namespace: part of subjects of NATS, so without spaces and wildcards.
pub fn subject(text: &str) -> Result<String, String> {
    let bad = |letter: char| letter.is_whitespace() || letter.is_control() || "*>".contains(letter);
    if text.is_empty() || text.contains(bad) {
        return Err("no name of a Dynamo namespace; those have no spaces, `*` or `>`".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads the name of a file to write.
fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("it is written to a file, not to standard output; name one".to_owned()),
        name => Ok(name.into()),
    }
}

/// Reads a span of time such as `30s` or `10m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| format!("`{text}` is no time such as 30s, 10m or 1h"))?;
    Duration::try_from(span)
        .ok()
        .filter(|span| !span.is_zero())
        .ok_or_else(|| "must be longer than nothing".to_owned())
}

fn offset(text: &str) -> Result<Offset, String> {
    match text.strip_prefix('-') {
        Some(rest) => duration(rest).map(Offset::BeforeEnd),
        None => duration(text).map(Offset::FromStart),
    }
}

/// Slowest and fastest speed of a replay, in times of what happened.
pub const SPEEDS: (f64, f64) = (0.125, 1024.0);

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    let (slowest, fastest) = SPEEDS;
    if (slowest..=fastest).contains(&speed) {
        Ok(speed)
    } else {
        Err(format!("must be between {slowest} and {fastest}"))
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let full = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.to_owned(),
    };
    full.parse().map_err(|_| format!("`{text}` is no address such as 127.0.0.1:9478 or :9478"))
}

/// Most columns and rows of a drawing.
const LARGEST: (u16, u16) = (400, 200);

fn size(text: &str) -> Result<(u16, u16), String> {
    let wanted = || format!("`{text}` is no size such as 120x36");
    let (columns, rows) = text.split_once('x').ok_or_else(wanted)?;
    let size: (u16, u16) =
        (columns.parse().map_err(|_| wanted())?, rows.parse().map_err(|_| wanted())?);
    let fits = (1..=LARGEST.0).contains(&size.0) && (1..=LARGEST.1).contains(&size.1);
    let most = || format!("must be between 1x1 and {}x{}", LARGEST.0, LARGEST.1);
    fits.then_some(size).ok_or_else(most)
}

/// Least memory the mirror can work with.
const MIN_MEMORY: usize = 1 << 20;

/// Reads an amount of memory such as `512MiB`, in bytes.
pub fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        other => return Err(format!("`{other}` is no unit of memory; try MiB or GiB")),
    };
    let count: usize = digits.parse().map_err(|_| format!("`{text}` is no size such as 512MiB"))?;
    let size = count.checked_mul(unit).ok_or_else(|| format!("`{text}` is too much"))?;
    if size >= MIN_MEMORY { Ok(size) } else { Err("must be at least 1MiB".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_and_times_are_read_or_explained() {
        assert_eq!(bytes("512MiB"), Ok(512 << 20));
        assert_eq!(bytes("2g"), Ok(2 << 30));
        assert_eq!(bytes("12"), Err("must be at least 1MiB".to_owned()));
        assert_eq!(bytes("5 stones").map_err(|error| error.contains("unit")), Err(true));
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(offset("-3m"), Ok(Offset::BeforeEnd(Duration::from_secs(180))));
        assert!(duration("soon").is_err());
        assert_eq!(address(":9478"), Ok(SocketAddr::from(([0, 0, 0, 0], 9478))));
        assert!(address("localhost").is_err());
        assert_eq!(size("80x24"), Ok((80, 24)));
        assert!(size("80").is_err() && size("0x9").is_err() && size("9999x9").is_err());
    }
}
