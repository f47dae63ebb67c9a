//! Completion while a command line is typed: contexts, namespaces, deployments, themes, views, scenarios and findings.
//!
//! `source <(COMPLETE=bash kvtop)` makes a shell ask kvtop itself; clap does the asking, this knows the words.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::CompleteEnv;

use super::live;
use super::roster::Roster;
use super::settings;
use crate::cli::{Cli, SourceArgs};
use crate::diagnose::RULES;
use crate::lint::CHECKS;
use crate::simulator::Scenario;
use crate::source::kube::KubeClient;
use crate::tui::views;

/// The longest wait for the API server after a person presses Tab.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Answers a shell that asks for completions, and ends the process; does nothing unless one asks.
pub fn answer_shell() {
    CompleteEnv::with_factory(command).complete();
}

/// Returns the command line with the sources of words.
fn command() -> Command {
    let with = |words: fn() -> Vec<CompletionCandidate>| {
        move |arg: Arg| arg.add(ArgValueCandidates::new(words))
    };
    Cli::command()
        .mut_arg("namespace", with(namespaces))
        .mut_arg("dgd", with(deployments))
        .mut_arg("context", with(contexts))
        .mut_arg("theme", with(themes))
        .mut_subcommand("demo", |it| it.mut_arg("scenario", with(scenarios)))
        .mut_subcommand("snapshot", |it| {
            it.mut_arg("view", with(view_names)).mut_arg("demo", with(scenarios))
        })
        .mut_subcommand("explain", |it| it.mut_arg("id", with(findings)))
        .mut_subcommand("themes", |it| {
            it.mut_subcommand("show", |it| it.mut_arg("name", with(themes)))
                .mut_subcommand("check", |it| it.mut_arg("themes", with(themes)))
        })
}

fn word(name: impl Into<OsString>, about: &str) -> CompletionCandidate {
    let about = (!about.is_empty()).then(|| about.to_owned().into());
    CompletionCandidate::new(name).help(about)
}

fn scenarios() -> Vec<CompletionCandidate> {
    Scenario::ALL.iter().map(|scenario| word(scenario.name(), "")).collect()
}

fn view_names() -> Vec<CompletionCandidate> {
    views::built().map(|view| word(view.name.word(), view.about)).collect()
}

fn themes() -> Vec<CompletionCandidate> {
    settings::themes().names().into_iter().map(|name| word(name, "")).collect()
}

fn findings() -> Vec<CompletionCandidate> {
    let rules = RULES.iter().map(|rule| word(rule.id(), rule.name()));
    rules.chain(CHECKS.iter().map(|check| word(check.id, check.name))).collect()
}

fn contexts() -> Vec<CompletionCandidate> {
    // The context that is being typed is none yet.
    let names = of_cluster(None, async |client, _| {
        let places = client.contexts().unwrap_or_default();
        places.into_iter().map(|place| (place.name, place.cluster)).collect()
    });
    names.iter().map(|(name, cluster)| word(name, cluster)).collect()
}

/// Namespaces, and deployments, which `-n` takes as well.
fn namespaces() -> Vec<CompletionCandidate> {
    let names = of_cluster(typed(&["--context"]), async |client, args| {
        let all = client.namespaces().await.map(|(names, _)| names).unwrap_or_default();
        let mut names: Vec<(String, String)> =
            all.into_iter().map(|name| (name, String::new())).collect();
        let roster = Roster::read(&client, &args).await.unwrap_or_default();
        for place in roster.places {
            if let Some(name) = place.dgd.clone().or(place.dynamo_namespace.clone()) {
                names.push((name, place.describe()));
            }
        }
        names
    });
    names.iter().map(|(name, about)| word(name, about)).collect()
}

/// Graph deployments of the namespace that was typed, or else of all.
fn deployments() -> Vec<CompletionCandidate> {
    let wanted = typed(&["-n", "--namespace"]);
    let names = of_cluster(typed(&["--context"]), async |client, args| {
        let roster = Roster::read(&client, &args).await.unwrap_or_default();
        let here = |namespace: &str| wanted.as_ref().is_none_or(|name| name == namespace);
        let places = roster.places.into_iter().filter(|place| here(&place.namespace));
        places.filter_map(|place| Some((place.dgd?, place.namespace.to_string()))).collect()
    });
    names.iter().map(|(name, namespace)| word(name, namespace)).collect()
}

/// Returns what `ask` learns of the cluster of `context`, by the kubeconfig typed so far; nothing when that takes too long.
fn of_cluster(
    context: Option<String>,
    ask: impl AsyncFnOnce(KubeClient, SourceArgs) -> Vec<(String, String)>,
) -> Vec<(String, String)> {
    let args = SourceArgs {
        context,
        kubeconfig: typed(&["--kubeconfig"]).map(PathBuf::from),
        ..SourceArgs::default()
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let asked = runtime.block_on(async {
        let answer = async {
            match live::connect(&args).await {
                Ok(client) => ask(client, args).await,
                Err(_) => Vec::new(),
            }
        };
        // A timer needs the runtime, so it begins within.
        tokio::time::timeout(PATIENCE, answer).await
    });
    // A credential plugin that hangs must not hold up the shell.
    runtime.shutdown_background();
    asked.unwrap_or_default()
}

/// Returns the value of an option among the words typed so far.
fn typed(names: &[&str]) -> Option<String> {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let of = |at: usize, word: &String| {
        let behind = || words.get(at + 1).cloned();
        let joined = |name: &&str| Some(word.strip_prefix(name)?.strip_prefix('=')?.to_owned());
        if names.contains(&word.as_str()) { behind() } else { names.iter().find_map(joined) }
    };
    words.iter().enumerate().find_map(|(at, word)| of(at, word)).filter(|value| !value.is_empty())
}
