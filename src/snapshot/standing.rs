//! The state of a deployment: one judgement for the screen's verdict and the exit code of `check`.

use super::{CheckRow, CheckVerdict, FindingRow, Hole, Severity, Snapshot, SourceRow};
use crate::domain::{SourceName, SourceState, Stake, Trouble};

/// Stores that a router must have refused before that is a sign.
const REFUSALS: u64 = 20;
/// Fewer are a sign too, where they are one in so many of the stores that were seen.
const ONE_IN: u64 = 20;

/// The thresholds of rules that figures on a screen are compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Share of KV blocks in use from which on a worker may be under pressure, 0 to 1.
    pub pressure: f64,
    /// Share of rejected stores from which on events count as lost, 0 to 1.
    pub rejected: f64,
    /// Share of empty stores from which on a publisher rejects the blocks of its engine, 0 to 1.
    pub empty: f64,
    /// Stores needed before such a share is judged.
    pub stores: u64,
}

impl Default for Limits {
    /// Without rules no figure is beyond a limit.
    fn default() -> Self {
        let none = f64::INFINITY;
        Self { pressure: none, rejected: none, empty: none, stores: u64::MAX }
    }
}

/// The state of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is wrong.
    Ok,
    /// Something should be repaired.
    Warning,
    /// Routing does not do what it is there for.
    Critical,
    /// It cannot be told.
    Unknown,
}

/// The missing input that keeps the state of a deployment unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lack<'a> {
    /// History or logs that are not read yet.
    Unread,
    /// KV events, which NATS does not bring.
    Silence,
    /// A source that is down.
    Down(&'a SourceRow),
    /// Messages that are missing.
    Hole(&'a Hole),
    /// Ranks of workers beyond those that are kept.
    Ranks(usize),
    /// The input that a check waits for, in its own words.
    Check(&'a str),
    /// No data came at all.
    Everything,
}

/// Says that nothing is known of ranks beyond the first `limit`.
pub fn ranks_beyond(limit: usize) -> String {
    format!("only the first {limit} ranks of workers are counted (--max-memory)")
}

impl Snapshot {
    /// Returns how the deployment is.
    pub fn standing(&self) -> Standing {
        let open = || self.findings.iter().filter(|finding| finding.resolved.is_none());
        let sight = self.check_with(Stake::Sight).map(|check| check.id);
        // As a note it says that every request went to workers whose events arrive.
        let blind = open().any(|finding| Some(finding.id) == sight && finding.counts());
        if open().any(|finding| finding.severity == Severity::Critical) {
            Standing::Critical
        } else if blind {
            Standing::Unknown
        } else if open().any(FindingRow::counts) {
            Standing::Warning
        } else if self.lacks() {
            Standing::Unknown
        } else {
            Standing::Ok
        }
    }

    /// Returns true while something that could be wrong cannot be judged.
    pub fn lacks(&self) -> bool {
        let quiet = self.coverage.quiet.is_some();
        self.is_unjudged(Stake::Core) && !quiet
            || self.refuses_for_unknown_reasons()
            || self.suspicion().is_some()
            || self.is_unread()
            || self.down().is_some()
            || self.ledger.hole.is_some()
            || self.coverage.rank_limit.is_some()
    }

    /// Returns a source that was asked for and does not deliver: what it would show may be wrong. Metrics are asked for
    /// by address where Kubernetes does not name pods.
    fn down(&self) -> Option<&SourceRow> {
        let has_pods = self.sources.iter().any(|row| row.name == SourceName::Kubernetes);
        let is_asked = |row: &&SourceRow| match row.name {
            SourceName::Metrics | SourceName::Logs => !has_pods,
            SourceName::Zmq | SourceName::Kubernetes | SourceName::Etcd | SourceName::Discovery => {
                true
            }
            _ => false,
        };
        let mut down = self.sources.iter().filter(|row| row.state == SourceState::Down);
        down.find(is_asked)
    }

    /// Returns a source that might tell what a check waits for, and does not: where kvtop may not read logs, no request
    /// will ever be known; where pods are not listed, nothing is.
    pub fn kept_from(&self) -> Option<&SourceRow> {
        let hides = [Trouble::PodsHidden, Trouble::PartlyUnanswered];
        let keeps = |row: &&SourceRow| match row.name {
            SourceName::Kubernetes => row.troubles.iter().any(|trouble| hides.contains(trouble)),
            SourceName::Logs => row.state == SourceState::Down,
            _ => false,
        };
        let kept = |name| self.sources.iter().filter(keeps).find(|row| row.name == name);
        kept(SourceName::Kubernetes).or_else(|| kept(SourceName::Logs))
    }

    /// Returns the missing input to name first while the deployment's state is unknown.
    pub fn lack(&self) -> Lack<'_> {
        if self.is_unread() {
            return Lack::Unread;
        }
        if self.is_silent_on_nats() {
            return Lack::Silence;
        }
        if let Some(row) = self.down() {
            return Lack::Down(row);
        }
        if let Some(limit) = self.coverage.rank_limit {
            return Lack::Ranks(limit);
        }
        let core = self.is_unjudged(Stake::Core);
        let judged = !core && !self.refuses_for_unknown_reasons();
        if let Some(hole) = self.ledger.hole.as_ref().filter(|_| judged) {
            return Lack::Hole(hole);
        }
        if let Some(missing) = self.suspicion() {
            return Lack::Check(missing);
        }
        // The reason of rejected stores is asked for first: it is what goes wrong.
        let first = if self.refuses_for_unknown_reasons() { Stake::History } else { Stake::Core };
        let asked = self.check_with(if core { first } else { Stake::History });
        match asked.map(|check| &check.verdict) {
            Some(CheckVerdict::Unknown { missing }) => Lack::Check(missing),
            _ => Lack::Everything,
        }
    }

    /// Returns the words of the check that sees a fault which may end by itself.
    fn suspicion(&self) -> Option<&str> {
        self.checks.iter().find_map(|check| match &check.verdict {
            CheckVerdict::Unknown { missing } if check.suspects => Some(missing.as_str()),
            _ => None,
        })
    }

    /// Returns the check on which so much depends.
    fn check_with(&self, stake: Stake) -> Option<&CheckRow> {
        self.checks.iter().find(|check| check.stake == stake)
    }

    /// Returns true while the check on which so much depends cannot tell.
    fn is_unjudged(&self, stake: Stake) -> bool {
        let verdict = self.check_with(stake).map(|check| &check.verdict);
        verdict.is_none_or(|verdict| matches!(verdict, CheckVerdict::Unknown { .. }))
    }

    /// Returns true while history that could be read is not read yet: without it counts are too low.
    pub fn is_unread(&self) -> bool {
        self.catching_up.is_some() || self.sources.iter().any(|row| row.pending)
    }

    /// Returns true when routers refuse stores and it cannot be told why.
    pub fn refuses_for_unknown_reasons(&self) -> bool {
        let (warnings, stores) = (self.coverage.refusals, self.coverage.stores);
        let notable = warnings >= REFUSALS || (warnings > 0 && warnings * ONE_IN >= stores);
        notable && self.is_unjudged(Stake::History)
    }
}

impl FindingRow {
    /// Returns true when it decides how the deployment is: more than a note, and not merely advice.
    pub fn counts(&self) -> bool {
        self.severity > Severity::Info && !self.advisory
    }
}
