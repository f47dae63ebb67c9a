//! Changes that people make to a running cluster.

use super::chapters::Pace;
use super::config::{Hashing, RouterMode, WorkerConfig};
use super::rollout::POD_STARTS;
use super::site::EngineSettings;
use super::{Event, Simulation};
use crate::domain::Timestamp;
use crate::frame::KubeChange;

impl Simulation {
    /// Writes other settings for the workers. Those that run keep theirs until they are restarted.
    pub fn deploy(&mut self, workers: &[WorkerConfig]) {
        self.desired = workers.to_vec();
        if self.config.site.settings == EngineSettings::ConfigMap {
            self.settings(self.now, KubeChange::Modified);
        } else {
            self.write_graph(self.now);
        }
    }

    /// Restarts the worker in `place`.
    pub fn restart_worker(&mut self, place: usize) {
        self.roll(self.now, &[place], Pace::STEADY);
    }

    /// Restarts the workers one by one.
    pub fn restart_workers(&mut self) {
        let places: Vec<usize> = (0..self.workers.len()).collect();
        self.roll(self.now, &places, Pace::STEADY);
    }

    /// Replaces the frontend by one whose router has an empty index.
    pub fn lose_router_history(&mut self) {
        self.restart_frontend(self.now, false);
    }

    /// Sets how the frontend chooses workers, and replaces it.
    pub fn switch_mode(&mut self, mode: RouterMode) {
        self.write_mode(mode);
        self.restart_frontend(self.now, true);
    }

    /// Sets the share of engine events that are lost before they are published, 0 to 1.
    pub fn lose_events(&mut self, share: f64) {
        self.config.loss = share;
    }

    /// Sets how the router hashes the blocks of requests, and replaces the frontend.
    pub fn switch_hashing(&mut self, hashing: Hashing) {
        self.router.hashing = hashing;
        self.restart_frontend(self.now, true);
    }

    /// Sets the weight of the prefill in the router's costs, and replaces the frontend.
    pub fn switch_weight(&mut self, weight: f64) {
        self.router.weight = weight;
        self.restart_frontend(self.now, true);
    }

    /// Adds a worker with the settings that are written now.
    pub fn add_worker(&mut self) {
        let Some(like) = self.desired.first().copied() else { return };
        let place = self.config.workers.len();
        self.config.workers.push(like);
        let repaired = self.config.repaired.first().copied().unwrap_or(like);
        self.config.repaired.push(repaired);
        self.desired.push(like);
        self.rolls.push(0);
        self.write_graph(self.now);
        self.queue.plan(self.now.after(POD_STARTS), Event::Start(place));
    }

    /// Takes the worker in `place` out of routing: it completes the requests that it has and gets no others, and its
    /// cache is lost to the router.
    pub fn drain_worker(&mut self, place: usize) {
        let Some(worker) = self.workers.get(place) else { return };
        let ranks: Vec<_> = worker.ranks.iter().map(|rank| rank.id).collect();
        for rank in ranks {
            self.router.leave(rank);
        }
    }

    /// Returns the names of the pods of the workers that are up.
    pub fn worker_pods(&self) -> Vec<String> {
        let up = self.workers.iter().filter(|worker| worker.up);
        up.map(|worker| worker.pod.to_string()).collect()
    }

    fn write_mode(&mut self, mode: RouterMode) {
        self.router.mode = mode;
        self.write_graph(self.now);
    }

    fn write_graph(&mut self, now: Timestamp) {
        self.generation += 1;
        self.graph(now, KubeChange::Modified);
    }
}
