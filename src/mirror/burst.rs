//! Looking ahead: brings the cache lines of a burst of events near before any of them is followed.
//!
//! A block touches about two cold lines, its bucket and its node. All buckets of a burst are asked for
//! first, then all nodes, then what the nodes name: the processor fetches many lines at a time.
//! Nothing here changes the tree.

use std::ops::Range;

use crate::domain::{KvBatch, KvEvent, KvKind};

use super::node::NONE;
use super::tree::Tree;

/// Blocks to look ahead.
pub(super) const AHEAD: usize = super::index::AT_ONCE;

/// Returns how many blocks `event` names.
pub(super) fn weight(event: &KvEvent) -> usize {
    match &event.kind {
        KvKind::Stored { blocks, .. } => blocks.len() + 1,
        KvKind::Removed { hashes } => hashes.len(),
        KvKind::Cleared { .. } => 0,
    }
}

/// Returns the part of `all` that the events of a burst name; their ranges follow each other.
fn spanned<'a, T>(all: &'a [T], ranges: impl Iterator<Item = &'a Range<u32>>) -> &'a [T] {
    let ends = ranges.fold(None, |ends: Option<(u32, u32)>, range| {
        let (start, end) = ends.unwrap_or((range.start, range.end));
        Some((start.min(range.start), end.max(range.end)))
    });
    let (start, end) = ends.unwrap_or_default();
    all.get(start as usize..end as usize).unwrap_or_default()
}

impl Tree {
    /// Brings near what `events` will need.
    pub(super) fn look_ahead(&self, batch: &KvBatch, events: &[KvEvent]) {
        let stored = events.iter().filter_map(|event| match &event.kind {
            KvKind::Stored { blocks, .. } => Some(blocks),
            _ => None,
        });
        let stored = spanned(batch.blocks(), stored);
        let removed = events.iter().filter_map(|event| match &event.kind {
            KvKind::Removed { hashes } => Some(hashes),
            _ => None,
        });
        let removed = spanned(batch.removed(), removed);
        let parents = events.iter().filter_map(|event| match &event.kind {
            KvKind::Stored { parent, .. } => *parent,
            _ => None,
        });
        let followed = parents.chain(removed.iter().copied()).map(|hash| hash.0);
        let mut near = [NONE; AHEAD];
        self.index.approach(stored.iter().map(|block| block.sequence.0));
        let count = self.index.glance(followed, &mut near);
        let near = &near[..count];
        for id in near {
            self.nodes.approach(*id);
        }
        for id in near {
            self.edges.approach(self.nodes.at(*id).edge());
        }
    }
}
