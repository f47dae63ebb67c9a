//! The state of workers, figures and sources: one judgement behind mark, word and colour.
//!
//! Rules judge. A worker is as bad as the worst finding that names it, so that no row contradicts the verdict; where
//! none does, it is good or unknown.

mod named;

use crate::domain::{SourceName, SourceState, Topic, Trouble};
use crate::snapshot::{
    BlockSizes, CheckVerdict, FindingRow, Knowledge, Limits, Severity, Snapshot, SourceRow,
    WorkerRow,
};

pub use named::Named;

use super::theme::{Glyphs, Role};

/// A state, ordered from the best to the worst that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// No longer there.
    Gone,
    /// Proven good.
    Ok,
    /// Not known; never green.
    Unknown,
    /// Worth a look.
    Warn,
    /// Broken.
    Fail,
}

impl State {
    /// Returns its mark.
    pub const fn glyph(self, glyphs: &Glyphs) -> &'static str {
        match self {
            Self::Gone => glyphs.gone,
            Self::Ok => glyphs.ok,
            Self::Unknown => glyphs.unknown,
            Self::Warn => glyphs.warn,
            Self::Fail => glyphs.fail,
        }
    }

    /// Returns its role.
    pub const fn role(self) -> Role {
        match self {
            Self::Gone => Role::Muted,
            Self::Ok => Role::Ok,
            Self::Unknown => Role::Unknown,
            Self::Warn => Role::Warn,
            Self::Fail => Role::Crit,
        }
    }
}

/// A state with the word that explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The state.
    pub state: State,
    /// Why, in a word or two.
    pub word: &'static str,
}

const fn verdict(state: State, word: &'static str) -> Verdict {
    Verdict { state, word }
}

/// Returns how a worker is doing as far as no finding names it: good, or unknown and why. A figure beyond the
/// threshold of a rule is as bad as the verdict on the deployment, `found`: where nothing was found, it is no fault, but
/// not proven good either.
pub fn worker(row: &WorkerRow, limits: &Limits, found: State) -> Verdict {
    let unknown = |word| verdict(State::Unknown, word);
    if row.is_away() {
        verdict(State::Gone, "gone")
    } else if row.reading {
        unknown("reading history")
    } else if row.last_event.is_none() {
        unknown("no events")
    } else if rejects(row, limits) {
        verdict(figure(true, found), "rejections")
    } else if row.knowledge == Knowledge::SinceAttach {
        unknown("warming")
    } else if publishes_empty(row, limits) {
        verdict(figure(true, found), "empty stores")
    } else if row.counters.stores == 0 {
        unknown("no stores")
    } else {
        verdict(State::Ok, "ok")
    }
}

/// Returns true when a router, or one that had seen every event, rejects more of the worker's stores than a rule
/// lets pass.
fn rejects(row: &WorkerRow, limits: &Limits) -> bool {
    let share = rejected(row).is_some_and(|share| share >= limits.rejected);
    share || row.router_refuses && row.router_refused >= limits.stores
}

fn publishes_empty(row: &WorkerRow, limits: &Limits) -> bool {
    let (stores, empty) = (row.counters.stores, row.counters.empty_stores);
    stores >= limits.stores && empty as f64 >= limits.empty * stores as f64
}

/// Returns the share of a worker's stores that were rejected; none if it is unknown, without stores, or while history
/// is read.
pub fn rejected(row: &WorkerRow) -> Option<f64> {
    row.orphan_share.filter(|_| !row.is_away() && !row.reading)
}

/// Returns the state of a figure: good within its limit, and beyond it as bad as findings say.
pub fn figure(beyond: bool, found: State) -> State {
    match (beyond, found) {
        (false, _) => State::Ok,
        (true, State::Warn | State::Fail) => found,
        (true, _) => State::Unknown,
    }
}

/// Returns the state of the deployment as findings say.
pub fn deployment(snapshot: &Snapshot) -> State {
    let open = snapshot.findings.iter().filter(|row| row.resolved.is_none() && row.counts());
    open.map(|row| state(row.severity)).max().unwrap_or(State::Ok)
}

/// Returns the state of block sizes as findings say that still have evidence.
pub fn sizes_found(snapshot: &Snapshot) -> State {
    let shown = |row: &&FindingRow| row.resolved.is_none() && row.mending.is_none();
    let open = snapshot.findings.iter().filter(|row| shown(row) && row.counts());
    open.filter(|row| row.topic.is_of_sizes())
        .map(|row| state(row.severity))
        .max()
        .unwrap_or(State::Ok)
}

/// Returns the role of a share of KV blocks in use, of one worker or of all of them: the check for KV pressure
/// decides whether a full cache is a fault.
pub fn usage(snapshot: &Snapshot, worker: Option<&WorkerRow>, share: f64) -> Role {
    if share < snapshot.limits.pressure {
        return Role::GaugeLow;
    }
    let check = snapshot.checks.iter().find(|check| check.topic == Topic::Pressure);
    let about = |row: &FindingRow| worker.is_none_or(|worker| is_about(row, worker));
    let mut open = snapshot.findings.iter().filter(|row| row.resolved.is_none());
    match check.map(|check| &check.verdict) {
        _ if open.any(|row| row.topic == Topic::Pressure && about(row)) => Role::GaugeHigh,
        Some(CheckVerdict::Unknown { .. }) | None => Role::GaugeMid,
        Some(CheckVerdict::Clear | CheckVerdict::Found) => Role::GaugeLow,
    }
}

fn is_about(row: &FindingRow, worker: &WorkerRow) -> bool {
    let worker = worker.rank.worker;
    row.subjects.contains(&worker) || row.evidence.iter().any(|proof| proof.worker == Some(worker))
}

const fn state(severity: Severity) -> State {
    match severity {
        Severity::Critical => State::Fail,
        Severity::Warning => State::Warn,
        Severity::Info => State::Ok,
    }
}

/// Returns the different block sizes claimed for a worker, its own first.
pub fn sizes(claims: &BlockSizes) -> Vec<u32> {
    let mut sizes = Vec::new();
    let all = [claims.proven, claims.publisher, claims.engine, claims.card, claims.router];
    for size in all.into_iter().flatten() {
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    sizes
}

/// Returns true when two parts claim different block sizes.
pub fn disagree(claims: &BlockSizes) -> bool {
    sizes(claims).len() > 1
}

/// Returns true if a live source has trouble beyond resource kinds that are not installed: those that
/// deployments without the operator never have.
fn is_limited(row: &SourceRow) -> bool {
    row.name == SourceName::Kubernetes
        && row.troubles.iter().any(|kind| *kind != Trouble::NotInstalled)
}

/// Returns how a source is doing.
pub fn source(row: &SourceRow) -> Verdict {
    let lost = row.gaps > 0 || row.dropped > 0 || row.drops_uncounted;
    match row.state {
        SourceState::Connecting => verdict(State::Unknown, "connecting"),
        SourceState::Live if lost => verdict(State::Warn, "live"),
        // The API server answers, but not everything that kvtop asks for.
        SourceState::Live if is_limited(row) => verdict(State::Warn, "limited"),
        SourceState::Live => verdict(State::Ok, "live"),
        SourceState::Lossy => verdict(State::Warn, "lossy"),
        SourceState::Down => verdict(State::Fail, "down"),
        SourceState::Suspended => verdict(State::Unknown, "paused"),
        SourceState::Ended => verdict(State::Unknown, "ended"),
    }
}
