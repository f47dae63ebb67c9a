//! Every series that the engine keeps.

mod complaints;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use complaints::Complaints;

use crate::domain::{SourceName, Timestamp, WorkerRank};
use crate::metrics::{CountSeries, GaugeSeries, HOUR, RANK_HISTORY};
use crate::model::OverlapBy;
use crate::snapshot::{Felt, RateSet, Rates};

/// Ranks whose utilization is kept as a series; graphs show no more.
const GAUGED_RANKS: usize = 64;

/// Figures that users feel: cached tokens, requests with an overlap, p50 and p95 of the time to first token,
/// and of the time between tokens.
pub(super) const FELT: usize = 6;

/// Counts of KV events that have rates.
#[derive(Clone, Debug)]
pub(super) struct KvMeter {
    pub(super) stores: CountSeries,
    pub(super) removals: CountSeries,
    pub(super) refused: CountSeries,
    /// Of those, the ones of ranks of which all was known.
    pub(super) known_refused: CountSeries,
    pub(super) unknown_removals: CountSeries,
    pub(super) stored_blocks: CountSeries,
    pub(super) refused_blocks: CountSeries,
    /// Stores that routers rejected because they lack the parent block, by their logs.
    pub(super) routers_refused: CountSeries,
}

impl KvMeter {
    pub(super) fn new(capacity: usize) -> Self {
        let series = || CountSeries::new(capacity);
        Self {
            stores: series(),
            removals: series(),
            refused: series(),
            known_refused: series(),
            unknown_removals: series(),
            stored_blocks: series(),
            refused_blocks: series(),
            routers_refused: series(),
        }
    }

    /// Returns the series in the order stores, removals, refused, unknown removals, blocks stored,
    /// blocks refused, refused of what is known.
    pub(super) fn all(&mut self) -> [&mut CountSeries; 7] {
        [
            &mut self.stores,
            &mut self.removals,
            &mut self.refused,
            &mut self.unknown_removals,
            &mut self.stored_blocks,
            &mut self.refused_blocks,
            &mut self.known_refused,
        ]
    }

    fn rates(&self, now: Timestamp, since: Timestamp, window: Duration) -> Rates {
        Rates {
            stores: self.stores.rate(now, since, window),
            stored_blocks: self.stored_blocks.rate(now, since, window),
            removals: self.removals.rate(now, since, window),
            refused: self.refused.rate(now, since, window),
            refused_blocks: self.refused_blocks.rate(now, since, window),
            unknown_removals: self.unknown_removals.rate(now, since, window),
        }
    }

    pub(super) fn rate_set(&self, now: Timestamp, since: Timestamp) -> RateSet {
        RateSet {
            ten_seconds: self.rates(now, since, Duration::from_secs(10)),
            minute: self.rates(now, since, Duration::from_secs(60)),
            five_minutes: self.rates(now, since, Duration::from_secs(300)),
        }
    }

    /// Returns refused stores as a share of stores over the last minute, as [`KvMeter::last_minute`] counts them.
    pub(super) fn orphan_share(&self, now: Timestamp, warned: bool, complete: bool) -> Option<f64> {
        let (stores, refused) = self.last_minute(now, warned, complete)?;
        (stores > 0).then(|| refused as f64 / stores as f64)
    }

    /// Returns true when there were stores within the last minute.
    pub(super) fn is_storing(&self, now: Timestamp) -> bool {
        let last = now.seconds();
        self.stores.sum((last + 1).saturating_sub(60), last) > 0
    }

    /// Returns stores and refused stores over the last minute: as many as the mirror refused, or routers by their
    /// logs, whichever is more. While earlier blocks are unknown, the mirror's own count proves nothing: then only
    /// routers' warnings count, and the result is none unless some router `warned` of any rank lately.
    pub(super) fn last_minute(
        &self,
        now: Timestamp,
        warned: bool,
        complete: bool,
    ) -> Option<(u64, u64)> {
        let last = now.seconds();
        let first = (last + 1).saturating_sub(60);
        let stores = self.stores.sum(first, last);
        let routers = self.routers_refused.sum(first, last);
        let own = complete.then(|| self.known_refused.sum(first, last));
        let refused = own.or(warned.then_some(0))?.max(routers);
        Some((stores, refused.min(stores)))
    }
}

/// Ranks whose gauges are kept as series.
const RANK_GAUGES: usize = 4096;

/// Series of one rank's blocks, held and used.
#[derive(Clone, Debug)]
pub(super) struct RankGauges {
    pub(super) accepted: GaugeSeries,
    pub(super) utilization: GaugeSeries,
    pub(super) hit_rate: GaugeSeries,
}

impl RankGauges {
    fn new() -> Self {
        let series = || GaugeSeries::new(RANK_HISTORY);
        Self { accepted: series(), utilization: series(), hit_rate: series() }
    }
}

/// One rank's blocks, held and used, now.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankNow {
    pub(super) index: usize,
    pub(super) rank: WorkerRank,
    pub(super) accepted: u64,
    pub(super) utilization: Option<f64>,
    pub(super) hit_rate: Option<f64>,
}

#[derive(Debug)]
pub(super) struct Meters {
    /// Seconds for which figures of the whole deployment are kept.
    span: usize,
    /// The last time at which gauges were noted.
    pub(super) rolled: Timestamp,
    pub(super) total: KvMeter,
    /// By position among the workers' ranks.
    pub(super) ranks: Vec<KvMeter>,
    /// Routers that reject stores of a rank, by the same position.
    complaints: Vec<Complaints>,
    pub(super) routed: CountSeries,
    /// By position among the workers' ranks.
    pub(super) routed_by_rank: Vec<CountSeries>,
    pub(super) overlap_known: [CountSeries; OverlapBy::ALL.len()],
    pub(super) overlap_hit: [CountSeries; OverlapBy::ALL.len()],
    pub(super) parent_warnings: CountSeries,
    pub(super) remove_warnings: CountSeries,
    /// By source, each with the arrival of its first frame.
    pub(super) frames: BTreeMap<SourceName, (Timestamp, CountSeries)>,
    pub(super) tree_size: GaugeSeries,
    /// Mean time to first token in seconds.
    pub(super) ttft: GaugeSeries,
    /// Latencies that users feel, in the order of [`FELT`].
    pub(super) felt: [GaugeSeries; FELT],
    pub(super) utilization: GaugeSeries,
    pub(super) utilization_by_rank: Vec<(WorkerRank, GaugeSeries)>,
    /// By position among the workers' ranks.
    pub(super) gauges_by_rank: Vec<RankGauges>,
}

impl Default for Meters {
    fn default() -> Self {
        Self::new(HOUR)
    }
}

impl Meters {
    /// Returns meters that keep figures of the whole deployment for `span` seconds.
    pub(super) fn new(span: usize) -> Self {
        let counts = || CountSeries::new(span);
        Self {
            span,
            rolled: Timestamp::default(),
            total: KvMeter::new(span),
            ranks: Vec::new(),
            complaints: Vec::new(),
            routed: counts(),
            routed_by_rank: Vec::new(),
            overlap_known: OverlapBy::ALL.map(|_| counts()),
            overlap_hit: OverlapBy::ALL.map(|_| counts()),
            parent_warnings: counts(),
            remove_warnings: counts(),
            frames: BTreeMap::new(),
            tree_size: GaugeSeries::new(span),
            ttft: GaugeSeries::new(span),
            felt: std::array::from_fn(|_| GaugeSeries::new(span)),
            utilization: GaugeSeries::new(span),
            utilization_by_rank: Vec::new(),
            gauges_by_rank: Vec::new(),
        }
    }

    /// Counts KV events of the rank at `index`, in the order of [`KvMeter::all`].
    pub(super) fn count_kv(&mut self, index: usize, at: Timestamp, times: [u32; 7]) {
        for meter in self.total_and_rank(index) {
            for (series, times) in meter.all().into_iter().zip(times) {
                series.add(at, times);
            }
        }
    }

    /// Counts a store of the rank at `index` that the router in `pod` rejected because it lacks the parent block.
    pub(super) fn count_router_refusal(&mut self, index: usize, pod: &Arc<str>, at: Timestamp) {
        if self.complaints.len() <= index {
            self.complaints.resize(index + 1, Complaints::default());
        }
        self.total_and_rank(index);
        if self.complaints[index].note(pod, at, &self.ranks[index].routers_refused) {
            for meter in self.total_and_rank(index) {
                meter.routers_refused.add(at, 1);
            }
        }
    }

    fn total_and_rank(&mut self, index: usize) -> [&mut KvMeter; 2] {
        while self.ranks.len() <= index {
            self.ranks.push(KvMeter::new(RANK_HISTORY));
        }
        [&mut self.total, &mut self.ranks[index]]
    }

    /// Frees the series of the rank at `index`, which left.
    pub(super) fn free(&mut self, index: usize) {
        if let Some(meter) = self.ranks.get_mut(index) {
            meter.all().into_iter().for_each(CountSeries::forget);
            meter.routers_refused.forget();
        }
        if let Some(complaints) = self.complaints.get_mut(index) {
            *complaints = Complaints::default();
        }
        if let Some(series) = self.routed_by_rank.get_mut(index) {
            series.forget();
        }
        if let Some(gauges) = self.gauges_by_rank.get_mut(index) {
            *gauges = RankGauges::new();
        }
    }

    pub(super) fn routed_to(&mut self, index: usize) -> &mut CountSeries {
        while self.routed_by_rank.len() <= index {
            self.routed_by_rank.push(CountSeries::new(RANK_HISTORY));
        }
        &mut self.routed_by_rank[index]
    }

    /// Counts frames of a source that arrived in the second of `at`, the first of them.
    pub(super) fn count_frames(&mut self, source: &SourceName, at: Timestamp, frames: u32) {
        if let Some((first, series)) = self.frames.get_mut(source) {
            *first = at.min(*first);
            series.add(at, frames);
        } else {
            let mut series = CountSeries::new(RANK_HISTORY);
            series.add(at, frames);
            self.frames.insert(source.clone(), (at, series));
        }
    }

    /// Notes what users feel at `at`. What nobody ever reported takes no memory.
    pub(super) fn felt(&mut self, at: Timestamp, felt: &Felt) {
        let half = |pair: Option<[f64; 2]>, at: usize| pair.map(|pair| pair[at]);
        let values = [
            felt.cached,
            felt.found,
            half(felt.first_token, 0),
            half(felt.first_token, 1),
            half(felt.inter_token, 0),
            half(felt.inter_token, 1),
        ];
        for (series, value) in self.felt.iter_mut().zip(values) {
            if value.is_some() || series.is_noted() {
                series.set(at, value);
            }
        }
    }

    /// Returns what users felt at `at`.
    pub(super) fn felt_at(&self, at: Timestamp) -> Felt {
        let value = |of: usize| self.felt[of].value(at);
        let pair = |of: usize| Some([value(of)?, value(of + 1)?]);
        let (first_token, inter_token) = (pair(2), pair(4));
        Felt { cached: value(0), found: value(1), first_token, inter_token }
    }

    pub(super) fn gauges(&mut self, at: Timestamp, accepted: u64, ranks: &[RankNow]) {
        self.tree_size.set(at, Some(accepted as f64));
        let known = ranks.iter().filter_map(|now| now.utilization);
        let (count, sum) = known.fold((0_u32, 0.0), |(n, sum), value| (n + 1, sum + value));
        self.utilization.set(at, (count > 0).then(|| sum / f64::from(count)));
        for now in ranks {
            self.gauge_rank(at, now);
        }
        let gauged = &ranks[..ranks.len().min(GAUGED_RANKS)];
        // Ranks that left make room for those that came.
        self.utilization_by_rank.retain(|(rank, _)| gauged.iter().any(|now| now.rank == *rank));
        for RankNow { rank, utilization: value, .. } in gauged {
            let index = self.utilization_by_rank.iter().position(|(known, _)| known == rank);
            let index = index.or_else(|| {
                value.is_some().then(|| {
                    self.utilization_by_rank.push((*rank, GaugeSeries::new(self.span)));
                    self.utilization_by_rank.len() - 1
                })
            });
            if let Some((_, series)) = index.and_then(|at| self.utilization_by_rank.get_mut(at)) {
                series.set(at, *value);
            }
        }
    }

    fn gauge_rank(&mut self, at: Timestamp, now: &RankNow) {
        if now.index >= RANK_GAUGES {
            return;
        }
        while self.gauges_by_rank.len() <= now.index {
            self.gauges_by_rank.push(RankGauges::new());
        }
        let gauges = &mut self.gauges_by_rank[now.index];
        gauges.accepted.set(at, Some(now.accepted as f64));
        for (series, value) in
            [(&mut gauges.utilization, now.utilization), (&mut gauges.hit_rate, now.hit_rate)]
        {
            // What nobody ever reported takes no memory.
            if value.is_some() || series.is_noted() {
                series.set(at, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_left_leave_no_series_behind() {
        let mut meters = Meters::default();
        for round in 0..10 {
            let rank = |n| RankNow {
                index: usize::try_from(n).unwrap(),
                rank: WorkerRank::new(round * 100 + n, 0),
                accepted: 0,
                utilization: Some(0.5),
                hit_rate: None,
            };
            let present: Vec<_> = (0..GAUGED_RANKS as u64).map(rank).collect();
            meters.gauges(Timestamp((round + 1) * 1_000_000), 0, &present);
        }

        assert_eq!(meters.utilization_by_rank.len(), GAUGED_RANKS);
        assert!(meters.utilization_by_rank.iter().all(|(rank, _)| rank.worker.0 >= 900));
    }

    #[test]
    fn routers_of_two_models_do_not_halve_each_others_rejected_stores() {
        let mut meters = Meters::default();
        let now = Timestamp(1_000_000);
        let pods: [Arc<str>; 3] = ["frontend-a-0", "frontend-a-1", "frontend-b"].map(Arc::from);
        for (index, routers) in [&pods[..2], &pods[2..]].into_iter().enumerate() {
            meters.count_kv(index, now, [10, 0, 0, 0, 0, 0, 0]);
            for pod in std::iter::repeat_n(routers, 4).flatten() {
                meters.count_router_refusal(index, pod, now);
            }
        }
        for rank in &meters.ranks {
            assert_eq!(rank.last_minute(now, true, false), Some((10, 4)));
        }
        assert_eq!(meters.total.routers_refused.sum(1, 1), 8);
    }
}
