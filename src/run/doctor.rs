//! `kvtop doctor`: runs the sources for some seconds, asks the API server and the terminal, and prints the checks.

use std::io::{self, IsTerminal};
use std::time::Duration;

use super::RunError;
use super::ending;
use super::headless::{ended, take};
use super::live::{self, Live};
use super::output::print;
use super::screen;
use super::structured::Shape;
use crate::attach::Wanted;
use crate::cli::{DoctorArgs, DoctorFormat, SourceArgs};
use crate::clock;
use crate::config::Config;
use crate::doctor::{self, Cluster, Seen, Terminal};
use crate::engine::Engine;
use crate::exit::{Exit, chain};
use crate::report::doctor::{self as report, Check, Verdict};
use crate::snapshot::{Snapshot, ViewQuery};
use crate::source::kube::{KubeClient, log_right, rights};
use crate::tui::{self, theme::Level};

/// Time that sources are given: a direct connection and a port-forward take some seconds each.
const LOOK: Duration = Duration::from_secs(15);

/// Time for those that follow the first: the other endpoints, and a first event.
const MORE: Duration = Duration::from_millis(1500);

/// Columns of a report that no terminal shows.
pub(super) const COLUMNS: usize = 100;

pub(super) async fn doctor(
    args: &DoctorArgs,
    source: &SourceArgs,
    config: &Config,
) -> Result<Exit, RunError> {
    let shape = match &args.output {
        DoctorFormat::Structured(format) => Shape::new(format)?,
        DoctorFormat::Text => Shape::Json,
    };
    let checks = tokio::select! {
        exit = ended() => return Ok(exit),
        checks = examine(source, config) => checks,
    };
    print(&match args.output {
        DoctorFormat::Text => report::text(&checks, columns(), tui::text::wrap),
        DoctorFormat::Structured(_) => shape.print(report::json(&checks)),
    })?;
    Ok(if report::exit(&checks) == 0 { Exit::Clean } else { Exit::Failed })
}

async fn examine(source: &SourceArgs, config: &Config) -> Vec<Check> {
    let mut checks = Vec::new();
    match live::start(source).await {
        Err(RunError::Nowhere(why)) => {
            let said = format!("no deployment given ({})", why.sentence());
            let check = Check::new("sources", "start", Verdict::Failed, said);
            let how = "name one: -n NAMESPACE in Kubernetes, or --nats-url, --zmq, --etcd-url or --discovery-dir";
            checks.push(check.advise(how));
        }
        Err(error) => {
            checks.push(Check::new("sources", "start", Verdict::Failed, chain(&error)));
        }
        Ok(mut live) => {
            let snapshot = look(&mut live).await;
            checks.extend(found(&live, &snapshot).await);
            ending::stop(&live.sources).await;
        }
    }
    match terminal(config) {
        Ok(terminal) => checks.extend(doctor::of_terminal(&terminal)),
        Err(error) => {
            checks.push(Check::new("terminal", "settings", Verdict::Failed, chain(&error)));
        }
    }
    checks.into_iter().map(doctor::printable).collect()
}

/// Returns the checks of running sources, given their `snapshot`.
pub(super) async fn found(live: &Live, snapshot: &Snapshot) -> Vec<Check> {
    let wanted = wanted(live);
    let cluster = match &live.client {
        Some(client) => Some(cluster(client, &wanted.clone().unwrap_or_default()).await),
        None => None,
    };
    doctor::of_deployment(&Seen { snapshot: snapshot.clone(), wanted, cluster })
}

/// Asks the API server for its version and for every right that the sources need.
async fn cluster(client: &KubeClient, wanted: &Wanted) -> Cluster {
    let version = client.version().await.map_err(|refusal| refusal.to_string());
    let mut all = Vec::new();
    // Without the server there is nothing to be learned of anything else.
    if version.is_ok() {
        all = rights(client, &wanted.config_maps).await;
        if let Some(target) = wanted.logs.first() {
            all.push(log_right(client, &target.namespace, &target.pod, &target.container).await);
        }
    }
    Cluster {
        origin: client.origin().to_string(),
        server: client.server().to_string(),
        namespace: client.namespace().to_string(),
        version,
        rights: all,
    }
}

/// Returns how many columns a report may have: those of the terminal that it goes to.
fn columns() -> usize {
    match size() {
        Some(Ok((columns, _))) if columns > 0 => usize::from(columns),
        _ => COLUMNS,
    }
}

/// Returns the size of the terminal; none where the output is not a terminal.
fn size() -> Option<io::Result<(u16, u16)>> {
    io::stdout().is_terminal().then(crossterm::terminal::size)
}

fn terminal(config: &Config) -> Result<Terminal, RunError> {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let options = screen::described(config)?;
    Ok(Terminal {
        size: size().map(|size| size.map_err(|error| error.to_string())),
        colours: match options.level {
            Level::Mono => "none",
            Level::Sixteen => "16",
            Level::TwoHundred => "256",
            Level::True => "all",
        },
        term: env("TERM"),
        unicode: options.glyphs.braille,
        in_tmux: !env("TMUX").is_empty(),
        refuses_copies: env("TERM_PROGRAM") == "Apple_Terminal" || !env("VTE_VERSION").is_empty(),
    })
}

/// Returns the wanted sources of a cluster; none without a cluster.
fn wanted(live: &Live) -> Option<Wanted> {
    let attached = live.attach.as_ref().filter(|_| live.client.is_some());
    attached.map(|attach| attach.wanted.borrow().clone())
}

/// Runs the sources until each has said how it is, and a moment longer.
async fn look(live: &mut Live) -> Snapshot {
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
        if settled.is_none() && doctor::is_settled(&snapshot, wanted.as_ref()) {
            settled = Some(now);
        }
        let enough = settled.is_some_and(|at| now.since(at) >= MORE);
        if enough || now.since(started) >= LOOK {
            return snapshot;
        }
    }
}
