//! `kvtop doctor`: does for some seconds what the screen would do, and says what came of it.

mod cluster;
mod events;
mod terminal;

use std::time::Duration;

use super::RunError;
use super::ending;
use super::headless::{ended, take};
use super::live::{self, Live};
use super::output::print;
use crate::attach::Wanted;
use crate::cli::{DoctorArgs, DoctorFormat, SourceArgs};
use crate::clock;
use crate::config::Config;
use crate::domain::SourceState;
use crate::engine::Engine;
use crate::exit::{Exit, chain};
use crate::report::doctor::{self as report, Check, Verdict};
use crate::snapshot::{Snapshot, SourceRow, ViewQuery};
use crate::tui;

/// How long sources are given: a direct connection and a port-forward take some seconds each.
const LOOK: Duration = Duration::from_secs(15);

/// How long those are given that follow the first: the other endpoints, and a first event.
const MORE: Duration = Duration::from_millis(1500);

/// Columns of a report that no terminal shows.
pub(super) const COLUMNS: usize = 100;

/// The sources of events.
const PLANES: [&str; 2] = ["nats", "zmq"];

/// Observations of a running deployment.
struct Seen {
    snapshot: Snapshot,
    wanted: Option<Wanted>,
}

pub(super) async fn doctor(
    args: &DoctorArgs,
    source: &SourceArgs,
    config: &Config,
) -> Result<Exit, RunError> {
    let checks = tokio::select! {
        exit = ended() => return Ok(exit),
        checks = examine(source, config) => checks,
    };
    print(&match args.output {
        DoctorFormat::Text => report::text(&checks, terminal::columns(), tui::text::wrap),
        DoctorFormat::Json => report::json(&checks) + "\n",
    })?;
    Ok(if report::exit(&checks) == 0 { Exit::Clean } else { Exit::Failed })
}

async fn examine(source: &SourceArgs, config: &Config) -> Vec<Check> {
    let mut checks = Vec::new();
    match live::start(source).await {
        Err(error) => {
            checks.push(Check::new("sources", "start", Verdict::Failed, chain(&error)));
        }
        Ok(mut live) => {
            let seen = look(&mut live).await;
            checks.extend(of_deployment(&live, &seen).await);
            ending::stop(&live.sources).await;
        }
    }
    checks.extend(terminal::checks(config));
    checks.into_iter().map(printable).collect()
}

/// Returns the checks of running sources, given their `snapshot`.
pub(super) async fn found(live: &Live, snapshot: &Snapshot) -> Vec<Check> {
    let seen = Seen { snapshot: snapshot.clone(), wanted: wanted(live) };
    of_deployment(live, &seen).await.into_iter().map(printable).collect()
}

async fn of_deployment(live: &Live, seen: &Seen) -> Vec<Check> {
    let mut checks = match &live.client {
        Some(client) => cluster::checks(client, seen).await,
        None => Vec::new(),
    };
    checks.extend(events::checks(seen));
    checks
}

/// Returns the wanted sources of a cluster; none without a cluster.
fn wanted(live: &Live) -> Option<Wanted> {
    let attached = live.attach.as_ref().filter(|_| live.client.is_some());
    attached.map(|attach| attach.wanted.borrow().clone())
}

/// Runs the sources until each has said how it is, and a moment longer.
async fn look(live: &mut Live) -> Seen {
    let mut engine = Engine::new(live.target.engine_options());
    let started = clock::now();
    let mut settled = None;
    loop {
        take(&mut live.frames, &mut engine).await;
        if let Some(attach) = &live.attach {
            attach.update(&engine);
        }
        let now = clock::now();
        let snapshot = engine.snapshot(&ViewQuery::default(), now);
        let wanted = wanted(live);
        if settled.is_none() && is_settled(&snapshot, wanted.as_ref()) {
            settled = Some(now);
        }
        let enough = settled.is_some_and(|at| now.since(at) >= MORE);
        if enough || now.since(started) >= LOOK {
            return Seen { snapshot, wanted };
        }
    }
}

/// Returns true once every source that is wanted has worked or failed.
fn is_settled(snapshot: &Snapshot, wanted: Option<&Wanted>) -> bool {
    let told = |name: &str| {
        let row = row(snapshot, name);
        row.is_some_and(|row| row.state != SourceState::Connecting)
    };
    let Some(wanted) = wanted else { return PLANES.iter().any(|plane| told(plane)) };
    // Unreachable or refused: nothing else can follow.
    let lost = row(snapshot, "kubernetes").is_some_and(|row| row.state == SourceState::Down);
    let named = row(snapshot, "nats").is_some() || wanted.nats.is_some();
    lost || told("kubernetes")
        && (told("nats") || !named)
        && (told("zmq") || wanted.zmq.is_empty())
        && (told("logs") || wanted.logs.is_empty())
        && (told("metrics") || wanted.scrapes.is_empty())
}

fn row<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a SourceRow> {
    snapshot.sources.iter().find(|row| row.name == name)
}

/// Longest text of one field.
const LONGEST: usize = 600;

/// Messages of servers are untrusted text.
fn printable(mut check: Check) -> Check {
    for text in [&mut check.name, &mut check.seen, &mut check.advice] {
        *text = crate::wire::printable(text, LONGEST).into_owned();
    }
    check
}
