//! Rows of a page as they are listed, before anything is looked up for them.

use super::place::Spot;
use crate::domain::{TreePlace, TreeRowKind};

/// A row before it is filled in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare {
    pub(super) place: TreePlace,
    pub(super) spot: Spot,
    pub(super) kind: TreeRowKind,
    pub(super) depth: u16,
    /// Blocks from the start of the prompt to the row.
    pub(super) above: Option<u32>,
    /// Of a row for further children, what its siblings have together.
    pub(super) shown: u64,
}

impl Bare {
    /// Returns the row of a place that is not there any more.
    pub(super) const fn gone(place: TreePlace, depth: u16) -> Self {
        Self { place, spot: Spot::Detached, kind: TreeRowKind::Gone, depth, above: None, shown: 0 }
    }
}
