//! The stores that a larger KV cache would have avoided, by rank and over the deployment.

use super::Knowledge;
use crate::domain::{Subject, Timestamp};
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
        let (mut sum, mut ranks, mut capacity) = (Avoided::default(), 0, 0);
        for (index, record) in self.fleet.workers.ranks().iter().enumerate() {
            let worker = self.fleet.workers.worker(record.rank.worker);
            let chosen = self.setup().is_chosen(&Subject::Worker(record.rank.worker));
            if !chosen || worker.is_some_and(|worker| worker.gone) {
                continue;
            }
            let subjects =
                super::picture::subjects(record, worker.and_then(|worker| worker.pod.as_deref()));
            let blocks = super::picture::capacity(&self.fleet.claims, record, &subjects);
            let Some((avoided, blocks)) =
                self.avoided(index, record, blocks.map(|blocks| blocks.value))
            else {
                continue;
            };
            sum.add(&avoided);
            ranks += 1;
            capacity += blocks;
        }
        let points = Avoided::FACTORS.iter().enumerate().map(|(index, factor)| {
            Some(CurvePoint {
                factor: *factor,
                avoided: sum.share(index)?,
                margin: sum.margin(index)?,
            })
        });
        let points: Option<Vec<CurvePoint>> = points.collect();
        points.map(|points| CapacityCurve { at, points, samples: sum.samples, ranks, capacity })
    }
}

/// Returns true when the mirror holds what the rank does: its past is known, and its stores hold blocks.
pub(super) fn counts_all(record: &RankRecord) -> bool {
    let counters = &record.counters;
    let empty = counters.stores > 0 && counters.empty_stores * 2 >= counters.stores;
    let full = counters.stores > counters.empty_stores;
    record.complete && !empty && (full || counters.removed_blocks == 0)
}
