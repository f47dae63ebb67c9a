//! A page of the prefix tree.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::{Presence, TreeNode, TreeRow, TreeRowKind};
use crate::report::rfc3339;
use crate::snapshot::{Snapshot, TreePage};

/// Rows of the tree and what is known of the whole.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Page {
    at: String,
    /// False where no event plane is heard, so that an empty tree says nothing.
    events_heard: bool,
    block_tokens: Option<u32>,
    rows_in_all: usize,
    rows: Vec<Row>,
    sharing: Option<Sharing>,
    prompts: Option<Prompts>,
    search: Option<Search>,
}

/// A run of blocks that begin the same prompts.
#[derive(Serialize, JsonSchema)]
struct Row {
    /// `root`, `detached` (reached by no prompt), `orphans` (rejected), `missing` (a parent that is unknown) or `block`.
    kind: &'static str,
    hash: Option<String>,
    depth: u16,
    blocks: u32,
    blocks_below: u64,
    below_is_at_least: bool,
    prompt_blocks: Option<u32>,
    stores_per_minute: f32,
    requests_per_minute: Option<f32>,
    holders: usize,
    /// Ranks that hold the first and the last block of the run, by alias.
    held_by: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Sharing {
    on_one_rank: u64,
    on_several: u64,
    copies_beyond_the_first: u64,
}

/// Lengths of prompts, in blocks.
#[derive(Serialize, JsonSchema)]
struct Prompts {
    p50: u32,
    p90: u32,
    longest: u32,
    counted: usize,
    sampled: bool,
}

#[derive(Serialize, JsonSchema)]
struct Search {
    found: Vec<String>,
    more: bool,
    complete: bool,
    senseless: bool,
}

/// Returns a page of the tree as JSON, with at most `most` rows.
pub fn tree(page: &TreePage, snapshot: &Snapshot, most: usize) -> String {
    let nodes = page.rows.iter().filter(|row| matches!(row.kind, TreeRowKind::Node { .. }));
    let json = Page {
        at: rfc3339(snapshot.at),
        events_heard: snapshot.hears_events(),
        block_tokens: page.block_size,
        rows_in_all: page.all,
        rows: nodes.take(most).map(|row| Row::new(row, page)).collect(),
        sharing: page.sharing.map(|known| Sharing {
            on_one_rank: known.single,
            on_several: known.shared,
            copies_beyond_the_first: known.duplicates,
        }),
        prompts: page.depths.map(|known| Prompts {
            p50: known.half,
            p90: known.most,
            longest: known.longest,
            counted: known.ends,
            sampled: known.sampled,
        }),
        search: page.search.as_ref().map(|search| Search {
            found: search.found.iter().take(most).map(|found| found.hash.to_string()).collect(),
            more: search.more || search.found.len() > most,
            complete: search.done,
            senseless: search.senseless,
        }),
    };
    serde_json::to_string_pretty(&json).unwrap_or_default()
}

impl Row {
    fn new(row: &TreeRow, page: &TreePage) -> Self {
        let (kind, own) = match row.place.node {
            TreeNode::Root => ("root", None),
            TreeNode::Detached => ("detached", None),
            TreeNode::Orphans => ("orphans", None),
            TreeNode::Missing(hash) => ("missing", Some(hash)),
            TreeNode::Block(block) => ("block", Some(block.sequence)),
        };
        let whole = row.on.iter().zip(&page.aliases).filter(|(on, _)| **on == Presence::Whole);
        Self {
            kind,
            hash: own.map(|hash| hash.to_string()),
            depth: row.depth,
            blocks: row.blocks,
            blocks_below: row.subtree,
            below_is_at_least: row.partial || !row.exact,
            prompt_blocks: row.reach,
            stores_per_minute: row.heat,
            requests_per_minute: row.hits,
            holders: row.holders,
            held_by: whole.map(|(_, alias)| alias.clone()).collect(),
        }
    }
}
