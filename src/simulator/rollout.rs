//! Pods that come and go: the start, the repair, the scrapes in between.

use std::sync::Arc;
use std::time::Duration;

use super::chapters::Pace;
use super::config::RouterMode;
use super::discovery::{self, Record};
use super::hash::instance_id;
use super::logs::Joins;
use super::pods::grove;
use super::site::EngineSettings;
use super::worker::Worker;
use super::workload::Turn;
use super::{Event, SCRAPE_EVERY, Simulation, logs, pods, scrape};
use crate::domain::{Timestamp, WorkerRank};
use crate::frame::KubeChange;

/// The time a pod takes from its deletion until the next is ready.
pub(super) const POD_STARTS: Duration = Duration::from_secs(4);

impl Simulation {
    /// The cluster starts.
    pub(super) fn boot(&mut self, now: Timestamp) {
        self.settings(now, KubeChange::Added);
        self.graph(now, KubeChange::Added);
        self.start_frontend(now);
        for place in 0..self.config.workers.len() {
            self.start_worker(now, place);
        }
        self.open_conversations(now);
        self.queue.plan(now, Event::Scrape);
    }

    /// Returns the places of the workers that the repair rolls.
    pub(super) fn wrong_workers(&self) -> Vec<usize> {
        let current = self.config.workers.iter();
        let repaired = self.config.repaired.iter();
        current
            .zip(repaired)
            .enumerate()
            .filter(|(_, (current, repaired))| self.config.roll_all || current != repaired)
            .map(|(place, _)| place)
            .collect()
    }

    /// Plans to replace the workers in `places` one by one, from `now` on.
    pub(super) fn roll(&mut self, now: Timestamp, places: &[usize], pace: Pace) {
        let mut at = now.after(pace.before);
        for place in places {
            self.queue.plan(at, Event::Stop(*place));
            self.queue.plan(at.after(POD_STARTS), Event::Start(*place));
            at = at.after(pace.between);
        }
    }

    /// The pod of a worker is deleted. What it was computing is sent to the others.
    pub(super) fn stop_worker(&mut self, now: Timestamp, place: usize) {
        // Two rollouts at once may both come to it.
        let Some(worker) = self.workers.get_mut(place).filter(|worker| worker.up) else { return };
        worker.up = false;
        let ranks: Vec<_> = worker.ranks.iter().map(|rank| rank.id).collect();
        self.register_worker(now, place, KubeChange::Deleted);
        self.pod_of(now, place, KubeChange::Deleted);
        for rank in ranks {
            self.router.leave(rank);
            for line in self.membership(now, rank, Joins::No) {
                self.tap.log(now, &self.frontend.pod, line);
            }
        }
        let orphaned: Vec<u64> = self
            .requests
            .iter()
            .filter(|(_, request)| request.place.0 == place)
            .map(|(id, _)| *id)
            .collect();
        for request in orphaned.iter().filter_map(|id| self.requests.remove(id)).collect::<Vec<_>>()
        {
            let turn = Turn { chat: request.chat, prompt: request.prompt };
            // Its client sees it fail, and asks again.
            self.dispatch(now, turn, now);
        }
    }

    /// A pod for the worker in `place` is ready.
    pub(super) fn start_worker(&mut self, now: Timestamp, place: usize) {
        let Some(config) = self.desired.get(place).copied() else { return };
        if self.workers.get(place).is_some_and(|worker| worker.up) {
            return;
        }
        let pod = self.config.site.worker_pod(place, self.rolls[place]);
        self.rolls[place] += 1;
        let mut worker = Worker::new(&pod, config, &self.config, now);
        worker.up = true;
        for line in logs::worker_start(&self.config, now, worker.id, &config) {
            self.tap.log(now, &worker.pod, line);
        }
        let ranks: Vec<_> = worker.ranks.iter().map(|rank| rank.id).collect();
        if place < self.workers.len() {
            self.workers[place] = worker;
        } else {
            self.workers.push(worker);
        }
        self.pod_of(now, place, KubeChange::Added);
        self.register_worker(now, place, KubeChange::Added);
        for (number, rank) in ranks.into_iter().enumerate() {
            self.router.join(rank, config.card, config.capacity);
            for line in self.membership(now, rank, Joins::Yes) {
                self.tap.log(now, &self.frontend.pod, line);
            }
            self.report_worker(now, (place, number));
        }
    }

    /// The frontend is replaced; the new one has an empty index unless it reads history.
    pub(super) fn restart_frontend(&mut self, now: Timestamp, history: bool) {
        self.register_router(now, KubeChange::Deleted);
        self.frontend_pod(now, KubeChange::Deleted);
        self.frontends += 1;
        let pod = self.config.site.frontend_pod(self.frontends);
        self.frontend.id = instance_id(&pod);
        self.frontend.pod = pod.into();
        let inflight = self.frontend.counts.inflight;
        self.frontend.counts = scrape::FrontendCounts::default();
        self.frontend.counts.inflight = inflight;
        self.router.restart(history);
        self.start_frontend(now);
        let routes = self.router.mode == RouterMode::Kv;
        for worker in self.workers.iter().filter(|worker| worker.up && routes) {
            for rank in &worker.ranks {
                for line in logs::membership(self.config.family, now, rank.id, Joins::Yes) {
                    self.tap.log(now, &self.frontend.pod, line);
                }
            }
        }
    }

    /// Metrics are scraped.
    pub(super) fn scrape(&mut self, now: Timestamp) {
        if self.measured {
            return;
        }
        self.queue.plan(now.after(SCRAPE_EVERY), Event::Scrape);
        let total = self.config.workers.first().map_or(0, |worker| worker.capacity);
        let page = scrape::frontend(
            self.config.site,
            self.config.family,
            &self.frontend.counts,
            self.router.card(),
            total,
        );
        self.tap.scrape(now, &self.frontend.pod, page);
        for worker in self.workers.iter().filter(|worker| worker.up) {
            self.tap.scrape(
                now,
                &worker.pod,
                scrape::worker(self.config.site, worker, self.config.family, now),
            );
        }
    }

    /// Returns what a router logs of a rank that comes or goes; without a router, nothing.
    fn membership(&self, now: Timestamp, rank: WorkerRank, joins: Joins) -> Vec<String> {
        match self.router.mode {
            RouterMode::Kv => logs::membership(self.config.family, now, rank, joins),
            RouterMode::RoundRobin => Vec::new(),
        }
    }

    fn start_frontend(&mut self, now: Timestamp) {
        self.frontend_pod(now, KubeChange::Added);
        let workers = self.config.workers.len();
        let (site, mode) = (self.config.site, self.router.mode);
        for line in logs::frontend_start(site, self.config.family, mode, now, workers) {
            self.tap.log(now, &self.frontend.pod, line);
        }
        self.register_router(now, KubeChange::Added);
    }

    /// The pod of the worker in `place` comes or goes.
    fn pod_of(&mut self, now: Timestamp, place: usize, change: KubeChange) {
        if let Some(worker) = self.workers.get(place) {
            let mut workers = self.desired.clone();
            if let Some(config) = workers.get_mut(place) {
                *config = worker.config;
            }
            let (site, family) = (self.config.site, self.config.family);
            let pod = if site.has_grove() {
                let running = grove::Running { pod: &worker.pod, place, started: worker.started };
                grove::worker(site, family, &running, &worker.config)
            } else {
                pods::worker(site, family, &worker.pod, &workers, place)
            };
            self.tap.kube(now, "Pod", change, pod);
        }
    }

    /// The graph deployment is made, or changed.
    pub(super) fn graph(&mut self, now: Timestamp, change: KubeChange) {
        let (site, family) = (self.config.site, self.config.family);
        let frontend = pods::Frontend { mode: self.router.mode, declared: self.declared() };
        let generation = self.generation;
        let graph = if site.has_grove() {
            grove::graph(site, family, &self.desired, &frontend, generation)
        } else {
            pods::graph(site, family, &self.desired, &frontend, generation)
        };
        self.tap.kube(now, "DynamoGraphDeployment", change, graph);
    }

    /// The `ConfigMap` of the engines' settings is made or changed, where there is one.
    pub(super) fn settings(&mut self, now: Timestamp, change: KubeChange) {
        let site = self.config.site;
        if let (EngineSettings::ConfigMap, Some(worker)) = (site.settings, self.desired.first()) {
            self.tap.kube(now, "ConfigMap", change, grove::config_map(site, worker));
        }
    }

    /// The pod of the frontend comes or goes.
    fn frontend_pod(&mut self, now: Timestamp, change: KubeChange) {
        let (site, family) = (self.config.site, self.config.family);
        let settings = pods::Frontend { mode: self.router.mode, declared: self.declared() };
        let pod = if site.has_grove() {
            let running = grove::Running { pod: &self.frontend.pod, place: 0, started: now };
            grove::frontend(site, family, &running, &settings)
        } else {
            pods::frontend(site, family, &self.frontend.pod, &settings, now)
        };
        self.tap.kube(now, "Pod", change, pod);
    }

    /// Returns what the frontend declares: what the workers' one flag says. Where their cards say
    /// something else than they publish, and then the frontend declares no size either.
    fn declared(&self) -> Option<u32> {
        if self.config.site.has_grove() {
            return self.config.declared;
        }
        let first = self.config.workers.first();
        first.filter(|worker| worker.card == worker.publisher).map(|worker| worker.card)
    }

    /// The records of the worker in `place` are written, or deleted.
    fn register_worker(&mut self, now: Timestamp, place: usize, change: KubeChange) {
        if let Some(pod) = self.workers.get(place).map(|worker| Arc::clone(&worker.pod)) {
            let records = self.worker_records(place);
            self.register(now, &pod, records, change);
        }
    }

    /// The records of the frontend's router are written, or deleted.
    fn register_router(&mut self, now: Timestamp, change: KubeChange) {
        let pod = Arc::clone(&self.frontend.pod);
        let records = match self.router.mode {
            RouterMode::Kv => self.router_records(),
            RouterMode::RoundRobin => Vec::new(),
        };
        self.register(now, &pod, records, change);
    }

    fn register(&mut self, now: Timestamp, pod: &str, records: Vec<Record>, change: KubeChange) {
        if self.config.site.has_grove() {
            let object = grove::metadata(self.config.site, pod, &records);
            self.tap.kube(now, "DynamoWorkerMetadata", change, object);
            return;
        }
        for (key, value) in records {
            self.tap.record(now, &key, Some(value).filter(|_| change != KubeChange::Deleted));
        }
    }

    fn router_records(&self) -> Vec<Record> {
        discovery::router(
            self.config.site,
            self.config.family,
            self.frontend.id,
            "10.42.0.12:40211",
        )
    }

    fn worker_records(&self, place: usize) -> Vec<Record> {
        let Some(worker) = self.workers.get(place) else { return Vec::new() };
        let address = format!("10.42.0.{}:38871", 17 + place % 200);
        let ranks = self.config.dp_ranks.max(1);
        let ranks = (ranks, self.config.service.batch_limit);
        discovery::worker(
            self.config.site,
            self.config.family,
            worker.id,
            &address,
            &worker.config,
            ranks,
        )
    }
}
