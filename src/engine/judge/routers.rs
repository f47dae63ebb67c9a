//! Since when the routers that are there route.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::Timestamp;
use crate::engine::Setup;
use crate::model::{PodWarnings, Slot, Slots};

/// Time for which a new router and the one that it replaces may route beside each other.
const ROLLS: Duration = Duration::from_secs(120);

/// The routers that are there took the place of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replaced {
    /// Since when nobody routes but they: since the oldest of them started, or the last choice of another beside it.
    pub(super) alone: Timestamp,
    /// The last choice of another.
    last: Timestamp,
}

impl Replaced {
    /// Returns the first slot in which nothing counts that others told.
    pub(super) fn slot(self, slots: Slots) -> Slot {
        slots.slot(self.alone).max(slots.after(self.last, Duration::ZERO))
    }
}

impl Setup<'_> {
    /// Returns whom the routers that are there replaced; none where nobody else was seen to route, or the start of one
    /// is not known.
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

    /// Returns when the oldest of the routers that are there started; none where there is none, or the start of one is
    /// not known.
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

    fn choosing_routers(&self) -> Vec<(&Arc<str>, &PodWarnings)> {
        let pods = self.routing.router.pods();
        pods.filter(|(pod, known)| known.routes && !self.fleet.is_foreign_pod(pod)).collect()
    }
}
