//! The result of one event, in the words of the router's counters.

use crate::domain::Block;

use super::handle::Put;

/// The kind of the event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutcomeKind {
    /// Blocks were stored.
    #[default]
    Stored,
    /// Blocks were removed.
    Removed,
    /// A cache was emptied.
    Cleared,
}

/// The reason for which a store was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The rank lacks the parent.
    ParentMissing {
        /// True when the rank holds the parent as an orphan: the router lacks it only because it
        /// refused it, too.
        held: bool,
    },
    /// A block follows itself.
    SelfReference,
    /// The mirror has no room for another block or rank. The router would have taken it.
    Full,
}

/// The result of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The kind of the event.
    pub kind: OutcomeKind,
    /// Blocks that the rank holds now and did not before, orphans included.
    pub stored: u32,
    /// Blocks that the rank held as orphans, and that are accepted now.
    pub adopted: u32,
    /// Blocks stored that the rank held already.
    pub duplicates: u32,
    /// The reason for which the store was refused, if it was.
    pub refusal: Option<Refusal>,
    /// Blocks of a store that was refused.
    pub refused_blocks: u32,
    /// True for a store without blocks.
    pub empty: bool,
    /// Removals that the router knows.
    pub removed: u32,
    /// Removals that the router knows nothing of.
    pub unknown_removals: u32,
    /// Orphans among the unknown removals: blocks the router refused before.
    pub orphans_removed: u32,
    /// Blocks that the router drops with a removed one although nobody removed them.
    pub truncated: u32,
    /// Accepted blocks that a `cleared` event took.
    pub cleared_blocks: u64,
}

impl Outcome {
    /// Returns true when the router refuses the store, or would if it were up to date.
    pub const fn refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// Returns true when a cache was emptied.
    pub fn cleared(&self) -> bool {
        self.kind == OutcomeKind::Cleared
    }

    pub(super) fn stored_event(blocks: &[Block]) -> Self {
        Self { empty: blocks.is_empty(), ..Self::default() }
    }

    pub(super) fn removed_event() -> Self {
        Self { kind: OutcomeKind::Removed, ..Self::default() }
    }

    pub(super) fn note(&mut self, put: Put) {
        match put {
            Put::New => self.stored += 1,
            Put::Adopted => self.adopted += 1,
            Put::Known => self.duplicates += 1,
        }
    }

    pub(super) fn refuse(&mut self, refusal: Refusal, blocks: &[Block]) {
        self.refusal = Some(refusal);
        self.refused_blocks = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
    }
}
