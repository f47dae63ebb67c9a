//! Looking ahead: brings the cache lines of a burst of events near before any of them is followed.
//!
//! A block touches about two cold lines, its bucket and its node. Loads that do not depend on each
//! other overlap, so all buckets of a burst are read first, then all nodes, then what the nodes name.
//! Nothing here changes the tree.

use crate::domain::{KvBatch, KvEvent, KvKind};

use super::node::NONE;
use super::tree::Tree;

/// Blocks to look ahead.
pub(super) const AHEAD: usize = 192;

/// Returns how many blocks `event` names.
pub(super) fn weight(event: &KvEvent) -> usize {
    match &event.kind {
        KvKind::Stored { blocks, .. } => blocks.len() + 1,
        KvKind::Removed { hashes } => hashes.len(),
        KvKind::Cleared { .. } => 0,
    }
}

impl Tree {
    /// Reads what `events` will need.
    pub(super) fn look_ahead(&mut self, batch: &KvBatch, events: &[KvEvent]) {
        let mut near = std::mem::take(&mut self.near);
        near.clear();
        for event in events {
            match &event.kind {
                KvKind::Stored { parent, blocks } => {
                    near.extend(parent.and_then(|parent| self.index.glance(parent.0)));
                    for block in batch.blocks_of(blocks) {
                        near.extend(self.index.glance(block.sequence.0));
                    }
                }
                KvKind::Removed { hashes } => {
                    for hash in batch.removed_of(hashes) {
                        near.extend(self.index.glance(hash.0));
                    }
                }
                KvKind::Cleared { .. } => {}
            }
        }
        let mut warmth = 0;
        for id in &mut near {
            let node = self.nodes.at(*id);
            warmth ^= node.kids;
            *id = node.edge;
        }
        for edge in &near {
            if *edge != NONE {
                warmth ^= self.edges.at(*edge).tail;
            }
        }
        self.near = near;
        // Kept, so that the loads are not optimised away.
        self.warmth ^= warmth;
    }
}
