//! Answers from state: what a drain loses, what is held several times, and where prefixes land.

use super::CurvePoint;
use crate::domain::{Timestamp, TreeNode, WorkerId};

/// Answers from the index copy, as blocks are held: rejected blocks included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foresight {
    /// The moment.
    pub at: Timestamp,
    /// The share of the index that was looked at, 0 to 1; below 1 counts are estimates from an even sample.
    pub looked_at: f64,
    /// Ranks whose blocks from before kvtop attached are unknown.
    pub unknown_ranks: usize,
    /// The measure of demand.
    pub demand: Demand,
    /// Memory of a block in bytes, on one GPU; none where it is not known or workers differ.
    pub block_bytes: Option<f64>,
    /// Blocks that draining each worker would lose, most blocks in use first.
    pub drain: Vec<DrainRow>,
    /// Workers left out of `drain`.
    pub more_workers: usize,
    /// Blocks that several ranks hold.
    pub duplicates: Duplicates,
    /// The prefixes with most demand.
    pub leaders: PrefixShares,
    /// Where successive requests of one prefix land.
    pub stickiness: Stickiness,
    /// The samples of the capacity curve so far.
    pub curve: CurveProgress,
}

impl Foresight {
    /// Blocks that a picture looks at, at most: a few milliseconds.
    pub const PICTURE: usize = 262_144;

    /// Blocks that a report looks at, at most: less than a second.
    pub const REPORT: usize = 8_388_608;

    /// Returns true where counts are estimates from a sample.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.looked_at < 1.0
    }
}

/// A measure of demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Demand {
    /// Stores: what was found in a cache is not seen.
    #[default]
    Stores,
    /// Requests, as routers tell each other of them.
    Requests,
}

impl Demand {
    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stores => "stores",
            Self::Requests => "requests",
        }
    }
}

/// Blocks that draining one worker would lose.
#[derive(Clone, Debug, PartialEq)]
pub struct DrainRow {
    /// The worker.
    pub worker: WorkerId,
    /// Its short name.
    pub alias: String,
    /// False while blocks that it stored before kvtop attached may be missing: the counts are then the least.
    pub complete: bool,
    /// Blocks that it holds.
    pub held: u64,
    /// Blocks that no other worker holds.
    pub only: u64,
    /// Of those, blocks that a store or a request reached in the last five minutes.
    pub hot: u64,
    /// Its own capacity curve; empty while too little is known.
    pub curve: Vec<CurvePoint>,
    /// Sampled stored blocks behind the curve.
    pub samples: u64,
}

/// Blocks by the number of ranks that hold them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// Distinct blocks that 1, 2, 3, and 4 or more ranks hold.
    pub copies: [u64; 4],
    /// Copies beyond the first of each block.
    pub extra: u64,
    /// Of those, copies of blocks that a store or a request reached in the last five minutes.
    pub extra_hot: u64,
}

/// Prefixes and their shares of demand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrefixShares {
    /// Stores or requests of all prefixes, per minute.
    pub per_minute: f64,
    /// The prefix that the others have in common; none where they share no block.
    pub common: Option<PrefixShare>,
    /// The prefixes, most demanded first.
    pub rows: Vec<PrefixShare>,
    /// True when there are more.
    pub more: bool,
    /// The moments of earlier shares, a minute apart, oldest first.
    pub minutes: Vec<Timestamp>,
}

/// One prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct PrefixShare {
    /// Its first block that no other prefix has.
    pub node: TreeNode,
    /// The name that the user gave it.
    pub label: Option<String>,
    /// Blocks from the start of the prompt to the next fork; none where no prompt leads there.
    pub blocks: Option<u32>,
    /// Its share of stores or requests, 0 to 1.
    pub share: f64,
    /// The same at each of [`PrefixShares::minutes`]; none where it was not among the first.
    pub then: Vec<Option<f64>>,
    /// Ranks that hold its first block.
    pub holders: usize,
}

/// Successive stores or requests of one prefix, over the last 15 to 30 minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stickiness {
    /// Landings of a prefix that had landed before.
    pub successive: u64,
    /// Of those, the ones on the same rank as the time before. By stores alone it is at least so many: a prompt that is
    /// found whole stores nothing.
    pub same: u64,
}

impl Stickiness {
    /// Fewest landings for which a share is given.
    pub const FEWEST: u64 = 20;

    /// Returns the share of landings on the same rank, 0 to 1; none with too few.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.successive >= Self::FEWEST).then(|| self.same as f64 / self.successive as f64)
    }
}

/// The samples of the capacity curve so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurveProgress {
    /// Sampled stored blocks.
    pub samples: u64,
    /// Samples for which shares are given.
    pub needed: u64,
    /// Present ranks whose capacity is known, and all present ranks.
    pub ranks: (u64, u64),
}
