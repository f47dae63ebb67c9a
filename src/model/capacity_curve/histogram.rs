//! Stored blocks by the additional capacity that would have kept them.

/// Steps in which a capacity doubles: a step is 4.4 %.
const STEPS: f64 = 16.0;

/// Steps that are kept: up to a million blocks.
const BINS: usize = 16 * 20;

/// Counts of stored blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    samples: u64,
    stored: u64,
    /// Stored blocks by steps of capacity; empty before the first that was stored again.
    bins: Vec<u32>,
}

impl Histogram {
    /// Counts a sampled block that stands for `weight` blocks. `distance` is the additional capacity that would have
    /// kept it, in blocks; none for a block that was not seen to be evicted.
    pub(super) fn count(&mut self, distance: Option<u64>, weight: u32) {
        self.samples += 1;
        self.stored += u64::from(weight);
        let Some(distance) = distance else { return };
        if self.bins.is_empty() {
            self.bins.resize(BINS, 0);
        }
        // The block itself was sampled, so its distance is too long by the weight on average: half of that
        // stays, so that a prediction errs towards too little.
        let place = distance as f64 - f64::from(weight) / 2.0;
        if let Some(bin) = self.bins.get_mut(bin_of(place)) {
            *bin = bin.saturating_add(weight);
        }
    }

    /// Counts sampled blocks that stand for themselves, none of which was seen to be evicted.
    pub(super) fn count_new(&mut self, blocks: u64) {
        self.samples += blocks;
        self.stored += blocks;
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) fn stored(&self) -> f64 {
        self.stored as f64
    }

    /// Returns the stored blocks that `more` blocks of capacity would have kept.
    pub(super) fn within(&self, more: f64) -> f64 {
        let last = bin_of(more);
        let whole: f64 = self.bins.iter().take(last).copied().map(f64::from).sum();
        let partly = self.bins.get(last).copied().map_or(0.0, f64::from);
        let (low, high) = (edge(last), edge(last + 1));
        whole + partly * ((more - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// Returns the step that `blocks` falls into.
fn bin_of(blocks: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "clamped to the bins")]
    #[expect(clippy::cast_sign_loss, reason = "the logarithm of at least 1 is not negative")]
    let step = (blocks.max(1.0).log2() * STEPS) as usize;
    step.min(BINS)
}

/// Returns the capacity at which a step begins, in blocks.
fn edge(step: usize) -> f64 {
    if step == 0 { 0.0 } else { (step as f64 / STEPS).exp2() }
}
