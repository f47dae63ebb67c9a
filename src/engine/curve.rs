//! The stores that a larger KV cache would have avoided, by rank and over the deployment.

use super::Knowledge;
use crate::domain::{Subject, Timestamp, WorkerId, WorkerRank};
use crate::model::{Avoided, RankRecord};
use crate::snapshot::{CapacityCurve, CurvePoint};

impl Knowledge {
    /// Returns the stores that larger caches would have avoided on the rank at `index`, and the capacity that
    /// they are multiples of. `capacity` is the one that the rank, its card or its router reports; where none does,
    /// the blocks that it held when it evicted one are taken, if all of its blocks are known.
    pub(super) fn avoided(
        &self,
        index: usize,
        record: &RankRecord,
        capacity: Option<u64>,
    ) -> Option<(Avoided, u64)> {
        let curve = &self.routing.prefixes.curve;
        let number = u32::try_from(index).ok()?;
        let full_at = || curve.full_at(number).filter(|_| counts_all(record));
        let capacity = capacity.filter(|blocks| *blocks > 0).or_else(full_at)?;
        Some((curve.avoided(number, capacity)?, capacity))
    }

    /// Returns the curve of all present ranks whose capacity is known; none before it says anything.
    pub(super) fn capacity_curve(&self, at: Timestamp) -> Option<CapacityCurve> {
        let Summed { sum, ranks, capacity, .. } = self.curve_sum(|_| true);
        let points = points(&sum)?;
        Some(CapacityCurve {
            at,
            points,
            samples: sum.samples,
            ranks,
            capacity,
            cached: sum.cached(),
            prompts: super::picture::whole(sum.best_prompts().count),
        })
    }

    /// Returns the curve of one worker, empty while it says nothing, and the sampled blocks behind it.
    pub(super) fn curve_of(&self, worker: WorkerId) -> (Vec<CurvePoint>, u64) {
        let summed = self.curve_sum(|rank| rank.worker == worker);
        (points(&summed.sum).unwrap_or_default(), summed.sum.samples)
    }

    /// Returns the sampled blocks so far, the present ranks whose capacity is known, and all present ranks.
    pub(super) fn curve_samples(&self) -> (u64, u64, u64) {
        let summed = self.curve_sum(|_| true);
        (summed.sum.samples, summed.ranks, summed.present)
    }

    fn curve_sum(&self, of: impl Fn(WorkerRank) -> bool) -> Summed {
        let mut summed = Summed::default();
        for (index, record) in self.fleet.workers.ranks().iter().enumerate() {
            let worker = self.fleet.workers.worker(record.rank.worker);
            let chosen = self.setup().is_chosen(&Subject::Worker(record.rank.worker));
            let gone = worker.is_some_and(|worker| worker.gone);
            if !chosen || gone || !of(record.rank) {
                continue;
            }
            summed.present += 1;
            let subjects =
                super::picture::subjects(record, worker.and_then(|worker| worker.pod.as_deref()));
            let blocks = super::picture::capacity(&self.fleet.claims, record, &subjects);
            let Some((avoided, blocks)) =
                self.avoided(index, record, blocks.map(|blocks| blocks.value))
            else {
                continue;
            };
            summed.sum.add(&avoided);
            summed.ranks += 1;
            summed.capacity += blocks;
        }
        summed
    }
}

/// Returns the shares that are known; none with too few samples.
fn points(sum: &Avoided) -> Option<Vec<CurvePoint>> {
    let point = |(index, factor): (usize, &f64)| {
        Some(CurvePoint {
            factor: *factor,
            avoided: sum.share(index)?,
            margin: sum.margin(index)?,
            cached: sum.would_be_cached(index),
        })
    };
    Avoided::FACTORS.iter().enumerate().map(point).collect()
}

/// The curves of all present ranks together.
#[derive(Default)]
struct Summed {
    sum: Avoided,
    /// Ranks whose capacity is known, and all of them.
    ranks: u64,
    present: u64,
    capacity: u64,
}

/// Returns true when the mirror holds what the rank does: its past is known, and its stores hold blocks.
pub(super) fn counts_all(record: &RankRecord) -> bool {
    let counters = &record.counters;
    let empty = counters.stores > 0 && counters.empty_stores * 2 >= counters.stores;
    let full = counters.stores > counters.empty_stores;
    record.complete && !empty && (full || counters.removed_blocks == 0)
}
