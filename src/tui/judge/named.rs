//! Which workers the evidence of findings names, and what that says of them.

use std::collections::BTreeMap;

use crate::domain::WorkerId;

use super::{State, Verdict, verdict, worker};
use crate::snapshot::{FindingRow, Severity, WorkerRow};

/// Findings about sizes of blocks, which mark a worker's size.
const SIZES: [&str; 4] = ["KVT001", "KVT002", "KVT015", "KVT016"];

/// The workers that findings are about, or that their evidence is about.
#[derive(Clone, Debug, Default)]
pub struct Named {
    workers: BTreeMap<WorkerId, Vec<(State, &'static str)>>,
}

impl Named {
    /// Returns the workers of active findings that are warnings or worse.
    pub fn of(findings: &[FindingRow]) -> Self {
        let mut named = Self::default();
        for finding in findings.iter().filter(|finding| finding.resolved.is_none()) {
            let state = match finding.severity {
                Severity::Critical => State::Fail,
                Severity::Warning => State::Warn,
                Severity::Info => continue,
            };
            let evidence = finding.evidence.iter().filter(|row| !row.against);
            let shown = evidence.filter_map(|row| row.worker).collect::<Vec<_>>();
            let about = if finding.subjects.is_empty() { &shown } else { &finding.subjects };
            for worker in about {
                let found = named.workers.entry(*worker).or_default();
                if !found.contains(&(state, finding.id)) {
                    found.push((state, finding.id));
                }
            }
        }
        named
    }

    /// Returns the findings that name this worker.
    fn findings(&self, row: &WorkerRow) -> impl Iterator<Item = (State, &'static str)> {
        self.workers.get(&row.rank.worker).into_iter().flatten().copied()
    }

    /// Returns how a worker is doing by its own row and by findings: the worse of both.
    pub fn worker(&self, row: &WorkerRow) -> Verdict {
        let own = worker(row);
        let worst = self.findings(row).max_by_key(|(state, _)| *state);
        match worst {
            Some((state, id)) if state > own.state && !row.gone => verdict(state, id),
            _ => own,
        }
    }

    /// Returns what findings say of its block size; none when they say nothing.
    pub fn size(&self, row: &WorkerRow) -> Option<State> {
        if row.gone {
            return None;
        }
        let about = self.findings(row).filter(|(_, id)| SIZES.contains(id));
        about.map(|(state, _)| state).max()
    }
}
