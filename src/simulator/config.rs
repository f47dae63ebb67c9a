//! The set-up of a simulation: the scenarios, and the numbers behind them.

use std::time::Duration;

use super::service::{CACHE_TOKENS, Service};
use super::site::Site;
use crate::wire::encode::Family;

/// Capacity of a healthy rank in blocks of 32 tokens: Qwen3-32B in FP8 on one H100. Ongoing chats need about 3,000
/// blocks, and each worker may have served any of them. With less capacity, chats return to evicted blocks (churn).
const ROOM: usize = 4764;

/// A situation to demonstrate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scenario {
    /// Publisher and engine split prompts into blocks of different sizes.
    Mismatch,
    /// All is well.
    Healthy,
    /// Routers hash requests in blocks of another size than the workers.
    RouterMismatch,
    /// The router was restarted and lost its index, the workers kept their caches.
    NoHistory,
    /// The cache is far smaller than what is asked for again and again.
    Churn,
    /// One worker publishes nothing.
    Silent,
    /// Three workers under a measured workload, from an incident to a comparison of router modes.
    #[default]
    GtcDemo,
    /// Eight such workers with the same fault.
    Fleet8,
    /// Sixteen such workers that take requests in turn, and more passages than one cache holds.
    Fleet16,
}

impl Scenario {
    /// Every scenario, the default first.
    pub const ALL: [Self; 9] = [
        Self::GtcDemo,
        Self::Fleet8,
        Self::Fleet16,
        Self::Mismatch,
        Self::Healthy,
        Self::RouterMismatch,
        Self::NoHistory,
        Self::Churn,
        Self::Silent,
    ];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatch",
            Self::Healthy => "healthy",
            Self::RouterMismatch => "router-mismatch",
            Self::NoHistory => "no-history",
            Self::Churn => "churn",
            Self::Silent => "silent",
            Self::GtcDemo => "gtc-demo",
            Self::Fleet8 => "fleet-8",
            Self::Fleet16 => "fleet-16",
        }
    }

    /// Returns the scenario called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// Returns what it shows, in one sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Mismatch => {
                "Workers publish 32-token blocks while their engines use 16: every store event \
                 arrives empty, the router's index stays empty, and no request finds a cached prefix."
            }
            Self::Healthy => {
                "Engine, publisher and router agree on 32-token blocks: the index grows, cache hits \
                 rise, and first tokens come sooner."
            }
            Self::RouterMismatch => {
                "Model cards say 16 tokens per block while engines use 32: the index is full, no \
                 warning is logged, and no request ever matches."
            }
            Self::NoHistory => {
                "The frontend was restarted while the workers kept their caches: new blocks refer to \
                 parent blocks that the router has never heard of."
            }
            Self::Churn => {
                "The KV caches hold a fraction of the blocks that conversations reuse: blocks are \
                 evicted almost as fast as they are stored."
            }
            Self::Silent => {
                "One of two workers publishes no KV events: the router believes that it caches \
                 nothing."
            }
            Self::GtcDemo => {
                "Three workers publish 32-token blocks while their engines use 16, so the router's \
                 index stays empty and cache hits are luck."
            }
            Self::Fleet8 => {
                "Eight workers publish 32-token blocks while their engines use 16, so the router's \
                 index stays empty and cache hits are luck."
            }
            Self::Fleet16 => {
                "Sixteen workers take requests in turn. Their users ask about more passages than one \
                 cache holds, so most prompts are computed again."
            }
        }
    }
}

/// The way a worker turns its engine's events into those of the router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PublisherKind {
    /// TensorRT-LLM: short blocks end a store, long ones drop it (ai-dynamo 0.9.0,
    /// `trtllm/publisher.py:489-504`).
    #[default]
    TrtLlm,
    /// vLLM and `SGLang`: blocks of any other size are left out of the store (dynamo-llm 0.9.0,
    /// `kv_router/publisher.rs:628-670`).
    Relay,
}

/// The way a router hashes blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hashing {
    /// As the workers do.
    #[default]
    AsWorkers,
    /// Otherwise, as with an adapter or an image that only one side takes into account.
    Otherwise,
}

/// The way a frontend chooses workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RouterMode {
    /// By what they cache and how busy they are.
    #[default]
    Kv,
    /// One after the other.
    RoundRobin,
}

impl RouterMode {
    /// Returns the value of `DYN_ROUTER_MODE`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kv => "kv",
            Self::RoundRobin => "round-robin",
        }
    }
}

/// The settings of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerConfig {
    /// Tokens in a block of the engine.
    pub engine: u32,
    /// Tokens in a block, as its publisher believes.
    pub publisher: u32,
    /// Tokens in a block, as its model card says; the size its requests are hashed with.
    pub card: u32,
    /// Room of each rank, in blocks of the engine.
    pub capacity: usize,
    /// True when it publishes KV events and load.
    pub publishes: bool,
}

/// The set-up of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct SimConfig {
    /// The situation that it shows.
    pub scenario: Scenario,
    /// The names of the cluster, and how its processes are started.
    pub site: &'static Site,
    /// The generation of Dynamo.
    pub family: Family,
    /// The way workers publish.
    pub publisher: PublisherKind,
    /// The workers, at least one. The first two have the names of a known cluster.
    pub workers: Vec<WorkerConfig>,
    /// Data-parallel ranks of each worker.
    pub dp_ranks: u32,
    /// The tokens per block of the router; none when it takes that of the model cards, as the router
    /// of `dynamo.frontend` does.
    pub router: Option<u32>,
    /// Weight of the prefill in the router's costs, 1 by default: with less, load counts more than what
    /// is cached (`--kv-overlap-score-weight` of dynamo 0.9.0).
    pub weight: f64,
    /// How randomly the router chooses; 0 takes the cheapest worker (`--router-temperature`).
    pub temperature: f64,
    /// The way the router hashes blocks.
    pub hashing: Hashing,
    /// The way the frontend chooses workers.
    pub mode: RouterMode,
    /// The tokens per block that the frontend of a cluster with Grove declares. Elsewhere it declares the
    /// size that the workers' one flag sets.
    pub declared: Option<u32>,
    /// The service times, and the users.
    pub service: Service,
    /// Share of engine events that are lost before they are published, 0 to 1.
    pub loss: f64,
    /// The time that the cluster has been running at the start.
    pub warm_up: Duration,
    /// True when the KV events of the warm-up can be read; false for a late attach.
    pub history: bool,
    /// True when the frontend restarts at the start, and with it the router's index.
    pub router_restart: bool,
    /// The settings of the workers after the fix. Workers that have them already are not restarted.
    pub repaired: Vec<WorkerConfig>,
    /// True when the repair rolls every worker, changed or not.
    pub roll_all: bool,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self::new(Scenario::Healthy)
    }
}

impl SimConfig {
    /// Returns the set-up of `scenario`.
    pub fn new(scenario: Scenario) -> Self {
        let good =
            WorkerConfig { engine: 32, publisher: 32, card: 32, capacity: ROOM, publishes: true };
        let mut config = Self {
            scenario,
            site: &Site::RECORDED,
            family: Family::V0_9,
            publisher: PublisherKind::TrtLlm,
            workers: vec![good; 2],
            dp_ranks: 1,
            router: None,
            weight: 1.0,
            temperature: 0.0,
            hashing: Hashing::AsWorkers,
            mode: RouterMode::Kv,
            declared: None,
            service: Service::small(),
            loss: 0.0,
            warm_up: Duration::from_secs(120),
            history: true,
            router_restart: false,
            repaired: vec![good; 2],
            roll_all: false,
        };
        match scenario {
            // Young enough for the tree to be seen growing.
            Scenario::Healthy => config.warm_up = Duration::from_secs(45),
            Scenario::Mismatch => {
                config.workers = vec![WorkerConfig { engine: 16, capacity: 2 * ROOM, ..good }; 2];
            }
            Scenario::RouterMismatch => config.workers = vec![WorkerConfig { card: 16, ..good }; 2],
            Scenario::NoHistory => {
                config.router_restart = true;
                config.roll_all = true;
            }
            Scenario::Churn => {
                config.workers = vec![WorkerConfig { capacity: 384, ..good }; 2];
                config.repaired = vec![WorkerConfig { ..good }; 2];
            }
            Scenario::Silent => config.workers[1].publishes = false,
            Scenario::GtcDemo => {
                config.serve_users(3, 80, &Service::default());
                config.break_sizes();
            }
            Scenario::Fleet8 => {
                config.serve_users(8, 210, &Service::fleet(8, 80));
                config.break_sizes();
            }
            Scenario::Fleet16 => {
                config.serve_users(16, 420, &Service::fleet(16, 200));
                config.mode = RouterMode::RoundRobin;
            }
        }
        config
    }

    /// Has `count` workers of the measured deployment serve `users` conversations.
    fn serve_users(&mut self, count: usize, users: usize, service: &Service) {
        let capacity = CACHE_TOKENS / 32;
        let worker =
            WorkerConfig { engine: 32, publisher: 32, card: 32, capacity, publishes: true };
        self.site = &Site::GTC_DEMO;
        self.workers = vec![worker; count];
        self.repaired = vec![worker; count];
        self.service = Service { concurrency: users, ..*service };
    }

    /// Has every engine use blocks of 16 tokens, which is not what its publisher believes.
    fn break_sizes(&mut self) {
        for worker in &mut self.workers {
            *worker = WorkerConfig { engine: 16, capacity: CACHE_TOKENS / 16, ..*worker };
        }
    }
}
