//! Workers that findings name, with the state that follows from it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::{SourceState, Timestamp, WorkerId};

use super::{State, Verdict, disagree, verdict, worker};
use crate::snapshot::{Limits, Snapshot, WorkerRow};

/// The state that follows from a finding, its id, and whether it is about block sizes.
type Mark = (State, &'static str, bool);

/// The workers that findings are about, or that their evidence is about.
#[derive(Clone, Debug)]
pub struct Named {
    workers: BTreeMap<WorkerId, Vec<Mark>>,
    limits: Limits,
    found: State,
    /// The worst finding about block sizes.
    sizes: Option<Mark>,
    /// The moment from which on an event shows that a worker is there, while no source lists the workers.
    unlisted: Option<Timestamp>,
}

/// While no source lists the workers, one without an event for so long may be gone.
const SILENT: Duration = Duration::from_secs(10);

impl Named {
    /// Returns the workers of active findings that are warnings or worse.
    pub fn new(snapshot: &Snapshot) -> Self {
        let (limits, found) = (snapshot.limits, super::deployment(snapshot));
        let mut lists = snapshot.sources.iter().filter(|row| row.name.lists_workers()).peekable();
        let unlisted = lists.peek().is_some() && lists.all(|row| row.state == SourceState::Down);
        let unlisted = unlisted.then(|| snapshot.at.before(SILENT));
        let mut named = Self { limits, found, sizes: None, workers: BTreeMap::new(), unlisted };
        let open = snapshot.findings.iter().filter(|row| row.resolved.is_none() && row.counts());
        for finding in open {
            // While a finding recovers its verdict is amber, and its evidence is from before the cure.
            let recovers = finding.mending.is_some();
            let state = super::state(finding.severity);
            let state = if recovers { state.min(State::Warn) } else { state };
            let evidence = finding.evidence.iter().filter(|row| !row.against && !recovers);
            let shown = evidence.filter_map(|row| row.worker).collect::<Vec<_>>();
            let about = if finding.subjects.is_empty() { &shown } else { &finding.subjects };
            let mark = (state, finding.id, finding.topic.is_of_sizes());
            if finding.topic.is_of_sizes() {
                named.sizes = named.sizes.max(Some(mark));
            }
            for worker in about {
                let found = named.workers.entry(*worker).or_default();
                if !found.contains(&mark) {
                    found.push(mark);
                }
            }
        }
        named
    }

    /// Returns the findings that name this worker.
    fn findings(&self, row: &WorkerRow) -> impl Iterator<Item = Mark> {
        // A finding about sizes is about every worker whose own sizes differ.
        let sizes = self.sizes.filter(|_| disagree(&row.block_size));
        self.workers.get(&row.rank.worker).into_iter().flatten().copied().chain(sizes)
    }

    /// Returns how a worker is doing: by the worst finding that names it, else by what is known of it.
    pub fn worker(&self, row: &WorkerRow) -> Verdict {
        let mut own = worker(row, &self.limits, self.found);
        if own.state == State::Ok && self.unlisted.is_some_and(|since| row.last_event < Some(since))
        {
            own = verdict(State::Unknown, "not listed");
        }
        let worst = self.findings(row).max_by_key(|(state, ..)| *state);
        match worst {
            Some((state, id, _)) if state >= own.state && !row.is_away() => verdict(state, id),
            _ => own,
        }
    }

    /// Returns what findings say of its block size; none when they say nothing.
    pub fn size(&self, row: &WorkerRow) -> Option<State> {
        if row.is_away() {
            return None;
        }
        let about = self.findings(row).filter(|(_, _, of_sizes)| *of_sizes);
        about.map(|(state, ..)| state).max()
    }
}
