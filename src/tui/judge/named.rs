//! Which workers the evidence of findings names, and what that says of them.

use std::collections::BTreeMap;

use crate::domain::WorkerId;

use super::{State, Verdict, verdict, worker};
use crate::snapshot::{FindingRow, Severity, WorkerRow};

/// Findings about sizes of blocks, which mark a worker's size.
const SIZES: [&str; 4] = ["KVT001", "KVT002", "KVT015", "KVT016"];

/// The workers that the evidence of findings names, by alias and by pod.
#[derive(Clone, Debug, Default)]
pub struct Named {
    words: BTreeMap<String, Vec<(State, &'static str)>>,
    /// Those that findings are about by their own word.
    workers: BTreeMap<WorkerId, Vec<(State, &'static str)>>,
}

impl Named {
    /// Returns the words of all evidence for findings that are true and worth mending.
    pub fn of(findings: &[FindingRow]) -> Self {
        let mut named = Self::default();
        for finding in findings.iter().filter(|finding| finding.resolved.is_none()) {
            let state = match finding.severity {
                Severity::Critical => State::Fail,
                Severity::Warning => State::Warn,
                Severity::Info => continue,
            };
            for worker in &finding.subjects {
                named.workers.entry(*worker).or_default().push((state, finding.id));
            }
            if !finding.subjects.is_empty() {
                continue;
            }
            for row in finding.evidence.iter().filter(|row| !row.against) {
                for word in words(&row.claim).chain(words(&row.value)).chain(words(&row.source)) {
                    let found = named.words.entry(word.to_owned()).or_default();
                    if !found.contains(&(state, finding.id)) {
                        found.push((state, finding.id));
                    }
                }
            }
        }
        named
    }

    /// Returns the findings that name this worker.
    fn findings(&self, row: &WorkerRow) -> impl Iterator<Item = (State, &'static str)> {
        let names = [Some(&row.alias), row.pod.as_ref()].into_iter().flatten();
        let own = self.workers.get(&row.rank.worker).into_iter().flatten();
        names.filter_map(|name| self.words.get(name)).flatten().chain(own).copied()
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

/// Returns the words of a text, names of pods as one word each.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let words = text.split(move |c: char| !part_of_name(c));
    words.map(|word| word.trim_matches('.')).filter(|word| !word.is_empty())
}
