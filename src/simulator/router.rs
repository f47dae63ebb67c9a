//! The router: weighs the workers for each request, and remembers what it believes they run.

use std::collections::HashMap;

use super::config::{Hashing, RouterMode, SimConfig};
use super::hash::{sequence_hashes, tokens_hashes};
use super::index::Index;
use super::rng::Rng;
use crate::domain::WorkerRank;

/// The router's view of one rank.
#[derive(Clone, Debug)]
struct Load {
    rank: WorkerRank,
    card: u32,
    total_blocks: usize,
    prefill_tokens: u64,
    /// Blocks of running requests, and by how many of them each is used.
    active: HashMap<u64, u32>,
}

/// The cost of one rank for one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) rank: WorkerRank,
    pub(super) overlap: u64,
    pub(super) prefill_blocks: f64,
    pub(super) decode_blocks: u64,
    /// Weight of the prefill.
    pub(super) weight: f64,
}

impl Cost {
    /// Returns the number that decides.
    pub(super) fn logit(&self) -> f64 {
        self.weight * self.prefill_blocks + self.decode_blocks as f64
    }
}

/// A choice, with all that the log says of it.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) costs: Vec<Cost>,
    pub(super) chosen: Cost,
    pub(super) tied: bool,
    pub(super) tree_size: usize,
    pub(super) total_blocks: usize,
    pub(super) isl_blocks: u64,
    pub(super) ticket: Ticket,
}

/// The router's note of a running request.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) rank: WorkerRank,
    pub(super) overlap: u64,
    prefill_tokens: u64,
    sequences: Vec<u64>,
}

/// The router of a frontend.
#[derive(Clone, Debug)]
pub(super) struct Router {
    pub(super) index: Index,
    fixed_size: Option<u32>,
    pub(super) weight: f64,
    temperature: f64,
    pub(super) hashing: Hashing,
    pub(super) mode: RouterMode,
    /// Requests that it sent in turn.
    turns: usize,
    loads: Vec<Load>,
    rng: Rng,
}

impl Router {
    /// Returns a router without workers, set up as `config` says.
    pub(super) fn new(config: &SimConfig, seed: u64) -> Self {
        Self {
            index: Index::default(),
            fixed_size: config.router,
            weight: config.weight,
            temperature: config.temperature,
            hashing: config.hashing,
            mode: config.mode,
            turns: 0,
            loads: Vec::new(),
            rng: Rng::new(seed, 2),
        }
    }

    /// Returns the tokens per block that requests are hashed with: those of the model card that was
    /// there first.
    pub(super) fn block_size(&self) -> u32 {
        self.fixed_size.or(self.loads.first().map(|load| load.card)).unwrap_or(16)
    }

    /// Returns the tokens per block of the model card that was there first, 0 without a worker.
    pub(super) fn card(&self) -> u32 {
        self.loads.first().map_or(0, |load| load.card)
    }

    /// Takes a rank into account.
    pub(super) fn join(&mut self, rank: WorkerRank, card: u32, total_blocks: usize) {
        let load = Load { rank, card, total_blocks, prefill_tokens: 0, active: HashMap::new() };
        self.loads.push(load);
    }

    /// Forgets a rank and its blocks.
    pub(super) fn leave(&mut self, rank: WorkerRank) {
        self.loads.retain(|load| load.rank != rank);
        self.index.forget(rank);
    }

    /// Forgets what runs, as a restart does, and all blocks unless it reads the history of events.
    pub(super) fn restart(&mut self, history: bool) {
        if !history {
            self.index = Index::default();
        }
        for load in &mut self.loads {
            load.prefill_tokens = 0;
            load.active.clear();
        }
    }

    /// Returns true when `rank` is one of those it chooses from.
    pub(super) fn knows(&self, rank: WorkerRank) -> bool {
        self.loads.iter().any(|load| load.rank == rank)
    }

    /// Returns decode blocks and prefill tokens that it believes `rank` to have.
    pub(super) fn load(&self, rank: WorkerRank) -> Option<(u64, u64)> {
        let load = self.loads.iter().find(|load| load.rank == rank)?;
        Some((load.active.len() as u64, load.prefill_tokens))
    }

    /// Chooses a rank for `prompt`, and counts the request as running there: the one with the lowest
    /// cost, or the next in turn.
    /// None when there is no worker.
    pub(super) fn choose(&mut self, prompt: &[u32]) -> Option<Choice> {
        let size = self.block_size();
        let mut blocks = tokens_hashes(prompt, size);
        if self.hashing == Hashing::Otherwise {
            for hash in &mut blocks {
                hash.0 = !hash.0;
            }
        }
        let sequences = sequence_hashes(&blocks);
        let ranks: Vec<WorkerRank> = self.loads.iter().map(|load| load.rank).collect();
        let overlaps = self.index.overlaps(&ranks, &blocks);
        let costs: Vec<Cost> = self
            .loads
            .iter()
            .zip(overlaps)
            .map(|(load, overlap)| {
                let (isl, weight) = (prompt.len() as u64, self.weight);
                Cost { weight, ..cost(load, overlap, &sequences, isl, size) }
            })
            .collect();
        let best = costs.iter().map(Cost::logit).min_by(f64::total_cmp)?;
        let mut cheapest: Vec<Cost> =
            costs.iter().filter(|cost| cost.logit() <= best).copied().collect();
        let tied = cheapest.len() > 1;
        let least = cheapest.iter().map(|cost| self.tree_size(cost)).min()?;
        cheapest.retain(|cost| self.tree_size(cost) == least);
        let chosen = match self.mode {
            RouterMode::Kv if self.temperature > 0.0 => *costs.get(self.sample(&costs))?,
            RouterMode::Kv => *cheapest.get(self.rng.index(cheapest.len()))?,
            RouterMode::RoundRobin => {
                self.turns += 1;
                *costs.get(self.turns % costs.len())?
            }
        };
        let prefill_tokens = (prompt.len() as u64).saturating_sub(chosen.overlap * u64::from(size));
        let ticket =
            Ticket { rank: chosen.rank, overlap: chosen.overlap, prefill_tokens, sequences };
        let load = self.loads.iter_mut().find(|load| load.rank == chosen.rank)?;
        load.prefill_tokens += prefill_tokens;
        for sequence in &ticket.sequences {
            *load.active.entry(*sequence).or_default() += 1;
        }
        Some(Choice {
            tied,
            tree_size: least,
            total_blocks: load.total_blocks,
            isl_blocks: (prompt.len() as u64).div_ceil(u64::from(size)),
            costs,
            chosen,
            ticket,
        })
    }

    /// Counts a request's prompt as computed.
    pub(super) fn prefilled(&mut self, ticket: &mut Ticket) {
        if let Some(load) = self.loads.iter_mut().find(|load| load.rank == ticket.rank) {
            load.prefill_tokens = load.prefill_tokens.saturating_sub(ticket.prefill_tokens);
        }
        ticket.prefill_tokens = 0;
    }

    /// Counts a request as done.
    pub(super) fn free(&mut self, mut ticket: Ticket) {
        self.prefilled(&mut ticket);
        let Some(load) = self.loads.iter_mut().find(|load| load.rank == ticket.rank) else {
            return;
        };
        for sequence in ticket.sequences {
            if let Some(count) = load.active.get_mut(&sequence) {
                *count -= 1;
                if *count == 0 {
                    load.active.remove(&sequence);
                }
            }
        }
    }

    /// Returns the place of a worker chosen at random: with probability proportional to exp(-cost / (range of costs) /
    /// temperature), so that chances do not depend on the unit of costs (dynamo-kv-router 1.6.1,
    /// `scheduling/selector/reference.rs`).
    fn sample(&mut self, costs: &[Cost]) -> usize {
        let logits = || costs.iter().map(Cost::logit);
        let least = logits().fold(f64::INFINITY, f64::min);
        let range = logits().fold(f64::NEG_INFINITY, f64::max) - least;
        let scale = (range * self.temperature).max(f64::MIN_POSITIVE);
        let weights: Vec<f64> = logits().map(|logit| ((least - logit) / scale).exp()).collect();
        let mut left = self.rng.unit() * weights.iter().sum::<f64>();
        let place = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        place.unwrap_or(0)
    }

    /// Returns the tree size of the log: 0 for ranks without overlap, whatever they hold
    /// (dynamo-llm 0.9.0, `kv_router/indexer.rs:336` and `scheduler.rs:583`).
    fn tree_size(&self, cost: &Cost) -> usize {
        if cost.overlap == 0 { 0 } else { self.index.size(cost.rank) }
    }
}

/// Weighs one rank (dynamo-llm 0.9.0, `kv_router/scheduler.rs:512`).
fn cost(load: &Load, overlap: u64, sequences: &[u64], isl: u64, size: u32) -> Cost {
    let size = u64::from(size);
    let prefill_tokens = load.prefill_tokens + isl.saturating_sub(overlap * size);
    let new = sequences.iter().filter(|sequence| !load.active.contains_key(sequence)).count();
    Cost {
        rank: load.rank,
        overlap,
        prefill_blocks: prefill_tokens as f64 / size as f64,
        decode_blocks: (load.active.len() + new) as u64,
        weight: 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Block;
    use crate::simulator::hash::engine_blocks;

    const A: WorkerRank = WorkerRank::new(1, 0);
    const B: WorkerRank = WorkerRank::new(2, 0);

    fn router() -> Router {
        let mut router = Router::new(&SimConfig::default(), 1);
        router.join(A, 16, 100);
        router.join(B, 16, 100);
        router
    }

    #[test]
    fn an_idle_worker_costs_the_prompt_twice() {
        // 141 tokens at 16 per block: 8.812 + 8.000, as in 0.9.0-healthy.
        let prompt: Vec<u32> = (0..141).collect();

        let choice = router().choose(&prompt).expect("there are workers");

        assert_eq!(format!("{:.3}", choice.chosen.logit()), "16.812");
        assert_eq!((choice.tied, choice.tree_size, choice.isl_blocks), (true, 0, 9));
    }

    #[test]
    fn a_worker_that_caches_the_prompt_is_chosen() {
        let prompt: Vec<u32> = (0..160).collect();
        let blocks: Vec<Block> = engine_blocks(&prompt, 16);
        let mut router = router();
        router.index.store(B, None, &blocks);

        let choice = router.choose(&prompt).expect("there are workers");

        assert_eq!((choice.chosen.rank, choice.chosen.overlap, choice.tree_size), (B, 10, 10));
        assert_eq!(router.load(B), Some((10, 0)));
    }

    #[test]
    fn a_request_that_ended_leaves_no_load() {
        let prompt: Vec<u32> = (0..160).collect();
        let mut router = router();
        let choice = router.choose(&prompt).expect("there are workers");
        assert_eq!(router.load(choice.chosen.rank), Some((10, 160)));

        router.free(choice.ticket);

        assert_eq!(router.load(choice.chosen.rank), Some((0, 0)));
    }
}
