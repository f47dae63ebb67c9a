//! Incarnations of workers: when each began, and which workers are of the past.
//!
//! Deeds of an earlier incarnation are history. It accuses neither the process that took its place nor, once
//! the worker is gone, anybody.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::journal::Head;
use super::kv::kv_source;
use super::{Knowledge, Learner};
use crate::domain::{Pod, SourceName, SourceState, Subject, Timestamp, WorkerId};
use crate::model::{WorkerRecord, pod_worker_id};
use crate::snapshot::{EventKind, Gravity};

/// Time around the start of a router within which it adds the workers that are there.
pub(super) const ROUTER_STARTS: Duration = Duration::from_secs(10);

/// Time by which the clocks of Kubernetes and of whoever runs kvtop may differ.
pub(super) const SKEW: Duration = Duration::from_secs(5);

impl Learner<'_> {
    /// Notes when the container of a worker's pod started.
    pub(super) fn pod_began(&mut self, pod: &Pod) {
        let shown = self.known.shown.cluster.pod(&pod.name);
        let started = shown.and_then(|record| record.began).filter(|_| pod.role.is_worker());
        let Some(started) = started else { return };
        // With discovery by Kubernetes a pod's name gives its worker's id, before the worker was seen.
        let hashed = pod_worker_id(&pod.name);
        let mapped = self.known.fleet.workers.in_pod(&pod.name).filter(|worker| *worker != hashed);
        let workers = [Some(hashed), mapped];
        let known = &self.known.fleet.workers;
        if !workers.into_iter().flatten().any(|worker| known.is_news(worker, started)) {
            return;
        }
        for worker in workers.into_iter().flatten() {
            self.container_began(worker, started);
        }
        // Log lines of the container before it are no evidence about this one.
        let until = started.before(SKEW);
        _ = self.known.fleet.claims.forget_logged(until, |claim| match &claim.subject {
            Subject::Pod(name) => *name == pod.name,
            Subject::Worker(worker) => workers.contains(&Some(*worker)),
            Subject::Component { .. } | Subject::Deployment => false,
        });
    }

    /// Notes that the container of `worker` started at `at` by the clock of Kubernetes. A worker that kvtop has heard
    /// from its first event on, and for no longer than clocks differ, is the one that started.
    pub(super) fn container_began(&mut self, worker: WorkerId, at: Timestamp) {
        let workers = &mut self.known.fleet.workers;
        if !workers.is_news(worker, at) {
            return;
        }
        match workers.birth(worker) {
            // The same start, by the other clock.
            Some(birth) if at.since(birth) <= SKEW => return,
            Some(_) => return self.begins(worker, at, true),
            None => {}
        }
        let first = workers.first_event(worker);
        let listens = self.known.streams.listens_since(&self.known.times);
        let from_the_first = |first: &Timestamp| {
            *first < at
                && at.since(*first) <= SKEW
                && listens.is_some_and(|it| it.after(SKEW) < *first)
        };
        self.begins(worker, first.filter(from_the_first).unwrap_or(at), true);
    }

    /// Notes that an incarnation of `worker` began at `at`, or that the one before had ended by then. What that
    /// one held goes with its first event, or at once where its container is known to be new.
    pub(super) fn begins(&mut self, worker: WorkerId, at: Timestamp, new: bool) {
        if !self.known.fleet.workers.is_news(worker, at) {
            return;
        }
        self.apply_kv();
        // With other workers, routers may hash with another size.
        self.known.routing.router.fractions.clear();
        let slot = self.known.times.slots.slot(at);
        let watched =
            self.known.streams.listens_since(&self.known.times).is_some_and(|since| since <= at);
        for index in self.known.fleet.workers.begin(worker, at, slot, SKEW) {
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            self.known.routing.prefixes.reuse.forget(number);
            self.known.routing.prefixes.curve.forget(number);
            let Some(record) = self.known.fleet.workers.ranks_mut().get_mut(index) else {
                continue;
            };
            // Of what came later the mirror may hold some already; then it keeps everything.
            record.is_old = record.last_event.is_some_and(|last| last < at);
            if record.is_old && new {
                let rank = record.rank;
                (record.is_old, record.dropped) = (false, false);
                record.complete |= watched;
                self.known.index.mirror.forget_rank(rank);
                self.known.routing.missing_parents.forget(number);
            }
        }
    }

    /// Notes that `router` said at `at` that it added `worker`. One that has just started says so of all workers that
    /// are there, however long ago they started (seen in 1.6.1, dynamo-kv-router `sequences/multi_worker`; a router of
    /// 0.9.0, dynamo-llm `kv_router/sequence.rs`, said nothing of them).
    pub(super) fn arrived(&mut self, router: &Arc<str>, worker: WorkerId, at: Timestamp) {
        let began = self.known.routing.router.known(router).and_then(|pod| pod.follows);
        if began.is_none_or(|began| at > began.after(ROUTER_STARTS)) {
            self.known.fleet.arrivals.add(worker, at);
        }
    }

    /// Notes that a router said at `at` that it removed `worker`.
    pub(super) fn departed(&mut self, worker: WorkerId, at: Timestamp, source: &SourceName) {
        self.known.fleet.arrivals.remove(worker, at);
        self.begins(worker, at, false);
        let Some(record) = self.known.fleet.workers.worker(worker) else { return };
        // A list that is not followed any more does not know who left.
        let registered =
            !self.known.has_lost_its_lists() && record.joined.is_some() && !record.gone;
        if !registered && self.known.fleet.last_act(worker).is_none_or(|last| last <= at) {
            // A router's word alone takes nothing from what was counted.
            if self.note_presence(worker, false, at, source) && self.known.follows_discovery() {
                self.let_go(worker, at);
            }
        }
    }

    /// Takes workers for gone that no live source registers and that did nothing since kvtop attached, and brings
    /// back those that act again.
    pub(super) fn part_from_the_past(&mut self, at: Timestamp) {
        self.part_from_the_unregistered(at);
        self.let_go_of_the_gone(at);
    }

    fn part_from_the_unregistered(&mut self, at: Timestamp) {
        // While history is being read, what a worker did last is not known.
        let follows = self.known.follows_discovery()
            && self.known.streams.reads(&self.known.times, at).is_none();
        let attached = self.known.times.watched.unwrap_or(at);
        let unregistered = |record: &&WorkerRecord| {
            record.joined.is_none() && (follows || record.gone) && !self.known.shown.has_pod(record)
        };
        let unregistered: Vec<&WorkerRecord> =
            self.known.fleet.workers.workers().iter().filter(unregistered).collect();
        if unregistered.is_empty() {
            return;
        }
        let mut acts: HashMap<WorkerId, Timestamp> = HashMap::new();
        for rank in self.known.fleet.workers.ranks() {
            let Some(last) = rank.last_event.max(rank.last_routed) else { continue };
            let known = acts.entry(rank.rank.worker).or_insert(last);
            *known = last.max(*known);
        }
        let mut changes: Vec<(WorkerId, Timestamp, bool)> = Vec::new();
        for record in unregistered {
            let Some(last) = acts.get(&record.id).copied() else { continue };
            if record.gone && last > record.left.unwrap_or(attached).max(attached) {
                changes.push((record.id, last, true));
            } else if !record.gone && last < attached {
                changes.push((record.id, last, false));
            }
        }
        for (worker, at, present) in changes {
            self.presence(worker, present, at, &SourceName::Discovery);
        }
    }

    /// Takes what `worker`, which is gone, held out of the index. While history is being read more of it may come, under
    /// blocks that are there now: then all of it goes once history was read.
    pub(super) fn let_go(&mut self, worker: WorkerId, at: Timestamp) {
        if !self.awaits_its_past(at) {
            self.known.index.mirror.remove_worker(worker);
            self.known.fleet.workers.drop_blocks(worker);
        }
    }

    /// Returns true while older events than those so far may come.
    fn awaits_its_past(&self, at: Timestamp) -> bool {
        let streams = &self.known.streams;
        !streams.history.is_partial() && streams.reads(&self.known.times, at).is_some()
    }

    /// Takes out of the index what workers hold that are gone: their last events may come after the news.
    fn let_go_of_the_gone(&mut self, at: Timestamp) {
        if !self.known.follows_discovery() || self.awaits_its_past(at) {
            return;
        }
        let Knowledge { fleet, index, .. } = &mut *self.known;
        let gone = fleet.workers.workers().iter().filter(|worker| worker.gone);
        for worker in gone.map(|worker| worker.id).collect::<Vec<_>>() {
            index.mirror.remove_worker(worker);
            fleet.workers.drop_blocks(worker);
        }
    }

    /// Writes into the journal that a worker started anew.
    pub(super) fn describe_restart(&mut self, worker: WorkerId, who: &str, at: Timestamp) {
        let (kind, gravity) = (EventKind::Worker, Gravity::Notice);
        let source = kv_source(self.known.streams.deployment.plane);
        let (orphan, worker, class) = (false, Some(worker), "");
        let head = Head { at, who, kind, gravity, source: &source, orphan, worker, class };
        self.known
            .record
            .journal
            .add(head, self.frame, || "started anew, with an empty cache".into());
    }
}

impl Knowledge {
    /// Returns true while every source that lists the workers there are is down.
    fn has_lost_its_lists(&self) -> bool {
        let lists = self.streams.sources.all().filter(|(name, _)| name.lists_workers());
        let mut states =
            lists.filter_map(|(_, record)| Some(record.note.as_ref()?.state)).peekable();
        states.peek().is_some() && states.all(|state| state == SourceState::Down)
    }

    /// Returns true while a source that follows discovery is well, and names workers.
    pub(super) fn follows_discovery(&self) -> bool {
        let live = self.streams.sources.all().any(|(name, record)| {
            let state = record.note.as_ref().map(|note| note.state);
            name.lists_workers() && state == Some(SourceState::Live)
        });
        let shown = || self.fleet.workers.workers().iter().any(|record| self.shown.has_pod(record));
        live && (self.fleet.members() > 0 || shown())
    }
}
