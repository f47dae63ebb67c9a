//! The last decisions of routers, with their terms and overlaps.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{Decision, FormulaTerm, HitRate, Timestamp, WorkerId, WorkerRank};

/// Most decisions that are kept.
const DECISION_LIMIT: usize = 1000;

/// Most terms that wait for their decision: a formula line for each rank of a large deployment.
const TERM_LIMIT: usize = 4096;

/// Decisions and events that are compared to find which belong together.
const RECENT: usize = 64;

/// The most time between an event and the line about the same request.
const APART: Duration = Duration::from_secs(2);

/// A decision with everything that was said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionRecord {
    /// Its number since kvtop started.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The decision.
    pub decision: Decision,
    /// The cost of each worker weighed, when the log spells it out; empty where only sums are kept.
    pub terms: Vec<FormulaTerm>,
    /// Cached blocks that the choice used and gave up; none without the cost of every worker.
    pub weighed: Option<Weighed>,
    /// Overlap in blocks, said later.
    pub overlap: Option<f64>,
    /// Length of the prompt in the router's blocks, rounded up, as an event of 0.9 says.
    pub prompt_blocks: Option<u64>,
    /// Length of the prompt in tokens, as the end of the request says from 1.5 on.
    pub prompt_tokens: Option<u64>,
    /// True once the prompt is known to be shorter than a block.
    pub short: bool,
}

/// Blocks that a choice found cached, and blocks that other choices would have found, by the costs of all workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighed {
    /// The prompt.
    pub prompt: f64,
    /// Cached by the worker that has most of it.
    pub best: f64,
    /// Cached by the worker chosen.
    pub chosen: f64,
    /// Cached beyond those by the worker that a router of default weights would have chosen.
    pub forgone: f64,
}

/// Costs are printed with three decimals, each rounded.
const PRINTED: f64 = 0.003;

/// Returns what a worker would have cost at the default weight of the prefill, 1.
fn plain_cost(term: &FormulaTerm) -> f64 {
    let request = term.credit.map_or(0.0, |credit| credit.request_blocks);
    term.prefill_blocks + term.decode_blocks + request
}

impl Weighed {
    /// Reads the blocks off the costs of a decision; none when the log does not spell out every worker's cost.
    fn of(decision: &Decision, terms: &[FormulaTerm]) -> Option<Self> {
        if terms.len() < 2 {
            return None;
        }
        let taken = terms.iter().filter(|term| {
            term.rank.worker == decision.worker
                && decision.dp_rank.is_none_or(|rank| rank == term.rank.dp_rank)
        });
        let taken = taken.max_by(|a, b| a.cached_blocks.total_cmp(&b.cached_blocks))?;
        let cheapest = terms.iter().min_by(|a, b| plain_cost(a).total_cmp(&plain_cost(b)));
        let otherwise = cheapest.filter(|term| plain_cost(taken) - plain_cost(term) > PRINTED);
        let chosen = taken.cached_blocks;
        // The term without prompts ahead of it in the queue is the prompt alone.
        let prompts = terms.iter().map(|term| term.prefill_blocks + term.cached_blocks);
        Some(Self {
            prompt: prompts.fold(f64::INFINITY, f64::min),
            best: terms.iter().map(|term| term.cached_blocks).fold(0.0, f64::max),
            chosen,
            forgone: otherwise.map_or(0.0, |term| (term.cached_blocks - chosen).max(0.0)),
        })
    }
}

/// The last decisions, oldest first.
#[derive(Debug)]
pub struct Decisions {
    last: VecDeque<DecisionRecord>,
    pending: Vec<FormulaTerm>,
    /// Events that came before the line that they are about.
    early: VecDeque<(HitRate, Timestamp)>,
    next: u64,
    /// Most decisions that are kept.
    limit: usize,
    /// True where the costs of each worker are let go once they are summed up.
    sums_only: bool,
}

impl Default for Decisions {
    fn default() -> Self {
        Self {
            last: VecDeque::new(),
            pending: Vec::new(),
            early: VecDeque::new(),
            next: 0,
            limit: DECISION_LIMIT,
            sums_only: false,
        }
    }
}

impl Decisions {
    /// Returns no decisions yet, and keeps the last `limit` of those that come, without the cost of each worker.
    pub fn brief(limit: usize) -> Self {
        Self { limit: limit.clamp(1, DECISION_LIMIT), sums_only: true, ..Self::default() }
    }

    /// Keeps a term until its decision is made.
    pub fn term(&mut self, term: FormulaTerm) {
        if self.pending.len() >= TERM_LIMIT {
            self.pending.clear();
        }
        self.pending.push(term);
    }

    /// Returns true when a router chose another worker for the same request a moment ago.
    pub fn has_picked(&self, decision: &Decision) -> bool {
        let Some(request) = &decision.request else { return false };
        self.last.iter().rev().take(RECENT).any(|record| {
            record.decision.request.as_ref() == Some(request)
                && record.decision.worker != decision.worker
                && !record.decision.forwarded
        })
    }

    /// Returns true for a decision that came before, as where two sources bring the lines of one log. Where
    /// the line does not name the request (dynamo-kv-router 1.4.0 does, `scheduling/selector.rs:578`), equal lines may be
    /// of several requests.
    pub fn repeats(&self, decision: &Decision, at: Timestamp) -> bool {
        let named = decision.request.is_some().then_some(RECENT);
        let lately = self.last.iter().rev().take(named.unwrap_or_default());
        lately.filter(|record| record.at == at).any(|record| record.decision == *decision)
    }

    /// Keeps a decision with the terms its router printed before it. `short` says that its cost shows a prompt shorter
    /// than a block. Returns true where at least one whole block of the prompt was not cached there, so that the engine
    /// has to store it.
    pub fn decided(&mut self, decision: Decision, short: bool, at: Timestamp) -> bool {
        let ours = |term: &FormulaTerm| {
            let same = term.request.is_none() || term.request == decision.request;
            term.router == decision.router && same
        };
        let mut terms: Vec<FormulaTerm> = Vec::new();
        self.pending.retain(|term| {
            if ours(term) {
                terms.push(term.clone());
            }
            !ours(term)
        });
        let weighed = Weighed::of(&decision, &terms);
        let nothing_cached = decision.cached_blocks == Some(0.0) && !short;
        let stores = weighed.map_or(nothing_cached, |it| it.prompt - it.chosen >= 1.0);
        if self.sums_only {
            terms.clear();
        }
        terms.shrink_to_fit();
        if self.last.len() >= self.limit {
            self.last.pop_front();
        }
        let mut record = DecisionRecord {
            number: self.next,
            at,
            decision,
            terms,
            weighed,
            overlap: None,
            prompt_blocks: None,
            prompt_tokens: None,
            short,
        };
        if let Some(found) = self.early.iter().position(|(hit, then)| fits(&record, hit, *then)) {
            record.prompt_blocks = self.early.remove(found).map(|(hit, _)| hit.isl_blocks);
        }
        self.next += 1;
        self.last.push_back(record);
        stores
    }

    /// Adds the length of a prompt to the decision that an event is about: the last of that rank and
    /// that overlap, at about that time. Nothing else joins the two.
    pub fn length(&mut self, hit: &HitRate, at: Timestamp) {
        let recent = self.last.iter_mut().rev().take(RECENT);
        let mut open = recent.filter(|record| record.prompt_blocks.is_none());
        if let Some(record) = open.find(|record| fits(record, hit, at)) {
            record.prompt_blocks = Some(hit.isl_blocks);
            return;
        }
        if self.early.len() >= RECENT {
            self.early.pop_front();
        }
        self.early.push_back((*hit, at));
    }

    /// Adds the length of a prompt to the decision that named its request.
    pub fn tokens(&mut self, request: &str, tokens: u64) {
        let named =
            |record: &&mut DecisionRecord| record.decision.request.as_deref() == Some(request);
        for record in self.last.iter_mut().rev().filter(named) {
            record.prompt_tokens = Some(tokens);
        }
    }

    /// Notes that the prompt of `request` is shorter than a block, where `is_short` says so of its worker. Returns its
    /// decision if that is news.
    pub fn shorten(
        &mut self,
        request: &str,
        is_short: impl FnOnce(WorkerId) -> bool,
    ) -> Option<&Decision> {
        let named = |record: &&mut DecisionRecord| {
            record.decision.request.as_deref() == Some(request) && !record.decision.forwarded
        };
        let record = self.last.iter_mut().rev().find(named)?;
        if record.short || !is_short(record.decision.worker) {
            return None;
        }
        record.short = true;
        Some(&record.decision)
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

/// Returns true when `hit` may be about this decision.
fn fits(record: &DecisionRecord, hit: &HitRate, at: Timestamp) -> bool {
    let decision = &record.decision;
    let dp_rank = decision.dp_rank.unwrap_or_default();
    let overlap = hit.overlap_blocks as f64;
    hit.rank == WorkerRank { worker: decision.worker, dp_rank }
        && decision.cached_blocks.is_none_or(|cached| (cached - overlap).abs() < 0.5)
        && at.since(record.at).max(record.at.since(at)) <= APART
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(worker: u64, cached: f64) -> Decision {
        Decision {
            router: "frontend".into(),
            request: None,
            worker: crate::domain::WorkerId(worker),
            dp_rank: None,
            logit: None,
            cached_blocks: Some(cached),
            tree_size: None,
            total_blocks: None,
            prefill: false,
            forwarded: false,
        }
    }

    #[test]
    fn an_event_finds_its_line_whichever_comes_first() {
        let mut decisions = Decisions::default();
        let hit = |worker, isl_blocks, overlap_blocks| HitRate {
            rank: WorkerRank::new(worker, 0),
            isl_blocks,
            overlap_blocks,
        };
        let at = |seconds: u64| Timestamp(seconds * 1_000_000);

        decisions.length(&hit(1, 10, 4), at(100));
        decisions.decided(decision(1, 4.0), false, at(100));
        decisions.decided(decision(2, 0.0), false, at(100));
        decisions.length(&hit(2, 7, 3), at(100));
        decisions.length(&hit(2, 8, 0), at(101));
        decisions.decided(decision(2, 3.0), false, at(110));

        let lengths: Vec<_> = decisions.last().iter().map(|record| record.prompt_blocks).collect();
        assert_eq!(lengths, [Some(10), Some(8), None]);
    }
}
