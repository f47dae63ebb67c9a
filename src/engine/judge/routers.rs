//! The time from which on requests were routed only by the routers that run now.

use std::sync::Arc;
use std::time::Duration;

use crate::diagnose::RouterHits;
use crate::domain::Timestamp;
use crate::engine::Setup;
use crate::model::{PodWarnings, RouterCounts, Slot, Slots, Summed as _};

/// The longest time for which a new router and the one that it replaces both route, as in a rolling update.
const ROLLS: Duration = Duration::from_secs(120);

/// The time for which a choice or a rejected store counts for the present.
const LATELY: Duration = Duration::from_secs(300);

/// The moment at which the routers that run now had replaced others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replaced {
    /// The start of the oldest router that runs now, or the last decision of a replaced router if that is later.
    pub(super) alone: Timestamp,
    /// The last decision of a replaced router.
    last: Timestamp,
}

impl Replaced {
    /// Returns the first slot without a decision of a replaced router.
    pub(super) fn slot(self, slots: Slots) -> Slot {
        slots.slot(self.alone).max(slots.after(self.last, Duration::ZERO))
    }
}

impl Setup<'_> {
    /// Returns true where other Dynamo namespaces may be there too: they were seen, or one was chosen.
    pub(super) fn has_foreign(&self) -> bool {
        !self.fleet.foreign.counts.is_empty() || self.options.dynamo_namespace.is_some()
    }

    /// Returns true where Kubernetes shows `pod` in a Dynamo namespace of its own. Other routers may serve several, and
    /// count for all of them in one (dynamo-kv-router 1.6.1, `indexer/metrics.rs`).
    pub(super) fn is_placed(&self, pod: &str) -> bool {
        self.shown.cluster.pod(pod).is_some_and(|record| record.pod.dynamo_namespace.is_some())
    }

    /// Calls `each` with what the deployment's routers counted themselves in every slot from `from` on, and with whether the
    /// slot is one from `watched` on. Counts that may be of other deployments too are left out.
    pub(super) fn own_counts(
        &self,
        from: Option<Slot>,
        watched: Option<Slot>,
        each: impl FnMut(&RouterCounts, bool),
    ) {
        let alone = |pod: &str| self.is_here(pod) && (!self.has_foreign() || self.is_placed(pod));
        self.routing.router.scrapes.counted(alone, from, watched, each);
    }

    /// Returns stores that routers rejected as a share of the stores that they counted from `from` on; none where they
    /// counted none, or where nobody reads their counters.
    pub(in crate::engine) fn counted_share(&self, from: Slot) -> Option<f64> {
        let mut sum = RouterCounts::default();
        self.own_counts(Some(from), None, |counts, _| sum.sum(counts));
        let all = sum.stores_applied + sum.stores_orphaned + sum.stores_invalid;
        (all > 0).then(|| (sum.stores_orphaned + sum.stores_invalid) as f64 / all as f64)
    }

    /// Returns true unless `pod` is known to be gone, or of another deployment.
    pub(in crate::engine) fn is_here(&self, pod: &str) -> bool {
        !self.shown.is_deleted(pod) && !self.fleet.is_foreign_pod(pod)
    }

    /// Returns when the routers that run now had replaced others; none if no replaced router was seen to route, or the
    /// start of a router is unknown.
    pub(super) fn replaced_routers(&self) -> Option<Replaced> {
        let choosing = self.choosing_routers();
        let left = choosing.iter().filter(|(pod, _)| self.shown.is_deleted(pod));
        let left = left.filter_map(|(_, known)| known.last_routed);
        let earlier = choosing.iter().filter_map(|(_, known)| known.earlier);
        let others: Vec<Timestamp> = left.chain(earlier).collect();
        if others.is_empty() {
            return None;
        }
        let began = self.first_router_start()?;
        let beside = others.into_iter().filter(|last| last.since(began) <= ROLLS);
        let last = beside.max()?;
        Some(Replaced { alone: last.max(began), last })
    }

    /// Returns the start of the oldest router that runs now; none without routers, or if the start of one is unknown.
    pub(super) fn first_router_start(&self) -> Option<Timestamp> {
        let mut starts = Vec::new();
        for (pod, _) in self.choosing_routers() {
            if !self.shown.is_deleted(pod) {
                starts.push(self.router_watch(pod).began?);
            }
        }
        let shown = self.shown.cluster.pods().filter(|record| record.pod.role.is_router());
        starts.extend(shown.filter_map(|record| record.pod.started));
        starts.into_iter().min()
    }

    /// Returns what each router of now found cached since it started, where its log tells it. One that rejects stores for
    /// their parents is judged by these.
    pub(super) fn router_hits(&self, at: Timestamp) -> Vec<RouterHits> {
        let lately = |last: Option<Timestamp>| last.is_some_and(|last| at.since(last) <= LATELY);
        let there = self.choosing_routers().into_iter().filter(|(pod, known)| {
            lately(known.last_routed) && !lately(known.last_parent) && !self.shown.is_deleted(pod)
        });
        let hits = there.map(|(pod, known)| {
            let all = known.found.all();
            let workers = known.found.workers().clone();
            let (pod, unhit) = (Arc::clone(pod), known.found.unhit());
            RouterHits { pod, known: all.known, zero: all.zero, unhit, workers }
        });
        hits.collect()
    }

    /// Returns the deployment's pods that were seen to choose workers, deleted ones too.
    fn choosing_routers(&self) -> Vec<(&Arc<str>, &PodWarnings)> {
        let pods = self.routing.router.pods();
        pods.filter(|(pod, known)| known.routes && !self.fleet.is_foreign_pod(pod)).collect()
    }
}
