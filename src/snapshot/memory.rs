//! The contents of a worker's KV cache, and how long blocks stay in it.

use super::Sourced;
use crate::domain::WorkerRank;

/// The memory of one rank. Every figure has its inputs in its source; what is not known is none.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryRow {
    /// Its worker's short name.
    pub alias: String,
    /// The rank.
    pub rank: WorkerRank,
    /// Memory of the weights on one GPU, in bytes.
    pub weight_bytes: Option<Sourced<f64>>,
    /// Memory of the KV cache on one GPU, in bytes.
    pub kv_bytes: Option<Sourced<f64>>,
    /// Memory of one token's keys and values on one GPU, in bytes.
    pub token_bytes: Option<Sourced<f64>>,
    /// Tokens in a block of the engine.
    pub block_tokens: Option<Sourced<f64>>,
    /// Room, in blocks.
    pub capacity_blocks: Option<Sourced<f64>>,
    /// Room, in tokens.
    pub capacity_tokens: Option<Sourced<f64>>,
    /// Blocks held, as a share of the room.
    pub fill: Option<Sourced<f64>>,
    /// Blocks in use, as a share of the room: what is left is for prefixes.
    pub active: Option<Sourced<f64>>,
    /// Blocks stored per second.
    pub stored_per_second: Option<Sourced<f64>>,
    /// Blocks removed per second.
    pub removed_per_second: Option<Sourced<f64>>,
    /// Mean time that a block stays, in seconds: blocks held by blocks stored per second (Little's law).
    pub residency: Option<Sourced<f64>>,
    /// Different blocks that were stored in the window: the least that the working set can be.
    pub working_set: Option<Sourced<f64>>,
    /// The working set as a multiple of the room; above 1 it does not fit.
    pub pressure: Option<Sourced<f64>>,
    /// Stored blocks that had been removed within ten minutes, as a share of the stored ones.
    pub returned: Option<Sourced<f64>>,
    /// Share of stored blocks that a cache of 1.25 times the capacity would have avoided.
    pub avoided_1_25: Option<Sourced<f64>>,
    /// The same at 1.5 times the capacity.
    pub avoided_1_5: Option<Sourced<f64>>,
    /// The same at twice the capacity.
    pub avoided_2: Option<Sourced<f64>>,
    /// The same at three times the capacity.
    pub avoided_3: Option<Sourced<f64>>,
    /// Tokens of as many requests as may run at once, as a multiple of the room; above 1 they do not fit.
    pub over_commit: Option<Sourced<f64>>,
}

/// One figure of a row, for tables.
#[derive(Clone, Copy, Debug)]
pub struct MemoryFigure {
    /// Its name in reports.
    pub name: &'static str,
    /// Its name on the screen.
    pub title: &'static str,
    /// `bytes`, `tokens`, `blocks`, `share`, `per_second`, `seconds`, `ratio`.
    pub unit: &'static str,
    /// The place to look when it is unknown.
    pub missing: &'static str,
    /// Takes it from a row.
    pub of: fn(&MemoryRow) -> &Option<Sourced<f64>>,
}

macro_rules! figure {
    ($name:ident, $title:literal, $unit:literal, $missing:literal) => {
        MemoryFigure {
            name: stringify!($name),
            title: $title,
            unit: $unit,
            missing: $missing,
            of: |row| &row.$name,
        }
    };
}

impl MemoryRow {
    /// Every figure, in the order in which they are shown.
    pub const FIGURES: &[MemoryFigure] = &[
        figure!(weight_bytes, "weights per GPU", "bytes", "the engine's log at its start"),
        figure!(kv_bytes, "KV cache per GPU", "bytes", "the engine's log at its start"),
        figure!(token_bytes, "KV per token and GPU", "bytes", "the engine's log at its start"),
        figure!(block_tokens, "tokens per block", "tokens", "log, pod or card of the worker"),
        figure!(
            capacity_tokens,
            "capacity (tokens)",
            "tokens",
            "the engine's log, or card and block size"
        ),
        figure!(
            capacity_blocks,
            "capacity (blocks)",
            "blocks",
            "model card, router's log, or engine's log"
        ),
        figure!(
            fill,
            "cached, % of capacity",
            "share",
            "capacity, complete history, stores with blocks"
        ),
        figure!(active, "in use, % of capacity", "share", "capacity, and metrics or load reports"),
        figure!(stored_per_second, "blocks stored", "per_second", "KV events for half a minute"),
        figure!(removed_per_second, "blocks removed", "per_second", "KV events for half a minute"),
        figure!(residency, "block lifetime", "seconds", "stored blocks and complete history"),
        figure!(working_set, "working set, at least", "blocks", "stored blocks"),
        figure!(pressure, "working set / capacity", "ratio", "stored blocks and capacity"),
        figure!(returned, "stored again soon", "share", "50 sampled blocks"),
        figure!(avoided_1_25, "1.25x cache avoids", "share", "200 sampled blocks and capacity"),
        figure!(avoided_1_5, "1.5x cache avoids", "share", "200 sampled blocks and capacity"),
        figure!(avoided_2, "2x cache avoids", "share", "200 sampled blocks and capacity"),
        figure!(avoided_3, "3x cache avoids", "share", "200 sampled blocks and capacity"),
        figure!(over_commit, "max batch / capacity", "ratio", "max_num_seqs, metrics and capacity"),
    ];
}
