//! The capacity curve: stored blocks that a larger KV cache would have avoided.

use crate::domain::Timestamp;

/// The curve of a deployment, over the last 15 to 30 minutes.
///
/// It holds for engines that evict the block used longest ago, and for the routing that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityCurve {
    /// The moment.
    pub at: Timestamp,
    /// Its points, smallest capacity first.
    pub points: Vec<CurvePoint>,
    /// Sampled stored blocks behind it.
    pub samples: u64,
    /// Ranks whose capacity is known: the curve is about these.
    pub ranks: u64,
    /// Their capacities together, in blocks.
    pub capacity: u64,
    /// Share of prompt blocks that were cached, 0 to 1; none where no source reports lengths of prompts.
    pub cached: Option<f64>,
    /// Prompts of known length behind it.
    pub prompts: u64,
}

/// One capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The capacity, as a multiple of the present one.
    pub factor: f64,
    /// Share of stored blocks that this capacity would have avoided, 0 to 1.
    pub avoided: f64,
    /// Half the width of the interval that holds 19 of 20 samples of this size, 0 to 1.
    pub margin: f64,
    /// Share of prompt blocks that would have been cached, 0 to 1; none where lengths of prompts are not known.
    pub cached: Option<f64>,
}
