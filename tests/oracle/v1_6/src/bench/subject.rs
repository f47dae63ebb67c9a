//! What is measured: the mirror, and the router's index.

use dynamo_kv_router::indexer::RadixTree;
use dynamo_kv_router::protocols::{KvCacheEventError, LocalBlockHash, RouterEvent};
use kvtop::domain::{DpRank, KvBatch, KvHead, TokensHash, WorkerRank};
use kvtop::mirror::{Mirror, Outcome, Refusal, Semantics};

use super::stream::Event;
use super::workload::rank;

/// Steps of work put off that the mirror does after each chunk.
const SLICE: usize = 16_384;

/// One implementation.
pub trait Subject {
    /// Takes an event in, outside the clock.
    fn decode(&mut self, event: &Event);
    /// Applies what was taken in, and does what was put off.
    fn apply(&mut self);
    /// Returns the events the index refused: parents missing, blocks missing.
    fn errors(&self) -> (u64, u64);
    fn size(&mut self) -> u64;
    /// Prepares a prompt, outside the clock.
    fn query(&mut self, tokens: &[TokensHash]);
    /// Looks the prepared prompt up.
    fn scores(&mut self) -> Vec<(WorkerRank, u32)>;
    fn remove_worker(&mut self, worker: WorkerRank);
    /// Does one slice of the work put off. Returns false when there is none.
    fn slice(&mut self) -> bool;
}

/// The mirror.
pub struct Ours {
    mirror: Mirror,
    batch: KvBatch,
    outcomes: Vec<Outcome>,
    errors: (u64, u64),
    prompt: Vec<TokensHash>,
    tick: u32,
}

impl Ours {
    pub fn new() -> Self {
        Self {
            mirror: Mirror::new(Semantics::EdgeTruncating, usize::MAX),
            batch: KvBatch::default(),
            outcomes: Vec::new(),
            errors: (0, 0),
            prompt: Vec::new(),
            tick: 0,
        }
    }

    /// Counts what the last chunk brought, outside the clock.
    pub fn tally(&mut self) {
        for outcome in self.outcomes.drain(..) {
            self.errors.0 +=
                u64::from(matches!(outcome.refusal, Some(Refusal::ParentMissing { .. })));
            self.errors.1 += u64::from(outcome.unknown_removals > 0);
        }
        self.batch.clear();
    }
}

impl Ours {
    /// Applies events that were decoded elsewhere.
    pub fn apply_batch(&mut self, batch: &KvBatch) {
        self.tick += 1;
        self.mirror.apply(batch, self.tick, &mut self.outcomes);
        self.mirror.advance(SLICE);
    }
}

impl Subject for Ours {
    fn decode(&mut self, event: &Event) {
        if !self.outcomes.is_empty() {
            self.tally();
        }
        match event {
            Event::Stored { worker, parent, blocks } => {
                let head = KvHead::new(rank(*worker).worker, DpRank(0));
                self.batch.stored(&head, parent.map(kvtop::domain::SequenceHash), blocks);
            }
            Event::Removed { worker, hashes } => {
                self.batch.remove(&KvHead::new(rank(*worker).worker, DpRank(0)), hashes);
            }
            Event::Full | Event::Query(_) => {}
        }
    }

    fn apply(&mut self) {
        self.tick += 1;
        self.mirror.apply(&self.batch, self.tick, &mut self.outcomes);
        self.mirror.advance(SLICE);
    }

    fn errors(&self) -> (u64, u64) {
        let mut errors = self.errors;
        for outcome in &self.outcomes {
            errors.0 += u64::from(matches!(outcome.refusal, Some(Refusal::ParentMissing { .. })));
            errors.1 += u64::from(outcome.unknown_removals > 0);
        }
        errors
    }

    fn size(&mut self) -> u64 {
        self.mirror.totals().accepted
    }

    fn query(&mut self, tokens: &[TokensHash]) {
        self.prompt = tokens.to_vec();
    }

    fn scores(&mut self) -> Vec<(WorkerRank, u32)> {
        self.mirror.overlap(&self.prompt)
    }

    fn remove_worker(&mut self, worker: WorkerRank) {
        self.mirror.remove_worker(worker.worker);
    }

    fn slice(&mut self) -> bool {
        self.mirror.advance(SLICE)
    }
}

/// The router's index.
#[derive(Default)]
pub struct Theirs {
    tree: RadixTree,
    events: Vec<RouterEvent>,
    errors: (u64, u64),
    prompt: Vec<LocalBlockHash>,
}

impl Theirs {
    /// Applies one event.
    pub fn apply_one(&mut self, event: RouterEvent) {
        match self.tree.apply_event(event) {
            Err(KvCacheEventError::ParentBlockNotFound) => self.errors.0 += 1,
            Err(KvCacheEventError::BlockNotFound) => self.errors.1 += 1,
            _ => {}
        }
    }
}

impl Subject for Theirs {
    fn decode(&mut self, event: &Event) {
        match event {
            Event::Stored { worker, parent, blocks } => {
                self.events.push(kvtop_oracle_v1_6::stored(rank(*worker), *parent, blocks));
            }
            Event::Removed { worker, hashes } => {
                self.events.push(kvtop_oracle_v1_6::removed(rank(*worker), hashes));
            }
            Event::Full | Event::Query(_) => {}
        }
    }

    fn apply(&mut self) {
        for event in std::mem::take(&mut self.events) {
            self.apply_one(event);
        }
    }

    fn errors(&self) -> (u64, u64) {
        self.errors
    }

    fn size(&mut self) -> u64 {
        self.tree.current_size() as u64
    }

    fn query(&mut self, tokens: &[TokensHash]) {
        self.prompt = tokens.iter().map(|hash| LocalBlockHash(hash.0)).collect();
    }

    fn scores(&mut self) -> Vec<(WorkerRank, u32)> {
        let found = self.tree.find_matches(std::mem::take(&mut self.prompt), false).scores;
        found
            .into_iter()
            .map(|(own, score)| (WorkerRank::new(own.worker_id, own.dp_rank), score))
            .collect()
    }

    fn remove_worker(&mut self, worker: WorkerRank) {
        self.tree.remove_worker(worker.worker.0);
    }

    fn slice(&mut self) -> bool {
        false
    }
}
