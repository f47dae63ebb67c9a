//! Parents that routers lack and the mirror holds, and when these were stored.

use std::collections::HashMap;

use crate::domain::{
    ClaimWhat, KvKind, LogWarning, RouterStart, SequenceHash, Subject, Timestamp, WarningKind,
    WorkerRank,
};
use crate::engine::incarnations::ROUTER_STARTS;
use crate::engine::{Learner, Setup};
use crate::model::{MissingParent, SaidModes, Stored, Watch};

impl Learner<'_> {
    pub(super) fn router_start(&mut self, start: &RouterStart, at: Timestamp) {
        let pod = self.known.routing.router.pod(&start.pod);
        pod.follows = pod.follows.max(Some(at));
        if start.follows {
            if pod.modes == SaidModes::OtherBefore {
                pod.modes = SaidModes::BlocksAfterOther;
            }
            // It says first that it adds workers, then that it starts.
            self.known.fleet.arrivals.forget(at.before(ROUTER_STARTS));
        } else {
            pod.start(at);
            self.known.routing.router.fractions.clear();
            self.known.routing.missing_parents.restarted(&start.pod);
            // The mode by which the process before it chose says nothing of this one.
            let other = self.known.fleet.claims.forget_logged(at, |claim| {
                claim.what == ClaimWhat::RouterMode
                    && matches!(&claim.subject, Subject::Pod(pod) if *pod == start.pod)
            });
            if other {
                self.known.routing.router.pod(&start.pod).modes = SaidModes::OtherBefore;
            }
        }
    }

    /// Forgets what `rank` stored.
    pub(in crate::engine) fn forget_stores(&mut self, rank: WorkerRank) {
        if let Some(index) = self.known.fleet.workers.index_of(rank) {
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            self.known.routing.missing_parents.forget(number);
            self.known.routing.prefixes.curve.forget(number);
        }
    }

    /// Returns why a router misses a parent that the mirror holds, or is about to; none when the mirror
    /// does not.
    pub(super) fn missing_parent(
        &mut self,
        warning: &LogWarning,
        at: Timestamp,
    ) -> Option<MissingParent> {
        let WarningKind::ParentMissing { parent: Some(parent), blocks } = warning.kind else {
            return None;
        };
        let rank = warning.rank.filter(|_| blocks.is_some_and(|blocks| blocks > 0))?;
        // An orphan is no such parent: whoever saw the same events refuses it too.
        let pending = self.will_hold(rank, parent);
        if pending.is_none() && !self.known.index.mirror.holds(rank, parent) {
            return None;
        }
        let Some(index) = self.known.fleet.workers.index_of(rank) else {
            return Some(MissingParent::Unsure);
        };
        let watch = self.known.setup().router_watch(&warning.pod);
        let lacking = (u32::try_from(index).unwrap_or(u32::MAX), parent);
        let chain = self.known.index.mirror.chain(rank, parent);
        Some(self.known.routing.missing_parents.missing_parent(
            &warning.pod,
            lacking,
            chain,
            pending,
            watch,
            at,
        ))
    }

    /// Counts a store that a router rejected because it lacks the parent block, by its `warning`; `held` tells whether
    /// the mirror has it.
    pub(super) fn refused_by_router(&mut self, warning: &LogWarning, held: bool, at: Timestamp) {
        let workers = &mut self.known.fleet.workers;
        let Some(index) = warning.rank.and_then(|rank| workers.index_of(rank)) else { return };
        let Some(record) = workers.ranks_mut().get_mut(index) else { return };
        if held {
            record.router_refused += 1;
            record.router_refused_last = record.router_refused_last.max(Some(at));
        }
        // Shares are of stores, which are known from the first KV event on.
        if at >= self.known.times.since_kv() {
            self.known.record.meters.count_router_refusal(index, &warning.pod, at);
        }
    }

    /// Returns the last store of `block` among events that wait to be applied, under blocks that are held.
    fn will_hold(&self, rank: WorkerRank, block: SequenceHash) -> Option<Stored> {
        let mut fresh: HashMap<SequenceHash, Stored> = HashMap::new();
        for event in self.pending.facts.kv.events().iter().filter(|event| event.rank == rank) {
            let KvKind::Stored { parent, blocks } = &event.kind else { continue };
            let parent = *parent;
            let held = |it| fresh.contains_key(&it) || self.known.index.mirror.holds(rank, it);
            if parent.is_none_or(held) {
                let stored = Stored { at: event.at, parent };
                let blocks = self.pending.facts.kv.blocks_of(blocks).iter();
                fresh.extend(blocks.map(|block| (block.sequence, stored)));
            }
        }
        fresh.remove(&block)
    }
}

impl Setup<'_> {
    /// Returns since when the router in `pod` runs, by its log and its container.
    pub(in crate::engine) fn router_watch(&self, pod: &str) -> Watch {
        let Some(known) = self.routing.router.known(pod) else { return Watch::default() };
        let began = known.began.max(self.shown.cluster.pod(pod).and_then(|it| it.pod.started));
        Watch {
            began,
            follows: known.follows.map(|follows| follows.max(began.unwrap_or_default())),
        }
    }

    /// Returns when the last router that is there started, by its log or its container, or before which time it did not,
    /// where its counters began again.
    pub(in crate::engine) fn router_began(&self) -> Option<Timestamp> {
        let pods = self.routing.router.pods().filter(|(pod, known)| known.is_router(pod));
        let heard = pods.filter(|(pod, _)| !self.shown.is_deleted(pod));
        let heard = heard.filter_map(|(pod, _)| self.router_watch(pod).began);
        let shown = self.shown.cluster.pods().filter(|record| record.pod.role.is_router());
        let [_, counted] = self.routing.router.scrapes.replaced(|pod| self.is_here(pod));
        heard.chain(shown.filter_map(|record| record.pod.started)).chain(counted).max()
    }
}
