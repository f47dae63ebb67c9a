//! Workers that findings name, with the state that follows from it.

use std::collections::BTreeMap;

use crate::domain::WorkerId;

use super::{State, Verdict, disagree, verdict, worker};
use crate::snapshot::{Limits, Snapshot, WorkerRow};

/// Findings about sizes of blocks, which mark a worker's size.
pub(super) const SIZES: [&str; 4] = ["KVT001", "KVT002", "KVT015", "KVT016"];

/// The workers that findings are about, or that their evidence is about.
#[derive(Clone, Debug)]
pub struct Named {
    workers: BTreeMap<WorkerId, Vec<(State, &'static str)>>,
    limits: Limits,
    found: State,
    /// The worst finding about block sizes.
    sizes: Option<(State, &'static str)>,
}

impl Named {
    /// Returns the workers of active findings that are warnings or worse.
    pub fn of(snapshot: &Snapshot) -> Self {
        let (limits, found) = (snapshot.limits, super::deployment(snapshot));
        let mut named = Self { limits, found, sizes: None, workers: BTreeMap::new() };
        let open = snapshot.findings.iter().filter(|row| row.resolved.is_none() && row.counts());
        for finding in open {
            let state = super::of(finding.severity);
            let evidence = finding.evidence.iter().filter(|row| !row.against);
            let shown = evidence.filter_map(|row| row.worker).collect::<Vec<_>>();
            let about = if finding.subjects.is_empty() { &shown } else { &finding.subjects };
            if SIZES.contains(&finding.id) {
                named.sizes = named.sizes.max(Some((state, finding.id)));
            }
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
        // A finding about sizes is about every worker whose own sizes differ.
        let sizes = self.sizes.filter(|_| disagree(&row.block_size));
        self.workers.get(&row.rank.worker).into_iter().flatten().copied().chain(sizes)
    }

    /// Returns how a worker is doing: by the worst finding that names it, else by what is known of it.
    pub fn worker(&self, row: &WorkerRow) -> Verdict {
        let own = worker(row, &self.limits, self.found);
        let worst = self.findings(row).max_by_key(|(state, _)| *state);
        match worst {
            Some((state, id)) if state >= own.state && !row.gone => verdict(state, id),
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
