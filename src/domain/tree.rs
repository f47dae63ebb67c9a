//! The mirror's tree as it is looked at: names of its nodes that stay valid while it changes, and rows.

use std::hash::{Hash, Hasher};

use super::{SequenceHash, TokensHash};

/// A place in the mirror's tree: a block, or one of the branches that blocks hang in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TreeNode {
    /// The start of every prompt.
    #[default]
    Root,
    /// Accepted blocks whose parent was removed: the router still finds them by hash, but no prompt
    /// reaches them.
    Detached,
    /// Blocks that the router refused.
    Orphans,
    /// A parent that is missing, with the refused blocks that follow it.
    Missing(SequenceHash),
    /// A block.
    Block(BlockRef),
}

/// A block of the mirror, by what it holds. A block that goes and comes back has the same name; another
/// block never has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRef {
    /// Its sequence hash, or one of them where workers salt theirs.
    pub sequence: SequenceHash,
    /// Its tokens hash.
    pub tokens: TokensHash,
    /// True when the router refused it.
    pub orphan: bool,
    /// The place it was seen last.
    pub hint: Hint,
}

/// The place in memory to look at first. It names nothing: all hints are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint(pub u32);

impl PartialEq for Hint {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Hint {}

impl Hash for Hint {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The order of siblings in the tree, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TreeSort {
    /// By recent stores at and below.
    #[default]
    Heat,
    /// By blocks at and below.
    Blocks,
    /// By the length of the prefix.
    Tokens,
}

impl TreeSort {
    /// Every order.
    pub const ALL: [Self; 3] = [Self::Heat, Self::Blocks, Self::Tokens];
}

/// The share of a run of blocks that a rank has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Neither its first nor its last block.
    #[default]
    None,
    /// Its first block and not its last, or the other way round.
    Part,
    /// Its first and its last block.
    Whole,
}

/// A row by what it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TreePlace {
    /// The node, or the one whose further children the row stands for.
    pub node: TreeNode,
    /// True for the row that stands for further children.
    pub more: bool,
}

/// The kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeRowKind {
    /// The content of its node.
    Node {
        /// True when what is below is shown.
        open: bool,
        /// Rows below it at most, shown or not.
        children: usize,
    },
    /// Further children of its node.
    More {
        /// The number.
        hidden: usize,
        /// False while they are still being put in order.
        sorted: bool,
    },
    /// A node that was here, and is gone.
    Gone,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeRow {
    /// A description.
    pub place: TreePlace,
    /// The kind of row.
    pub kind: TreeRowKind,
    /// Its depth below the first row.
    pub depth: u16,
    /// Blocks on the run that somebody has.
    pub blocks: u32,
    /// Blocks on it and below it that somebody has; for refused blocks as a whole, once per rank.
    pub subtree: u64,
    /// False while blocks below are still being added up.
    pub exact: bool,
    /// True when blocks below are at least so many: not all were looked at.
    pub partial: bool,
    /// Blocks from the start of the prompt to the end of the run; none where no prompt leads.
    pub reach: Option<u32>,
    /// Stores that reach it or what is below it, per 60 ticks.
    pub heat: f32,
    /// Requests that begin with the prompt down to it, per 60 ticks; none where nobody tells.
    pub hits: Option<f32>,
    /// The share of the run that each requested rank has.
    pub on: Vec<Presence>,
    /// Ranks that have its first block.
    pub holders: usize,
    /// The sequence hash of its last block.
    pub last: Option<SequenceHash>,
}

/// The fate of the requested row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeAnchor {
    /// It is the row at this position of all rows.
    At(usize),
    /// It is gone; a row at this position says so.
    Gone(usize),
    /// It is there, but not among the rows: left out by the filter, or below a node that is closed.
    #[default]
    Hidden,
}

/// Counts of blocks by the number of ranks that share them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSharing {
    /// Blocks that one rank has.
    pub single: u64,
    /// Blocks that several ranks have.
    pub shared: u64,
    /// Copies beyond the first of each block, as of now.
    pub duplicates: u64,
    /// True when everything was counted for this page.
    pub fresh: bool,
}

/// Lengths of prompts, in blocks from the root to a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeDepths {
    /// The middle one.
    pub half: u32,
    /// The 90th percentile.
    pub most: u32,
    /// The longest of those looked at.
    pub longest: u32,
    /// Number counted.
    pub ends: usize,
    /// True when not all were looked at.
    pub sampled: bool,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeSearch {
    /// The typed search text.
    pub text: String,
    /// The matches.
    pub found: Vec<TreeMatch>,
    /// True when there are more.
    pub more: bool,
    /// True once everything was looked at.
    pub done: bool,
    /// Progress in percent.
    pub percent: u8,
    /// True for what cannot be part of a hash.
    pub senseless: bool,
}

/// A block that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeMatch {
    /// Its sequence hash, or that of a missing parent.
    pub hash: SequenceHash,
    /// The branch that it is in, and the rows down to the one that holds it.
    pub way: Vec<TreeNode>,
}
