//! Tells if a headless command has heard enough to judge: sources have answered, and what they hold of the
//! past has been read.

use std::time::Duration;

use super::live::Attach;
use crate::attach::Wanted;
use crate::domain::{SourceName, SourceState};
use crate::snapshot::{Snapshot, SourceRow};

/// The longest wait for history, unless `--wait` says otherwise.
pub(super) const WAIT: Duration = Duration::from_secs(30);

/// The progress of a headless command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No source of events has answered.
    Unreached,
    /// Some have; others have not answered yet, or history is being read.
    Reading,
    /// Everything that can be read has been.
    Ready,
}

/// Returns how far the sources of `snapshot` are.
pub(super) fn stage(snapshot: &Snapshot, attach: Option<&Attach>) -> Stage {
    let planes = || {
        snapshot
            .sources
            .iter()
            .filter(|row| row.name == SourceName::Nats || row.name == SourceName::Zmq)
    };
    if !planes().any(delivers) {
        return Stage::Unreached;
    }
    let wanted = attach.filter(|attach| attach.namespace.is_some());
    let wanted = wanted.map(|attach| attach.wanted.borrow());
    let reading =
        snapshot.is_unread() || wanted.is_some_and(|wanted| !have_answered(snapshot, &wanted));
    if reading { Stage::Reading } else { Stage::Ready }
}

fn delivers(row: &SourceRow) -> bool {
    matches!(row.state, SourceState::Live | SourceState::Lossy)
}

/// Returns true once every source of a cluster that is wanted has worked or failed.
pub(super) fn have_answered(snapshot: &Snapshot, wanted: &Wanted) -> bool {
    let answered = |name: &SourceName| {
        let row = snapshot.sources.iter().find(|row| row.name == *name);
        row.is_some_and(|row| row.state != SourceState::Connecting)
    };
    let named = snapshot.sources.iter().any(|row| row.name == SourceName::Nats);
    answered(&SourceName::Kubernetes)
        && (answered(&SourceName::Nats) || !(named || wanted.nats.is_some()))
        && (answered(&SourceName::Zmq) || wanted.zmq.is_empty())
        && (answered(&SourceName::Logs) || wanted.logs.is_empty())
        && (answered(&SourceName::Metrics) || wanted.scrapes.is_empty())
}

/// Decides when to stop waiting for what has not been heard yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For servers that do not answer.
    pub(super) unreached: Duration,
    /// For history, and for sources that answer late.
    pub(super) reading: Duration,
}

impl Patience {
    /// Returns the patience of a command that waits for unreached servers for `unreached`, unless it was
    /// told to `wait` for so long.
    pub(super) fn new(unreached: Duration, wait: Option<Duration>) -> Self {
        Self { unreached: wait.unwrap_or(unreached), reading: wait.unwrap_or(WAIT) }
    }

    /// Returns how long to wait at a stage before it is done with what there is.
    pub(super) fn at(self, stage: Stage) -> Duration {
        match stage {
            Stage::Unreached => self.unreached,
            Stage::Reading | Stage::Ready => self.reading,
        }
    }
}
