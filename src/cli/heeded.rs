//! The shared options that each command uses. An unused option is neither listed nor accepted, because its user
//! expects an effect.

use std::ffi::OsString;

use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};

use super::{Cli, examples};

/// Options of the screen, and of the file with its settings.
const SCREEN: [&str; 5] = ["config", "theme", "color", "glyphs", "bell"];

/// Options that are settings, which the config file may have too.
const SETTINGS: [&str; 14] = [
    "config",
    "theme",
    "color",
    "glyphs",
    "bell",
    "namespace",
    "context",
    "kubeconfig",
    "dgd",
    "dynamo_namespace",
    "no_port_forward",
    "max_memory",
    "nats_url",
    "nats_context",
];

/// The option of commands for a recording in place of a deployment.
const REPLAY: &str = "replay";

/// Options that choose the deployment to look at. A recording keeps them.
const CHOOSING: [&str; 3] = ["namespace", "dgd", "dynamo_namespace"];

/// Options for several deployments of a cluster.
const ALL: [&str; 2] = ["all_namespaces", "selector"];

/// Options of the fleet view, which has no name of its own.
const FLEET: [&str; 3] = ["prometheus", "prometheus_token_file", "prometheus_ca"];

/// Returns true for commands that can look at several deployments at once, given their names.
fn takes_several(command: &[&str]) -> bool {
    matches!(command, [] | ["check" | "export" | "deploy" | "rbac"])
}

/// Returns true when a command uses the shared option `id`.
fn uses(command: &[&str], id: &str) -> bool {
    (!ALL.contains(&id) || takes_several(command))
        && (!FLEET.contains(&id) || command.is_empty())
        && heeded(command).is_none_or(|all| all.contains(&id))
}

/// Returns the shared options that a command uses, given its names; none if it uses all of them.
fn heeded(command: &[&str]) -> Option<Vec<&'static str>> {
    Some(match command {
        ["diff"] => vec!["config", "max_memory"],
        ["demo" | "replay"] => [&SCREEN[..], &["max_memory"]].concat(),
        ["lint" | "explain" | "schema" | "completions" | "man" | "help", ..]
        | ["themes"]
        | ["themes", "list" | "check" | "help"] => Vec::new(),
        ["themes", "show"] => vec!["color"],
        ["rbac"] => vec!["namespace", "all_namespaces", "context", "kubeconfig"],
        ["deploy"] => {
            vec!["namespace", "all_namespaces", "selector", "context", "kubeconfig", "dgd"]
        }
        ["keys" | "config"] | ["config", "init" | "path" | "help"] => vec!["config"],
        ["config", "check" | "show"] => SETTINGS.to_vec(),
        _ => return None,
    })
}

impl Cli {
    /// Reads the command line.
    ///
    /// # Errors
    /// When it is invalid, or asks for help or the version.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let mut command = taking();
        let matches = command.try_get_matches_from_mut(words)?;
        if let Some((names, why)) = in_vain(&command, &matches) {
            let mut named = command;
            for name in names {
                named = named.find_subcommand(&name).cloned().unwrap_or(named);
            }
            return Err(named.error(ErrorKind::UnknownArgument, why));
        }
        let cli = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        cli.settled().map_err(|why| command.error(ErrorKind::ArgumentConflict, why))
    }

    /// Settles whether one deployment is meant or several.
    fn settled(mut self) -> Result<Self, &'static str> {
        let source = &mut self.source;
        if let [only] = source.namespaces.as_slice() {
            source.namespace = Some(only.clone());
        }
        let takes_several = matches!(
            self.command,
            None | Some(super::Command::Check(_) | super::Command::Export(_))
        );
        if source.namespaces.len() > 1 && !takes_several {
            return Err(
                "--namespace may be repeated only for the fleet view, `check` and `export`",
            );
        }
        if source.namespaces.len() > 1 && source.dgd.is_some() {
            return Err("--dgd names a deployment of one namespace, but several are given");
        }
        if source.all_namespaces && source.dgd.is_some() {
            return Err("--dgd names one deployment, but --all-namespaces is given");
        }
        if source.selector.is_some() && !source.means_several() {
            return Err("--selector needs --all-namespaces or several of --namespace");
        }
        if source.selector.is_some() && source.prometheus.is_some() {
            return Err("--selector is for a cluster: a Prometheus does not have these labels");
        }
        self.fits_command()?;
        Ok(self)
    }

    /// Refuses options of the command that need one deployment, or several.
    fn fits_command(&self) -> Result<(), &'static str> {
        let several = self.source.means_several();
        match &self.command {
            Some(super::Command::Export(args)) if args.shard.is_some() && !several => {
                Err("--shard needs --all-namespaces or several of --namespace")
            }
            Some(super::Command::Check(args)) if args.replay.is_some() && several => {
                Err("`--replay` works with one deployment; remove `-A`, or all but one `-n`")
            }
            Some(super::Command::Check(args))
                if args.output == super::CheckFormat::Prometheus && several =>
            {
                Err("`-o prometheus` works with one deployment; remove `-A`, or all but one `-n`")
            }
            Some(super::Command::Report(args)) if args.file.is_none() && args.last.is_none() => {
                Err("give a recording, or `--last 30m` for a live deployment")
            }
            _ => Ok(()),
        }
    }

    /// Returns the commands, each with the options that it uses, for manuals and completions.
    pub fn shown() -> Command {
        let all = Self::command();
        let shared = shared(&all);
        let plain = shared.iter().fold(all, |command, option| {
            command.mut_arg(option.get_id().as_str(), |option| option.global(false))
        });
        with_options(
            plain,
            &mut Vec::new(),
            &|command, heeds, option| {
                if heeds { command.arg(option.clone().global(false)) } else { command }
            },
            &shared,
        )
    }
}

/// Returns the commands for parsing: options may stand anywhere, and help lists only those that are used.
fn taking() -> Command {
    let all = with_examples(Cli::command());
    let shared = shared(&all);
    with_options(
        all,
        &mut Vec::new(),
        &|command, heeds, option| command.arg(option.clone().hide(!heeds)),
        &shared,
    )
}

/// Gives each command the examples that end its help.
fn with_examples(mut all: Command) -> Command {
    const ABOUT: &str = "Without a command, kvtop opens the live screen. kvtop never writes to the deployment: no \
                         consumers, no acks, no patches.";
    let names: Vec<String> = all.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    for name in names {
        if let Some(text) = examples::help(&name) {
            all = all.mut_subcommand(&name, |command| command.after_help(text));
        }
    }
    let own = examples::help("").unwrap_or_default();
    all.after_help(format!("{ABOUT}\n\n{own}"))
}

/// Returns the options that commands share.
fn shared(command: &Command) -> Vec<Arg> {
    command.get_arguments().filter(|option| option.is_global_set()).cloned().collect()
}

/// Gives each command below `command` the shared options, the way that `give` does.
fn with_options(
    mut command: Command,
    names: &mut Vec<String>,
    give: &impl Fn(Command, bool, &Arg) -> Command,
    shared: &[Arg],
) -> Command {
    let below: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in below {
        names.push(name.clone());
        let parts: Vec<&str> = names.iter().map(String::as_str).collect();
        let used: Vec<bool> =
            shared.iter().map(|option| uses(&parts, option.get_id().as_str())).collect();
        command = command.mut_subcommand(&name, |mut inner| {
            for (option, used) in shared.iter().zip(used) {
                inner = give(inner, used, option);
            }
            with_options(inner, names, give, shared)
        });
        names.pop();
    }
    command
}

/// Returns the names of the command, and an error for a typed option that it does not use.
fn in_vain(command: &Command, matches: &ArgMatches) -> Option<(Vec<String>, String)> {
    let (mut names, mut inner) = (Vec::new(), matches);
    while let Some((name, next)) = inner.subcommand() {
        names.push(name);
        inner = next;
    }
    let mut options = command.get_arguments().filter(|option| option.is_global_set());
    let recorded = inner.try_contains_id(REPLAY).unwrap_or(false);
    let typed = options.find(|option| {
        let id = option.get_id().as_str();
        let unused = !uses(&names, id) || (recorded && CHOOSING.contains(&id));
        unused && matches.value_source(id) == Some(ValueSource::CommandLine)
    })?;
    let (long, name) = (typed.get_long().unwrap_or_default(), names.join(" "));
    let chosen = CHOOSING.contains(&typed.get_id().as_str()) && recorded;
    let why = if chosen { " --replay`: the recording names its deployment" } else { "`" };
    let names = names.into_iter().map(str::to_owned).collect();
    Some((names, format!("--{long} has no effect on `kvtop {name}{why}")))
}
