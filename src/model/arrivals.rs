//! Workers that routers added and removed while they ran, as their logs tell: the only sign of when a worker came for
//! who attached later and sees no pods.

use super::workers::RANK_LIMIT;
use crate::domain::{FastMap, Timestamp, WorkerId};

/// When routers added and removed workers.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// When each one was first added since it was last removed.
    added: FastMap<WorkerId, Timestamp>,
    removed: FastMap<WorkerId, Timestamp>,
    last_removed: Option<(Timestamp, WorkerId)>,
}

impl Arrivals {
    /// Notes that a router which ran already added worker `id` at `at`.
    pub fn add(&mut self, id: WorkerId, at: Timestamp) {
        let before = self.removed.get(&id).is_some_and(|removed| at <= *removed);
        if before || (self.added.len() >= RANK_LIMIT && !self.added.contains_key(&id)) {
            return;
        }
        let added = self.added.entry(id).or_insert(at);
        *added = at.min(*added);
    }

    /// Notes that a router removed worker `id` at `at`.
    pub fn remove(&mut self, id: WorkerId, at: Timestamp) {
        self.last_removed = self.last_removed.max(Some((at, id)));
        if self.removed.len() < RANK_LIMIT || self.removed.contains_key(&id) {
            let removed = self.removed.entry(id).or_insert(at);
            *removed = at.max(*removed);
        }
        if self.added.get(&id).is_some_and(|added| *added <= at) {
            self.added.remove(&id);
        }
    }

    /// Forgets who was added at `since` or later.
    pub fn forget(&mut self, since: Timestamp) {
        self.added.retain(|_, added| *added < since);
    }

    /// Returns when worker `id` came.
    pub fn added(&self, id: WorkerId) -> Option<Timestamp> {
        self.added.get(&id).copied()
    }

    /// Returns when worker `id` was removed last.
    pub fn removed(&self, id: WorkerId) -> Option<Timestamp> {
        self.removed.get(&id).copied()
    }

    /// Returns the worker that was removed last, and when.
    pub fn last_removed(&self) -> Option<(Timestamp, WorkerId)> {
        self.last_removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKER: WorkerId = WorkerId(7);

    #[test]
    fn a_worker_came_when_it_was_first_added_since_its_removal_in_whatever_order_logs_are_read() {
        let mut arrivals = Arrivals::default();
        for at in [30, 10, 40] {
            arrivals.add(WORKER, Timestamp(at));
        }
        assert_eq!(arrivals.added(WORKER), Some(Timestamp(10)));

        arrivals.remove(WORKER, Timestamp(50));
        arrivals.add(WORKER, Timestamp(45));
        assert_eq!(arrivals.added(WORKER), None, "a router of before");
        assert_eq!(arrivals.last_removed(), Some((Timestamp(50), WORKER)));
        assert_eq!(arrivals.removed(WORKER), Some(Timestamp(50)));

        arrivals.add(WORKER, Timestamp(60));
        arrivals.remove(WORKER, Timestamp(55));
        assert_eq!(arrivals.added(WORKER), Some(Timestamp(60)));
        arrivals.forget(Timestamp(60));
        assert_eq!(arrivals.added(WORKER), None);
    }
}
