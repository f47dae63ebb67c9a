//! Details of one row.

use super::Visits;
use super::place::Spot;
use crate::domain::{SequenceHash, TokensHash, TreeNode, WorkerRank};
use crate::mirror::node::{NONE, ROOT};
use crate::mirror::tree::Tree;

/// Hashes of a run that are listed.
const HASHES: usize = 64;
/// Longest prefix whose overlaps are found out.
const LONGEST: usize = 16_384;
/// Owners looked at below a row to tell who has how much.
const OWNERS: usize = 16_384;

/// One row in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// The subject.
    pub node: TreeNode,
    /// The rows from the top down to it.
    pub path: Vec<TreeNode>,
    /// Blocks of the prompt before the run; none where no prompt leads there.
    pub above: Option<u32>,
    /// Blocks on the run that somebody has.
    pub blocks: u32,
    /// The tick of the last store that passed the run.
    pub touched: u32,
    /// The sequence hashes of its blocks, the first of them.
    pub hashes: Vec<SequenceHash>,
    /// The blocks that each rank has of it, by rank.
    pub shares: Vec<Share>,
    /// False when there is more below than was counted.
    pub counted: bool,
}

/// The blocks of a row that one rank has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The rank.
    pub rank: WorkerRank,
    /// Blocks of the prompt up to the end of the row that a router would find with it; none where no
    /// prompt leads there, or it is too long.
    pub overlap: Option<u32>,
    /// Its blocks on the run and below; at least so many, unless all were counted.
    pub below: u32,
}

/// Returns what there is to say about `node`, none when it is gone.
pub(super) fn detail(tree: &Tree, node: &TreeNode, visits: &mut Visits) -> Option<Detail> {
    let spot = tree.spot(node)?;
    let mut detail = Detail {
        node: *node,
        path: Vec::new(),
        above: None,
        blocks: 0,
        touched: 0,
        hashes: Vec::new(),
        shares: Vec::new(),
        counted: true,
    };
    match spot {
        Spot::Root => detail.shares = tree.wholes(|slot| slot.accepted),
        Spot::Orphans => detail.shares = tree.wholes(|slot| slot.orphans),
        Spot::Detached => detail.counted = false,
        Spot::Missing(head) => {
            detail.touched = tree.edges.at(tree.nodes.at(head).edge()).tick;
            detail.count(tree, head, visits);
        }
        Spot::Block(node) => {
            let head = tree.edges.at(tree.nodes.at(node).edge()).head;
            let run = tree.run(head, visits);
            let way = tree.way_to(head, visits).unwrap_or_default();
            detail.path = way.into_iter().map(|head| tree.named(head)).collect();
            detail.above = tree.blocks_above(head, visits);
            detail.blocks = run.blocks;
            detail.touched = run.touched;
            detail.hashes = tree.hashes(head, run.last, visits);
            detail.count(tree, head, visits);
            if detail.above.is_some() {
                detail.overlaps(tree, run.last, visits);
            }
        }
    }
    detail.shares.sort_by_key(|share| share.rank);
    Some(detail)
}

impl Detail {
    /// Counts who has how much at `head` and below it.
    fn count(&mut self, tree: &Tree, head: u32, visits: &mut Visits) {
        let mut left = OWNERS;
        let mut by_slot = std::collections::HashMap::new();
        let mut open = vec![head];
        while let Some(node) = open.pop() {
            if left == 0 {
                self.counted = false;
                break;
            }
            visits.count(1);
            left -= 1;
            let mut cost = 0;
            tree.spill.each(tree.nodes.at(node).owners(), |slot| {
                cost += 1;
                if !tree.slots.is_dead(slot) {
                    *by_slot.entry(slot).or_insert(0_u32) += 1;
                }
            });
            left = left.saturating_sub(cost);
            let kids = tree.kids_of(node);
            for at in 0..kids.len().min(left + 1) {
                if let Some(kid) = kids.get(at)
                    && tree.nodes.at(kid).parent() == node
                {
                    open.push(kid);
                }
            }
        }
        let named =
            |(slot, below)| Some(Share { rank: tree.slots.name(slot)?, overlap: None, below });
        self.shares = by_slot.into_iter().filter_map(named).collect();
    }

    /// Finds out how much of the prompt that ends with `tail` a router would find with each rank.
    fn overlaps(&mut self, tree: &Tree, tail: u32, visits: &mut Visits) {
        let mut tokens = Vec::new();
        let mut at = tail;
        while at != ROOT {
            if at == NONE || tokens.len() >= LONGEST {
                return;
            }
            let own = tree.nodes.at(at);
            tokens.push(TokensHash(own.tokens()));
            at = own.parent();
        }
        tokens.reverse();
        visits.count(tokens.len() * 2);
        for share in &mut self.shares {
            share.overlap = Some(0);
        }
        for (slot, depth) in tree.scores(&tokens) {
            let Some(rank) = tree.slots.name(slot) else { continue };
            match self.shares.iter_mut().find(|share| share.rank == rank) {
                Some(share) => share.overlap = Some(depth),
                None => self.shares.push(Share { rank, overlap: Some(depth), below: 0 }),
            }
        }
    }
}

impl Tree {
    /// Returns what every rank has of a branch as a whole.
    fn wholes(&self, blocks: impl Fn(&crate::mirror::slots::Slot) -> u64) -> Vec<Share> {
        let share = |(rank, slot)| {
            let below = u32::try_from(blocks(&self.slots.at(slot))).unwrap_or(u32::MAX);
            Share { rank, overlap: None, below }
        };
        self.slots.ranks().map(share).filter(|share| share.below > 0).collect()
    }

    /// Returns the sequence hashes of the first blocks from `head` to `tail`.
    fn hashes(&self, head: u32, tail: u32, visits: &mut Visits) -> Vec<SequenceHash> {
        let mut hashes = Vec::new();
        let mut at = head;
        while hashes.len() < HASHES {
            visits.count(1);
            hashes.push(SequenceHash(self.name_of(at)));
            match self.only_kid(at).filter(|_| at != tail) {
                Some(next) => at = next,
                None => break,
            }
        }
        hashes
    }
}
