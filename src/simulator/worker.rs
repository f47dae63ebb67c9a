//! Workers: pods with an engine whose ranks compute requests and cache blocks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::config::{SimConfig, WorkerConfig};
use super::hash::instance_id;
use super::pool::Pool;
use super::publisher::Publisher;
use super::router::Ticket;
use super::service::Iterations;
use super::workload::Chat;
use crate::domain::{Block, SequenceHash, Timestamp, WorkerRank};

/// One data-parallel rank.
#[derive(Clone, Debug)]
pub(super) struct Rank {
    pub(super) id: WorkerRank,
    pub(super) pool: Pool,
    pub(super) publisher: Publisher,
    pub(super) waiting: VecDeque<u64>,
    pub(super) running: usize,
    /// The engine's work.
    pub(super) iterations: Iterations,
    /// Blocks of prompts that were cached, and all of them.
    pub(super) reused: (u64, u64),
    /// Blocks in use, as last published.
    pub(super) reported: Option<u64>,
}

/// A worker process. A pod that is rolled is replaced by another worker in the same place.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) pod: Arc<str>,
    pub(super) id: u64,
    pub(super) config: WorkerConfig,
    pub(super) ranks: Vec<Rank>,
    pub(super) up: bool,
    pub(super) started: Timestamp,
    pub(super) requests: u64,
    pub(super) seconds: f64,
}

impl Worker {
    /// Returns a worker in pod `pod` that has not joined yet.
    pub(super) fn new(pod: &str, config: WorkerConfig, sim: &SimConfig, now: Timestamp) -> Self {
        let id = instance_id(pod);
        let ranks = (0..sim.dp_ranks.max(1)).map(|rank| Rank {
            id: WorkerRank::new(id, rank),
            pool: Pool::new(config.capacity),
            publisher: Publisher::new(sim.publisher, sim.family, config.publisher, config.engine),
            waiting: VecDeque::new(),
            running: 0,
            iterations: Iterations::default(),
            reused: (0, 0),
            reported: None,
        });
        Self {
            pod: pod.into(),
            id,
            config,
            ranks: ranks.collect(),
            up: false,
            started: now,
            requests: 0,
            seconds: 0.0,
        }
    }
}

/// A request that a worker has or waits for.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) chat: Chat,
    pub(super) prompt: usize,
    pub(super) arrived: Timestamp,
    /// Place of the worker, and of its rank.
    pub(super) place: (usize, usize),
    pub(super) ticket: Ticket,
    /// The blocks of prompt and answer, as the engine names them.
    pub(super) blocks: Vec<Block>,
    /// Blocks held in the pool, from the first.
    pub(super) held: Vec<SequenceHash>,
    /// Blocks that were cached when it was accepted.
    pub(super) cached: usize,
    /// Tokens computed, prompt included.
    pub(super) tokens: usize,
    pub(super) first_token: Option<Timestamp>,
    /// The iteration from which on its engine may accept it.
    pub(super) earliest: u64,
    /// True when the answer ends with the next thing that happens to it.
    pub(super) ends: bool,
    pub(super) name: String,
}
