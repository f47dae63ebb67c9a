//! The deployments of a cluster, one row each: from the parts of them that can be read without their KV events, or
//! from the metrics of exporters, which read all of it.

use std::time::Duration;

use super::{CheckVerdict, PodRow, Severity, Snapshot, Standing};
use crate::domain::{SourceState, Stake, Timestamp};

/// Every deployment that may be seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// The moment.
    pub at: Timestamp,
    /// The cluster, for people.
    pub origin: String,
    /// Its deployments, the worst first.
    pub members: Vec<Member>,
    /// Parts of the cluster that could not be listed, as sentences: deployments there are not shown.
    pub unlisted: Vec<String>,
    /// False until the cluster was listed for the first time.
    pub listed: bool,
    /// Its past, where something keeps one.
    pub past: Option<FleetPast>,
}

/// The past of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetPast {
    /// The time that it covers.
    pub span: Duration,
    /// The time from one point to the next.
    pub step: Duration,
    /// The moment that is shown; none for now.
    pub shown: Option<Timestamp>,
    /// Its points, the oldest first; none for moments of which nothing is known.
    pub points: Vec<FleetPoint>,
}

/// The spans that the past of a fleet can cover.
pub const FLEET_SPANS: [Duration; 4] = [
    Duration::from_secs(3_600),
    Duration::from_secs(6 * 3_600),
    Duration::from_secs(24 * 3_600),
    Duration::from_secs(7 * 24 * 3_600),
];

/// One moment in the past of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetPoint {
    /// The moment.
    pub at: Timestamp,
    /// The state of the deployment that was worst off; none while there was none.
    pub worst: Option<MemberState>,
}

/// The identity of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId {
    /// Its Kubernetes namespace.
    pub namespace: String,
    /// Its graph deployment; none for pods without one.
    pub dgd: Option<String>,
    /// Its Dynamo namespace, where that is what identifies it.
    pub dynamo_namespace: Option<String>,
}

impl MemberId {
    /// Returns its name within its namespace.
    pub fn name(&self) -> &str {
        let name = self.dgd.as_ref().or(self.dynamo_namespace.as_ref());
        name.map_or(self.namespace.as_str(), String::as_str)
    }
}

/// The state of a deployment as far as it was looked at, the worst first.
///
/// Healthy takes KV events: a fleet that is read without them has no such row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberState {
    /// KV-aware routing does not work.
    Critical,
    /// Something should be fixed.
    Warning,
    /// Not known: sources are down, or have too little data.
    Unknown,
    /// Sources have not answered yet.
    #[default]
    Connecting,
    /// No problem in metrics, logs and objects.
    NothingFound,
    /// No problem in anything, KV events included.
    Healthy,
}

impl MemberState {
    /// Every state, the worst first.
    pub const ALL: [Self; 6] = [
        Self::Critical,
        Self::Warning,
        Self::Unknown,
        Self::Connecting,
        Self::NothingFound,
        Self::Healthy,
    ];

    /// Returns the words for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Unknown => "unknown",
            Self::Connecting => "connecting",
            Self::NothingFound => "no problem seen",
            Self::Healthy => "healthy",
        }
    }
}

/// The worst finding of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Its public id.
    pub id: &'static str,
    /// Its public name.
    pub name: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The fault, in one sentence.
    pub summary: String,
    /// The time it was raised; none where that is not known.
    pub since: Option<Timestamp>,
    /// Number of other findings that count.
    pub more: usize,
}

/// A deployment of the fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Member {
    /// Its identity.
    pub id: MemberId,
    /// Its state.
    pub state: MemberState,
    /// Its model.
    pub model: Option<String>,
    /// Dynamo's version.
    pub version: Option<String>,
    /// Its event plane.
    pub plane: Option<String>,
    /// Its ready worker pods, and all of them; none while pods were not listed.
    pub workers: Option<(usize, usize)>,
    /// Share of requests for which a router found cached blocks, or else of prompt tokens from the cache, 0 to 1.
    pub hits: Option<f64>,
    /// 95th percentile of the time to the first token, in seconds.
    pub first_token: Option<f64>,
    /// Its worst finding.
    pub worst: Option<Worst>,
    /// The missing input of a state that is not known; empty when there is none.
    pub missing: String,
}

impl Member {
    /// Returns a deployment of which nothing is known yet.
    pub fn new(id: MemberId) -> Self {
        Self { id, ..Self::default() }
    }

    /// Returns the row of a deployment whose picture is `snapshot`. Pods are known once they were `listed`, and it is
    /// judged once its sources have `answered`.
    pub fn from_parts(id: MemberId, snapshot: &Snapshot, listed: bool, answered: bool) -> Self {
        let (deployment, felt) = (&snapshot.deployment, &snapshot.felt);
        let worst = worst(snapshot);
        let down = snapshot.sources.iter().find(|row| row.state == SourceState::Down);
        let silent = down.map(|row| format!("{}: {}", row.name, row.why));
        let (state, missing) = match (snapshot.standing(), worst.as_ref().map(|it| it.severity)) {
            (_, Some(Severity::Critical)) => (MemberState::Critical, String::new()),
            (_, Some(Severity::Warning)) => (MemberState::Warning, String::new()),
            _ if !answered => (MemberState::Connecting, silent.unwrap_or_default()),
            (Standing::Ok, _) if silent.is_none() => (MemberState::NothingFound, String::new()),
            _ => (MemberState::Unknown, silent.or_else(|| missing(snapshot)).unwrap_or_default()),
        };
        Self {
            id,
            state,
            model: deployment.model.clone(),
            version: deployment.version.clone(),
            plane: deployment.event_plane.clone(),
            workers: listed.then(|| workers(snapshot)),
            hits: felt.found.or(felt.cached),
            first_token: felt.first_token.map(|[_, most]| most),
            worst,
            missing,
        }
    }
}

/// Returns how many worker pods are ready, and how many there are.
fn workers(snapshot: &Snapshot) -> (usize, usize) {
    let is_worker = |row: &&PodRow| row.role.is_worker() && !row.terminating;
    let all: Vec<&PodRow> = snapshot.pods.iter().filter(is_worker).collect();
    (all.iter().filter(|row| row.ready).count(), all.len())
}

/// Returns the worst finding that counts.
fn worst(snapshot: &Snapshot) -> Option<Worst> {
    let open = || snapshot.findings.iter().filter(|row| row.resolved.is_none() && row.counts());
    let gravest = open().map(|row| row.severity).max()?;
    // Causes come first among findings of one severity.
    let first = open().find(|row| row.severity == gravest)?;
    Some(Worst {
        id: first.id,
        name: first.name,
        severity: first.severity,
        summary: first.summary.clone(),
        since: Some(first.raised),
        more: open().count() - 1,
    })
}

/// Returns the missing input of the most important check.
fn missing(snapshot: &Snapshot) -> Option<String> {
    let core = snapshot.checks.iter().find(|check| check.stake == Stake::Core)?;
    match &core.verdict {
        CheckVerdict::Unknown { missing } => Some(missing.clone()),
        CheckVerdict::Clear | CheckVerdict::Found => None,
    }
}

impl Fleet {
    /// Returns a fleet of `members`, the worst first.
    pub fn new(at: Timestamp, origin: String, mut members: Vec<Member>) -> Self {
        members.sort_by(|a, b| (a.state, &a.id).cmp(&(b.state, &b.id)));
        Self { at, origin, members, unlisted: Vec::new(), listed: true, past: None }
    }

    /// Returns how many deployments are in `state`.
    pub fn count(&self, state: MemberState) -> usize {
        self.members.iter().filter(|member| member.state == state).count()
    }
}
