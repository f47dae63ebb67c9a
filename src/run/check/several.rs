//! `kvtop check -A`: one line for each deployment, and the worst exit code.

use std::sync::Arc;

use futures_util::StreamExt as _;

use super::super::RunError;
use super::super::live;
use super::super::memory;
use super::super::output::{print, printable_lines, tell};
use super::super::place;
use super::super::roster::{self, Roster};
use super::super::structured::Shape;
use crate::attach::Place;
use crate::cli::{CheckArgs, CheckFormat, SourceArgs};
use crate::clock;
use crate::exit::Exit;
use crate::report::check::{self as report, Checked};
use crate::source::Budget;
use crate::source::kube::KubeClient;

/// Deployments that are listened to at once.
const AT_ONCE: usize = 64;

/// The least memory for the index copy of a deployment.
const LEAST: usize = 4 << 20;

/// Checks every deployment that `source` names, each as `kvtop check` alone would.
pub(super) async fn check(
    args: &CheckArgs,
    source: &SourceArgs,
    shape: &Shape,
) -> Result<Exit, RunError> {
    let source = roster::common(source);
    let found = async {
        let client = live::connect(&source).await?;
        let roster = Roster::read(&client, &source).await?;
        Ok::<_, RunError>((client, roster))
    };
    let (client, roster) = match found.await {
        Ok(found) => found,
        Err(error) => return super::unknown(args, &error),
    };
    for part in &roster.unlisted {
        tell(&format!("kvtop: not checked: {}", printable_lines(part)));
    }
    let budget = memory::budget(source.max_memory());
    let at_once = roster.places.len().clamp(1, AT_ONCE);
    let mirror = (memory::of_mirror(source.max_memory()) / at_once).max(LEAST);
    let checks = roster
        .places
        .iter()
        .map(|place| one(args, &source, &client, place, (Arc::clone(&budget), mirror)));
    let mut checks = futures_util::stream::iter(checks).buffered(AT_ONCE);
    let mut all: Vec<Checked> = Vec::new();
    while let Some(checked) = checks.next().await {
        match checked {
            Ok(checked) => all.push(checked),
            Err(exit) => return Ok(exit),
        }
    }
    // Parts that could not be listed may hold anything.
    let status = report::worst(&all, !roster.unlisted.is_empty());
    print(&match &args.output {
        CheckFormat::Structured(_) => shape.print(report::fleet_json(&all, status, clock::now())),
        CheckFormat::Name => report::fleet_names(&all),
        CheckFormat::Text | CheckFormat::Wide | CheckFormat::Prometheus => {
            report::fleet_text(&all, status, args.output == CheckFormat::Wide)
        }
    })?;
    Ok(Exit::Check(status.exit()))
}

/// Checks the deployment at `place`; an error is the end of the process, asked for by a signal.
async fn one(
    args: &CheckArgs,
    source: &SourceArgs,
    client: &KubeClient,
    place: &Place,
    (budget, mirror): (Arc<Budget>, usize),
) -> Result<Checked, Exit> {
    let found = place::at(client, source, place, &place.namespace);
    let checked = async {
        let part = (live::look_within(found, budget)?, mirror);
        super::listened(args, source, Some(part)).await
    };
    let outcome = match Box::pin(checked).await {
        Ok(Ok(snapshot)) => Ok(snapshot),
        Ok(Err(exit)) => return Err(exit),
        Err(error) => Err(printable_lines(&crate::exit::chain(&error))),
    };
    let name = place.dgd.clone().or_else(|| place.dynamo_namespace.clone());
    Ok(Checked { namespace: place.namespace.to_string(), name, outcome })
}
