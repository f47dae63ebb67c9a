//! Stored blocks by the additional capacity that would have kept them.

use std::sync::LazyLock;

/// Steps in which a capacity doubles: a step is 4.4 %.
const STEPS: usize = 16;

/// Steps that are kept: up to a million blocks.
const BINS: usize = STEPS * 20;

/// The starts of the steps between 1 and 2. They are looked up, since a logarithm for each block takes longer than
/// everything else here.
static STARTS: LazyLock<[f64; STEPS]> =
    LazyLock::new(|| std::array::from_fn(|step| (step as f64 / STEPS as f64).exp2()));

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
        // Whole numbers are added several at a time.
        let whole: u64 = self.bins.iter().take(last).copied().map(u64::from).sum();
        let partly = self.bins.get(last).copied().map_or(0.0, f64::from);
        let (low, high) = (edge(last), edge(last + 1));
        whole as f64 + partly * ((more - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// Returns the step that `blocks` falls into.
fn bin_of(blocks: f64) -> usize {
    let bits = blocks.max(1.0).to_bits();
    // The exponent of a number of at least 1, and the number without it: from 1 to 2.
    let doublings = usize::try_from((bits >> MANTISSA) - BIAS).unwrap_or(BINS);
    let rest = f64::from_bits(bits & ((1 << MANTISSA) - 1) | BIAS << MANTISSA);
    let step = STARTS.iter().filter(|start| **start <= rest).count() - 1;
    (doublings.saturating_mul(STEPS) + step).min(BINS)
}

/// Bits of the mantissa of a 64-bit float, and the exponent of 1 in it (IEEE 754).
const MANTISSA: u32 = 52;
const BIAS: u64 = 1_023;

/// Returns the capacity at which a step begins, in blocks.
fn edge(step: usize) -> f64 {
    if step == 0 { 0.0 } else { STARTS[step % STEPS] * (1_u64 << (step / STEPS)) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_sixteenth_of_a_doubling() {
        let by_logarithm =
            |blocks: f64| (1..=BINS).filter(|step| *step as f64 <= blocks.log2() * 16.0).count();
        for blocks in (2..40_000).map(|halves| f64::from(halves) / 2.0) {
            assert_eq!(bin_of(blocks), by_logarithm(blocks), "{blocks}");
        }
        for (blocks, bin) in [(-3.0, 0), (0.0, 0), (1.0, 0), (2.0, 16), (1e6, 318), (1e300, BINS)] {
            assert_eq!(bin_of(blocks), bin, "{blocks}");
        }
        assert_eq!(bin_of(f64::INFINITY), BINS);
        for step in 0..BINS {
            let (low, high) = (edge(step), edge(step + 1));
            assert_eq!(bin_of(f64::midpoint(low.max(1.0), high)), step, "{low} to {high}");
        }
    }
}
