//! The command line: what was typed, checked and with its meaning.

mod command;
mod heeded;
mod shared;
mod value;

use clap::{Parser, Subcommand};

pub use command::{
    BundleArgs, CheckArgs, CheckFormat, CompletionsArgs, ConfigArgs, ConfigCommand, DemoArgs,
    DoctorArgs, DoctorFormat, ExplainArgs, ExportArgs, KeysArgs, KeysFormat, LintArgs, LintFormat,
    ManArgs, Offset, RbacArgs, RecordArgs, ReplayArgs, Shell, SnapshotArgs, SnapshotFormat,
    StatArgs, ThemesArgs, ThemesCommand,
};
pub use shared::{ColorChoice, GlyphChoice, MAX_MEMORY, NatsFile, ScreenArgs, SourceArgs};
pub use value::{Endpoint, SPEEDS, bytes, duration, label, place, subject};

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
