//! The router's block size, as the fractions of its costs betray it.
//!
//! A cost is a whole number of decode blocks plus prompt tokens divided by the block size, printed to
//! three places (dynamo-llm 0.9.0, `kv_router/scheduler.rs:512`). With blocks of `B` tokens every
//! cost is therefore a multiple of `1/B`, and the smallest `B` that fits them all is the size, up to a
//! chance that halves with every sample.

use std::collections::{BTreeSet, VecDeque};

use crate::domain::WorkerId;

/// Sizes that are weighed. Engines use powers of two, except for hybrid models, which are not
/// recognised here.
const CANDIDATES: [u32; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// Fewer samples prove nothing.
const MIN_SAMPLES: usize = 8;

/// Only so many of the newest samples count, so that a router that restarts with another size is soon known.
const MAX_SAMPLES: usize = 64;

/// Fewer different fractions of the smallest size prove nothing: prompts of a few lengths, as benchmarks send
/// them, have the same few fractions.
const MIN_VARIETY: usize = 5;

/// Smaller sizes are not recognised: lengths that are multiples of a few tokens, such as 1,000, look like them.
const SMALLEST: u32 = 8;

/// The newest costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fractions {
    costs: VecDeque<(WorkerId, f64)>,
    lengths: VecDeque<u64>,
}

impl Fractions {
    /// Takes in the cost of `worker` without overlap, at weight 1.
    pub fn note(&mut self, worker: WorkerId, cost: f64) {
        // Beyond this, three decimals no longer say anything about the fraction.
        if !(0.0..1e9).contains(&cost) {
            return;
        }
        if self.costs.len() == MAX_SAMPLES {
            self.costs.pop_front();
        }
        self.costs.push_back((worker, cost));
    }

    /// Returns what the costs of `there` tell alone. A log goes further back than the workers do, and the router of those
    /// before them may have had another size.
    #[must_use]
    pub fn of(&self, there: impl Fn(WorkerId) -> bool) -> Self {
        let mut part = self.clone();
        part.costs.retain(|(worker, _)| there(*worker));
        part
    }

    /// Takes in the length of a prompt, in tokens, where a log tells it.
    pub fn note_length(&mut self, tokens: u64) {
        if self.lengths.len() == MAX_SAMPLES {
            self.lengths.pop_front();
        }
        self.lengths.push_back(tokens);
    }

    /// Returns true when the known lengths are multiples of more than one token: then costs are multiples of a larger
    /// fraction than that of a block.
    fn is_coarse(&self) -> bool {
        self.lengths.len() >= MIN_SAMPLES && self.lengths.iter().all(|tokens| tokens % 2 == 0)
    }

    /// Returns the smallest size that fits every sample. None when there are too few samples, when
    /// all are whole numbers, when all prompts have even lengths, when they have too few fractions to tell, or when so large a size is left that
    /// any fraction would fit.
    pub fn block_size(&self) -> Option<u32> {
        if self.costs.len() < MIN_SAMPLES || self.is_coarse() {
            return None;
        }
        let fits = |size: &u32| self.costs.iter().all(|(_, cost)| is_multiple(*cost, *size));
        let size = CANDIDATES.into_iter().find(fits)?;
        // At 512 the rounding of the print allows for a quarter of all fractions.
        ((SMALLEST..=256).contains(&size) && self.varies(size)).then_some(size)
    }

    /// Returns true when enough of the fractions that only `size` allows were seen.
    fn varies(&self, size: u32) -> bool {
        let scaled = self.costs.iter().map(|(_, cost)| (cost.fract() * f64::from(size)).round());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 256")]
        let parts: BTreeSet<u32> = scaled.map(|part| part as u32 % size).collect();
        let odd = parts.into_iter().filter(|part| part % 2 == 1).count();
        // A size of 8 has but four of them.
        odd >= MIN_VARIETY.min(size as usize / 2)
    }

    /// Returns how many costs were looked at.
    pub fn samples(&self) -> u64 {
        self.costs.len() as u64
    }

    /// Forgets every cost: the router started anew, and may use another size.
    pub fn clear(&mut self) {
        self.costs.clear();
        self.lengths.clear();
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
            fractions.note(WorkerId(1), *cost);
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
    fn prompts_whose_lengths_are_multiples_of_a_few_tokens_prove_nothing() {
        // Blocks of 16 and 64 tokens, and prompts of one length or of multiples of four tokens.
        for (length, block) in [(1_000, 16), (2_016, 64), (2_000, 32)] {
            let costs: Vec<f64> =
                (0..40_u32).map(|n| f64::from(n) + f64::from(length) / f64::from(block)).collect();
            assert_eq!(inferred(&costs), None, "{length} {block}");
        }
        let costs: Vec<f64> = (0..40_u32).map(|n| f64::from(n * 12 % 1_000) / 16.0).collect();
        assert_eq!(inferred(&costs), None);
        // Three lengths are no variety either.
        let of_three = |n: u32| f64::from(n) + f64::from([100, 204, 508][n as usize % 3]) / 64.0;
        assert_eq!(inferred(&(0..40).map(of_three).collect::<Vec<f64>>()), None);
    }

    #[test]
    fn even_lengths_leave_twice_the_size_open() {
        let costs = (0..64_u32).map(|n| f64::from(n) + f64::from(n * 14 % 32) / 32.0);
        let mut fractions = Fractions::default();
        costs.for_each(|cost| fractions.note(WorkerId(1), (cost * 1e3).round() / 1e3));
        assert_eq!(fractions.block_size(), Some(16), "lengths are not known");

        (1..20).for_each(|n| fractions.note_length(n * 14));
        assert_eq!(fractions.block_size(), None);

        fractions.note_length(1_001);
        assert_eq!(fractions.block_size(), Some(16));
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
