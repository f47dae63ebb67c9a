//! Stores engines' metrics of KV caches at the rank they are about.

use std::sync::Arc;

use crate::domain::{DpRank, Gauge, GaugeName, Provenance, Timestamp, WorkerRank};
use crate::engine::Learner;
use crate::engine::picture::whole;
use crate::model::Measured;

impl Learner<'_> {
    pub(super) fn gauge(&mut self, gauge: &Gauge, at: Timestamp) {
        if !gauge.name.is_of_rank() {
            // Summed over its labels, see `scraped`.
            return;
        }
        let worker = gauge.worker.or_else(|| self.known.fleet.workers.in_pod(&gauge.pod));
        let Some(worker) = worker else { return };
        let dp_rank = gauge.dp_rank.unwrap_or(DpRank(0));
        let source = Provenance::Metrics(Arc::clone(&gauge.pod));
        let Some(record) = self.known.fleet.workers.rank_mut(WorkerRank { worker, dp_rank }) else {
            return;
        };
        if gauge.name == GaugeName::InFlight {
            self.known.fleet.loads.take(record.rank, gauge.value, at);
            return;
        }
        match gauge.name {
            GaugeName::PrefixHits => return record.tokens_found = Some(gauge.value),
            // The second of the pair in each scrape.
            GaugeName::PrefixQueries => {
                let found = record.tokens_found.take();
                return record.looked_up.take(at, [found, Some(gauge.value)]);
            }
            _ => {}
        }
        let place = match gauge.name {
            GaugeName::TotalBlocks => &mut record.scraped.blocks,
            GaugeName::ConfiguredBlocks => &mut record.scraped.configured,
            GaugeName::TotalTokens => &mut record.scraped.tokens,
            GaugeName::UsedTokens => &mut record.scraped.used_tokens,
            GaugeName::Running => &mut record.scraped.running,
            GaugeName::Waiting => &mut record.scraped.waiting,
            name => {
                let share = if name == GaugeName::KvUtilization {
                    &mut record.utilization
                } else {
                    &mut record.hit_rate
                };
                // More than all of it is of another unit: not to be judged.
                let is_share = (0.0..=1.01).contains(&gauge.value);
                let value = gauge.value.clamp(0.0, 1.0);
                *share = is_share.then_some(Measured { value, source, at });
                return;
            }
        };
        // No engine has room for nothing: it has not counted yet.
        let of_use = [GaugeName::UsedTokens, GaugeName::Running, GaugeName::Waiting];
        let unknown = gauge.value < 1.0 && !of_use.contains(&gauge.name);
        *place = (!unknown).then(|| Measured { value: whole(gauge.value), source, at });
    }
}
