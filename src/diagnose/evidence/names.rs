//! Names and pods of workers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Evidence, RankEvidence};
use crate::domain::{DpRank, WorkerId};

impl Evidence {
    /// Returns the names of all workers. Use it in place of [`Evidence::worker_name`] where many are named.
    pub fn worker_names(&self) -> BTreeMap<WorkerId, &Arc<str>> {
        // Backwards, so that the first rank of a worker is the one that stays.
        self.ranks.iter().rev().map(|rank| (rank.rank.worker, &rank.name)).collect()
    }

    /// Returns the pods of all workers, as far as they are known.
    pub fn worker_pods(&self) -> BTreeMap<WorkerId, Option<&Arc<str>>> {
        self.ranks.iter().rev().map(|rank| (rank.rank.worker, rank.pod.as_ref())).collect()
    }

    /// Returns the name of a worker.
    pub fn worker_name(&self, worker: WorkerId) -> Arc<str> {
        let rank = self.ranks.iter().find(|rank| rank.rank.worker == worker);
        // One that did nothing yet is found in discovery by its id.
        rank.map_or_else(|| format!("worker {:x}", worker.0).into(), |rank| Arc::clone(&rank.name))
    }

    /// Returns the name of a rank: that of its worker, with `/1` for a further data-parallel rank.
    pub fn name_of(rank: &RankEvidence) -> String {
        if rank.rank.dp_rank == DpRank(0) {
            rank.name.to_string()
        } else {
            format!("{}/{}", rank.name, rank.rank.dp_rank)
        }
    }
}
