//! The router's index: which rank holds which block, as Dynamo 0.9 keeps it.

use std::collections::HashMap;

use crate::domain::{Block, SequenceHash, TokensHash, WorkerRank};

/// A rejection by the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A store, for its parent is not known.
    Parent { parent: SequenceHash, blocks: usize },
    /// The removal of a block that is not known.
    Block(SequenceHash),
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The node above and the hash by which it is reached.
    above: (u64, u64),
    children: HashMap<u64, u64>,
    ranks: Vec<WorkerRank>,
}

/// The number of the root.
const ROOT: u64 = 0;

/// A tree of blocks, one node each, after dynamo-llm 0.9.0 `kv_router/indexer.rs:354-530`.
#[derive(Clone, Debug)]
pub(super) struct Index {
    nodes: HashMap<u64, Node>,
    next: u64,
    lookup: HashMap<WorkerRank, HashMap<u64, u64>>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            nodes: HashMap::from([(ROOT, Node::default())]),
            next: ROOT + 1,
            lookup: HashMap::new(),
        }
    }
}

impl Index {
    /// Returns how many blocks `rank` holds.
    pub(super) fn size(&self, rank: WorkerRank) -> usize {
        self.lookup.get(&rank).map_or(0, HashMap::len)
    }

    /// Applies a store.
    pub(super) fn store(
        &mut self,
        rank: WorkerRank,
        parent: Option<SequenceHash>,
        blocks: &[Block],
    ) -> Option<Refusal> {
        let known = self.lookup.entry(rank).or_default();
        let mut current = match parent {
            None => ROOT,
            Some(parent) => match known.get(&parent.0) {
                Some(node) => *node,
                None => return Some(Refusal::Parent { parent, blocks: blocks.len() }),
            },
        };
        for block in blocks {
            let found =
                self.nodes.get(&current).and_then(|node| node.children.get(&block.tokens.0));
            let child = match (found, known.get(&block.sequence.0)) {
                (Some(child), _) | (None, Some(child)) => *child,
                (None, None) => {
                    self.next += 1;
                    self.next
                }
            };
            if let Some(node) = self.nodes.get_mut(&current) {
                node.children.insert(block.tokens.0, child);
            }
            let node = self.nodes.entry(child).or_default();
            node.above = (current, block.tokens.0);
            if !node.ranks.contains(&rank) {
                node.ranks.push(rank);
            }
            known.insert(block.sequence.0, child);
            current = child;
        }
        None
    }

    /// Applies a removal. Returns the blocks that were not known.
    pub(super) fn remove(&mut self, rank: WorkerRank, hashes: &[SequenceHash]) -> Vec<Refusal> {
        hashes
            .iter()
            .filter_map(|hash| {
                let node = self.lookup.entry(rank).or_default().remove(&hash.0);
                match node {
                    Some(node) => self.leave(rank, node),
                    None => return Some(Refusal::Block(*hash)),
                }
                None
            })
            .collect()
    }

    /// Forgets `rank` and all that it held.
    pub(super) fn forget(&mut self, rank: WorkerRank) {
        for node in self.lookup.remove(&rank).unwrap_or_default().into_values() {
            self.leave(rank, node);
        }
    }

    /// Returns for each of `ranks` how many of `blocks` it holds along the path from the root.
    pub(super) fn overlaps(&self, ranks: &[WorkerRank], blocks: &[TokensHash]) -> Vec<u64> {
        let mut overlaps = vec![0; ranks.len()];
        let mut current = ROOT;
        for block in blocks {
            let below = self.nodes.get(&current).and_then(|node| node.children.get(&block.0));
            let Some(node) = below.and_then(|child| self.nodes.get(child)) else { break };
            for (rank, overlap) in ranks.iter().zip(&mut overlaps) {
                *overlap += u64::from(node.ranks.contains(rank));
            }
            current = below.copied().unwrap_or(ROOT);
        }
        overlaps
    }

    /// Takes `rank` off a node; a node that nobody holds is dropped, with the way to what is below.
    fn leave(&mut self, rank: WorkerRank, number: u64) {
        let Some(node) = self.nodes.get_mut(&number) else { return };
        node.ranks.retain(|held_by| *held_by != rank);
        if !node.ranks.is_empty() {
            return;
        }
        let (above, tokens) = node.above;
        self.nodes.remove(&number);
        if let Some(above) = self.nodes.get_mut(&above)
            && above.children.get(&tokens) == Some(&number)
        {
            above.children.remove(&tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const W: WorkerRank = WorkerRank::new(7, 0);

    fn blocks(hashes: &[u64]) -> Vec<Block> {
        hashes
            .iter()
            .map(|hash| Block { sequence: SequenceHash(hash + 100), tokens: TokensHash(*hash) })
            .collect()
    }

    fn overlap(index: &Index, path: &[u64]) -> u64 {
        let path: Vec<_> = path.iter().map(|hash| TokensHash(*hash)).collect();
        index.overlaps(&[W], &path)[0]
    }

    #[test]
    fn it_gives_the_answers_of_dynamo() {
        // The sequence that was run through the index of dynamo-kv-router 1.0.0: a, b, c = 1, 2, 3.
        let mut index = Index::default();
        let c = Some(SequenceHash(103));

        assert_eq!(index.store(W, None, &blocks(&[1, 2, 3])), None);
        assert_eq!((index.size(W), overlap(&index, &[1, 2, 3])), (3, 3));
        assert_eq!(index.remove(W, &[SequenceHash(102)]), []);
        assert_eq!((index.size(W), overlap(&index, &[1, 2, 3])), (2, 1));
        assert_eq!(index.store(W, c, &blocks(&[4])), None);
        assert_eq!(index.store(W, Some(SequenceHash(101)), &blocks(&[2])), None);
        assert_eq!((index.size(W), overlap(&index, &[1, 2, 3, 4])), (4, 2));
        assert_eq!(index.remove(W, &[SequenceHash(103)]), []);
        assert_eq!(index.remove(W, &[SequenceHash(103)]), [Refusal::Block(SequenceHash(103))]);
        assert_eq!(
            index.store(W, c, &[]),
            Some(Refusal::Parent { parent: SequenceHash(103), blocks: 0 })
        );
        assert_eq!(index.store(W, None, &[]), None);
    }

    #[test]
    fn a_forgotten_rank_holds_nothing() {
        let mut index = Index::default();
        index.store(W, None, &blocks(&[1, 2]));

        index.forget(W);

        assert_eq!((index.size(W), index.nodes.len(), overlap(&index, &[1])), (0, 1, 0));
    }
}
