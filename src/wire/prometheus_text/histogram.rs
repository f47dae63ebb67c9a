//! Histograms of latencies: their buckets, summed over models and endpoints.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::sample::Sample;
use crate::domain::{Fact, Histogram, LatencyName};
use crate::dynamo::metric;
use crate::wire::Facts;

/// Buckets of one histogram; Dynamo has 20.
const BUCKET_LIMIT: usize = 256;

fn name_of(metric: &str) -> Option<LatencyName> {
    metric::LATENCIES.iter().find(|(name, _)| *name == metric).map(|(_, latency)| *latency)
}

/// Returns true for metrics that are buckets of such a histogram.
pub(super) fn is_bucket(metric: &str) -> bool {
    name_of(metric).is_some()
}

/// The histograms of one scrape.
#[derive(Default)]
pub(super) struct Histograms(BTreeMap<LatencyName, Vec<(f64, f64)>>);

impl Histograms {
    /// Takes a sample in; returns false when it is no bucket.
    pub(super) fn take(&mut self, sample: &Sample<'_>, value: f64) -> bool {
        let Some(name) = name_of(&sample.metric) else { return false };
        let bound = sample.labels.get("le").and_then(|bound| bound.parse::<f64>().ok());
        let Some(bound) = bound.filter(|bound| !bound.is_nan() && value >= 0.0) else {
            return true;
        };
        let buckets = self.0.entry(name).or_default();
        if let Some((_, count)) =
            buckets.iter_mut().find(|(known, _)| known.total_cmp(&bound).is_eq())
        {
            *count += value;
            return true;
        }
        if buckets.len() < BUCKET_LIMIT {
            buckets.push((bound, value));
        }
        true
    }

    /// Tells the histograms.
    pub(super) fn tell(self, pod: &Arc<str>, facts: &mut Facts) {
        facts.other.extend(self.0.into_iter().map(|(name, mut buckets)| {
            buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            Fact::Histogram(Histogram { pod: Arc::clone(pod), name, buckets })
        }));
    }
}
