//! Looking ahead: brings the cache lines of a burst of events near before any of them is followed.
//!
//! A block touches about two cold lines, its bucket and its node. Loads that do not depend on each
//! other overlap, so all buckets of a burst are read first, then all nodes, then what the nodes name.
//! Nothing here changes the tree.

use crate::domain::{KvBatch, KvEvent, KvKind};

use super::node::NONE;
use super::tree::Tree;

/// Blocks to look ahead.
pub(super) const AHEAD: usize = 256;

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
        let mut hashes = std::mem::take(&mut self.hashes);
        let mut followed = std::mem::take(&mut self.followed);
        near.clear();
        hashes.clear();
        followed.clear();
        for event in events {
            match &event.kind {
                KvKind::Stored { parent, blocks } => {
                    followed.extend(parent.map(|parent| parent.0));
                    let blocks = batch.blocks_of(blocks);
                    hashes.extend(blocks.iter().map(|block| block.sequence.0));
                }
                KvKind::Removed { hashes: removed } => {
                    followed.extend(batch.removed_of(removed).iter().map(|hash| hash.0));
                }
                KvKind::Cleared { .. } => {}
            }
        }
        // Few instructions to a load: that many more loads are under way at once.
        let all = followed.iter().chain(&hashes);
        let warm = all.fold(0, |warm, hash| warm ^ self.index.touch(*hash));
        near.extend(followed.iter().filter_map(|hash| self.index.glance(*hash)));
        for id in &mut near {
            *id = self.nodes.at(*id).edge;
        }
        let edges = near.iter().filter(|edge| **edge != NONE);
        let warmer = edges.fold(0, |warm, edge| warm ^ self.edges.at(*edge).tail);
        self.near = near;
        self.hashes = hashes;
        self.followed = followed;
        // Kept, so that the loads are not optimised away.
        self.warmth ^= warm ^ u64::from(warmer);
    }
}
