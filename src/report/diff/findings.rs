//! Findings: raised, cleared, or not judged on one side.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::rows::RowState;
use super::state::{Finding, State};

/// The change of a finding from A to B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FindingState {
    /// Clear in A, found in B.
    Raised,
    /// Found on both sides, with another severity or grade.
    Changed,
    /// Found in A, clear in B.
    Cleared,
    /// Judged in B only.
    UnknownInA,
    /// Judged in A only.
    UnknownInB,
    /// Found on both sides.
    Same,
}

/// A verdict on one side; `unknown` is neither found nor clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Found,
    Clear,
    Unknown,
}

/// A finding on one side.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct FindingSide {
    pub(super) verdict: Verdict,
    pub(super) severity: Option<String>,
    pub(super) grade: Option<String>,
    pub(super) summary: Option<String>,
    /// The input that is missing for a verdict.
    pub(super) missing: Option<String>,
}

/// A finding that is found on a side, or judged on one side only.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct FindingChange {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: FindingState,
    pub(super) a: FindingSide,
    pub(super) b: FindingSide,
}

impl FindingState {
    /// Returns the word for it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Changed => "changed",
            Self::Cleared => "cleared",
            Self::UnknownInA => "unknown in A",
            Self::UnknownInB => "unknown in B",
            Self::Same => "same",
        }
    }

    /// Returns the state of a row that changed like this.
    pub(super) const fn row(self) -> RowState {
        match self {
            Self::Raised | Self::Changed | Self::Cleared => RowState::Changed,
            Self::UnknownInA => RowState::OnlyB,
            Self::UnknownInB => RowState::OnlyA,
            Self::Same => RowState::Same,
        }
    }
}

impl FindingChange {
    /// Returns the side that says more: the one where it is found, B before A.
    pub(super) fn told(&self) -> &FindingSide {
        if self.b.verdict == Verdict::Found || self.a.verdict != Verdict::Found {
            &self.b
        } else {
            &self.a
        }
    }
}

/// Severities, lightest first.
const SEVERITIES: [&str; 3] = ["info", "warning", "critical"];

/// Returns the verdicts of a state by id, with the names.
fn verdicts(state: &State) -> BTreeMap<&str, (&str, FindingSide)> {
    let mut all = BTreeMap::new();
    for check in state.checks.iter().flatten() {
        // A finding that was resolved is clear only when its check says so.
        let verdict = if check.verdict == "clear" { Verdict::Clear } else { Verdict::Unknown };
        let missing = check.missing.clone();
        let side = FindingSide { verdict, severity: None, grade: None, summary: None, missing };
        all.insert(check.id.as_str(), (check.name.as_str(), side));
    }
    let mut found: BTreeMap<&str, &Finding> = BTreeMap::new();
    for row in state.findings.iter().flatten().filter(|row| row.resolved.is_none()) {
        let weight = |row: &Finding| SEVERITIES.iter().position(|word| *word == row.severity);
        let heaviest = found.entry(&row.id).or_insert(row);
        if weight(row) > weight(heaviest) {
            *heaviest = row;
        }
    }
    for (id, row) in found {
        let side = FindingSide {
            verdict: Verdict::Found,
            severity: Some(row.severity.clone()),
            grade: Some(row.grade.clone()),
            summary: Some(row.summary.clone()),
            missing: None,
        };
        all.insert(id, (&row.name, side));
    }
    all
}

pub(super) fn changes(a: &State, b: &State) -> Vec<FindingChange> {
    let (a, b) = (verdicts(a), verdicts(b));
    let mut ids: Vec<&str> = a.keys().chain(b.keys()).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let change = |id: &str| {
        let unjudged = || FindingSide {
            verdict: Verdict::Unknown,
            severity: None,
            grade: None,
            summary: None,
            missing: None,
        };
        let side = |all: &BTreeMap<&str, (&str, FindingSide)>| {
            all.get(id).map_or_else(unjudged, |(_, side)| side.clone())
        };
        let name = a.get(id).or_else(|| b.get(id)).map(|(name, _)| (*name).to_owned());
        let (a, b) = (side(&a), side(&b));
        let state = match (a.verdict, b.verdict) {
            (Verdict::Found, Verdict::Found) => {
                let alike = a.severity == b.severity && a.grade == b.grade;
                if alike { FindingState::Same } else { FindingState::Changed }
            }
            (Verdict::Clear, Verdict::Found) => FindingState::Raised,
            (Verdict::Found, Verdict::Clear) => FindingState::Cleared,
            (Verdict::Unknown, Verdict::Found | Verdict::Clear) => FindingState::UnknownInA,
            (Verdict::Found | Verdict::Clear, Verdict::Unknown) => FindingState::UnknownInB,
            (Verdict::Clear, Verdict::Clear) | (Verdict::Unknown, Verdict::Unknown) => return None,
        };
        Some(FindingChange { id: id.to_owned(), name: name.unwrap_or_default(), state, a, b })
    };
    let mut all: Vec<FindingChange> = ids.into_iter().filter_map(change).collect();
    all.sort_by_key(|change| (change.told().verdict != Verdict::Found, change.state));
    all
}
