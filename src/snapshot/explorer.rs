//! The tree as it is looked at, a page at a time.

use std::collections::{HashMap, HashSet};

use super::Sourced;
use crate::domain::{
    SequenceHash, Timestamp, TreeAnchor, TreeDepths, TreeNode, TreePlace, TreeRow, TreeSearch,
    TreeSharing, TreeSort, WorkerId, WorkerRank,
};

/// The part of the tree to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeQuery {
    /// The first row.
    pub root: TreeNode,
    /// Open rows, each with the number of its children that are wanted.
    pub open: HashMap<TreeNode, usize>,
    /// Rows opened together with a number of levels below them.
    pub spread: HashMap<TreeNode, u16>,
    /// Closed rows that a row above would otherwise open.
    pub closed: HashSet<TreeNode>,
    /// The row that is selected; none for the first.
    pub cursor: Option<TreePlace>,
    /// True when the last row is wanted in its place.
    pub last: bool,
    /// Rows wanted on either side of it.
    pub around: usize,
    /// The order of siblings.
    pub sort: TreeSort,
    /// The ranks whose blocks are shown; none for all.
    pub worker: Option<WorkerId>,
    /// A hash to look for, as typed, and which of its matches to select.
    pub find: Option<(String, usize)>,
    /// Ranks whose presence rows should report, the most wanted first; the first seen where it is empty.
    pub ranks: Vec<WorkerRank>,
}

/// Rows of the tree, and what is known of the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreePage {
    /// The question.
    pub query: TreeQuery,
    /// The rows around the selected one.
    pub rows: Vec<TreeRow>,
    /// The position of the first of them among all rows.
    pub first: usize,
    /// Number of rows.
    pub all: usize,
    /// True when more is open than is kept in order.
    pub cut: bool,
    /// The fate of the selected row.
    pub anchor: TreeAnchor,
    /// The ranks whose blocks each row marks, in that order.
    pub ranks: Vec<WorkerRank>,
    /// Their short names.
    pub aliases: Vec<String>,
    /// Number of ranks, listed or not.
    pub rank_count: usize,
    /// Tokens in a block, where all workers agree.
    pub block_size: Option<u32>,
    /// Details of the selected row.
    pub detail: Option<TreeDetail>,
    /// Counts of blocks by the number of ranks that share them; none until they are counted.
    pub sharing: Option<TreeSharing>,
    /// Distribution of prompt lengths; none until it is counted.
    pub depths: Option<TreeDepths>,
    /// True while more is found out from picture to picture.
    pub unfinished: bool,
    /// The answer to the search for a hash.
    pub search: Option<TreeSearch>,
}

/// One row in full.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeDetail {
    /// The subject.
    pub node: TreeNode,
    /// The rows from the top down to it.
    pub path: Vec<TreeNode>,
    /// Blocks of the prompt before its run; none where no prompt leads there.
    pub above: Option<u32>,
    /// Blocks on its run that somebody has.
    pub blocks: u32,
    /// The time a store last passed its run.
    pub touched: Option<Timestamp>,
    /// The sequence hashes of the first blocks of its run.
    pub hashes: Vec<SequenceHash>,
    /// The blocks that each rank has, and the cost of routing the prefix there.
    pub shares: Vec<TreeShare>,
    /// Number of ranks left out of `shares`.
    pub more_shares: usize,
    /// False when only a part of what is below was counted for `shares`.
    pub counted: bool,
    /// True when routers of this version are known to weigh just so: prefill by its weight, and what is
    /// decoding. From 1.6 on there is more to it, by policy.
    pub plain_cost: bool,
    /// The index sizes that routers last logged, with the mirror's size at that time.
    pub agreement: Vec<TreeAgreement>,
}

/// The blocks of a row that one rank has, and the cost of routing the prefix there.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeShare {
    /// The rank.
    pub rank: WorkerRank,
    /// Its short name.
    pub alias: String,
    /// Blocks of the prefix that a router would find with it; none where no prompt leads there.
    pub overlap: Option<u32>,
    /// Its blocks on the run and below; at least so many, unless all were counted.
    pub below: u32,
    /// Blocks of the prefix that it would have to compute.
    pub prefill: Option<u32>,
    /// Weight of the prefill term, where it is known.
    pub weight: Option<f64>,
    /// Blocks that it decodes, as a router last believed.
    pub decode: Option<Sourced<f64>>,
    /// Weight times prefill plus decode; none while a part of it is not known.
    pub cost: Option<f64>,
}

/// The index size that a router last logged for one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeAgreement {
    /// The short name of the rank.
    pub alias: String,
    /// Blocks in the router's index.
    pub router: u64,
    /// Blocks in the mirror before and after the events that came with what the router said; it may
    /// have said so anywhere between.
    pub mirror: (u64, u64),
    /// When.
    pub at: Timestamp,
}

impl TreeAgreement {
    /// Returns true when router and mirror hold the same, within a hundredth: they were not asked at
    /// the very same time.
    pub fn is_same(&self) -> bool {
        self.off() <= self.router.max(self.mirror.0).max(self.mirror.1) / 100
    }

    /// Returns by how many blocks the router's index is smaller or larger than the mirror was at any
    /// time between.
    pub fn off(&self) -> u64 {
        let (before, after) = self.mirror;
        let (least, most) = (before.min(after), before.max(after));
        least.saturating_sub(self.router).max(self.router.saturating_sub(most))
    }
}
