//! Answers from state.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::TreeNode;
use crate::report::rfc3339;
use crate::snapshot::{Demand, PrefixShare, Snapshot};

/// Who holds what, which prefixes are in demand, and where they land; `null` where it was not asked for.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Answers<'a> {
    at: String,
    /// The share of the index that was looked at; below 1 counts are estimates.
    looked_at: f64,
    sampled: bool,
    /// Ranks whose blocks from before kvtop attached are unknown.
    unknown_ranks: usize,
    /// `stores` or `requests`.
    demand: &'static str,
    /// Memory of a block on one GPU.
    block_bytes: Option<f64>,
    drain: Vec<Drain<'a>>,
    drain_left_out: usize,
    duplicates: Duplicates,
    prefixes: Prefixes<'a>,
    stickiness: Stickiness,
    curve_progress: Progress,
}

/// Blocks that draining one worker would lose.
#[derive(Serialize, JsonSchema)]
struct Drain<'a> {
    worker: String,
    alias: &'a str,
    held_blocks: u64,
    only_here_blocks: u64,
    only_here_share: Option<f64>,
    /// Of the blocks only here, those that a store or a request reached in the last five minutes.
    hot_blocks: u64,
    /// Stores that larger caches of this worker would have avoided; empty with fewer than 200 sampled blocks.
    capacity_curve: Vec<super::curve::Point>,
    sampled_blocks: u64,
}

/// Blocks that several ranks hold.
#[derive(Serialize, JsonSchema)]
struct Duplicates {
    /// Distinct blocks held once, twice, three times, and four times or more.
    blocks_by_copies: [u64; 4],
    extra_copies: u64,
    extra_copies_hot: u64,
    extra_bytes: Option<f64>,
}

/// Prefixes by their share of demand.
#[derive(Serialize, JsonSchema)]
struct Prefixes<'a> {
    per_minute: f64,
    common: Option<Prefix<'a>>,
    rows: Vec<Prefix<'a>>,
    more: bool,
    minutes: Vec<String>,
}

/// One prefix; shares are from 0 to 1.
#[derive(Serialize, JsonSchema)]
struct Prefix<'a> {
    /// The sequence hash of its first own block.
    hash: Option<String>,
    label: Option<&'a str>,
    blocks: Option<u32>,
    share: f64,
    /// Its share at each of `minutes`.
    then: &'a [Option<f64>],
    holders: usize,
}

/// Successive stores or requests of one prefix, in the last 15 to 30 minutes.
#[derive(Serialize, JsonSchema)]
struct Stickiness {
    successive: u64,
    same_rank: u64,
    /// `null` with fewer than 20.
    share: Option<f64>,
    /// True where the share is at least that: prompts found whole store nothing.
    at_least: bool,
}

/// The samples of the capacity curve so far.
#[derive(Serialize, JsonSchema)]
struct Progress {
    samples: u64,
    needed: u64,
    ranks_with_capacity: u64,
    ranks: u64,
}

impl<'a> Answers<'a> {
    pub(in crate::report) fn new(snapshot: &'a Snapshot) -> Option<Self> {
        let answers = snapshot.foresight.as_deref()?;
        let drain = answers.drain.iter().map(|row| Drain {
            worker: row.worker.to_string(),
            alias: &row.alias,
            held_blocks: row.held,
            only_here_blocks: row.only,
            only_here_share: (row.held > 0).then(|| row.only as f64 / row.held as f64),
            hot_blocks: row.hot,
            capacity_curve: row.curve.iter().map(super::curve::Point::new).collect(),
            sampled_blocks: row.samples,
        });
        let (duplicates, leaders) = (&answers.duplicates, &answers.leaders);
        let curve = answers.curve;
        Some(Self {
            at: rfc3339(answers.at),
            looked_at: answers.looked_at,
            sampled: answers.is_sampled(),
            unknown_ranks: answers.unknown_ranks,
            demand: answers.demand.name(),
            block_bytes: answers.block_bytes,
            drain: drain.collect(),
            drain_left_out: answers.more_workers,
            duplicates: Duplicates {
                blocks_by_copies: duplicates.copies,
                extra_copies: duplicates.extra,
                extra_copies_hot: duplicates.extra_hot,
                extra_bytes: answers.block_bytes.map(|bytes| bytes * duplicates.extra as f64),
            },
            prefixes: Prefixes {
                per_minute: leaders.per_minute,
                common: leaders.common.as_ref().map(Prefix::new),
                rows: leaders.rows.iter().map(Prefix::new).collect(),
                more: leaders.more,
                minutes: leaders.minutes.iter().map(|at| rfc3339(*at)).collect(),
            },
            stickiness: Stickiness {
                successive: answers.stickiness.successive,
                same_rank: answers.stickiness.same,
                share: answers.stickiness.share(),
                at_least: answers.demand == Demand::Stores,
            },
            curve_progress: Progress {
                samples: curve.samples,
                needed: curve.needed,
                ranks_with_capacity: curve.ranks.0,
                ranks: curve.ranks.1,
            },
        })
    }
}

impl<'a> Prefix<'a> {
    fn new(row: &'a PrefixShare) -> Self {
        let hash = match row.node {
            TreeNode::Block(block) => Some(format!("{:016x}", block.sequence.0)),
            TreeNode::Missing(hash) => Some(format!("{:016x}", hash.0)),
            TreeNode::Root | TreeNode::Detached | TreeNode::Orphans => None,
        };
        Self {
            hash,
            label: row.label.as_deref(),
            blocks: row.blocks,
            share: row.share,
            then: &row.then,
            holders: row.holders,
        }
    }
}
