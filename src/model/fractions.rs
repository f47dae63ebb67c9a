//! The router's block size, as the fractions of its costs betray it.
//!
//! A cost is a whole number of decode blocks plus prompt tokens divided by the block size, printed to
//! three places (dynamo-llm 0.9.0, `kv_router/scheduler.rs:512`). With blocks of `B` tokens every
//! cost is therefore a multiple of `1/B`, and the smallest `B` that fits them all is the size, up to a
//! chance that halves with every sample.

/// Sizes that are weighed. Engines use powers of two, except for hybrid models, which are not
/// recognised here.
const CANDIDATES: [u32; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// Fewer samples prove nothing.
const MIN_SAMPLES: u64 = 8;

/// Samples collected so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fractions {
    samples: u64,
    misfits: [u64; CANDIDATES.len()],
}

impl Fractions {
    /// Takes in the cost of a worker without overlap, at weight 1.
    pub fn note(&mut self, cost: f64) {
        // Beyond this, three decimals no longer say anything about the fraction.
        if !(0.0..1e9).contains(&cost) {
            return;
        }
        self.samples += 1;
        for (misfits, size) in self.misfits.iter_mut().zip(CANDIDATES) {
            let blocks = cost * f64::from(size);
            // The cost is printed to three places, hence off by at most 0.0005.
            let allowed = 0.000_5 * f64::from(size) + 1e-6;
            *misfits += u64::from((blocks - blocks.round()).abs() > allowed);
        }
    }

    /// Returns the smallest size that fits every sample. None when there are too few samples, when
    /// all are whole numbers, or when so large a size is left that any fraction would fit.
    pub fn block_size(&self) -> Option<u32> {
        let fitting = self.misfits.iter().position(|misfits| *misfits == 0)?;
        let size = CANDIDATES[fitting];
        // At 512 the rounding of the print allows for a quarter of all fractions.
        (self.samples >= MIN_SAMPLES && (2..=256).contains(&size)).then_some(size)
    }

    /// Returns how many costs were looked at.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the chance that twice the size is meant: that each of the costs happens to be a multiple
    /// of the smaller fraction too, when either half is as likely.
    pub fn error(&self) -> f64 {
        0.5_f64.powi(i32::try_from(self.samples).unwrap_or(i32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(costs: &[f64]) -> Option<u32> {
        let mut fractions = Fractions::default();
        for cost in costs {
            fractions.note(*cost);
        }
        fractions.block_size()
    }

    #[test]
    fn the_costs_of_the_reported_incident_come_from_blocks_of_32_tokens() {
        let costs = [
            138.656, 124.031, 48.781, 104.562, 155.844, 85.094, 113.344, 167.312, 201.594, 146.219,
        ];

        assert_eq!(inferred(&costs), Some(32));
    }

    #[test]
    fn too_few_samples_and_whole_numbers_prove_nothing() {
        assert_eq!(inferred(&[138.656, 124.031]), None);
        assert_eq!(inferred(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]), None);
    }

    #[test]
    fn fractions_of_no_common_size_prove_nothing() {
        let costs: Vec<f64> = (0..20_u32)
            .map(|n| (f64::from(n) * 0.377).round() + f64::from(n * 37 % 1000) / 1000.0)
            .collect();

        assert_eq!(inferred(&costs), None);
    }
}
