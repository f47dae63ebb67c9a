//! The last decisions of routers, with their terms and overlaps.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::domain::{Decision, FormulaTerm, Timestamp};

/// Most decisions that are kept.
const DECISION_LIMIT: usize = 1000;

/// Most terms that wait for their decision: a formula line for each rank of a large deployment.
const TERM_LIMIT: usize = 4096;

/// A decision with everything that was said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionRecord {
    /// When.
    pub at: Timestamp,
    /// The decision.
    pub decision: Decision,
    /// The cost of each worker weighed, when the log spells it out.
    pub terms: Vec<FormulaTerm>,
    /// Overlap in blocks, said later.
    pub overlap: Option<f64>,
}

/// Requests whose overlap is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlap {
    /// How many.
    pub known: u64,
    /// How many of them overlap with nothing.
    pub zero: u64,
    /// Sum of their overlaps in blocks.
    pub blocks: f64,
}

/// Who says what overlap a request has. A version may say it in more than one way, so the ways are
/// counted apart and never added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlapBy {
    /// The line that names the selected worker.
    Decision,
    /// The line at the end of the request.
    Completion,
    /// The event `kv-hit-rate` (Dynamo 0.9).
    Event,
    /// The event with which routers tell each other of a request (replica sync, up to 1.1).
    Request,
}

impl OverlapBy {
    /// Everybody who may say so.
    pub const ALL: [Self; 4] = [Self::Decision, Self::Completion, Self::Event, Self::Request];
}

/// Overlaps by who says so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlaps([Overlap; OverlapBy::ALL.len()]);

impl Overlaps {
    /// Counts a request.
    pub fn note(&mut self, by: OverlapBy, blocks: f64) {
        let overlap = &mut self.0[by as usize];
        overlap.known += 1;
        overlap.zero += u64::from(blocks <= 0.0);
        overlap.blocks += blocks;
    }

    /// Returns the counts of whoever spoke about most requests.
    pub fn best(&self) -> Overlap {
        let [first, rest @ ..] = self.0;
        rest.into_iter().fold(first, |best, next| if next.known > best.known { next } else { best })
    }

    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        for (sum, part) in self.0.iter_mut().zip(&other.0) {
            sum.known += part.known;
            sum.zero += part.zero;
            sum.blocks += part.blocks;
        }
    }

    /// Returns what was counted since `base`.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        let mut parts = [Overlap::default(); OverlapBy::ALL.len()];
        for (part, (now, then)) in parts.iter_mut().zip(self.0.iter().zip(&base.0)) {
            *part = Overlap {
                known: now.known.saturating_sub(then.known),
                zero: now.zero.saturating_sub(then.zero),
                blocks: (now.blocks - then.blocks).max(0.0),
            };
        }
        Self(parts)
    }

    /// Returns true when `by` spoke about most requests.
    pub fn is_best(&self, by: OverlapBy) -> bool {
        self.0[by as usize].known == self.best().known
    }
}

/// The last decisions, oldest first.
#[derive(Debug, Default)]
pub struct Decisions {
    last: VecDeque<DecisionRecord>,
    pending: Vec<FormulaTerm>,
}

impl Decisions {
    /// Keeps a term until its decision is made.
    pub fn term(&mut self, term: FormulaTerm) {
        if self.pending.len() >= TERM_LIMIT {
            self.pending.clear();
        }
        self.pending.push(term);
    }

    /// Keeps a decision with the terms its router printed before it.
    pub fn decided(&mut self, decision: Decision, at: Timestamp) {
        let ours = |term: &FormulaTerm| term.router == decision.router;
        let mut terms: Vec<FormulaTerm> = Vec::new();
        self.pending.retain(|term| {
            if ours(term) {
                terms.push(term.clone());
            }
            !ours(term)
        });
        if self.last.len() >= DECISION_LIMIT {
            self.last.pop_front();
        }
        self.last.push_back(DecisionRecord { at, decision, terms, overlap: None });
    }

    /// Adds the overlap of a request to its decision, when the decision named the request. Returns the
    /// decision's cost, once.
    pub fn overlap(&mut self, request: &Arc<str>, blocks: f64) -> Option<f64> {
        let found = self
            .last
            .iter_mut()
            .rev()
            .find(|record| record.decision.request.as_deref() == Some(request.as_ref()));
        let record = found?;
        let first = record.overlap.replace(blocks).is_none();
        record.decision.logit.filter(|_| first && record.decision.cached_blocks.is_none())
    }

    /// Returns the last decisions, oldest first.
    pub fn last(&self) -> &VecDeque<DecisionRecord> {
        &self.last
    }
}
