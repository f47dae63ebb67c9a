//! The columns that there are of workers.

use std::collections::BTreeSet;

use super::Entry;
use crate::domain::Tier;
use crate::tui::text;
use crate::tui::theme::Glyphs;
use crate::tui::widgets::table::{Align, Column};

/// A column. The first two always stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Col {
    /// The mark of its state.
    Mark,
    /// Short name and pod.
    Name,
    /// The word for its state.
    State,
    /// End of its id.
    Id,
    /// Data-parallel rank.
    Rank,
    /// Tokens per block.
    Size,
    /// Accepted blocks.
    Cached,
    /// Held blocks.
    Held,
    /// Change of the accepted blocks.
    Change,
    /// KV blocks in use.
    Kv,
    /// Stores per second.
    Stores,
    /// Removed blocks per second.
    Evicts,
    /// Refused stores.
    Orphans,
    /// Hit rate.
    Hits,
    /// Requests in flight.
    InFlight,
    /// Requests routed per second.
    Routed,
    /// Mean overlap.
    Overlap,
    /// Age of its last event.
    Last,
    /// Removed hashes that were not held, per second.
    Unknown,
    /// Used blocks.
    Active,
    /// Capacity.
    Total,
    /// Blocks decoding, as a router believes.
    Decode,
    /// Blocks in host memory.
    Host,
    /// Blocks on disk.
    Disk,
    /// Number of its last event.
    EventId,
    /// Missing messages.
    Gaps,
    /// Restarts of its pod.
    Restarts,
    /// Time since its pod started.
    Age,
    /// Its role.
    Role,
    /// Its node.
    Node,
}

/// Widths that depend on contents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Widths {
    /// Of the names, cut or not.
    pub name: usize,
    /// Of the block sizes.
    pub sizes: usize,
    /// Of the ranks.
    pub rank: usize,
    /// Of the nodes.
    pub node: usize,
    /// Of REJ%, with or without a word.
    pub orphans: usize,
}

impl Col {
    /// Every column, in the order of the table.
    pub const ALL: [Self; 30] = [
        Self::Mark,
        Self::Name,
        Self::State,
        Self::Id,
        Self::Rank,
        Self::Size,
        Self::Cached,
        Self::Held,
        Self::Change,
        Self::Kv,
        Self::Stores,
        Self::Evicts,
        Self::Orphans,
        Self::Hits,
        Self::InFlight,
        Self::Routed,
        Self::Overlap,
        Self::Last,
        Self::Unknown,
        Self::Active,
        Self::Total,
        Self::Decode,
        Self::Host,
        Self::Disk,
        Self::EventId,
        Self::Gaps,
        Self::Restarts,
        Self::Age,
        Self::Role,
        Self::Node,
    ];

    /// Returns the columns that are wanted until somebody chooses.
    pub fn usual() -> BTreeSet<Self> {
        Self::ALL.into_iter().filter(|col| *col <= Self::Last && *col != Self::State).collect()
    }

    /// Returns the columns of the overview: what says how a worker is doing, with room for graphs.
    pub fn essential() -> BTreeSet<Self> {
        [
            Self::Mark,
            Self::Name,
            Self::Rank,
            Self::Size,
            Self::Cached,
            Self::Kv,
            Self::Stores,
            Self::Orphans,
            Self::Hits,
            Self::InFlight,
            Self::Routed,
            Self::Last,
        ]
        .into()
    }

    /// Returns its title and what it means.
    pub const fn says(self) -> (&'static str, &'static str) {
        match self {
            Self::Mark => ("", "state"),
            Self::Name => ("WORKER", "short name and pod"),
            Self::State => ("STATE", "its state in a word"),
            Self::Id => ("ID", "last 4 digits of the id (full id: Enter)"),
            Self::Rank => ("DP", "data-parallel rank; shown when there are several"),
            Self::Size => ("BLK", "tokens per block; differing sizes are all shown"),
            Self::Cached => ("CACHED", "blocks in the index of a router that saw every event"),
            Self::Held => ("HELD", "blocks held, rejected ones included; shown when it differs"),
            Self::Change => ("", "change of CACHED per second, over 10 s"),
            Self::Kv => ("KV%", "share of the engine's KV blocks in use"),
            Self::Stores => ("STORE/s", "blocks stored per second, over 10 s"),
            Self::Evicts => ("EVICT/s", "blocks removed per second, over 10 s"),
            Self::Orphans => ("REJ%", "stores rejected because the parent is unknown, over 1 min"),
            Self::Hits => ("HIT%", "share of prompt tokens found in the engine's cache"),
            Self::InFlight => ("INFLIGHT", "requests running or queued"),
            Self::Routed => ("ROUTED/s", "requests routed to it per second, over 1 min"),
            Self::Overlap => ("OVLP", "mean overlap in blocks of the requests routed to it"),
            Self::Last => ("LAST", "age of its last KV event"),
            Self::Unknown => ("UNKN/s", "removed blocks that were not in the index, per second"),
            Self::Active => ("ACTIVE", "KV blocks in use"),
            Self::Total => ("TOTAL", "capacity in KV blocks"),
            Self::Decode => ("DECODE", "active blocks (router's estimate)"),
            Self::Host => ("HOST", "accepted blocks in host memory"),
            Self::Disk => ("DISK", "accepted blocks on disk"),
            Self::EventId => ("EVID", "last event id"),
            Self::Gaps => ("GAPS", "missing event ids"),
            Self::Restarts => ("RESTARTS", "restarts of its pod's containers"),
            Self::Age => ("AGE", "time since its pod started"),
            Self::Role => ("ROLE", "role: worker, prefill, decode"),
            Self::Node => ("NODE", "the node it runs on"),
        }
    }

    /// Returns its title.
    pub const fn title(self, glyphs: &Glyphs) -> &'static str {
        match self {
            Self::Change => glyphs.change,
            _ => self.says().0,
        }
    }

    /// Returns true where it cannot be taken away.
    pub const fn is_fixed(self) -> bool {
        matches!(self, Self::Mark | Self::Name)
    }

    /// Returns true for what is measured of a worker while it is there; of one that left it is no news.
    pub const fn is_measured(self) -> bool {
        matches!(
            self,
            Self::Change
                | Self::Kv
                | Self::Stores
                | Self::Evicts
                | Self::Hits
                | Self::InFlight
                | Self::Routed
                | Self::Overlap
                | Self::Unknown
                | Self::Active
                | Self::Total
                | Self::Decode
        )
    }

    /// Returns true for what KV events alone tell.
    pub const fn is_of_events(self) -> bool {
        matches!(
            self,
            Self::Cached
                | Self::Held
                | Self::Stores
                | Self::Evicts
                | Self::Unknown
                | Self::Host
                | Self::Disk
                | Self::Gaps
        )
    }

    /// Returns the column with its width, and how long it stays when room is short. One that somebody
    /// chose stays longer than those that are usual.
    pub fn column(self, widths: &Widths, glyphs: &Glyphs) -> Column {
        let (width, rank) = match self {
            Self::Mark => (1, 50),
            Self::Name => (widths.name, 40),
            Self::State => (12, 1),
            Self::Id => (4 + text::width(glyphs.ellipsis), 5),
            Self::Rank => (widths.rank, 25),
            Self::Size => (widths.sizes, 23),
            Self::Cached => (7, 9),
            Self::Held => (7, 7),
            Self::Change => (7, 3),
            Self::Kv => (4, 22),
            Self::Stores => (7, 21),
            Self::Evicts => (7, 20),
            Self::Orphans => (widths.orphans, 30),
            Self::Hits => (5, 6),
            Self::InFlight | Self::Role => (8, 10),
            Self::Routed => (8, 2),
            Self::Overlap => (6, 4),
            Self::Last => (4, 8),
            Self::Unknown | Self::Active | Self::Total | Self::Decode => (7, 12),
            Self::Host | Self::Disk | Self::EventId | Self::Gaps => (7, 11),
            Self::Restarts => (8, 11),
            Self::Age => (4, 11),
            Self::Node => (widths.node, 10),
        };
        let left = matches!(self, Self::Mark | Self::Name | Self::State | Self::Role | Self::Node);
        let align = if left { Align::Left } else { Align::Right };
        Column { title: self.title(glyphs), width, align, rank }
    }

    /// Returns the number to sort by; none where it is not known, or for texts.
    pub fn number(self, entry: &Entry<'_>) -> Option<f64> {
        let row = entry.row;
        let rates = &row.rates.ten_seconds;
        let count = |count: u64| Some(count as f64);
        if row.gone && (self.is_measured() || self == Self::Orphans) {
            return None;
        }
        match self {
            Self::Mark | Self::Name | Self::State | Self::Role | Self::Node => None,
            Self::Restarts => entry.pod.and_then(|pod| count(pod.restarts)),
            // The youngest has started last.
            Self::Age => entry.pod.and_then(|pod| pod.started).map(|at| -(at.0 as f64)),
            Self::Id => count(row.rank.worker.0),
            Self::Rank => Some(f64::from(row.rank.dp_rank.0)),
            Self::Size => {
                let sizes = &row.block_size;
                sizes.proven.or(sizes.publisher).or(sizes.engine).map(f64::from)
            }
            Self::Cached => count(row.accepted),
            Self::Held => count(row.held),
            Self::Change => row.change,
            Self::Kv => row.kv_utilization.as_ref().map(|used| used.value),
            Self::Stores => Some(rates.stored_blocks),
            Self::Evicts => Some(rates.removals),
            Self::Orphans => row.orphan_share,
            Self::Hits => row.hit_rate.as_ref().map(|rate| rate.value),
            Self::InFlight => row.in_flight.and_then(count),
            Self::Routed => Some(row.routed_per_second),
            Self::Overlap => row.mean_overlap,
            Self::Last => row.last_event.map(|at| at.0 as f64),
            Self::Unknown => Some(rates.unknown_removals),
            Self::Active => row.used_blocks.as_ref().and_then(|used| count(used.value)),
            Self::Total => row.capacity_blocks.as_ref().and_then(|room| count(room.value)),
            Self::Decode => row.load.as_ref().and_then(|load| count(load.value.decode_blocks)),
            Self::Host => count(row.tiers[Tier::HostPinned as usize]),
            Self::Disk => count(row.tiers[Tier::Disk as usize]),
            Self::EventId => row.last_event_id.and_then(count),
            Self::Gaps => count(row.missing),
        }
    }

    /// Returns true where sorting by it makes sense.
    pub const fn sorts(self) -> bool {
        !matches!(self, Self::Mark | Self::State | Self::Role | Self::Node)
    }
}
