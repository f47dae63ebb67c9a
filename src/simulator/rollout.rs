//! Pods that come and go: the start, the repair, the scrapes in between.

use std::time::Duration;

use super::config::WorkerConfig;
use super::discovery::{self, Record};
use super::hash::instance_id;
use super::logs::Joins;
use super::worker::{Worker, pod_name};
use super::workload::Turn;
use super::{Event, SCRAPE_EVERY, Simulation, logs, names, pods, scrape};
use crate::domain::Timestamp;
use crate::frame::KubeChange;

/// The time from a click to the first deletion.
const BEFORE_ROLL: Duration = Duration::from_millis(500);
/// The time a pod takes from its deletion until the next is ready.
const POD_STARTS: Duration = Duration::from_secs(4);
/// The time from one pod to the next.
const BETWEEN_PODS: Duration = Duration::from_secs(6);

impl Simulation {
    /// The cluster starts.
    pub(super) fn boot(&mut self, now: Timestamp) {
        self.graph(now, KubeChange::Added, 1);
        self.start_frontend(now);
        for place in 0..self.config.workers.len() {
            self.start_worker(now, place);
        }
        self.queue.plan(now.after(Duration::from_millis(500)), Event::Arrive);
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
    pub(super) fn roll(&mut self, now: Timestamp, places: &[usize]) {
        self.graph(now, KubeChange::Modified, 2);
        let mut at = now.after(BEFORE_ROLL);
        for place in places {
            self.queue.plan(at, Event::Stop(*place));
            self.queue.plan(at.after(POD_STARTS), Event::Start(*place));
            at = at.after(BETWEEN_PODS);
        }
    }

    /// The pod of a worker is deleted. What it was computing is sent to the others.
    pub(super) fn stop_worker(&mut self, now: Timestamp, place: usize) {
        let Some(worker) = self.workers.get_mut(place) else { return };
        worker.up = false;
        let ranks: Vec<_> = worker.ranks.iter().map(|rank| rank.id).collect();
        for (key, _) in self.worker_records(place) {
            self.tap.record(now, &key, None);
        }
        self.pod_of(now, place, KubeChange::Deleted);
        for rank in ranks {
            self.router.leave(rank);
            for line in logs::membership(self.config.family, now, rank, Joins::No) {
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
            self.dispatch(now, turn, request.arrived);
        }
    }

    /// A pod for the worker in `place` is ready.
    pub(super) fn start_worker(&mut self, now: Timestamp, place: usize) {
        let Some(config) = self.setup().get(place).copied() else { return };
        let pod = pod_name(place, self.rolls[place]);
        self.rolls[place] += 1;
        let mut worker = Worker::new(&pod, config, &self.config, now);
        worker.up = true;
        for line in logs::worker_start(self.config.family, now, worker.id, &config) {
            self.tap.log(now, &worker.pod, line);
        }
        let ranks: Vec<_> = worker.ranks.iter().map(|rank| rank.id).collect();
        if place < self.workers.len() {
            self.workers[place] = worker;
        } else {
            self.workers.push(worker);
        }
        self.pod_of(now, place, KubeChange::Added);
        for (key, value) in self.worker_records(place) {
            self.tap.record(now, &key, Some(value));
        }
        for (number, rank) in ranks.into_iter().enumerate() {
            self.router.join(rank, config.card, config.capacity);
            for line in logs::membership(self.config.family, now, rank, Joins::Yes) {
                self.tap.log(now, &self.frontend.pod, line);
            }
            self.report_worker(now, (place, number));
        }
    }

    /// The frontend is replaced; the new one has an empty index.
    pub(super) fn restart_frontend(&mut self, now: Timestamp) {
        for (key, _) in self.router_records() {
            self.tap.record(now, &key, None);
        }
        self.frontend_pod(now, KubeChange::Deleted);
        self.frontend.pod = names::FRONTEND.into();
        self.frontend.id = instance_id(names::FRONTEND);
        let inflight = self.frontend.counts.inflight;
        self.frontend.counts = scrape::FrontendCounts::default();
        self.frontend.counts.inflight = inflight;
        self.router.restart();
        self.start_frontend(now);
        for worker in self.workers.iter().filter(|worker| worker.up) {
            for rank in &worker.ranks {
                for line in logs::membership(self.config.family, now, rank.id, Joins::Yes) {
                    self.tap.log(now, &self.frontend.pod, line);
                }
            }
        }
    }

    /// Metrics are scraped.
    pub(super) fn scrape(&mut self, now: Timestamp) {
        self.queue.plan(now.after(SCRAPE_EVERY), Event::Scrape);
        let total = self.config.workers.first().map_or(0, |worker| worker.capacity);
        let page =
            scrape::frontend(self.config.family, &self.frontend.counts, self.router.card(), total);
        self.tap.scrape(now, &self.frontend.pod, page);
        for worker in self.workers.iter().filter(|worker| worker.up) {
            self.tap.scrape(now, &worker.pod, scrape::worker(worker, self.config.family, now));
        }
    }

    fn start_frontend(&mut self, now: Timestamp) {
        self.frontend_pod(now, KubeChange::Added);
        let workers = self.config.workers.len();
        for line in logs::frontend_start(self.config.family, now, workers) {
            self.tap.log(now, &self.frontend.pod, line);
        }
        for (key, value) in self.router_records() {
            self.tap.record(now, &key, Some(value));
        }
    }

    /// The pod of the worker in `place` comes or goes.
    fn pod_of(&mut self, now: Timestamp, place: usize, change: KubeChange) {
        if let Some(worker) = self.workers.get(place) {
            let mut workers = self.setup().to_vec();
            if let Some(config) = workers.get_mut(place) {
                *config = worker.config;
            }
            let pod = pods::worker(self.config.family, &worker.pod, &workers, place);
            self.tap.pod(now, change, pod);
        }
    }

    /// The graph deployment is made, or changed to what the workers are rolled with.
    fn graph(&mut self, now: Timestamp, change: KubeChange, generation: u64) {
        let graph = pods::graph(self.config.family, self.setup(), self.declared(), generation);
        self.tap.graph(now, change, graph);
    }

    /// Returns how workers are set up that start now.
    fn setup(&self) -> &[WorkerConfig] {
        if self.repaired { &self.config.repaired } else { &self.config.workers }
    }

    /// The pod of the frontend comes or goes.
    fn frontend_pod(&mut self, now: Timestamp, change: KubeChange) {
        let pod = pods::frontend(self.config.family, &self.frontend.pod, self.declared(), now);
        self.tap.pod(now, change, pod);
    }

    /// Returns what the frontend declares: what the workers' one flag says. Where their cards say
    /// something else than they publish, nobody set sizes by hand, here neither.
    fn declared(&self) -> Option<u32> {
        let first = self.config.workers.first();
        first.filter(|worker| worker.card == worker.publisher).map(|worker| worker.card)
    }

    fn router_records(&self) -> Vec<Record> {
        discovery::router(self.config.family, self.frontend.id, "10.42.0.12:40211")
    }

    fn worker_records(&self, place: usize) -> Vec<Record> {
        let Some(worker) = self.workers.get(place) else { return Vec::new() };
        let address = format!("10.42.0.{}:38871", 17 + place % 200);
        let ranks = self.config.dp_ranks.max(1);
        discovery::worker(self.config.family, worker.id, &address, &worker.config, ranks)
    }
}
