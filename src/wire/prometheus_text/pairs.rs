//! Quantities that need several samples of one scrape.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::sample::Sample;
use super::{adopted, labelled_rank, labelled_worker};
use crate::domain::{ActiveLoad, ClaimWhat, DpRank, Fact, Gauge, GaugeName, WorkerId, WorkerRank};
use crate::dynamo::metric::{self, Part};
use crate::wire::Facts;

/// Ranks whose samples are paired; more are no deployment.
const RANK_LIMIT: usize = 65_536;

fn part_of(metric: &str) -> Option<Part> {
    metric::PARTS.iter().find(|(name, _)| *name == metric).map(|(_, part)| *part)
}

/// Returns true for metrics that are told together with others.
pub(super) fn is_part(metric: &str) -> bool {
    part_of(metric).is_some()
}

/// First and second of a pair.
type Pair = [Option<f64>; 2];

#[derive(Default)]
pub(super) struct Pairs<'a> {
    /// Hits and queries of the engine's cache.
    cache: BTreeMap<(Option<WorkerId>, Option<DpRank>), Pair>,
    /// A router's estimate of a rank's load: blocks, tokens.
    load: BTreeMap<(WorkerId, DpRank), Pair>,
    /// Blocks of a worker, by model.
    model: Vec<(&'a Sample<'a>, f64)>,
}

impl<'a> Pairs<'a> {
    /// Takes a sample in; returns false when it stands for itself.
    pub(super) fn take(&mut self, sample: &'a Sample<'a>, value: f64) -> bool {
        let Some(part) = part_of(&sample.metric) else { return false };
        let (worker, rank) = (labelled_worker(sample), labelled_rank(sample));
        if self.cache.len() + self.load.len() + self.model.len() >= RANK_LIMIT {
            return true;
        }
        match part {
            Part::Hits => self.cache.entry((worker, rank)).or_default()[0] = Some(value),
            Part::Queries => self.cache.entry((worker, rank)).or_default()[1] = Some(value),
            Part::ModelBlocks => self.model.push((sample, value)),
            Part::DecodeBlocks | Part::PrefillTokens => {
                let Some(worker) = worker else { return true };
                let pair = self.load.entry((worker, rank.unwrap_or_default())).or_default();
                pair[usize::from(matches!(part, Part::PrefillTokens))] = Some(value);
            }
        }
        true
    }

    /// Tells what the pairs say.
    pub(super) fn tell(self, pod: &Arc<str>, facts: &mut Facts) {
        for ((worker, dp_rank), pair) in self.cache {
            // An engine that was asked nothing has no rate.
            let [Some(hits), Some(queries)] = pair else { continue };
            let mut tell = |name, value| {
                let gauge = Gauge { pod: Arc::clone(pod), worker, dp_rank, name, value };
                facts.other.push(Fact::Gauge(gauge));
            };
            tell(GaugeName::PrefixHits, hits);
            tell(GaugeName::PrefixQueries, queries);
            if queries > 0.0 {
                tell(GaugeName::PrefixHitRate, hits / queries);
            }
        }
        for ((worker, dp_rank), pair) in self.load {
            let [Some(blocks), Some(tokens)] = pair.map(|value| value.map(whole)) else { continue };
            facts.other.push(Fact::Load(ActiveLoad {
                rank: WorkerRank { worker, dp_rank },
                publisher: 0,
                active_decode_blocks: Some(blocks),
                active_prefill_tokens: Some(tokens),
                kv_used_blocks: None,
            }));
        }
        // Workers of several models differ, and nothing says here which is whose.
        if let [(sample, first), rest @ ..] = &self.model[..]
            && rest.iter().all(|(_, value)| value.to_bits() == first.to_bits())
        {
            facts.other.extend(adopted(ClaimWhat::TotalKvBlocks, pod, sample, *first));
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, 1e15) as u64
}
