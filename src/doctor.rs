//! The checks of `kvtop doctor`: what kvtop can see of a deployment, and what it needs to see more.
//!
//! Checks are functions of [`Seen`] and [`Terminal`]; `run` runs the sources, asks the API server and the terminal,
//! and prints the result.

mod cluster;
mod events;
mod terminal;

use crate::attach::Wanted;
use crate::domain::{SourceName, SourceState};
use crate::report::doctor::Check;
use crate::snapshot::{Snapshot, SourceRow};

pub use cluster::Cluster;
pub use terminal::{Terminal, checks as of_terminal};

/// The sources of events.
const PLANES: [SourceName; 2] = SourceName::OF_EVENTS;

/// Longest text of one field.
const LONGEST: usize = 600;

/// Observations of a running deployment.
#[derive(Debug)]
pub struct Seen {
    /// The state of sources, workers and pods.
    pub snapshot: Snapshot,
    /// The sources that the deployment calls for; none without a cluster.
    pub wanted: Option<Wanted>,
    /// The answers of the API server; none without a cluster.
    pub cluster: Option<Cluster>,
}

/// Returns the checks of a deployment.
pub fn of_deployment(seen: &Seen) -> Vec<Check> {
    let mut checks = match &seen.cluster {
        Some(cluster) => cluster::checks(cluster, seen),
        None => Vec::new(),
    };
    checks.extend(events::checks(seen));
    checks.into_iter().map(printable).collect()
}

/// Returns true once every source that is wanted has worked or failed.
pub fn is_settled(snapshot: &Snapshot, wanted: Option<&Wanted>) -> bool {
    let answered = |name: &SourceName| {
        let row = row(snapshot, name);
        row.is_some_and(|row| row.state != SourceState::Connecting)
    };
    let Some(wanted) = wanted else { return PLANES.iter().any(answered) };
    // Unreachable or refused: nothing else can follow.
    let lost =
        row(snapshot, &SourceName::Kubernetes).is_some_and(|row| row.state == SourceState::Down);
    let named = row(snapshot, &SourceName::Nats).is_some() || wanted.nats.is_some();
    lost || answered(&SourceName::Kubernetes)
        && (answered(&SourceName::Nats) || !named)
        && (answered(&SourceName::Zmq) || wanted.zmq.is_empty())
        && (answered(&SourceName::Logs) || wanted.logs.is_empty())
        && (answered(&SourceName::Metrics) || wanted.scrapes.is_empty())
}

fn row<'a>(snapshot: &'a Snapshot, name: &SourceName) -> Option<&'a SourceRow> {
    snapshot.sources.iter().find(|row| row.name == *name)
}

/// Strips control characters: messages of servers are untrusted text.
pub fn printable(mut check: Check) -> Check {
    for text in [&mut check.name, &mut check.seen, &mut check.advice] {
        *text = crate::wire::printable(text, LONGEST).into_owned();
    }
    check
}
