//! The router's block size, as the fractions of its costs betray it.
//!
//! A cost is a whole number of decode blocks plus prompt tokens divided by the block size, printed to
//! three places (dynamo-llm 0.9.0, `kv_router/scheduler.rs:512`). With blocks of `B` tokens every
//! cost is therefore a multiple of `1/B`, and the smallest `B` that fits them all is the size, up to a
//! chance that halves with every sample.

use std::collections::{BTreeSet, VecDeque};

/// Sizes that are weighed. Engines use powers of two, except for hybrid models, which are not
/// recognised here.
const CANDIDATES: [u32; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// Fewer samples prove nothing.
const MIN_SAMPLES: usize = 8;

/// Only so many of the newest samples count, so that a router that restarts with another size is soon known.
const MAX_SAMPLES: usize = 64;

/// Fewer different fractions of the smallest size prove nothing: prompts of one length, as benchmarks send
/// them, have the same fraction each.
const MIN_VARIETY: usize = 3;

/// The newest costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fractions {
    costs: VecDeque<f64>,
}

impl Fractions {
    /// Takes in the cost of a worker without overlap, at weight 1.
    pub fn note(&mut self, cost: f64) {
        // Beyond this, three decimals no longer say anything about the fraction.
        if !(0.0..1e9).contains(&cost) {
            return;
        }
        if self.costs.len() == MAX_SAMPLES {
            self.costs.pop_front();
        }
        self.costs.push_back(cost);
    }

    /// Returns the smallest size that fits every sample. None when there are too few samples, when
    /// all are whole numbers, when they have too few fractions to tell, or when so large a size is left that
    /// any fraction would fit.
    pub fn block_size(&self) -> Option<u32> {
        if self.costs.len() < MIN_SAMPLES {
            return None;
        }
        let fits = |size: &u32| self.costs.iter().all(|cost| is_multiple(*cost, *size));
        let size = CANDIDATES.into_iter().find(fits)?;
        // At 512 the rounding of the print allows for a quarter of all fractions.
        ((2..=256).contains(&size) && self.varies(size)).then_some(size)
    }

    /// Returns true when enough of the fractions that only `size` allows were seen.
    fn varies(&self, size: u32) -> bool {
        let scaled = self.costs.iter().map(|cost| (cost.fract() * f64::from(size)).round());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 256")]
        let parts: BTreeSet<u32> = scaled.map(|part| part as u32 % size).collect();
        let odd = parts.into_iter().filter(|part| part % 2 == 1).count();
        // Sizes below 8 have fewer of them.
        odd >= MIN_VARIETY.min(size as usize / 2)
    }

    /// Returns how many costs were looked at.
    pub fn samples(&self) -> u64 {
        self.costs.len() as u64
    }

    /// Forgets every cost: the router started anew, and may use another size.
    pub fn clear(&mut self) {
        self.costs.clear();
    }

    /// Returns the chance that twice the size is meant: that each of the costs happens to be a multiple
    /// of the smaller fraction too, when either half is as likely.
    pub fn error(&self) -> f64 {
        0.5_f64.powi(i32::try_from(self.costs.len()).unwrap_or(i32::MAX))
    }
}

/// Returns true when `cost` is a multiple of `1 / size`, as printed.
fn is_multiple(cost: f64, size: u32) -> bool {
    let blocks = cost * f64::from(size);
    // The cost is printed to three places, hence off by at most 0.0005.
    let allowed = 0.000_5 * f64::from(size) + 1e-6;
    (blocks - blocks.round()).abs() <= allowed
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
    fn prompts_of_one_length_prove_nothing() {
        // 1,000 tokens are 31.25 blocks of 32, which blocks of 4 and of 16 allow as well.
        let costs: Vec<f64> = (0..40_u32).map(|n| f64::from(n * 31) + 31.25).collect();

        assert_eq!(inferred(&costs), None);
    }

    #[test]
    fn a_router_that_restarts_with_another_size_is_known_by_its_new_one() {
        let of = |size: u32| {
            (0..64_u32).map(move |n| f64::from(n) + f64::from(n * 7 % size) / f64::from(size))
        };
        let costs: Vec<f64> = of(32).chain(of(16)).map(|cost| (cost * 1e3).round() / 1e3).collect();

        assert_eq!(inferred(&costs[..64]), Some(32));
        assert_eq!(inferred(&costs), Some(16));
    }

    #[test]
    fn fractions_of_no_common_size_prove_nothing() {
        let costs: Vec<f64> = (0..20_u32)
            .map(|n| (f64::from(n) * 0.377).round() + f64::from(n * 37 % 1000) / 1000.0)
            .collect();

        assert_eq!(inferred(&costs), None);
    }
}
