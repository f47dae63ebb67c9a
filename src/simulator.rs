//! The simulator: a Dynamo cluster in the process, for demonstrations and tests.
//!
//! A plain value without clock, task or socket: the same scenario and seed give the same frames,
//! whatever the steps in which time advances. It emits encoded frames, as sources of a real cluster
//! would have received them, and uses none of kvtop's own decoding to make them. Only
//! [`crate::source::simulation`] knows of wall time.

mod chapters;
mod config;
mod discovery;
mod hash;
mod index;
mod logs;
mod names;
mod operations;
mod pods;
mod pool;
mod publisher;
mod queue;
mod rng;
mod rollout;
mod router;
mod scrape;
mod serve;
mod service;
mod site;
mod tap;
#[cfg(test)]
mod tests;
mod worker;
mod workload;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

pub use config::{Hashing, PublisherKind, RouterMode, Scenario, SimConfig, WorkerConfig};
pub use service::{Answered, CACHE_TOKENS, Conversations, InFlight, Service};
pub use site::{EngineSettings, Platform, Site};

use self::publisher::EngineEvent;
use self::queue::Queue;
use self::rng::Rng;
use self::router::Router;
use self::scrape::FrontendCounts;
use self::service::Clients;
use self::tap::Tap;
use self::worker::{Request, Worker};
use self::workload::{Chat, Turn};
use crate::domain::{Timestamp, WorkerRank};
use crate::frame::Frame;

/// The interval of scrapes.
const SCRAPE_EVERY: Duration = Duration::from_secs(5);

/// The steps of a scenario.
#[derive(Clone, Debug)]
enum Event {
    /// The cluster starts.
    Boot,
    /// A user asks, in a new conversation when there is none.
    Ask(Option<Box<Chat>>),
    /// A request is sent to a worker, or tried again when there was none.
    Dispatch(Box<Turn>, Timestamp),
    /// The engine of a rank ends an iteration, if it still is that of the worker.
    Iterated((usize, usize), u64),
    /// A KV event reaches the router.
    Apply(WorkerRank, u64, EngineEvent),
    /// Metrics are scraped.
    Scrape,
    /// The frontend is replaced.
    RestartFrontend,
    /// The pod of a worker is deleted.
    Stop(usize),
    /// The pod that follows it is ready.
    Start(usize),
}

/// A frontend, with its router.
#[derive(Clone, Debug)]
struct Frontend {
    pod: Arc<str>,
    id: u64,
    counts: FrontendCounts,
}

/// The settings of a running cluster that can be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// Conversations at once.
    pub users: usize,
    /// The way the frontend chooses workers.
    pub mode: RouterMode,
    /// Workers, those that restart included.
    pub workers: usize,
}

/// The contents of one rank and of the router's index, for tests to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The rank.
    pub rank: WorkerRank,
    /// Blocks of the engine, in its own size.
    pub held: usize,
    /// Blocks of the rank in the router's index.
    pub indexed: usize,
}

/// A simulated cluster at a point in time.
#[derive(Clone, Debug)]
pub struct Simulation {
    config: SimConfig,
    start: Timestamp,
    now: Timestamp,
    queue: Queue<Event>,
    tap: Tap,
    router: Router,
    frontend: Frontend,
    workers: Vec<Worker>,
    /// The restarts of each worker.
    rolls: Vec<usize>,
    /// The setup of workers that start now.
    desired: Vec<WorkerConfig>,
    /// The writes of the graph deployment.
    generation: u64,
    /// The restarts of the frontend.
    frontends: usize,
    requests: BTreeMap<u64, Request>,
    next_request: u64,
    clients: Clients,
    chance: Rng,
    /// The steps of the scenario so far.
    steps_taken: usize,
    /// True when it is a measurement: no frames are made, and answers are kept.
    measured: bool,
    answers: Vec<Answered>,
    /// Tokens that engines have generated.
    generated: u64,
}

impl Simulation {
    /// Returns the cluster of `scenario`, which has been running for a while at `start`: the first
    /// [`Simulation::advance`] gives what happened before.
    pub fn new(scenario: Scenario, seed: u64, start: Timestamp) -> Self {
        Self::with(SimConfig::new(scenario), seed, start)
    }

    /// Returns a cluster set up as `config` says.
    pub fn with(config: SimConfig, seed: u64, start: Timestamp) -> Self {
        let boot = start.before(config.warm_up);
        let mut queue = Queue::new();
        queue.plan(boot, Event::Boot);
        let frontends = usize::from(!config.router_restart);
        if config.router_restart {
            queue.plan(start, Event::RestartFrontend);
        }
        let first = config.site.frontend_pod(frontends);
        Self {
            start,
            now: boot,
            queue,
            tap: Tap::new(config.site, config.family, start, config.history),
            router: Router::new(&config, seed),
            frontend: Frontend {
                id: hash::instance_id(&first),
                pod: first.into(),
                counts: FrontendCounts::default(),
            },
            workers: Vec::new(),
            rolls: vec![0; config.workers.len()],
            desired: config.workers.clone(),
            generation: 1,
            frontends,
            requests: BTreeMap::new(),
            next_request: 0,
            clients: Clients::new(seed, &config.service),
            chance: Rng::new(seed, 4),
            steps_taken: 0,
            measured: false,
            answers: Vec::new(),
            generated: 0,
            config,
        }
    }

    /// Returns a cluster of which nobody sees a frame: [`Simulation::answers`] has its users'
    /// measurements.
    pub fn measured(config: SimConfig, seed: u64, start: Timestamp) -> Self {
        let mut simulation = Self::with(config, seed, start);
        simulation.measured = true;
        simulation.tap.mute();
        simulation
    }

    /// Returns the answers since the last call, of a cluster that is measured.
    pub fn answers(&mut self) -> Vec<Answered> {
        std::mem::take(&mut self.answers)
    }

    /// Returns the tokens that engines have generated.
    pub fn generated(&self) -> u64 {
        self.generated
    }

    /// Returns the requests that one engine runs at a time, at most.
    pub fn batch_limit(&self) -> usize {
        self.config.service.batch_limit
    }

    /// Returns the requests of each worker.
    pub fn in_flight(&self) -> Vec<InFlight> {
        let ranks = self.workers.iter().filter(|worker| worker.up).flat_map(|worker| &worker.ranks);
        ranks.map(|rank| InFlight { running: rank.running, waiting: rank.waiting.len() }).collect()
    }

    /// Returns names for blocks, as lines of a `labels.toml`, whatever size blocks have.
    pub fn labels(&self) -> String {
        let lines = [16, 32].into_iter().flat_map(|size| self.clients.labels(size));
        lines.fold(String::new(), |mut text, (hash, name)| {
            // Writing to a string cannot fail.
            writeln!(text, "\"{:016x}\" = \"{name}\"", hash.0).unwrap_or_default();
            text
        })
    }

    /// Returns what can be changed while it runs, as it is.
    pub fn steering(&self) -> Steering {
        Steering {
            users: self.config.service.concurrency,
            mode: self.router.mode,
            workers: self.config.workers.len(),
        }
    }

    /// Changes the number of users.
    pub fn set_concurrency(&mut self, users: usize) {
        self.config.service.concurrency = users;
        self.open_conversations(self.now);
    }

    /// Moves time to `to` and returns the frames of the time since the last call, in order.
    pub fn advance(&mut self, to: Timestamp) -> Vec<Frame> {
        while let Some((at, event)) = self.queue.next(to) {
            self.now = self.now.max(at);
            self.happen(at, event);
        }
        self.now = self.now.max(to);
        self.tap.take()
    }

    /// Returns the scenario.
    pub fn scenario(&self) -> Scenario {
        self.config.scenario
    }

    /// Returns what the scenario shows, in one sentence.
    pub fn about(&self) -> &'static str {
        self.config.scenario.about()
    }

    /// Returns what [`Simulation::fix`] does, none where there is nothing to repair.
    pub fn fix_text(&self) -> Option<String> {
        self.config.scenario.fix_text().map(crate::dynamo::fill)
    }

    /// Returns the time from which on frames are live.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// Returns the time that has been simulated.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns what every rank holds, and what the router believes it to hold.
    pub fn truth(&self) -> Vec<Truth> {
        self.workers
            .iter()
            .filter(|worker| worker.up)
            .flat_map(|worker| &worker.ranks)
            .map(|rank| Truth {
                rank: rank.id,
                held: rank.pool.len(),
                indexed: self.router.index.size(rank.id),
            })
            .collect()
    }

    fn happen(&mut self, at: Timestamp, event: Event) {
        match event {
            Event::Boot => self.boot(at),
            Event::Ask(chat) => self.ask(at, chat.map(|chat| *chat)),
            Event::Iterated(place, worker) => self.iterated(at, place, worker),
            Event::Dispatch(turn, arrived) => self.dispatch(at, *turn, arrived),
            Event::Apply(rank, id, event) => self.apply(at, rank, id, &event),
            Event::Scrape => self.scrape(at),
            Event::RestartFrontend => self.restart_frontend(at, false),
            Event::Stop(place) => self.stop_worker(at, place),
            Event::Start(place) => self.start_worker(at, place),
        }
    }
}
