//! The command line: options, commands and their checked values.

mod command;
mod examples;
mod format;
mod heeded;
mod plan;
mod shared;
mod value;

use clap::{Parser, Subcommand};

pub use command::{
    BundleArgs, CheckArgs, CheckFormat, CompletionsArgs, ConfigArgs, ConfigCommand, DemoArgs,
    DeployArgs, DeployPart, DiffArgs, DiffFormat, DoctorArgs, DoctorFormat, ExplainArgs,
    ExportArgs, KeysArgs, KeysFormat, LintArgs, LintFormat, ManArgs, McpArgs, MetricsLevel,
    MonitorKind, Offset, RbacArgs, RecordArgs, ReplayArgs, ReportArgs, ReportFormat, SchemaArgs,
    SchemaOf, Shell, SnapshotArgs, SnapshotFormat, StatArgs, ThemesArgs, ThemesCommand,
};
pub use examples::{Example, examples};
pub use format::Structured;
pub use plan::{PlanArgs, PlanFormat, PlanQuestion};
pub use shared::{ColorChoice, GlyphChoice, MAX_MEMORY, NatsFile, ScreenArgs, SourceArgs};
pub use value::{Endpoint, SPEEDS, Shard, bytes, duration, label, offset, place, subject};

/// Live, read-only inspector for NVIDIA Dynamo's KV-cache-aware router.
#[derive(Debug, Parser)]
#[command(name = "kvtop", version)]
pub struct Cli {
    /// The command; none opens the live screen.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The origin of everything that kvtop shows.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Appearance of the screen.
    #[command(flatten)]
    pub screen: ScreenArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Open the live screen on a simulated deployment; no cluster needed
    Demo(DemoArgs),
    /// Play a recording on the live screen
    Replay(ReplayArgs),
    /// Write the report of an incident, from a recording or the last minutes of a deployment: timeline, effect on users,
    /// findings, fixes
    Report(ReportArgs),
    /// Compare two recordings or snapshots: exit code 0 same, 1 different, 2 unreadable or invalid command line
    Diff(DiffArgs),
    /// Record all incoming data to a file
    Record(RecordArgs),
    /// Print a one-off snapshot
    Snapshot(SnapshotArgs),
    /// Print one line of figures per second
    Stat(StatArgs),
    /// Simulate what would help: workers, cache, routing, block sizes
    Plan(PlanArgs),
    /// Run all checks once and exit with a monitoring-plugin status code: 0 OK, 1 warning, 2 critical, 3 unknown
    Check(CheckArgs),
    /// Lint manifests and engine configs before deployment: exit code 0 clean, 1 findings, 3 unreadable or no deployment
    Lint(LintArgs),
    /// Explain a finding: meaning, detection and fix
    Explain(ExplainArgs),
    /// Diagnose connectivity and permissions: cluster, RBAC, events, logs, metrics, terminal
    Doctor(DoctorArgs),
    /// Collect a support bundle: recording, findings, coverage and settings in one file
    Bundle(BundleArgs),
    /// Print the Kubernetes RBAC role that kvtop needs
    Rbac(RbacArgs),
    /// Serve Prometheus metrics, without a screen
    Export(ExportArgs),
    /// Serve read-only answers to assistants, over the Model Context Protocol on standard input and output
    Mcp(McpArgs),
    /// Print files that deploy `kvtop export` to a cluster: manifests, alert rules, Grafana dashboards
    Deploy(DeployArgs),
    /// Print the JSON Schema of an output or of the config file
    Schema(SchemaArgs),
    /// List, show and check (contrast) themes
    Themes(ThemesArgs),
    /// Print all keys and the names of their actions
    Keys(KeysArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print a manual page
    Man(ManArgs),
    /// Create, locate, validate and print the configuration
    Config(ConfigArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
        Cli::shown().debug_assert();
    }
}
