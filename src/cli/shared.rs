//! Options that several commands share: the deployment, its sources, and how the screen looks.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::value::{Endpoint, bytes, duration, endpoint, place, selector, subject, web_address};

/// The deployment to inspect, and the sources of its data.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Args, Clone, Debug, Default)]
pub struct SourceArgs {
    /// Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you
    /// may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`
    #[arg(
        id = "namespace",
        help_heading = "Kubernetes",
        short = 'n',
        long = "namespace",
        global = true,
        value_name = "NAME",
        value_parser = place
    )]
    pub namespaces: Vec<String>,
    /// The only one of `namespaces`; none for several.
    #[arg(skip)]
    pub namespace: Option<String>,
    /// All deployments of the cluster, in every namespace that you may list
    #[arg(
        help_heading = "Kubernetes",
        short = 'A',
        long,
        global = true,
        conflicts_with = "namespace"
    )]
    pub all_namespaces: bool,
    /// With several deployments: only those whose graph deployment has these labels, as kubectl selects, such as
    /// `team=search,tier!=dev`
    #[arg(help_heading = "Kubernetes", short = 'l', long, global = true, value_name = "LABELS", value_parser = selector)]
    pub selector: Option<String>,
    /// Kubernetes context to use
    #[arg(help_heading = "Kubernetes", long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Kubeconfig file to use
    #[arg(help_heading = "Kubernetes", long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Kubernetes user to impersonate
    #[arg(help_heading = "Kubernetes", long = "as", global = true, value_name = "USER")]
    pub as_user: Option<String>,
    /// Timeout of a single request to the API server
    #[arg(help_heading = "Kubernetes", long, global = true, value_name = "TIME", value_parser = duration)]
    pub request_timeout: Option<Duration>,
    /// Graph deployment to inspect, if the namespace has several
    #[arg(help_heading = "Kubernetes", long, global = true, value_name = "NAME")]
    pub dgd: Option<String>,
    /// Never open a port-forward, even if a cluster address is otherwise unreachable
    #[arg(help_heading = "Kubernetes", long, global = true)]
    pub no_port_forward: bool,
    /// Address of the NATS server, such as `nats://localhost:4222`
    #[arg(help_heading = "NATS", long, global = true, value_name = "URL")]
    pub nats_url: Option<String>,
    /// NATS context to use (see `nats context`)
    #[arg(help_heading = "NATS", long, global = true, value_name = "NAME")]
    pub nats_context: Option<String>,
    /// NATS credentials file
    #[arg(help_heading = "NATS", long, global = true, value_name = "FILE")]
    pub nats_creds: Option<PathBuf>,
    /// File with a NATS nkey seed
    #[arg(help_heading = "NATS", long, global = true, value_name = "FILE")]
    pub nats_nkey: Option<PathBuf>,
    /// NATS user
    #[arg(help_heading = "NATS", long, global = true, value_name = "NAME")]
    pub nats_user: Option<String>,
    /// File with the NATS password
    #[arg(help_heading = "NATS", long, global = true, value_name = "FILE")]
    pub nats_password_file: Option<PathBuf>,
    /// CA certificate of the NATS server
    #[arg(help_heading = "NATS", long, global = true, value_name = "FILE")]
    pub nats_tls_ca: Option<PathBuf>,
    /// Client certificate for NATS
    #[arg(help_heading = "NATS", long, global = true, value_name = "FILE")]
    pub nats_tls_cert: Option<PathBuf>,
    /// Key of the NATS client certificate
    #[arg(help_heading = "NATS", long, global = true, value_name = "FILE")]
    pub nats_tls_key: Option<PathBuf>,
    /// Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables
    /// automatic discovery of publishers
    #[arg(help_heading = "Other sources", long, global = true, value_name = "URL")]
    pub zmq: Vec<String>,
    /// Also listen to the engines' own event sockets (vLLM, SGLang), which report the engine block size.
    /// Their events contain prompt tokens; kvtop drops these at once and never stores or shows them
    #[arg(help_heading = "Other sources", long, global = true)]
    pub deep: bool,
    /// Address of an engine's own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without
    /// Kubernetes; may be repeated. kvtop finds the engine's worker by the blocks that both report
    #[arg(help_heading = "Other sources", long, global = true, value_name = "URL")]
    pub engine: Vec<String>,
    /// Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379`
    /// [default: `ETCD_ENDPOINTS`]
    #[arg(help_heading = "Other sources", long, global = true, value_name = "URL")]
    pub etcd_url: Option<String>,
    /// etcd user
    #[arg(
        help_heading = "Other sources",
        long,
        global = true,
        value_name = "NAME",
        requires = "etcd_password_file"
    )]
    pub etcd_user: Option<String>,
    /// File with the etcd password
    #[arg(
        help_heading = "Other sources",
        long,
        global = true,
        value_name = "FILE",
        requires = "etcd_user"
    )]
    pub etcd_password_file: Option<PathBuf>,
    /// Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated
    #[arg(help_heading = "Other sources", long, global = true, value_name = "URL", value_parser = endpoint)]
    pub frontend_url: Vec<Endpoint>,
    /// Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a
    /// source of events they are followed as they grow; alone, `kvtop check` judges them as they are
    #[arg(help_heading = "Other sources", long, global = true, value_name = "FILE", num_args = 1..)]
    pub logs: Vec<PathBuf>,
    /// Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides
    /// history (Dynamo 1.1+)
    #[arg(help_heading = "Other sources", long, global = true, value_name = "URL")]
    pub indexer_url: Option<String>,
    /// Address of a Prometheus that scrapes `kvtop export`, such as `https://prometheus.example:9090`: the fleet view
    /// shows what it knows, now and in the past, and asks the cluster only for a deployment that is opened
    #[arg(help_heading = "Other sources", long, global = true, value_name = "URL", value_parser = web_address)]
    pub prometheus: Option<String>,
    /// File with a bearer token for the Prometheus
    #[arg(
        help_heading = "Other sources",
        long,
        global = true,
        value_name = "FILE",
        requires = "prometheus"
    )]
    pub prometheus_token_file: Option<PathBuf>,
    /// CA certificate of the Prometheus (PEM)
    #[arg(
        help_heading = "Other sources",
        long,
        global = true,
        value_name = "FILE",
        requires = "prometheus"
    )]
    pub prometheus_ca: Option<PathBuf>,
    /// Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`
    #[arg(help_heading = "Other sources", long, global = true, value_name = "DIR")]
    pub discovery_dir: Option<PathBuf>,
    /// Dynamo namespace [default: all]
    #[arg(help_heading = "Kubernetes", long, global = true, value_name = "NAME", value_parser = subject)]
    pub dynamo_namespace: Option<String>,
    /// Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise
    /// every prompt and secret, so do not share such recordings
    #[arg(help_heading = "Limits and settings", long, global = true)]
    pub keep_log_text: bool,
    /// Memory limit for the process, such as 512MiB [default: 1GiB]
    #[arg(help_heading = "Limits and settings", long, global = true, value_name = "SIZE", value_parser = bytes)]
    pub max_memory: Option<usize>,
    /// The past of logs to read, where it is longer than usual.
    #[arg(skip)]
    pub log_reach: Option<std::time::Duration>,
    /// Thresholds in the config file: name and value.
    #[arg(skip)]
    pub thresholds: Vec<(String, String)>,
    /// The objective for the 95th percentile of the time to the first token.
    #[arg(skip)]
    pub ttft_p95: Option<std::time::Duration>,
    /// The objective for the 95th percentile of the time between tokens.
    #[arg(skip)]
    pub itl_p95: Option<std::time::Duration>,
    /// NATS settings in the config file.
    #[arg(skip)]
    pub nats_file: NatsFile,
    /// Config file to use instead of the default one
    #[arg(
        help_heading = "Limits and settings",
        long,
        global = true,
        value_name = "FILE",
        env = "KVTOP_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<PathBuf>,
}

/// NATS settings in the config file. Kept apart because environment variables override them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NatsFile {
    /// Address of the server.
    pub url: Option<String>,
    /// Name of a context of the `nats` command-line tool.
    pub context: Option<String>,
}

impl SourceArgs {
    /// Returns true when several deployments may be meant.
    pub const fn means_several(&self) -> bool {
        self.all_namespaces || self.namespaces.len() > 1 || self.prometheus.is_some()
    }

    /// Returns the limit for the memory of the process, in bytes.
    pub fn max_memory(&self) -> usize {
        self.max_memory.unwrap_or(MAX_MEMORY)
    }
}

/// Default memory limit of the process, in bytes.
pub const MAX_MEMORY: usize = 1 << 30;

/// Appearance of the screen.
#[derive(Args, Clone, Debug, Default)]
pub struct ScreenArgs {
    /// Theme; `terminal` uses your terminal's colours, `auto` picks light or dark from the terminal background
    #[arg(help_heading = "Screen", long, global = true, value_name = "NAME")]
    pub theme: Option<String>,
    /// Use of colours
    #[arg(help_heading = "Screen", long, global = true, value_name = "WHEN", value_enum)]
    pub color: Option<ColorChoice>,
    /// Characters to draw with [default: depends on the locale]
    #[arg(help_heading = "Screen", long, global = true, value_name = "SET", value_enum)]
    pub glyphs: Option<GlyphChoice>,
    /// Ring the terminal's bell once for each new critical finding
    #[arg(help_heading = "Screen", long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true")]
    pub bell: Option<bool>,
}

/// Use of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// If the terminal supports them, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The characters to draw with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GlyphChoice {
    /// Boxes, dots and blocks
    Unicode,
    /// Plain ASCII
    Ascii,
}
